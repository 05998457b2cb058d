"""Clusters of a window of any size, in pieces that any worker can run: `cluster_window` cut up.

Parts are taken in *groups*. A document has a number that no takedown moves: the place of its
record, which the ledger keeps, counted through the group's parts; and in the window, counted
through its groups.

1. `lay_keys`, a group: the candidate keys of documents that take part, by range of keys.
2. `pair_equal`, a range of keys: pairs of documents with an equal key, unconfirmed.
3. `connect`, once: the smallest number that each document of a pair is connected to, its *label*.
   Pairs and labels go through temporary files, an interval of numbers at a time.
4. `lay_rows`, a group: what clustering looks at, of documents with a label, by batch. A batch is a
   hash of the label, so it holds whole connected components, and no other component decides which.
5. `cluster_batch`, a batch: `find_clusters`, exactly as in a window that is worked on at once.
6. `GroupClusters`, a group of the last snapshot: the members of each part.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.exchange import Data, range_name
from corpus_assets.core.schemas import CLUSTER_MEMBERS
from corpus_assets.dedup.clusters import MEMBERS, find_clusters
from corpus_assets.dedup.compared_rows import HeldRows, SketchedRows
from corpus_assets.dedup.kernels.components import RANGES, number_batches
from corpus_assets.dedup.kernels.packed_keys import (
    PACKED_CHUNKS,
    count_kept,
    count_packed,
    equal_pairs,
    in_order,
    join_inside,
    lowest_outside,
    move_outside,
    pack_kept,
    place_packed,
    place_rows,
)
from corpus_assets.dedup.kernels.union_find import roots
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
from corpus_assets.dedup.spill import unnamed_file, write_at
from corpus_assets.dedup.window import (
    BATCH_ROWS,
    RowSpill,
    WindowPart,
    checked_keys,
    key_tables,
    runs,
)
from corpus_assets.text.minhash import BINS
from textkernels.hashing import GOLDEN

VERSION = 3
"""Of the stages between signatures and clusters."""

LABEL_BYTES = 12
_HEAD = 2
_SKETCH_WORDS = BINS // 8
_PIECE_BYTES = 1 << 24
_NOWHERE = np.uint64(2**64 - 1)

Numbers = npt.NDArray[np.uint64]
Pairs = npt.NDArray[np.uint64]  # [pairs, 2]
Labels = npt.NDArray[np.uint64]

SHIPPED = pa.schema(
    [
        *(field for field in MEMBERS if field.name != "snapshot_rank"),  # `row` is the record's
        ("label", pa.uint64()),
    ]
)
FOUND = pa.schema(
    [
        *(field for field in CLUSTER_MEMBERS if field.name != "snapshot"),
        ("is_first", pa.bool_()),  # of its cluster in the snapshot: so each is counted once
    ]
)


class NumberedPart(WindowPart, Protocol):
    """A part whose documents have numbers that stay when others leave."""

    n_records: int

    def numbers(self) -> npt.NDArray[np.uint32]:
        """The number of each row, ascending, below `n_records`."""
        ...


def lay_keys(
    parts: Sequence[NumberedPart], settings: ClusterSettings, signed: SignatureSettings, bits: int
) -> Iterator[tuple[str, memoryview]]:
    """Yield the name of each range of keys that is not empty, and what a group has in it: how many
    keys each table has, and the packed keys of one table after the other."""
    files = [checked_keys(part, signed) for part in parts]
    kept = [part.kept() for part in parts]
    numbers = [part.numbers() + np.uint32(first) for part, first in _with_firsts(parts)]
    tables = key_tables(settings, signed)
    counts = np.zeros((len(tables), 1 << bits), np.int64)
    for table, found in zip(tables, counts, strict=True):
        for file, mask in zip(files, kept, strict=True):
            count_kept(*file.read(table, 0, RANGES), mask, bits, found)
    used = np.flatnonzero(counts.any(axis=0))
    sizes = np.zeros(1 << bits, np.int64)
    sizes[used] = len(tables) + counts[:, used].sum(axis=0)
    ends = np.cumsum(sizes)
    packed = np.empty(int(ends[-1]), np.uint64)
    starts = ends - sizes
    packed[starts[used] + np.arange(len(tables))[:, None]] = counts[:, used]
    places = starts + len(tables) + np.cumsum(counts, axis=0) - counts
    for table, next_places in zip(tables, places, strict=True):
        for file, mask, own in zip(files, kept, numbers, strict=True):
            pack_kept(*file.read(table, 0, RANGES), mask, own, bits, next_places, packed)
    for number in used.tolist():
        yield range_name(number), _as_bytes(packed[starts[number] : ends[number]])


def _as_bytes(words: Numbers) -> memoryview:
    return words.view(np.uint8).data


def pair_equal(pieces: Iterable[tuple[int, Data]], tables: int) -> Pairs:
    """Return pairs of documents with an equal key in one range, from the number of each group's
    first document in the window and what the group has in the range."""
    firsts: list[int] = []
    packed: list[list[Numbers]] = []
    for first, data in pieces:
        words = np.frombuffer(data, np.uint64)
        cuts = np.cumsum(words[: tables - 1].astype(np.int64))
        firsts.append(first)
        packed.append(np.split(words[tables:], cuts))
    found = [np.empty((0, 2), np.uint64)]
    for of_table in zip(*packed, strict=True):
        counts = np.zeros(PACKED_CHUNKS, np.int64)
        for some in of_table:
            count_packed(some, counts)
        ends = np.cumsum(counts)
        places, size = ends - counts, int(ends[-1])
        keys, members = np.empty(size, np.uint32), np.empty(size, np.uint64)
        for first, some in zip(firsts, of_table, strict=True):
            place_packed(some, first, places, keys, members)
        found.append(equal_pairs(keys, members, ends))
    return np.concatenate(found)


def connect(pairs: Iterable[Pairs], firsts: Sequence[int]) -> Iterator[tuple[int, Numbers, Labels]]:
    """Yield, for each interval of numbers, its first one, those in any pair as places behind it,
    ascending, and the smallest number that each is connected to.

    `firsts` cut the window's numbers into intervals; its last is their end. From the last interval
    to the first, the pairs that lead out of one are moved to those before it: what is connected
    stays so, and there are never more pairs. Then labels are handed from the first to the last.
    Memory: 13 bytes a number of one interval, and 24 more where it is in a pair.
    """
    starts = np.array(firsts[:-1], np.uint64)
    waiting, inside, asked, answered = (_PairSpill() for _ in range(4))
    try:
        for some in pairs:
            ordered = some.copy()
            in_order(ordered)
            waiting.append_by(_interval(starts, ordered[:, 1]), ordered)
        for place in reversed(range(starts.size)):
            first, size = firsts[place], firsts[place + 1] - firsts[place]
            parent, is_seen = np.arange(size, dtype=np.uint32), np.zeros(size, np.bool_)
            for some in waiting.pieces(place):
                join_inside(some, first, parent, is_seen)
            if place:
                lowest = np.full(size, _NOWHERE)
                for some in waiting.pieces(place):
                    lowest_outside(some, first, parent, lowest)
                for some in waiting.pieces(place):
                    moved = move_outside(some, first, parent, lowest)
                    waiting.append_by(_interval(starts, moved[:, 1]), moved)
                out = np.flatnonzero(lowest != _NOWHERE).astype(np.uint64)
                who = _pairs(lowest[out], out | np.uint64(place << 32))
                asked.append_by(_interval(starts, who[:, 0]), who)
            seen = np.flatnonzero(is_seen)
            inside.append(place, _pairs(seen, roots(parent)[seen]))
        for place, first in enumerate(firsts[:-1]):
            labels = np.arange(first, firsts[place + 1], dtype=np.uint64)
            for some in answered.pieces(place):
                labels[some[:, 0]] = some[:, 1]
            seen, root = inside.read(place).T
            root_of = np.zeros(labels.size, np.uint32)
            root_of[seen] = root
            for some in asked.pieces(place):
                answers = labels[root_of[some[:, 0] - np.uint64(first)]]
                labelled = _pairs(some[:, 1] & np.uint64(0xFFFFFFFF), answers)
                answered.append_by(some[:, 1] >> np.uint64(32), labelled)
            yield first, seen, labels[root]
    finally:
        for spill in (waiting, inside, asked, answered):
            spill.close()


def _interval(starts: Numbers, numbers: Numbers) -> Numbers:
    return np.searchsorted(starts, numbers, side="right").astype(np.uint64) - np.uint64(1)


def _pairs(left: npt.NDArray[np.generic], right: npt.NDArray[np.generic]) -> Pairs:
    found = np.empty((left.size, 2), np.uint64)
    found[:, 0], found[:, 1] = left, right
    return found


class _PairSpill:
    """Pairs appended under numbers, in one unnamed temporary file."""

    def __init__(self) -> None:
        self._file: IO[bytes] = unnamed_file()
        self._places: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._end = 0

    def append(self, key: int, pairs: Pairs) -> None:
        if pairs.size:
            write_at(self._file, np.ascontiguousarray(pairs).data, self._end)
            self._places[key].append((self._end, pairs.nbytes))
            self._end += pairs.nbytes

    def append_by(self, keys: Numbers, pairs: Pairs) -> None:
        """Append each pair under its key."""
        if keys.size and (keys == keys[0]).all():
            self.append(int(keys[0]), pairs)
            return
        for key, rows in runs(keys):
            self.append(key, pairs[rows])

    def pieces(self, key: int) -> Iterator[Pairs]:
        for at, size in self._places.get(key, ()):
            for start in range(at, at + size, _PIECE_BYTES):
                data = os.pread(self._file.fileno(), min(_PIECE_BYTES, at + size - start), start)
                yield np.frombuffer(data, np.uint64).reshape(-1, 2)

    def read(self, key: int) -> Pairs:
        found = np.empty((sum(size for _, size in self._places.get(key, ())) // 16, 2), np.uint64)
        filled = 0
        for some in self.pieces(key):
            found[filled : filled + len(some)] = some
            filled += len(some)
        return found

    def close(self) -> None:
        self._file.close()


def label_bytes(places: Numbers, labels: Labels) -> bytes:
    """Documents of a group that have a label, as their places in it."""
    return places.astype("<u4").tobytes() + labels.astype("<u8").tobytes()


def lay_rows(
    parts: Sequence[NumberedPart], labelled: bytes, batches: int, bands: int
) -> Iterator[tuple[str, memoryview]]:
    """Yield the name of each batch that a group has documents in, and what clustering looks at: the
    number of rows and of bytes of their table, the bands, the sketches, the table."""
    known = np.frombuffer(labelled, "<u4", len(labelled) // LABEL_BYTES)
    labels = np.frombuffer(labelled, np.uint8)[4 * known.size :].view("<u8")
    batch_of = batch_numbers(labels, batches)
    chosen = []  # part, its rows, where they are among all
    for part, first in _with_firsts(parts):
        start, stop = np.searchsorted(known, [first, first + part.n_records])
        if start < stop:
            rows = np.searchsorted(part.numbers(), known[start:stop] - np.uint32(first))
            chosen.append((part, rows, slice(start, stop), np.uint32(first)))
    if not chosen:
        return
    table = pa.concat_tables(
        _shipped(part.members().take(pa.array(rows)), known[some] - first, labels[some])
        for part, rows, some, first in chosen
    )
    order = np.argsort(batch_of, kind="stable")
    table = table.take(pa.array(order)).combine_chunks()
    counts = np.bincount(batch_of, minlength=batches)
    used = np.flatnonzero(counts)
    cuts = np.cumsum(counts)
    texts = [table_bytes(table.slice(cuts[i] - counts[i], counts[i])) for i in used]
    sizes = np.zeros(batches, np.int64)
    sizes[used] = _HEAD + (bands + _SKETCH_WORDS) * counts[used]
    sizes[used] += np.array([len(text) // 8 for text in texts])
    ends = np.cumsum(sizes)
    words = np.empty(int(ends[-1]), np.uint64)
    begins = ends - sizes
    behind = np.empty(known.size, np.int64)
    behind[order] = np.arange(known.size) - (cuts - counts)[batch_of[order]]
    bands_at = (begins + _HEAD)[batch_of] + bands * behind
    sketches_at = (begins + _HEAD + bands * counts)[batch_of] + _SKETCH_WORDS * behind
    for part, rows, some, _ in chosen:
        place_rows(words, bands_at[some], rows, part.candidate_keys().band_keys())
        place_rows(words, sketches_at[some], rows, part.sketches().view(np.uint64))
    for i, text in zip(used.tolist(), texts, strict=True):
        words[begins[i] : begins[i] + _HEAD] = counts[i], len(text)
        words[ends[i] - len(text) // 8 : ends[i]] = np.frombuffer(text, np.uint64)
        yield range_name(i), _as_bytes(words[begins[i] : ends[i]])


class _Rows(NamedTuple):
    """A group's rows in a batch: their table, and uint64[rows, words] of bands and of sketches."""

    table: pa.Table
    bands: Numbers
    sketches: Numbers


