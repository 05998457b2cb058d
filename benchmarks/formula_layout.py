"""Where the parts of a formula stand, and that as TeX, MathML, HTML and characters: parts of
`formulas.py`.

A layout is a tree of rows, fractions, scripts, roots, accents and tables, with the brackets that its
meaning needs; every form but content MathML is written from it.
"""

from collections.abc import Callable
from html import escape

from formula_trees import Node

_SUM, _BIG, _PRODUCT, _APPLIED, _POWER, _ATOM = range(1, 7)
_RANKS = {
    "rel": 0, "sum": _SUM, "neg": _SUM, "int": _BIG, "big": _BIG, "lim": _BIG, "prod": _PRODUCT, "mixed": _PRODUCT,
    "func": _APPLIED, "deriv": _APPLIED, "pow": _POWER, "fact": _POWER,
}  # fmt: skip
_FLAT = ("num", "sym")
_ALONE = ("num", "sym", "index", "frac", "sqrt", "abs", "call", "pow")
"""What stands after a function without brackets."""


def row(*parts: Node) -> Node:
    return Node("row", "", parts)


def sign(text: str) -> Node:
    return Node("sign", text)


def layout(node: Node) -> Node:
    """Where the parts of a formula stand."""
    kind, parts = node.kind, node.parts
    if kind in _FLAT:
        return node
    if kind in ("frac", "sqrt", "root", "bar", "hat", "vec", "binom"):
        return Node(kind, "", tuple(map(layout, parts)))
    if kind in _WRITERS:
        return _WRITERS[kind](node)
    if kind in ("matrix", "cases"):
        return Node(kind, "", tuple(row(*map(layout, each.parts)) for each in parts))
    raise ValueError(kind)


def _within(node: Node, rank: int) -> Node:
    """A part, in brackets where it holds weaker than its place."""
    inner = layout(node)
    return inner if _RANKS.get(node.kind, _ATOM) >= rank else _fenced("(", inner, ")")


def _fenced(left: str, inner: Node, right: str) -> Node:
    return Node("fence", left + right, (inner,))


def _sum(node: Node) -> Node:
    first, *others = (
        each for part in node.parts for each in (part.parts if part.kind == "sum" else [part])
    )
    written = [_within(first, _SUM)]
    for part in others:
        if part.kind == "neg":
            written += [sign("−"), _within(part.parts[0], _BIG)]
        else:
            written += [sign("+"), _within(part, _BIG)]
    return row(*written)


def _listed(parts: tuple[Node, ...]) -> Node:
    written = [layout(parts[0])]
    for part in parts[1:]:
        written += [sign(","), layout(part)]
    return row(*written)


def _product(node: Node) -> Node:
    """What takes all that follows it stands last, before a function, or in brackets."""
    parts = node.parts
    written = []
    for part, after in zip(parts, (*parts[1:], None), strict=True):
        is_told = after is None or (part.kind == after.kind == "func") or _is_closed(part)
        written.append(_within(part, _BIG if after is None else _PRODUCT if is_told else _POWER))
    return row(*written)


def _is_closed(node: Node) -> bool:
    """Whether it is a function with its argument in brackets."""
    return node.kind == "func" and node.parts[0].kind not in _ALONE


def _power(node: Node) -> Node:
    base, exponent = node.parts
    if base.kind == "index":
        return Node(
            "subsup", "", (layout(base.parts[0]), _listed(base.parts[1:]), layout(exponent))
        )
    return Node("sup", "", (_within(base, _ATOM), layout(exponent)))


def _function(node: Node) -> Node:
    (argument,) = node.parts
    name = Node("name", node.text)
    inner = layout(argument)
    if argument.kind in _ALONE:
        return row(name, inner)
    return row(name, _fenced("(", inner, ")"))


def _big(node: Node) -> Node:
    variable, low, high, body = node.parts
    below = row(layout(variable), sign("="), layout(low))
    return row(Node("limits", node.text, (below, layout(high))), _within(body, _BIG))


def _integral(node: Node) -> Node:
    variable, low, high, body = node.parts
    scripts = Node("subsup", "", (sign("∫"), layout(low), layout(high)))
    return row(scripts, _within(body, _BIG), Node("sym", "d"), layout(variable))


def _limit(node: Node) -> Node:
    variable, bound, body = node.parts
    below = row(layout(variable), sign("→"), layout(bound))
    return row(Node("limits", "lim", (below,)), _within(body, _BIG))


def _derivative(node: Node) -> Node:
    inner, variable = node.parts
    d = Node("sym", "d")
    return row(Node("frac", "", (d, row(d, layout(variable)))), _within(inner, _APPLIED))


