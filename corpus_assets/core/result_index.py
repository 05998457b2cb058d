"""What the tasks of a stage left, known from one read and not from one request a part (ADR 38).

The proof that a task is done is its `result.json` (`core.store`). Copies of the results of a stage
with many tasks lie together in an index: `results/<stage>/<snapshot>/<SHA-256>.parquet`, `_all` in
place of a snapshot for stages over all of them. An index file is written while the work goes on, and all
of a folder are joined at the stage's end.

An index file proves nothing by itself. It may be deleted at any time: what it held is then read singly,
once. Of its entries those count whose task's folder is there, which one listing of the stage's
folders tells. Two builds that write at once lose nothing, as all index files of a folder count.
"""

import hashlib
import io
import itertools
import json
import re
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.formats.canonical import canonical_text
from corpus_assets.core.errors import CorruptArtifact, StoreError
from corpus_assets.core.file_spool import FileSpool, unnamed_file
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.store import (
    RESULT,
    Output,
    Result,
    Store,
    artifact_folder,
    damaged,
    load_result,
    local_checked,
    sha256_hex,
)
from corpus_assets.core.task import Task

FOLDER = "results"
ALL = "_all"  # no snapshot's name begins so
FEW = 64  # results of a stage that are as quickly read one by one
SEGMENT_ROWS, SEGMENT_S = (
    1_000,
    1.0,
)  # finished tasks, and time, after which an index file is written
GROUP_ROWS, GROUP_OUTPUTS = 2_000, 8_000  # that are read at once, at most
GROUPS_HELD = 2
SPOOLED_BYTES = 1 << 20  # index files of a stage that is running: what is more waits in a file
NAMED_AT_ONCE = 4_096
REQUESTS_AT_ONCE = 32
LISTED_BYTES = 128 << 20  # of listings that are held
FINGERPRINT = re.compile(r"[0-9a-f]{64}")

SCHEMA = pa.schema(
    [
        ("fingerprint", pa.binary(32)),
        (
            "outputs",  # in the order of names; a path is the task's folder and the name
            pa.list_(
                pa.struct(
                    [
                        ("name", pa.string()),
                        ("sha256", pa.binary(32)),
                        ("bytes", pa.int64()),
                        ("rows", pa.int64()),
                    ]
                )
            ),
        ),
        ("more", pa.string()),  # JSON: counts and notes
    ]
)
COLUMNS = ["fingerprint", "outputs"]  # `more` is read where somebody asks for it

Bytes = npt.NDArray[np.uint8]  # (n, 32)
Numbers = npt.NDArray[np.int32]
Recorded = Callable[[], Iterable[tuple[str, str]]]
"""Fingerprints of a stage's results and their content hashes, as the registry has them."""


class Identified(LazySequence[Task]):
    """Tasks whose fingerprints are known."""

    prints: Bytes


def fingerprints(tasks: Sequence[Task]) -> Bytes:
    """Return the fingerprints of tasks, 32 bytes each."""
    if isinstance(tasks, Identified):
        return tasks.prints
    return prints_of(task.fingerprint for task in tasks)


def prints_of(hexes: Iterable[str]) -> Bytes:
    """Return fingerprints as rows of 32 bytes."""
    names, found = iter(hexes), bytearray()
    while some := list(itertools.islice(names, NAMED_AT_ONCE)):
        found += bytes.fromhex("".join(some))
    return np.frombuffer(found, np.uint8).reshape(-1, 32)


def _keys(prints: Bytes) -> npt.NDArray[np.uint64]:
    """The first eight bytes of each: enough to look for it."""
    return np.ascontiguousarray(prints[:, :8]).view(np.uint64).ravel()