def _parse_rows(data: Data, bands: int, rank: int) -> _Rows:
    """Return rows as `lay_rows` gave them, of a group whose snapshot has this rank."""
    words = np.frombuffer(data, np.uint64)
    rows, _ = words[:_HEAD].tolist()
    keys, sketches, _ = np.split(words[_HEAD:], [rows * bands, rows * (bands + _SKETCH_WORDS)])
    ranks = pa.repeat(pa.scalar(rank, pa.int32()), rows)
    table = _parse_table(data).append_column("snapshot_rank", ranks).select(MEMBERS.names)
    return _Rows(table, keys.reshape(rows, bands), sketches.reshape(rows, _SKETCH_WORDS))


def _labels(data: Data) -> Labels:
    """Return a copy of the labels of a group's rows, which does not keep the rest."""
    return np.concatenate([chunk.to_numpy() for chunk in _parse_table(data)["label"].chunks])


def _parse_table(data: Data) -> pa.Table:
    return read_table_bytes(row_table(data))


def row_table(data: Data) -> memoryview:
    """Return the bytes of the table, which identify the rows: it has the digest of each text, from
    which bands and sketch follow by the settings of signatures."""
    size = int(np.frombuffer(data, np.uint64, _HEAD)[-1])
    return memoryview(data)[len(data) - size :]


