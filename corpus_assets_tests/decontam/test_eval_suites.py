"""Suites as benchmarks are published: other field names, choices, code, and every kind of damage."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from corpus_assets.core.errors import SourceError
from corpus_assets.decontam.eval_index import build_eval_index, parse_eval_index
from corpus_assets.decontam.eval_suites import EvalItem, read_suites
from corpus_assets.decontam.settings import EvalIndexSettings, EvalSuite, SuiteFields


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path, **settings: Any) -> list[EvalItem]:
    return read_suites([(EvalSuite(files=("-",), **settings), [path])])


def test_fields_are_taken_by_the_names_that_the_suite_gives(tmp_path: Path) -> None:
    row = {
        "task_id": 7,
        "question": {"stem": "What is warm?", "choices": {"text": ["Fire", "Ice"], "label": ["A"]}},
        "key": "A",
    }
    fields = {"id": "task_id", "question": "question.stem", "choices": "question.choices"}
    (item,) = read(
        write(tmp_path / "a.jsonl", row), benchmark="arc", fields=fields | {"answer": "key"}
    )
    assert item == EvalItem("7", "arc", "What is warm?", "A", "Fire\nIce")


def test_a_name_with_a_dot_is_tried_as_it_is_first(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"q.x": "one", "q": {"x": "two"}})
    (item,) = read(path, benchmark="b", fields={"id": None, "question": "q.x"})
    assert item.text == "one"


def test_parquet_takes_the_same_mapping(tmp_path: Path) -> None:
    table = pa.table({"n": [1, 2], "q": ["first", "second"], "c": [["x", "y"], ["z"]]})
    pq.write_table(table, tmp_path / "a.parquet")
    fields = {"id": "n", "question": "q", "choices": "c", "answer": None}
    items = read(tmp_path / "a.parquet", benchmark="b", fields=fields)
    assert [(item.id, item.text, item.more) for item in items] == [
        ("1", "first", "x\ny"),
        ("2", "second", "z"),
    ]


def test_records_without_a_name_are_numbered_by_file_and_line(tmp_path: Path) -> None:
    one = write(tmp_path / "a.jsonl", {"text": "x"}, {"text": "y"})
    two = write(tmp_path / "b.jsonl", {"text": "z"})
    suite = EvalSuite(files=("-",), benchmark="b", fields=SuiteFields(id=None))
    assert [item.id for item in read_suites([(suite, [one, two])])] == ["1/1", "1/2", "2/1"]
    assert [item.id for item in read_suites([(suite, [one])])] == ["1", "2"]


def test_choices_are_searched_for_only_with_a_short_question() -> None:
    long = " ".join(f"q{i}" for i in range(13))
    items = [
        EvalItem("long", "b", long, more="yes no"),
        EvalItem("short", "b", "which of these", more=" ".join(f"c{i}" for i in range(8))),
    ]
    index = parse_eval_index(build_eval_index(items, EvalIndexSettings()))
    assert index.texts.to_pylist() == [long, "which of these c0 c1 c2 c3 c4 c5 c6 c7"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": "x", "text": "t"}, "'benchmark' must be a string"),
        ({"id": "x", "benchmark": "b", "text": ["t"]}, "'text' must be a string"),
        ({"id": " ", "benchmark": "b", "text": "t"}, "'id' must be a string"),
        ({"id": {}, "benchmark": "b", "text": "t"}, "'id' must be a string"),
        (["list"], "expected an object with id, benchmark, text"),
    ],
)
def test_a_bad_record_is_named_with_file_line_and_field(
    tmp_path: Path, row: Any, said: str
) -> None:
    path = write(tmp_path / "a.jsonl", {"id": "0", "benchmark": "b", "text": ""}, row)
    with pytest.raises(SourceError, match=said) as caught:
        read(path)
    assert "a.jsonl, line 2" in str(caught.value)


def test_choices_that_are_no_list_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"id": "0", "text": "x", "c": [{"deep": 1}]})
    with pytest.raises(SourceError, match="line 1: field 'c' must be a list of strings"):
        read(path, benchmark="b", fields={"choices": "c"})


def test_an_id_that_stands_there_twice_is_named_with_both_places(tmp_path: Path) -> None:
    row = {"id": "same", "benchmark": "b", "text": "t"}
    one, two = write(tmp_path / "a.jsonl", row), write(tmp_path / "b.jsonl", {}, row)
    two.write_text("\n" + two.read_text().partition("\n")[2])
    with pytest.raises(SourceError, match=r"b/same") as caught:
        read_suites([(EvalSuite(files=("-",)), [one]), (EvalSuite(files=("-",)), [two])])
    assert "a.jsonl, line 1" in str(caught.value)
    assert "b.jsonl, line 2" in str(caught.value)


def test_empty_items_are_let_in_and_an_empty_file_is_not(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"id": "0", "benchmark": "b", "text": ""})
    index = parse_eval_index(build_eval_index(read(path), EvalIndexSettings()))
    assert index.metrics()["unindexed_items"] == [("b", "0")]
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    with pytest.raises(SourceError, match=r"empty\.jsonl holds no item"):
        read(tmp_path / "empty.jsonl")


def test_a_cut_off_zstd_file_is_named_with_the_line_it_broke_at(tmp_path: Path) -> None:
    import zstandard

    rows = [{"id": str(i), "benchmark": "b", "text": f"text {i}"} for i in range(50_000)]
    whole = zstandard.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
    (tmp_path / "cut.jsonl.zst").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match=r"cut\.jsonl\.zst, line \d+: .*Truncated"):
        read(tmp_path / "cut.jsonl.zst")


def test_only_a_suite_of_code_names_fields_with_code() -> None:
    for settings in ({"kind": "code"}, {"fields": {"code": "prompt"}}):
        with pytest.raises(ValidationError, match=r"fields\.code"):
            EvalSuite.model_validate({"files": "a.jsonl", **settings})
    suite = EvalSuite.model_validate(
        {"files": "a.jsonl", "kind": "code", "fields": {"code": ["prompt", "solution"]}}
    )
    assert suite.fields.code == ("prompt", "solution")


def test_where_files_lie_is_no_part_of_a_suites_identity() -> None:
    here, there = (EvalSuite(files=(name,), benchmark="b") for name in ("a.jsonl", "/b.jsonl"))
    assert here.identity() == there.identity()
    assert here.identity() != EvalSuite(files=("a.jsonl",), benchmark="c").identity()


def test_a_training_split_has_a_name_that_no_test_has(tmp_path: Path) -> None:
    test = write(tmp_path / "a.jsonl", {"id": "0", "benchmark": "gsm", "text": "x"})
    train = write(tmp_path / "b.jsonl", {"id": "1", "text": "y"})
    suites = [
        (EvalSuite(files=("-",)), [test]),
        (EvalSuite(files=("-",), benchmark="gsm", split="train"), [train]),
    ]
    with pytest.raises(SourceError, match="is also that of a suite with `split: train`"):
        read_suites(suites)
    with pytest.raises(ValidationError, match="names its `benchmark`"):
        EvalSuite(files=("-",), split="train")


def test_the_split_is_no_part_of_what_is_searched_for() -> None:
    plain = EvalSuite(files=("-",), benchmark="b")
    assert "split" not in plain.identity()
    assert plain.model_copy(update={"split": "train"}).identity() == plain.identity() | {
        "split": "train"
    }
