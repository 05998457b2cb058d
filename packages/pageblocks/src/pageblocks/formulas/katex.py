"""The spans that KaTeX draws a formula with, as presentation MathML.

KaTeX sets boxes: what stands above or below something is a part of a `vlist`, each with how far down
it stands (`top`, from the foot of its `pstrut`). Classes say what a box is: `mfrac`, `msupsub`, `sqrt`,
`op-limits`, `accent`, `mtable` ... Where styles are taken away, parts count as they are written, from
the lowest up. Signs that are drawings (`svg`) are told by their shape. What is not known here is the
row of its characters.
"""

import functools
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import NamedTuple

from pageblocks.formulas.elements import Element, attributes_of, made

MAX_DRAWN_DEPTH = 160
"""Spans nest seven deep for each fraction in a fraction."""
MAX_CELLS, MAX_SIGN_PARTS, MAX_NAMES_CHARS = 10_000, 60, 200
"""Of a table; spans of a sign or a name; characters of a start tag that is remembered."""

Row = list[Element]

_NUMBER = r"\s*:\s*(-?[0-9]*\.?[0-9]+(?:e-?[0-9]{1,2})?)"
_TOP = re.compile(rf"(?<![-\w])top{_NUMBER}")
_HEIGHT = re.compile(rf"(?<![-\w])height{_NUMBER}")
_MARGIN = re.compile(r"margin-right\s*:\s*([0-9]*\.?[0-9]+)")
_TRANSPARENT = re.compile(r"(?<![-\w])color\s*:\s*transparent")
_PIECE = re.compile(r"[0-9]+(?:[.,][0-9]+)*|\s+|.", re.DOTALL)
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))
_STRUTS = frozenset({"pstrut", "fontsize-ensurer"})
_PASSED_OVER = _STRUTS | {"strut", "baseline-fix", "nulldelimiter", "sqrt-sign", "arraycolsep", "vlist-s"}  # fmt: skip
_FONTS = {
    "mathrm": "normal", "mathbf": "bold", "boldsymbol": "bold-italic", "mathbb": "double-struck", "mathcal": "script",
    "mathscr": "script", "mathfrak": "fraktur", "mathsf": "sans-serif", "mathtt": "monospace", "textbf": "bold",
    "textrm": "normal", "amsrm": "normal",
}  # fmt: skip
_MATH_FONTS = frozenset({"mathnormal", "mathdefault", "mathit"})
_SPACES = {"quad": 1.0, "qquad": 2.0, "enspace": 0.5}
_WIDE_SPACE_EM = 0.9
_NOT, _STROKE = "\ue020", "\u0338"
_BARS = str.maketrans("∣∥", "|‖")
"""Bars around something are these characters as well as the signs of a relation."""
_MARKS = {"ˊ": "´", "ˋ": "`", "⃗": "→"}
_DELIMITERS = (
    ("⎛⎜⎝", "("), ("⎞⎟⎠", ")"), ("⎧⎨⎩", "{"), ("⎫⎬⎭", "}"), ("∥‖", "‖"), ("∣", "|"),
    ("↑", "↑"), ("↓", "↓"), ("⇑", "⇑"), ("⇓", "⇓"), ("⏐", "|"),
)  # fmt: skip
_SQUARE = (("⎡", "⎣", ("[", "⌈", "⌊")), ("⎤", "⎦", ("]", "⌉", "⌋")))
_ROW_GAP_EM = 0.05


class _Level(NamedTuple):
    """A part of a `vlist`: how far below the line it stands, None where no style says so."""

    below: float | None
    box: Element


def mathml_of_katex(drawing: Element) -> Element:
    """A `math` with what a drawing shows."""
    return made("math", *_row(drawing))


def _classes(element: Element) -> tuple[str, ...]:
    """Names of an element, without the prefix that newer versions give to some."""
    read = _names_of if len(element.written) <= MAX_NAMES_CHARS else _names_of.__wrapped__
    return read(element.written)


@functools.lru_cache(maxsize=4096)
def _names_of(written: str) -> tuple[str, ...]:
    return tuple(
        name.removeprefix("katex-") for name in attributes_of(written).get("class", "").split()
    )


def _said(element: Element) -> str:
    """What a sign or a name says; nothing for what has more parts than one."""
    if len(list(islice(element.descendants(), MAX_SIGN_PARTS + 1))) > MAX_SIGN_PARTS:
        return ""
    return element.text().translate(_INVISIBLE)


