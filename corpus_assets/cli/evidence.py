"""What small models say about versions: the group `corpus evidence`."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from catalog.answers import JSON_ONLY, Shown
from catalog.cli import answers, print_line, print_table, show_table
from catalog.figures import counted, size
from corpus_assets.cli.options import HOME_OPTION
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.evidence import Compared, Decided, Imported, ProposedMix

FOLDER = click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
RESULTS_OPTION = click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="Pack folder with plan.json and runs/ [results imported into the home].",
)


@click.group()
def evidence() -> None:
    """Compare versions with small proxy models.

    The result can decide a release gate, or propose a mixture.
    """


def _proxy(plan: dict[str, Any]) -> str:
    proxy = plan["proxy"]
    return (
        f"{', '.join(plan['arms'])} against {plan['baseline']}: {proxy['size']}, "
        f"{proxy['tokens']:,} tokens, {proxy['protocol']}"
    )


@dataclass(frozen=True)
class PlannedComparison:
    """A comparison that is pinned; packs and results name it by its digest."""

    digest: Annotated[str, Shown("plan")]
    plan: Annotated[dict[str, Any], Shown("arms", _proxy)]
    runs: int
    notes: Annotated[list[str], JSON_ONLY]


@evidence.command("plan")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Output file.")
@HOME_OPTION
@answers
def plan_command(file: Path, out: Path | None, home: str | None) -> PlannedComparison:
    """Pin a comparison before its first run.

    FILE names arms, held-out set, seeds, learning rates and the decision rule.
    """
    from corpus_assets.evidence import Results, plan_comparison, wanted_runs
    from corpus_assets.session import open_home

    store, registry = open_home(Home.resolve(home))
    plan = plan_comparison(store, registry, file)
    if out is not None:
        try:
            out.write_bytes(plan.dump())
        except OSError as error:
            raise CorpusError(f"cannot write {out}: {error.strerror}") from error
    body = plan.identity()
    lines = Results(body, plan.digest(), (), ()).document_lines()
    return PlannedComparison(plan.digest(), body, len(list(wanted_runs(body))), lines)


@dataclass(frozen=True)
class WrittenPack:
    """A folder that any machine with torch can run."""

    folder: str
    plan: str
    bytes: int

    def __str__(self) -> str:
        return f"{self.folder}: {size(self.bytes)}; run it with: python {self.folder}/run.py"


@evidence.command("pack")
@FOLDER
@click.option(
    "--plan",
    "digest",
    required=True,
    metavar="DIGEST",
    help="Digest printed by `corpus evidence plan`.",
)
@click.option("--max-mib", type=float, help="Fail if the pack is larger.")
@HOME_OPTION
@answers
def pack_command(folder: Path, digest: str, max_mib: float | None, home: str | None) -> WrittenPack:
    """Write a plan's runs to a self-contained FOLDER.

    Any machine with torch can run it.
    """
    from corpus_assets.evidence import pack_plan, stored_plan
    from corpus_assets.session import open_home

    place = Home.resolve(home)
    store, registry = open_home(place)
    plan = stored_plan(store, digest)
    written = pack_plan(place, store, registry, plan, folder, max_mib)
    return WrittenPack(str(folder), plan.digest(), written)


@dataclass(frozen=True)
class FinishedRuns:
    """Runs of a pack that were trained and scored."""

    folder: str
    runs: int

    def __str__(self) -> str:
        return f"finished {counted(self.runs, 'run')}; results are in {self.folder}"


@evidence.command("run")
@FOLDER
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Output folder for results."
)
@click.option("--device", help="cuda, cuda:1, cpu [cuda if available].")
@click.option(
    "--part",
    default="0/1",
    show_default=True,
    metavar="I/N",
    help="Run only every N-th run, starting with the I-th.",
)
@click.option(
    "--keep-weights", is_flag=True, help="Keep model weights; they may have memorised text."
)
@click.option("--token-nats", is_flag=True, help="Keep the loss (nats) of every held-out token.")
@answers
def run_command(
    folder: Path,
    out: Path | None,
    device: str | None,
    part: str,
    keep_weights: bool,
    token_nats: bool,
) -> FinishedRuns:
    """Train and score the missing runs of a pack.

    It can be stopped at any time and resumed by running it again.
    """
    from corpus_assets.evidence import parse_part, run_pack

    runs = run_pack(
        folder,
        out,
        device=device,
        part=parse_part(part),
        keep_weights=keep_weights,
        token_nats=token_nats,
        say=lambda line: click.echo(line, err=True),
    )
    return FinishedRuns(str(out or folder), runs)


@evidence.command("import")
@FOLDER
@HOME_OPTION
@answers
def import_command(folder: Path, home: str | None) -> "Imported":
    """Import results and report deviations from the plan."""
    from corpus_assets.evidence import import_runs
    from corpus_assets.session import open_home

    place = Home.resolve(home)
    store, registry = open_home(place)
    return import_runs(place, store, registry, folder)


def show_compared(answer: "Compared") -> None:
    """Print the differences by domain, and what follows from them."""
    (found,) = answer.comparisons
    show_table(found.main, ("domain", "baseline_bpb", "bpb", "percent", "interval"))
    print_line()
    if found.accuracy:
        columns = ("task", "baseline", "arm", "points", "interval")
        rows = [
            (
                one.domain,
                f"{one.baseline_bpb:.1%}",
                f"{one.bpb:.1%}",
                f"{one.percent:+.1f}",
                one.interval,
            )
            for one in found.accuracy
        ]
        print_table(columns, rows)
        print_line()
    factor = found.compute_factor
    worth = "" if factor is None else f"; worth {factor.factor:.2f} times the compute"
    print_line(f"{found.arm} against {found.baseline}: {found.words}{worth}")
    for reason in found.reasons:
        print_line(f"  {reason}")


@evidence.command()
@click.argument("baseline")
@click.argument("arm")
@RESULTS_OPTION
@click.option(
    "--page", type=click.Path(path_type=Path), help="Also write an HTML page to this file."
)
@HOME_OPTION
@answers(view=show_compared)
def compare(
    baseline: str,
    arm: str,
    results: Path | None,
    page: Path | None,
    home: str | None,
) -> "Compared":
    """Compare ARM with BASELINE by domain, with intervals.

    Both are arms of one plan, or the versions they stand for. Below 0 is better: fewer bits per
    byte. All arms of the plan are compared, to correct for multiple comparisons; ARM is shown.
    """
    from corpus_assets.evidence import compare_results, evidence_page, find_results
    from corpus_assets.session import open_home

    found = find_results(results or open_home(Home.resolve(home))[0], baseline, arm)
    first, second = (found.arm_of(name) or name for name in (baseline, arm))
    compared = compare_results(found, first)
    compared = replace(compared, comparisons=(compared.of(second),))
    if page is not None:
        page.write_text(evidence_page(found, compared), encoding="utf-8")
    return compared


@evidence.command()
@click.argument("version")
@RESULTS_OPTION
@HOME_OPTION
@answers
def gate(version: str, results: Path | None, home: str | None) -> "Decided":
    """Decide the gate `models` of VERSION by comparison.

    The version is released once all gates have passed.
    """
    from corpus_assets.evidence import Decided, decide_gate, find_results
    from corpus_assets.session import open_home
    from corpus_assets.versions import release_if_passed

    store, registry = open_home(Home.resolve(home))
    name = registry.version(version).name
    found = decide_gate(registry, store, name, find_results(results or store, name))
    release = release_if_passed(registry, name)
    return Decided(
        **found.detail, version=name, state=registry.version(name).state, release=release
    )


def show_proposal(answer: "ProposedMix") -> None:
    """Print the weights, what they are expected to give, and how to find out."""
    columns = (answer.weights, answer.proportional, answer.limits)
    print_table(
        ("domain", "weight", "proportional", "limit"),
        [(name, *(f"{by[name]:.4f}" for by in columns)) for name in answer.weights],
        numbers_right=True,
    )
    print_line()
    print_line(
        f"{answer.method}: {answer.gain:+.2f}% of the loss of proportional weights, expected"
    )
    print_line(f"To try it, build the recipe with this section as version {answer.arm}, then")
    comparison = answer.comparison or "FILE (--compare writes it)"
    print_line(f"compare it with {answer.version}: corpus evidence plan {comparison}")
    print_line()
    print_line(answer.recipe)


@evidence.command()
@click.argument("version")
@click.option("--budget", type=int, required=True, help="Number of tokens to train on.")
@click.option("--max-epochs", type=float, default=4.0, show_default=True)
@click.option(
    "--weights",
    type=click.Path(path_type=Path, exists=True),
    help="JSON, arm -> domain -> weight: a swarm of mixtures instead of one model per domain.",
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a comparison that validates the proposal, as input for `corpus evidence plan`.",
)
@click.option(
    "--heldout",
    default="heldout.yaml",
    show_default=True,
    help="Held-out set of that comparison, relative to it; use other documents than the search.",
)
@RESULTS_OPTION
@HOME_OPTION
@answers(view=show_proposal)
def mix(
    version: str,
    budget: int,
    max_epochs: float,
    weights: Path | None,
    compare: Path | None,
    heldout: str,
    results: Path | None,
    home: str | None,
) -> "ProposedMix":
    """Propose domain weights for VERSION.

    Nothing is changed. Needs the results of a plan with one arm per domain, named after it, run
    with --token-nats (MixMin); with --weights, of arms with different mixtures (log-linear
    regression).
    """
    from corpus_assets.evidence import (
        ProposedMix,
        comparison_text,
        find_results,
        search_mixture,
    )
    from corpus_assets.session import open_home

    store, registry = open_home(Home.resolve(home))
    row = registry.version(version)
    tokens: dict[str, int] = {}
    for shard in registry.version_shards(row.name):
        tokens[shard.domain] = tokens.get(shard.domain, 0) + shard.tokens
    swarm = None if weights is None else json.loads(weights.read_bytes())
    found = find_results(results or store, *(swarm or sorted(tokens)))
    proposal = search_mixture(found, tokens, budget, max_epochs, swarm)
    arm = f"{row.name}-{proposal.method}"
    if compare is not None:
        text = comparison_text(found, row.name, arm, heldout)
        compare.write_text(text, encoding="utf-8")
    written = None if compare is None else str(compare)
    return ProposedMix(**vars(proposal), version=row.name, arm=arm, comparison=written)
