import gzip
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from pydantic import ValidationError

from corpus_assets.core.errors import RecipeError, SourceError
from corpus_assets.decontam.eval_index import (
    EvalItem,
    build_eval_index,
    load_eval_index,
    parse_eval_index,
    read_items,
)
from corpus_assets.decontam.settings import EvalIndexSettings
from corpus_assets_tests.shared_data import shared_data
from corpus_assets_tests.text.word_reference import gram_hash, ngrams_of, words_of

RECORD = {"id": "b/1", "benchmark": "b", "text": "what is it", "answer": "that"}


def make_item(name: str, text: str, benchmark: str = "bench") -> EvalItem:
    return EvalItem(name, benchmark, text, "an answer of thirteen words that must never be indexed")


def test_items_are_read_from_jsonl_gzip_and_parquet_alike(tmp_path: Path) -> None:
    line = json.dumps(RECORD) + "\n"
    (tmp_path / "a.jsonl").write_text(line + "\n")
    with gzip.open(tmp_path / "b.jsonl.gz", "wt") as file:
        file.write(line)
    pq.write_table(pa.Table.from_pylist([RECORD]), tmp_path / "c.parquet")
    (tmp_path / "d.jsonl.zst").write_bytes(zstandard.compress(line.encode()))
    for path in (*tmp_path.glob("*.jsonl*"), str(tmp_path / "c.parquet")):
        assert read_items([path]) == [EvalItem("b/1", "b", "what is it", "that")]


@pytest.mark.parametrize(
    "damaged",
    [
        b"{not json",
        b"[1, 2]",
        b'{"id": "x", "benchmark": "b"}',
        b'{"id": "", "benchmark": "b", "text": "t"}',
        b'{"id": true, "benchmark": "b", "text": "t"}',
        b'{"id": "x", "benchmark": "b", "text": "\\ud800"}',
        b'{"id": "x", "benchmark": "b", "text": "\xff"}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_line_is_named_with_its_file_and_number(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "items.jsonl"
    path.write_bytes(json.dumps(RECORD).encode() + b"\n" + damaged + b"\n")
    with pytest.raises(SourceError, match=r"items\.jsonl, line 2") as caught:
        read_items([path])
    assert "\n" not in str(caught.value)


def test_a_cut_off_gzip_file_is_named_with_the_line_it_broke_at(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(json.dumps(RECORD).encode() + b"\n" for _ in range(5000)))
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match=r"cut\.jsonl\.gz, line \d+"):
        read_items([tmp_path / "cut.jsonl.gz"])


def test_missing_and_unreadable_files_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    for name in ("absent.jsonl", "absent.parquet", "bad.parquet"):
        with pytest.raises(SourceError, match=name):
            read_items([tmp_path / name])
    pq.write_table(
        pa.table({"id": ["x"], "benchmark": ["b"], "text": [None]}), tmp_path / "n.parquet"
    )
    with pytest.raises(SourceError, match="row 1"):
        read_items([tmp_path / "n.parquet"])


def test_the_index_holds_the_distinct_ngrams_of_every_item() -> None:
    words = [f"w{i}" for i in range(20)]
    items = [make_item("long", " ".join(words)), make_item("again", " ".join(words[2:18]))]
    index = parse_eval_index(build_eval_index(items, EvalIndexSettings()))
    grams = {gram_hash(list(gram)) for gram in ngrams_of(words, 13)}
    assert set(index.grams.hashes.tolist()) == grams
    assert index.grams.item_totals.tolist() == [4, 8]
    assert index.item_ids.to_pylist() == ["again", "long"]
    assert index.texts.to_pylist() == [" ".join(words[2:18]), " ".join(words)]
    assert index.grams.posting_items.size == 12


def test_a_repeated_ngram_counts_once_in_an_item() -> None:
    index = parse_eval_index(build_eval_index([make_item("r", "same " * 40)], EvalIndexSettings()))
    assert index.grams.item_totals.tolist() == [1]


def test_short_items_are_indexed_whole_and_the_shortest_are_listed() -> None:
    items = [make_item(str(n), " ".join(f"w{n}x{i}" for i in range(n))) for n in (1, 7, 8, 12, 13)]
    items.append(make_item("punctuation", "?!"))
    index = parse_eval_index(build_eval_index(items, EvalIndexSettings()))
    metrics = index.metrics()
    assert metrics["items"] == 6
    assert metrics["grams"] == 3
    assert metrics["unindexed"] == 3
    expected = [("bench", "1"), ("bench", "7"), ("bench", "punctuation")]
    assert sorted(metrics["unindexed_items"]) == expected
    assert sorted(index.grams.lengths.tolist()) == [8, 12, 13]


def test_the_order_of_items_does_not_change_the_bytes(tmp_path: Path) -> None:
    items = [make_item(f"i{n}", " ".join(f"{n % 7} {n} {i}" for i in range(9))) for n in range(50)]
    data = build_eval_index(items, EvalIndexSettings())
    random.Random(1).shuffle(items)
    assert build_eval_index(items, EvalIndexSettings()) == data
    (tmp_path / "index.arrow").write_bytes(data)
    loaded = load_eval_index(tmp_path / "index.arrow")
    assert loaded.grams.hashes.tolist() == parse_eval_index(data).grams.hashes.tolist()


def test_no_items_make_an_empty_index() -> None:
    index = parse_eval_index(build_eval_index([], EvalIndexSettings()))
    assert index.metrics() == {"items": 0, "grams": 0, "code_items": 0} | {
        "unindexed": 0,
        "unindexed_items": [],
    }


def test_two_items_of_one_name_are_refused() -> None:
    with pytest.raises(SourceError, match="bench/same"):
        build_eval_index([make_item("same", "a"), make_item("same", "b")], EvalIndexSettings())


def test_a_file_that_is_no_index_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"nothing of the kind")
    with pytest.raises(SourceError, match="build it again"):
        load_eval_index(tmp_path / "x")
    with pytest.raises(SourceError, match="build the eval index first"):
        load_eval_index(tmp_path / "absent")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, pa.schema([("a", pa.int32())])):
        pass
    with pytest.raises(RecipeError, match="build it again"):
        parse_eval_index(bytes(sink.getvalue()))


def test_settings_that_could_index_nothing_are_refused() -> None:
    with pytest.raises(ValidationError):
        EvalIndexSettings(ngram=5, min_words=8)


def test_real_items_have_the_ngrams_of_the_reference() -> None:
    items = read_items([shared_data("evals/gsm8k.jsonl.gz")])[:100]
    index = parse_eval_index(build_eval_index(items, EvalIndexSettings()))
    by_name = dict(zip(index.item_ids.to_pylist(), index.grams.item_totals.tolist(), strict=True))
    for item in items:
        words = words_of(item.text)
        assert by_name[item.id] == len(set(ngrams_of(words, min(13, len(words)))))
