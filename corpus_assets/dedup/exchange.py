"""Clusters of a window of any size, in pieces that any worker can run: `cluster_window` cut up.

Parts are taken in *groups*. A document has a number that no takedown moves: the place of its
record, which the ledger keeps, counted through the group's parts; and in the window, counted
through its groups.

1. `lay_keys`, a group: the candidate keys of documents that take part, by range of keys.
2. `pair_equal`, a range of keys: pairs of documents with an equal key, unconfirmed.
3. `label`, once: the smallest number that each document of a pair is connected to, its *label*.
   Pairs and labels go through temporary files, an interval of numbers at a time.
4. `lay_rows`, a group: what clustering looks at, of documents with a label, by batch. A batch is a
   hash of the label, so it holds whole connected components, and no other component decides which.
5. `cluster_batch`, a batch: `find_clusters`, exactly as in a window that is worked on at once.
6. `GroupClusters`, a group of the last snapshot: the members of each part.

Snapshots that were clustered before are not clustered again. Whatever comes later, which of their
documents are one does not change, since later ones never come first in a bucket. So each snapshot
leaves *links*: pairs of numbers that connect the documents of its clusters, where no earlier link
does. With those of all snapshots before,

- only keys that a new document has make pairs; all that have such a key are paired, so the centres
  of its buckets are there;
- only what is connected to a new document gets a label, by pairs or links;
- what links connect has one number in the column `known`, and is one cluster from the start.
"""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.exchange import Data, range_name
from corpus_assets.core.schemas import CLUSTER_MEMBERS
from corpus_assets.dedup.clusters import KNOWN, MEMBERS, find_clusters
from corpus_assets.dedup.compared_rows import HeldRows, SketchedRows
from corpus_assets.dedup.kernels.components import RANGES, number_batches
from corpus_assets.dedup.kernels.packed_keys import (
    ASKED,
    NUMBER,
    PACKED_CHUNKS,
    count_kept,
    count_packed,
    equal_pairs,
    fill_intervals,
    in_order,
    join_inside,
    lowest_outside,
    move_outside,
    pack_kept,
    place_packed,
    place_rows,
    settle_roots,
)
from corpus_assets.dedup.parts import with_columns
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

VERSION = 4
"""Of the stages between signatures and clusters."""

LABEL_BYTES = 20
_HEAD = 2
_SKETCH_WORDS = BINS // 8
_BUFFERED = 1 << 21  # pairs of one kind that wait in memory: 32 MB
_LEAST_BLOCK = 1 << 7

Numbers = npt.NDArray[np.uint64]
Pairs = npt.NDArray[np.uint64]  # [pairs, 2]
Labels = npt.NDArray[np.uint64]

_NO_PAIRS = np.empty((0, 2), np.uint64)

SHIPPED = pa.schema(
    [
        *(field for field in MEMBERS if field.name != "snapshot_rank"),  # `row` is the record's
        ("label", pa.uint64()),
        (KNOWN, pa.uint64()),
    ]
)
CONNECTED = MEMBERS.append(SHIPPED.field(KNOWN))
FOUND = pa.schema(
    [
        *(field for field in CLUSTER_MEMBERS if field.name != "snapshot"),
        ("is_first", pa.bool_()),  # of its cluster in the snapshot: so each is counted once
    ]
)


_NO_FOUND = CLUSTER_MEMBERS.append(SHIPPED.field(KNOWN)).empty_table()


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


def pair_equal(pieces: Iterable[tuple[int, Data]], tables: int, new: int = 0) -> Pairs:
    """Return pairs of documents with an equal key in one range, of keys that a document from number
    `new` on has; from the number of each group's first document in the window and what the group has
    in the range."""
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
        found.append(equal_pairs(keys, members, ends, new))
    return np.concatenate(found)


def label(
    pairs: Iterable[Pairs],
    links: Callable[[], Iterable[Pairs]],
    firsts: Sequence[int],
    asked: int,
) -> Iterator[tuple[int, Numbers, Labels, Labels]]:
    """Yield what `connect` does for pairs and links together, and the smallest number that links
    alone connect each one to, itself where none does. Links are asked for twice, and go through
    temporary files twice."""
    together = connect(itertools.chain(links(), pairs), firsts, asked)
    alone = connect(links(), firsts)
    for (first, places, labels), (_, linked, lowest) in zip(together, alone, strict=True):
        known = places + np.uint64(first)
        at = np.searchsorted(linked, places)
        is_linked = np.append(linked, NUMBER)[at] == places
        known[is_linked] = lowest[at[is_linked]]
        yield first, places, labels, known


