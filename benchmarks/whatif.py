"""What other rules would do to a million documents, from columns: wall and CPU seconds.

    python benchmarks/whatif.py --documents 1_000_000

Makes a home with one published version of made-up documents: signals of all families of the demo
recipe, spans, cluster members, records and empty texts, as files of the pipeline's schemas. Then
asks `corpus whatif` as a user does, in a process of its own, and once more from inside Python,
step by step. Values are drawn around the recipe's thresholds, so that every rule has work.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import yaml
from machine import machine

from catalog.db.registry import Registry
from catalog.db.rows import (
    LineageRow,
    LockRow,
    RecipeRow,
    SnapshotRow,
    SourceRow,
    VersionRow,
)
from corpus_assets.core.home import Home
from corpus_assets.core.identity import canonical_json
from corpus_assets.core.lock import Lock, PinnedFile
from corpus_assets.core.schemas import (
    CLUSTER_MEMBERS,
    DECISIONS,
    DOCUMENTS,
    FINAL_TEXT,
    RECORDS,
    SPANS,
)
from corpus_assets.core.store import LocalStore, sealed_json, sha256_hex
from corpus_assets.core.task import parquet_bytes
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.inspect.version_columns import Ruling, columns_of_version
from corpus_assets.inspect.whatif import compare
from corpus_assets.inspect.whatif_answer import whatif_answer
from corpus_assets.recipe.load import find_recipe, load_recipe
from corpus_assets.recipe.recipe import Recipe
from corpus_assets.select.columns import with_tie_keys
from corpus_assets.select.selection import resolve_cutoffs, select

SNAPSHOTS = ("made-1", "made-2", "made-3", "made-4")
PART_ROWS = 25_000
LANGUAGES = ("en", "de", "fr", "es", "it", "ru", "zh")
SHARES = (0.6, 0.12, 0.1, 0.08, 0.04, 0.03, 0.03)
CHANGES = ("selection.rules.word_count.min=120", "selection.rules.top_2_gram.max=0.15")


def make_recipe(folder: Path) -> Path:
    """The demo's rules on one made-up crawl."""
    raw = yaml.safe_load(find_recipe("demo").read_text())
    raw["name"] = "made"
    raw["sources"] = [
        {
            "name": "web",
            "format": "warc",
            "domain": "web",
            "snapshots": {name: f"{name}/*.warc.gz" for name in SNAPSHOTS},
        }
    ]
    raw["calibrate_on"] = list(SNAPSHOTS[:1])
    raw["blocklists"], raw["eval_suites"] = [], []
    raw["mixture"]["shares"] = {}
    bounds = "unspaced-languages.csv"  # which rules of the demo name
    (folder / bounds).write_bytes(find_recipe("demo").with_name(bounds).read_bytes())
    path = folder / "made.yaml"
    path.write_text(yaml.safe_dump(raw))
    return path


def make_signals(recipe: Recipe, rows: int, draw: np.random.Generator) -> pa.Table:
    """Random signals, about one document in three dropped."""
    bounds: dict[str, list[float | None]] = {}
    for rule in recipe.selection.rules:
        known = bounds.setdefault(rule.signal, [None, None])
        known[0] = known[0] if rule.min is None else rule.min
        known[1] = known[1] if rule.max is None else rule.max
    ids = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(16), rows, [None, pa.py_buffer(draw.bytes(16 * rows))]
    )
    columns: dict[str, pa.Array] = {"doc_id": ids}
    for name, kind in recipe.signals.columns().items():
        low, high = bounds.get(name, [None, None])
        if kind == "string":
            codes = draw.choice(len(LANGUAGES), rows, p=SHARES)
            columns[name] = pa.array(LANGUAGES).take(pa.array(codes))
            continue
        if low is not None and high is not None:
            middle, spread = np.log(low * high) / 2, np.log(high / low) / 5
            values = np.exp(draw.normal(middle, spread, rows))
        elif low is not None:
            values = low * (0.98 + draw.random(rows) * 0.5)
        else:
            values = (high or 1.0) * draw.random(rows) ** 2 * 1.02
        if kind.startswith("int"):
            values = np.round(values * (1 if low or high else 100))
        columns[name] = pa.array(values).cast(kind)
    columns["n_chars"] = pa.array(np.exp(draw.normal(7.5, 1, rows)).astype(np.int64) + 1)
    return pa.table(columns)


