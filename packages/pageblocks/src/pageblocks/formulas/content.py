"""Content MathML as TeX: what an operator is applied to is written around its sign.

The elements are those of MathML 3, section 4. Brackets are written where an argument binds weaker than
its place does. An operator without a sign of its own is a function: `f(x,y)`.
"""

import re
from collections.abc import Callable, Iterable

from pageblocks.formulas.characters import FUNCTIONS, IN_TEXT, tex_of_character
from pageblocks.formulas.elements import Element
from pageblocks.formulas.joining import base_of, concatenate, join, with_scripts

Convert = Callable[[Element], str]
Ranked = tuple[str, int]

_LOGIC, _RELATION, _SUM, _RANGE, _PRODUCT, _APPLIED, _POWER, _ATOM = range(8)
"""How strongly what an operator gives holds together; `_RANGE` are sums, integrals and limits, which
take the product after them, and products that end in what takes the next factor."""

_INFIX = {
    "plus": ("+", _SUM), "union": (r"\cup", _SUM), "intersect": (r"\cap", _SUM), "setdiff": (r"\setminus", _SUM),
    "cartesianproduct": (r"\times", _PRODUCT), "vectorproduct": (r"\times", _PRODUCT),
    "scalarproduct": (r"\cdot", _PRODUCT), "outerproduct": (r"\otimes", _PRODUCT), "compose": (r"\circ", _PRODUCT),
    "rem": (r"\bmod", _PRODUCT), "eq": ("=", _RELATION), "neq": (r"\neq", _RELATION), "lt": ("<", _RELATION),
    "gt": (">", _RELATION), "leq": (r"\leq", _RELATION), "geq": (r"\geq", _RELATION),
    "equivalent": (r"\equiv", _RELATION), "approx": (r"\approx", _RELATION), "factorof": (r"\mid", _RELATION),
    "in": (r"\in", _RELATION), "notin": (r"\notin", _RELATION), "subset": (r"\subseteq", _RELATION),
    "prsubset": (r"\subset", _RELATION), "notsubset": (r"\nsubseteq", _RELATION),
    "notprsubset": (r"\not\subset", _RELATION), "tendsto": (r"\to", _RELATION), "and": (r"\land", _LOGIC),
    "or": (r"\lor", _LOGIC), "xor": (r"\oplus", _LOGIC), "implies": (r"\implies", _LOGIC),
}  # fmt: skip
_AROUND = {
    "abs": ("|", "|"), "card": ("|", "|"), "floor": (r"\lfloor", r"\rfloor"), "ceiling": (r"\lceil", r"\rceil"),
    "conjugate": (r"\overline{", "}"), "mean": (r"\overline{", "}"), "root": (r"\sqrt{", "}"), "set": (r"\{", r"\}"),
    "list": ("[", "]"), "vector": ("(", ")"),
}  # fmt: skip
_AFTER = {"factorial": "!", "inverse": "^{-1}", "transpose": "^T"}
_BEFORE = {
    "not": r"\neg", "grad": r"\nabla", "divergence": r"\nabla\cdot", "curl": r"\nabla\times",
    "laplacian": r"\nabla^2", "determinant": r"\det", "real": r"\Re", "imaginary": r"\Im",
}  # fmt: skip
_BIG = {"sum": r"\sum", "product": r"\prod", "int": r"\int", "limit": r"\lim", "forall": r"\forall", "exists": r"\exists"}  # fmt: skip
_CONSTANTS = {
    "pi": r"\pi", "exponentiale": "e", "imaginaryi": "i", "infinity": r"\infty", "eulergamma": r"\gamma",
    "emptyset": r"\emptyset", "integers": r"\mathbb{Z}", "reals": r"\mathbb{R}", "rationals": r"\mathbb{Q}",
    "naturalnumbers": r"\mathbb{N}", "complexes": r"\mathbb{C}", "primes": r"\mathbb{P}", "true": r"\mathrm{true}",
    "false": r"\mathrm{false}", "notanumber": r"\mathrm{NaN}", "ident": r"\mathrm{id}",
}  # fmt: skip
_COMMAND_NAME = re.compile(r"\\([A-Za-z]+)")
_LINE_END = " \\\\ "
_CLOSURES = {"open": "()", "closed": "[]", "open-closed": "(]", "closed-open": "[)"}
_QUALIFIERS = frozenset({"bvar", "lowlimit", "uplimit", "condition", "degree", "logbase", "domainofapplication", "interval"})  # fmt: skip
_FUNCTION_NAMES = {"arccosh": "arccosh", "arcsinh": "arcsinh", "arctanh": "arctanh", "variance": "Var", "sdev": "sd", "median": "median", "mode": "mode", "arccot": "arccot", "lcm": "lcm", "sech": "sech", "csch": "csch"}  # fmt: skip
_STRUCTURES = frozenset(
    {"apply", "reln", "bind", "ci", "cn", "csymbol", "cs", "lambda", "piecewise", "matrix", "matrixrow", "interval",
     "list", "set", "vector", "declare", "fn", "condition"}
)  # fmt: skip
CONTENT = _STRUCTURES | set(_CONSTANTS)
"""Elements that are written here, where they stand in a row."""


