"""Clusters of a whole window of snapshots, in memory that a window's size hardly moves.

1. Connected components: rows that share a candidate key, unconfirmed. Equal values have equal
   keys, so no match of `find_clusters` ever leaves a connected component.
2. Whole connected components go into batches; rows that share nothing (most of a corpus) are done.
3. One pass over the parts spills what clustering looks at, by batch; only parts with candidates
   are read, each once.
4. `find_clusters` works on one batch at a time, exactly, on values and not on keys. By 1 its
   clusters are those of the whole window, whatever the batches were.
5. Members of the window's last snapshot are spilled by part and handed out sorted.

Memory: 9 bytes a row of the window, 24 bytes a key of one range (4 million keys at a time), one
batch (131,072 rows, about 1 KB each), one part. A connected component above the size of a batch is a
batch of its own; its bands and sketches stay mapped, and it takes about 300 bytes a row. On
disk, in TMPDIR: about 750 bytes a row that shares a key.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.errors import RecipeError
from corpus_assets.core.schemas import CLUSTER_MEMBERS
from corpus_assets.dedup.candidate_keys import BANDS, CAPTURE, EXACT, URL, CandidateKeys
from corpus_assets.dedup.clusters import MEMBERS, find_clusters
from corpus_assets.dedup.compared_rows import HeldRows, MappedRows, SketchedRows
from corpus_assets.dedup.kernels.components import (
    ALONE,
    RANGES,
    join_equal,
    number_batches,
    take_kept,
)
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
from corpus_assets.dedup.spill import ArraySpill, TableSpill
from corpus_assets.text.minhash import BINS

BATCH_ROWS = 1 << 17
KEYS_AT_ONCE = 1 << 22
ROWS_BUFFERED = 1 << 15
PART_GROUPS = 64

Mask = npt.NDArray[np.bool_]
Batches = npt.NDArray[np.integer]
_Rows = tuple[Batches, pa.Table, npt.NDArray[np.uint64], npt.NDArray[np.uint8]]


class WindowPart(Protocol):
    """A part of a snapshot of the window, its rows in the order of its documents."""

    rank: int  # of its snapshot in the window
    number: int
    n_rows: int

    def kept(self) -> Mask:
        """Which rows take part: those that selection kept."""
        ...

    def candidate_keys(self) -> CandidateKeys: ...

    def members(self) -> pa.Table:
        """Return schema MEMBERS, all rows."""
        ...

    def sketches(self) -> npt.NDArray[np.uint8]:
        """uint8[n_rows, BINS]."""
        ...


class WindowClusters:
    """What was found for the last snapshot of a window; to be closed, best by `with`."""

    def __init__(self, n_parts: int, n_documents: int) -> None:
        self.n_documents = n_documents
        self.n_clusters = 0
        self._n_parts = n_parts
        self._found = TableSpill(CLUSTER_MEMBERS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._found.close()

    def add(self, found: pa.Table) -> None:
        self.n_clusters += pc.count_distinct(found["cluster_id"]).as_py()
        groups = found["part"].to_numpy() * PART_GROUPS // max(self._n_parts, 1)
        for number, rows in runs(groups):
            self._found.append(number, found.take(pa.array(rows)))

    def parts(self) -> Iterator[tuple[int, pa.Table]]:
        """(part, CLUSTER_MEMBERS by row) of every part, those without members included."""
        ready: dict[int, pa.Table] = {}
        at_hand = -1
        for part in range(self._n_parts):
            number = part * PART_GROUPS // self._n_parts
            if number != at_hand:
                ready, at_hand = _by_part(self._found.read(number)), number
            yield part, ready.get(part, CLUSTER_MEMBERS.empty_table())


def cluster_window(
    parts: Sequence[WindowPart],
    snapshots: Sequence[str],
    settings: ClusterSettings,
    signature_settings: SignatureSettings,
    batch_rows: int = BATCH_ROWS,
    keys_at_once: int = KEYS_AT_ONCE,
) -> WindowClusters:
    """Cluster the parts of a window; `snapshots` are its names by rank. The last two arguments
    move memory, never a result."""
    last = len(snapshots) - 1
    kept = _kept_rows(parts)
    firsts = np.cumsum([0, *(part.n_rows for part in parts)]).tolist()
    own = [(part, first) for part, first in zip(parts, firsts, strict=False) if part.rank == last]
    n_documents = sum(int(kept[first : first + part.n_rows].sum()) for part, first in own)
    batches = _connected_components(parts, kept, settings, signature_settings, keys_at_once)
    del kept
    sizes = number_batches(batches, batch_rows)
    result = WindowClusters(len(own), n_documents)
    with contextlib.ExitStack() as on_error, RowSpill(sizes, signature_settings.bands) as spill:
        on_error.enter_context(result)
        for part, first in zip(parts, firsts, strict=False):
            numbers = batches[first : first + part.n_rows]
            rows = np.flatnonzero(numbers != ALONE)
            if rows.size:
                table = part.members().select(MEMBERS.names).take(pa.array(rows))
                keys = part.candidate_keys().band_keys()
                spill.add(numbers[rows], table, keys[rows], part.sketches()[rows])
        spill.flush()
        del batches
        for number in range(sizes.size):
            members, near = spill.batch(number, is_held=bool(sizes[number] <= batch_rows))
            found = find_clusters(members, near, settings, snapshots)
            result.add(found.filter(pc.equal(found["snapshot"], snapshots[last])))
            del members, near, found
        on_error.pop_all()
    return result


def _kept_rows(parts: Sequence[WindowPart]) -> Mask:
    total = sum(part.n_rows for part in parts)
    if total >= int(ALONE):
        raise RecipeError(
            f"a window of {total:,} documents is more than clustering can number (2^32 - 2): "
            "set clusters.scope to per_snapshot or to fewer earlier snapshots"
        )
    return np.concatenate([np.zeros(0, np.bool_), *(part.kept() for part in parts)])


def _connected_components(
    parts: Sequence[WindowPart],
    kept: Mask,
    settings: ClusterSettings,
    signature_settings: SignatureSettings,
    keys_at_once: int,
) -> Batches:
    """Return the smallest row that each row is connected to, or a row on the way there."""
    parent = np.arange(kept.size, dtype=np.uint32)
    files = [checked_keys(part, signature_settings) for part in parts]
    firsts = np.cumsum([0, *(part.n_rows for part in parts)]).tolist()
    for table in key_tables(settings, signature_settings):
        counts = np.zeros(RANGES, np.int64)
        for file in files:
            counts += np.diff(file.starts[table].astype(np.int64))
        for start, stop in _ranges(counts, keys_at_once):
            room = int(counts[start:stop].sum())
            keys, members = np.empty(room, np.uint64), np.empty(room, np.uint32)
            filled = 0
            for file, first in zip(files, firsts, strict=False):
                some, rows = file.read(table, start, stop)
                filled = take_kept(some, rows, first, kept, keys, members, filled)
            join_equal(keys[:filled], members[:filled], parent)
    return parent


def key_tables(settings: ClusterSettings, signature_settings: SignatureSettings) -> list[int]:
    """Return the tables of candidate keys that the settings ask for."""
    tables = [CAPTURE, *([URL] if settings.url else []), *([EXACT] if settings.exact else [])]
    return tables + [BANDS + i for i in range(signature_settings.bands) if settings.near]


def checked_keys(part: WindowPart, settings: SignatureSettings) -> CandidateKeys:
    file = part.candidate_keys()
    if file.bands != settings.bands or file.n_rows != part.n_rows:
        raise RecipeError(
            f"{file.path} has {file.bands} bands of {file.n_rows} rows where {settings.bands} of "
            f"{part.n_rows} were expected: compute signatures with the settings given here"
        )
    return file


def _ranges(counts: npt.NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Consecutive ranges with at most so many keys together, one range at least."""
    start = 0
    while start < counts.size:
        stop, total = start + 1, int(counts[start])
        while stop < counts.size and total + int(counts[stop]) <= most:
            total += int(counts[stop])
            stop += 1
        yield start, stop
        start = stop


