"""The elements that MathJax 3 draws a formula with as SVG, as presentation MathML.

Each is a group that says which element it is (`data-mml-node`); a character is its code (`data-c`) at an
outline. What stands above or below is told by its place. What is not known here is the row of its
characters.
"""

import re
import unicodedata

from pageblocks.formulas.elements import Element, made

Row = list[Element]

_HEIGHT = re.compile(r"translate\(\s*[-\d.]+[,\s]+(-?[\d.]+)")
_CODE = re.compile(r"[0-9A-F]{1,6}")
_TOKENS = frozenset({"mi", "mn", "mo", "mtext", "ms"})
_SCRIPTED = frozenset({"msub", "msup", "msubsup", "munder", "mover", "munderover"})
_PARTS = {
    "⎛": "(", "⎜": "(", "⎝": "(", "⎞": ")", "⎟": ")", "⎠": ")", "⎡": "[", "⎢": "[", "⎣": "[", "⎤": "]", "⎥": "]",
    "⎦": "]", "⎧": "{", "⎨": "{", "⎩": "{", "⎫": "}", "⎬": "}", "⎭": "}", "⏐": "|",
}  # fmt: skip
"""What a tall bracket is drawn of."""
_EXTENSION, _SURD = "⎪", "√"


def mathml_of_svg(drawing: Element) -> Element:
    """A `math` with what a drawing shows."""
    return made("math", *_row(drawing))


def _row(element: Element) -> Row:
    return [part for child in element.elements() for part in _parts(child)]


def _group(row: Row) -> Element:
    return row[0] if len(row) == 1 else made("mrow", *row)


def _parts(element: Element) -> Row:
    if element.name in ("defs", "title", "desc"):
        return []
    name = element.attribute("data-mml-node")
    if name in _TOKENS:
        return _token(element, name)
    if not name and element.attribute("data-c"):
        return [made("mo", _characters(element))]
    if name in _SCRIPTED:
        return _scripted(element, name)
    if name == "mfrac":
        return _fraction(element)
    if name in ("msqrt", "mroot"):
        return _root(element, name)
    if name == "mtable":
        rows = (child for child in element.elements() if _node(child) in ("mtr", "mlabeledtr"))
        return [made("mtable", *(made("mtr", *map(_cell, _cells(row))) for row in rows))]
    if name == "menclose":
        return [made("menclose", *_row(element), written=f'notation="{_strikes(element)}"')]
    if name == "mphantom":
        return []
    return _row(element)


def _node(element: Element) -> str:
    return element.attribute("data-mml-node")


def _characters(element: Element) -> str:
    """The characters of an element, in their order."""
    found = element.attribute("data-c")
    if found:
        code = int(found, 16) if _CODE.fullmatch(found) else 0
        return chr(code) if 0 < code < 0x110000 else ""
    if element.name == "text":
        return element.text()
    return "".join(map(_characters, element.elements()))


def _token(element: Element, name: str) -> Row:
    text = _characters(element)
    if name == "mo":
        marks = [_PARTS[char] for char in text if char in _PARTS]
        return [made("mo", marks[0] if marks else text.replace(_EXTENSION, "") or "|")]
    is_upright = name == "mi" and len(text) == 1 and text.isascii()
    if len(text) > 1:
        text = unicodedata.normalize("NFKC", text)
    return [made(name, text, written='mathvariant="normal"' if is_upright else "")]


def _height(element: Element) -> float:
    found = _HEIGHT.search(element.attribute("transform"))
    return float(found[1]) if found else 0.0


def _scripted(element: Element, name: str) -> Row:
    base, *scripts = [child for child in element.elements() if child.name == "g"] or [element]
    if base is element or not scripts:
        return _row(element)
    if len(scripts) == 2:
        scripts.sort(key=_height)  # the lower one first, as in MathML
    return [made(name, *(_group(_parts(part)) for part in (base, *scripts)))]


def _fraction(element: Element) -> Row:
    parts = [child for child in element.elements() if child.name == "g"]
    if len(parts) != 2:
        return _row(element)
    has_bar = any(child.name == "rect" for child in element.elements())
    written = "" if has_bar else 'linethickness="0"'
    return [made("mfrac", *(_group(_parts(part)) for part in parts), written=written)]


def _root(element: Element, name: str) -> Row:
    """The body is in a group without a name, before the degree and the sign."""
    body, *others = [child for child in element.elements() if child.name == "g"] or [element]
    degree = [part for part in others if _characters(part) != _SURD]
    if body is element:
        return _row(element)
    if name == "msqrt" or not degree:
        return [made("msqrt", *_row_of(body))]
    return [made("mroot", _group(_row_of(body)), _group(_parts(degree[0])))]


def _row_of(element: Element) -> Row:
    return _parts(element) if _node(element) else _row(element)


def _cells(row: Element) -> list[Element]:
    return [child for child in row.elements() if _node(child) == "mtd"]


def _cell(element: Element) -> Element:
    return made("mtd", *_row(element))


def _strikes(element: Element) -> str:
    """Which way lines are drawn through it; they are upside down."""
    lines = [child for child in element.elements() if child.name == "line"]
    sides = [
        (line.attribute("y1", "0"), line.attribute("y2", "0"))
        for line in lines
        if line.attribute("x1") != line.attribute("x2")
    ]
    return " ".join(
        "updiagonalstrike" if _number(first) < _number(second) else "downdiagonalstrike"
        for first, second in sides
        if first != second
    )


def _number(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        return 0.0