class Prints:
    """Fingerprints that others are looked for among."""

    def __init__(self, prints: Bytes) -> None:
        keys = _keys(prints)
        self._prints = prints
        self._order = np.argsort(keys, kind="stable").astype(np.int32)
        self._keys = keys[self._order]

    def find(self, wanted: Bytes) -> Numbers:
        """Return the place of each, the first of equal ones, -1 where it is not here."""
        if not len(self._prints):
            return np.full(len(wanted), -1, np.int32)
        places = np.searchsorted(self._keys, _keys(wanted)).clip(max=len(self._keys) - 1)
        found: Numbers = self._order[places]
        for first in range(0, len(found), NAMED_AT_ONCE):
            some = slice(first, first + NAMED_AT_ONCE)
            is_other = (self._prints[found[some]] != wanted[some]).any(axis=1)
            found[some][is_other] = -1
        return found


class Contents:
    """What the registry recorded of a stage's results: 64 bytes each."""

    def __init__(self, recorded: Iterable[tuple[str, str]]) -> None:
        named, contents = bytearray(), bytearray()
        for fingerprint, content in recorded:
            if len(fingerprint) == len(content) == 64:  # as those of all results are
                named += bytes.fromhex(fingerprint)
                contents += bytes.fromhex(content)
        self._prints = Prints(np.frombuffer(named, np.uint8).reshape(-1, 32))
        self._contents = contents

    def has(self, prints: Bytes) -> npt.NDArray[np.bool_]:
        return self._prints.find(prints) >= 0

    def of(self, prints: Bytes) -> Iterator[str | None]:
        """Yield the content hash of each, None where there is none."""
        for at in self._prints.find(prints).tolist():
            yield self._contents[32 * at : 32 * at + 32].hex() if at >= 0 else None


class _Group:
    """Consecutive results, as they are read at once."""

    def __init__(self, stage: str, table: pa.Table) -> None:
        prints, outputs = (table[name].combine_chunks() for name in COLUMNS)
        flat = outputs.flatten()
        coded = pc.dictionary_encode(flat.field("name"))
        starts = outputs.offsets.to_numpy()
        self._stage = stage
        self.prints = _raw(prints)
        self.starts = starts - starts[0]  # of each result's outputs, and where the last ends
        self._names: list[str] = coded.dictionary.to_pylist()
        self._name = coded.indices.to_numpy()
        self._hexes, self._digests = prints_hex(self.prints), prints_hex(_raw(flat.field("sha256")))
        self._sizes = flat.field("bytes").to_numpy().tolist()
        self._rows = flat.field("rows").to_numpy()
        self._row_list = self._rows.tolist()
        self._listed: dict[str, list[int]] = {}  # `places`, for those who ask for one at a time

    def outputs(self, row: int) -> dict[str, Output]:
        places = range(self.starts[row], self.starts[row + 1])
        return {(name := self._names[self._name[at]]): self._output(row, at, name) for at in places}

    def output(self, row: int, name: str) -> Output:
        """Return one file of a result; KeyError where it has none of that name."""
        if name not in self._listed:
            self._listed[name] = self.places(name).tolist()
        at = self._listed[name][row]
        if at < 0:
            raise KeyError(name)
        return self._output(row, at, name)

    def _output(self, row: int, at: int, name: str) -> Output:
        path = f"{artifact_folder(self._stage, self._hexes[64 * row : 64 * row + 64])}/{name}"
        digest = self._digests[64 * at : 64 * at + 64]
        return Output(path, digest, self._sizes[at], self._row_list[at])

    def places(self, name: str) -> Numbers:
        """Return where each result's output of a name is, -1 where it has none."""
        if name not in self._places:
            found = np.full(len(self.prints), -1, np.int32)
            if name in self._names:
                at = np.flatnonzero(self._name == self._names.index(name))
                found[np.searchsorted(self.starts, at, "right") - 1] = at
            self._places[name] = found
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, Numbers]:
        return {}

    def rows(self, name: str) -> npt.NDArray[np.int64]:
        return np.asarray(self._rows[self.places(name)])

    def contents(self) -> Iterator[str]:
        """Yield the content hash of each result, as `Result.content_hash` tells it."""
        shown = [canonical_text(name) for name in self._names]
        hexes, names = self._digests, self._name.tolist()
        for first, end in itertools.pairwise(self.starts.tolist()):
            members = (
                f'{shown[names[i]]}:"{hexes[64 * i : 64 * i + 64]}"' for i in range(first, end)
            )
            yield hashlib.sha256(f"{{{','.join(members)}}}".encode()).hexdigest()


