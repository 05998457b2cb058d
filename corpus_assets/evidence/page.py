"""Comparisons as a page: forest plot, loss curves, dose and response."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from markupsafe import Markup

from catalog.db import GateRow
from catalog.pages import Section, charts, render
from corpus_assets.core.store import Store
from corpus_assets.evidence.compare import Comparison, Difference
from corpus_assets.evidence.gate import Compared, Results, interval_table, stored_results
from corpus_assets.evidence.halving import Standing
from corpus_assets.evidence.plan import Plan
from corpus_assets.evidence.results import Run
from corpus_assets.evidence.sweep import PRESENT, KeyResult, choices_of, key_results, yaml_line
from corpus_assets.recipe import Recipe

TEMPLATES = Path(__file__).with_name("templates")


def evidence_page(results: Results, compared: Compared) -> str:
    """Return one HTML page that needs nothing else."""
    by_value = sorted(compared.comparisons, key=lambda one: one.macro.percent)
    return render(
        TEMPLATES / "evidence.html",
        plan=results.digest,
        comparisons=[_compared(results, compared, found) for found in compared.comparisons],
        values=[[c.arm, c.macro.percent, c.macro.low, c.macro.high, None] for c in by_value],
        losses=loss_curves(results.runs),
        notes=compared.notes,
    )


def _compared(results: Results, compared: Compared, found: Comparison) -> dict[str, object]:
    factor = found.compute_factor
    return {
        "arm": found.arm,
        "baseline": found.baseline,
        "words": found.words,
        "factor": factor.factor if factor is not None else None,
        "intervals": interval_table(found, results.rule),
        "reasons": found.reasons,
        "tasks": [
            (d.domain, 100 * d.baseline_bpb, 100 * d.bpb, d.percent, d.low, d.high)
            for d in found.accuracy
        ],
        "rows": [(d.domain, d.baseline_bpb, d.bpb, d.percent, d.low, d.high) for d in found.main],
    }


def sweep_page(plan: Plan, found: Standing, runs: Sequence[Run]) -> str:
    """Return one HTML page of a sweep: a response curve for each key."""
    return render(
        TEMPLATES / "sweep.html",
        plan=plan.digest(),
        sweep=plan.sweep,
        looks=found.looks,
        confidence=plan.rule.confidence,
        keys=[(_key(one), _curve(one)) for one in key_results(plan, found)],
        losses=loss_curves(runs),
    )


def _key(found: KeyResult) -> dict[str, object]:
    rows = [
        (yaml_line(v.value), v.version, v.percent, v.low, v.high, v.seeds, v.state)
        for v in found.values
    ]
    return {"key": found.key, "verdict": found.verdict, "change": found.change,
            "reasons": found.reasons, "rows": rows}  # fmt: skip


def _curve(found: KeyResult) -> Markup:
    """Draw numbers as a curve, other values below each other."""
    seen = [
        (v.value, v.percent or 0.0, v.low or 0.0, v.high or 0.0, v.state)
        for v in found.values
        if v.percent is not None or v.state == PRESENT
    ]
    title = f"{found.key}: difference from the present value"
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v, *_ in seen):
        points = [
            (float(v), value, low, high, "orange" if state.startswith("worse") else "blue")
            for v, value, low, high, state in seen
        ]
        return charts.response(points, found.key, "percent of bits per byte", title)
    rows = [(yaml_line(v), value, low, high, None) for v, value, low, high, _ in seen]
    return charts.forest(rows, title)


def choices_section(store: Store, recipe: Recipe, now: datetime | None = None) -> Section:
    """Return a section of a report: which keys of a version's recipe rest on evidence, and how old
    it is."""
    today = now or datetime.now(UTC)
    rows = [
        (one.key, yaml_line(one.value), one.verdict, one.plan[:16], one.decided_at[:10],
         (today - datetime.fromisoformat(one.decided_at)).days,
         "unknown" if one.other_keys is None else one.other_keys)
        for one in choices_of(store, recipe)
    ]  # fmt: skip
    return Section(
        "Choices that rest on evidence", render(TEMPLATES / "choices.html", choices=rows)
    )


def gates_section(store: Store, gates: Sequence[GateRow]) -> Section:
    """Return a section of a report: how the gates of a version came out, and where small models
    decided, their differences and losses."""
    compared = [
        {
            "baseline": gate.detail["baseline"],
            "intervals": gate.detail["intervals"],
            "losses": [loss_curves(r.runs) for r in stored_results(store, gate.detail["plan"])],
        }
        for gate in gates
        if "intervals" in gate.detail
    ]
    rows = [(gate.name, gate.outcome, gate.detail.get("message", "")) for gate in gates]
    body = render(TEMPLATES / "gates.html", gates=rows, compared=compared) if rows else Markup()
    return Section("Gates", body)


def loss_curves(runs: Sequence[Run]) -> Markup:
    """Draw nats per token over tokens: one line a run, one colour an arm."""
    lines = [(run.arm, [(float(x), float(y)) for x, y in run.curve]) for run in runs if run.curve]
    return charts.lines(lines, "tokens", "nats per token", "Training loss of each run")


def dose_response(arms: Sequence[tuple[str, Sequence[tuple[float, Difference]]]]) -> Markup:
    """Draw differences over doses: (what was planted, [(share of tokens, difference)])."""
    lines = [(name, [(dose, found.percent) for dose, found in doses]) for name, doses in arms]
    axes = ("share of tokens replaced", "percent of bits per byte")
    return charts.lines(lines, *axes, "Difference by what was planted")