def _row(element: Element) -> Row:
    """What stands in an element, in its order."""
    row: Row = []
    names = _classes(element)
    last = 0  # where the part before begins, which a script is set on
    for place, child in enumerate(element.children):
        if isinstance(child, str):
            if not child.translate(_INVISIBLE).strip(" \t\n\r\f"):
                continue
            start = len(row)
            for token in _tokens(child, names):
                _append(row, token)
        else:
            its = _classes(child)
            if "msupsub" in its or ("vlist" in its and place):  # as the first versions had them
                row[last:] = [_scripted(row[last:], child)]
                continue
            if _PASSED_OVER.intersection(its):
                continue
            start = len(row)
            if parts := _parts(child, its):
                _append(row, parts[0])
                row += parts[1:]
        last = min(start, len(row) - 1) if row else 0
    return row


def _parts(element: Element, names: tuple[str, ...]) -> Row:
    """An element as parts of a row: one, where it is something of its own."""
    style = element.attribute("style")
    if element.name == "svg" or _TRANSPARENT.search(style):
        return []
    if "llap" in names and _said(element).strip() == "/":
        return [made("mo", _STROKE)]
    for name in names:
        if name in _WRITERS:
            return _WRITERS[name](element)
    if "delimsizing" in names and "mult" in names:
        return _delimiter(element, names)
    if "minner" in names:
        return [_group(_row(element))]
    if "mop" in names and (name := _name_of(element)):
        return [made("mo", name)]
    if "vlist" in names or "vlist-t" in names:
        return _stacked(element)
    return _row(element)


def _group(row: Row) -> Element:
    return row[0] if len(row) == 1 else made("mrow", *row)


def _name_of(element: Element) -> str:
    """The name of a function, which a drawing may cut into pieces; nothing for signs."""
    name = _said(element)
    is_name = len(name) > 1 and name.isascii() and name.isalpha()
    return name if is_name and _list_in(element) is None else ""


def _tokens(text: str, names: tuple[str, ...]) -> Iterator[Element]:
    """The characters of a box: numbers, letters in its font, signs."""
    if "mrel" not in names:
        text = text.translate(_BARS)
    font = next((_FONTS[name] for name in names if name in _FONTS), "")
    written = f'mathvariant="{font}"' if font else ""
    letters = ""
    for piece in _PIECE.findall(text.translate(_INVISIBLE)):
        if piece.isalpha() and font:
            letters += piece
            continue
        if letters:
            yield made("mi", letters, written=written)
            letters = ""
        if piece[0].isdigit():
            yield made("mn", piece, written="" if font == "normal" else written)
        elif piece.isalpha():
            yield made("mi", piece)
        elif piece.isspace():
            yield made("mtext", " ")
        else:
            yield made("mo", piece)
    if letters:
        yield made("mi", letters, written=written)


def _append(row: Row, part: Element) -> None:
    """Put a part after a row: digits become one number, letters of a name one name, and a stroke goes
    through the sign that it is drawn over."""
    before = row[-1] if row else None
    if before is None:
        row.append(part)
    elif _is_sign(before, _NOT, _STROKE) and part.name == "mo":
        row[-1] = _negated(part.text(), before)
    elif _is_sign(part, _STROKE) and before.name == "mo":
        row[-1] = _negated(before.text(), part)
    elif (
        before.name == "mn" and (number := _first_number(part)) and number.written == before.written
    ):
        number.children.insert(0, before.text())
        row[-1] = part
    elif before.name == part.name == "mi" and before.written and before.written == part.written:
        before.children.append(part.text())
    else:
        row.append(part)


def _is_sign(element: Element, *signs: str) -> bool:
    return element.name == "mo" and element.text() in signs


def _first_number(element: Element) -> Element | None:
    """A number, or the one that scripts are set on."""
    if element.name in ("msub", "msup", "msubsup"):
        element = element.elements()[0]
    return element if element.name == "mn" else None


def _negated(sign: str, stroke: Element) -> Element:
    composed = unicodedata.normalize("NFC", sign + _STROKE)
    return made("mo", composed) if len(composed) == 1 else made("mrow", stroke, made("mo", sign))


def _list_in(element: Element) -> Element | None:
    """The first `vlist` in an element, if it holds one directly."""
    for child in element.elements():
        names = _classes(child)
        if "vlist" in names:
            return child
        if "vlist-t" in names or "vlist-r" in names:
            return _list_in(child)
    return None


