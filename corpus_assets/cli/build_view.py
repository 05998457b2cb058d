"""Show what a build made: the funnel, what to try next; the plan and the state of a home."""

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from catalog.db import Registry
from catalog.figures import counted
from corpus_assets.clean import losses_message, snapshot_losses
from corpus_assets.core import files
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.graph import (
    CACHED,
    OTHER,
    RUNS,
    UNKNOWN,
    Pipeline,
    PlanLine,
    language_losses_message,
)
from corpus_assets.tokenizer import TOKENIZER, audit_of
from corpus_assets.versions import (
    ReusedCalibrations,
    Version,
    drift_lines,
    funnel_steps,
    named_calibrations,
)

BAR = 30


def summary_lines(
    pipeline: Pipeline, version: Version, home: Home, recipe: str, asked: str
) -> list[str]:
    """Describe a built version: the funnel with its reasons, tokens by group, what to try next.
    `asked` is the version that questions without a name are about."""
    steps = funnel_steps(pipeline)
    total = steps[0].entered
    told = pipeline.recipe.caveats()
    lines = [
        "",
        f"Version {version.name}",
        *told,
        "",
        "Documents kept, and dropped by reason:",
        "",
    ]
    lines.append(f"  {'ingested':<16}{total:>8,}  {_bar(total, total)}")
    for step in steps:
        lines.append(f"  {step.stage:<16}{step.left:>8,}  {_bar(step.left, total)}")
        for reason, count in step.reasons.most_common(6):
            lines.append(f"      - {count:>5,}  {reason}")
        hidden = sorted(step.reasons.values(), reverse=True)[6:]
        if hidden:
            lines.append(f"      - {sum(hidden):>5,}  ({counted(len(hidden), 'other reason')})")
    lines += ["", "Tokens by group (snapshot/domain/tier):", ""]
    groups = version.manifest.groups
    tokens = sum(group.tokens for group in groups)
    for group in groups:
        lines.append(
            f"  {group.id:<40}{_column(group.documents, 7, 'document')} "
            f"{_column(group.tokens, 11, 'token')}  {counted(len(group.shards), 'shard')}"
        )
    documents = sum(group.documents for group in groups)
    lines.append(
        f"  {'total':<40}{_column(documents, 7, 'document')} {_column(tokens, 11, 'token')}".rstrip()
    )
    lines += _loss_lines(pipeline)
    failed = [] if pipeline.pin_of(TOKENIZER.name) else audit_of(pipeline)["problems"]
    if failed:
        lines += ["", "The tokenizer fails its audit:", "", *(f"  {line}" for line in failed)]
    drift = drift_lines(pipeline)
    if drift:
        lines += ["", "Drift from earlier snapshots (`drift` in the recipe):", ""]
        lines += [f"  {line}" for line in drift]
    return lines + _next_commands(pipeline, version, home, recipe, asked)


def _loss_lines(pipeline: Pipeline) -> list[str]:
    """Name snapshots in which a rule dropped too much of a language, or cleaning too much."""
    kinds: dict[str, Callable[[str], tuple[bool, str]]] = {
        "Large losses by language:": partial(language_losses_message, pipeline),
        "Large losses by cleaning:": lambda snapshot: losses_message(
            snapshot_losses(pipeline, snapshot)
        ),
    }
    out = []
    for title, check in kinds.items():
        found = [(snapshot, *check(snapshot)) for snapshot in pipeline.recipe.snapshots]
        lines = [f"  {snapshot}: {message}" for snapshot, passed, message in found if not passed]
        out += ["", title, "", *lines] if lines else []
    return out


