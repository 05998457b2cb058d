"""Presentation MathML as TeX: each element is written as what LaTeX has for it.

The elements are those of MathML Core and MathML 3, section 3. A row is its parts in order; fences
around one table make it a `pmatrix`, `bmatrix`, `vmatrix` or `cases`, around a fraction without a bar
a `\\binom`. What has no TeX (`maction`, styles, colours) counts as its content.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from pageblocks.formulas.characters import (
    ACCENTS,
    FUNCTIONS,
    IN_TEXT,
    UNDER_ACCENTS,
    tex_of_character,
)
from pageblocks.formulas.content import CONTENT, tex_of_content
from pageblocks.formulas.elements import Element
from pageblocks.formulas.joining import base_of, concatenate, join, with_scripts

MAX_TOKENS = 4096
"""Tokens whose TeX is kept, of each kind: pages repeat them."""
_SPACES = re.compile(r"\s+")
_NO_BAR = re.compile(r"0+(?:\.0*)?\s*(?:px|pt|em|ex|%)?")
_WIDTH = re.compile(r"\s*(-?[0-9]*\.?[0-9]+)\s*(em|ex|px|pt|%|cm|mm|in)?")
_WIDE_SPACE = {"em": 0.9, "ex": 1.8, "px": 14.0, "pt": 9.0}
_PASSED_OVER = frozenset({"annotation", "annotation-xml", "mphantom", "none", "mprescripts", "malignmark", "maligngroup"})  # fmt: skip
_TRANSPARENT = frozenset({"mrow", "mstyle", "mpadded", "merror", "math", "texatom", ""})
_WITH_LIMITS = (
    "\\sum \\prod \\coprod \\int \\iint \\iiint \\oint \\bigcap \\bigcup \\bigwedge \\bigvee \\bigoplus \\bigotimes "
    "\\bigodot \\bigsqcup \\biguplus \\lim \\limsup \\liminf \\max \\min \\sup \\inf \\det \\gcd \\Pr"
)
_OPERATORS = frozenset(_WITH_LIMITS.split())
_ARROWS = {
    r"\rightarrow": r"\xrightarrow", r"\longrightarrow": r"\xrightarrow",
    r"\leftarrow": r"\xleftarrow", r"\longleftarrow": r"\xleftarrow",
}  # fmt: skip
_MATRICES = {
    ("(", ")"): "pmatrix", ("[", "]"): "bmatrix", ("|", "|"): "vmatrix", (r"\|", r"\|"): "Vmatrix",
    (r"\{", r"\}"): "Bmatrix", (r"\{", ""): "cases",
}  # fmt: skip
_MATRIX, _MATRIX_END = r"\begin{matrix}", r"\end{matrix}"
_CLOSING = frozenset(")]}|⟩⌉⌋!′")
"""Signs that end what stands before a relation."""
_STRIKES = {
    frozenset({"updiagonalstrike"}): r"\cancel",
    frozenset({"downdiagonalstrike"}): r"\bcancel",
    frozenset({"updiagonalstrike", "downdiagonalstrike"}): r"\xcancel",
}
_DIAGONALS = frozenset({"updiagonalstrike", "downdiagonalstrike"})
_LINE_END, _ROMAN = " \\\\ ", r"\mathrm"
_VARIANTS = {
    "bold": r"\mathbf", "bold-italic": r"\boldsymbol", "double-struck": r"\mathbb", "script": r"\mathcal",
    "bold-script": r"\mathcal", "fraktur": r"\mathfrak", "bold-fraktur": r"\mathfrak", "sans-serif": r"\mathsf",
    "bold-sans-serif": r"\mathsf", "sans-serif-italic": r"\mathsf", "monospace": r"\mathtt",
}  # fmt: skip


def tex_of(element: Element) -> str:
    """An element as TeX."""
    write = _WRITERS.get(element.name)
    if write is not None:
        return write(element)
    if element.name in _PASSED_OVER:
        return ""
    if element.name in CONTENT:
        return tex_of_content(element, tex_of)
    return _row(element)


def _parts(element: Element) -> list[str]:
    """Its child elements as TeX, each an argument."""
    return [tex_of(child) for child in element.elements()]


def _argument(parts: list[str], place: int) -> str:
    return parts[place] if place < len(parts) else ""


def _single(element: Element | str) -> Element | str:
    """What an element holds, where it is nothing but a row of one."""
    while isinstance(element, Element) and element.name in _TRANSPARENT:
        inner = [each for each in element.children if isinstance(each, Element) or each.strip()]
        if len(inner) != 1:
            break
        element = inner[0]
    return element


def _row(element: Element) -> str:
    return _in_a_row(
        [child for child in element.children if isinstance(child, Element) or child.strip()]
    )


def _in_a_row(children: list[Element | str]) -> str:
    singles = [_single(child) for child in children]
    _tell_norms(singles)
    parts = [_characters(each) if isinstance(each, str) else tex_of(each) for each in singles]
    for place, each in enumerate(singles):
        if isinstance(each, str) or each.name not in ("mtable", "mfrac"):
            continue
        before = parts[place - 1] if place else ""
        after = parts[place + 1] if place + 1 < len(parts) else ""
        if each.name == "mfrac":
            if (before, after) == ("(", ")") and _has_no_bar(each):
                parts[place] = r"\binom" + parts[place].removeprefix(r"\genfrac{}{}{0pt}{}")
                parts[place - 1] = parts[place + 1] = ""
            continue
        kind = _MATRICES.get((before, after))
        if kind is not None and parts[place].startswith(_MATRIX):
            inner = parts[place].removeprefix(_MATRIX).removesuffix(_MATRIX_END)
            parts[place] = rf"\begin{{{kind}}}{inner}\end{{{kind}}}"
            parts[place - 1] = ""
            if after:
                parts[place + 1] = ""
    return join(parts)


def _tell_norms(row: list[Element | str]) -> None:
    """Write the double bars of a row that are fences as `‖`: generators write `\\|` and `\\parallel` alike.

    A fence says so, or is called an identifier; without that, one with nothing to relate before it opens,
    and the next one closes. Scripts are set on the closing one.
    """
    is_open = False
    has_left = False  # something that a relation can stand behind
    for each in row:
        bar = _double_bar(each)
        if bar is None:
            is_sign = isinstance(each, Element) and each.name == "mo"
            has_left = not is_sign or (
                isinstance(each, Element) and each.text().strip() in _CLOSING
            )
            continue
        form, kind = bar.attribute("form"), bar.attribute("data-mjx-texclass")
        opens = form == "prefix" or kind == "OPEN"
        closes = form == "postfix" or kind == "CLOSE"
        is_fence = (
            opens or closes or kind == "ORD" or bar.name == "mi" or bar.attribute("fence") == "true"
        )
        if is_fence or is_open or not has_left:
            bar.children = ["‖"]
            is_open = opens or (not closes and not is_open)
            has_left = not is_open
        else:
            has_left = False


def _double_bar(element: Element | str) -> Element | None:
    """The token that is one, alone or with scripts on it."""
    if isinstance(element, Element) and element.name in ("msub", "msup", "msubsup"):
        inner = element.elements()
        element = _single(inner[0]) if inner else element
    if isinstance(element, Element) and element.name in ("mo", "mi"):
        return element if _token(element) == "∥" else None
    return None


def _characters(text: str) -> str:
    return concatenate(tex_of_character(char) for char in "".join(text.split()))


def _token(element: Element) -> str | None:
    """The text of a token; None where elements stand in it."""
    children = element.children
    if len(children) == 1 and isinstance(children[0], str):
        return children[0].strip()
    if any(isinstance(child, Element) for child in children):
        return None
    return "".join(str(child) for child in children).strip()


def _identifier(element: Element) -> str:
    text = _token(element)
    return _row(element) if text is None else _of_identifier(text, element.attribute("mathvariant"))


@lru_cache(maxsize=MAX_TOKENS)
def _of_identifier(text: str, variant: str) -> str:
    if len(text) == 1:
        tex = tex_of_character(text)
        if variant == "normal":
            return rf"\mathrm{{{tex}}}" if text.isascii() and text.isalpha() else tex
        command = _VARIANTS.get(variant)
        if tex.startswith("\\") or not tex.isascii():
            command = command and r"\boldsymbol"
        return f"{command}{{{tex}}}" if command else tex
    if text in FUNCTIONS:
        return f"\\{text}"
    words = _SPACES.sub(" ", text)
    if words.isascii() and words.isalpha():
        return f"{_VARIANTS.get(variant, _ROMAN)}{{{words}}}"
    if words.replace(" ", "").isalpha() and len(words) > 2 and words == words.translate(IN_TEXT):
        return rf"\text{{{words}}}"
    return _characters(text)


def _number(element: Element) -> str:
    text = _token(element)
    return _row(element) if text is None else _of_number(text, element.attribute("mathvariant"))


@lru_cache(maxsize=MAX_TOKENS)
def _of_number(text: str, variant: str) -> str:
    tex = concatenate(tex_of_character(char) for char in _SPACES.sub("\u2009", text))
    command = _VARIANTS.get(variant)
    return f"{command}{{{tex}}}" if command and tex else tex


def _operator(element: Element) -> str:
    text = _token(element)
    return _row(element) if text is None else _of_operator(text)


@lru_cache(maxsize=MAX_TOKENS)
def _of_operator(text: str) -> str:
    if len(text) > 1 and text.isascii() and text.isalpha():
        return f"\\{text}" if text in FUNCTIONS else rf"\operatorname{{{text}}}"
    if text == "||":
        return r"\|"
    return _characters(text)


def _text(element: Element) -> str:
    parts = []
    for child in element.children:
        if isinstance(child, Element):
            parts.append(tex_of(child))
            continue
        words = _SPACES.sub(" ", child.replace("\xa0", " "))
        if not words.strip():
            parts.append(r"\ " if words else "")
        elif any(char.isalnum() for char in words):
            parts.append(rf"\text{{{words.translate(IN_TEXT)}}}")
        else:
            parts.append(_characters(words))
    return join(parts)


def _quoted(element: Element) -> str:
    left, right = element.attribute("lquote", '"'), element.attribute("rquote", '"')
    return (
        rf"\text{{{(left + _SPACES.sub(' ', element.text().strip()) + right).translate(IN_TEXT)}}}"
    )


def _space(element: Element) -> str:
    if element.attribute("linebreak") == "newline":
        return r"\\"
    width = _WIDTH.match(element.attribute("width"))
    if width is None or float(width[1]) <= 0:
        return ""
    return r"\quad" if float(width[1]) >= _WIDE_SPACE.get(width[2] or "em", 1.0) else r"\,"


def _has_no_bar(element: Element) -> bool:
    return _NO_BAR.fullmatch(element.attribute("linethickness").strip()) is not None


def _fraction(element: Element) -> str:
    parts = _parts(element)
    bar = r"\genfrac{}{}{0pt}{}" if _has_no_bar(element) else r"\frac"
    return f"{bar}{{{_argument(parts, 0)}}}{{{_argument(parts, 1)}}}"


def _square_root(element: Element) -> str:
    return rf"\sqrt{{{_row(element)}}}"


def _root(element: Element) -> str:
    parts = _parts(element)
    return rf"\sqrt[{_argument(parts, 1)}]{{{_argument(parts, 0)}}}"


def _scripts(element: Element, sub: int, sup: int) -> str:
    """A base with what stands at these places. A base that has a script of the other kind already
    needs no braces."""
    parts = _parts(element)
    if not parts:
        return ""
    single = _single(element.elements()[0])
    inner = single.name if isinstance(single, Element) else ""
    is_set = (inner == "msub" and not sub) or (inner == "msup" and not sup)
    base = parts[0] if is_set else base_of(parts[0])
    return with_scripts(
        base, _argument(parts, sub) if sub else "", _argument(parts, sup) if sup else ""
    )


def _sub(element: Element) -> str:
    return _scripts(element, 1, 0)


def _sup(element: Element) -> str:
    return _scripts(element, 0, 1)


def _sub_sup(element: Element) -> str:
    return _scripts(element, 1, 2)


def _has_limits(tex: str) -> bool:
    """Whether what stands under and over it are its limits."""
    return tex in _OPERATORS or tex.startswith(
        (r"\mathrm{", r"\operatorname{", r"\overbrace{", r"\underbrace{")
    )


def _over(base: str, over: str, accent: str) -> str:
    if not over:
        return base
    if accent in ACCENTS:
        one, more = ACCENTS[accent]
        letters = base.removeprefix("\\")
        return f"\\{one if len(letters) == 1 or (letters != base and letters.isalpha()) else more}{{{base}}}"
    if _has_limits(base):
        return with_scripts(base, sup=over)
    if base in _ARROWS:
        return f"{_ARROWS[base]}{{{over}}}"
    return rf"\overset{{{over}}}{{{base}}}"


def _under(base: str, under: str, accent: str) -> str:
    if not under:
        return base
    if accent in UNDER_ACCENTS:
        return f"\\{UNDER_ACCENTS[accent]}{{{base}}}"
    if _has_limits(base):
        return with_scripts(base, sub=under)
    return rf"\underset{{{under}}}{{{base}}}"


def _accent(element: Element, place: int) -> str:
    """The characters of a script that may be an accent."""
    children = element.elements()
    return "".join(children[place].text().split()) if place < len(children) else ""


def _mover(element: Element) -> str:
    parts = _parts(element)
    return _over(_argument(parts, 0), _argument(parts, 1), _accent(element, 1))


def _munder(element: Element) -> str:
    parts = _parts(element)
    return _under(_argument(parts, 0), _argument(parts, 1), _accent(element, 1))


def _munderover(element: Element) -> str:
    parts = _parts(element)
    base, under, over = (_argument(parts, place) for place in range(3))
    if _has_limits(base):
        return with_scripts(base, under, over)
    if base in _ARROWS:
        return f"{_ARROWS[base]}[{under}]{{{over}}}"
    return _under(_over(base, over, _accent(element, 2)), under, _accent(element, 1))


def _many_scripts(element: Element) -> str:
    """`mmultiscripts`: pairs of scripts after the base, and after `mprescripts` before it."""
    children = element.elements()
    if not children:
        return ""
    sides: list[list[str]] = [[], []]
    side = 0
    for child in children[1:]:
        if child.name == "mprescripts":
            side = 1
        else:
            sides[side].append(tex_of(child))
    after, before = (
        [
            with_scripts("{}", *pair)
            for pair in zip(side[::2], [*side[1::2], ""], strict=False)
            if any(pair)
        ]
        for side in sides
    )
    base = base_of(tex_of(children[0]))
    if after:
        after[0] = after[0].removeprefix("{}")
    return "".join([*before, base, *after])


def _table(element: Element) -> str:
    rows = []
    for row in element.elements():
        if row.name not in ("mtr", "mlabeledtr", "tr"):
            continue
        cells = [_row(cell) for cell in row.elements()]
        label = ""
        if row.name == "mlabeledtr" and cells:
            label = rf" \tag{{{cells.pop(0)}}}"
        rows.append(" & ".join(cells) + label)
    kind = "matrix"
    if element.attribute("columnalign").split()[:2] == ["right", "left"]:
        kind = "aligned"
    return rf"\begin{{{kind}}}{_LINE_END.join(rows)}\end{{{kind}}}"


def _fenced(element: Element) -> str:
    opening = _characters(element.attribute("open", "("))
    closing = _characters(element.attribute("close", ")"))
    marks = "".join(element.attribute("separators", ",").split())
    children = element.elements()
    if len(children) == 1:
        single = _single(children[0])
        if isinstance(single, Element) and single.name in ("mtable", "mfrac"):
            around = Element("mrow", "")
            left, right = Element("mo", ""), Element("mo", "")
            left.children.append(element.attribute("open", "("))
            right.children.append(element.attribute("close", ")"))
            around.children = [left, single, right]
            return _row(around)
    parts = [opening]
    for place, child in enumerate(children):
        if place and marks:
            parts.append(tex_of_character(marks[min(place, len(marks)) - 1]))
        parts.append(tex_of(child))
    return join([*parts, closing])


def _enclosed(element: Element) -> str:
    row = _row(element)
    notations = element.attribute("notation", "longdiv").split()
    if strike := _STRIKES.get(_DIAGONALS.intersection(notations)):
        row = f"{strike}{{{row}}}"
    for notation in notations:
        if notation == "radical":
            row = rf"\sqrt{{{row}}}"
        elif notation in ("box", "roundedbox"):
            row = rf"\boxed{{{row}}}"
        elif notation == "circle":
            row = rf"\enclose{{circle}}{{{row}}}"
        elif notation in ("horizontalstrike", "verticalstrike"):
            row = rf"\enclose{{{notation}}}{{{row}}}"
        elif notation == "top":
            row = rf"\overline{{{row}}}"
        elif notation == "bottom":
            row = rf"\underline{{{row}}}"
    return row


def _first(element: Element) -> str:
    """`semantics` and `maction`: the first of their children that is no annotation."""
    for child in element.elements():
        if child.name not in _PASSED_OVER:
            return tex_of(child)
    for child in element.elements():
        if child.name == "annotation-xml":
            return _row(child)
    return ""


def _glyph(element: Element) -> str:
    alt = element.attribute("alt")
    return rf"\text{{{alt.translate(IN_TEXT)}}}" if alt else ""


_WRITERS: dict[str, Callable[[Element], str]] = {
    "mi": _identifier, "mn": _number, "mo": _operator, "mtext": _text, "ms": _quoted, "mspace": _space,
    "mfrac": _fraction, "msqrt": _square_root, "mroot": _root, "msub": _sub, "msup": _sup, "msubsup": _sub_sup,
    "mover": _mover, "munder": _munder, "munderover": _munderover, "mmultiscripts": _many_scripts,
    "mtable": _table, "mfenced": _fenced, "menclose": _enclosed, "semantics": _first, "maction": _first,
    "mglyph": _glyph,
}  # fmt: skip