def _levels(element: Element) -> list[_Level]:
    """The parts of the `vlist` in an element, or of one that it is, from the lowest up."""
    boxes = element if "vlist" in _classes(element) else _list_in(element)
    if boxes is None:
        return []
    levels = []
    for box in boxes.elements():
        if not _PASSED_OVER.intersection(_classes(box)):
            top = _TOP.search(box.attribute("style"))
            levels.append(_Level(float(top[1]) + _strut(box) if top else None, box))
    if any(level.below is None for level in levels):
        return [level._replace(below=None) for level in levels]
    return sorted(levels, key=lambda level: -(level.below or 0.0))


def _strut(box: Element) -> float:
    for child in box.elements():
        if "pstrut" in _classes(child):
            height = _HEIGHT.search(child.attribute("style"))
            return float(height[1]) if height else 0.0
    return 0.0


def _rows(element: Element) -> list[Row]:
    """The rows of a `vlist`, from the lowest up; of other boxes, the one that they are."""
    return [_row(level.box) for level in _levels(element)] or [_row(element)]


def _joined(rows: Iterable[Row]) -> Row:
    return [part for row in rows for part in row]


def _fraction(element: Element) -> Row:
    """The numerator over the denominator. A line may be missing because empty spans are: it is
    believed only where struts, as empty, are there."""
    levels = [level.box for level in _levels(element)]
    lines = [box for box in levels if _has_line(box)]
    parts = [box for box in levels if box not in lines]
    if len(parts) != 2:
        return _row(element)
    below, above = parts
    is_without = not lines and any(
        _STRUTS.intersection(_classes(child)) for child in below.elements()
    )
    written = 'linethickness="0"' if is_without else ""
    return [made("mfrac", made("mrow", *_row(above)), made("mrow", *_row(below)), written=written)]


def _has_line(box: Element) -> bool:
    return any("frac-line" in _classes(child) for child in box.elements())


def _root(element: Element) -> Row:
    degree = next((child for child in element.elements() if "root" in _classes(child)), None)
    body = _joined(_row(level.box) for level in _levels(element))
    if degree is None:
        return [made("msqrt", *body)] if body else _row(element)
    return [made("mroot", made("mrow", *body), made("mrow", *_row(degree)))]


def _scripted(base: Row, element: Element) -> Element:
    """A base with what stands below and above its line."""
    levels = _levels(element)
    below = [level for level in levels if level.below is not None and level.below > 0]
    above = [level for level in levels if level.below is not None and level.below <= 0]
    if levels and levels[0].below is None:
        is_below = len(levels) > 1 or any(
            "vlist-t2" in _classes(child) for child in element.elements()
        )
        below, above = (levels[:1], levels[1:]) if is_below else ([], levels)
    scripts = [
        made("mrow", *_joined(_row(level.box) for level in each)) for each in (below, above) if each
    ]
    if not scripts:
        return _group([*base, *_row(element)])
    name = "msubsup" if len(scripts) == 2 else "msub" if below else "msup"
    return made(name, _group(base), *scripts)


def _limits(element: Element) -> Row:
    """An operator, which stands on the line, with what is above and below it."""
    levels = _levels(element)
    if not levels:
        return _row(element)
    if levels[0].below is None:
        place = next((n for n, one in enumerate(levels) if not _is_small(one.box)), 0)
    else:
        place = min(range(len(levels)), key=lambda n: abs(levels[n].below or 0.0))
    rows = [_group(_row(level.box)) for level in levels]
    base, under, over = rows[place], rows[:place], rows[place + 1 :]
    if under and over:
        return [made("munderover", base, _group(under), _group(over))]
    if under:
        return [made("munder", base, _group(under))]
    return [made("mover", base, _group(over))] if over else [base]


def _is_small(box: Element) -> bool:
    return any("sizing" in _classes(child) for child in box.elements())


def _accent(element: Element) -> Row:
    return _marked("mover", _levels(element), -1)


def _accent_below(element: Element) -> Row:
    return _marked("munder", _levels(element), 0)


def _marked(name: str, levels: list[_Level], place: int) -> Row:
    """A body, and its mark at a place of the levels."""
    if not levels:
        return []
    mark = levels.pop(place).box
    body, sign = _joined(_row(level.box) for level in levels), _mark(mark)
    if not body or not sign:
        return [*body, *_row(mark)]
    return [made(name, made("mrow", *body), made("mo", sign))]