_WRITERS: dict[str, Callable[[Node], Node]] = {
    "sum": _sum, "prod": _product, "pow": _power, "func": _function, "big": _big, "int": _integral, "lim": _limit,
    "deriv": _derivative,
    "neg": lambda node: row(sign("−"), _within(node.parts[0], _BIG)),
    "mixed": lambda node: row(*map(layout, node.parts)),
    "index": lambda node: Node("sub", "", (layout(node.parts[0]), _listed(node.parts[1:]))),
    "call": lambda node: row(Node("sym", node.text), _fenced("(", _listed(node.parts), ")")),
    "rel": lambda node: row(layout(node.parts[0]), sign(node.text), layout(node.parts[1])),
    "abs": lambda node: _fenced("|", layout(node.parts[0]), "|"),
    "fact": lambda node: row(_within(node.parts[0], _ATOM), sign("!")),
}  # fmt: skip

_TEX = {
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "θ": r"\theta", "λ": r"\lambda", "μ": r"\mu",
    "π": r"\pi", "σ": r"\sigma", "ω": r"\omega", "∞": r"\infty", "ℝ": r"\mathbb{R}", "−": "-", "≤": r"\leq",
    "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "∈": r"\in", "→": r"\to", "∑": r"\sum", "∏": r"\prod", "∫": r"\int",
}  # fmt: skip
_TEX_OF = {
    "frac": r"\frac{%s}{%s}", "sqrt": r"\sqrt{%s}", "bar": r"\bar{%s}", "hat": r"\hat{%s}", "vec": r"\vec{%s}",
    "binom": r"\binom{%s}{%s}",
}  # fmt: skip


def tex(part: Node) -> str:
    """As people write it in LaTeX."""
    kind, parts = part.kind, part.parts
    if kind in ("num", "sym", "sign"):
        written = _TEX.get(part.text, part.text)
        return f"{written} " if written[0] == "\\" else written
    if kind == "name":
        return f"\\{part.text} "
    inner = [tex(each).strip() for each in parts]
    if kind == "row":
        return "".join(tex(each) for each in parts)
    if kind in _TEX_OF:
        return _TEX_OF[kind] % tuple(inner)
    if kind == "root":
        return rf"\sqrt[{inner[1]}]{{{inner[0]}}}"
    if kind == "fence":
        return rf"\left{part.text[0]}{inner[0]}\right{part.text[1]}"
    if kind in ("matrix", "cases"):
        name = "pmatrix" if kind == "matrix" else "cases"
        rows = (" & ".join(tex(cell).strip() for cell in each.parts) for each in parts)
        return rf"\begin{{{name}}}" + r" \\ ".join(rows) + rf"\end{{{name}}}"
    if kind == "limits":
        base, marks = _TEX.get(part.text, f"\\{part.text}"), "_^"
    else:
        base, *inner = inner
        marks = {"sub": "_", "sup": "^", "subsup": "_^"}[kind]
    return (
        base + "".join(f"{mark}{{{each}}}" for mark, each in zip(marks, inner, strict=False)) + " "
    )


_MATHML_OF = {
    "frac": "<mfrac>%s%s</mfrac>", "sqrt": "<msqrt>%s</msqrt>", "root": "<mroot>%s%s</mroot>",
    "sub": "<msub>%s%s</msub>", "sup": "<msup>%s%s</msup>", "subsup": "<msubsup>%s%s%s</msubsup>",
    "bar": "<mover accent='true'>%s<mo>¯</mo></mover>", "hat": "<mover accent='true'>%s<mo>^</mo></mover>",
    "vec": "<mover accent='true'>%s<mo>→</mo></mover>",
    "binom": "<mrow><mo>(</mo><mfrac linethickness='0'>%s%s</mfrac><mo>)</mo></mrow>",
}  # fmt: skip


def mathml(part: Node) -> str:
    """Presentation MathML, one element."""
    kind, parts = part.kind, part.parts
    if kind in ("num", "sym", "sign", "name"):
        element = {"num": "mn", "sym": "mi", "sign": "mo", "name": "mi"}[kind]
        after = "<mo>\u2061</mo>" if kind == "name" else ""
        return f"<{element}>{escape(part.text)}</{element}>{after}"
    inner = [
        mathml(each) if each.kind != "name" else f"<mrow>{mathml(each)}</mrow>" for each in parts
    ]
    if kind == "row":
        return f"<mrow>{''.join(inner)}</mrow>"
    if kind == "fence":
        left, right = part.text
        return f"<mrow><mo>{left}</mo>{inner[0]}<mo>{right}</mo></mrow>"
    if kind in ("matrix", "cases"):
        rows = ("".join(f"<mtd>{mathml(cell)}</mtd>" for cell in each.parts) for each in parts)
        table = f"<mtable>{''.join(f'<mtr>{each}</mtr>' for each in rows)}</mtable>"
        left, right = ("<mo>(</mo>", "<mo>)</mo>") if kind == "matrix" else ("<mo>{</mo>", "")
        return f"<mrow>{left}{table}{right}</mrow>"
    if kind == "limits":
        if part.text == "lim":
            return f"<munder><mi>lim</mi>{inner[0]}</munder>"
        return f"<munderover><mo>{part.text}</mo>{inner[0]}{inner[1]}</munderover>"
    return _MATHML_OF[kind] % tuple(inner)


