"""Which documents a classifier learns from."""

import random
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.core.identity import keyed_hash
from corpus_assets.core.sample import first_drawn
from corpus_assets.models.files import model_at
from corpus_assets.signals.stages.training_sample import (
    SAMPLE,
    draw_documents,
    read_page_list,
)

TEXTS = ("Dies ist ein ganz gewöhnlicher deutscher Satz.", "This is quite an ordinary sentence.")


def documents(n: int) -> pa.Table:
    draw = random.Random(4)
    ids = sorted(draw.randbytes(16) for _ in range(n))
    return pa.table(
        {
            "doc_id": pa.array(ids, pa.binary(16)),
            "url_key": [f"org,example)/{i}" for i in range(n)],
            "host": ["example.org" if i % 3 else "other.example" for i in range(n)],
            "text": pa.array([f"{TEXTS[i % 2]} {i}" for i in range(n)], pa.large_string()),
        }
    )


def test_the_first_by_keyed_hash_are_drawn_however_parts_are_cut() -> None:
    table = documents(300)
    key = b"corpus-assets/classifier-sample/7"
    order = sorted(table["doc_id"].to_pylist(), key=lambda doc_id: keyed_hash(key, doc_id))
    whole = draw_documents(table, 7, 40)
    assert whole.schema == SAMPLE
    assert whole["doc_id"].to_pylist() == order[:40]
    for cuts in ((0, 100, 300), (0, 7, 8, 200, 300)):
        parts = [draw_documents(table.slice(a, b - a), 7, 40) for a, b in pairwise(cuts)]
        assert all(part.num_rows <= 40 for part in parts)
        assert first_drawn(parts, 40).equals(whole)
    assert draw_documents(table, 8, 40)["doc_id"].to_pylist() != order[:40]


def test_a_document_that_is_gone_moves_no_other() -> None:
    table = documents(100)
    drawn = draw_documents(table, 1, 100)["doc_id"].to_pylist()
    left = table.filter(pa.array([i != 50 for i in range(100)]))
    gone = table["doc_id"][50].as_py()
    assert draw_documents(left, 1, 100)["doc_id"].to_pylist() == [d for d in drawn if d != gone]


def test_only_listed_pages_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("other.example\nhttp://example.org/1\n", encoding="utf-8")
    drawn = draw_documents(documents(30), 1, 100, read_page_list([path]))
    numbers = {int(text.rsplit(" ", 1)[1]) for text in drawn["text"].to_pylist()}
    assert numbers == {i for i in range(30) if i % 3 == 0} | {1}


def test_only_some_languages_are_drawn_until_there_are_enough() -> None:
    try:
        lid = model_at("lid.176").path
    except ModelError as error:
        pytest.skip(str(error))
    table = documents(60)
    every = draw_documents(table, 1, 100, None, ["de"], lid)
    assert every.num_rows == 30
    assert all(text.startswith("Dies") for text in every["text"].to_pylist())
    assert draw_documents(table, 1, 5, None, ["de"], lid).equals(every.slice(0, 5))
    assert draw_documents(table, 1, 5, None, ["fi"], lid).num_rows == 0