def _line_above(element: Element) -> Row:
    return [made("mover", made("mrow", *_joined(_rows(element))), made("mo", "‾"))]


def _line_below(element: Element) -> Row:
    return [made("munder", made("mrow", *_joined(_rows(element))), made("mo", "_"))]


def _mark(box: Element) -> str:
    """The sign of an accent, by its character or its shape."""
    text = "".join(_said(box).split())
    if text:
        return _MARKS.get(text, text)
    width, height, path = _shape(box)
    if (width, height) == (471, 714) or "vec" in _classes(box):
        return "→"
    if width in (600, 1033, 2339, 2340):
        return "~"
    if width in (1062, 2364):
        return "^" if re.match(r"M\d+[ ,]0h", path) else "ˇ"
    return _arrow(box)


def _shape(box: Element) -> tuple[float, float, str]:
    """Width, height and outline of the first drawing in a box."""
    width, height, path = 0.0, 0.0, ""
    for each in islice(box.descendants(), MAX_SIGN_PARTS):
        if each.name == "svg" and not width:
            sides = each.attribute("viewbox").split()
            if len(sides) == 4 and all(side.replace(".", "", 1).isdigit() for side in sides):
                width, height = float(sides[2]), float(sides[3])
        elif each.name == "path" and not path:
            path = each.attribute("d").strip()
    return width, height, path


def _arrow(box: Element) -> str:
    """The arrow that a box is, by the outline of its head; a long line is drawn from both ends."""
    path = _shape(box)[2]
    few = islice(box.descendants(), MAX_SIGN_PARTS)
    has_two = any("halfarrow-right" in _classes(each) for each in few)
    if path.startswith("M262 157"):
        return "⇔" if has_two else "⇐"
    if path.startswith("M400000 241H110"):
        return "↔" if has_two else "←"
    if path.startswith("M40 281"):
        return "↦"
    if path.startswith("M399738 392"):
        return "⇒"
    if path.startswith("M0 241v40h399891"):
        return "→"
    return ""


def _brace_above(element: Element) -> Row:
    return _braced(element, "mover", "⏞")


def _brace_below(element: Element) -> Row:
    return _braced(element, "munder", "⏟")


def _braced(element: Element, name: str, brace: str) -> Row:
    """What a brace, which has no characters, stands over or under; or this, and what is said of it."""
    rows = _rows(element)
    if len(rows) != 2:
        return _joined(rows)
    body, beside = rows if name == "mover" else reversed(rows)
    return [made(name, _group(body), _group(beside) if beside else made("mo", brace))]


def _labelled_arrow(element: Element) -> Row:
    levels = _levels(element)
    rows = [_row(level.box) for level in levels]
    place = next((n for n, row in enumerate(rows) if not row), -1)
    if place < 0:
        return _joined(rows)
    arrow = made("mo", _arrow(levels[place].box) or "→")
    under, over = (made("mrow", *_joined(some)) for some in (rows[:place], rows[place + 1 :]))
    if not under.children:
        return [made("mover", arrow, over)]
    return [made("munderover", arrow, under, over)]


def _table(element: Element) -> Row:
    """Columns of cells; cells of a row stand at one height."""
    columns = list(_columns(element))
    levels = [_levels(column) for column in columns]
    if not columns or len(columns) * sum(map(len, levels)) > MAX_CELLS:
        return _row(element)
    heights = sorted({level.below for each in levels for level in each if level.below is not None})
    starts = [
        height for n, height in enumerate(heights) if not n or height - heights[n - 1] > _ROW_GAP_EM
    ]
    rows: list[dict[int, Element]] = [{} for _ in starts]
    for column, each in enumerate(levels):
        for place, level in enumerate(each):
            if level.below is not None:
                place = bisect_right(starts, level.below) - 1
            while place >= len(rows):
                rows.append({})
            rows[place][column] = made("mtd", *_row(level.box))
    sides = [name[-1] for column in columns[:2] for name in _classes(column) if "col-align" in name]
    written = 'columnalign="right left"' if sides == ["r", "l"] else ""
    lines = (made("mtr", *(row.get(n) or made("mtd") for n in range(max(row) + 1))) for row in rows)
    return [made("mtable", *lines, written=written)]


def _columns(element: Element) -> Iterator[Element]:
    for child in element.elements():
        names = _classes(child)
        if any(name.startswith("col-align") for name in names):
            yield child
        elif "mtable" not in names:
            yield from _columns(child)


