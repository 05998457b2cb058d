"""What the tasks of a stage left, known from one read and not from one request a part (ADR 0038).

The proof that a task is done is its `result.json` (`core.store`). Copies of the results of a stage
with many tasks lie together in packs: `results/<stage>/<snapshot>/<SHA-256>.parquet`, `_all` in
place of a snapshot for stages over all of them. A pack is written while the work goes on, and all
of a folder are joined at the stage's end.

A pack proves nothing by itself. It may be deleted at any time: what it held is then read singly,
once. Of its entries those count whose task's folder is there, which one listing of the stage's
folders tells. Two builds that write at once lose nothing, as all packs of a folder count.
"""

import hashlib
import io
import itertools
import json
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.formats.canonical import canonical_text
from corpus_assets.core.each import Each
from corpus_assets.core.errors import CorruptArtifact, StoreError
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
SEGMENT_ROWS, SEGMENT_S = 1_000, 1.0  # finished tasks, and time, after which a pack is written
GROUP_ROWS = 2_000
REQUESTS_AT_ONCE = 32
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
Numbers = npt.NDArray[np.int64]
Recorded = Callable[[], Mapping[str, str]]
"""Content hashes that the registry has of a stage's results, by fingerprint."""


class Identified(Each[Task]):
    """Tasks whose fingerprints are known."""

    prints: Bytes


def fingerprints(tasks: Sequence[Task]) -> Bytes:
    """Return the fingerprints of tasks, 32 bytes each."""
    if isinstance(tasks, Identified):
        return tasks.prints
    return prints_of(task.fingerprint for task in tasks)


def prints_of(hexes: Iterable[str]) -> Bytes:
    """Return fingerprints as rows of 32 bytes."""
    return np.frombuffer(bytes.fromhex("".join(hexes)), np.uint8).reshape(-1, 32)


def _keys(prints: Bytes) -> npt.NDArray[np.uint64]:
    """The first eight bytes of each: enough to look for it."""
    return np.ascontiguousarray(prints[:, :8]).view(np.uint64).ravel()


