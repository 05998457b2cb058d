"""What a version must pass to be released, as rows of the catalog; nothing of it is in its files.

A version is published as a candidate with the outcome of each gate. `conservation`, `drift`,
`audit` and, where the recipe has some, `fallbacks` and `sample` are known then; `review` waits for
people, whose judgements decide it in the catalog; `models` waits for a comparison where the recipe
has an `evidence` section and there is a baseline (`evidence.gate` decides it), else it holds nothing
back and says `no evidence`. `not_empty` is there only where takedowns removed the last document:
other empty versions are not published. Whoever releases looks at these rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from catalog.db import GATES, NOT_MEASURED, REVIEW, GateRow, Registry, ShardRow, decide
from catalog.errors import NotReleased
from corpus_assets.graph import CheckOutcome, Pipeline, check_version, tokenizer_checks
from corpus_assets.versions.drift import drift_checks
from corpus_loader import Manifest

MODELS_GATE = "models"
FALLBACKS = "fallbacks"
SAMPLE = "sample"
UNASKED = "small models compared it with no other version"
FIRST = "it is the first version of its recipe, which later ones are compared with"
PREVIOUS = "previous"
"""As a baseline: the newest released version of the same recipe."""
EMPTY = "takedowns removed its last document"
INHERITED_SHARE = 0.001
"""A version that takedowns changed by less than this share of tokens inherits the verdict."""


def version_gates(
    pipeline: Pipeline,
    registry: Registry,
    version: str,
    manifest: Manifest,
    replaces: Sequence[str] = (),
) -> list[GateRow]:
    """Return how the gates of a version come out when it is published."""
    settings, asked = pipeline.recipe.gate, pipeline.recipe.evidence
    found = [_gate(version, "conservation", [check_version(pipeline, manifest)])]
    if settings.drift != "off":
        drift = [
            outcome
            for snapshot in pipeline.recipe.snapshots
            for outcome in drift_checks(pipeline, snapshot)
        ]
        counted = [o for o in drift if settings.drift == "warnings" or not o.is_warning]
        found.append(_gate(version, "drift", counted, "no snapshot differs much from earlier ones"))
    found.append(_audit_gate(pipeline, version))
    if settings.review is not None:
        rule = settings.review
        empty = GateRow(version, REVIEW, False, None, rule.max_disagreement,
                        {"min_judged": rule.min_judged})  # fmt: skip
        found.append(decide(empty, ()))  # recounted at every judgement
    fallbacks = pipeline.recipe.fallbacks_in_use()
    if fallbacks:
        found.append(_fallbacks(version, fallbacks))
    if share := pipeline.recipe.documents.gates.sample_share:
        found.append(_sample(version, share))
    baseline, detail = None, {"outcome": GateRow.NO_EVIDENCE, "message": UNASKED}
    if asked is not None:
        baseline = asked.baseline
        if baseline == PREVIOUS:
            baseline = previous_version(registry, pipeline.recipe.name, version, replaces)
            detail["message"] = FIRST
    if baseline is not None:
        message = f"not compared with {baseline} yet: `corpus evidence gate {version}`"
        detail = {"outcome": "undecided", "message": message, "baseline": baseline}
    if not any(group.documents for group in manifest.groups):  # see `publish`
        found.append(_gate(version, "not_empty", [CheckOutcome("not_empty", False, EMPTY)]))
    return [*found, GateRow(version, MODELS_GATE, baseline is None, detail=detail)]


def previous_version(
    registry: Registry, recipe: str, version: str, replaces: Sequence[str] = ()
) -> str | None:
    """Return the newest released version of a recipe of that name, other than those that a version
    takes the place of, and older than it where it is published."""
    found = None
    for row in registry.versions():
        if row.name == version:
            break
        is_other = row.name not in replaces and row.state == "released"
        if is_other and registry.recipe(row.recipe_digest).name == recipe:
            found = row.name
    return found


def _audit_gate(pipeline: Pipeline, version: str) -> GateRow:
    """A tokenizer that a lock brings, after a takedown say, comes without the text that it was
    measured on. That closes nothing, and is no measurement either."""
    audit, *_ = tokenizer_checks(pipeline)
    gate = _gate(version, "audit", [] if audit.is_warning else [audit], audit.message)
    if gate.passed and not audit.numbers["held_out_documents"]:
        return replace(gate, detail={**gate.detail, "outcome": NOT_MEASURED})
    return gate


def _fallbacks(version: str, used: Mapping[str, str]) -> GateRow:
    """Hold back a version that was made without models that its recipe is known by."""
    named = ", ".join(f"{name} (for {models})" for name, models in sorted(used.items()))
    message = (
        f"built with fallbacks: {named}; install the models and build without --fallbacks, or "
        f"release it as it is: `catalog release {version} --override REASON`"
    )
    detail = {"outcome": "failed", "message": message}
    return GateRow(version, FALLBACKS, False, detail=detail)


def _sample(version: str, share: float) -> GateRow:
    """Hold back a version that has only a sample of its sources."""
    message = f"made of a sample, {share:.3g} of the records; build without `sample_share`"
    return GateRow(version, SAMPLE, False, detail={"outcome": "failed", "message": message})


def _gate(
    version: str, name: str, outcomes: Iterable[CheckOutcome], otherwise: str = ""
) -> GateRow:
    listed = list(outcomes)
    failed = [outcome.message for outcome in listed if not outcome.passed]
    message = "; ".join(failed) or otherwise or "; ".join(o.message for o in listed)
    detail = {"outcome": "failed" if failed else "passed", "message": message}
    return GateRow(version, name, not failed, detail=detail)


def release_if_passed(registry: Registry, version: str, replaces: Sequence[str] = ()) -> str:
    """Release a candidate whose gates have passed; return a sentence on what became of it.

    A version that takes the place of others after takedowns inherits their release where less than
    0.1% of tokens changed. It stays a candidate where one of them was.
    """
    row = registry.version(version)
    if row.state != "candidate":
        return f"version {version} is {row.state}"
    for name in replaces:
        old = registry.version(name)
        if old.released_at is None:
            return f"version {version} is a candidate, as {name} was"
        share = _changed(registry.version_shards(name), registry.version_shards(version))
        if share < INHERITED_SHARE:
            verdict = f"inherits the verdict of {name}: {share:.3%} of tokens changed"
            for gate in registry.gates(name):
                if gate.name == MODELS_GATE:
                    detail = {**gate.detail, "message": verdict, "inherits": name}
                    registry.put_gate(
                        GateRow(
                            version, MODELS_GATE, gate.passed, gate.value, gate.threshold, detail
                        )
                    )
            reason = f"{verdict} ({old.release_reason})"
            registry.release_version(version, GATES, reason, override=True)
            return f"version {version} is released: it {verdict}"
    gates = registry.gates(version)
    passed = [g.name for g in gates if g.outcome == "passed"]
    outcomes = f"passed {', '.join(passed)}"
    for gate in gates:
        if gate.outcome == GateRow.NO_EVIDENCE:
            outcomes += f"; {GateRow.NO_EVIDENCE}: {gate.message}"
        elif gate.outcome == NOT_MEASURED:
            outcomes += f"; {gate.name} was {NOT_MEASURED}"
    try:
        registry.release_version(version, GATES, outcomes)
    except NotReleased as error:
        return str(error)
    return f"version {version} is released: {outcomes}"


def _changed(before: Sequence[ShardRow], after: Sequence[ShardRow]) -> float:
    """Return by what share of its tokens a version grew or shrank, summed over groups: a copy that
    is promoted in a page's place counts by its difference in length."""
    groups: dict[str, int] = {}
    for sign, rows in ((-1, before), (1, after)):
        for row in rows:
            groups[row.group_id] = groups.get(row.group_id, 0) + sign * row.tokens
    return sum(map(abs, groups.values())) / max(sum(row.tokens for row in before), 1)