def filled(schema: pa.Schema, rows: int, given: dict[str, pa.Array]) -> pa.Table:
    """A table of a schema; columns that nobody looks at are null."""
    return pa.table(
        [given.get(field.name, pa.nulls(rows, field.type)) for field in schema], schema=schema
    )


def make_home(root: Path, documents: int) -> Path:
    """Publish the made-up version; gives the recipe."""
    root.mkdir(parents=True, exist_ok=True)
    path = make_recipe(root)
    recipe = load_recipe(path)
    home = Home.resolve(str(root / "home"))
    home.root.mkdir(parents=True)
    store, registry = LocalStore(Path(home.store_url)), Registry(home.catalog_url)
    registry.upgrade()
    draw = np.random.default_rng(1)
    n_parts = max(len(SNAPSHOTS), documents // PART_ROWS)
    signals = [make_signals(recipe, documents // n_parts, draw) for _ in range(n_parts)]
    placed = [(SNAPSHOTS[i * len(SNAPSHOTS) // n_parts], i) for i in range(n_parts)]
    first = [
        t for t, (snapshot, _) in zip(signals, placed, strict=True) if snapshot == SNAPSHOTS[0]
    ]
    cutoffs = resolve_cutoffs(
        (with_tie_keys(with_domain(t), recipe.seed) for t in first), recipe.selection
    )
    lineage: list[LineageRow] = []

    def save(table_name: str, snapshot: str, part: int, table: pa.Table) -> None:
        data = parquet_bytes(table)
        where = f"artifacts/made/{table_name}-{part:05d}.parquet"
        store.write(where, data)
        lineage.append(
            LineageRow(
                table_name, snapshot, where, sha256_hex(data), table.num_rows,
                None if table_name == "spans" else part,
                f"{snapshot}/web/mid/shard_{part:05d}" if table_name == "spans" else None,
            )
        )  # fmt: skip

    for (snapshot, part), table in zip(placed, signals, strict=True):
        rows, ids = table.num_rows, table["doc_id"].combine_chunks()
        keys = pa.table({"doc_id": ids, "domain": pa.repeat(pa.scalar("web"), rows)})
        keys = with_tie_keys(keys, recipe.seed)
        kept = select(keys, table, recipe.selection, cutoffs)["kept"].combine_chunks()
        numbers = pa.array(np.arange(rows), pa.int32())
        offsets = numbers.cast(pa.int64())
        url_key = pa.array([f"org,example)/{part}/{i}" for i in range(rows)])
        common = {"doc_id": ids, "url_key": url_key, "offset": offsets}
        save("signals", snapshot, part, table)
        save("records", snapshot, part, filled(RECORDS, rows, common))
        save("documents", snapshot, part, filled(DOCUMENTS, rows, common))
        save("decisions", snapshot, part, filled(DECISIONS, rows, {"doc_id": ids, "kept": kept}))
        save("final_text", snapshot, part, FINAL_TEXT.empty_table())
        kept_ids = ids.filter(kept)
        copies = kept_ids.slice(0, len(kept_ids) // 2)  # every kept one has a copy
        rowsn = numbers.filter(kept).slice(len(kept_ids) // 2, len(copies))
        members = {
            "doc_id": kept_ids.slice(len(kept_ids) // 2, len(copies)),
            "row": rowsn,
            "kept": pa.repeat(pa.scalar(False), len(copies)),
            "kept_doc_id": copies,
        }
        save("cluster_members", snapshot, part, filled(CLUSTER_MEMBERS, len(copies), members))
        lengths = pa.array(draw.integers(50, 2000, len(copies)), pa.int32())
        spans = {"doc_id": copies, "length": lengths}  # those that stand for a cluster
        save("spans", snapshot, part, filled(SPANS, len(copies), spans))
    _publish(store, registry, recipe, path, cutoffs, lineage, documents)
    return path


def with_domain(table: pa.Table) -> pa.Table:
    return table.append_column("domain", pa.repeat(pa.scalar("web"), table.num_rows))


def _publish(
    store: LocalStore,
    registry: Registry,
    recipe: Recipe,
    path: Path,
    cutoffs: dict[str, dict[str, float]],
    lineage: list[LineageRow],
    documents: int,
) -> None:
    data = json.dumps(cutoffs, sort_keys=True).encode()
    pin = PinnedFile(name="quality_cutoffs", bytes=len(data), sha256=sha256_hex(data))
    lock = Lock(
        recipe=recipe.identity(), recipe_digest=recipe.digest, inputs={}, models={},
        calibrations={"quality_cutoffs": pin},
    )  # fmt: skip
    store.write(f"versions/made-1/calibrations/{pin.sha256}", data)
    store.write("versions/made-1/lock.json", lock.to_bytes())
    store.write("versions/made-1/manifest.json", b"{}")
    body = {"folder": str(path.parent), "recipe": recipe.model_dump(mode="json")}
    store.write(f"sources/recipes/{recipe.digest}.json", sealed_json(body))
    registry.put_source(SourceRow("web", "warc", "web", ""))
    for rank, name in enumerate(SNAPSHOTS):
        registry.put_snapshot(SnapshotRow(name, "web", rank), [])
    registry.put_recipe(RecipeRow(recipe.digest, recipe.name, json.dumps(recipe.identity())))
    registry.put_lock(LockRow(lock.digest, canonical_json(lock.identity()).decode()))
    registry.publish_version(
        VersionRow("made-1", lock.digest, recipe.digest, "versions/made-1/manifest.json",
                   sha256_hex(b"{}"), documents, 0, 0),
        [], lineage,
    )  # fmt: skip


@contextmanager
def timed(name: str, whom: int = resource.RUSAGE_SELF) -> Iterator[None]:
    """Print wall and CPU seconds of what happens inside."""
    before, started = resource.getrusage(whom), time.perf_counter()
    yield
    after, wall = resource.getrusage(whom), time.perf_counter() - started
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name:<44}{wall:>8.2f} s wall {cpu:>8.2f} s CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, help="an empty folder; default: a temporary one")
    options = parser.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as temporary:
        root = options.out or Path(temporary)
        recipe = make_home(root, options.documents)
        command = [sys.executable, "-m", "corpus_assets.cli.main", "whatif", str(recipe)]
        command += ["--home", str(root / "home")]
        command += [word for change in CHANGES for word in ("--set", change)]
        rules = len(load_recipe(recipe).selection.rules)
        print(f"{options.documents:,} documents, {rules} rules, changes: {', '.join(CHANGES)}")
        for attempt in ("first", "second"):
            with timed(f"corpus whatif, {attempt} time", resource.RUSAGE_CHILDREN):
                done = subprocess.run(command, check=True, capture_output=True, text=True)
        print("\n".join("    " + line for line in done.stdout.splitlines()[:11]))
        with timed("  of it: start of Python and imports", resource.RUSAGE_CHILDREN):
            imports = (
                "import corpus_assets.cli.main, catalog.db.registry, corpus_assets.inspect.version_columns, "
                "corpus_assets.inspect.whatif, corpus_assets.cli.inspect"
            )
            subprocess.run([sys.executable, "-c", imports], check=True)
        steps(Home.resolve(str(root / "home")), recipe)


def steps(home: Home, recipe: Path) -> None:
    """The same question from inside Python."""
    registry = Registry(home.catalog_url)
    overrides = {key: yaml.safe_load(value) for key, value in (c.split("=") for c in CHANGES)}
    changed = load_recipe(recipe, overrides)
    columns = columns_of_version(
        registry, LocalStore(Path(home.store_url)), registry.version("made-1"), Suppressions()
    )
    with timed("resolve the cutoffs again"):
        cutoffs = columns.resolve(changed)
    with timed("read columns, evaluate both sides, count"):
        found = compare(columns, Ruling(changed.selection, cutoffs))
    with timed("sum up"):
        whatif_answer(found)


if __name__ == "__main__":
    main()