def prints_hex(prints: Bytes) -> str:
    return prints.tobytes().hex()


def _raw(column: pa.FixedSizeBinaryArray) -> Bytes:
    data = np.frombuffer(column.buffers()[1] or b"", np.uint8)
    return data[32 * column.offset : 32 * (column.offset + len(column))].reshape(-1, 32)


class _Piece:
    """Results in one table or file; what is held of it are the groups that were read last."""

    def __init__(
        self,
        stage: str,
        source: "pa.Table | pq.ParquetFile | Callable[[], pq.ParquetFile]",
        kept: Numbers | None = None,
    ) -> None:
        """`kept`: its rows that count, where not all do."""
        self._stage, self._source, self._kept = stage, source, kept
        if isinstance(source, pa.Table):
            groups = [source.num_rows]
        else:
            about = self._file().metadata
            groups = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
        self._firsts = list(itertools.accumulate(groups, initial=0))
        self._groups: OrderedDict[int, _Group] = OrderedDict()
        self._more: tuple[int, pa.ChunkedArray] = -1, pa.chunked_array([], pa.string())

    @property
    def rows(self) -> int:
        return self._firsts[-1] if self._kept is None else len(self._kept)

    def prints(self) -> Bytes:
        """Return all fingerprints."""
        columns = COLUMNS[:1]
        found = self._source if isinstance(self._source, pa.Table) else self._file().read(columns)
        prints = _raw(found[columns[0]].combine_chunks())
        return prints if self._kept is None else prints[self._kept]

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows, some at a time."""
        for number, first in enumerate(self._firsts[:-1]):
            table = self._read(number, SCHEMA.names)
            yield (
                table if self._kept is None else table.take(pa.array(self._within(number) - first))
            )

    def groups(self) -> Iterator[tuple[_Group, Numbers]]:
        """Yield what is read at once, with its rows that count."""
        for number, first in enumerate(self._firsts[:-1]):
            yield self._group(number), self._within(number) - first

    def _within(self, number: int) -> Numbers:
        first, end = self._firsts[number : number + 2]
        if self._kept is None:
            return np.arange(first, end, dtype=np.int32)
        low, high = np.searchsorted(self._kept, [first, end])
        return self._kept[low:high]

    def at(self, row: int) -> tuple[_Group, int, int]:
        """Return the group that has a row, the row's place in it, and how many rows behind it are
        the next in the group."""
        if self._kept is not None:
            row = int(self._kept[row])
        number = bisect_right(self._firsts, row) - 1
        behind = self._firsts[number + 1] - row - 1 if self._kept is None else 0
        return self._group(number), row - self._firsts[number], behind

    def more(self, row: int) -> str:
        """Return counts and notes as JSON; those of the neighbours come with the same read."""
        row = row if self._kept is None else int(self._kept[row])
        number = bisect_right(self._firsts, row) - 1
        if number != self._more[0]:
            self._more = number, self._read(number, ["more"])["more"]
        return str(self._more[1][row - self._firsts[number]].as_py())

    def _group(self, number: int) -> _Group:
        if number not in self._groups:
            while len(self._groups) >= GROUPS_HELD:
                self._groups.popitem(last=False)
            self._groups[number] = _Group(self._stage, self._read(number, COLUMNS))
        return self._groups[number]

    def _read(self, number: int, columns: list[str]) -> pa.Table:
        if isinstance(self._source, pa.Table):
            return self._source.select(columns)
        return self._file().read_row_group(number, columns=columns, use_threads=False)

    def _file(self) -> pq.ParquetFile:
        return self._source() if callable(self._source) else self._source


@dataclass(frozen=True)
class Columns:
    """Results of a stage by row number. They stay in files: a part costs no memory here."""

    stage: str
    pieces: tuple[_Piece, ...] = ()

    @cached_property
    def _firsts(self) -> list[int]:
        """The first row of each piece, and the end of the last."""
        return list(itertools.accumulate((piece.rows for piece in self.pieces), initial=0))

    @property
    def prints(self) -> Bytes:
        found = [piece.prints() for piece in self.pieces]
        return (
            found[0] if len(found) == 1 else np.concatenate([np.empty((0, 32), np.uint8), *found])
        )

    def find(self, prints: Bytes) -> Numbers:
        """Return the row of each fingerprint, -1 where it is not here."""
        return Prints(self.prints).find(prints)

    @cached_property
    def held(self) -> Prints:
        """The fingerprints, for those who look for one after another."""
        return Prints(self.prints)

    def _at(self, row: int) -> tuple[_Piece, int]:
        piece = bisect_right(self._firsts, row) - 1
        return self.pieces[piece], row - self._firsts[piece]

    def outputs(self, rows: Numbers, name: str) -> Iterator[Output]:
        """Yield one file of each of some results; KeyError where one has none of that name."""
        first = end = 0  # rows that come from `group`
        for row in rows.tolist():
            if not first <= row < end:
                piece, place = self._at(row)
                group, within, behind = piece.at(place)
                first, end = row, row + 1 + behind
            yield group.output(within + row - first, name)

    def result(self, row: int) -> Result:
        piece, place = self._at(row)
        more = json.loads(piece.more(place))
        group, place, _ = piece.at(place)
        name = group.prints[place].tobytes().hex()
        return Result(self.stage, name, group.outputs(place), more["counts"], more["notes"])

    def contents(self, rows: Numbers) -> str:
        """Return the content hashes of some results, one behind the other."""
        known = [np.empty((0, 32), np.uint8)]
        for piece in self.pieces:
            for group, within in piece.groups():
                known.append(prints_of(group.contents())[within])
        return prints_hex(np.concatenate(known)[rows])

    def sizes(self, name: str) -> npt.NDArray[np.int64]:
        """Return how many rows each result's file of a name has, -1 where it has no such file."""
        sizes = [np.empty(0, np.int64)]
        for piece in self.pieces:
            for group, rows in piece.groups():
                sizes.append(np.where(group.places(name) < 0, -1, group.rows(name))[rows])
        return np.concatenate(sizes)


