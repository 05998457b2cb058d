"""Build HTML pages that need nothing else: tables, and charts as inline SVG.

No scripts, no fonts, no network; equal data gives equal bytes. Every value goes through `escape`,
which also writes out control characters: a web page chooses its own texts.
"""

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from catalog.cli.terminal import escape

WIDTH = 760
LABEL = 250
ROW = 24
INK = "#1d2733"
BLUE = "#2f6fb0"
PALE = "#c9d8e8"
ORANGE = "#e08a3c"
RED = "#b03a2f"

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1d2733;max-width:860px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem} h2{font-size:1.15rem;margin-top:2.2rem;border-bottom:1px solid #dde4ec}
h3{font-size:1rem;margin-bottom:.3rem} table{border-collapse:collapse;font-size:13.5px;margin:.6rem 0}
td,th{padding:.18rem .7rem;border-bottom:1px solid #e6ebf1;text-align:left} td:first-child{white-space:nowrap} td.n{text-align:right;font-variant-numeric:tabular-nums}
code{font-size:12.5px;background:#f2f5f8;padding:.1rem .3rem} .big{display:flex;gap:2.2rem;margin:1rem 0}
.big div{font-size:12.5px;color:#5b6b7c} .big b{display:block;font-size:1.5rem;color:#1d2733} svg{max-width:100%;height:auto}
.many{display:flex;flex-wrap:wrap;gap:1rem 1rem} figure{margin:0;width:268px} figcaption{font-size:12.5px;line-height:1.35;color:#5b6b7c;overflow-wrap:anywhere}
figcaption b{color:#1d2733} .kept{color:#2f6fb0;font-weight:bold} .gone{color:#c8701d;font-weight:bold}
"""


def page(title: str, body: str, style: str = STYLE, viewport: str = "") -> str:
    """Build a whole page from its body; `title` is plain text."""
    meta = f'<meta name="viewport" content="{viewport}">' if viewport else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"{meta}<style>{style}</style></head><body>{body}</body></html>\n"
    )


def horizontal_bars(rows: Sequence[tuple[str, float, str]], colour: str = BLUE) -> str:
    """Draw one bar a row: (label, value, text after the bar)."""
    if not rows:
        return "<p>Nothing to show.</p>"
    top = max(value for _, value, _ in rows) or 1.0
    room = WIDTH - LABEL - 150
    parts = [_open(ROW * len(rows) + 6)]
    for i, (label, value, text) in enumerate(rows):
        y = i * ROW + 4
        width = max(1.0, room * value / top) if value else 0.0
        parts.append(svg_text(LABEL - 8, y + 14, label, anchor="end"))
        parts.append(
            f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{ROW - 7}" rx="2" fill="{colour}"/>'
        )
        parts.append(svg_text(LABEL + width + 7, y + 14, text))
    return "".join(parts) + "</svg>"


def funnel_bars(rows: Sequence[tuple[str, int, int]]) -> str:
    """Draw (stage, documents in, documents left): the rest in dark, dropped ones in pale."""
    top = max((entered for _, entered, _ in rows), default=0) or 1
    room = WIDTH - LABEL - 150
    parts = [_open(ROW * len(rows) + 6)]
    for i, (stage, entered, left) in enumerate(rows):
        y = i * ROW + 4
        parts.append(svg_text(LABEL - 8, y + 14, stage, anchor="end"))
        for count, colour in ((entered, PALE), (left, BLUE)):
            width = room * count / top
            parts.append(
                f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{ROW - 7}" rx="2" '
                f'fill="{colour}"/>'
            )
        share = f"{left:,} ({left / entered:.0%})" if entered else "0"
        parts.append(svg_text(LABEL + room * entered / top + 7, y + 14, share))
    return "".join(parts) + "</svg>"


@dataclass(frozen=True)
class Mark:
    """A threshold on the horizontal axis, at a share of its length."""

    place: float
    label: str
    strong: bool = True  # of all documents, not of one language only


def mirrored_histogram(
    kept: Sequence[int], dropped: Sequence[int], marks: Sequence[Mark], ends: tuple[str, str]
) -> str:
    """Draw counts on a logarithmic scale in equal bins: kept upward, dropped downward."""
    width, half, top = 268, 58, 24
    middle, step = top + half, 256 / max(1, len(kept))
    tallest = math.log1p(max([1, *kept, *dropped]))
    parts = [_open(top + 2 * half + 20, width)]
    for counts, colour, up in ((kept, BLUE, True), (dropped, ORANGE, False)):
        for i, count in enumerate(counts):
            if count:
                tall = max(1.5, half * math.log1p(count) / tallest)
                y = middle - tall if up else middle
                parts.append(
                    f'<rect x="{6 + i * step:.1f}" y="{y:.1f}" width="{step - 0.8:.1f}" '
                    f'height="{tall:.1f}" fill="{colour}"/>'
                )
    parts.append(f'<line x1="6" x2="262" y1="{middle}" y2="{middle}" stroke="{INK}"/>')
    for mark in marks:
        x = 6 + 256 * mark.place
        shade = RED if mark.strong else "#d9a29c"
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 6}" y2="{middle + half}" '
            f'stroke="{shade}" stroke-width="{1.6 if mark.strong else 1}" '
            'stroke-dasharray="4 3"/>'
        )
    for x, label in _apart([(6 + 256 * mark.place, mark.label) for mark in marks if mark.strong]):
        anchor = "start" if x < 40 else "end" if x > 228 else "middle"
        parts.append(svg_text(x, top - 10, label, anchor, 11, RED))
    parts.append(svg_text(6, top + 2 * half + 15, ends[0], size=11))
    parts.append(svg_text(262, top + 2 * half + 15, ends[1], "end", 11))
    return "".join(parts) + "</svg>"


def _apart(labels: Sequence[tuple[float, str]], least: float = 44) -> list[tuple[float, str]]:
    """Join labels that are too close to their neighbour to be read."""
    joined: list[tuple[float, str]] = []
    for x, label in sorted(labels):
        if joined and x - joined[-1][0] < least:
            if label not in joined[-1][1].split(", "):
                joined[-1] = (joined[-1][0], f"{joined[-1][1]}, {label}")
        else:
            joined.append((x, label))
    return joined


def forest_plot(rows: Sequence[Sequence[Any]]) -> str:
    """Draw one interval a row, in percent of bits per byte: (label, value, low, high, limit or
    None), with a line at 0."""
    if not rows:
        return "<p>Nothing to show.</p>"
    ends = [0.0, *(end for _, _, low, high, limit in rows for end in (low, high, limit or 0.0))]
    least, most = min(ends), max(ends)
    scale = (WIDTH - LABEL - 190) / ((most - least) or 1.0)

    def x(value: float) -> float:
        return LABEL + (value - least) * scale

    height = ROW * len(rows)
    parts = [_open(height + 28), _line((x(0), 0), (x(0), height), PALE)]
    for i, (label, value, low, high, limit) in enumerate(rows):
        y = i * ROW + 12
        colour = RED if limit is not None and low > limit else BLUE
        parts.append(svg_text(LABEL - 8, y + 4, label, anchor="end"))
        parts.append(_line((x(low), y), (x(high), y), colour, 2))
        parts.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="4" fill="{colour}"/>')
        if limit is not None:
            parts.append(_line((x(limit), y - 8), (x(limit), y + 8), ORANGE))
        told = f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"
        parts.append(svg_text(WIDTH - 180, y + 4, told))
    title = "percent of bits per byte; to the left is better"
    parts.append(svg_text(LABEL, height + 20, title, size=11.5))
    return "".join(parts) + "</svg>"


COLOURS = (BLUE, ORANGE, RED, "#3f8f5f", "#7a5ba6", "#5b6b7c")


def line_chart(
    lines: Sequence[tuple[str, Sequence[tuple[float, float]]]], x_title: str, y_title: str
) -> str:
    """Draw lines of points, those of one name in one colour, with a legend."""
    points = [point for _, line in lines for point in line]
    if not points:
        return "<p>Nothing to show.</p>"
    (left, right), (low, high) = ((min(c), max(c)) for c in zip(*points, strict=True))
    wide, high_px = WIDTH - 230, 260

    def place(point: tuple[float, float]) -> tuple[float, float]:
        across = (point[0] - left) / ((right - left) or 1.0)
        up = (point[1] - low) / ((high - low) or 1.0)
        return 60 + across * wide, 12 + (1 - up) * high_px

    names = list(dict.fromkeys(name for name, _ in lines))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    parts = [_open(high_px + 52)]
    for name, line in lines:
        spots = [place(point) for point in sorted(line)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="1.6"/>'
        )
    for i, name in enumerate(names):
        parts.append(svg_text(WIDTH - 160, 24 + i * 18, name, colour=colours[name]))
    for value, y in ((high, 16.0), (low, 12.0 + high_px)):
        parts.append(svg_text(54, y, f"{value:.3g}", anchor="end", size=11.5))
    for value, x in ((left, 60.0), (right, 60.0 + wide)):
        parts.append(svg_text(x, high_px + 28, f"{value:.3g}", anchor="middle", size=11.5))
    parts.append(svg_text(60 + wide / 2, high_px + 28, x_title, anchor="middle", size=11.5))
    parts.append(svg_text(60, high_px + 46, f"up: {y_title}", size=11.5))
    return "".join(parts) + "</svg>"


def _line(
    start: tuple[float, float], end: tuple[float, float], colour: str, width: float = 1
) -> str:
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
        f'stroke="{colour}" stroke-width="{width:g}"/>'
    )


def as_image(svg: str, about: str) -> str:
    """Return a chart as Markdown that needs no file."""
    alone = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    data = base64.b64encode(alone.encode()).decode()
    return f"![{about}](data:image/svg+xml;base64,{data})"


def small_multiples(charts: Sequence[tuple[str, str, str]]) -> str:
    """Set small charts side by side: (title, a line below it, SVG)."""
    figures = "".join(
        f"<figure><figcaption><b>{escape(title)}</b><br>{escape(line)}</figcaption>{svg}</figure>"
        for title, line, svg in charts
    )
    return f'<div class="many">{figures}</div>'


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Build a table with numbers aligned to the right."""
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


def _open(height: int, width: int = WIDTH) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'


def svg_text(
    x: float, y: float, text: str, anchor: str = "start", size: float = 12.5, colour: str = INK
) -> str:
    """Draw a text at a point of a chart."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" '
        f'fill="{colour}">{escape(text)}</text>'
    )