@dataclass(frozen=True)
class Columns:
    """Results as columns: about 100 bytes each, and nothing that Python has to look after."""

    stage: str
    prints: Bytes
    starts: Numbers  # of each result's outputs, and where the last ends
    names: tuple[str, ...]
    name: npt.NDArray[np.int32]  # of each output, in `names`
    sha256: Bytes
    sizes: Numbers
    rows: Numbers
    pieces: "tuple[_Piece, ...]"  # where counts and notes are

    @cached_property
    def _prints(self) -> bytes:
        return self.prints.tobytes()

    @cached_property
    def _sha256(self) -> bytes:
        return self.sha256.tobytes()

    @cached_property
    def _order(self) -> Numbers:
        return np.argsort(_keys(self.prints), kind="stable")

    @cached_property
    def _sorted(self) -> npt.NDArray[np.uint64]:
        return _keys(self.prints)[self._order]

    @cached_property
    def _firsts(self) -> list[int]:
        """The first row of each piece."""
        return list(itertools.accumulate((piece.rows for piece in self.pieces), initial=0))

    def find(self, prints: Bytes) -> Numbers:
        """Return the row of each fingerprint, -1 where it is not here."""
        if not len(self.prints):
            return np.full(len(prints), -1, np.int64)
        places = np.searchsorted(self._sorted, _keys(prints)).clip(max=len(self.prints) - 1)
        rows = self._order[places]
        return np.where((self.prints[rows] == prints).all(axis=1), rows, -1)

    def output(self, row: int, at: int) -> Output:
        name = self.names[self.name[at]]
        folder = artifact_folder(self.stage, self._prints[32 * row : 32 * row + 32].hex())
        digest = self._sha256[32 * at : 32 * at + 32].hex()
        return Output(f"{folder}/{name}", digest, int(self.sizes[at]), int(self.rows[at]))

    def result(self, row: int) -> Result:
        piece = bisect_right(self._firsts, row) - 1
        more = json.loads(self.pieces[piece].more(row - self._firsts[piece]))
        outputs = (self.output(row, at) for at in range(self.starts[row], self.starts[row + 1]))
        return Result(
            self.stage,
            self.prints[row].tobytes().hex(),
            {output.path.rpartition("/")[2]: output for output in outputs},
            more["counts"],
            more["notes"],
        )

    def places(self, name: str) -> Numbers:
        """Return where each result's output of a name is, -1 where it has none."""
        found = np.full(len(self.prints), -1, np.int64)
        if name in self.names:
            at = np.flatnonzero(self.name == self.names.index(name))
            found[np.searchsorted(self.starts, at, "right") - 1] = at
        return found

    def contents(self) -> Iterator[str]:
        """Yield the content hash of each result, as `Result.content_hash` tells it."""
        shown = [canonical_text(name) for name in self.names]
        hexes, names, starts = self.sha256.tobytes().hex(), self.name.tolist(), self.starts.tolist()
        for first, end in itertools.pairwise(starts):
            members = (
                f'{shown[names[i]]}:"{hexes[64 * i : 64 * i + 64]}"' for i in range(first, end)
            )
            yield hashlib.sha256(f"{{{','.join(members)}}}".encode()).hexdigest()

    def with_piece(self, table: pa.Table, piece: "_Piece") -> "Columns":
        """Return these and others."""
        prints, outputs = (table[name].combine_chunks() for name in COLUMNS)
        flat = outputs.flatten()
        coded = pc.dictionary_encode(flat.field("name"))
        names = {name: number for number, name in enumerate(self.names)}
        said = coded.dictionary.to_pylist()
        numbers = np.array([names.setdefault(name, len(names)) for name in said], np.int32)
        starts = outputs.offsets.to_numpy().astype(np.int64)
        return Columns(
            self.stage,
            np.concatenate([self.prints, _raw(prints)]),
            np.concatenate([self.starts[:-1], starts - starts[0] + self.starts[-1]]),
            tuple(names),
            np.concatenate([self.name, numbers[coded.indices.to_numpy()]]).astype(np.int32),
            np.concatenate([self.sha256, _raw(flat.field("sha256"))]),
            np.concatenate([self.sizes, flat.field("bytes").to_numpy()]),
            np.concatenate([self.rows, flat.field("rows").to_numpy()]),
            (*self.pieces, piece),
        )


def no_columns(stage: str) -> Columns:
    none, digests = np.empty(0, np.int64), np.empty((0, 32), np.uint8)
    starts, name = np.zeros(1, np.int64), np.empty(0, np.int32)
    return Columns(stage, digests, starts, (), name, digests, none, none, ())


def _raw(column: pa.FixedSizeBinaryArray) -> Bytes:
    data = np.frombuffer(column.buffers()[1] or b"", np.uint8)
    return data[32 * column.offset : 32 * (column.offset + len(column))].reshape(-1, 32)


class _Piece:
    """Results in one table, in memory or in a file."""

    def __init__(self, source: "pa.Table | pq.ParquetFile") -> None:
        self._source = source
        groups: list[int]
        if isinstance(source, pa.Table):
            groups = [source.num_rows]
        else:
            about = source.metadata
            groups = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
        self._firsts = list(itertools.accumulate(groups, initial=0))
        self._group, self._more = -1, pa.chunked_array([], pa.string())

    @property
    def rows(self) -> int:
        return self._firsts[-1]

    def tables(self) -> Iterator[pa.Table]:
        for group in range(len(self._firsts) - 1):
            yield self._read(group, SCHEMA.names)

    def more(self, row: int) -> str:
        """Return counts and notes as JSON; those of the neighbours come with the same read."""
        group = bisect_right(self._firsts, row) - 1
        if group != self._group:
            self._group, self._more = group, self._read(group, ["more"])["more"]
        return str(self._more[row - self._firsts[group]].as_py())

    def _read(self, group: int, columns: list[str]) -> pa.Table:
        if isinstance(self._source, pa.Table):
            return self._source.select(columns)
        return self._source.read_row_group(group, columns=columns, use_threads=False)