def _shipped(members: pa.Table, records: npt.NDArray[np.uint32], labels: Labels) -> pa.Table:
    """Rows as they are sent: equal ones have equal bytes, so nothing is null."""
    for name, nothing in (("url_key", ""), ("fetched_at", ""), ("quality", float("nan"))):
        column = pc.fill_null(members[name], pa.scalar(nothing, members[name].type))
        members = members.set_column(members.column_names.index(name), name, column)
    rows = pa.array(records.astype(np.int32))
    members = members.set_column(members.column_names.index("row"), "row", rows)
    return members.append_column("label", pa.array(labels)).select(SHIPPED.names)


def batch_numbers(labels: Labels, batches: int) -> npt.NDArray[np.int64]:
    return ((labels * GOLDEN >> np.uint64(32)) % np.uint64(batches)).astype(np.int64)


def table_bytes(table: pa.Table) -> memoryview:
    """Return a table as an Arrow stream, its length a multiple of 8."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def read_table_bytes(data: Data) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def cluster_batch(
    pieces: Callable[[], Iterable[tuple[int, Data]]],
    snapshots: Sequence[str],
    settings: ClusterSettings,
    bands: int,
    is_held: bool = True,
    batch_rows: int = BATCH_ROWS,
) -> pa.Table:
    """Return schema FOUND by (part, row): members of the last snapshot that a batch has.

    `pieces` gives the rank of each group's snapshot and what the group has in the batch, and is
    asked twice, first for the labels. A batch that is not held goes through temporary files.
    """
    labels = [_labels(data) for _, data in pieces()]
    codes, is_first = _distinct(pa.array(np.concatenate([np.empty(0, np.uint64), *labels])))
    numbers = np.flatnonzero(is_first)[codes].astype(np.uint32)
    sizes = number_batches(numbers, batch_rows)
    rows = (_parse_rows(data, bands, rank) for rank, data in pieces())
    some = _held(rows, numbers) if is_held else _spilled(rows, numbers, sizes, bands, batch_rows)
    found = [find_clusters(members, near, settings, snapshots) for members, near in some]
    own = [each.filter(pc.equal(each["snapshot"], snapshots[-1])) for each in found]
    return _counted(pa.concat_tables([CLUSTER_MEMBERS.empty_table(), *own]))


def _held(
    rows: Iterable[_Rows], numbers: npt.NDArray[np.uint32]
) -> Iterator[tuple[pa.Table, SketchedRows]]:
    """Yield the rows of one number after the other."""
    listed = list(rows)
    if listed:
        table = pa.concat_tables(some.table for some in listed).combine_chunks()
        for _, places in runs(numbers):
            keys = _take([some.bands for some in listed], places)
            sketches = _take([some.sketches for some in listed], places)
            yield table.take(pa.array(places)), HeldRows(keys, sketches.view(np.uint8))


def _take(pieces: Sequence[Numbers], places: npt.NDArray[np.int64]) -> Numbers:
    """Return rows of pieces that follow one another, by their places in all, ascending."""
    found = np.empty((places.size, pieces[0].shape[1]), np.uint64)
    begin = start = 0
    for piece in pieces:
        stop = int(np.searchsorted(places, begin + len(piece)))
        np.take(piece, places[start:stop] - begin, axis=0, out=found[start:stop], mode="clip")
        begin, start = begin + len(piece), stop
    return found


def _spilled(
    rows: Iterable[_Rows],
    numbers: npt.NDArray[np.uint32],
    sizes: npt.NDArray[np.int64],
    bands: int,
    batch_rows: int,
) -> Iterator[tuple[pa.Table, SketchedRows]]:
    """Do the same through temporary files; what is larger than `batch_rows` stays there, mapped."""
    with RowSpill(sizes, bands) as spill:
        begin = 0
        for table, keys, sketches in rows:
            own = numbers[begin : begin + len(keys)]
            spill.add(own, table, keys, sketches.view(np.uint8))
            begin += len(keys)
        spill.flush()
        for number in range(sizes.size):
            yield spill.batch(number, is_held=bool(sizes[number] <= batch_rows))


def _counted(found: pa.Table) -> pa.Table:
    places = found["part"].to_numpy().astype(np.int64) << 32 | found["row"].to_numpy()
    found = found.take(pa.array(np.argsort(places, kind="stable")))  # a few runs: they are merged
    _, is_first = _distinct(found["cluster_id"].combine_chunks())
    return found.append_column("is_first", pa.array(is_first)).select(FOUND.names)


def _distinct(values: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Return a number for each value, in the order in which they first come, and where they do."""
    codes = values.dictionary_encode().indices.to_numpy()
    return codes, np.diff(np.maximum.accumulate(codes), prepend=np.int32(-1)) > 0


