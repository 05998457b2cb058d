"""Build HTML pages that need nothing else: tables, bars, and charts as inline SVG.

No scripts, no fonts, no network; equal data gives equal bytes. All have the look of the catalog's
own pages. Bars are HTML and fit a telephone; charts that need their width are scrolled there.
Every value goes through `escape`, which also writes out control characters: a web page chooses its
own texts.
"""

import base64
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from catalog.cli.terminal import escape
from catalog.figures import wilson
from catalog.serve import STYLE

WIDTH = 760
LABEL = 250
ROW = 24
PROSE = 40  # characters of a cell that is broken into lines
INK = "#1d2733"
BLUE = "#2f6fb0"
PALE = "#c9d8e8"
ORANGE = "#e08a3c"
RED = "#b03a2f"

FATES = (("kept", BLUE), ("documents", "#8a97a5"), ("selection", ORANGE), ("clusters", "#d9c06a"),
         ("contamination", RED), ("clean_text", "#a58ac0"))  # fmt: skip
"""Colours of what becomes of a record: kept, or dropped by a stage."""


@cache
def _style() -> str:
    return STYLE.read_text(encoding="utf-8")


def page(title: str, body: str, more_style: str = "") -> str:
    """Build a whole page from its body; `title` is plain text."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_style()}{more_style}</style></head><body><main>{body}</main></body></html>\n"
    )


def with_contents(sections: Sequence[tuple[str, str]]) -> str:
    """Set sections, (title, body), below a list of them; those without a body are left out."""
    links, bodies = _linked(sections)
    return f'<nav class="contents" aria-label="Contents">{links}</nav>{bodies}'


def put_first(page: str, sections: Sequence[tuple[str, str]]) -> str:
    """Put more sections in front of those that a page has, and of its contents."""
    links, bodies = _linked(sections)
    head, heading, rest = page.partition("<h2 ")
    return head.replace('"Contents">', f'"Contents">{links}', 1) + bodies + heading + rest


def _linked(sections: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return links to sections, and the sections."""
    there = [(re.sub(r"\W+", "-", title.lower()), title, body) for title, body in sections if body]
    return (
        "".join(f'<a href="#{name}">{escape(title)}</a>' for name, title, _ in there),
        "".join(f'<h2 id="{name}">{escape(title)}</h2>{body}' for name, title, body in there),
    )


def horizontal_bars(rows: Sequence[tuple[str, float, str]], colour: str = BLUE) -> str:
    """Draw one bar a row: (label, value, text after the bar); the longest is the largest value."""
    return layered_bars([(label, ((value, colour),), text) for label, value, text in rows])


def funnel_bars(rows: Sequence[tuple[str, int, int]]) -> str:
    """Draw (stage, records in, records left): the rest in dark, dropped ones in pale."""
    return layered_bars(
        [
            (
                stage,
                ((left, BLUE), (entered - left, PALE)),
                f"{left:,} ({left / entered:.1%} of {entered:,})" if entered else "0",
            )
            for stage, entered, left in rows
        ]
    )


def layered_bars(rows: Sequence[tuple[str, Sequence[tuple[float, str]], str]]) -> str:
    """Draw one bar of pieces a row: (label, ((value, colour), ...), text after the bar)."""
    if not rows:
        return "<p>Nothing to show.</p>"
    top = max(sum(value for value, _ in pieces) for _, pieces, _ in rows) or 1.0
    lines = []
    for label, pieces, text in rows:
        bars = "".join(
            f'<i style="--v:{value / top:.4f};background:{colour}"></i>' for value, colour in pieces
        )
        lines.append(f"<dt>{escape(label)}</dt><dd>{bars}<span>{escape(text)}</span></dd>")
    return f'<dl class="bars">{"".join(lines)}</dl>'


@dataclass(frozen=True)
class Fated:
    """A group of records: how many, and how many of them had which fate of FATES."""

    name: str
    total: int
    fates: Sequence[int]  # in the order of FATES
    remark: str = ""


def fate_bars(groups: Sequence[Fated], overall: float) -> str:
    """Draw each group as a whole, divided by fate, with the share kept and its interval; a line
    stands where the share of all groups lies."""
    rows = []
    for one in groups:
        low, high = wilson(one.fates[0], one.total)
        whole = one.total or 1
        pieces = "".join(
            f'<i style="width:{100 * n / whole:.2f}%;background:{colour}"></i>'
            for n, (_, colour) in zip(one.fates, FATES, strict=True)
            if n
        )
        share = f"<b>{one.fates[0] / whole:.1%}</b> [{low:.1%}, {high:.1%}]"
        said = f"{one.fates[0]:,} of {one.total:,}: {share}"
        remark = f"<small>{escape(one.remark)}</small>" if one.remark else ""
        rows.append(
            f"<dt>{escape(one.name)}</dt><dd>{pieces}"
            f'<u style="left:{100 * overall:.2f}%"></u></dd>'
            f'<dd class="said">{said}{remark}</dd>'
        )
    legend = " ".join(
        f'<span><i style="background:{colour}"></i>{escape(_fate(name))}</span>'
        for name, colour in FATES
    )
    return f'<p class="legend">{legend}</p><dl class="fates">{"".join(rows)}</dl>'


def _fate(name: str) -> str:
    return name if name == "kept" else f"dropped by {name}"


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
            else f"<td{_prose(cell)}>{escape(str(cell))}</td>"
            for cell in row
        )
        + "</tr>"
        for row in rows
    )
    is_number = (
        [isinstance(cell, int | float) for cell in rows[0]] if rows else [False] * len(heads)
    )
    head = "".join(
        f'<th class="n">{escape(name)}</th>' if number else f"<th>{escape(name)}</th>"
        for name, number in zip(heads, is_number, strict=True)
    )
    return wide(
        f'<table class="rows fit"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def _prose(cell: object) -> str:
    """Return the class of a cell that is to be broken into lines; names and numbers stay whole."""
    return ' class="prose"' if len(str(cell)) > PROSE else ""


def wide(body: str) -> str:
    """Let what is wider than the page be scrolled by itself."""
    return f'<div class="wide">{body}</div>'


class Percent(float):
    """A share, which a table writes as such."""


def _number(value: int | float) -> str:
    if isinstance(value, Percent):
        return f"{value:.1%}"
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
