"""Lines that a site repeats on page after page: found once per snapshot, pinned by hash.

Counted is what the corpus keeps: documents that no stage before cleaning drops, so copies count
once, whatever files they lie in. A line goes when at least `min_documents` kept documents of its
bucket hold it, and `min_share` of them. The bucket is the host, or all of the snapshot.

A line of prose (`clean.kernels.prose`) never loses its last copy: one document keeps it. An article
repeats only itself, a tag page or an archive many articles, so the keeper is the document with
the fewest such lines, then the longest. Its copies in its cluster may keep the line too: one of
them stands for it when it is taken down (ADR 19).

1. `line_keys`: the keys of each document's lines. The only pass that reads text; it does not look
   at the selection, so that another threshold does not run it again.
2. `count_lines`, `common_lines`: lines that are repeated.
3. `find_candidates`, `choose_keepers`: who keeps which.

A line's key is BLAKE2b-64 over (host, line), so the calibration holds no text. Collisions: at
10^9 distinct lines, about 3% odds that any two share a key.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from corpus_assets.clean.kernels.prose import keep_last_copies, running_words
from corpus_assets.clean.repeated_spans import id_halves
from corpus_assets.core.identity import Settings
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.blake2b import hash_with_prefix
from corpus_assets.text.characters import char_tables
from corpus_assets.text.pieces import pieces_in_chars
from corpus_assets.text.split import CHARS, END, START, Bytes, Hashes, Ints
from corpus_assets.text.unicode import class_table

VERSION = 2

LINE = pa.struct([("key", pa.uint64()), ("chars", pa.int32()), ("words", pa.int16())])
"""A line of a document: its characters wherever it stands there, its running words."""

LINE_KEYS = pa.schema([("bucket", pa.uint64()), ("chars", pa.int64()), ("lines", pa.list_(LINE))])
"""Row-aligned with DOCUMENTS: key of the bucket, characters in all lines, the lines that count."""

LINE_COUNTS = pa.schema(
    [
        ("line_key", pa.uint64()),
        ("bucket", pa.uint64()),
        ("words", pa.int16()),
        ("documents", pa.int32()),
    ]
)
BUCKET_COUNTS = pa.schema([("bucket", pa.uint64()), ("documents", pa.int32())])
COMMON_LINES = pa.schema([("line_key", pa.uint64()), ("is_prose", pa.bool_())])

CANDIDATES = pa.schema(
    [
        ("bucket", pa.uint64()),
        ("doc_id", DOC_ID),
        ("stands_for", DOC_ID),  # the kept document of its cluster; itself where it is kept
        ("chars", pa.int64()),  # without the lines that go from every document
        ("lines", pa.list_(LINE)),  # of prose, that are common
    ]
)
"""Documents with common lines of prose."""

BOILERPLATE = pa.schema([("line_key", pa.uint64()), ("keeper", DOC_ID)])
"""Lines to cut, each once for every document that keeps it; null where none does."""


class BoilerplateSettings(Settings):
    """Which lines are counted, and how often makes one boilerplate."""

    domains: tuple[str, ...] = ("web",)
    min_chars: int = Field(default=12, ge=1)
    min_documents: int = Field(
        default=6, ge=2, description="kept documents of a bucket that must hold a line"
    )
    min_share: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="share of the bucket's kept documents that must hold it: a line of a site's "
        "frame stands on most pages of a kind, a repeated title or quotation on few",
    )
    prose_words: int = Field(
        default=8,
        ge=1,
        description="words without capital or digit at their beginning from which on a line is "
        "prose: one document keeps it (two characters for a word where no spaces are written)",
    )
    bucket: Literal["host", "snapshot"] = Field(
        default="host", description="where a line's documents are counted: its site, or all sites"
    )

    def buckets(self, hosts: Iterable[str | None]) -> list[str]:
        """Return the name under which each document's lines are counted."""
        if self.bucket == "snapshot":
            return ["" for _ in hosts]
        return [host or "" for host in hosts]


