"""Formulas as the boxes that KaTeX and MathJax 3 draw them with, and nothing beside: a part of
`formulas.py`.

Both are written as the programs write them (KaTeX 0.16, `output: "html"`; MathJax 3, CHTML), with
heights that are about right: a drawing says by them what is above and what is below.
"""

from html import escape

from formula_trees import Node

_UP, _DOWN = {"sup", "subsup"}, {"sub", "subsup"}
_ACCENTS = {"bar": "ˉ", "hat": "^", "vec": ""}
_VEC = '<span class="overlay" style="height:0.714em;width:0.471em;"><svg width="0.471em" height="0.714em" viewBox="0 0 471 714"><path d="M377 20c0-5.333 1.833-10 5.5-14S391 0 397 0z"></path></svg></span>'  # fmt: skip
_SURD = '<span class="hide-tail" style="min-width:0.853em;height:1.08em;"><svg width="400em" height="1.08em" viewBox="0 0 400000 1080"><path d="M95,702c-2.7,0,-7.17,-2.7z"></path></svg></span>'  # fmt: skip
_LINE = '<span class="frac-line" style="border-bottom-width:0.04em;"></span>'
_SPACE = '<span class="mspace" style="margin-right:0.2778em;"></span>'


def _span(name: str, *inside: str) -> str:
    return f'<span class="{name}">{"".join(inside)}</span>'


def _stacked(*levels: tuple[float, str], tall: float = 3.0) -> str:
    """A `vlist`, the lowest part first, each so far below the line."""
    strut = f'<span class="pstrut" style="height:{tall}em;"></span>'
    parts = "".join(
        f'<span style="top:{below - tall:.4f}em;">{strut}{inside}</span>'
        for below, inside in levels
    )
    above = f'<span class="vlist-r"><span class="vlist" style="height:1.3214em;">{parts}</span><span class="vlist-s">\u200b</span></span>'
    below = '<span class="vlist-r"><span class="vlist" style="height:0.686em;"><span></span></span></span>'
    return _span("vlist-t vlist-t2", above, below)


def _small(inside: str) -> str:
    return _span("sizing reset-size6 size3 mtight", _span("mord mtight", inside))


def katex_boxes(part: Node) -> str:
    """A part as KaTeX draws it."""
    kind, parts = part.kind, part.parts
    if kind in ("num", "sym", "sign", "name"):
        return _katex_token(part)
    if kind == "limits":
        return _katex_limits(part)
    if kind in ("matrix", "cases"):
        return _katex_table(part)
    inner = [katex_boxes(each) for each in parts]
    if kind == "row":
        return _span("mord", *inner)
    if kind == "frac":
        fraction = _span("mfrac", _stacked((0.686, inner[1]), (-0.23, _LINE), (-0.677, inner[0])))
        return _span("mord", _span("mopen nulldelimiter"), fraction, _span("mclose nulldelimiter"))
    if kind == "binom":
        fraction = _span("mfrac", _stacked((0.686, inner[1]), (-0.677, inner[0])))
        return _span("mord", _katex_bracket("("), fraction, _katex_bracket(")"))
    if kind in ("sqrt", "root"):
        degree = _span("root", _span("vlist-t", _stacked((-0.6, _small(inner[1]))))) if kind == "root" else ""  # fmt: skip
        return _span("mord sqrt", degree, _stacked((0.0, _span("mord", inner[0])), (0.1, _SURD)))
    if kind in _ACCENTS:
        mark = _ACCENTS[kind]
        body = _span("accent-body", _span("mord", mark) if mark else _VEC)
        return _span("mord accent", _stacked((0.0, inner[0]), (0.0, body)))
    if kind == "fence":
        left, right = part.text
        return _span("minner", _katex_bracket(left), *inner, _katex_bracket(right))
    base, *scripts = inner
    heights = [0.15] * (kind in _DOWN) + [-0.363] * (kind in _UP)
    levels = ((height, _small(each)) for height, each in zip(heights, scripts, strict=True))
    return _span("mord", base, _span("msupsub", _stacked(*levels, tall=2.7)))


def _katex_token(part: Node) -> str:
    text = escape(part.text)
    if part.kind == "name":
        return _span("mop", text)
    if part.kind == "sym":
        return _span("mord" if part.text in "∞ℝ" else "mord mathnormal", text)
    if part.kind == "num":
        return _span("mord", text)
    if part.text in "+−":
        return _SPACE + _span("mbin", text) + _SPACE
    if part.text in "!∫":
        return _span("mclose" if part.text == "!" else "mop op-symbol large-op", text)
    return _span("mpunct", ",") if part.text == "," else _SPACE + _span("mrel", text) + _SPACE


def _katex_bracket(sign: str) -> str:
    side = "mopen" if sign in "([{" else "mclose"
    return f'<span class="{side} delimcenter" style="top:0em;">{sign.replace("|", "∣")}</span>'