class Results(LazySequence[Result]):
    """Results of a stage in the order of its tasks."""

    def __init__(self, columns: Columns, rows: Numbers) -> None:
        super().__init__(lambda _, row: columns.result(int(row)), rows)
        self._of, self._rows = columns, rows

    def files(self, name: str) -> "Files":
        """Return one file of each result; KeyError where one is looked at that has none of that
        name."""
        return Files(self._of, self._rows, name)

    def sizes(self, name: str) -> npt.NDArray[np.int64]:
        """Return how many rows that file of each result has."""
        found = self._of.sizes(name)[self._rows]
        if (found < 0).any():
            raise KeyError(name)
        return found


class Files(Sequence[Output]):
    """One file of each of some results."""

    def __init__(self, columns: Columns, rows: Numbers, name: str) -> None:
        self._columns, self._rows, self._name = columns, rows, name

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Output]:
        return self._columns.outputs(self._rows, self._name)

    @overload
    def __getitem__(self, place: int) -> Output: ...
    @overload
    def __getitem__(self, place: slice) -> list[Output]: ...
    def __getitem__(self, place: int | slice) -> Output | list[Output]:
        if isinstance(place, slice):
            return list(self._columns.outputs(self._rows[place], self._name))
        return next(self._columns.outputs(self._rows[[place]], self._name))


Keys = npt.NDArray[np.uint64]