class Boilerplate(NamedTuple):
    """The pinned lines: sorted keys, and who keeps which."""

    keys: npt.NDArray[np.uint64]
    keepers: frozenset[tuple[int, bytes]] = frozenset()

    @classmethod
    def of(cls, table: pa.Table) -> "Boilerplate":
        kept = table.filter(pc.is_valid(table["keeper"]))
        pairs = zip(kept["line_key"].to_pylist(), kept["keeper"].to_pylist(), strict=True)
        return cls(np.unique(table["line_key"].to_numpy()), frozenset(pairs))


def line_key(host: str, line: str) -> int:
    data = host.encode() + b"\0" + line.strip().encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def find_lines(
    batch: TextBatch, hosts: Sequence[str], wanted: Sequence[bool], min_chars: int
) -> tuple[Ints, Ints, Hashes]:
    """Lines of the wanted documents that are long enough, and their keys, without Python strings.

    Returns `spans: int64[k, 3]`, `rows: int64[n + 1]` and `keys: uint64[k]`; the key of a line is
    `line_key` of it.
    """
    lines, rows = batch.lines.spans, batch.lines.rows
    mask = np.repeat(np.asarray(wanted, dtype=np.bool_), np.diff(rows))
    mask &= lines[:, CHARS] >= min_chars
    before = np.concatenate(([0], np.cumsum(mask)))
    spans, rows = lines[mask], before[rows]
    prefixes = [host.encode() + b"\0" for host in hosts]
    ends = np.cumsum([0, *map(len, prefixes)], dtype=np.int64)
    heads = np.frombuffer(b"".join(prefixes), dtype=np.uint8)
    return spans, rows, hash_with_prefix(batch.data, spans, rows, heads, ends)


def repeated_lines(
    batch: TextBatch,
    documents: pa.Table,
    boilerplate: Boilerplate,
    settings: BoilerplateSettings,
) -> dict[int, list[tuple[int, int]]]:
    """Return the boilerplate lines of each document that has any to lose: [start, end) in
    characters of its text in `batch`, the line break included. `documents` has doc_id, domain
    and host."""
    wanted = [domain in settings.domains for domain in documents["domain"].to_pylist()]
    if not len(boilerplate.keys) or not any(wanted):
        return {}
    buckets = settings.buckets(documents["host"].to_pylist())
    spans, rows, keys = find_lines(batch, buckets, wanted, settings.min_chars)
    hits = np.flatnonzero(np.isin(keys, boilerplate.keys))
    document = np.searchsorted(rows, hits, side="right") - 1
    if boilerplate.keepers:
        ids = documents["doc_id"].take(pa.array(document)).to_pylist()
        pairs = zip(keys[hits].tolist(), ids, strict=True)
        goes = np.array([pair not in boilerplate.keepers for pair in pairs], dtype=np.bool_)
        hits, document = hits[goes], document[goes]
    if len(hits) == 0:
        return {}
    pieces = np.empty((len(hits), 2), dtype=np.int64)
    for k, (hit, row) in enumerate(zip(hits.tolist(), document.tolist(), strict=True)):
        pieces[k] = _with_break(
            batch.data, spans[hit], int(batch.offsets[row]), int(batch.offsets[row + 1])
        )
    hit_rows = np.searchsorted(document, np.arange(len(batch) + 1)).astype(np.int64)
    places = pieces_in_chars(batch.data, batch.offsets, pieces, hit_rows).tolist()
    out: dict[int, list[tuple[int, int]]] = {}
    for row, (start, end) in zip(document.tolist(), places, strict=True):
        out.setdefault(row, []).append((start, end))
    return out


def _with_break(data: Bytes, span: Ints, low: int, high: int) -> tuple[int, int]:
    """Return a stripped line with the white space around it and its line break."""
    start, end = int(span[START]), int(span[END])
    while start > low and data[start - 1] != 10:
        start -= 1
    while end < high and data[end] != 10:
        end += 1
    return start, min(end + 1, high)


