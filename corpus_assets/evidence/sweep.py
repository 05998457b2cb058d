"""Sweeps: candidates made by other values of recipe keys, compared until one value is chosen.

1. Each value is a candidate version, built from what is cached. One that would have text read again
   is refused, with what that costs, unless it is asked for.
2. The plan of a sweep has every arm, all rounds of seeds and the rule, before the first run.
3. A round is packed and run like any plan, for the arms that nothing was decided against (`halving`).
4. What the last look chose is a proposal, kept for the reports of later versions:

    evidence/choices/PLAN.json     `Chosen`: by key, what was compared and what came of it
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from catalog.answers import in_json
from catalog.db import Registry, VersionRow, timestamp
from catalog.formats.canonical import canonical_text, changed_keys, digest
from catalog.formats.names import check_name
from corpus_assets.build import build
from corpus_assets.core.errors import CorpusError, EvidenceError
from corpus_assets.core.home import Home
from corpus_assets.core.progress import Progress
from corpus_assets.core.store import Store
from corpus_assets.evidence.compare import Hosts
from corpus_assets.evidence.gate import Results, stored_results
from corpus_assets.evidence.halving import BETTER, Outcome, Point, Standing, rounds_of, standing
from corpus_assets.evidence.home import pin, train_missing
from corpus_assets.evidence.plan import Choice, Plan, Sweep
from corpus_assets.graph import EngineChoice
from corpus_assets.inspect import text_to_read
from corpus_assets.recipe import EvidenceSettings, Recipe, Runs, value_at
from corpus_assets.session import Session, open_session
from corpus_assets.versions import load_published_recipe, published_manifest

CHOICES = "evidence/choices"
PRESENT = "present"
RECIPE = "recipe"  # the key of arms that are recipe files
FORMAT = "corpus-evidence-choice/1"
LEAST_RATES = 2

Asked = tuple[str, Choice | None, str, dict[str, Any]]
"""An arm that is asked for: its name, the value it stands for, recipe and overrides."""


def parse_values(given: Iterable[str]) -> dict[str, list[Any]]:
    """Read KEY=VALUE,VALUE...: values in YAML, several keys one after the other."""
    found: dict[str, list[Any]] = {}
    for one in given:
        key, equals, written = one.partition("=")
        try:
            values = yaml.safe_load(f"[{written}]")
        except yaml.YAMLError as error:
            raise EvidenceError(f"{one}: the values are not valid YAML") from error
        if not equals or not key or not values:
            raise EvidenceError(f"{one}: expected KEY=VALUE,VALUE, for example seed=7,8")
        if key.split(".")[0] in ("tokenizer", "evidence", "name"):
            raise EvidenceError(
                f"{key} cannot be swept: all arms are read with one tokenizer, and measured alike"
            )
        found.setdefault(key, []).extend(values)
    return found


def plan_sweep(
    home: Home,
    recipe: str,
    asked: Mapping[str, Sequence[Any]],
    overrides: Mapping[str, Any],
    seeds: int,
    *,
    recompute: bool,
    engine: EngineChoice,
    progress: Progress,
) -> Plan:
    """Build the candidates that are missing, and pin the comparison of all of them.

    Refused are values under which text would be read again, unless `recompute` allows it; nothing
    is built before all are known.
    """
    arms: list[Asked] = [(PRESENT, None, recipe, dict(overrides))]
    with open_session(recipe, home, overrides=overrides) as session:
        own = session.pipeline.recipe
        store, registry = session.pipeline.store, session.registry
        folder = session.pipeline.locations
    settings = _settings(own)
    present = tuple(Choice(key=key, value=_present(own, key)) for key in asked)
    taken = {PRESENT}
    for was in present:
        for value in asked[was.key]:
            if _same(value, was.value):
                continue
            file = str(value) if was.key == RECIPE else recipe
            changes = dict(overrides) | ({} if was.key == RECIPE else {was.key: value})
            asked_for = Choice(key=was.key, value=value)
            arms.append((_arm_name(asked_for, taken), asked_for, file, changes))
    if len(arms) < 2:
        raise EvidenceError("every value is that of the recipe as it is: give others")
    _refuse_text(home, arms, recompute)
    versions, choices, contents = dict[str, str](), dict[str, Choice](), dict[str, str]()
    for name, choice, file, changes in arms:
        with open_session(
            file, home, overrides=changes, progress=progress, engine=engine
        ) as session:
            row = _known(registry, session) or _built(session)
        told = _content(store, row)
        if choice is not None and told in contents:
            progress.log(f"{name} is left out: it gives the corpus of {contents[told]}")
            continue
        versions[name], contents[told] = row.name, name
        if choice is not None:
            choices[name] = choice
    if not choices:
        raise EvidenceError("no value changes the corpus: there is nothing to compare")
    runs = Runs.model_validate(
        settings.model_dump(include=set(Runs.model_fields))
        | {"seeds": tuple(range(1, seeds + 1)), "budgets": ()}
    )
    sweep = Sweep(
        recipe=own.name,
        recipe_digest=own.digest,
        present=tuple(p for p in present if p.key in {c.key for c in choices.values()}),
        choices=choices,
        rounds=rounds_of(runs.seeds),
    )
    heldout = Path(folder.resolve(settings.heldout or ""))
    return pin(store, registry, runs, PRESENT, versions, heldout, settings.gate, "the sweep", sweep)


def _settings(recipe: Recipe) -> EvidenceSettings:
    asked = recipe.evidence
    if asked is None or asked.heldout is None:
        raise EvidenceError(
            f"recipe {recipe.name} does not say what small models are asked: set "
            "`evidence.heldout` (and `evidence.proxy`), in the recipe or with --set"
        )
    if len(asked.learning_rates) < LEAST_RATES:
        raise EvidenceError(
            "one learning rate decides nothing: name two in evidence.learning_rates"
        )
    return asked


def _present(recipe: Recipe, key: str) -> Any:
    return recipe.name if key == RECIPE else value_at(recipe, key)


def _same(one: Any, other: Any) -> bool:
    return canonical_text({"value": one}) == canonical_text({"value": other})


def _arm_name(choice: Choice, taken: set[str]) -> str:
    """Name an arm by the last step of its key and its value."""
    last = choice.key.rpartition(".")[2]
    value = Path(str(choice.value)).stem if choice.key == RECIPE else str(choice.value)
    name = re.sub(r"[^a-z0-9.]+", "-", f"{last}-{value}".lower())[:50]
    name = re.sub(r"\.{2,}", ".", name).strip("-.")
    number, found = 2, name
    while found in taken:
        number, found = number + 1, f"{name}-{number}"
    taken.add(found)
    return check_name("arm", found)


def _refuse_text(home: Home, arms: Sequence[Asked], recompute: bool) -> None:
    told = []
    for name, _, file, changes in arms:
        with open_session(file, home, overrides=changes) as session:
            if not recompute and _known(session.registry, session) is None:
                reads = text_to_read(session.pipeline, session.registry)
                if reads:
                    told.append(f"{name}: {', '.join(map(str, reads))}")
    if told and told[0].startswith(f"{PRESENT}:"):
        raise EvidenceError(
            f"the recipe as it is has not been built here ({told[0]}): run `corpus build` first"
        )
    if told:
        raise EvidenceError(
            f"text would be read again for {'; '.join(told)}. Leave these values out, or allow it "
            "with --recompute"
        )


def _known(registry: Registry, session: Session) -> VersionRow | None:
    """Return the newest live version of a recipe."""
    wanted = session.pipeline.recipe.digest
    found = [r for r in registry.versions() if r.status == "live" and r.recipe_digest == wanted]
    return found[-1] if found else None


def _built(session: Session) -> VersionRow:
    """Build a version that stays a candidate."""
    made = build(session, release=False)
    return session.registry.version(made.name)


def _content(store: Store, row: VersionRow) -> str:
    """Return a digest of all that a version gives a model."""
    manifest = published_manifest(store, row)
    return digest(
        [[asdict(g) for g in manifest.groups], [asdict(p) for p in manifest.phases],
         manifest.tokenizer.sha256]
    )  # fmt: skip


# Rounds.


def sweep_results(store: Store, plan: Plan) -> Results | None:
    """Return the results of a sweep that are in the store; None before the first run."""
    found = stored_results(store, plan.digest())
    return found[0] if found and found[0].runs else None


def sweep_standing(store: Store, plan: Plan) -> Standing:
    """Return where a sweep is, by the results in the store."""
    sweep = expect_sweep(plan)
    results = sweep_results(store, plan)
    scores = {
        arm: [results.scores(arm, rate, plan.proxy.tokens) for rate in plan.learning_rates[:2]]
        for arm in (plan.arms if results is not None else ())
        if results is not None
    }
    hosts = None if results is None else Hosts(results.held_out)
    rule = Results(plan.identity(), "", (), ()).rule
    return standing(hosts, scores, sweep.families(plan.baseline), sweep.rounds, rule)


def expect_sweep(plan: Plan) -> Sweep:
    """Return what a plan sweeps."""
    if plan.sweep is None:
        raise EvidenceError("the plan is that of a comparison, not of a sweep")
    return plan.sweep


def open_round(store: Store, plan: Plan) -> Mapping[str, tuple[int, ...]] | None:
    """Return what a pack of a plan has: of a sweep, the seeds and arms of its open round that have
    results at all learning rates yet to come; None for all of another plan."""
    if plan.sweep is None:
        return None
    wanted = sweep_standing(store, plan).wanted
    if not wanted:
        raise EvidenceError(
            "the sweep has no round left to run: `corpus evidence sweep --plan` shows it"
        )
    results = sweep_results(store, plan)
    done: dict[tuple[str, int], int] = {}
    for run in results.runs if results is not None else ():
        done[run.arm, run.seed] = done.get((run.arm, run.seed), 0) + 1
    rates = len(plan.learning_rates)
    left = {
        arm: tuple(seed for seed in seeds if done.get((arm, seed), 0) < rates)
        for arm, seeds in wanted.items()
    }
    return {arm: seeds for arm, seeds in left.items() if seeds}


def train_rounds(
    home: Home,
    store: Store,
    registry: Registry,
    plan: Plan,
    say: Callable[[str], None],
    engine: EngineChoice | None = None,
) -> None:
    """Train round after round as `train_missing` does, until the sweep is at its end."""
    while sweep_standing(store, plan).wanted:
        train_missing(home, store, registry, plan, say, open_round(store, plan), engine)


# What it chose.


@dataclass(frozen=True)
class ValueResult:
    """One value of a key, against the present one."""

    value: Any
    version: str
    percent: float | None  # of bits per byte; None for the present value, and without a look
    low: float | None
    high: float | None
    seeds: int
    state: str


@dataclass(frozen=True)
class KeyResult:
    """What a sweep says of a key."""

    key: str
    present: Any
    chosen: Any
    verdict: str
    values: list[ValueResult]
    left: list[Any]  # not decided against
    reasons: list[str]

    @property
    @in_json
    def change(self) -> str | None:
        """The change of the recipe, to copy; None where the present value stays."""
        if self.verdict != BETTER:
            return None
        if self.key == RECIPE:
            return f"use the recipe {self.chosen}"
        return f"--set '{self.key}={yaml_line(self.chosen)}'"


def yaml_line(value: Any) -> str:
    """Write a value as YAML in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def key_results(plan: Plan, found: Standing) -> list[KeyResult]:
    """Return what is known of each key, with its values in place of its arms."""
    sweep = expect_sweep(plan)
    values: dict[str, Any] = {arm: choice.value for arm, choice in sweep.choices.items()}
    answers = []
    for was in sweep.present:
        outcome = found.outcomes[was.key]
        named = values | {plan.baseline: was.value}
        own = {arm: yaml_line(named[arm]) for arm in (p.arm for p in outcome.points)}
        answers.append(
            KeyResult(
                was.key,
                was.value,
                named[outcome.chosen],
                outcome.verdict,
                [_value(plan, p, named, own) for p in _ordered(outcome, named)],
                [named[arm] for arm in outcome.left],
                [_spelled(reason, own) for reason in outcome.reasons],
            )
        )
    return answers