class Listings:
    """Which tasks of a stage have a folder, by the first eight bytes of their fingerprints.

    A stage's folders are those of all snapshots, so one listing serves them all: with one for each
    snapshot a plan would cost the square of their number. The last ones are held, 8 bytes a task.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: OrderedDict[str, tuple[Keys, set[str | None]]] = OrderedDict()
        self._added: dict[str, bytearray] = {}  # keys of tasks that ended since

    def of(self, stage: str, snapshot: str | None, again: bool = False) -> Keys:
        """Return a stage's tasks in order; `again`, from a listing that this snapshot has not seen
        yet."""
        if stage not in self._held or (again and snapshot in self._held[stage][1]):
            names = self._store.folders(f"artifacts/{stage}")
            valid = (name for name in names if FINGERPRINT.fullmatch(name))
            self._held[stage] = np.sort(_keys(prints_of(valid))), set()
            self._added.pop(stage, None)
        elif added := self._added.pop(stage, None):
            keys, seen_by = self._held[stage]
            self._held[stage] = np.union1d(keys, np.frombuffer(added, np.uint64)), seen_by
        self._held.move_to_end(stage)
        while len(self._held) > 1 and sum(k.nbytes for k, _ in self._held.values()) > LISTED_BYTES:
            self._held.popitem(last=False)
        keys, seen_by = self._held[stage]
        seen_by.add(snapshot)
        return keys

    def add(self, stage: str, fingerprint: str) -> None:
        """Note a task that ended since its stage was listed."""
        if stage in self._held:
            self._added.setdefault(stage, bytearray()).extend(bytes.fromhex(fingerprint[:16]))


class StageResults:
    """The finished results of a stage, of one snapshot or over all."""

    def __init__(
        self,
        store: Store,
        stage: str,
        snapshot: str | None,
        recorded: Recorded | None = None,
        checked: set[str] | None = None,
        listings: Listings | None = None,
    ) -> None:
        """`listings` may be shared with other snapshots of the stage. `checked` has the index files all of whose entries were found to count, and is added to: who
        asks again for results that were let go pays for no second look."""
        self._store, self._stage, self._snapshot = store, stage, snapshot
        self._recorded = recorded
        self._listings = listings or Listings(store)
        self._was_asked = False  # for results that no index file has
        self._checked = set() if checked is None else checked
        self._folder = f"{FOLDER}/{stage}/{snapshot or ALL}"
        self._fresh: dict[str, Result] = {}  # that are not in `columns`
        self._loose: list[pa.Table] = []  # that no file has
        self._files: list[str] = []
        self._spool = FileSpool(SPOOLED_BYTES)  # index files that were written since
        self._written = time.monotonic()
        self._present: Keys | None = None  # keys of folders at the last look
        self.columns = Columns(stage)
        self._is_tidy = True  # every entry of every file counts
        self._load()

    # Reading.

    def _load(self) -> None:
        paths = list(self._store.list(self._folder))
        try:
            files = [self._opened(path) for path in paths]
        except CorruptArtifact:
            raise
        except StoreError:
            if list(self._store.list(self._folder)) == paths:
                raise
            self._load()  # another build has joined them just now
            return
        self._files = paths
        new = [path not in self._checked for path in paths]
        if any(new):
            self._look()
        pieces: list[_Piece] = []
        for file, is_new in zip(files, new, strict=True):
            piece = _Piece(self._stage, file)
            if is_new and not (is_there := self._is_present(piece.prints())).all():
                self._is_tidy = False
                piece = _Piece(self._stage, file, np.flatnonzero(is_there).astype(np.int32))
            pieces.append(piece)
        self.columns = Columns(self._stage, tuple(pieces))
        self._present = None  # 8 bytes a task, and rarely asked for again
        self._check([piece for piece, is_new in zip(pieces, new, strict=True) if is_new])
        if self._is_tidy:
            self._checked.update(paths)

    def _opened(self, path: str) -> pq.ParquetFile:
        """Open an index file; its name says what it has to hold."""
        digest = path.rpartition("/")[2].removesuffix(".parquet")
        full = local_checked(self._store, path, digest)
        try:
            file = pq.ParquetFile(full)
        except (pa.ArrowException, OSError) as error:
            raise damaged(self._store, path, "is not readable Parquet") from error
        if not file.schema_arrow.equals(SCHEMA):
            raise damaged(self._store, path, "holds no results")
        return file

    def _look(self, again: bool = False) -> None:
        """See which of the stage's tasks have a folder."""
        self._present = self._listings.of(self._stage, self._snapshot, again)

    def _is_present(self, prints: Bytes) -> npt.NDArray[np.bool_]:
        """Say of each task whether its folder was there at the last look."""
        if self._present is None or not len(self._present):
            return np.zeros(len(prints), np.bool_)
        keys = _keys(prints)
        places = np.searchsorted(self._present, keys).clip(max=len(self._present) - 1)
        return np.asarray(self._present[places] == keys)

    def _check(self, pieces: Sequence[_Piece]) -> None:
        """Refuse entries of which the registry recorded another content."""
        if self._recorded is None or not pieces:
            return
        contents = Contents(self._recorded())
        for piece in pieces:
            for group, rows in piece.groups():
                found = list(group.contents())
                for row, known in zip(rows.tolist(), contents.of(group.prints[rows]), strict=True):
                    if known not in (None, found[row]):
                        what = f"names content {found[row]}, the registry recorded {known}"
                        raise damaged(self._store, self._files[0], what)

    def rows(self, prints: Bytes) -> Numbers:
        """Return the row of each fingerprint in `columns`, -1 where there is no finished result.

        Results that are in no index file are read, many at a time, where the task's folder is there.
        """
        self._settle()
        found = self.columns.find(prints)
        absent = prints[found < 0]
        if len(absent):
            self._look(again=self._was_asked)  # another build may have finished some since
            self._was_asked = True
            self._read(absent)
            self._settle()
            found = self.columns.find(prints)
        return found

    def find(self, fingerprint: str) -> Result | None:
        """Return one result. What was not there at the last look is not looked for."""
        if fingerprint in self._fresh:
            return self._fresh[fingerprint]
        prints = prints_of([fingerprint])
        (row,) = self.columns.held.find(prints)
        if row < 0:
            if self._present is None:
                self._look()
            self._read(prints)
            return self._fresh.get(fingerprint)
        return self.columns.result(int(row))

    def _read(self, prints: Bytes) -> None:
        wanted = prints[self._is_present(prints)]
        if not len(wanted):
            return

        def load(fingerprint: str) -> Result | None:
            return load_result(self._store, self._stage, fingerprint)

        contents = Contents(self._recorded() if self._recorded is not None else ())
        with ThreadPoolExecutor(min(REQUESTS_AT_ONCE, len(wanted))) as pool:
            at_once = map if len(wanted) == 1 else pool.map  # a pool starts no thread unasked
            for first in range(0, len(wanted), SEGMENT_ROWS):
                some = wanted[first : first + SEGMENT_ROWS]
                loaded = at_once(load, [each.tobytes().hex() for each in some])
                for result, known in zip(loaded, contents.of(some), strict=True):
                    if result is None:
                        continue
                    if known not in (None, result.content_hash):
                        path = f"{artifact_folder(self._stage, result.fingerprint)}/{RESULT}"
                        what = f"names content {result.content_hash}, the registry recorded {known}"
                        raise damaged(self._store, path, what)
                    self._fresh[result.fingerprint] = result
                if len(wanted) > SEGMENT_ROWS:
                    self._settle()

    def _settle(self) -> None:
        if self._fresh:
            table = _table(self._fresh.values())
            self._fresh = {}
            self._loose.append(table)
            self._add(_Piece(self._stage, table))

    def _add(self, piece: _Piece, instead_of: int = 0) -> None:
        kept = self.columns.pieces[: len(self.columns.pieces) - instead_of]
        self.columns = Columns(self._stage, (*kept, piece))

    # Writing.

    @property
    def is_written(self) -> bool:
        """Whether nothing is lost when this is let go."""
        return not self._fresh and not self._loose

    def add(self, result: Result) -> None:
        """Note a result that was just made; now and then an index file of the new ones is written."""
        self._fresh[result.fingerprint] = result
        self._listings.add(self._stage, result.fingerprint)
        if len(self._fresh) >= SEGMENT_ROWS and time.monotonic() - self._written >= SEGMENT_S:
            self._settle()
            path, data = self._write(iter(self._loose))
            self._spool.add(path, data, 0)

            def file() -> pq.ParquetFile:
                return pq.ParquetFile(pa.BufferReader(self._spool.read(path)))

            self._add(_Piece(self._stage, file), instead_of=len(self._loose))
            self._files, self._loose = [*self._files, path], []

    def save(self, without: Collection[str] = ()) -> None:
        """Join all index files to one, with what no index file has yet and without some fingerprints."""
        self._settle()
        prints = self.columns.prints
        kept = self.columns.find(prints) == np.arange(len(prints))  # of equal entries the first
        gone = self.columns.find(prints_of(without))
        kept[gone[gone >= 0]] = False
        is_one = len(self._files) == 1 and not self._loose and self._is_tidy
        if (is_one and kept.all()) or (not self._files and kept.sum() < FEW):
            return
        before, columns = self._files, Columns(self._stage)
        self._files = []
        if kept.any():
            path, data = self._write(self._tables(kept))
            self._files, columns = [path], Columns(self._stage, (_Piece(self._stage, _kept(data)),))
        self.columns, self._loose, self._is_tidy = columns, [], True
        self._spool.close()
        self._spool = FileSpool(SPOOLED_BYTES)
        for path in before:
            if path not in self._files:
                self._store.delete(path)

    def _tables(self, kept: npt.NDArray[np.bool_]) -> Iterator[pa.Table]:
        first = 0
        for piece in self.columns.pieces:
            for table in piece.tables():
                yield table.filter(pa.array(kept[first : first + table.num_rows]))
                first += table.num_rows

    def _write(self, tables: Iterator[pa.Table]) -> tuple[str, bytes]:
        sink = io.BytesIO()
        with pq.ParquetWriter(sink, SCHEMA, compression="zstd") as writer:
            for table in tables:
                if table.num_rows:
                    outputs = pc.sum(pc.list_value_length(table["outputs"])).as_py()
                    most = GROUP_OUTPUTS * table.num_rows // max(1, outputs)
                    writer.write_table(table, max(1, min(GROUP_ROWS, most)))
        data = sink.getvalue()
        path = f"{self._folder}/{sha256_hex(data)}.parquet"
        self._store.write(path, data)
        self._written = time.monotonic()
        return path, data