def line_keys(batch: TextBatch, documents: pa.Table, settings: BoilerplateSettings) -> pa.Table:
    """Return schema LINE_KEYS of documents (domain, host) whose texts are in `batch`."""
    wanted = [domain in settings.domains for domain in documents["domain"].to_pylist()]
    buckets = settings.buckets(documents["host"].to_pylist())
    spans, rows, keys = find_lines(batch, buckets, wanted, settings.min_chars)
    words = running_words(batch.data, spans, char_tables().classes, class_table())
    document = np.repeat(np.arange(len(batch)), np.diff(rows))
    order = np.lexsort((keys, document))
    keys, document = keys[order], document[order]
    is_new = np.ones(len(keys), dtype=np.bool_)  # a key once a document
    is_new[1:] = (keys[1:] != keys[:-1]) | (document[1:] != document[:-1])
    firsts = np.flatnonzero(is_new)
    chars = np.add.reduceat(spans[order, CHARS], firsts) if len(firsts) else firsts
    lines = _lines(keys[firsts], chars, words[order[firsts]])
    ends = np.searchsorted(document[firsts], np.arange(len(batch) + 1))
    total = np.concatenate(([0], np.cumsum(batch.lines.spans[:, CHARS])))[batch.lines.rows]
    named = {bucket: line_key(bucket, "") for bucket in set(buckets)}
    columns = [
        pa.array([named[bucket] for bucket in buckets], pa.uint64()),
        pa.array(np.diff(total)),
        pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), lines),
    ]
    return pa.table(columns, schema=LINE_KEYS)


def count_lines(keys: pa.Table, kept: Sequence[int]) -> tuple[pa.Table, pa.Table]:
    """LINE_COUNTS and BUCKET_COUNTS of the kept rows of a part (schema LINE_KEYS)."""
    some = keys.take(pa.array(kept, pa.int64()))
    lines, document = _flat(some["lines"])
    counted = _grouped(
        pa.table(
            [
                lines.field("key"),
                some["bucket"].combine_chunks().take(document),
                lines.field("words"),
                pa.array(np.ones(len(lines), np.int32)),
            ],
            schema=LINE_COUNTS,
        ),
        LINE_COUNTS,
    )
    ones = pa.array(np.ones(some.num_rows, np.int32))
    return counted, _grouped(pa.table([some["bucket"], ones], schema=BUCKET_COUNTS), BUCKET_COUNTS)


