"""Eval index: the n-grams of benchmark items, so that documents can be searched for them.

The index is one Arrow file with one row: `forms` and `grams` (every distinct n-gram: rolling hash,
BLAKE2b-64 of its spelling, where it is spelled, which forms hold it). N-grams of 13 words after
GPT-3 (Brown et al. 2020, appendix C). A shorter form is searched for whole; an item of which every
form is too short even for that is listed.

A form is what a page may quote of an item: all of it, with its code where it has any, and its
question without the choices (`questions`). A question that several items of a benchmark ask, with
other choices each, does not say which of them was quoted, and is no form.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.errors import RecipeError, SourceError
from corpus_assets.core.identity import canonical_json
from corpus_assets.decontam.code_index import CodeIndex, build_code_indexes
from corpus_assets.decontam.eval_suites import EvalItem, read_items, read_suites
from corpus_assets.decontam.kernels.near_misses import Seeds, build_seeds, word_hashes
from corpus_assets.decontam.questions import find_questions
from corpus_assets.decontam.settings import EvalIndexSettings
from corpus_assets.text.characters import OWN_WORD, char_tables, nfkc
from corpus_assets.text.codepoints import code_points, text_buffers
from corpus_assets.text.ngrams import Grams, Lookup, build_lookup, ngram_hashes
from corpus_assets.text.words import spell_words

__all__ = [
    "VERSION",
    "EvalIndex",
    "EvalIndexSettings",
    "EvalItem",
    "build_eval_index",
    "items_by_benchmark",
    "load_eval_index",
    "parse_eval_index",
    "read_items",
    "read_suites",
]

VERSION = 3

FORM = pa.struct(
    [
        ("benchmark", pa.string()),
        ("item_id", pa.string()),  # its forms are neighbours, the whole item comes first
        ("text", pa.large_string()),  # normalised: folded words, single spaces
        ("answer", pa.large_string()),
        ("n_grams", pa.int32()),  # distinct; 0: too short to be indexed
        ("code", pa.large_string()),  # as the suite has it; empty where it has none
        ("language", pa.string()),  # of the code
    ]
)
GRAM = pa.struct(
    [
        ("hash", pa.uint64()),
        ("digest", pa.uint64()),  # BLAKE2b-64 of the spelling, little-endian
        ("n_words", pa.int32()),
        ("start", pa.int64()),  # characters of the items' texts, laid end to end
        ("stop", pa.int64()),
        ("forms", pa.large_list(pa.int32())),  # ordinals in `forms`, ascending
    ]
)
EVAL_INDEX = pa.schema([("forms", pa.large_list(FORM)), ("grams", pa.large_list(GRAM))])

CODE_NGRAM = 20  # tokens; a shorter piece of code is not searched for
MAX_ASKED = 2  # items of a benchmark that may ask the same with other choices
LONG_QUESTION = 2  # n-grams: so many words are no common phrase, whoever else asks them


@dataclass(frozen=True)
class EvalIndex:
    """An index in memory, ready to be searched. What is found are forms; `items` says of what."""

    items: npt.NDArray[np.int64]  # the first form of the item that each form is of
    benchmarks: pa.Array
    item_ids: pa.Array
    texts: pa.Array
    grams: Grams
    lookup: Lookup
    code: tuple[CodeIndex, ...] = ()

    def seeds(self, length: int, min_words: int) -> Seeds:
        """Tables for near misses, made on first use."""
        key = (length, min_words)
        if key not in self._seeds:
            words, firsts = word_hashes(*text_buffers(self.texts), char_tables())
            is_whole = self.items == np.arange(self.items.size)
            self._seeds[key] = build_seeds(words, firsts, length, min_words, is_whole)
        return self._seeds[key]

    @cached_property
    def _seeds(self) -> dict[tuple[int, int], Seeds]:
        return {}

    def metrics(self) -> dict[str, Any]:
        """Return counts, and every item that was too short to be indexed as (benchmark, id)."""
        found = _is_searched(self.items, self.grams.item_totals, self.code)
        short = np.flatnonzero(~found & (self.items == np.arange(self.items.size)))
        names = zip(
            self.benchmarks.take(short).to_pylist(),
            self.item_ids.take(short).to_pylist(),
            strict=True,
        )
        return {
            "items": int(np.unique(self.items).size),
            "grams": int(self.grams.hashes.size),
            "code_items": sum(int((c.grams.item_totals > 0).sum()) for c in self.code),
            "unindexed": int(short.size),
            "unindexed_items": list(names),
        }


def build_eval_index(items: Sequence[EvalItem], settings: EvalIndexSettings) -> bytes:
    """Return the index as one Arrow file; the same items in any order give the same bytes."""
    ordered = sorted(items, key=lambda item: (item.benchmark, item.id))
    for left, right in itertools.pairwise(ordered):
        if (left.benchmark, left.id) == (right.benchmark, right.id):
            raise SourceError(
                f"two eval items are called {left.benchmark}/{left.id}: "
                "name every file once and give every item its own id"
            )
    forms = _forms(ordered, settings)
    texts = nfkc(pa.array([form.text for form in forms], pa.large_string()))
    codes, starts, firsts = spell_words(*text_buffers(texts), char_tables())
    edges = starts[firsts]
    grams, totals = _distinct_grams(texts, codes, starts, firsts, settings)
    forms_column = pa.StructArray.from_arrays(
        [
            pa.array([form.benchmark for form in forms], pa.string()),
            pa.array([form.id for form in forms], pa.string()),
            _spelled_texts(codes, edges),
            pa.array([form.answer for form in forms], pa.large_string()),
            pa.array(totals, pa.int32()),
            pa.array([form.code for form in forms], pa.large_string()),
            pa.array([form.language for form in forms], pa.string()),
        ],
        fields=list(FORM),
    )
    table = pa.table(
        [_one_row(forms_column), _one_row(grams)],
        schema=EVAL_INDEX.with_metadata(
            {"version": str(VERSION), "settings": canonical_json(settings.identity())}
        ),
    )
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _forms(items: Sequence[EvalItem], settings: EvalIndexSettings) -> list[EvalItem]:
    """Every item, with its choices where they are needed to know it, and its questions behind it.

    A question must have `min_words` words; in scripts without spaces two characters are one.
    """
    questions = [
        find_questions(item.text, item.answer, item.parts, is_stem=bool(item.more))
        for item in items
    ]
    wholes = [f"{item.text}\n{item.more}" if item.more else item.text for item in items]
    _, keys = _words(wholes)
    counts, asked = _words([text for own in questions for text in own])
    item_counts, item_asked = _words([item.text for item in items])
    owners = np.repeat(np.arange(len(items)), [len(own) for own in questions]).tolist()
    askers: dict[tuple[str, bytes], set[bytes]] = {}
    for owner, key in [*zip(owners, asked, strict=True), *enumerate(item_asked)]:
        askers.setdefault((items[owner].benchmark, key), set()).add(keys[owner])

    def says_which(item: EvalItem, count: float, key: bytes) -> bool:
        is_own = len(askers[item.benchmark, key]) <= MAX_ASKED
        least = settings.min_words if is_own else LONG_QUESTION * settings.ngram
        return count >= least

    found = iter(zip(counts, asked, strict=True))
    forms: list[EvalItem] = []
    for number, (item, own) in enumerate(zip(items, questions, strict=True)):
        known = {keys[number]}
        if item.more and not says_which(item, item_counts[number], item_asked[number]):
            item = replace(item, text=wholes[number])
        forms.append(item)
        for text, (count, key) in zip(own, found, strict=False):
            if key not in known and says_which(item, count, key):
                known.add(key)
                forms.append(replace(item, text=text, answer="", code=""))
    return forms


def _words(texts: Sequence[str]) -> tuple[list[float], list[bytes]]:
    """How many words each text has, characters of scripts without spaces as halves; and them."""
    searched = nfkc(pa.array(texts, pa.large_string()))
    hashes, firsts = word_hashes(*text_buffers(searched), char_tables())
    is_own = char_tables().classes[code_points(searched)] == OWN_WORD
    edges = np.concatenate([[0], np.cumsum(pc.utf8_length(searched).to_numpy())])
    halves = np.diff(np.concatenate([[0], np.cumsum(is_own)])[edges]) / 2
    counts = (np.diff(firsts) - halves).tolist()
    return counts, [hashes[a:b].tobytes() for a, b in itertools.pairwise(firsts.tolist())]


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
    grams: dict[str, tuple[int, int, int, int, int, list[int]]] = {}
    for length in np.unique(lengths[lengths > 0]).tolist():
        chosen = np.flatnonzero(lengths == length)
        buffers = text_buffers(texts.take(pa.array(chosen)))
        hashed = int(_hashed_words(np.int64(length), settings))
        hashes, hash_firsts = ngram_hashes(*buffers, char_tables(), hashed)
        for item, at in zip(chosen.tolist(), hash_firsts.tolist(), strict=False):
            first, last = int(firsts[item]), int(firsts[item + 1])
            for word in range(first, last - length + 1):
                start, end = int(starts[word]), word + length
                stop = int(starts[end]) - (end < last)
                key = int(hashes[at + word - first])
                spelling = spelled[start:stop]
                gram = grams.get(spelling)
                if gram is None:
                    gram = (key, _digest(spelling), length, start, stop, [])
                    grams[spelling] = gram
                items = gram[5]
                if not items or items[-1] != item:
                    items.append(item)
                    totals[item] += 1
    rows = [gram for _, gram in sorted(grams.items(), key=lambda pair: (pair[1][0], pair[0]))]
    kinds = [field.type for field in GRAM]
    columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    return pa.StructArray.from_arrays(columns, fields=list(GRAM)), totals


def _hashed_words(lengths: Any, settings: EvalIndexSettings) -> Any:
    """How many words of a gram its hash is of: all of an n-gram, the first ones of a short item."""
    return np.where(lengths == settings.ngram, settings.ngram, settings.min_words)


def _digest(spelling: str) -> int:
    return int.from_bytes(blake2b(spelling.encode(), digest_size=8).digest(), "little")


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
    """Return the index in `data`, as `build_eval_index` wrote it."""
    table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
    written = (table.schema.metadata or {}).get(b"version", b"none").decode()
    if written != str(VERSION) or table.num_rows != 1:
        raise RecipeError(
            f"the eval index has format {written}, this code reads {VERSION}: build it again"
        )
    settings = EvalIndexSettings.model_validate_json(table.schema.metadata[b"settings"])
    forms = table.column("forms").chunk(0).flatten()
    grams = table.column("grams").chunk(0).flatten()
    texts = forms.field("text")
    spelled = "".join(texts.to_pylist())
    postings = grams.field("forms")
    lengths = _numbers(grams.field("n_words"), np.int64)
    found = Grams(
        hashes=_numbers(grams.field("hash"), np.uint64),
        lengths=lengths,
        hashed=_hashed_words(lengths, settings),
        starts=_numbers(grams.field("start"), np.int64),
        stops=_numbers(grams.field("stop"), np.int64),
        codes=np.frombuffer(spelled.encode("utf-32-le"), "<u4").astype(np.uint32),
        posting_offsets=_numbers(postings.offsets, np.int64),
        posting_items=_numbers(postings.values, np.int64),
        item_totals=_numbers(forms.field("n_grams"), np.int64),
    )
    names = (forms.field("benchmark"), forms.field("item_id"))
    return EvalIndex(_first_forms(*names), *names, texts, found, build_lookup(found), _code(forms))


def _first_forms(benchmarks: pa.Array, item_ids: pa.Array) -> npt.NDArray[np.int64]:
    firsts: dict[tuple[str, str], int] = {}
    names = zip(benchmarks.to_pylist(), item_ids.to_pylist(), strict=True)
    return np.array([firsts.setdefault(name, form) for form, name in enumerate(names)], np.int64)


def _code(forms: pa.Array) -> tuple[CodeIndex, ...]:
    languages = forms.field("language").to_pylist()
    return build_code_indexes(forms.field("code"), languages, CODE_NGRAM)


def _is_searched(
    items: npt.NDArray[np.int64], n_grams: npt.NDArray[np.int64], code: Sequence[CodeIndex]
) -> npt.NDArray[np.bool_]:
    """Whether any form of the item can be found; noted at its first form."""
    found = np.zeros(items.size, np.bool_)
    found[items[n_grams > 0]] = True
    for one in code:
        found[one.items[one.grams.item_totals > 0]] = True
    return found


def _numbers(column: pa.Array, dtype: Any) -> npt.NDArray[Any]:
    return np.array(column.to_numpy(), dtype=dtype)  # a copy: writable, like every Grams array


def items_by_benchmark(data: bytes) -> dict[str, tuple[int, int]]:
    """Benchmark -> (items, those too short to be searched for), of an index as it was written."""
    table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
    forms = table.column("forms").chunk(0).flatten()
    items = _first_forms(forms.field("benchmark"), forms.field("item_id"))
    n_grams = _numbers(forms.field("n_grams"), np.int64)
    found = _is_searched(items, n_grams, _code(forms)).tolist()
    benchmarks = forms.field("benchmark").to_pylist()
    counts: dict[str, tuple[int, int]] = {}
    for item in np.unique(items).tolist():
        total, short = counts.get(benchmarks[item], (0, 0))
        counts[benchmarks[item]] = (total + 1, short + (not found[item]))
    return counts