def _ordered(outcome: Outcome, values: Mapping[str, Any]) -> list[Point]:
    """Numbers by size, else the present value and the others as they were given."""
    if all(_is_number(values[p.arm]) for p in outcome.points):
        return sorted(outcome.points, key=lambda p: float(values[p.arm]))
    return list(outcome.points)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(
    plan: Plan, point: Point, values: Mapping[str, Any], own: Mapping[str, str]
) -> ValueResult:
    macro = point.against_present[-1] if point.against_present else None
    state = PRESENT if point.arm == plan.baseline else "left"
    if point.beaten_by is not None:
        state = f"worse than {own[point.beaten_by]}, round {point.look}"
    return ValueResult(
        values[point.arm],
        plan.arms[point.arm].version,
        None if macro is None else macro.percent,
        None if macro is None else macro.low,
        None if macro is None else macro.high,
        0 if macro is None else macro.seeds,
        state,
    )


def _spelled(reason: str, own: Mapping[str, str]) -> str:
    """Write values in place of arms."""
    for arm in sorted(own, key=len, reverse=True):
        if arm != PRESENT:
            reason = reason.replace(arm, own[arm])
    return reason


@dataclass(frozen=True)
class Chosen:
    """What a finished sweep said, and when."""

    plan: str
    recipe: str
    recipe_digest: str
    decided_at: str
    confidence: float
    keys: list[KeyResult]