def _next_commands(
    pipeline: Pipeline, version: Version, home: Home, recipe: str, asked: str
) -> list[str]:
    """List commands to try next; they work from the folder the build ran in. `asked` is the version
    that questions without a name are about."""
    at = "" if home == Home.resolve(None) else f" --home {shlex.quote(str(home.root))}"
    named = "" if asked == version.name else f" --version {version.name}"
    recipe = shlex.quote(recipe) + (" --fallbacks" if pipeline.recipe.use_fallbacks else "")
    commands = [
        (f"corpus report {version.name}{at}", "one HTML page with everything above"),
        (f"catalog verify {version.name}{at}", "re-hash and re-count everything"),
    ]
    if not version.is_empty:
        group = max(version.manifest.groups, key=lambda g: g.tokens)
        shard = f"{group.id}/{group.shards[0].name}"
        trace = f"catalog trace {version.name} {shlex.quote(shard)} 0 0{at}"
        commands.append((trace, "which document does this token come from?"))
    page = _some_page(pipeline)
    if page is not None:
        key, value = page
        find = f"find --url {shlex.quote(value)}" if key == "url" else f"lineage {value}"
        option = f"--{key} {shlex.quote(value)}"
        commands += [
            (f"catalog {find}{named}{at}", "where is this page?"),
            (
                f"catalog takedown request {option} --reason test --dry-run{at}",
                "what would removing it affect?",
            ),
        ]
    domain = next(iter(pipeline.recipe.mixture.domains), None)
    weight = f"domains.{domain}=0.5" if domain else "temperature=2"
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
    commands += [
        (f"catalog serve{at}", "versions, documents and takedowns as web pages"),
        (f"corpus ui{at}", "the graph in the Dagster UI"),
    ]
    lines = ["", "Try next:", ""]
    for command, what in commands:
        lines += [f"  {_folder()}{command}", f"      {what}"]
    return lines


def _some_page(pipeline: Pipeline) -> tuple[str, str] | None:
    """Return a document by the option that names it: a web page's `url`, else a `doc-id`."""
    found = None
    for result in pipeline.all_results("documents"):
        path = pipeline.store.local(result.outputs[files.RECORDS].path)
        table = pq.read_table(path, columns=["doc_id", "url", "reason"])
        for row in table.to_pylist():
            if row["reason"] is None and row["url"] is not None:
                return "url", str(row["url"])
            if row["reason"] is None and found is None:
                found = ("doc-id", bytes(row["doc_id"]).hex())
    return found


def _folder() -> str:
    """Return the folder of the commands where the environment is not on the PATH."""
    if shutil.which("corpus"):
        return ""
    folder = Path(sys.executable).parent
    here = Path.cwd()
    shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
    return f"{shown}/"


def _column(count: int, width: int, noun: str) -> str:
    """Return `     1 document ` and `    12 documents`, one below the other."""
    return f"{count:>{width},} {noun + 's' * (count != 1):<{len(noun) + 1}}"


def _bar(count: int, total: int) -> str:
    return "█" * round(BAR * count / total) if total else ""


def plan_lines(lines: Sequence[PlanLine]) -> list[str]:
    """Write one line per asset: cached, the number of parts to compute, or pending."""
    shown = []
    width = max((len(line.asset) for line in lines), default=0) + 1
    for line in lines:
        if line.state == CACHED:
            text = f"cached   {counted(line.cached, 'part')}" if line.cached else "nothing to do"
        elif line.state == RUNS:
            text = f"compute  {counted(line.to_run, 'part')}, {line.cached:,} cached"
            if line.waiting:
                text += ", more after these"
        else:
            text = f"pending  ({counted(line.cached, 'part')} cached)"
        shown.append(f"  {line.asset:<{width}}{text}")
    return shown


def calibration_lines(taken: ReusedCalibrations, fresh: Mapping[str, str]) -> list[str]:
    """Show which calibrations are reused, and what a fresh lock would change."""
    lines = [f"  {line}" for line in taken.lines()]
    for would_be, what in (
        (OTHER, "a fresh lock would change"),
        (UNKNOWN, "a fresh lock would recompute"),
    ):
        names = sorted(name for name, found in fresh.items() if found == would_be)
        if names:
            lines.append(f"  {what}: {named_calibrations(names)}")
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
        f"  {v.name:<28}{v.state:<11}{_column(v.documents, 10, 'document')} "
        f"{_column(v.tokens, 14, 'token')}".rstrip()
        for v in versions
    ] or ["  none yet"]
    lines += ["", "snapshots:"]
    lines += [
        f"  {row.name:<28}{row.source:<12}{_column(files, 6, 'file')}".rstrip()
        for row, files in snapshots
    ]
    lines += ["", "stored:"]
    lines += [
        f"  {name:<28}{_column(n, 6, 'task')} {size / 2**20:>10.1f} MiB"
        for name, (n, size) in sorted(stages.items())
    ]
    return lines
