"""The elements that MathJax 3 draws a formula with (CHTML), as presentation MathML.

They are called as in MathML (`mjx-mfrac`), with boxes between. A character is its code in the class
of an empty element (`mjx-c1D465`), which a style sheet shows. What is not known here is the row of
its characters.
"""

import re
import unicodedata
from collections.abc import Iterator

from pageblocks.formulas.elements import Element, made

Row = list[Element]

_CODE = re.compile(r"(?:^|\s)mjx-c([0-9A-F]{1,6})(?=\s|$)")
_WIDTH = re.compile(r"(?<![-\w])width\s*:\s*([^;]+)")
_ALIGNED = re.compile(r"text-align\s*:\s*(\w+)")
_TOKENS = frozenset({"mi", "mn", "mo", "mtext", "ms"})
_BOXES = frozenset({"frac", "dbox", "dtable", "row", "box", "munder", "mover", "munderover", "table", "itable", "sqrt"})  # fmt: skip
_SCRIPTS = {
    "msub": "msub", "msup": "msup", "msubsup": "msubsup", "munder": "msub", "mover": "msup", "munderover": "msubsup",
}  # fmt: skip
_FONTS = {
    "mjx-b": "bold", "mjx-bi": "bold-italic", "mjx-ss": "sans-serif", "mjx-ty": "monospace", "mjx-ds": "double-struck",
    "mjx-fr": "fraktur", "mjx-sc": "script", "mjx-cal": "script", "mjx-bcal": "script",
}  # fmt: skip

_STRIKES = {
    "ustrike": "updiagonalstrike", "dstrike": "downdiagonalstrike", "hstrike": "horizontalstrike", "vstrike": "verticalstrike",
}  # fmt: skip
_MARKS = {"\u2013": "\u203e", "\u2035": "`"}


def mathml_of_chtml(drawing: Element) -> Element:
    """A `math` with what a drawing shows."""
    return made("math", *_row(drawing))


def _name(element: Element) -> str:
    return element.name.removeprefix("mjx-")


def _row(element: Element) -> Row:
    return [
        part
        for child in element.children
        for part in ([made("mo", child)] if isinstance(child, str) else _parts(child))
        if not isinstance(child, str) or child.strip()
    ]


def _parts(element: Element) -> Row:
    name = _name(element)
    if name in _TOKENS:
        return _token(element, name)
    if name in _SCRIPTS and (script := _own(element, "script")) is not None:
        return [_scripted(element, script, _SCRIPTS[name])]
    if name in ("munder", "mover", "munderover"):
        return _limits(element)
    if name == "mfrac":
        return _fraction(element)
    if name in ("msqrt", "mroot"):
        return _root(element)
    if name == "mtable":
        return [_table(element), *_labels(element)]
    if name == "mspace":
        width = _WIDTH.search(element.attribute("style"))
        return [made("mspace", written=f'width="{width[1]}"')] if width else []
    if name == "menclose":
        strikes = (_STRIKES.get(_name(child), "") for child in element.elements())
        return [made("menclose", *_row(element), written=f'notation="{" ".join(strikes)}"')]
    if name == "c":
        return [made("mo", _characters(element))]
    if name in ("mphantom", "assistive-mml", "surd"):
        return []
    return _row(element)


def _characters(element: Element) -> str:
    """The characters of a token; of a stretched one, the one that is stretched."""
    code = _CODE.search(element.attribute("class"))
    if code and int(code[1], 16) < 0x110000:
        return chr(int(code[1], 16))
    return "".join(
        child if isinstance(child, str) else _characters(child) for child in element.children
    )


def _token(element: Element, name: str) -> Row:
    text = _characters(element)
    if name != "mtext" and not (text := "".join(text.split())):
        return []
    fonts = element.attribute("class").split()
    font = next((_FONTS[each] for each in fonts if each in _FONTS), "")
    if len(text) > 1 or name == "mtext":
        text = text if name == "mo" else unicodedata.normalize("NFKC", text)
    elif not text.isascii():
        font = ""
    elif name == "mi" and "mjx-n" in fonts:
        font = "normal"
    return [made(name, text, written=f'mathvariant="{font}"' if font else "")]


def _own(element: Element, *names: str) -> Element | None:
    """The first element of these names that belongs to one, and to no part of it."""
    for child in element.elements():
        if _name(child) in names:
            return child
        if _name(child) in _BOXES and (found := _own(child, *names)) is not None:
            return found
    return None


def _argument(element: Element | None) -> Element:
    return made("mrow", *(_row(element) if element is not None else ()))


def _scripted(element: Element, script: Element, name: str) -> Element:
    """A base and its scripts, the upper one first."""
    base = made("mrow", *(part for each in element.elements() if each is not script for part in _parts(each)))  # fmt: skip
    scripts: list[Row] = [[]]
    for child in script.elements():
        if _name(child) == "spacer":
            scripts.append([])
        else:
            scripts[-1] += _parts(child)
    return made(name, base, *(made("mrow", *each) for each in reversed(scripts)))


def _limits(element: Element) -> Row:
    base, under, over = (_own(element, name) for name in ("base", "under", "over"))
    if base is None:
        return _row(element)
    name = f"m{'under' if under is not None else ''}{'over' if over is not None else ''}"
    parts = [_group(_row(base))]
    parts += [_mark(part) for part in (under, over) if part is not None]
    return [made(name, *parts)] if len(parts) > 1 else parts


def _mark(element: Element) -> Element:
    """What stands over or under: a line and a grave accent have characters of their own here."""
    mark = _group(_row(element))
    if mark.name == "mo" and (sign := _MARKS.get(mark.text())):
        return made("mo", sign)
    return mark


def _group(row: Row) -> Element:
    return row[0] if len(row) == 1 else made("mrow", *row)


def _fraction(element: Element) -> Row:
    above, below = _own(element, "num"), _own(element, "den")
    if above is None or below is None:
        return _row(element)
    box = _own(element, "frac")
    written = 'linethickness="0"' if box is not None and box.attribute("atop") else ""
    return [made("mfrac", _argument(above), _argument(below), written=written)]


def _root(element: Element) -> Row:
    degree, body = _own(element, "root"), _own(element, "box")
    if body is None:
        return _row(element)
    if degree is None:
        return [made("msqrt", *_row(body))]
    return [made("mroot", _argument(body), _argument(degree))]


def _table(element: Element) -> Element:
    lines = [
        made("mtr", *(made("mtd", *_row(cell)) for cell in line.elements() if _name(cell) == "mtd"))
        for line in _lines(element)
    ]
    sides = [
        side[1]
        for line in list(_lines(element))[:1]
        for cell in line.elements()[:2]
        if (side := _ALIGNED.search(cell.attribute("style")))
    ]
    return made("mtable", *lines, written='columnalign="right left"' if sides == ["right", "left"] else "")  # fmt: skip


def _labels(element: Element) -> Row:
    """The numbers of equations, which stand beside them."""
    row = [part for child in element.elements() if _name(child) == "labels" for part in _row(child)]
    return [made("mspace", written='width="2em"'), *row] if row else []


def _lines(element: Element) -> Iterator[Element]:
    for child in element.elements():
        if _name(child) in ("mtr", "mlabeledtr"):
            yield child
        elif _name(child) in _BOXES:
            yield from _lines(child)