def _delimiter(element: Element, names: tuple[str, ...]) -> Row:
    """A bracket that is set from pieces, or drawn whole."""
    text = _said(element)
    for top, bottom, (bracket, ceiling, floor) in _SQUARE:
        if top in text or bottom in text:
            sign = bracket if top in text and bottom in text else ceiling if top in text else floor
            return [made("mo", sign)]
    for pieces, sign in _DELIMITERS:
        if any(piece in text for piece in pieces):
            return [made("mo", sign)]
    width, _, path = _shape(element)
    opens = path.startswith(("M403 1759", "M319 602", "M863"))
    if width in (333, 556):
        return [made("mo", "|" if width == 333 else "‖")]
    if width == 875:
        return [made("mo", "(" if opens else ")")]
    if width == 667:
        kind = 2 if path.startswith("M319 602") else "602 h84z" in path
        opens = opens and " h263 " in path if kind == 2 else opens
        return [made("mo", ("[⌈⌊" if opens else "]⌉⌋")[kind])]
    return _stacked(element)


def _stacked(element: Element) -> Row:
    """Boxes over each other that nothing more is known of, from the top down."""
    levels = _levels(element)
    row = _joined(_row(level.box) for level in reversed(levels))
    if any("fbox" in _classes(child) for level in levels for child in level.box.elements()):
        return [made("menclose", *row, written='notation="box"')]
    if strikes := " ".join(strike for level in levels for strike in _strikes(level.box)):
        return [made("menclose", *row, written=f'notation="{strikes}"')]
    return row


def _strikes(box: Element) -> Iterator[str]:
    """The lines that a box draws through the others: a drawing of its own, or in one element."""
    for child in box.elements():
        for drawing in (child, *child.elements()[:1]):
            if drawing.name == "svg":
                for line in drawing.elements():
                    if line.name == "line":
                        is_rising = line.attribute("y1").startswith("100")
                        yield "updiagonalstrike" if is_rising else "downdiagonalstrike"


def _text(element: Element) -> Row:
    """Words, and the formulas among them."""
    text = made("mtext")
    for is_word, run in groupby(_words(element), lambda each: isinstance(each, str)):
        if is_word:
            text.children.append("".join(map(str, run)))
        else:
            text.children.extend(run)
    return [text]


def _words(element: Element) -> list[Element | str]:
    words: list[Element | str] = []
    last = 0  # where the part before begins, which a script is set on
    for child in element.children:
        start = len(words)
        if isinstance(child, str):
            words.append(child.translate(_INVISIBLE))
        elif not _PASSED_OVER.intersection(names := _classes(child)):
            if "msupsub" in names:
                base = words[last:]
                parts = [each for each in base if isinstance(each, Element)]
                is_math = len(parts) == len(base)
                words[last:] = [_scripted(parts if is_math else [made("mtext", *base)], child)]
                continue
            if not _MATH_FONTS.isdisjoint(names):
                words += _row(child)
            elif "mspace" in names:
                words.append(" " if child.text().translate(_INVISIBLE) else "")
            elif "text" in names or _IN_TEXT.isdisjoint(names):
                words += _words(child)
            else:
                words.append(made("mrow", *_parts(child, names)))
        last = start
    return words


def _space(element: Element) -> Row:
    names = _classes(element)
    if "newline" in names:
        return [made("mspace", written='linebreak="newline"')]
    if said := element.text().translate(_INVISIBLE):
        return [made("mtext", said)]
    margin = _MARGIN.search(element.attribute("style"))
    width = (
        float(margin[1]) if margin else max((_SPACES.get(name, 0.0) for name in names), default=0)
    )
    return [made("mspace", written=f'width="{width}em"')] if width >= _WIDE_SPACE_EM else []


def _label(element: Element) -> Row:
    """The number of an equation."""
    said = element.text().translate(_INVISIBLE).strip()
    return [made("mspace", written='width="2em"'), made("mtext", said)] if said else []


_WRITERS: dict[str, Callable[[Element], Row]] = {
    "mfrac": _fraction, "sqrt": _root, "op-limits": _limits, "accent": _accent, "accentunder": _accent_below,
    "overline": _line_above, "underline": _line_below, "mover": _brace_above, "munder": _brace_below,
    "x-arrow": _labelled_arrow, "mtable": _table, "text": _text, "mspace": _space, "tag": _label,
}  # fmt: skip
_IN_TEXT = frozenset({*_WRITERS, "vlist-t", "vlist"}) - {"text", "mspace"}
"""What is no words, where words are."""
