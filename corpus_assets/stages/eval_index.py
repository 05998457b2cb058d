"""Eval index: the n-grams of benchmark items, so that documents can be searched for them.

The index is one Arrow file with one row: `items` (every item with its normalised text) and
`grams` (every distinct n-gram: hash, where it is spelled, which items hold it). N-grams of 13
words after GPT-3 (Brown et al. 2020, appendix C).
"""

import gzip
import itertools
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, model_validator

from corpus_assets.errors import RecipeError, SourceError
from corpus_assets.kernels.characters import char_tables, nfkc, text_buffers
from corpus_assets.kernels.ngrams import Grams, Lookup, build_lookup, ngram_hashes
from corpus_assets.kernels.words import MAX_NGRAM, spell_words
from corpus_assets.step import Settings, canonical_json

VERSION = 1

ITEM = pa.struct(
    [
        ("benchmark", pa.string()),
        ("item_id", pa.string()),
        ("text", pa.large_string()),  # normalised: folded words, single spaces
        ("answer", pa.large_string()),
        ("n_grams", pa.int32()),  # distinct; 0: too short to be indexed
    ]
)
GRAM = pa.struct(
    [
        ("hash", pa.uint64()),
        ("n_words", pa.int32()),
        ("start", pa.int64()),  # characters of the items' texts, laid end to end
        ("stop", pa.int64()),
        ("items", pa.large_list(pa.int32())),  # ordinals in `items`, ascending
    ]
)
EVAL_INDEX = pa.schema([("items", pa.large_list(ITEM)), ("grams", pa.large_list(GRAM))])


class EvalIndexSettings(Settings):
    """How items are cut into n-grams."""

    ngram: int = Field(default=13, ge=1, le=MAX_NGRAM)
    short_item: Literal["whole_text"] = "whole_text"
    min_words: int = Field(default=8, ge=1)

    @model_validator(mode="after")
    def _min_words_fit(self) -> "EvalIndexSettings":
        if self.min_words > self.ngram:
            raise ValueError("min_words must not be above ngram: no item could be indexed whole")
        return self


@dataclass(frozen=True)
class EvalItem:
    """One question of a benchmark; `answer` is kept for people and never searched for."""

    id: str
    benchmark: str
    text: str
    answer: str = ""


@dataclass(frozen=True)
class EvalIndex:
    """An index in memory, ready to be searched."""

    benchmarks: pa.Array
    item_ids: pa.Array
    texts: pa.Array
    grams: Grams
    lookup: Lookup

    def metrics(self) -> dict[str, Any]:
        """Counts, and every item that was too short to be indexed as (benchmark, id)."""
        short = np.flatnonzero(self.grams.item_totals == 0)
        names = zip(
            self.benchmarks.take(short).to_pylist(),
            self.item_ids.take(short).to_pylist(),
            strict=True,
        )
        return {
            "items": len(self.item_ids),
            "grams": int(self.grams.hashes.size),
            "unindexed": int(short.size),
            "unindexed_items": list(names),
        }


def read_items(paths: Sequence[str | Path]) -> list[EvalItem]:
    """Items of JSONL, JSONL.gz or Parquet files with fields id, benchmark, text and answer."""
    return [item for path in paths for item in _read_file(Path(path))]


def _read_file(path: Path) -> Iterator[EvalItem]:
    if path.suffix == ".parquet":
        try:
            rows = pq.read_table(path).to_pylist()
        except (OSError, pa.ArrowException) as error:
            message = f"{path} is not a readable Parquet file: fetch it again ({error})"
            raise SourceError(" ".join(message.split())) from error
        for number, row in enumerate(rows, 1):
            yield _as_item(row, f"{path}, row {number}")
        return
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _as_item(json.loads(line), f"{path}, line {number}")
    except FileNotFoundError as error:
        raise SourceError(f"{path} does not exist: correct the list of eval files") from error
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"{path}, line {number}: not a JSON object in UTF-8; repair or remove the line"
        ) from error
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(
            f"{path}, line {number + 1}: cannot be read further ({error}); fetch the file again"
        ) from error


def _as_item(row: Any, place: str) -> EvalItem:
    if not isinstance(row, dict):
        raise SourceError(f"{place}: expected an object with id, benchmark, text, answer")
    for name in ("id", "benchmark", "text"):
        value = row.get(name)
        if not isinstance(value, str) or (not value and name != "text"):
            raise SourceError(f"{place}: field {name!r} must be a string; repair the record")
        if not value.isascii() and value.encode("utf-8", "replace").decode() != value:
            raise SourceError(f"{place}: field {name!r} holds half a surrogate pair; repair it")
    answer = row.get("answer")
    if not isinstance(answer, str):
        answer = "" if answer is None else json.dumps(answer, sort_keys=True, default=str)
    answer = answer.encode("utf-8", "replace").decode()
    return EvalItem(row["id"], row["benchmark"], row["text"], answer)