def connect(
    pairs: Iterable[Pairs], firsts: Sequence[int], asked: int = 0
) -> Iterator[tuple[int, Numbers, Labels]]:
    """Yield, for each interval of numbers, its first one, those that have a label as places behind
    it, ascending, and their labels: the smallest number that each is connected to. Labelled is what
    pairs connect to a number from `asked` on.

    `firsts` cut the window's numbers into intervals; its last is their end. From the last interval
    to the first, the pairs that lead out of one are moved to those before it: what is connected
    stays so, and there are never more pairs. Then labels are handed from the first to the last.
    Memory: 23 bytes a number of one interval, 32 more where it is in a pair, and 128 MB of pairs on
    their way. In temporary files: 16 bytes for each pair, used again as soon as it is read.
    """
    starts = np.array(firsts[:-1], np.uint64)
    blocks = PairBlocks(max(_LEAST_BLOCK, _BUFFERED // starts.size))
    waiting, inside, asking, answered = (PairSpill(blocks, starts) for _ in range(4))
    try:
        for some in pairs:
            ordered = some.copy()
            in_order(ordered)
            waiting.add(ordered, by=1)
        _fold(waiting, inside, asking, firsts, asked)
        for place, first in enumerate(firsts[:-1]):
            labels = np.arange(first, firsts[place + 1], dtype=np.uint64)
            for some in answered.pieces(place):
                labels[some[:, 1] - np.uint64(first)] = some[:, 0]
            seen, root_of = np.concatenate([_NO_PAIRS, *inside.pieces(place)]).T
            seen, marks = seen - np.uint64(first), root_of & ASKED
            roots = np.zeros(labels.size, np.uint32)
            roots[seen] = root_of & NUMBER
            labels[roots[seen]] |= marks
            for some in asking.pieces(place):
                answers = labels[roots[some[:, 0] - np.uint64(first)]]
                answered.add(_pairs(answers, some[:, 1]), by=1)
            for spill in (answered, inside, asking):
                spill.forget(place)
            found = labels[roots[seen]]
            is_asked = found >= ASKED
            yield first, seen[is_asked], found[is_asked] & NUMBER
    finally:
        blocks.close()


def _fold(
    waiting: "PairSpill",
    inside: "PairSpill",
    asking: "PairSpill",
    firsts: Sequence[int],
    asked: int,
) -> None:
    """From the last interval to the first, connect its numbers (`inside`: each with its root), move
    the pairs that lead out of it, and note for which root the label of which number is asked."""
    for place in reversed(range(len(firsts) - 1)):
        first, size = firsts[place], firsts[place + 1] - firsts[place]
        root, is_seen = np.arange(size, dtype=np.uint32), np.zeros(size, np.bool_)
        is_asked = np.zeros(size, np.bool_)
        is_asked[max(0, asked - first) :] = True
        for some in waiting.pieces(place):
            join_inside(some, first, root, is_seen, is_asked)
        settle_roots(root, is_asked)
        if place:
            lowest, last = np.full(size, NUMBER), np.full(size, NUMBER)
            for some in waiting.pieces(place):
                lowest_outside(some, first, root, lowest)
            for some in waiting.pieces(place):
                waiting.add(move_outside(some, first, root, is_asked, lowest, last), by=1)
            out = np.flatnonzero(lowest != NUMBER)
            asking.add(_pairs(lowest[out], out + first), by=0)
        waiting.forget(place)
        seen = np.flatnonzero(is_seen)
        marks = np.where(is_asked[root[seen]], ASKED, np.uint64(0))
        inside.add(_pairs(seen + first, root[seen] | marks), by=0)


def _pairs(left: npt.NDArray[np.generic], right: npt.NDArray[np.generic]) -> Pairs:
    found = np.empty((left.size, 2), np.uint64)
    found[:, 0], found[:, 1] = left, right
    return found


class PairBlocks:
    """Blocks of pairs in one unnamed temporary file, which is never larger than what it held at
    one time."""

    def __init__(self, room: int) -> None:
        """`room`: pairs in a block."""
        self.room = room
        self._file: IO[bytes] = unnamed_file()
        self._free: list[int] = []
        self._blocks = 0

    def write(self, pairs: Pairs) -> int:
        """Write a full block; return its number."""
        if not self._free:
            self._free.append(self._blocks)
            self._blocks += 1
        number = self._free.pop()
        write_at(self._file, pairs.data, number * pairs.nbytes)
        return number

    def read(self, number: int) -> Pairs:
        found = np.empty((self.room, 2), np.uint64)
        view, done = found.data.cast("B"), 0
        while done < len(view):
            done += os.preadv(self._file.fileno(), [view[done:]], number * len(view) + done)
        return found

    def forget(self, numbers: Iterable[int]) -> None:
        self._free.extend(numbers)

    @property
    def file_bytes(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        self._file.close()


class PairSpill:
    """Pairs by the interval of one of their numbers: each interval has full blocks in a file, and
    one in memory that is being filled."""

    def __init__(self, blocks: PairBlocks, starts: Numbers) -> None:
        """`starts`: the first number of each interval."""
        self._starts, self._blocks = starts, blocks
        self._full: list[list[int]] = [[] for _ in starts]
        self._filling = np.empty((starts.size, blocks.room, 2), np.uint64)
        self._filled = np.zeros(starts.size, np.int64)

    def add(self, pairs: Pairs, by: int) -> None:
        """Add pairs to the intervals of their first (0) or second number (1)."""
        done = 0
        while done < len(pairs):
            done, full = fill_intervals(pairs, done, by, self._starts, self._filling, self._filled)
            if full >= 0:
                self._full[full].append(self._blocks.write(self._filling[full]))
                self._filled[full] = 0

    def pieces(self, interval: int) -> Iterator[Pairs]:
        """Yield the pairs of an interval, in the order in which they were added."""
        for number in self._full[interval]:
            yield self._blocks.read(number)
        yield self._filling[interval, : self._filled[interval]]

    def forget(self, interval: int) -> None:
        """Let go of the pairs of an interval."""
        self._blocks.forget(self._full[interval])
        self._full[interval] = []
        self._filled[interval] = 0


def label_bytes(places: Numbers, labels: Labels, known: Labels) -> bytes:
    """Documents of a group that have a label, as their places in it, and both their numbers."""
    columns = places.astype("<u4"), labels.astype("<u8"), known.astype("<u8")
    return b"".join(column.tobytes() for column in columns)


def lay_rows(
    parts: Sequence[NumberedPart], labelled: bytes, batches: int, bands: int
) -> Iterator[tuple[str, memoryview]]:
    """Yield the name of each batch that a group has documents in, and what clustering looks at: the
    number of rows and of bytes of their table, the bands, the sketches, the table."""
    documents = np.frombuffer(labelled, "<u4", len(labelled) // LABEL_BYTES)
    labels, known = (
        np.frombuffer(labelled, np.uint8)[4 * documents.size :].view("<u8").reshape(2, -1)
    )
    batch_of = batch_numbers(labels, batches)
    chosen = []  # part, its rows, where they are among all
    for part, first in _with_firsts(parts):
        start, stop = np.searchsorted(documents, [first, first + part.n_records])
        if start < stop:
            rows = np.searchsorted(part.numbers(), documents[start:stop] - np.uint32(first))
            chosen.append((part, rows, slice(start, stop), np.uint32(first)))
    if not chosen:
        return
    table = pa.concat_tables(
        _shipped(
            part.members().take(pa.array(rows)), documents[some] - first, labels[some], known[some]
        )
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
    behind = np.empty(documents.size, np.int64)
    behind[order] = np.arange(documents.size) - (cuts - counts)[batch_of[order]]
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
    table = _parse_table(data).append_column("snapshot_rank", ranks).select(CONNECTED.names)
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


def _shipped(
    members: pa.Table, records: npt.NDArray[np.uint32], labels: Labels, known: Labels
) -> pa.Table:
    """Rows as they are sent: equal ones have equal bytes, so nothing is null."""
    for name, nothing in (("url_key", ""), ("fetched_at", ""), ("quality", float("nan"))):
        column = pc.fill_null(members[name], pa.scalar(nothing, members[name].type))
        members = members.set_column(members.column_names.index(name), name, column)
    rows = pa.array(records.astype(np.int32))
    members = members.set_column(members.column_names.index("row"), "row", rows)
    numbers = [("label", pa.array(labels)), (KNOWN, pa.array(known))]
    return with_columns(members, numbers).select(SHIPPED.names)


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
) -> tuple[pa.Table, Pairs]:
    """Return schema FOUND by (part, row), members of the last snapshot that a batch has; and its
    links.

    `pieces` gives the rank of each group's snapshot and what the group has in the batch, and is
    asked twice, first for the labels. A batch that is not held goes through temporary files.
    """
    labels = [_labels(data) for _, data in pieces()]
    codes, is_first = _distinct(pa.array(np.concatenate([np.empty(0, np.uint64), *labels])))
    numbers = np.flatnonzero(is_first)[codes].astype(np.uint32)
    sizes = number_batches(numbers, batch_rows)
    rows = (_parse_rows(data, bands, rank) for rank, data in pieces())
    some = _held(rows, numbers) if is_held else _spilled(rows, numbers, sizes, bands, batch_rows)
    own, links = [_NO_FOUND], [_NO_PAIRS]
    for members, near in some:
        found = find_clusters(members, near, settings, snapshots)
        own.append(found.filter(pc.equal(found["snapshot"], snapshots[-1])))
        links.append(_links(found))
    return _counted(pa.concat_tables(own)), np.concatenate(links)


def _links(found: pa.Table) -> Pairs:
    """Return, of what is known apart in each cluster, the smallest number with each other one."""
    codes, _ = _distinct(found["cluster_id"].combine_chunks())
    known = found[KNOWN].to_numpy()
    order = np.lexsort((known, codes))
    codes, known = codes[order], known[order]
    leads = np.diff(codes, prepend=np.int32(-1)) > 0
    lowest = known[leads][codes]
    is_new = (np.diff(known, prepend=NUMBER) != 0) & ~leads
    return _pairs(lowest[is_new], known[is_new])


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
    with RowSpill(sizes, bands, CONNECTED) as spill:
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
