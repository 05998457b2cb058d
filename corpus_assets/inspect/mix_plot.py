"""A mix as a picture: an SVG file, or an HTML page with the tables beside it. No scripts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from catalog.cli.terminal import escape
from corpus_assets.core.errors import CorpusError
from corpus_assets.versions.pages import (
    BLUE,
    INK,
    LABEL,
    ORANGE,
    PALE,
    RED,
    WIDTH,
    page,
    svg_text,
    table,
    wide,
)

ROW = 34
TOP = 46


def write_plot(path: Path, mix: Mapping[str, Any]) -> None:
    """Write the chart of a mix, or of two where `mix` has `differences`."""
    chart = compared_chart(mix) if "differences" in mix else mix_chart(mix)
    text = chart if path.suffix == ".svg" else mix_page(mix, chart)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CorpusError(f"cannot write {path}: {error.strerror}") from error


def mix_chart(mix: Mapping[str, Any]) -> str:
    """Chart each group's share of the corpus and of the run; red beyond its epochs."""
    total = sum(row["tokens"] for row in mix["rows"]) or 1
    rows = [
        (
            row["group"],
            row["tokens"] / total,
            row["share"],
            f"{row['share']:.1%}, {row['epochs']:.2f} epochs",
            row["epochs"] > row["allowed"],
        )
        for row in mix["rows"]
    ]
    return _paired(mix["of"], rows, ("of the tokens there are", "of what the run sees"))


def compared_chart(mix: Mapping[str, Any]) -> str:
    """Chart each group's share before and after."""
    rows = [
        (
            row["group"],
            row["share"]["before"],
            row["share"]["after"],
            f"{row['share']['before']:.1%} to {row['share']['after']:.1%}, "
            f"{row['epochs']['after']:.2f} epochs",
            row["epochs"]["after"] > row["allowed"],
        )
        for row in mix["differences"]
    ]
    names = (mix["against"]["of"], mix["of"])
    return _paired("Share of the run's tokens", rows, names, (ORANGE, BLUE))


def mix_page(mix: Mapping[str, Any], chart: str) -> str:
    """Build the page of a chart with its numbers."""
    heads = ["group", "tokens", "drawn tokens", "share", "epochs", "allowed"]
    phases = [phase["name"] for phase in mix["phases"]]
    heads += [f"share in {name}" for name in phases] if len(phases) > 1 else []
    rows = [
        [
            row["group"],
            row["tokens"],
            row["drawn_tokens"],
            row["share"],
            row["epochs"],
            f"{row['allowed']:g}",
            *(row["phases"][name] for name in (phases if len(phases) > 1 else ())),
        ]
        for row in mix["rows"]
    ]
    run = table(("phase", "blocks", "tokens"), [list(phase.values()) for phase in mix["phases"]])
    if len(phases) == 2:
        run = _phases_chart(mix["rows"], (phases[0], phases[1])) + run
    problem = f'<p class="gone">{escape(mix["problem"])}</p>' if mix["problem"] else ""
    title = f"mix of {mix['of']}"
    return page(
        title,
        f"<h1>{escape(title)}</h1><p>A run of {mix['run_tokens']:,} "
        f"tokens in blocks of {mix['block_samples']:,} samples.</p>{problem}{wide(chart)}"
        f"<h2>Groups</h2>{table(heads, rows)}<h2>Phases</h2>{run}",
    )


def _phases_chart(rows: Sequence[Mapping[str, Any]], names: tuple[str, str]) -> str:
    """Chart each group's share of one phase and of the other."""
    pairs = [
        (
            row["group"],
            row["phases"][names[0]],
            row["phases"][names[1]],
            f"{row['phases'][names[0]]:.1%} to {row['phases'][names[1]]:.1%}",
            False,
        )
        for row in rows
    ]
    return _paired("Share of each phase", pairs, names, (PALE, ORANGE))


def _paired(
    title: str,
    rows: Sequence[tuple[str, float, float, str, bool]],
    names: tuple[str, str],
    colours: tuple[str, str] = (PALE, BLUE),
) -> str:
    """Draw two thin bars a row, above each other, on one scale."""
    top = max((max(first, second) for _, first, second, _, _ in rows), default=1.0) or 1.0
    room = WIDTH - LABEL - 225
    height = TOP + ROW * len(rows) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" font-family="system-ui,sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        svg_text(8, 17, title, size=14),
    ]
    for place, (name, colour) in enumerate(zip(names, colours, strict=True)):
        x = LABEL + place * 240
        parts.append(f'<rect x="{x}" y="26" width="11" height="11" rx="2" fill="{colour}"/>')
        parts.append(svg_text(x + 16, 36, name))
    for i, (label, first, second, text, is_over) in enumerate(rows):
        y = TOP + i * ROW
        parts.append(svg_text(LABEL - 8, y + 17, label, anchor="end"))
        for share, colour, offset in (
            (first, colours[0], 2),
            (second, RED if is_over else colours[1], 13),
        ):
            width = max(1.0, room * share / top) if share else 0.0
            parts.append(
                f'<rect x="{LABEL}" y="{y + offset}" width="{width:.1f}" height="10" rx="2" '
                f'fill="{colour}"/>'
            )
        end = LABEL + room * max(first, second) / top
        parts.append(svg_text(end + 7, y + 17, text, colour=RED if is_over else INK))
    return "".join(parts) + "</svg>\n"
