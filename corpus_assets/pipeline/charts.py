"""Small charts as inline SVG: no scripts, no fonts, no network, equal data gives equal bytes."""

from collections.abc import Sequence
from html import escape

WIDTH = 760
LABEL = 250
ROW = 24
INK = "#1d2733"
BLUE = "#2f6fb0"
PALE = "#c9d8e8"


def horizontal_bars(rows: Sequence[tuple[str, float, str]], colour: str = BLUE) -> str:
    """One bar a row: (label, value, text behind the bar)."""
    if not rows:
        return "<p>Nothing to show.</p>"
    top = max(value for _, value, _ in rows) or 1.0
    room = WIDTH - LABEL - 150
    parts = [_open(ROW * len(rows) + 6)]
    for i, (label, value, text) in enumerate(rows):
        y = i * ROW + 4
        width = max(1.0, room * value / top) if value else 0.0
        parts.append(_text(LABEL - 8, y + 14, label, anchor="end"))
        parts.append(
            f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{ROW - 7}" rx="2" fill="{colour}"/>'
        )
        parts.append(_text(LABEL + width + 7, y + 14, text))
    return "".join(parts) + "</svg>"


def funnel_bars(rows: Sequence[tuple[str, int, int]]) -> str:
    """(stage, documents in, documents left): what is left in dark, what went in pale."""
    top = max((entered for _, entered, _ in rows), default=0) or 1
    room = WIDTH - LABEL - 150
    parts = [_open(ROW * len(rows) + 6)]
    for i, (stage, entered, left) in enumerate(rows):
        y = i * ROW + 4
        parts.append(_text(LABEL - 8, y + 14, stage, anchor="end"))
        for count, colour in ((entered, PALE), (left, BLUE)):
            width = room * count / top
            parts.append(
                f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{ROW - 7}" rx="2" '
                f'fill="{colour}"/>'
            )
        share = f"{left:,} ({left / entered:.0%})" if entered else "0"
        parts.append(_text(LABEL + room * entered / top + 7, y + 14, share))
    return "".join(parts) + "</svg>"


def histogram(counts: Sequence[int], low: float, high: float, marks: Sequence[float] = ()) -> str:
    """Equal bins between `low` and `high`; `marks` are thresholds, drawn as dashed lines."""
    height, base = 170, 145
    top = max(counts, default=0) or 1
    step = (WIDTH - 60) / max(1, len(counts))
    parts = [_open(height)]
    for i, count in enumerate(counts):
        tall = (base - 10) * count / top
        parts.append(
            f'<rect x="{40 + i * step:.1f}" y="{base - tall:.1f}" width="{step - 1.5:.1f}" '
            f'height="{tall:.1f}" fill="{BLUE}"/>'
        )
    for mark in marks:
        x = 40 + (WIDTH - 60) * (mark - low) / (high - low)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="6" y2="{base}" stroke="#b03a2f" '
            'stroke-dasharray="4 3"/>'
        )
    parts.append(_text(40, base + 18, f"{low:g}"))
    parts.append(_text(WIDTH - 20, base + 18, f"{high:g}", anchor="end"))
    parts.append(_text(36, 16, f"{top:,}", anchor="end"))
    return "".join(parts) + "</svg>"


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Numbers stand on the right."""
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="n">{_number(cell)}</td>'
            if isinstance(cell, int | float)
            else f"<td>{escape(str(cell))}</td>"
            for cell in row
        )
        + "</tr>"
        for row in rows
    )
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def _open(height: int) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12.5" fill="{INK}">'
        f"{escape(text)}</text>"
    )
