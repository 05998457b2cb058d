"""Show a build: progress while it runs, the funnel, the plan and the state of a home.

Progress is drawn as bars on a terminal and written as plain lines elsewhere.
"""

import gc
import json
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from catalog.db.registry import Registry
from corpus_assets.clean.losses import losses_message, snapshot_losses
from corpus_assets.core import files
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.graph.checks import language_losses_message
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.plan import CACHED, OTHER, RUNS, UNKNOWN, PlanLine
from corpus_assets.tokenizer.stage import TOKENIZER, audit_of
from corpus_assets.versions.pins import TakenOver, named
from corpus_assets.versions.statistics import drift_lines, funnel
from corpus_assets.versions.version import Version

if "duckdb" not in sys.modules:  # whose binding reports what is left when the process ends
    gc.freeze()  # the graph stays loaded: no search for garbage goes through it again (ADR 0042)


class PlainLog:
    """One line when an asset of a snapshot is done."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._began: dict[tuple[str, str | None], float] = {}
        self._documents: dict[tuple[str, str | None], int] = {}

    def __enter__(self) -> "PlainLog":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def started(self, asset: str, snapshot: str | None, parts: int) -> None:
        self._began.setdefault((asset, snapshot), time.monotonic())

    def advanced(self, asset: str, snapshot: str | None, documents: int, cached: bool) -> None:
        key = (asset, snapshot)
        self._documents[key] = self._documents.get(key, 0) + (0 if cached else documents)

    def finished(self, asset: str, snapshot: str | None, cached: int, ran: int) -> None:
        now = time.monotonic()
        seconds = now - self._began.pop((asset, snapshot), now)
        documents = self._documents.pop((asset, snapshot), 0)
        speed = f", {documents / seconds:,.0f} documents/s" if documents and seconds > 0 else ""
        found = f", {cached} found" if cached else ""
        name = f"{asset} {snapshot}" if snapshot else asset
        self._write(f"{name}: {ran} parts run{found} in {seconds:.1f} s{speed}")

    def told(self, line: str) -> None:
        self._write(line)


class LiveBars:
    """A bar for the asset at work: parts done, documents a second, time left."""

    def __init__(self, console: Console) -> None:
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.fields[name]:<44}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("parts {task.fields[speed]:>16}"),
            TimeRemainingColumn(),
            console=console,
            transient=False,
        )
        self._task: TaskID | None = None
        self._began = 0.0
        self._documents = 0

    def __enter__(self) -> "LiveBars":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def started(self, asset: str, snapshot: str | None, parts: int) -> None:
        if self._task is None:
            name = f"{asset} {snapshot}" if snapshot else asset
            self._task = self._bars.add_task("", total=parts, name=name, speed="")
            self._began, self._documents = time.monotonic(), 0
        else:
            known = self._bars.tasks[-1].total or 0
            self._bars.update(self._task, total=known + parts)

    def advanced(self, asset: str, snapshot: str | None, documents: int, cached: bool) -> None:
        if self._task is None:
            return
        self._documents += 0 if cached else documents
        seconds = max(time.monotonic() - self._began, 1e-6)
        speed = f"{self._documents / seconds:,.0f} docs/s" if self._documents else "found"
        self._bars.update(self._task, advance=1, speed=speed)

    def finished(self, asset: str, snapshot: str | None, cached: int, ran: int) -> None:
        self._task = None

    def told(self, line: str) -> None:
        self._bars.console.print(line, markup=False)


BAR = 30


def summary_lines(pipeline: Pipeline, version: Version, home: Home, recipe: str) -> list[str]:
    """Describe a built version: the funnel with its reasons, tokens by group, what to try next."""
    steps = funnel(pipeline)
    total = steps[0].entered
    told = pipeline.recipe.caveats()
    lines = [
        "",
        f"Version {version.name}",
        *told,
        "",
        "What was kept, and what was dropped and why:",
        "",
    ]
    lines.append(f"  {'ingested':<16}{total:>8,}  {_bar(total, total)}")
    for step in steps:
        lines.append(f"  {step.stage:<16}{step.left:>8,}  {_bar(step.left, total)}")
        for reason, count in step.reasons.most_common(6):
            lines.append(f"      - {count:>5,}  {reason}")
        hidden = sorted(step.reasons.values(), reverse=True)[6:]
        if hidden:
            lines.append(f"      - {sum(hidden):>5,}  for {len(hidden)} other reasons")
    lines += ["", "Tokens by group (snapshot/domain/tier):", ""]
    groups = version.manifest.groups
    tokens = sum(group.tokens for group in groups)
    for group in groups:
        lines.append(
            f"  {group.id:<40}{group.documents:>7,} documents {group.tokens:>11,} tokens  "
            f"{len(group.shards)} shards"
        )
    lines.append(f"  {'in all':<40}{sum(g.documents for g in groups):>7,} documents "
                 f"{tokens:>11,} tokens")  # fmt: skip
    lines += _loss_lines(pipeline)
    failed = [] if pipeline.pin_of(TOKENIZER.name) else audit_of(pipeline)["problems"]
    if failed:
        lines += ["", "The tokenizer fails its audit:", "", *(f"  {line}" for line in failed)]
    drift = drift_lines(pipeline)
    if drift:
        lines += ["", "Unlike the snapshots before (`drift` in the recipe):", ""]
        lines += [f"  {line}" for line in drift]
    return lines + _next_commands(pipeline, version, home, recipe)


def _loss_lines(pipeline: Pipeline) -> list[str]:
    """Name snapshots in which a rule dropped too much of a language, or cleaning too much."""
    bound = pipeline.recipe.clean_text.max_host_loss
    kinds: dict[str, Callable[[str], tuple[bool, str]]] = {
        "Large losses by language:": partial(language_losses_message, pipeline),
        "Large losses by cleaning:": lambda snapshot: losses_message(
            snapshot_losses(pipeline, snapshot), bound
        ),
    }
    out = []
    for title, check in kinds.items():
        found = [(snapshot, *check(snapshot)) for snapshot in pipeline.recipe.snapshots]
        lines = [f"  {snapshot}: {message}" for snapshot, passed, message in found if not passed]
        out += ["", title, "", *lines] if lines else []
    return out


def _next_commands(pipeline: Pipeline, version: Version, home: Home, recipe: str) -> list[str]:
    """List commands to try next; they work from the folder the build ran in."""
    at = "" if home == Home.resolve(None) else f" --home {shlex.quote(str(home.root))}"
    recipe += " --stand-ins" if pipeline.recipe.use_stand_ins else ""
    group = max(version.manifest.groups, key=lambda g: g.tokens)
    shard = f"{group.id}/{group.shards[0].name}"
    domain = next(iter(pipeline.recipe.mixture.domains), None)
    weight = f"domains.{domain}=0.5" if domain else "temperature=2"
    commands = [
        (f"corpus report {version.name}{at}", "one HTML page with everything above"),
        (f"corpus verify {version.name}{at}", "re-hash and re-count everything"),
        (f"catalog trace {version.name} {shard} 0 0{at}", "which document is this token from?"),
    ]
    url = _some_url(pipeline)
    if url is not None:
        commands.append((f"catalog find --url {shlex.quote(url)}{at}", "where is this page?"))
    commands.append(
        (
            f"corpus plan {recipe} --set mixture.{weight}{at}",
            "what would another mix recompute?",
        )
    )
    rule = next((r for r in pipeline.recipe.selection.rules if r.min is not None), None)
    if rule is not None and rule.min is not None:
        commands.append(
            (
                f"corpus whatif {recipe} --set selection.rules.{rule.name}.min={rule.min * 1.2:g}{at}",
                "which documents would a stricter rule drop?",
            )
        )
    lines = ["", "Try next:", ""]
    for command, what in commands:
        lines += [f"  {_folder()}{command}", f"      {what}"]
    if Path("workspace.yaml").is_file():
        lines += ["  make ui", "      the graph in the Dagster UI"]
    return lines


def _some_url(pipeline: Pipeline) -> str | None:
    """Return the address of a kept web document."""
    for result in pipeline.all_results("documents"):
        path = pipeline.store.local(result.outputs[files.RECORDS].path)
        for row in pq.read_table(path, columns=["url", "reason"]).to_pylist():
            if row["url"] is not None and row["reason"] is None:
                return str(row["url"])
    return None


def _folder() -> str:
    """Return the folder of the commands where the environment is not on the PATH."""
    if shutil.which("corpus"):
        return ""
    folder = Path(sys.executable).parent
    here = Path.cwd()
    shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
    return f"{shown}/"


def _bar(count: int, total: int) -> str:
    return "█" * round(BAR * count / total) if total else ""


def plan_lines(lines: Sequence[PlanLine]) -> list[str]:
    """Write one line an asset: cached, runs so many parts, or waits for what runs before it."""
    shown = []
    width = max((len(line.asset) for line in lines), default=0) + 1
    for line in lines:
        if line.state == CACHED:
            text = f"cached   {line.cached} parts" if line.cached else "nothing to do"
        elif line.state == RUNS:
            text = f"runs     {line.to_run} parts, {line.cached} cached"
            if line.waiting:
                text += ", more after these"
        else:
            text = f"waits    for its inputs ({line.cached} parts cached so far)"
        shown.append(f"  {line.asset:<{width}}{text}")
    return shown


def calibration_lines(taken: TakenOver, fresh: Mapping[str, str]) -> list[str]:
    """Say which calibrations are taken over, and what a fresh lock would make of them."""
    lines = [f"  {line}" for line in taken.lines()]
    for would_be, what in (
        (OTHER, "a fresh lock would change"),
        (UNKNOWN, "a fresh lock would resolve anew"),
    ):
        names = sorted(name for name, found in fresh.items() if found == would_be)
        if names:
            lines.append(f"  {what}: {named(names)}")
    return ["", *lines] if lines else []


def status_lines(home: Home, as_json: bool) -> list[str]:
    """List versions, snapshots and stored bytes by stage."""
    store = open_store(home.store_url)
    registry = Registry(home.catalog_url, home.catalog_busy_s, home.root)
    registry.upgrade()
    versions = registry.versions()
    snapshots = [(row, len(registry.source_files(row.name))) for row in registry.snapshots()]
    stages: dict[str, list[int]] = {}
    for artifact in registry.artifacts():
        entry = stages.setdefault(artifact.stage, [0, 0])
        entry[0] += 1
        entry[1] += artifact.bytes
    if as_json:
        body = {
            "home": str(home.root),
            "store": store.url,
            "versions": [
                {
                    "name": v.name,
                    "status": v.status,
                    "state": v.state,
                    "documents": v.documents,
                    "tokens": v.tokens,
                }
                for v in versions
            ],
            "snapshots": [
                {"name": row.name, "source": row.source, "files": files} for row, files in snapshots
            ],
            "stages": {name: {"tasks": n, "bytes": size} for name, (n, size) in stages.items()},
        }
        return [json.dumps(body)]
    if not versions and not stages:
        return [f"{home.root} is empty; `corpus build demo` fills it"]
    lines = [f"home {home.root}", "", "versions:"]
    lines += [
        f"  {v.name:<28}{v.state:<11}{v.documents:>10,} documents {v.tokens:>14,} tokens"
        for v in versions
    ] or ["  none yet"]
    lines += ["", "snapshots:"]
    lines += [f"  {row.name:<28}{row.source:<12}{files:>6} files" for row, files in snapshots]
    lines += ["", "stored:"]
    lines += [
        f"  {name:<28}{n:>6} tasks {size / 2**20:>10.1f} MiB"
        for name, (n, size) in sorted(stages.items())
    ]
    return lines