def _kept(data: bytes) -> pq.ParquetFile:
    """Return an index file that was written; a large one in a temporary file, as another build may delete
    that in the store."""
    return pq.ParquetFile(
        pa.BufferReader(data) if len(data) <= SPOOLED_BYTES else unnamed_file(data)
    )


def _table(results: Iterable[Result]) -> pa.Table:
    """Return results as an index file has them."""
    rows = [
        {
            "fingerprint": bytes.fromhex(result.fingerprint),
            "outputs": [
                {"name": name, "sha256": bytes.fromhex(o.sha256), "bytes": o.bytes, "rows": o.rows}
                for name, o in sorted(result.outputs.items())
            ],
            "more": canonical_text({"counts": dict(result.counts), "notes": dict(result.notes)}),
        }
        for result in results
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def forget_results(store: Store, gone: Collection[tuple[str, str]]) -> None:
    """Take results (stage, fingerprint) out of all index files; to be done before their files go."""
    by_stage: dict[str, list[str]] = {}
    for stage, fingerprint in gone:
        by_stage.setdefault(stage, []).append(fingerprint)
    for stage, snapshot in sorted({tuple(p.split("/")[1:3]) for p in store.list(FOLDER)}):
        StageResults(store, stage, snapshot).save(by_stage.get(stage, ()))