def _katex_limits(part: Node) -> str:
    sign = (
        _span("mop", part.text)
        if part.text == "lim"
        else _span("mop op-symbol large-op", part.text)
    )
    below, *above = (_small(katex_boxes(each)) for each in part.parts)
    levels = [(1.1777, below), (0.0, f"<span>{sign}</span>"), *((-1.25, each) for each in above)]
    return _span("mop op-limits", _stacked(*levels, tall=3.05))


def _katex_table(part: Node) -> str:
    side = "c" if part.kind == "matrix" else "l"
    columns = (
        _span(
            f"col-align-{side}",
            _stacked(*((1.2 * n - 0.61, _span("mord", katex_boxes(row.parts[column]))) for n, row in enumerate(part.parts))),
        )
        for column in range(len(part.parts[0].parts))
    )  # fmt: skip
    gap = '<span class="arraycolsep" style="width:0.5em;"></span>'
    table = _span("mord", _span("mtable", (gap + gap).join(columns)))
    if part.kind == "matrix":
        return _span("minner", _katex_bracket("("), table, _katex_bracket(")"))
    pieces = ((1.0, "⎩"), (0.0, "⎨"), (-1.0, "⎧"))
    inners = (
        (below, _span("delimsizinginner delim-size4", f"<span>{piece}</span>"))
        for below, piece in pieces
    )
    brace = _span("mopen", _span("delimsizing mult", _stacked(*inners, tall=3.15)))
    return _span("minner", brace, table, _span("mclose nulldelimiter"))


def _mjx(name: str, *inside: str) -> str:
    return f"<mjx-{name}>{''.join(inside)}</mjx-{name}>"


def _drawn(char: str, is_italic: bool) -> str:
    """An empty element whose class is the character's code."""
    code = ord(char)
    if is_italic and "a" <= char <= "z":
        code = 0x210E if char == "h" else 0x1D44E + code - ord("a")
    elif is_italic and "A" <= char <= "Z":
        code = 0x1D434 + code - ord("A")
    elif is_italic and "α" <= char <= "ω":
        code = 0x1D6FC + code - ord("α")
    return f'<mjx-c class="mjx-c{code:X}{" TEX-I" if is_italic else ""}"></mjx-c>'


def mathjax_boxes(part: Node) -> str:
    """A part as MathJax 3 draws it."""
    kind, parts = part.kind, part.parts
    if kind in ("num", "sym", "sign", "name"):
        element = {"num": "mn", "sym": "mi", "sign": "mo", "name": "mi"}[kind]
        return _mjx(element, *(_drawn(char, kind == "sym") for char in part.text))
    if kind == "limits":
        return _mathjax_limits(part)
    if kind in ("matrix", "cases"):
        rows = (
            _mjx("mtr", *(_mjx("mtd", mathjax_boxes(cell), _mjx("tstrut")) for cell in each.parts))
            for each in parts
        )
        table = _mjx("mtable", _mjx("table", _mjx("itable", *rows)))
        left, right = (_sign("("), _sign(")")) if kind == "matrix" else (_sign("{"), "")
        return _mjx("mrow", left, table, right)
    inner = [mathjax_boxes(each) for each in parts]
    if kind == "row":
        return _mjx("mrow", *inner)
    if kind == "fence":
        return _mjx("mrow", _sign(part.text[0]), *inner, _sign(part.text[1]))
    if kind in ("frac", "binom"):
        return _mathjax_fraction(inner, has_line=kind == "frac")
    if kind in ("sqrt", "root"):
        root = _mjx("sqrt", _mjx("surd", _sign("√")), _mjx("box", inner[0]))
        return (
            _mjx("mroot", _mjx("root", inner[1]), root) if kind == "root" else _mjx("msqrt", root)
        )
    if kind in _ACCENTS:
        mark = _sign({"bar": "¯", "hat": "^", "vec": "→"}[kind])
        return _mjx("mover", _mjx("over", mark), _mjx("base", inner[0]))
    base, *scripts = inner
    script = _mjx("script", _mjx("spacer").join(reversed(scripts)))
    return _mjx(f"m{kind}", base, script)


def _sign(char: str) -> str:
    return _mjx("mo", _drawn(char, is_italic=False))


def _mathjax_fraction(inner: list[str], has_line: bool) -> str:
    numerator = _mjx("num", _mjx("nstrut"), inner[0])
    denominator = _mjx("row", _mjx("den", _mjx("dstrut"), inner[1]))
    line = _mjx("line") if has_line else ""
    boxes = numerator + _mjx("dbox", _mjx("dtable", line, denominator))
    if has_line:
        return _mjx("mfrac", _mjx("frac", boxes))
    return _mjx("mrow", _sign("("), f'<mjx-mfrac><mjx-frac atop="true">{boxes}</mjx-frac></mjx-mfrac>', _sign(")"))  # fmt: skip


def _mathjax_limits(part: Node) -> str:
    below, *above = map(mathjax_boxes, part.parts)
    base = _mjx("mo", *(_drawn(char, is_italic=False) for char in part.text))
    rows = _mjx("row", _mjx("base", base)) + _mjx("row", _mjx("under", below))
    if not above:
        return _mjx("munder", rows)
    return _mjx("munderover", _mjx("over", above[0]), _mjx("box", _mjx("munder", rows)))
