"""What small models say about versions: the group `corpus evidence`."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from catalog.answers import JSON_ONLY, Shown
from catalog.cli import answers, print_line, print_table, show_table
from catalog.figures import counted, size
from corpus_assets.cli.options import (
    HOME_OPTION,
    engine_options,
    overrides_of,
    recipe_options,
)
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.evidence import Compared, Decided, Imported, KeyResult, ProposedMix

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

    Any machine with torch can run it. Of a sweep, the pack has the open round.
    """
    from corpus_assets.evidence import open_round, pack_plan, stored_plan
    from corpus_assets.session import open_home

    place = Home.resolve(home)
    store, registry = open_home(place)
    plan = stored_plan(store, digest)
    written = pack_plan(place, store, registry, plan, folder, max_mib, open_round(store, plan))
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
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Train here, or on a Ray cluster.",
)
@click.option("--ray-address", metavar="ADDRESS", help="The Ray cluster, HOST:PORT.")
@click.option(
    "--gpus",
    type=click.FloatRange(0, 1),
    default=0.25,
    show_default=True,
    help="On Ray: share of a GPU that each run takes.",
)
@answers
def run_command(
    folder: Path,
    out: Path | None,
    device: str | None,
    part: str,
    keep_weights: bool,
    token_nats: bool,
    engine: str,
    ray_address: str | None,
    gpus: float,
) -> FinishedRuns:
    """Train and score the missing runs of a pack.

    It can be stopped at any time and resumed by running it again.
    """
    from corpus_assets.evidence import parse_part, run_on_ray, run_pack
    from corpus_assets.graph import EngineChoice

    def say(line: str) -> None:
        click.echo(line, err=True)

    if engine == "ray":
        asked = {"--keep-weights": keep_weights, "--token-nats": token_nats}
        options = [name for name, is_given in asked.items() if is_given]
        runs = run_on_ray(
            folder,
            out,
            address=EngineChoice.resolve(engine, None, ray_address).ray_address,
            gpus=gpus,
            part=parse_part(part),
            options=(*options, *(("--device", device) if device else ())),
            say=say,
        )
        return FinishedRuns(str(out or folder), runs)
    runs = run_pack(
        folder,
        out,
        device=device,
        part=parse_part(part),
        keep_weights=keep_weights,
        token_nats=token_nats,
        say=say,
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
        (answer.axis, "weight", "now" if answer.changed else "proportional", "limit"),
        [(name, *(f"{by[name]:.4f}" for by in columns)) for name in answer.weights],
        numbers_right=True,
    )
    print_line()
    against = "those of the version" if answer.changed else "proportional weights"
    print_line(f"{answer.method}: {answer.gain:+.2f}% of the loss of {against}, expected")
    if answer.unseen is not None:
        print_line(answer.unseen.words)
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
    "--axis",
    default="domain",
    show_default=True,
    metavar="domain|source|tier|LABEL",
    help="What is mixed: domains, or sources, tiers, or values of a label (language, topic ...).",
)
@click.option(
    "--change",
    "changed",
    multiple=True,
    metavar="NAME",
    help="Search only the weight of this value; the others keep their ratio. Repeatable.",
)
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
    axis: str,
    changed: tuple[str, ...],
    weights: Path | None,
    compare: Path | None,
    heldout: str,
    results: Path | None,
    home: str | None,
) -> "ProposedMix":
    """Propose mixture weights for VERSION.

    Nothing is changed. Needs the results of a plan with one arm per domain (or value of another
    --axis), named after it, run with --token-nats (MixMin); with --weights, of arms with different
    mixtures (log-linear regression).
    """
    from corpus_assets.evidence import (
        Groups,
        ProposedMix,
        comparison_text,
        find_results,
        search_mixture,
    )
    from corpus_assets.inspect import mix_answer
    from corpus_assets.session import open_home

    store, registry = open_home(Home.resolve(home))
    row = registry.version(version)
    rows = mix_answer(Home.resolve(home), row.name, {}, by=axis).rows
    tokens = {one.group: one.tokens for one in rows}
    groups = Groups(tokens, axis, {one.group: one.share for one in rows}, changed)
    swarm = None if weights is None else json.loads(weights.read_bytes())
    found = find_results(results or store, *(swarm or sorted(tokens)))
    proposal = search_mixture(found, groups, budget, max_epochs, swarm)
    arm = f"{row.name}-{proposal.method}"
    if compare is not None:
        text = comparison_text(found, row.name, arm, heldout)
        compare.write_text(text, encoding="utf-8")
    written = None if compare is None else str(compare)
    return ProposedMix(**vars(proposal), version=row.name, arm=arm, comparison=written)


