"""Show what a build made: the funnel, and what to try next."""

import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from catalog.cli import print_line
from catalog.figures import counted
from corpus_assets.clean import (
    losses_message,
    snapshot_losses,
    snapshot_yields,
    yield_losses_message,
)
from corpus_assets.core import files
from corpus_assets.core.home import Home
from corpus_assets.graph import Pipeline
from corpus_assets.ingest import recall_message, snapshot_recall
from corpus_assets.select import language_losses_message
from corpus_assets.tokenizer import TOKENIZER, audit_of
from corpus_assets.versions import FunnelStep, Version, drift_lines, funnel_steps

BAR = 30


@dataclass(frozen=True)
class BuiltGroup:
    """What a version has of a group."""

    id: str
    documents: int
    tokens: int
    shards: int


@dataclass(frozen=True)
class Suggestion:
    """A command to try next."""

    command: str
    why: str


@dataclass(frozen=True)
class Built:
    """A built version: the funnel with its reasons, tokens by group, and what to look at."""

    version: str
    caveats: list[str]
    funnel: list[FunnelStep]
    groups: list[BuiltGroup]
    warnings: dict[str, list[str]]  # by a title that says what they are about
    next: list[Suggestion]


def built(pipeline: Pipeline, version: Version, home: Home, recipe: str, asked: str) -> Built:
    """Describe a built version. `asked` is the version that questions without a name are about."""
    failed = [] if pipeline.pin_of(TOKENIZER.name) else audit_of(pipeline).problems
    warnings = {
        **_losses(pipeline),
        "The tokenizer fails its audit:": failed,
        "Drift from earlier snapshots (`drift` in the recipe):": drift_lines(pipeline),
    }
    return Built(
        version.name,
        pipeline.recipe.caveats(),
        funnel_steps(pipeline),
        [
            BuiltGroup(group.id, group.documents, group.tokens, len(group.shards))
            for group in version.manifest.groups
        ],
        {title: lines for title, lines in warnings.items() if lines},
        _next_commands(pipeline, version, home, recipe, asked),
    )


def show_built(answer: Built) -> None:
    """Print what was kept and dropped, with bars, and what to do next."""
    total = answer.funnel[0].entered
    lines = ["", f"Version {answer.version}", *answer.caveats]
    lines += ["", "Documents kept, and dropped by reason:", ""]
    lines.append(f"  {'ingested':<16}{total:>8,}  {_bar(total, total)}")
    for step in answer.funnel:
        lines.append(f"  {step.stage:<16}{step.left:>8,}  {_bar(step.left, total)}")
        for reason, count in step.reasons.most_common(6):
            lines.append(f"      - {count:>5,}  {reason}")
        hidden = sorted(step.reasons.values(), reverse=True)[6:]
        if hidden:
            lines.append(f"      - {sum(hidden):>5,}  ({counted(len(hidden), 'other reason')})")
    lines += ["", "Tokens by group (snapshot/domain/tier):", ""]
    groups = answer.groups
    for group in groups:
        lines.append(
            f"  {group.id:<40}{_column(group.documents, 7, 'document')} "
            f"{_column(group.tokens, 11, 'token')}  {counted(group.shards, 'shard')}"
        )
    documents, tokens = (sum(g.documents for g in groups), sum(g.tokens for g in groups))
    lines.append(
        f"  {'total':<40}{_column(documents, 7, 'document')} {_column(tokens, 11, 'token')}".rstrip()
    )
    for title, warnings in answer.warnings.items():
        lines += ["", title, "", *(f"  {warning}" for warning in warnings)]
    lines += ["", "Try next:", ""]
    for one in answer.next:
        lines += [f"  {one.command}", f"      {one.why}"]
    for line in lines:
        print_line(line)


def _losses(pipeline: Pipeline) -> dict[str, list[str]]:
    """Name snapshots in which extraction, a rule or cleaning lost too much, all in all or of one
    kind."""
    kinds: dict[str, Callable[[str], tuple[bool, str]]] = {
        "Texts that lack what their pages declare:": lambda snapshot: recall_message(
            snapshot_recall(pipeline, snapshot)
        ),
        "Large losses by language:": partial(language_losses_message, pipeline),
        "Large losses by cleaning:": lambda snapshot: losses_message(
            snapshot_losses(pipeline, snapshot)
        ),
        "Page types and languages that lose more than the others:": lambda snapshot: (
            yield_losses_message(snapshot_yields(pipeline, snapshot))
        ),
    }
    return {
        title: [
            f"{snapshot}: {message}"
            for snapshot in pipeline.recipe.snapshots
            for passed, message in [check(snapshot)]
            if not passed
        ]
        for title, check in kinds.items()
    }


def _next_commands(
    pipeline: Pipeline, version: Version, home: Home, recipe: str, asked: str
) -> list[Suggestion]:
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
    is_free = pipeline.recipe.mixture.divided_by in (None, "domain")
    domain = pipeline.recipe.sources[0].domain
    change = f"change.domain.{domain}=0.5" if is_free else "max_epochs=2"
    commands.append(
        (
            f"corpus plan {recipe} --set mixture.{change}{at}",
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
    return [Suggestion(f"{_folder()}{command}", why) for command, why in commands]


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