def keep_choices(store: Store, plan: Plan, found: Standing) -> Chosen:
    """Keep what a finished sweep chose; the first time counts."""
    path = f"{CHOICES}/{plan.digest()}.json"
    if not store.exists(path):
        sweep = expect_sweep(plan)
        chosen = Chosen(
            plan.digest(), sweep.recipe, sweep.recipe_digest, timestamp(), plan.rule.confidence,
            key_results(plan, found),
        )  # fmt: skip
        body = json.dumps({"format": FORMAT, **asdict(chosen)}, indent=1, sort_keys=True)
        store.write(path, body.encode() + b"\n")
    return parse_choices(store.read(path), path)


def parse_choices(data: bytes, name: str) -> Chosen:
    """Read what `keep_choices` wrote."""
    try:
        body = json.loads(data)
        if body.pop("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        keys = [
            KeyResult(**key | {"values": [ValueResult(**one) for one in key["values"]]})
            for key in body.pop("keys")
        ]
        return Chosen(**body, keys=keys)
    except (ValueError, KeyError, TypeError) as error:
        raise EvidenceError(f"{name} is not a sweep's result ({error}); delete it") from error


@dataclass(frozen=True)
class Rests:
    """A choice of a version's recipe, and the evidence for it."""

    key: str
    value: Any
    verdict: str
    plan: str
    decided_at: str
    other_keys: int | None  # in which the recipe differs from the one that was swept