class Results(Each[Result]):
    """Results of a stage in the order of its tasks."""

    def __init__(self, columns: Columns, rows: Numbers) -> None:
        super().__init__(lambda _, row: columns.result(int(row)), rows)
        self._of, self._rows = columns, rows

    def files(self, name: str) -> Each[Output]:
        """Return one file of each result; KeyError where one has none of that name."""
        places = self._of.places(name)[self._rows]
        if (places < 0).any():
            raise KeyError(name)
        columns = self._of
        return Each(lambda _, row, at: columns.output(row, at), self._rows, places)


class StageResults:
    """The finished results of a stage, of one snapshot or over all."""

    def __init__(
        self, store: Store, stage: str, snapshot: str | None, recorded: Recorded | None = None
    ) -> None:
        self._store, self._stage = store, stage
        self._recorded = recorded
        self._folder = f"{FOLDER}/{stage}/{snapshot or ALL}"
        self._fresh: dict[str, Result] = {}  # that are not in `columns`
        self._loose: list[pa.Table] = []  # that no file has
        self._files: list[str] = []
        self._written = time.monotonic()
        self._present: frozenset[int] | None = None  # keys of folders at the last look
        self.columns = no_columns(stage)
        self._is_tidy = True  # every entry of every file counts
        self._load()

    # Reading.

    def _load(self) -> None:
        paths = list(self._store.list(self._folder))
        try:
            pieces = [self._opened(path) for path in paths]
        except CorruptArtifact:
            raise
        except StoreError:
            if list(self._store.list(self._folder)) == paths:
                raise
            self._load()  # another build has joined them just now
            return
        self._files = paths
        if paths:
            self._look()
        present = np.fromiter(self._present or (), np.uint64)
        for file in pieces:
            table, piece = file.read(columns=COLUMNS, use_threads=False), _Piece(file)
            is_there = np.isin(_keys(_raw(table["fingerprint"].combine_chunks())), present)
            if not is_there.all():
                self._is_tidy = False
                table = file.read(use_threads=False).filter(pa.array(is_there))
                piece = _Piece(table)
            self.columns = self.columns.with_piece(table, piece)
        self._check()

    def _opened(self, path: str) -> pq.ParquetFile:
        """Open a pack; its name says what it has to hold."""
        digest = path.rpartition("/")[2].removesuffix(".parquet")
        full = local_checked(self._store, path, digest)
        try:
            file = pq.ParquetFile(full)
        except (pa.ArrowException, OSError) as error:
            raise damaged(self._store, path, "is not readable Parquet") from error
        if not file.schema_arrow.equals(SCHEMA):
            raise damaged(self._store, path, "holds no results")
        return file

    def _look(self) -> None:
        """List the folders of the stage's tasks."""
        names = self._store.folders(f"artifacts/{self._stage}")
        valid = (name for name in names if FINGERPRINT.fullmatch(name))
        self._present = frozenset(_keys(prints_of(valid)).tolist())

    def _check(self) -> None:
        """Refuse entries of which the registry recorded another content."""
        if self._recorded is None or not self._files:
            return
        recorded = self._recorded()
        hexes = self.columns.prints.tobytes().hex()
        for row, found in enumerate(self.columns.contents() if recorded else ()):
            known = recorded.get(hexes[64 * row : 64 * row + 64])
            if known not in (None, found):
                what = f"names content {found}, the registry recorded {known}"
                raise damaged(self._store, self._files[0], what)

    def rows(self, prints: Bytes) -> Numbers:
        """Return the row of each fingerprint in `columns`, -1 where there is no finished result.

        Results that are in no pack are read, many at a time, where the task's folder is there.
        """
        found = self._known(prints)
        absent = prints[found < 0]
        if len(absent):
            self._look()
            self._read(absent)
            found = self._known(prints)
        return found

    def find(self, fingerprint: str) -> Result | None:
        """Return one result. What was not there at the last look is not looked for."""
        if fingerprint in self._fresh:
            return self._fresh[fingerprint]
        prints = prints_of([fingerprint])
        (row,) = self.columns.find(prints)
        if row < 0:
            if self._present is None:
                self._look()
            self._read(prints)
            return self._fresh.get(fingerprint)
        return self.columns.result(int(row))

    def _known(self, prints: Bytes) -> Numbers:
        self._settle()
        return self.columns.find(prints)

    def _read(self, prints: Bytes) -> None:
        present = self._present or frozenset()
        keys = _keys(prints).tolist()
        wanted = [prints[i].tobytes().hex() for i, key in enumerate(keys) if key in present]
        if not wanted:
            return

        def load(fingerprint: str) -> Result | None:
            return load_result(self._store, self._stage, fingerprint)

        recorded = self._recorded() if self._recorded is not None else {}
        with ThreadPoolExecutor(min(REQUESTS_AT_ONCE, len(wanted))) as pool:
            for result in pool.map(load, wanted):
                if result is None:
                    continue
                known = recorded.get(result.fingerprint)
                if known not in (None, result.content_hash):
                    path = f"{artifact_folder(self._stage, result.fingerprint)}/{RESULT}"
                    what = f"names content {result.content_hash}, the registry recorded {known}"
                    raise damaged(self._store, path, what)
                self._fresh[result.fingerprint] = result

    def _settle(self) -> None:
        if self._fresh:
            table = _table(self._fresh.values())
            self._fresh = {}
            self._loose.append(table)
            self.columns = self.columns.with_piece(table, _Piece(table))

    # Writing.

    @property
    def is_written(self) -> bool:
        """Whether nothing is lost when this is let go."""
        return not self._fresh and not self._loose

    def add(self, result: Result) -> None:
        """Note a result that was just made; now and then a pack of the new ones is written."""
        self._fresh[result.fingerprint] = result
        if len(self._fresh) >= SEGMENT_ROWS and time.monotonic() - self._written >= SEGMENT_S:
            self._settle()
            kept = self.columns.pieces[: -len(self._loose)]
            path, file = self._write(iter(self._loose))
            self.columns = replace(self.columns, pieces=(*kept, _Piece(file)))
            self._files, self._loose = [*self._files, path], []

    def save(self, without: Collection[str] = ()) -> None:
        """Join all packs to one, with what no pack has yet and without some fingerprints."""
        self._settle()
        prints = self.columns.prints
        kept = self.columns.find(prints) == np.arange(len(prints))  # of equal entries the first
        gone = self.columns.find(prints_of(without))
        kept[gone[gone >= 0]] = False
        is_one = len(self._files) == 1 and not self._loose and self._is_tidy
        if (is_one and kept.all()) or (not self._files and kept.sum() < FEW):
            return
        before, columns = self._files, no_columns(self._stage)
        self._files = []
        if kept.any():
            path, file = self._write(self._tables(kept))
            table = file.read(columns=COLUMNS, use_threads=False)
            self._files, columns = [path], columns.with_piece(table, _Piece(file))
        self.columns, self._loose, self._is_tidy = columns, [], True
        for path in before:
            if path not in self._files:
                self._store.delete(path)

    def _tables(self, kept: npt.NDArray[np.bool_]) -> Iterator[pa.Table]:
        first = 0
        for piece in self.columns.pieces:
            for table in piece.tables():
                yield table.filter(pa.array(kept[first : first + table.num_rows]))
                first += table.num_rows

    def _write(self, tables: Iterator[pa.Table]) -> tuple[str, pq.ParquetFile]:
        sink = io.BytesIO()
        with pq.ParquetWriter(sink, SCHEMA, compression="zstd") as writer:
            for table in tables:
                if table.num_rows:
                    writer.write_table(table, GROUP_ROWS)
        data = sink.getvalue()
        path = f"{self._folder}/{sha256_hex(data)}.parquet"
        self._store.write(path, data)
        self._written = time.monotonic()
        return path, pq.ParquetFile(pa.BufferReader(data))


def _table(results: Iterable[Result]) -> pa.Table:
    """Return results as a pack has them."""
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
    """Take results (stage, fingerprint) out of all packs; to be done before their files go."""
    by_stage: dict[str, list[str]] = {}
    for stage, fingerprint in gone:
        by_stage.setdefault(stage, []).append(fingerprint)
    for stage, snapshot in sorted({tuple(p.split("/")[1:3]) for p in store.list(FOLDER)}):
        StageResults(store, stage, snapshot).save(by_stage.get(stage, ()))
