"""Comparisons as a page: forest plot, loss curves, dose and response."""

from collections.abc import Sequence

from catalog.cli.terminal import escape
from catalog.db.rows import GateRow
from corpus_assets.core.store import Store
from corpus_assets.evidence.compare import Difference
from corpus_assets.evidence.gate import Compared, Results, interval_table, stored_results
from corpus_assets.evidence.results import Run
from corpus_assets.versions.pages import forest_plot, line_chart, page, table, wide


def evidence_page(results: Results, compared: Compared) -> str:
    """Return one HTML page that needs nothing else."""
    parts = [f"<h1>Evidence</h1><p>Plan <code>{escape(results.digest)}</code></p>"]
    for found in compared.comparisons:
        factor = compared.factors[found.arm]
        worth = f", {factor.factor:.2f} times the compute" if factor is not None else ""
        parts.append(f"<h2>{escape(found.arm)} against {escape(found.baseline)}</h2>")
        parts.append(f"<p><b>{escape(found.words)}</b>{worth}</p>")
        parts.append(wide(forest_plot(interval_table(found, results.rule))))
        parts += [f"<p>{escape(reason)}</p>" for reason in found.reasons]
        parts.append(_numbers(found.main))
    parts.append("<h2>Training loss</h2>" + wide(loss_curves(results.runs)))
    parts += [f"<p>{escape(note)}</p>" for note in compared.notes]
    return page("Evidence", "".join(parts))


def gates_section(store: Store, gates: Sequence[GateRow]) -> tuple[str, str]:
    """Return a section of a report: how the gates of a version came out, and where small models
    decided, their differences and losses."""
    rows = [(gate.name, gate.outcome, gate.detail.get("message", "")) for gate in gates]
    parts = [table(("gate", "outcome", "said"), rows)] if rows else []
    for gate in gates:
        if "intervals" not in gate.detail:
            continue
        parts.append(f"<h3>Against {escape(gate.detail['baseline'])}</h3>")
        parts.append(wide(forest_plot(gate.detail["intervals"])))
        for results in stored_results(store, gate.detail["plan"]):
            parts.append("<h3>Training loss</h3>" + wide(loss_curves(results.runs)))
    return "Gates", "".join(parts)


def loss_curves(runs: Sequence[Run]) -> str:
    """Draw nats per token over tokens: one line a run, one colour an arm."""
    lines = [(run.arm, [(float(x), float(y)) for x, y in run.curve]) for run in runs if run.curve]
    return line_chart(lines, "tokens", "nats per token")


def dose_response(arms: Sequence[tuple[str, Sequence[tuple[float, Difference]]]]) -> str:
    """Draw differences over doses: (what was planted, [(share of tokens, difference)])."""
    lines = [(name, [(dose, found.percent) for dose, found in doses]) for name, doses in arms]
    return line_chart(lines, "share of tokens replaced", "percent of bits per byte")


def _numbers(differences: Sequence[Difference]) -> str:
    rows = [(d.domain, d.baseline_bpb, d.bpb, d.percent, d.low, d.high) for d in differences]
    return table(("domain", "baseline bpb", "bpb", "percent", "low", "high"), rows)