def tex_of_content(element: Element, convert: Convert) -> str:
    """An element of content as TeX; `convert` writes presentation that stands inside."""
    return _Writer(convert).of(element)[0]


class _Writer:
    def __init__(self, convert: Convert) -> None:
        self._convert = convert

    def of(self, element: Element) -> Ranked:
        """An element, and how strongly it holds together."""
        name, children = element.name, element.elements()
        if name in _CONSTANTS:
            return _CONSTANTS[name], _ATOM
        if name in ("apply", "reln", "bind"):
            return self._applied(children)
        if name == "cn":
            return self._number(element)
        if name in ("ci", "csymbol", "cs"):
            return self._symbol(element)
        if name in ("set", "list", "vector"):
            left, right = _AROUND[name]
            return join([left, self._list(children), right]), _ATOM
        if name == "interval":
            brackets = _CLOSURES.get(element.attribute("closure"), "[]")
            return f"{brackets[0]}{self._list(children)}{brackets[1]}", _ATOM
        if name == "matrix":
            rows = (" & ".join(self.of(cell)[0] for cell in row.elements()) for row in children)
            return rf"\begin{{pmatrix}}{_LINE_END.join(rows)}\end{{pmatrix}}", _ATOM
        if name == "piecewise":
            return (
                rf"\begin{{cases}}{_LINE_END.join(self._piece(each) for each in children)}\end{{cases}}",
                _ATOM,
            )
        if name == "lambda":
            bound = self._bound(children)
            return join([*bound, r"\mapsto", self._list(_arguments(children))]), _LOGIC
        if name in ("fn", "condition", "declare", "semantics"):
            return self.of(children[0]) if children else ("", _ATOM)
        tex = self._convert(element)
        return tex, _ATOM if base_of(tex) == tex else _SUM

    def _within(self, element: Element, rank: int) -> str:
        """An argument, in brackets where it holds weaker than its place."""
        tex, its = self.of(element)
        return tex if its >= rank else f"({tex})"

    def _list(self, elements: Iterable[Element]) -> str:
        return ",".join(self.of(each)[0] for each in elements)

    def _number(self, element: Element) -> Ranked:
        pieces = [
            "".join(child.split()) if isinstance(child, str) else "\0" for child in element.children
        ]
        written = "".join(pieces).split("\0")
        kind = element.attribute("type")
        if len(written) == 2:
            one, two = written
            if kind == "rational":
                return rf"\frac{{{one}}}{{{two}}}", _ATOM
            if kind == "e-notation":
                return rf"{one}\times 10^{{{two}}}", _PRODUCT
            if kind == "complex-cartesian":
                return f"{one}{'' if two.startswith('-') else '+'}{two}i", _SUM
        tex = concatenate(tex_of_character(char) for char in " ".join(written).strip())
        return tex, _SUM if tex.startswith("-") else _ATOM

    def _symbol(self, element: Element) -> Ranked:
        if element.elements():
            return join(self._convert(child) for child in element.elements()), _ATOM
        name = " ".join(element.text().split())
        if len(name) == 1:
            return tex_of_character(name), _ATOM
        if name in FUNCTIONS:
            return f"\\{name}", _ATOM
        if name.isascii() and name.isalpha():
            return rf"\mathrm{{{name}}}", _ATOM
        return rf"\text{{{name.translate(IN_TEXT)}}}" if name else "", _ATOM

    def _piece(self, element: Element) -> str:
        parts = [self.of(child)[0] for child in element.elements()]
        if element.name == "otherwise":
            parts.append(r"\text{otherwise}")
        return " & ".join(parts)

    def _bound(self, children: list[Element]) -> list[str]:
        """The variables that `bvar` binds."""
        return [self._list(_arguments(each.elements())) for each in children if each.name == "bvar"]

    def _qualifier(self, children: list[Element], name: str) -> str:
        for child in children:
            if child.name == name:
                return self._list(child.elements())
        return ""

    def _applied(self, children: list[Element]) -> Ranked:
        if not children:
            return "", _ATOM
        head, rest = children[0], children[1:]
        name, arguments = head.name, _arguments(rest)
        if (
            name in ("csymbol", "ci", "fn")
            and not head.elements()
            and (known := head.text().strip()) in _INFIX
        ):
            name = known
        if name in _INFIX and arguments:
            return self._infix(name, arguments)
        if name == "minus" and arguments:
            if len(arguments) == 1:
                return f"-{self._within(arguments[0], _RANGE)}", _SUM
            return (
                f"{self._within(arguments[0], _SUM)}-{self._within(arguments[1], _RANGE)}",
                _SUM,
            )
        if name == "times" and arguments:
            return self._product(arguments)
        if name == "divide" and len(arguments) == 2:
            return rf"\frac{{{self.of(arguments[0])[0]}}}{{{self.of(arguments[1])[0]}}}", _ATOM
        if name == "quotient" and len(arguments) == 2:
            inside = rf"\frac{{{self.of(arguments[0])[0]}}}{{{self.of(arguments[1])[0]}}}"
            return rf"\lfloor{inside}\rfloor", _ATOM
        if name == "power" and len(arguments) == 2:
            base = self._within(arguments[0], _ATOM)
            return with_scripts(base_of(base), sup=self.of(arguments[1])[0]), _POWER
        if name == "selector" and arguments:
            return with_scripts(
                base_of(self._within(arguments[0], _ATOM)), sub=self._list(arguments[1:])
            ), _ATOM
        if name == "exp" and len(arguments) == 1:
            return with_scripts("e", sup=self.of(arguments[0])[0]), _POWER
        if name == "root" and arguments:
            degree = self._qualifier(rest, "degree")
            index = f"[{degree}]" if degree and degree != "2" else ""
            return rf"\sqrt{index}{{{self.of(arguments[0])[0]}}}", _ATOM
        if name in _AROUND and arguments:
            left, right = _AROUND[name]
            return join([left, self._list(arguments), right]), _ATOM
        if name in _AFTER and arguments:
            return base_of(self._within(arguments[0], _ATOM)) + _AFTER[name], _POWER
        if name in _BEFORE and arguments:
            return join([_BEFORE[name], self._within(arguments[0], _APPLIED)]), _APPLIED
        if name in ("diff", "partialdiff") and arguments:
            return self._derivative(name, rest, arguments)
        if name in _BIG:
            return self._big(name, rest, arguments)
        return self._call(head, rest, arguments)

    def _infix(self, name: str, arguments: list[Element]) -> Ranked:
        sign, rank = _INFIX[name]
        inside = rank if name in ("plus", "and", "or", "union", "intersect") else rank + 1
        parts = [self._within(each, inside) for each in arguments]
        if len(parts) == 1:
            return f"{sign}{parts[0]}", rank
        written = [parts[0]]
        for part in parts[1:]:
            if not (sign == "+" and part.startswith("-")):
                written.append(sign)
            written.append(part)
        return join(written), rank

    def _product(self, arguments: list[Element]) -> Ranked:
        """Factors in a row. What would take the one after it stands in brackets, but functions
        before functions: `\\sin x\\cos y`."""
        *first, (last, rank) = (self.of(each) for each in arguments)
        if not first:
            return last, rank
        parts = [*first, (last if rank >= _RANGE else f"({last})", _ATOM)]
        written: list[str] = []
        for (tex, its), (after, _) in zip(parts, [*parts[1:], ("", _ATOM)], strict=True):
            is_told = its >= _POWER or its == _PRODUCT or (its == _APPLIED and _is_function(after))
            if written and tex[:1].isdigit():
                written.append(r"\cdot")
            written.append(tex if is_told else f"({tex})")
        is_open = rank in (_RANGE, _APPLIED)
        return join(written), _RANGE if is_open else _PRODUCT

    def _derivative(self, name: str, rest: list[Element], arguments: list[Element]) -> Ranked:
        d = "d" if name == "diff" else r"\partial"
        below, degrees = [], []
        for each in rest:
            if each.name == "bvar":
                variable = self._list(_arguments(each.elements()))
                degree = self._qualifier(each.elements(), "degree")
                degrees.append(degree or "1")
                below += [d, with_scripts(base_of(variable), sup=degree)]
        total = self._qualifier(rest, "degree") or (
            degrees[0] if len(degrees) == 1 else str(len(degrees))
        )
        above = with_scripts(d, sup="" if total in ("0", "1") else total)
        argument = self._within(arguments[0], _APPLIED)
        if not below:
            return base_of(argument) + "'", _POWER
        return join([rf"\frac{{{above}}}{{{join(below)}}}", argument]), _APPLIED

    def _big(self, name: str, rest: list[Element], arguments: list[Element]) -> Ranked:
        """Operators over a range: sums, integrals, limits, quantifiers."""
        bound = ",".join(self._bound(rest))
        low, high = self._qualifier(rest, "lowlimit"), self._qualifier(rest, "uplimit")
        where = self._qualifier(rest, "condition") or self._qualifier(rest, "domainofapplication")
        for each in rest:
            if each.name == "interval" and len(each.elements()) == 2:
                low, high = (self.of(end)[0] for end in each.elements())
        sign = _BIG[name]
        body = ",".join(self._within(each, _RANGE) for each in arguments)
        if name in ("forall", "exists"):
            return join([sign, bound, ":" if bound else "", where and f"{where},", body]), _LOGIC
        if name == "int":
            differential = ["\\,d", bound] if bound else []
            return join([with_scripts(sign, low or where, high), body, *differential]), _RANGE
        if name == "limit":
            below = where or (join([bound, r"\to", low]) if low else bound)
        else:
            below = where or (f"{bound}={low}" if bound and low else bound or low)
        return join([with_scripts(sign, below, high), body]), _RANGE

    def _call(self, head: Element, rest: list[Element], arguments: list[Element]) -> Ranked:
        """A function with its arguments in brackets."""
        if head.name in FUNCTIONS:
            function = f"\\{head.name}"
        elif head.name in _FUNCTION_NAMES:
            function = rf"\operatorname{{{_FUNCTION_NAMES[head.name]}}}"
        elif head.name in _STRUCTURES or head.children:
            function = base_of(self.of(head)[0])
        else:
            function = rf"\operatorname{{{head.name.translate(IN_TEXT)}}}"
        base = self._qualifier(rest, "logbase")
        function = with_scripts(function, sub=base)
        bound = self._bound(rest)
        inside = ",".join([*bound, *(self.of(each)[0] for each in arguments)])
        if head.name in FUNCTIONS and len(arguments) == 1 and not bound:
            tex, rank = self.of(arguments[0])
            if rank >= _POWER:
                return join([function, tex]), _APPLIED
        return f"{function}({inside})", _POWER


def _is_function(tex: str) -> bool:
    """Whether it begins with the name of a function."""
    name = _COMMAND_NAME.match(tex)
    return name is not None and name[1] in FUNCTIONS


def _arguments(elements: list[Element]) -> list[Element]:
    return [each for each in elements if each.name not in _QUALIFIERS or each.name == "interval"]