@dataclass(frozen=True)
class SweepAnswer:
    """Where a sweep is, and what is known of each key."""

    plan: str
    recipe: str
    rounds: int
    looks: int
    runs_left: int  # of the open round; 0 at the end
    keys: "list[KeyResult]"
    next: list[str]


def show_sweep(answer: SweepAnswer) -> None:
    """Print a table for each key, what was chosen, and what comes next."""
    for key in answer.keys:
        print_line(f"{key.key}: {key.verdict}")
        print_table(
            ("value", "version", "percent", "interval", "seeds", "state"),
            [
                (
                    str(one.value),
                    one.version,
                    "" if one.percent is None else f"{one.percent:+.2f}",
                    "" if one.low is None else f"[{one.low:+.2f}, {one.high:+.2f}]",
                    one.seeds or "",
                    one.state,
                )
                for one in key.values
            ],
        )
        for reason in key.reasons:
            print_line(f"  {reason}")
        if key.change is not None:
            print_line(f"  change of the recipe: {key.change}")
        print_line()
    done = f"{answer.looks} of {answer.rounds} rounds"
    if not answer.runs_left:
        print_line(f"plan {answer.plan[:16]}: finished after {done}")
        return
    print_line(f"plan {answer.plan[:16]}: {done}; {counted(answer.runs_left, 'run')} to do:")
    for line in answer.next:
        print_line(f"  {line}")


@evidence.command()
@click.argument("recipe", required=False)
@click.argument("values", nargs=-1, metavar="[KEY=VALUE,VALUE]...")
@click.option("--plan", "digest", metavar="DIGEST", help="Continue this sweep.")
@click.option(
    "--seeds",
    type=click.IntRange(3),
    default=8,
    show_default=True,
    help="Seeds of a value that nothing was decided against.",
)
@click.option("--recompute", is_flag=True, help="Allow values under which text is read again.")
@click.option(
    "--train", is_flag=True, help="Train all rounds: here, which needs torch, or with --engine ray."
)
@click.option(
    "--page", type=click.Path(path_type=Path, dir_okay=False), help="Also write an HTML page."
)
@engine_options
@HOME_OPTION
@recipe_options
@answers(view=show_sweep)
def sweep(
    recipe: str | None,
    values: tuple[str, ...],
    digest: str | None,
    seeds: int,
    recompute: bool,
    train: bool,
    page: Path | None,
    workers: int | None,
    engine: str | None,
    ray_address: str | None,
    home: str | None,
    settings: tuple[str, ...],
) -> SweepAnswer:
    """Choose values of recipe keys by comparison.

    Builds a candidate of RECIPE for each value, and compares them with the recipe as it is, key by
    key; `recipe=FILE,FILE` compares recipes. Rounds double the seeds, and values that are shown to
    be worse drop out. Nothing is changed: the result is a change of the recipe to copy.
    """
    from corpus_assets.core.display import display
    from corpus_assets.evidence import (
        expect_sweep,
        keep_choices,
        key_results,
        next_steps,
        open_round,
        parse_values,
        plan_sweep,
        stored_plan,
        sweep_page,
        sweep_results,
        sweep_standing,
        train_rounds,
    )
    from corpus_assets.graph import EngineChoice
    from corpus_assets.session import open_home

    if (recipe is None or not values) == (digest is None):
        raise CorpusError("give a recipe and KEY=VALUE,VALUE, or --plan DIGEST of an earlier sweep")
    place, chosen = Home.resolve(home), EngineChoice.resolve(engine, workers, ray_address)
    if digest is None:
        with display() as progress:
            plan = plan_sweep(
                place,
                recipe or "",
                parse_values(values),
                overrides_of(settings),
                seeds,
                recompute=recompute,
                engine=chosen,
                progress=progress,
            )
        store, registry = open_home(place)
    else:
        store, registry = open_home(place)
        plan = stored_plan(store, digest)
    if train:
        train_rounds(place, store, registry, plan, lambda line: click.echo(line, err=True), chosen)
    found, asked = sweep_standing(store, plan), expect_sweep(plan)
    left = open_round(store, plan) if found.wanted else None
    if left is None:
        keep_choices(store, plan, found)
    if page is not None:
        results = sweep_results(store, plan)
        runs = results.runs if results is not None else ()
        page.write_text(sweep_page(plan, found, runs), encoding="utf-8")
    return SweepAnswer(
        plan.digest(),
        asked.recipe,
        len(asked.rounds),
        found.looks,
        len(plan.learning_rates) * sum(map(len, (left or {}).values())),
        key_results(plan, found),
        list(next_steps(plan)) if left else [],
    )
