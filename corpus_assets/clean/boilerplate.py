"""Lines that a site repeats on page after page: found once per snapshot, pinned by hash.

Counted is what the corpus keeps: documents that no stage before cleaning drops, so copies count
once, whatever files they lie in. A line goes when at least `min_documents` kept documents of its
bucket hold it, and `min_share` of them.

With the bucket `host` that is the frame of a site: a line counts where it stands, by its place from
the head or the foot of the text, and what goes are whole runs from either end. A line inside a text
never goes, nor does a document: where too little would be left, it stays as it is. With the bucket
`snapshot` a line counts and goes wherever it stands, as some publications have it.

In both, what stands in a list, in code, in a table or a formula stays (`text.line_kinds`), and no line
loses its last copy: one document keeps it, the one that was fetched first, of those the one with
the fewest such lines (a list repeats many articles, an article itself). Its copies in its cluster
may keep the line too: one of them replaces it when it is taken down (ADR 57).

1. `line_keys`: the keys of each document's lines. The only pass that reads text; it does not look
   at the selection, so that another threshold does not run it again.
2. `count_lines`, `common_lines`: lines that are repeated.
3. `find_candidates`, `choose_keepers`: who keeps which.

A line's key is BLAKE2b-64 over (host, line), moved on by its place, so the calibration holds no
text. Collisions: at 10^9 distinct lines, about 3% odds that any two share a key.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.clean.kernels.last_copies import keep_last_copies
from corpus_assets.clean.repeated_spans import fetch_order, id_halves
from corpus_assets.clean.settings import BoilerplateSettings
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.blake2b import hash_with_prefix
from corpus_assets.text.line_kinds import IS_PROTECTED, kinds_of_lines
from corpus_assets.text.pieces import pieces_in_chars
from corpus_assets.text.split import CHARS, END, START, Bytes, Hashes, Ints

VERSION = 4

FRAME_LINES = 16
"""Lines from either end of a text that can be part of its frame."""

LINE = pa.struct([("key", pa.uint64()), ("chars", pa.int32())])
"""A line of a document, and its characters wherever it stands there."""

LINE_KEYS = pa.schema(
    [
        ("bucket", pa.uint64()),
        ("fetched_at", pa.string()),
        ("chars", pa.int64()),
        ("lines", pa.list_(LINE)),
    ]
)
"""Row-aligned with DOCUMENTS: key of the bucket, characters in all lines, the lines that count."""

LINE_COUNTS = pa.schema(
    [("line_key", pa.uint64()), ("bucket", pa.uint64()), ("documents", pa.int32())]
)
BUCKET_COUNTS = pa.schema([("bucket", pa.uint64()), ("documents", pa.int32())])
COMMON_LINES = pa.schema([("line_key", pa.uint64())])

CANDIDATES = pa.schema(
    [
        ("bucket", pa.uint64()),
        ("doc_id", DOC_ID),
        ("stands_for", DOC_ID),  # the kept document of its cluster; itself where it is kept
        ("fetched_at", pa.string()),
        ("chars", pa.int64()),
        ("lines", pa.list_(LINE)),  # that are common
    ]
)
"""Documents with common lines."""

BOILERPLATE = pa.schema([("line_key", pa.uint64()), ("keeper", DOC_ID)])
"""Lines to cut, each once for every document that keeps it."""


class Boilerplate(NamedTuple):
    """The pinned lines: sorted keys, and who keeps which."""

    keys: npt.NDArray[np.uint64]
    keepers: frozenset[tuple[int, bytes]] = frozenset()

    @classmethod
    def of(cls, table: pa.Table) -> "Boilerplate":
        kept = table.filter(pc.is_valid(table["keeper"]))
        pairs = zip(kept["line_key"].to_pylist(), kept["keeper"].to_pylist(), strict=True)
        return cls(np.unique(table["line_key"].to_numpy()), frozenset(pairs))


class PinnedLine(NamedTuple):
    """A line of a document that is pinned: [start, end) in characters of the text, the line break
    included; its key without a place; whether it goes."""

    start: int
    end: int
    line: int
    goes: bool


def line_key(host: str, line: str, place: int = 0) -> int:
    """Return the key of a line; `place` counts from 1 at the head, from -1 at the foot, 0: none."""
    data = host.encode() + b"\0" + line.strip().encode()
    base = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
    return (base + place * _STEP) % 2**64


_STEP = 0x9E3779B97F4A7C15


def placed_keys(base: int) -> list[int]:
    """Return the keys of a line at all places, from its key without one."""
    places = range(-FRAME_LINES, FRAME_LINES + 1)
    return [(base + place * _STEP) % 2**64 for place in places]


class _Lines(NamedTuple):
    """Lines of a batch that count."""

    of: Ints  # int64[m]: the number of each among the batch's lines; ascending
    document: Ints  # int64[m]
    place: Ints  # int64[m]: as in `line_key`, from the nearer end
    keys: Hashes  # uint64[m]
    bases: Hashes  # uint64[m]: keys without a place


def find_lines(
    batch: TextBatch, buckets: Sequence[str], wanted: Sequence[bool], settings: BoilerplateSettings
) -> _Lines:
    """Lines of the wanted documents that can be boilerplate, without Python strings."""
    spans, rows = batch.lines.spans, batch.lines.rows
    kinds = kinds_of_lines(batch)
    document = np.repeat(np.arange(len(batch)), np.diff(rows))
    mask = np.asarray(wanted, dtype=np.bool_)[document]
    mask &= (spans[:, CHARS] >= settings.min_chars) & ~IS_PROTECTED[kinds]
    number = np.arange(len(spans))
    place = np.zeros_like(number)
    if settings.is_frame:
        head, foot = number - rows[document] + 1, number - rows[document + 1]
        place = np.where(head <= -foot, head, foot)
        mask &= np.abs(place) <= FRAME_LINES
    before = np.concatenate(([0], np.cumsum(mask)))
    prefixes = [bucket.encode() + b"\0" for bucket in buckets]
    ends = np.cumsum([0, *map(len, prefixes)], dtype=np.int64)
    heads = np.frombuffer(b"".join(prefixes), dtype=np.uint8)
    bases = hash_with_prefix(batch.data, spans[mask], before[rows], heads, ends)
    keys = bases + place[mask].astype(np.uint64) * np.uint64(_STEP)  # wraps, as `line_key` does
    return _Lines(number[mask], document[mask], place[mask], keys, bases)


def pinned_lines(
    batch: TextBatch,
    documents: pa.Table,
    boilerplate: Boilerplate,
    settings: BoilerplateSettings,
    min_left: int,
) -> dict[int, list[PinnedLine]]:
    """Return the pinned lines of each document that has any, in order.

    `documents` has doc_id, domain and host, and the texts are in `batch`. `min_left` are the
    characters that a document must be left with.
    """
    wanted = [domain in settings.domains for domain in documents["domain"].to_pylist()]
    if not len(boilerplate.keys) or not any(wanted):
        return {}
    found = find_lines(batch, settings.buckets(documents["host"].to_pylist()), wanted, settings)
    hits = np.flatnonzero(np.isin(found.keys, boilerplate.keys))
    if len(hits) == 0:
        return {}
    ids = documents["doc_id"].take(pa.array(found.document[hits])).to_pylist()
    pairs = zip(found.keys[hits].tolist(), ids, strict=True)
    lines, owner = found.of[hits], found.document[hits]
    kept = {
        line
        for line, pair in zip(lines.tolist(), pairs, strict=True)
        if pair in boilerplate.keepers
    }
    going = _in_runs(batch, found, hits) if settings.is_frame else set(lines.tolist())
    going -= kept
    if settings.is_frame:
        going -= _of_emptied(batch, going, min_left)
    pieces = np.empty((len(lines), 2), dtype=np.int64)
    for k, (line, row) in enumerate(zip(lines.tolist(), owner.tolist(), strict=True)):
        pieces[k] = _with_break(
            batch.data,
            batch.lines.spans[line],
            int(batch.offsets[row]),
            int(batch.offsets[row + 1]),
        )
    hit_rows = np.searchsorted(owner, np.arange(len(batch) + 1)).astype(np.int64)
    places = pieces_in_chars(batch.data, batch.offsets, pieces, hit_rows).tolist()
    bases = found.bases[hits].tolist()
    out: dict[int, list[PinnedLine]] = {}
    for k, (line, row) in enumerate(zip(lines.tolist(), owner.tolist(), strict=True)):
        start, end = places[k]
        out.setdefault(row, []).append(PinnedLine(start, end, bases[k], line in going))
    return out


def _in_runs(batch: TextBatch, found: _Lines, hits: Ints) -> set[int]:
    """Lines of the unbroken runs of pinned ones at the head and the foot of each document."""
    pinned = {(int(found.of[hit]), int(found.place[hit]) > 0) for hit in hits.tolist()}
    rows = batch.lines.rows
    out: set[int] = set()
    for document in np.unique(found.document[hits]).tolist():
        first, end = int(rows[document]), int(rows[document + 1])
        for order, at_head in ((range(first, end), True), (range(end - 1, first - 1, -1), False)):
            for line in order:
                if (line, at_head) not in pinned:
                    break
                out.add(line)
    return out


def _of_emptied(batch: TextBatch, going: set[int], min_left: int) -> set[int]:
    """Those of the lines whose document would be left with too little."""
    lines = np.array(sorted(going), np.int64)
    owner = np.searchsorted(batch.lines.rows, lines, side="right") - 1
    gone = np.bincount(owner, weights=batch.lines.spans[lines, CHARS], minlength=len(batch))
    return set(lines[(batch.lines.chars - gone < min_left)[owner]].tolist())


def _with_break(data: Bytes, span: Ints, low: int, high: int) -> tuple[int, int]:
    """Return a stripped line with the white space around it and its line break."""
    start, end = int(span[START]), int(span[END])
    while start > low and data[start - 1] != 10:
        start -= 1
    while end < high and data[end] != 10:
        end += 1
    return start, min(end + 1, high)


def line_keys(batch: TextBatch, documents: pa.Table, settings: BoilerplateSettings) -> pa.Table:
    """Return schema LINE_KEYS of documents (domain, host, fetched_at) whose texts are in `batch`."""
    wanted = [domain in settings.domains for domain in documents["domain"].to_pylist()]
    buckets = settings.buckets(documents["host"].to_pylist())
    found = find_lines(batch, buckets, wanted, settings)
    order = np.lexsort((found.keys, found.document))
    keys, document = found.keys[order], found.document[order]
    is_new = np.ones(len(keys), dtype=np.bool_)  # a key once a document
    is_new[1:] = (keys[1:] != keys[:-1]) | (document[1:] != document[:-1])
    firsts = np.flatnonzero(is_new)
    sizes = batch.lines.spans[found.of[order], CHARS]
    chars = np.add.reduceat(sizes, firsts) if len(firsts) else firsts
    arrays = [pa.array(keys[firsts]), pa.array(chars.astype(np.int32))]
    lines = pa.StructArray.from_arrays(arrays, fields=list(LINE))
    ends = np.searchsorted(document[firsts], np.arange(len(batch) + 1))
    named = {bucket: line_key(bucket, "") for bucket in set(buckets)}
    columns = [
        pa.array([named[bucket] for bucket in buckets], pa.uint64()),
        documents["fetched_at"].combine_chunks(),
        pa.array(batch.lines.chars),
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
    return pa.table([counted["line_key"].to_numpy()[mask]], schema=COMMON_LINES)


def find_candidates(
    doc_ids: pa.ChunkedArray, stand_for: pa.ChunkedArray, keys: pa.Table, common: pa.Table
) -> pa.Table:
    """Return schema CANDIDATES of a part: row-aligned ids, those of the kept documents that stand
    for them (null where selection dropped a document), and line keys."""
    known = pc.is_valid(stand_for)
    some = keys.filter(known)
    lines, document = _flat(some["lines"])
    is_common = pc.is_in(lines.field("key"), common["line_key"].combine_chunks())
    owners = document.filter(is_common).to_numpy()
    rows = np.unique(owners)
    ends = np.append(np.searchsorted(owners, rows), len(owners)).astype(np.int32)
    index = pa.array(rows)
    return pa.table(
        [
            some["bucket"].take(index).combine_chunks(),
            doc_ids.filter(known).take(index).combine_chunks(),
            stand_for.filter(known).take(index).combine_chunks(),
            some["fetched_at"].take(index).combine_chunks(),
            some["chars"].take(index).combine_chunks(),
            pa.ListArray.from_arrays(pa.array(ends), lines.filter(is_common)),
        ],
        schema=CANDIDATES,
    )


def choose_keepers(parts: Iterable[pa.Table], common: pa.Table, min_chars: int) -> pa.Table:
    """Return schema BOILERPLATE, sorted, from the candidates of all parts.

    Who was fetched first keeps. A document that cleaning would leave with fewer than `min_chars`
    keeps nothing; a line that no longer one holds is not cut at all.
    """
    found = pa.concat_tables([CANDIDATES.empty_table(), *parts])
    ids, stand_for = found["doc_id"].to_pylist(), found["stands_for"].to_pylist()
    n_lines = pc.list_value_length(found["lines"]).to_numpy()
    chars = found["chars"].to_numpy()
    halves = id_halves(found["doc_id"])
    order = np.lexsort((halves[:, 1], halves[:, 0], n_lines, fetch_order(found["fetched_at"])))
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
    listed = sorted(pairs)
    return pa.table([[k for k, _ in listed], [d for _, d in listed]], schema=BOILERPLATE)


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
