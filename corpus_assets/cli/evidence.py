"""What small models say about versions: the group `corpus evidence`."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from catalog.cli import print_fields, print_json, print_line, print_table
from corpus_assets.cli.options import HOME_OPTION, JSON_OPTION
from corpus_assets.core.errors import CorpusError, EvidenceError
from corpus_assets.core.home import Home

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


@evidence.command("plan")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Output file.")
@HOME_OPTION
@JSON_OPTION
def plan_command(file: Path, out: Path | None, home: str | None, as_json: bool) -> None:
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
    if as_json:
        print_json({"digest": plan.digest(), "plan": plan.identity()})
        return
    print_fields(
        [
            ("plan", plan.digest()),
            ("baseline", plan.baseline),
            ("arms", ", ".join(plan.arms)),
            ("held-out set", plan.heldout),
            ("proxy", f"{plan.proxy.size}, {plan.proxy.tokens:,} tokens, {plan.proxy.protocol}"),
            ("runs", str(len(list(wanted_runs(plan.identity()))))),
        ]
    )
    for line in Results(plan.identity(), plan.digest(), (), ()).document_lines():
        print_line(line)


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
@JSON_OPTION
def pack_command(
    folder: Path, digest: str, max_mib: float | None, home: str | None, as_json: bool
) -> None:
    """Write a plan's runs to a self-contained FOLDER.

    Any machine with torch can run it.
    """
    from corpus_assets.evidence import pack_plan, stored_plan
    from corpus_assets.session import open_home

    place = Home.resolve(home)
    store, registry = open_home(place)
    plan = stored_plan(store, digest)
    size = pack_plan(place, store, registry, plan, folder, max_mib)
    if as_json:
        print_json({"folder": str(folder), "plan": plan.digest(), "bytes": size})
    else:
        print_line(f"{folder}: {size / 2**20:.1f} MiB; run it with: python {folder}/run.py")


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
def run_command(
    folder: Path,
    out: Path | None,
    device: str | None,
    part: str,
    keep_weights: bool,
    token_nats: bool,
) -> None:
    """Train and score the missing runs of a pack.

    It can be stopped at any time and resumed by running it again.
    """
    from corpus_assets.evidence import parse_part, run_pack

    run_pack(
        folder,
        out,
        device=device,
        part=parse_part(part),
        keep_weights=keep_weights,
        token_nats=token_nats,
        say=print_line,
    )


@evidence.command("import")
@FOLDER
@HOME_OPTION
@JSON_OPTION
def import_command(folder: Path, home: str | None, as_json: bool) -> None:
    """Import results and report deviations from the plan."""
    from corpus_assets.evidence import import_runs
    from corpus_assets.session import open_home

    place = Home.resolve(home)
    store, registry = open_home(place)
    found = import_runs(place, store, registry, folder)
    if as_json:
        print_json(asdict(found))
        return
    print_line(f"{found.runs} runs of plan {found.plan[:16]}")
    for line in found.strays:
        print_line(f"  deviation: {line}")


@evidence.command()
@click.argument("baseline")
@click.argument("arm")
@RESULTS_OPTION
@click.option(
    "--page", type=click.Path(path_type=Path), help="Also write an HTML page to this file."
)
@HOME_OPTION
@JSON_OPTION
def compare(
    baseline: str,
    arm: str,
    results: Path | None,
    page: Path | None,
    home: str | None,
    as_json: bool,
) -> None:
    """Compare ARM with BASELINE by domain, with intervals.

    Both are arms of one plan, or the versions they stand for. Below 0 is better: fewer bits per
    byte. All arms of the plan are compared, to correct for multiple comparisons; ARM is shown.
    """
    from corpus_assets.evidence import (
        compare_results,
        describe_comparison,
        evidence_page,
        find_results,
    )
    from corpus_assets.session import open_home

    found = find_results(results or open_home(Home.resolve(home))[0], baseline, arm)
    first, second = (found.arm_of(name) or name for name in (baseline, arm))
    compared = compare_results(found, first)
    comparison = compared.of(second)
    compared = replace(compared, comparisons=(comparison,))
    if page is not None:
        page.write_text(evidence_page(found, compared), encoding="utf-8")
    if as_json:
        print_json(describe_comparison(compared))
        return
    print_table(
        ("domain", "baseline bpb", "bpb", "percent", "interval"),
        [
            (
                d.domain,
                f"{d.baseline_bpb:.4f}",
                f"{d.bpb:.4f}",
                f"{d.percent:+.2f}",
                f"[{d.low:+.2f}, {d.high:+.2f}]",
            )
            for d in comparison.main
        ],
    )
    print_line()
    factor = compared.factors[second]
    worth = "" if factor is None else f"; worth {factor.factor:.2f} times the compute"
    print_line(f"{second} against {first}: {comparison.words}{worth}")
    for line in (*comparison.reasons, *compared.notes):
        print_line(f"  {line}")


@evidence.command()
@click.argument("version")
@RESULTS_OPTION
@HOME_OPTION
@JSON_OPTION
def gate(version: str, results: Path | None, home: str | None, as_json: bool) -> None:
    """Decide the gate `models` of VERSION by comparison.

    The version is released once all gates have passed.
    """
    from corpus_assets.evidence import decide_gate, find_results
    from corpus_assets.session import open_home
    from corpus_assets.versions import release_if_passed

    store, registry = open_home(Home.resolve(home))
    name = registry.version(version).name
    found = decide_gate(registry, store, name, find_results(results or store, name))
    told = release_if_passed(registry, name)
    if as_json:
        print_json({"version": name, "state": registry.version(name).state, **found.detail})
        return
    print_line(f"models: {found.detail['outcome']}: {found.detail['message']}")
    print_line(told)


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
@JSON_OPTION
def mix(
    version: str,
    budget: int,
    max_epochs: float,
    weights: Path | None,
    compare: Path | None,
    heldout: str,
    results: Path | None,
    home: str | None,
    as_json: bool,
) -> None:
    """Propose domain weights for VERSION.

    Nothing is changed. Needs the results of a plan with one arm per domain, named after it, run
    with --token-nats (MixMin); with --weights, of arms with different mixtures (log-linear
    regression).
    """
    from corpus_assets.evidence import (
        comparison_text,
        find_results,
        fit_swarm,
        group_predictions,
        propose_mixture,
        swarm_losses,
    )
    from corpus_assets.session import open_home

    store, registry = open_home(Home.resolve(home))
    row = registry.version(version)
    tokens: dict[str, int] = {}
    for shard in registry.version_shards(row.name):
        tokens[shard.domain] = tokens.get(shard.domain, 0) + shard.tokens
    groups = sorted(tokens)
    swarm = None if weights is None else json.loads(weights.read_bytes())
    found = find_results(results or store, *(swarm or groups))
    try:
        if swarm is None:
            given: Any = group_predictions(found.runs, groups)
        else:
            rows, losses = swarm_losses(found, swarm, groups)
            given = fit_swarm(rows, losses)
        proposal = propose_mixture(groups, tokens, budget, given, max_epochs)
    except ValueError as error:
        raise EvidenceError(str(error)) from error
    arm = f"{row.name}-{proposal.method}"
    if compare is not None:
        text = comparison_text(found, row.name, arm, heldout)
        compare.write_text(text, encoding="utf-8")
    if as_json:
        print_json(asdict(proposal) | {"gain": proposal.gain, "recipe": proposal.recipe_text()})
        return
    print_table(
        ("domain", "weight", "proportional", "limit"),
        [
            (
                g,
                *(
                    f"{by[g]:.4f}"
                    for by in (proposal.weights, proposal.proportional, proposal.limits)
                ),
            )
            for g in groups
        ],
    )
    print_line()
    print_line(
        f"{proposal.method}: {proposal.gain:+.2f}% of the loss of proportional weights, expected"
    )
    print_line(f"To try it, build the recipe with this section as version {arm}, then compare it")
    print_line(f"with {row.name}: corpus evidence plan {compare or 'FILE (--compare writes it)'}")
    print_line()
    print_line(proposal.recipe_text())
