"""Charts as inline SVG, for templates and for Dagster's metadata. Equal data gives equal bytes.

A chart says what it is by its title; a bar beside a number that says the same is hidden from who
listens to a page. Colours are classes (blue, grey, orange, yellow, red, green, purple, pale), which
`charts.css` gives their values in the light, in the dark and on paper.
"""

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from catalog.pages.values import shown

HERE = Path(__file__).parent
WIDTH = 760
LABEL = 250
ROW = 24
LINES = ("blue", "orange", "red", "green", "purple", "grey")
NOTHING = Markup("<p>Nothing to show.</p>")

Point = tuple[float, float]


@cache
def css(name: str) -> Markup:
    """Return a stylesheet of this folder; `charts.css` is all that a chart needs."""
    return Markup((HERE / name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


# Bars and lines that fill their place.


def bar(
    pieces: Sequence[tuple[float, str]], line: float | None = None, title: str | None = None
) -> Markup:
    """Draw pieces of one bar behind each other: (share of the width, colour), with an upright line
    at a share of the width. Without a title, the bar repeats what is written beside it."""
    parts, before = [], 0.0
    for share, colour in pieces:
        if share > 0:
            parts.append(
                _tag("rect", x=_two(100 * before), width=_two(100 * share), height=8, class_=colour)
            )
        before += share
    if line is not None:
        at = _two(100 * line)
        parts.append(_tag("line", x1=at, x2=at, y1=0, y2=8, class_="mark"))
    return _svg(100, 8, title, parts, class_="bar", preserveAspectRatio="none")


def swatch(colour: str) -> Markup:
    """Draw a square of a colour, for a legend."""
    return _svg(12, 12, None, [_tag("rect", width=12, height=12, class_=colour)], class_="swatch")


def ticks(places: Sequence[float], ends: tuple[str, str], title: str) -> Markup:
    """Draw a line with a mark at each place, 0 to 1."""
    parts = [_line((0, 22), (WIDTH, 22), "grey")]
    parts += [_line((WIDTH * x, 8), (WIDTH * x, 36), "blue", 2) for x in places]
    parts += [_text(0, 46, ends[0], size=11), _text(WIDTH, 46, ends[1], "end", 11)]
    return _svg(WIDTH, 50, title, parts)


def curve(values: Sequence[float], at: float, title: str) -> Markup:
    """Draw a line through values that are evenly spaced, from 0 up, with a dashed one at a share of
    the width; it is stretched to its place."""
    last, most = max(1, len(values) - 1), max([1.0, *values])
    points = [(100 * k / last, 24 - 24 * value / most) for k, value in enumerate(values)]
    parts = [
        _tag("polyline", points=_path(points), class_="blue stroke"),
        _tag("line", x1=_two(100 * at), x2=_two(100 * at), y1=0, y2=24, class_="red dashed"),
    ]
    return _svg(100, 24, title, parts, preserveAspectRatio="none")


# Charts.


@dataclass(frozen=True)
class Mark:
    """A threshold on the horizontal axis, at a share of its length."""

    place: float
    label: str
    strong: bool = True  # of all documents, not of one language only


def histogram(
    kept: Sequence[int],
    dropped: Sequence[int],
    marks: Sequence[Mark],
    ends: tuple[str, str],
    title: str,
) -> Markup:
    """Draw counts on a logarithmic scale in equal bins: kept upward, dropped downward."""
    half, top = 58, 24
    middle, step = top + half, 256 / max(1, len(kept))
    tallest = math.log1p(max([1, *kept, *dropped]))
    parts = []
    for counts, colour, is_up in ((kept, "blue", True), (dropped, "orange", False)):
        for i, count in enumerate(counts):
            if count:
                tall = max(1.5, half * math.log1p(count) / tallest)
                y = middle - tall if is_up else middle
                parts.append(_rect(6 + i * step, y, step - 0.8, tall, colour))
    parts.append(_line((6, middle), (262, middle)))
    for mark in marks:
        x, strength = 6 + 256 * mark.place, "red dashed" if mark.strong else "red dashed faint"
        parts.append(_line((x, top - 6), (x, middle + half), strength, 1.6 if mark.strong else 1))
    for x, label in _apart([(6 + 256 * mark.place, mark.label) for mark in marks if mark.strong]):
        anchor = "start" if x < 40 else "end" if x > 228 else "middle"
        parts.append(_text(x, top - 10, label, anchor, 11, "red"))
    parts.append(_text(6, top + 2 * half + 15, ends[0], size=11))
    parts.append(_text(262, top + 2 * half + 15, ends[1], "end", 11))
    return _svg(268, top + 2 * half + 20, title, parts)


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


def forest(rows: Sequence[Sequence[Any]], title: str) -> Markup:
    """Draw one interval a row, in percent of bits per byte: (label, value, low, high, limit or
    None), with a line at 0."""
    if not rows:
        return NOTHING
    ends = [0.0, *(end for _, _, low, high, limit in rows for end in (low, high, limit or 0.0))]
    least, most = min(ends), max(ends)
    scale = (WIDTH - LABEL - 190) / ((most - least) or 1.0)

    def x(value: float) -> float:
        return LABEL + (value - least) * scale

    height = ROW * len(rows)
    parts, values = [_line((x(0), 0), (x(0), height), "grey")], []
    for i, (label, value, low, high, limit) in enumerate(rows):
        y = i * ROW + 12
        colour = "red" if limit is not None and low > limit else "blue"
        parts.append(_text(LABEL - 8, y + 4, label, "end"))
        parts.append(_line((x(low), y), (x(high), y), colour, 2))
        parts.append(_tag("circle", cx=_one(x(value)), cy=y, r=4, class_=colour))
        if limit is not None:
            parts.append(_line((x(limit), y - 8), (x(limit), y + 8), "orange"))
        interval = f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"
        parts.append(_text(WIDTH - 180, y + 4, interval))
        values.append(f"{label} {interval}")
    about = "percent of bits per byte; to the left is better"
    parts.append(_text(LABEL, height + 20, about, size=11.5))
    return _svg(WIDTH, height + 28, title, parts, "; ".join(values))


def lines(
    named: Sequence[tuple[str, Sequence[Point]]], x_title: str, y_title: str, title: str
) -> Markup:
    """Draw lines of points, those of one name in one colour, with a legend."""
    points = [point for _, line in named for point in line]
    if not points:
        return NOTHING
    (left, right), (low, high) = ((min(c), max(c)) for c in zip(*points, strict=True))
    wide, tall = WIDTH - 230, 260

    def place(point: Point) -> Point:
        across = (point[0] - left) / ((right - left) or 1.0)
        up = (point[1] - low) / ((high - low) or 1.0)
        return 60 + across * wide, 12 + (1 - up) * tall

    names = list(dict.fromkeys(name for name, _ in named))
    colours = {name: LINES[i % len(LINES)] for i, name in enumerate(names)}
    parts = [
        _tag("polyline", points=_path([place(p) for p in sorted(line)]),
             class_=f"{colours[name]} stroke")
        for name, line in named
    ]  # fmt: skip
    for i, name in enumerate(names):
        parts.append(_rect(WIDTH - 160, 15 + i * 18, 12, 4, colours[name]))
        parts.append(_text(WIDTH - 142, 21 + i * 18, name))
    for value, y in ((high, 16.0), (low, 12.0 + tall)):
        parts.append(_text(54, y, f"{value:.3g}", "end", 11.5))
    for value, x in ((left, 60.0), (right, 60.0 + wide)):
        parts.append(_text(x, tall + 28, f"{value:.3g}", "middle", 11.5))
    parts.append(_text(60 + wide / 2, tall + 28, x_title, "middle", 11.5))
    parts.append(_text(60, tall + 46, f"up: {y_title}", size=11.5))
    return _svg(WIDTH, tall + 52, title, parts)


def response(
    points: Sequence[tuple[float, float, float, float, str]], x_title: str, y_title: str, title: str
) -> Markup:
    """Draw values with intervals over a number: (x, value, low, high, colour), joined by a line,
    with one at 0."""
    if not points:
        return NOTHING
    ordered = sorted(points)
    xs = [point[0] for point in ordered]
    ends = [0.0, *(end for _, _, low, high, _ in ordered for end in (low, high))]
    (left, right), (least, most) = (min(xs), max(xs)), (min(ends), max(ends))
    wide, tall = WIDTH - 140, 220

    def x(value: float) -> float:
        return 90 + (value - left) / ((right - left) or 1.0) * wide

    def y(value: float) -> float:
        return 14 + (most - value) / ((most - least) or 1.0) * tall

    parts = [_line((60, y(0)), (110 + wide, y(0)), "grey")]
    line = [(x(at), y(value)) for at, value, *_ in ordered]
    parts.append(_tag("polyline", points=_path(line), class_="grey stroke"))
    told = []
    for at, value, low, high, colour in ordered:
        if low != high:
            parts.append(_line((x(at), y(low)), (x(at), y(high)), colour, 2))
        parts.append(_tag("circle", cx=_one(x(at)), cy=_one(y(value)), r=4, class_=colour))
        parts.append(_text(x(at), tall + 32, f"{at:g}", "middle", 11.5))
        told.append(f"{at:g}: {value:+.2f} [{low:+.2f}, {high:+.2f}]")
    for value in dict.fromkeys((most, 0.0, least)):
        parts.append(_text(54, y(value) + 4, f"{value:+.2f}", "end", 11.5))
    parts.append(_text(90 + wide / 2, tall + 50, x_title, "middle", 11.5))
    parts.append(_text(60, tall + 68, f"up: {y_title}", size=11.5))
    return _svg(WIDTH, tall + 74, title, parts, "; ".join(told))


@dataclass(frozen=True)
class Pair:
    """Two shares of one thing; `is_over` where the second is more than is allowed."""

    label: str
    first: float
    second: float
    text: str
    is_over: bool = False


def pairs(
    rows: Sequence[Pair], names: tuple[str, str], title: str, colours: tuple[str, str]
) -> Markup:
    """Draw two thin bars a row, above each other, on one scale."""
    top = max((max(row.first, row.second) for row in rows), default=1.0) or 1.0
    room, head, tall = WIDTH - LABEL - 225, 46, 34
    parts = [_text(8, 17, title, size=14)]
    for place, (name, colour) in enumerate(zip(names, colours, strict=True)):
        x = LABEL + place * 240
        parts += [_rect(x, 26, 11, 11, colour), _text(x + 16, 36, name)]
    for i, row in enumerate(rows):
        y, second = head + i * tall, "red" if row.is_over else colours[1]
        parts.append(_text(LABEL - 8, y + 17, row.label, "end"))
        for share, colour, offset in ((row.first, colours[0], 2), (row.second, second, 13)):
            width = max(1.0, room * share / top) if share else 0.0
            parts.append(_rect(LABEL, y + offset, width, 10, colour))
        end = LABEL + room * max(row.first, row.second) / top
        parts.append(_text(end + 7, y + 17, row.text, colour="red" if row.is_over else ""))
    description = "; ".join(f"{row.label} {row.text}" for row in rows)
    return _svg(WIDTH, head + tall * len(rows) + 10, title, parts, description)


# Charts alone.


def standalone(chart: Markup) -> Markup:
    """Return a chart as a file of its own."""
    return chart.replace(
        Markup("<svg "), Markup('<svg xmlns="http://www.w3.org/2000/svg" '), 1
    ).replace(
        Markup("</title>"),
        Markup("</title>")
        + _tag("style", css("charts.css"))
        + _tag("rect", class_="paper", width="100%", height="100%"),
        1,
    )


def as_image(chart: Markup, about: str) -> str:
    """Return a chart as Markdown that needs no file."""
    data = base64.b64encode(standalone(chart).encode()).decode()
    return f"![{about}](data:image/svg+xml;base64,{data})"


ALL: Mapping[str, Callable[..., Markup]] = {
    made.__name__: made for made in (bar, swatch, ticks, curve, histogram, forest, lines, pairs)
}
"""What a template can draw."""


# Elements.


def _svg(
    width: int,
    height: float,
    title: str | None,
    parts: Sequence[Markup],
    description: str | None = None,
    **more: object,
) -> Markup:
    """Return a picture; without a title it is an ornament."""
    inside = [_tag("title", title)] if title is not None else []
    inside += [_tag("desc", description)] if description is not None else []
    how = {"aria_hidden": "true"} if title is None else {"role": "img"}
    box = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    return _tag("svg", *inside, *parts, **box, **how, **more)


def _text(
    x: float, y: float, text: str, anchor: str = "start", size: float = 12.5, colour: str = ""
) -> Markup:
    more = {"class_": colour} if colour else {}
    return _tag("text", text, x=_one(x), y=_one(y), text_anchor=anchor, font_size=size, **more)


def _rect(x: float, y: float, width: float, height: float, colour: str) -> Markup:
    return _tag("rect", x=_one(x), y=_one(y), width=_one(width), height=_one(height), class_=colour)


def _line(start: Point, end: Point, colour: str = "", width: float = 1) -> Markup:
    more = {"class_": colour} if colour else {}
    (x1, y1), (x2, y2) = start, end
    places = {"x1": _one(x1), "y1": _one(y1), "x2": _one(x2), "y2": _one(y2)}
    return _tag("line", **places, stroke_width=f"{width:g}", **more)


def _path(points: Sequence[Point]) -> str:
    return " ".join(f"{_one(x)},{_one(y)}" for x, y in points)


def _one(value: float) -> str:
    return f"{value:.1f}"


def _two(value: float) -> str:
    return f"{value:.2f}"


def _tag(name: str, *inside: str, **attributes: object) -> Markup:
    """Return an element; `class_` is its class, `font_size` its font-size."""
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), shown(value))
        for key, value in attributes.items()
    )
    if not inside:
        return Markup("<{}{}/>").format(name, written)
    return Markup("<{}{}>{}</{}>").format(name, written, Markup("").join(map(shown, inside)), name)
