"""A mix as a picture: an SVG file, or an HTML page with the tables beside it. No scripts."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from catalog.pages import Pair, charts, render
from corpus_assets.core.errors import CorpusError
from corpus_assets.inspect.mix import MixAnswer, MixComparison
from corpus_assets.shards import MixRow

TEMPLATE = Path(__file__).parent / "templates" / "mix.html"
GROUP_COLOURS, PHASE_COLOURS = ("grey", "blue"), ("grey", "orange")
COMPARED_COLOURS = ("orange", "blue")


def write_plot(path: Path, mix: MixAnswer) -> None:
    """Write the chart of a mix, or of two that are compared."""
    chart = compared_chart(mix) if isinstance(mix, MixComparison) else mix_chart(mix)
    text = charts.standalone(chart) if path.suffix == ".svg" else mix_page(mix, chart)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CorpusError(f"cannot write {path}: {error.strerror}") from error


def mix_chart(mix: MixAnswer) -> Markup:
    """Chart each group's share of the corpus and of the run; red beyond its epochs."""
    total = sum(row.tokens for row in mix.rows) or 1
    rows = [
        Pair(
            row.group,
            row.tokens / total,
            row.share,
            f"{row.share:.1%}, {row.epochs:.2f} epochs",
            row.epochs > row.allowed,
        )
        for row in mix.rows
    ]
    names = ("of the tokens there are", "of what the run sees")
    return charts.pairs(rows, names, mix.of, GROUP_COLOURS)


def compared_chart(mix: MixComparison) -> Markup:
    """Chart each group's share before and after."""
    rows = [
        Pair(
            row.group,
            row.share.before,
            row.share.after,
            f"{row.share.before:.1%} to {row.share.after:.1%}, {row.epochs.after:.2f} epochs",
            row.epochs.after > row.allowed,
        )
        for row in mix.differences
    ]
    return charts.pairs(
        rows, (mix.against.of, mix.of), "Share of the run's tokens", COMPARED_COLOURS
    )


def mix_page(mix: MixAnswer, chart: Markup) -> str:
    """Make the page of a chart with its numbers."""
    heads = ["group", "tokens", "drawn tokens", "share", "epochs", "allowed"]
    phases = [phase.name for phase in mix.phases]
    several = phases if len(phases) > 1 else []
    rows = [
        [
            row.group,
            row.tokens,
            row.drawn_tokens,
            row.share,
            row.epochs,
            f"{row.allowed:g}",
            *(row.phases[name] for name in several),
        ]
        for row in mix.rows
    ]
    return render(
        TEMPLATE,
        mix=mix,
        chart=chart,
        heads=heads + [f"share in {name}" for name in several],
        rows=rows,
        phases=[(phase.name, phase.blocks, phase.tokens) for phase in mix.phases],
        shares=[
            (each.key, each.asked, each.got, each.missing_tokens, each.problem or "")
            for each in mix.shares
        ],
        phases_chart=_phases_chart(mix.rows, (phases[0], phases[1])) if len(phases) == 2 else "",
    )


def _phases_chart(rows: Sequence[MixRow], names: tuple[str, str]) -> Markup:
    """Chart each group's share of one phase and of the other."""
    first, second = names
    pairs = [
        Pair(
            row.group,
            row.phases[first],
            row.phases[second],
            f"{row.phases[first]:.1%} to {row.phases[second]:.1%}",
        )
        for row in rows
    ]
    return charts.pairs(pairs, names, "Share of each phase", PHASE_COLOURS)