def build_eval_index(items: Sequence[EvalItem], settings: EvalIndexSettings) -> bytes:
    """The index as one Arrow file; the same items in any order give the same bytes."""
    ordered = sorted(items, key=lambda item: (item.benchmark, item.id))
    for left, right in itertools.pairwise(ordered):
        if (left.benchmark, left.id) == (right.benchmark, right.id):
            raise SourceError(
                f"two eval items are called {left.benchmark}/{left.id}: "
                "name every file once and give every item its own id"
            )
    texts = nfkc(pa.array([item.text for item in ordered], pa.large_string()))
    codes, starts, firsts = spell_words(*text_buffers(texts), char_tables())
    edges = starts[firsts]
    grams, totals = _distinct_grams(texts, codes, starts, firsts, settings)
    items_column = pa.StructArray.from_arrays(
        [
            pa.array([item.benchmark for item in ordered], pa.string()),
            pa.array([item.id for item in ordered], pa.string()),
            _spelled_texts(codes, edges),
            pa.array([item.answer for item in ordered], pa.large_string()),
            pa.array(totals, pa.int32()),
        ],
        fields=list(ITEM),
    )
    table = pa.table(
        [_one_row(items_column), _one_row(grams)],
        schema=EVAL_INDEX.with_metadata(
            {"version": str(VERSION), "settings": canonical_json(settings.identity())}
        ),
    )
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _distinct_grams(
    texts: pa.Array,
    codes: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int64],
    settings: EvalIndexSettings,
) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """All distinct n-grams, sorted by (hash, spelling), and how many each item has."""
    spelled = codes.astype("<u4").tobytes().decode("utf-32-le")
    lengths = np.minimum(np.diff(firsts), settings.ngram)
    lengths[lengths < settings.min_words] = 0
    totals = np.zeros(lengths.size, np.int64)
    grams: dict[str, tuple[int, int, int, int, list[int]]] = {}
    for length in np.unique(lengths[lengths > 0]).tolist():
        chosen = np.flatnonzero(lengths == length)
        buffers = text_buffers(texts.take(pa.array(chosen)))
        hashes, hash_firsts = ngram_hashes(*buffers, char_tables(), length)
        for item, at in zip(chosen.tolist(), hash_firsts.tolist(), strict=False):
            first, last = int(firsts[item]), int(firsts[item + 1])
            for word in range(first, last - length + 1):
                start, end = int(starts[word]), word + length
                stop = int(starts[end]) - (end < last)
                key = int(hashes[at + word - first])
                gram = grams.setdefault(spelled[start:stop], (key, length, start, stop, []))
                items = gram[4]
                if not items or items[-1] != item:
                    items.append(item)
                    totals[item] += 1
    rows = [gram for _, gram in sorted(grams.items(), key=lambda pair: (pair[1][0], pair[0]))]
    kinds = [field.type for field in GRAM]
    columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    return pa.StructArray.from_arrays(columns, fields=list(GRAM)), totals


def _spelled_texts(codes: npt.NDArray[np.uint32], edges: npt.NDArray[np.int64]) -> pa.Array:
    spans = itertools.pairwise(edges.tolist())
    pieces = (codes[start:stop].astype("<u4").tobytes() for start, stop in spans)
    return pa.array([piece.decode("utf-32-le") for piece in pieces], pa.large_string())


def _one_row(values: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)


def load_eval_index(path: str | Path) -> EvalIndex:
    """Read an index file; about a second for a million n-grams."""
    try:
        return parse_eval_index(Path(path).read_bytes())
    except OSError as error:
        raise SourceError(f"{path} cannot be read: build the eval index first ({error})") from error
    except pa.ArrowException as error:
        raise SourceError(f"{path} is not an eval index: build it again") from error


def parse_eval_index(data: bytes) -> EvalIndex:
    """The index in `data`, as `build_eval_index` wrote it."""
    table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
    written = (table.schema.metadata or {}).get(b"version", b"none").decode()
    if written != str(VERSION) or table.num_rows != 1:
        raise RecipeError(
            f"the eval index has format {written}, this code reads {VERSION}: build it again"
        )
    items = table.column("items").chunk(0).flatten()
    grams = table.column("grams").chunk(0).flatten()
    texts = items.field("text")
    spelled = "".join(texts.to_pylist())
    postings = grams.field("items")
    found = Grams(
        hashes=_numbers(grams.field("hash"), np.uint64),
        lengths=_numbers(grams.field("n_words"), np.int64),
        starts=_numbers(grams.field("start"), np.int64),
        stops=_numbers(grams.field("stop"), np.int64),
        codes=np.frombuffer(spelled.encode("utf-32-le"), "<u4").astype(np.uint32),
        posting_offsets=_numbers(postings.offsets, np.int64),
        posting_items=_numbers(postings.values, np.int64),
        item_totals=_numbers(items.field("n_grams"), np.int64),
    )
    return EvalIndex(
        items.field("benchmark"), items.field("item_id"), texts, found, build_lookup(found)
    )


def _numbers(column: pa.Array, dtype: Any) -> npt.NDArray[Any]:
    return np.array(column.to_numpy(), dtype=dtype)  # a copy: writable, like every Grams array