def choices_of(store: Store, recipe: Recipe) -> list[Rests]:
    """List the keys of a recipe that a sweep of a recipe of its name has measured, the newest sweep
    of each."""
    chosen = [parse_choices(store.read(path), path) for path in store.list(CHOICES)]
    found: dict[str, Rests] = {}
    for one in sorted(chosen, key=lambda c: c.decided_at, reverse=True):
        if one.recipe != recipe.name:
            continue
        for key in one.keys:
            if key.key == RECIPE or key.key in found:
                continue
            value = value_at(recipe, key.key)
            words = _standing_of(value, key, one.confidence)
            others = _other_keys(store, recipe, one, key.key)
            found[key.key] = Rests(key.key, value, words, one.plan, one.decided_at, others)
    return [found[key] for key in sorted(found)]


def _standing_of(value: Any, key: KeyResult, confidence: float) -> str:
    """Say what a sweep found of a value that a recipe has."""
    own = next((one for one in key.values if _same(one.value, value)), None)
    if own is None:
        measured = ", ".join(yaml_line(one.value) for one in key.values)
        return f"not measured; these were: {measured}"
    if own.state.startswith("worse"):
        return own.state
    others = [yaml_line(one) for one in key.left if not _same(one, value)]
    if others:
        return f"not told apart from {', '.join(others)}"
    return f"best of {len(key.values)} values at {confidence:.0%} confidence"


def _other_keys(store: Store, recipe: Recipe, chosen: Chosen, key: str) -> int | None:
    try:
        swept, _ = load_published_recipe(store, chosen.recipe_digest)
    except CorpusError:  # the version that was swept is gone, and its recipe with it
        return None
    differing = changed_keys(swept.model_dump(mode="json"), recipe.model_dump(mode="json"))
    return sum(
        not (change.key == key or change.key.startswith(f"{key}.") or _is_of_evidence(change.key))
        for change in differing
    )


def _is_of_evidence(key: str) -> bool:
    return key.partition(".")[0] == "evidence"


def next_steps(plan: Plan) -> Iterator[str]:
    """Say how the open round is run elsewhere."""
    short = plan.digest()[:16]
    yield f"corpus evidence pack PACK --plan {short}"
    yield "python PACK/run.py     # on a machine with a GPU"
    yield "corpus evidence import PACK"
    yield f"corpus evidence sweep --plan {short}"