def merge_counts(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    """Sum LINE_COUNTS or BUCKET_COUNTS of several parts."""
    return _grouped(pa.concat_tables([schema.empty_table(), *tables]), schema)


def common_lines(
    lines: Iterable[pa.Table], buckets: Iterable[pa.Table], settings: BoilerplateSettings
) -> pa.Table:
    """Return schema COMMON_LINES, by key: lines of enough documents, from the counts of all parts."""
    counted, totals = merge_counts(lines, LINE_COUNTS), merge_counts(buckets, BUCKET_COUNTS)
    if not counted.num_rows:
        return COMMON_LINES.empty_table()
    place = np.searchsorted(totals["bucket"].to_numpy(), counted["bucket"].to_numpy())
    documents = counted["documents"].to_numpy()
    share = documents / totals["documents"].to_numpy()[place]
    mask = (documents >= settings.min_documents) & (share >= settings.min_share)
    is_prose = counted["words"].to_numpy()[mask] >= settings.prose_words
    return pa.table([counted["line_key"].to_numpy()[mask], is_prose], schema=COMMON_LINES)


def find_candidates(
    doc_ids: pa.ChunkedArray, stand_for: pa.ChunkedArray, keys: pa.Table, common: pa.Table
) -> pa.Table:
    """Return schema CANDIDATES of a part: row-aligned ids, those of the kept documents that stand
    for them (null where selection dropped a document), and line keys."""
    known = pc.is_valid(stand_for)
    some = keys.filter(known)
    lines, document = _flat(some["lines"])
    owners = document.to_numpy()
    place = np.searchsorted(common["line_key"].to_numpy(), lines.field("key").to_numpy())
    place = np.minimum(place, max(common.num_rows - 1, 0))
    is_common = np.zeros(len(lines), np.bool_)
    is_prose = is_common
    if common.num_rows:
        is_common = common["line_key"].to_numpy()[place] == lines.field("key").to_numpy()
        is_prose = is_common & common["is_prose"].to_numpy()[place]
    gone = np.where(is_common & ~is_prose, lines.field("chars").to_numpy(), 0)
    chars = some["chars"].to_numpy() - np.bincount(
        owners, weights=gone, minlength=some.num_rows
    ).astype(np.int64)
    rows = np.unique(owners[is_prose])
    ends = np.append(np.searchsorted(owners[is_prose], rows), is_prose.sum()).astype(np.int32)
    index = pa.array(rows)
    return pa.table(
        [
            some["bucket"].take(index).combine_chunks(),
            doc_ids.filter(known).take(index).combine_chunks(),
            stand_for.filter(known).take(index).combine_chunks(),
            pa.array(chars).take(index),
            pa.ListArray.from_arrays(pa.array(ends), lines.filter(pa.array(is_prose))),
        ],
        schema=CANDIDATES,
    )


def choose_keepers(parts: Iterable[pa.Table], common: pa.Table, min_chars: int) -> pa.Table:
    """Return schema BOILERPLATE, sorted, from the candidates of all parts.

    A document that cleaning would leave with fewer than `min_chars` keeps nothing.
    """
    found = pa.concat_tables([CANDIDATES.empty_table(), *parts])
    ids, stand_for = found["doc_id"].to_pylist(), found["stands_for"].to_pylist()
    n_lines = pc.list_value_length(found["lines"]).to_numpy()
    chars = found["chars"].to_numpy()
    halves = id_halves(found["doc_id"])
    order = np.lexsort((halves[:, 1], halves[:, 0], -chars, n_lines))
    order = np.array([row for row in order if ids[row] == stand_for[row]], np.int64)
    lines, _ = _flat(found["lines"].take(pa.array(order)))
    rows = np.concatenate(([0], np.cumsum(n_lines[order])))
    keys = common["line_key"].to_numpy()
    numbers = np.searchsorted(keys, lines.field("key").to_numpy())
    sizes = lines.field("chars").to_numpy().astype(np.int64)
    keeps = keep_last_copies(rows, numbers, sizes, chars[order], len(keys), min_chars) == 1
    keeper = np.repeat(np.arange(len(order)), n_lines[order])
    held = keeper[keeps] * len(keys) + numbers[keeps]

    place = {ids[row]: k for k, row in enumerate(order.tolist())}
    stands_for = np.array([place.get(one, -1) for one in stand_for], np.int64)
    lines, document = _flat(found["lines"])
    owner = stands_for[document.to_numpy()]
    number = np.searchsorted(keys, lines.field("key").to_numpy())
    mask = (owner >= 0) & np.isin(owner * len(keys) + number, held)
    pairs = {
        (int(keys[k]), ids[row])
        for k, row in zip(number[mask].tolist(), document.to_numpy()[mask].tolist(), strict=True)
    }
    kept = {key for key, _ in pairs}
    alone: list[tuple[int, bytes | None]] = [(k, None) for k in keys.tolist() if k not in kept]
    listed = sorted([*pairs, *alone], key=lambda pair: (pair[0], pair[1] or b""))
    return pa.table([[k for k, _ in listed], [d for _, d in listed]], schema=BOILERPLATE)


def _lines(keys: Hashes, chars: Ints, words: Ints) -> pa.StructArray:
    arrays = [pa.array(keys), pa.array(chars.astype(np.int32)), pa.array(words.astype(np.int16))]
    return pa.StructArray.from_arrays(arrays, fields=list(LINE))


def _flat(lists: pa.ChunkedArray) -> tuple[pa.StructArray, pa.Array]:
    """Return the items of lists, and the row that each stands in."""
    whole = pa.concat_arrays([pa.array([], lists.type), *lists.chunks])
    return whole.flatten(), pc.list_parent_indices(whole)


def _grouped(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """One row a value of the first column, in order: documents summed, the rest as it is."""
    key, *others = schema.names
    how = [(name, "sum" if name == "documents" else "min") for name in others]
    summed = table.group_by(key, use_threads=False).aggregate(how)
    columns = [summed[key], *(summed[f"{name}_{way}"] for name, way in how)]
    return pa.table(columns, names=schema.names).sort_by(key).cast(schema).combine_chunks()