class RowSpill:
    """What clustering looks at, brought together by batch. Rows of a batch stay in the order in
    which they came, the same in all three files."""

    def __init__(
        self,
        sizes: npt.NDArray[np.int64],
        bands: int,
        schema: pa.Schema = MEMBERS,
        rows_buffered: int | None = None,
    ) -> None:
        """`sizes`: how many rows each batch will hold."""
        self._bands = bands
        self._sizes = sizes
        self._members = TableSpill(schema)
        self._keys = ArraySpill(8 * bands, sizes)
        self._sketches = ArraySpill(BINS, sizes)
        self._rows_buffered = rows_buffered or ROWS_BUFFERED
        self._waiting: list[_Rows] = []

    def add(
        self,
        batches: Batches,
        table: pa.Table,
        keys: npt.NDArray[np.uint64],
        sketches: npt.NDArray[np.uint8],
    ) -> None:
        """Take in rows, with the batch of each."""
        self._waiting.append((batches, table, keys, sketches))
        if sum(len(numbers) for numbers, *_ in self._waiting) >= self._rows_buffered:
            self.flush()

    def flush(self) -> None:
        """Write out rows that wait, so that a batch gets few and large pieces."""
        if not self._waiting:
            return
        numbers, tables, keys, sketches = zip(*self._waiting, strict=True)
        self._waiting = []
        table, all_keys, all_sketches = (
            pa.concat_tables(tables),
            np.concatenate(keys),
            np.concatenate(sketches),
        )
        for batch, some in runs(np.concatenate(numbers)):
            self._keys.append(batch, all_keys[some])
            self._sketches.append(batch, all_sketches[some])
            self._members.append(batch, table.take(pa.array(some)))

    def read(self, number: int) -> tuple[pa.Table, npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        """Return the rows of a batch: their table, and the bytes of bands and sketches."""
        return self._members.read(number), self._keys.read(number), self._sketches.read(number)

    def batch(self, number: int, is_held: bool) -> tuple[pa.Table, SketchedRows]:
        if is_held:
            members, keys, sketches = self.read(number)
            return members, HeldRows(keys.view(np.uint64), sketches)
        rows = int(self._sizes[number])
        mapped = self._keys.map(number), self._sketches.map(number)
        return self._members.read(number), MappedRows(*mapped, rows, self._bands)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for spill in (self._members, self._keys, self._sketches):
            spill.close()


def runs(numbers: npt.NDArray[np.generic]) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Yield (number, places that have it, ascending) for each distinct number, ascending."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    for places in np.split(order, cuts):
        if places.size:
            yield int(numbers[places[0]]), places


def _by_part(found: pa.Table) -> dict[int, pa.Table]:
    ordered = found.take(pa.array(np.lexsort((found["row"].to_numpy(), found["part"].to_numpy()))))
    return {
        number: ordered.slice(int(places[0]), places.size)
        for number, places in runs(ordered["part"].to_numpy())
    }
