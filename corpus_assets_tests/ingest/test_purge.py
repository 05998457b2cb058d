"""Taking documents out of a part: the columns tell what the records one by one would tell."""

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.urls import Blocklist, url_key
from corpus_assets.ingest import purge
from corpus_assets.ingest.documents import SUPPRESSED, ingest_part
from corpus_assets.ingest.purge import covered_records, purge_part
from corpus_assets.ingest.records import SourceFile, file_sha256
from corpus_assets.ingest.settings import IngestSettings
from corpus_assets.ingest.source import FieldNames, SourceSpec
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.text.sketch import sketch_text

SPEC = SourceSpec(
    name="made", format="jsonl", fields=FieldNames(url="url", key="id", derived_from="from")
)
Order = tuple[str, str]


def words(name: str, count: int) -> str:
    chance = random.Random(name)
    return " ".join(f"{chance.choice('bcdfgh')}{chance.randrange(5000)}" for _ in range(count))


def ingest(path: Path, orders: list[Order]) -> tuple[pa.Table, pa.Table]:
    size, sha256 = file_sha256(str(path))
    file = SourceFile(path.name, str(path), size, sha256)
    known = Suppressions.from_rows(orders)
    return ingest_part(SPEC, "s-1", 0, file, IngestSettings(), Blocklist(), known)


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages, near copies of them, texts derived from them, empty ones and records with keys."""
    rows: list[dict[str, object]] = []
    for n in range(60):
        text = words(f"text {n % 50}", 120 + n % 50)
        row: dict[str, object] = {
            "url": f"http://{'ab'[n % 2]}.h{n % 7}.test/p/{n}",
            "text": f"{text} and so on" if n >= 50 else text,
        }
        if n % 11 == 0:
            row = {"id": f"key-{n}", "text": row["text"]}
        if n % 9 == 4:
            row["from"] = [f"http://a.h{n % 7}.test/p/{n - 4}", "made:key-11"][: 1 + n % 2]
        if n % 13 == 5:
            row["text"] = " "
        rows.append(row)
    path = tmp_path_factory.mktemp("part") / "made.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def one_by_one(records: pa.Table, documents: pa.Table, orders: Suppressions) -> list[bool]:
    """The rule, record by record."""
    texts = iter(documents.to_pylist())
    covered = []
    for record in records.to_pylist():
        text = next(texts) if record["reason"] is None else None
        found = orders.match_record(record["url_key"], record["host"] or "", record["doc_id"])
        if text is not None:
            found |= orders.match_text(text["text_id"], text["derived_from"] or ())
            found |= bool(orders.sketches.match(pa.array([text["sketch"]], pa.binary(224)))[0])
        covered.append(found and record["reason"] != SUPPRESSED)
    return covered


def drawn_orders(records: pa.Table, documents: pa.Table, draw: random.Random) -> list[Order]:
    known, texts = records.to_pylist(), documents.to_pylist()
    orders: list[Order] = []
    for _ in range(draw.randint(1, 6)):
        record, text = draw.choice(known), draw.choice(texts)
        orders.append(
            draw.choice(
                [
                    ("url_key", record["url_key"]),
                    ("url_prefix", record["url_key"][: draw.randint(8, 20)]),
                    ("doc_id", record["doc_id"].hex()),
                    ("text_id", text["text_id"].hex()),
                    ("near_text", sketch_text(text["text"]) or ""),
                    ("host", record["host"] or "nobody.test"),
                ]
            )
        )
    return orders + [("url_prefix", f"nobody,{n})/") for n in range(draw.choice([0, 30]))]


@pytest.mark.parametrize("seed", range(25))
def test_columns_tell_what_records_one_by_one_tell_and_purging_equals_never_reading(
    part: Path, seed: int
) -> None:
    records, documents = ingest(part, [])
    draw = random.Random(seed)
    first = drawn_orders(records, documents, draw)
    second = drawn_orders(records, documents, draw)
    for orders in (first, first + second):
        known = Suppressions.from_rows(orders)
        assert covered_records(records, documents, known).tolist() == one_by_one(
            records, documents, known
        )
        records, documents = purge_part(records, documents, known)
        never = ingest(part, orders)
        assert records.equals(never[0])
        assert documents.equals(never[1])


def test_tables_in_several_pieces_are_compared_alike(part: Path) -> None:
    records, documents = ingest(part, [])
    orders = Suppressions.from_rows([("url_key", url_key("http://a.h0.test/p/0")),
                                     ("url_prefix", "test,h1,b)/"), ("host", "h3.test"),
                                     ("url_key", "made:key-11")])  # fmt: skip
    whole = covered_records(records, documents, orders)
    assert 8 < whole.sum() < len(whole)
    pieces = [pa.concat_tables([t[:7], t[7:31], t[31:]]) for t in (records, documents)]
    assert (covered_records(*pieces, orders) == whole).all()


def test_a_near_copy_under_another_address_is_kept_out_and_leaves_only_its_place(
    part: Path,
) -> None:
    documents = ingest(part, [])[1]
    rows = {row["url_key"]: row for row in documents.to_pylist()}
    page, copy = (rows[url_key(f"http://b.h{n % 7}.test/p/{n}")] for n in (1, 51))
    assert page["text_id"] != copy["text_id"]
    order = ("near_text", sketch_text(page["text"]) or "")
    kept = ingest(part, [order])
    left = {row["url_key"]: row for row in kept[0].to_pylist()}[copy["url_key"]]
    assert (left["reason"], left["url"], left["detail"]) == (SUPPRESSED, None, None)
    assert documents.num_rows - kept[1].num_rows == 2


def test_no_order_covers_nothing(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "FEW_PREFIXES", 0)
    records, documents = ingest(part, [])
    assert not covered_records(records, documents, Suppressions()).any()
    empty = covered_records(records[:0], documents[:0], Suppressions.from_rows([("host", "a.b")]))
    assert empty.dtype == np.bool_
    assert empty.size == 0
