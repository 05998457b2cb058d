"""From the runs of a plan to comparisons, and from a comparison to the gate `models` of a version.

Results are a folder with `plan.json` and `runs/` (`results`), as a pack is after its runs, or what
was imported into a store. The rule is the plan's: it was hashed before the first run.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from catalog.answers import Shown
from catalog.db import GateRow, MetricRow, Registry
from corpus_assets.core.errors import EvidenceError
from corpus_assets.core.store import Store
from corpus_assets.evidence.compare import (
    BETTER,
    WORSE,
    Comparison,
    DecisionRule,
    Difference,
    Floats,
    HeldOut,
    Hosts,
    Scores,
    compare_arms,
    compute_factor,
    differences,
    even_overlap,
    even_places,
    fit_curve,
)
from corpus_assets.evidence.results import Run, parse_run, read_runs
from corpus_assets.evidence.schedule import annealed_share
from corpus_assets.recipe import Recipe
from corpus_assets.versions import (
    MODELS_GATE,
    PREVIOUS,
    load_published_recipe,
    previous_version,
)

PASSED, FAILED, UNDECIDED = "passed", "failed", "undecided"


@dataclass(frozen=True)
class Results:
    """A plan, and the runs that were made for it."""

    plan: Mapping[str, Any]
    digest: str
    runs: Sequence[Run]
    strays: tuple[str, ...]  # how the results differ from the plan, one sentence each

    @property
    def rule(self) -> DecisionRule:
        given = dict(self.plan["rule"])
        return DecisionRule(**given | {"must_not_regress": tuple(given["must_not_regress"])})

    def arm_of(self, name: str) -> str | None:
        """Return the arm that is called so, or whose version is."""
        arms = self.plan["arms"]
        return next((a for a, ref in arms.items() if name in (a, ref["version"])), None)

    @cached_property
    def held_out(self) -> HeldOut:
        """The documents of all runs; they must be the same."""
        if not self.runs:
            raise EvidenceError("there are no runs yet: run the pack, then import its results")
        columns = ("document", "domain", "host", "bytes")
        first = self.runs[0].table().select(columns)
        for run in self.runs:
            if not run.table().select(columns).equals(first):
                raise EvidenceError(
                    f"{run.name} was scored on other documents than {self.runs[0].name}: runs of "
                    "two held-out sets cannot be compared"
                )
        kept = first.filter(pa.array(self._is_kept))
        return HeldOut(
            kept["bytes"].to_numpy(), kept["domain"].to_pylist(), kept["host"].to_pylist()
        )

    @cached_property
    def tasks(self) -> HeldOut | None:
        """The questions whose wrong choices were scored too; None where there is none."""
        rows = self.runs[0].choices()
        items, first = np.unique(rows["item"].to_numpy(), return_counts=True)
        asked = rows.take(items[first > 1])
        domains = asked["domain"].to_pylist()
        if not domains:
            return None
        return HeldOut(asked["bytes"].to_numpy(), domains, asked["host"].to_pylist())

    @cached_property
    def signals(self) -> dict[str, float]:
        """By domain, how much the baseline gains between its smallest and its full budget, in standard
        deviations between seeds of the full one; empty where it did not run at two budgets."""
        plan, tokens = self.plan, self.plan["proxy"]["tokens"]
        smallest = min(plan.get("budgets", ()), default=tokens)
        arm, rate = plan["baseline"], plan["learning_rates"][0]
        domain = np.array(self.runs[0].table()["domain"].to_pylist())
        means = {
            budget: [
                run.bits()
                for run in self.runs
                if (run.arm, run.learning_rate, run.tokens) == (arm, rate, budget)
            ]
            for budget in (smallest, tokens)
        }
        if smallest >= tokens or min(map(len, means.values())) < 2:
            return {}
        found = {}
        for name in np.unique(domain).tolist():
            early, late = (
                np.array([bits[domain == name].mean() for bits in own]) for own in means.values()
            )
            gain, spread = float(early.mean() - late.mean()), float(late.std(ddof=1))
            found[name] = gain / spread if spread else math.copysign(math.inf, gain)
        return found

    @cached_property
    def left_out(self) -> dict[str, float]:
        """The domains that the rule leaves out, and their signal; those that it guards by name stay."""
        rule = self.rule
        return {
            domain: signal
            for domain, signal in self.signals.items()
            if signal < rule.min_signal > 0 and domain not in rule.must_not_regress
        }

    @cached_property
    def _is_kept(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        domains = self.runs[0].table()["domain"].to_pylist()
        return np.array([name not in self.left_out for name in domains])

    def nats(self, run: Run) -> Floats:
        """Return what a run lost on each document of `held_out`."""
        found: Floats = run.table()["nats"].to_numpy()[self._is_kept]
        return found

    def scores(
        self,
        arm: str,
        learning_rate: float,
        tokens: int,
        of: Callable[[Run], Floats] | None = None,
    ) -> Scores | None:
        """Return what the models of an arm lost, or another score `of` a run, by seed; None with
        fewer than two seeds."""
        of = of or self.nats
        found = sorted(
            (run.seed, run)
            for run in self.runs
            if (run.arm, run.learning_rate, run.tokens) == (arm, learning_rate, tokens)
        )
        if len(found) < 2:
            return None
        nats = np.stack([of(run) for _, run in found])
        seeds, planned = tuple(seed for seed, _ in found), list(self.plan["seeds"])
        share = self.share_of(arm)
        if share is None or not set(seeds) <= set(planned):
            return Scores(seeds, nats)
        places = even_places(len(planned))
        return Scores(seeds, nats, share, tuple(places[planned.index(seed)] for seed in seeds))

    def share_of(self, arm: str) -> float | None:
        """Return the share of its version that one seed of an arm was trained on; None where every
        seed had the same documents. Arms of a pool have the same part of it as the baseline."""
        proxy, arms = self.plan["proxy"], self.plan["arms"]
        of = arm if proxy.get("protocol") != "pool" else self.plan["baseline"]
        tokens = arms[of].get("tokens")
        if not tokens:
            return None
        share = float(proxy["unique_tokens"] / tokens)
        if proxy.get("protocol") != "anneal" or arm == self.plan["baseline"]:
            return share
        steps = proxy["tokens"] // proxy["batch_tokens"]
        return share * annealed_share(steps, proxy["batch_tokens"] // proxy["sequence"])

    def document_lines(self) -> list[str]:
        """Say how much of the chance of which documents were drawn the spread of seeds shows."""
        shares = {arm: self.share_of(arm) for arm in self.plan["arms"]}
        fixed = sorted(arm for arm, share in shares.items() if share is None)
        found = []
        if fixed:
            found.append(
                f"every seed of {', '.join(fixed)} had the same documents: intervals are about "
                "these, not about others like them"
            )
        for arm, share in sorted(shares.items()):
            common = even_overlap(len(self.plan["seeds"]), share or 0.0)
            if common > 0:
                found.append(
                    f"{arm}: seeds have {common:.0%} of their documents in common, so their spread "
                    f"shows {1 - common:.0%} of the noise of documents; intervals are widened for "
                    "the rest"
                )
        return found


def open_results(folder: Path) -> Results:
    """Read a results folder; runs of another plan are named and left out."""
    try:
        data = (folder / "plan.json").read_bytes()
    except OSError as error:
        raise EvidenceError(
            f"{folder} has no plan.json: pass the folder of a pack as --results"
        ) from error
    return _results(data, read_runs(folder / "runs"), str(folder / "plan.json"))


def stored_results(store: Store, plan: str = "") -> list[Results]:
    """Read the results that were imported into a store, in the order of their plans' digests; of
    one plan, where its digest is given."""
    found = []
    for path in store.list("evidence/plans"):
        digest = Path(path).stem
        if plan not in ("", digest):
            continue
        bases = [
            name.removesuffix(".json")
            for name in store.list(f"evidence/runs/{digest}")
            if name.endswith(".json")
        ]
        runs = [
            parse_run(
                store.read(f"{base}.json"),
                store.read(f"{base}.parquet"),
                store.read(nats) if store.exists(nats := f"{base}.nats.npy") else b"",
                base,
            )
            for base in bases
        ]
        found.append(_results(store.read(path), runs, path))
    return found


def _results(data: bytes, runs: Sequence[Run], name: str) -> Results:
    try:
        plan = json.loads(data)
        _ = plan["baseline"], plan["arms"], plan["rule"], plan["proxy"]["tokens"]
    except (ValueError, KeyError, TypeError) as error:
        raise EvidenceError(f"{name} is not a plan: plan the comparison again") from error
    digest = hashlib.sha256(data).hexdigest()
    size = plan["proxy"]["size"]
    own = [run for run in runs if run.plan == digest and run.size == size]
    strays = [f"{run.name} was made for another plan" for run in runs if run not in own]
    code = plan.get("code", "")
    strays += [
        f"{run.name} was made by different code than planned" for run in own if run.code != code
    ]
    planned = {
        (arm, rate, seed)
        for arm in plan["arms"]
        for rate in plan["learning_rates"]
        for seed in plan["seeds"]
    }
    tokens = plan["proxy"]["tokens"]
    there = {(run.arm, run.learning_rate, run.seed) for run in own if run.tokens == tokens}
    for arm, rate, seed in sorted(there - planned):
        strays.append(f"{arm} at {rate:g} with seed {seed} was not planned")
    if planned - there and plan.get("sweep") is None:  # whose rounds say which are run
        strays.append(f"{len(planned - there)} of {len(planned)} planned runs have no result")
    return Results(plan, digest, own, tuple(strays))


def find_results(place: Path | Store, *names: str) -> Results:
    """Return the results in a folder or a store whose plan has these arms or versions; where there
    are several they must be told apart by their folder."""
    known = [open_results(place)] if isinstance(place, Path) else stored_results(place)
    found = [one for one in known if all(one.arm_of(name) is not None for name in names)]
    with_runs = [one for one in found if one.runs] or found
    if len(with_runs) == 1:
        return with_runs[0]
    what = f"a plan with {' and '.join(names)}"
    if not found:
        raise EvidenceError(
            f"there are no results of {what}: plan, pack, run and import them first, or pass a "
            "pack's folder as --results"
        )
    plans = ", ".join(one.digest[:16] for one in with_runs)
    raise EvidenceError(
        f"there are {len(with_runs)} results of {what} ({plans}): choose one by passing its "
        "pack folder as --results"
    )


@dataclass(frozen=True)
class Compared:
    """Every arm of a plan against its baseline."""

    comparisons: Annotated[tuple[Comparison, ...], Shown(key="arms")]
    notes: tuple[str, ...]

    def of(self, arm: str) -> Comparison:
        """Return the comparison of an arm."""
        for found in self.comparisons:
            if found.arm == arm:
                return found
        raise EvidenceError(f"arm {arm} has too few runs to be compared: run the pack to its end")


def compare_results(results: Results, baseline: str | None = None) -> Compared:
    """Compare all arms of a plan with its baseline, or with another of its arms. Those that have no
    runs yet count among the arms, so that no verdict gets easier by looking at fewer."""
    plan, held_out = results.plan, results.held_out
    against = baseline or plan["baseline"]
    named = [arm for arm in plan["arms"] if arm != against]
    main, *others = plan["learning_rates"]
    tokens = plan["proxy"]["tokens"]
    hosts = Hosts(held_out)
    scores = {
        arm: (
            results.scores(arm, main, tokens),
            results.scores(arm, others[0], tokens) if others else None,
        )
        for arm in (against, *named)
    }
    absent = [arm for arm, (own, _) in scores.items() if own is None]
    few = f"fewer than two runs at the main learning rate {main:g}"
    if against in absent or len(absent) == len(named):
        raise EvidenceError(f"arm {absent[0]} has {few}: run the pack to its end")
    there = {arm: own for arm, own in scores.items() if arm not in absent}
    found = compare_arms(held_out, against, there, results.rule, hosts, len(absent))
    notes = [*results.strays, *results.document_lines(), *hosts.notes]
    notes += [f"arm {arm} has {few}" for arm in absent]
    found = [replace(c, accuracy=_accuracy(results, against, c.arm)) for c in found]
    for domain, signal in sorted(results.left_out.items()):
        notes.append(
            f"{domain} is left out: the baseline gains {signal:.1f} standard deviations from its "
            f"smallest budget on, the rule asks for {results.rule.min_signal:g}"
        )
    losses = {
        budget: loss
        for budget in sorted({run.tokens for run in results.runs if run.arm == against})
        if (loss := _macro(results, hosts, against, main, budget)) is not None
    }
    if len(losses) < 3:
        notes.append(f"{against} ran at {len(losses)} budgets: no compute factor without three")
    else:
        try:
            curve = fit_curve(list(losses), list(losses.values()))
            found = [
                replace(c, compute_factor=compute_factor(curve, c.macro, tokens)) for c in found
            ]
        except ValueError as error:
            notes.append(str(error))
    return Compared(tuple(found), tuple(notes))


def answered(run: Run) -> Floats:
    """Return whether each question's right answer is its likeliest choice, by nats per byte: 0 or 1,
    and for equal choices their share."""
    rows = run.choices()
    item, document = rows["item"].to_numpy(), rows["document"].to_numpy()
    bits = rows["nats"].to_numpy() / rows["bytes"].to_numpy()
    best = np.full(len(bits), np.inf)
    np.minimum.at(best, item, bits)
    is_best = bits == best[item]
    equal, choices = np.bincount(item, is_best), np.bincount(item)
    asked = np.flatnonzero(choices > 1)
    own = asked[np.isin(asked, document[item == document])]
    found: Floats = is_best[own] / equal[own]
    return found


def _accuracy(results: Results, baseline: str, arm: str) -> tuple[Difference, ...]:
    """Return the difference of accuracies by task, at the main learning rate, the mean of tasks last."""
    rate, tokens = results.plan["learning_rates"][0], results.plan["proxy"]["tokens"]
    sides = [results.scores(name, rate, tokens, answered) for name in (baseline, arm)]
    if results.tasks is None or sides[0] is None or sides[1] is None:
        return ()
    return differences(
        Hosts(results.tasks), sides[0], sides[1], results.rule.confidence, are_shares=True
    )


def _macro(results: Results, hosts: Hosts, arm: str, rate: float, tokens: int) -> float | None:
    runs = [r for r in results.runs if (r.arm, r.learning_rate, r.tokens) == (arm, rate, tokens)]
    if not runs:
        return None
    nats = np.stack([results.nats(run) for run in runs])
    return float(hosts.means(nats / (np.log(2) * results.held_out.bytes))[:, -1].mean())


# The gate.


def judge(found: Comparison, rule: DecisionRule) -> tuple[str, str]:
    """Return what a comparison means for a release: passed, failed or undecided, and why.

    It passes when the version is better, or when the macro interval shows that it is not worse by
    more than the margin; either way every guarded domain must be shown to stay within its margin.
    It fails when it is worse, or when a guarded domain regressed.
    """
    summary = f"{found.words}, {_interval(found)}"
    if found.verdict == WORSE or found.regressed:
        return FAILED, "; ".join([summary, *found.reasons])
    if found.unsafe:
        return UNDECIDED, "; ".join([summary, *found.reasons])
    if found.verdict == BETTER:
        return PASSED, summary
    if found.other and max(found.macro.high, found.other[-1].percent) < 100 * rule.margin:
        return PASSED, f"not worse by more than {rule.margin:.1%}: {summary}"
    return UNDECIDED, "; ".join([summary, *found.reasons])


def _interval(found: Comparison) -> str:
    macro = found.macro
    return f"macro {macro.percent:+.2f}% [{macro.low:+.2f}, {macro.high:+.2f}]"


@dataclass(frozen=True)
class Verdict:
    """What the gate `models` records of a comparison."""

    outcome: str
    message: str
    plan: str
    baseline: str
    more_seeds: int | None
    regressed: tuple[str, ...]
    unsafe: tuple[str, ...]
    notes: tuple[str, ...]
    intervals: list[list[Any]]


@dataclass(frozen=True, kw_only=True)
class Decided(Verdict):
    """A verdict, and what became of the version."""

    version: str
    state: str
    release: str

    def __str__(self) -> str:
        return f"models: {self.outcome}: {self.message}\n{self.release}"


def baseline_of(registry: Registry, recipe: Recipe, version: str) -> str | None:
    """Return the version that a recipe has a version compared with; None where there is none."""
    asked = recipe.evidence
    if asked is None or asked.baseline != PREVIOUS:
        return asked.baseline if asked is not None else None
    return previous_version(registry, recipe.name, version)


def decide_gate(registry: Registry, store: Store, version: str, results: Results) -> GateRow:
    """Write the gate `models` of a version, and its metrics, from the results of a plan."""
    row = registry.version(version)
    recipe, _ = load_published_recipe(store, row.recipe_digest)
    arm = results.arm_of(row.name)
    if arm is None or results.plan["arms"][arm]["manifest"] != row.manifest_sha256:
        raise EvidenceError(
            f"the plan has no arm with the manifest of {row.name}: plan a comparison with it"
        )
    compared = compare_results(results)
    found = compared.of(arm)
    outcome, message = judge(found, results.rule)
    asked = recipe.evidence
    baseline = results.plan["arms"][results.plan["baseline"]]["version"]
    problems = list(results.strays)
    wanted = baseline_of(registry, recipe, row.name)
    if asked is not None and wanted != baseline:
        problems.append(f"the plan's baseline is {baseline}, the recipe's {wanted}")
    if asked is not None and asked.gate.identity() != _plain(results.rule):
        problems.append("the plan has another rule than the recipe")
    if problems and outcome == PASSED:
        outcome, message = UNDECIDED, f"{'; '.join(problems)} ({message})"
    verdict = Verdict(
        outcome,
        message,
        results.digest,
        baseline,
        found.more_seeds,
        found.regressed,
        found.unsafe,
        compared.notes,
        interval_table(found, results.rule),
    )
    gate = GateRow(
        row.name,
        MODELS_GATE,
        outcome == PASSED,
        found.macro.percent,
        100 * results.rule.margin,
        asdict(verdict),
    )
    registry.put_gate(gate)
    factor = found.compute_factor
    metrics = [
        *(MetricRow(f"bpb_{d.domain}", d.bpb, version=row.name) for d in found.main),
        *(MetricRow(f"bpb_change_{d.domain}", d.percent, version=row.name) for d in found.main),
        *([] if factor is None else [MetricRow("compute_factor", factor.factor, version=row.name)]),
    ]
    registry.add_metrics(metrics)
    return gate


def interval_table(found: Comparison, rule: DecisionRule) -> list[list[Any]]:
    """Return the rows of a forest plot: domain, percent, low, high, margin."""
    margins = rule.margins([d.domain for d in found.main[:-1]])
    return [[d.domain, d.percent, d.low, d.high, margins.get(d.domain)] for d in found.main]


def _plain(rule: DecisionRule) -> dict[str, Any]:
    return {
        "margin": rule.margin,
        "confidence": rule.confidence,
        "must_not_regress": list(rule.must_not_regress),
        "unless": dict(rule.unless),
        "min_signal": rule.min_signal,
    }