class NotInThisForm(ValueError):
    """The form has nothing for a part of this kind."""


def _spaced(sign: str) -> str:
    """A sign with the spaces around it that people write."""
    if sign in "!∫":
        return sign
    return f"{sign} " if sign == "," else f" {sign} "


def in_html(part: Node) -> str:
    """HTML as people write formulas in it: italics, `sup`, `sub`, a slash for a fraction's bar."""
    kind, parts = part.kind, part.parts
    if kind == "sym":
        return f"<i>{part.text}</i>"
    if kind == "name":
        return f"{part.text} "
    if kind == "num":
        return part.text
    if kind == "sign":
        return _spaced(escape(part.text))
    if kind == "row":
        written = "".join(map(in_html, parts))
        return written.strip().replace("− ", "−", 1) if parts[0].text == "−" else written
    if kind == "fence":
        return f"{part.text[0]}{in_html(parts[0])}{part.text[1]}"
    if kind == "frac" and all(each.kind == "num" for each in parts):
        return f"<sup>{in_html(parts[0])}</sup>⁄<sub>{in_html(parts[1])}</sub>"
    if kind == "frac":
        return "/".join(_one(each, in_html) for each in parts)
    if kind in ("sub", "sup", "subsup"):
        base, *scripts = map(in_html, parts)
        names = {"sub": ["sub"], "sup": ["sup"], "subsup": ["sub", "sup"]}[kind]
        return base + "".join(
            f"<{name}>{each.replace(' ', '')}</{name}>" for name, each in zip(names, scripts, strict=True)
        )  # fmt: skip
    if kind == "limits":
        scripts = zip(("sub", "sup"), map(in_html, parts), strict=False)
        return (
            part.text
            + "".join(f"<{name}>{each.replace(' ', '')}</{name}>" for name, each in scripts)
            + " "
        )
    if kind == "sqrt":
        return f"√{_one(parts[0], in_html)}"
    if kind in _COMBINING:
        return f"<i>{in_characters(parts[0])}{_COMBINING[kind]}</i>"
    raise NotInThisForm(kind)


_COMBINING = {"bar": "\u0304", "hat": "\u0302", "vec": "\u20d7"}


def _one(part: Node, write: Callable[[Node], str]) -> str:
    """What stands beside a slash, or after a root: in brackets where it is more than one thing."""
    written = write(part)
    return written if part.kind not in ("row", "frac", "limits") else f"({written})"


_RAISED = dict(zip("0123456789+−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", strict=True))
_LOWERED = dict(zip("0123456789+−=()aeoxijk", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓᵢⱼₖ", strict=True))
_FRACTIONS = {"1/2": "½", "1/4": "¼", "3/4": "¾", "1/3": "⅓", "2/3": "⅔", "5/8": "⅝"}


def in_characters(part: Node) -> str:
    """Characters of Unicode alone: `x²`, `a₁`, `½`, `√(x + 1)`."""
    kind, parts = part.kind, part.parts
    if kind in ("num", "sym"):
        return part.text
    if kind == "name":
        return f"{part.text} "
    if kind == "sign":
        return _spaced(part.text)
    if kind == "row":
        written = "".join(map(in_characters, parts))
        return written.strip().replace("− ", "−", 1) if parts[0].text == "−" else written
    if kind == "fence":
        return f"{part.text[0]}{in_characters(parts[0])}{part.text[1]}"
    if kind == "frac":
        plain = "/".join(_one(each, in_characters) for each in parts)
        return _FRACTIONS.get(plain, plain)
    if kind == "sqrt":
        return f"√{_one(parts[0], in_characters)}"
    if kind in _COMBINING:
        return in_characters(parts[0]) + _COMBINING[kind]
    if kind in ("sub", "sup", "subsup"):
        base, *scripts = map(in_characters, parts)
        tables = {"sub": [_LOWERED], "sup": [_RAISED], "subsup": [_LOWERED, _RAISED]}[kind]
        written = [base]
        for table, script in zip(tables, scripts, strict=True):
            if not all(char in table for char in script.replace(" ", "")):
                raise NotInThisForm(script)
            written += [table[char] for char in script.replace(" ", "")]
        return "".join(written)
    raise NotInThisForm(kind)
