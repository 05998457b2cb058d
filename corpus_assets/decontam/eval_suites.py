"""Evaluation suites: the files that hold benchmark items, and which of their fields say what.

A suite is JSON lines (plain, gzip, zstd) or Parquet. The plain form of a recipe names files whose
records have `id`, `benchmark`, `text` and `answer`; an entry with settings maps other names, as
benchmarks are published. A record that cannot be read is an error with file and line: a suite
with a hole would let exactly those items through that are never looked at again.
"""

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.core.errors import SourceError
from corpus_assets.decontam.settings import EvalSuite

BUFFER_BYTES = 1 << 16
MAX_LINE_BYTES = 1 << 28


@dataclass(frozen=True)
class EvalItem:
    """One question of a benchmark; `answer` is kept for people and never searched for.

    `more` are choices that are not in `text`; `parts` are the fields that `text` was joined from,
    where there are several.
    """

    id: str
    benchmark: str
    text: str
    answer: str = ""
    more: str = ""
    code: str = ""
    language: str = ""
    parts: tuple[str, ...] = ()


def read_items(paths: Sequence[str | Path]) -> list[EvalItem]:
    """Items of files in the plain form, with fields id, benchmark, text and answer."""
    return read_suites([(EvalSuite(files=("-",)), paths)])


def read_suites(suites: Sequence[tuple[EvalSuite, Sequence[str | Path]]]) -> list[EvalItem]:
    """All items of suites, each with its files. Names must be unique over all of them."""
    items: list[EvalItem] = []
    places: dict[tuple[str, str], str] = {}
    training = {suite.benchmark for suite, _ in suites if suite.split == "train"}
    for suite, paths in suites:
        before = len(items)
        for number, path in enumerate(paths, 1):
            prefix = f"{number}/" if len(paths) > 1 else ""
            for place, row, ordinal in eval_records(Path(path)):
                item = _as_item(row, place, suite, f"{prefix}{ordinal}")
                if suite.split != "train" and item.benchmark in training:
                    raise SourceError(
                        f"{place}: benchmark {item.benchmark} is also that of a suite with "
                        "`split: train`; rename one of them"
                    )
                first = places.setdefault((item.benchmark, item.id), place)
                if first is not place:
                    raise SourceError(
                        f"{place}: two eval items are called {item.benchmark}/{item.id}, the "
                        f"first in {first}; name every file once and give every item its own id"
                    )
                items.append(item)
        if len(items) == before:
            raise SourceError(f"eval_suites: {', '.join(map(str, paths))} holds no item")
    return items


def eval_records(path: Path) -> Iterator[tuple[str, Any, int]]:
    """(where it stands, the record, its number from 1)"""
    if path.suffix == ".parquet":
        yield from _parquet_rows(path)
        return
    number = 0
    try:
        with pa.input_stream(path) as file:  # inflated by what its name ends in
            lines = io.BufferedReader(file, BUFFER_BYTES)
            while line := lines.readline(MAX_LINE_BYTES):
                number += 1
                place = f"{path}, line {number}"
                if line.strip():
                    yield place, _parsed(line, place, number), number
    except FileNotFoundError as error:
        raise SourceError(f"{path} does not exist: correct the list of eval files") from error
    except OSError as error:
        raise SourceError(
            f"{path}, line {number + 1}: cannot be read further ({error}); fetch the file again"
        ) from error


def _parsed(line: bytes, place: str, number: int) -> Any:
    try:
        return json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"{place}: not a JSON object in UTF-8; repair or remove the line"
        ) from error


def _parquet_rows(path: Path) -> Iterator[tuple[str, Any, int]]:
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches():
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row, number
    except (OSError, pa.ArrowException) as error:
        message = f"{path} is not a readable Parquet file: fetch it again ({error})"
        raise SourceError(" ".join(message.split())) from error


def _as_item(row: Any, place: str, suite: EvalSuite, ordinal: str) -> EvalItem:
    fields = suite.fields
    if not isinstance(row, dict):
        raise SourceError(f"{place}: expected an object with {', '.join(_needed(suite))}")
    name = ordinal if fields.id is None else _name(row, fields.id, place)
    if suite.benchmark is not None:
        benchmark = suite.benchmark
    elif fields.benchmark is None:
        raise SourceError(f"{place}: name the benchmark of the suite, or the field that does")
    else:
        benchmark = _name(row, fields.benchmark, place)
    answer = None if fields.answer is None else _found(row, fields.answer)
    if not isinstance(answer, str):
        answer = "" if answer is None else json.dumps(answer, sort_keys=True, default=str)
    parts = tuple(_text(row, field, place) for field in fields.question)
    return EvalItem(
        name,
        benchmark,
        "\n".join(parts),
        answer.encode("utf-8", "replace").decode(),
        "" if fields.choices is None else _choices(row, fields.choices, place),
        "\n".join(_text(row, field, place) for field in fields.code),
        suite.language.lower() if suite.kind == "code" else "",
        parts if len(parts) > 1 else (),
    )


def _needed(suite: EvalSuite) -> list[str]:
    named = [] if suite.benchmark is not None else [suite.fields.benchmark]
    wanted = [suite.fields.id, *named, *suite.fields.question, suite.fields.choices]
    return [name for name in [*wanted, *suite.fields.code] if name is not None]


def _found(row: Any, field: str) -> Any:
    """Return the value of a field by its own name, else by the way through nested objects."""
    if field in row:
        return row[field]
    for part in field.split("."):
        row = row.get(part) if isinstance(row, dict) else None
    return row


def _name(row: Any, field: str, place: str) -> str:
    value = _found(row, field)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise SourceError(f"{place}: field {field!r} must be a string; repair the record")
    return _whole(value, field, place)


def _text(row: Any, field: str, place: str) -> str:
    value = _found(row, field)
    if not isinstance(value, str):
        raise SourceError(f"{place}: field {field!r} must be a string; repair the record")
    return _whole(value, field, place)


def _whole(value: str, field: str, place: str) -> str:
    if not value.isascii() and value.encode("utf-8", "replace").decode() != value:
        raise SourceError(f"{place}: field {field!r} holds half a surrogate pair; repair it")
    return value


def _choices(row: Any, field: str, place: str) -> str:
    value = _found(row, field)
    if isinstance(value, dict):
        value = value.get("text", list(value.values()))
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(one, str | int | float) for one in value):
        raise SourceError(f"{place}: field {field!r} must be a list of strings; repair the record")
    return _whole("\n".join(map(str, value)), field, place)
