"""Comparisons as a page: forest plot, loss curves, dose and response."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from catalog.db import GateRow
from catalog.pages import Section, charts, render
from corpus_assets.core.store import Store
from corpus_assets.evidence.compare import Comparison, Difference
from corpus_assets.evidence.gate import Compared, Results, interval_table, stored_results
from corpus_assets.evidence.results import Run

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