def lay_members(found: pa.Table, firsts: Sequence[int]) -> Iterator[tuple[str, memoryview]]:
    """Yield the name of each group of parts that has members, and those; `firsts` are the numbers
    of the groups' first parts."""
    groups = np.searchsorted(np.array(firsts), found["part"].to_numpy(), side="right") - 1
    for group, rows in runs(groups):
        yield range_name(group), table_bytes(found.take(pa.array(rows)))


class GroupClusters:
    """What was found for a group of parts of the last snapshot, as `WindowClusters` tells it."""

    def __init__(
        self, parts: Sequence[NumberedPart], pieces: Iterable[Data], snapshot: str
    ) -> None:
        tables = [read_table_bytes(data) for data in pieces]
        self._found = pa.concat_tables([FOUND.empty_table(), *tables]).combine_chunks()
        self._parts, self._snapshot = parts, snapshot
        self.n_documents = sum(int(part.kept().sum()) for part in parts)
        self.n_clusters = int(pc.sum(self._found["is_first"]).as_py() or 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def parts(self) -> Iterator[tuple[int, pa.Table]]:
        """(part, CLUSTER_MEMBERS by row) of every part, those without members included."""
        by_part = dict(runs(self._found["part"].to_numpy()))
        for part in self._parts:
            rows = self._found.take(pa.array(by_part.get(part.number, np.empty(0, np.int64))))
            rows = rows.take(pa.array(np.argsort(rows["row"].to_numpy())))
            places = np.searchsorted(part.numbers(), rows["row"].to_numpy()).astype(np.int32)
            rows = rows.set_column(rows.column_names.index("row"), "row", pa.array(places))
            names = pa.repeat(pa.scalar(self._snapshot), rows.num_rows)
            rows = rows.append_column("snapshot", names).select(CLUSTER_MEMBERS.names)
            yield part.number, rows.cast(CLUSTER_MEMBERS).combine_chunks()


def _with_firsts(parts: Sequence[NumberedPart]) -> list[tuple[NumberedPart, int]]:
    """Parts of a group, with the number of the first record of each."""
    firsts = np.cumsum([0, *(part.n_records for part in parts)]).tolist()
    return list(zip(parts, firsts, strict=False))
