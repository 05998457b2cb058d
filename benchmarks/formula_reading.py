"""When two writings of a formula say the same: a part of `formulas.py`.

A writing becomes a row of parts in one notation, which two writings share when they mean the same.
It reads TeX, characters of Unicode, and text such as `x^2`, `a_{ij}`, `3/4`:

- delimiters, sizes, spaces, fonts and invisible signs go; so do dots of multiplication;
- commands are their characters (`\\leq`, `\\le` and `≤`; `\\mathbb{R}` and `ℝ`), raised and lowered
  characters scripts, `½` a fraction;
- `a/b` is a fraction of what stands next to it, `(a+b)/c` one of what is in the brackets;
- brackets around all of an argument, or around one thing, go; an index comes before an exponent;
- a number is one thing: `x^12` is meant as `x^{12}`, and `13` is not `1/3`.
"""

import re
import unicodedata

Parts = list[str]

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\S")
_GONE = re.compile(
    r"\\(?:left|right|displaystyle|textstyle|limits|big|Big|quad|qquad|mathrm|mathit|operatorname|text|mathop|cdot)(?![A-Za-z])"
    r"|\\[,;:!> ()\[\]]|\$|~|[\u200b-\u200d\u2060-\u2064\ufeff\xad·⋅∙]"
    r"|\\(?:begin|end)\{(?:equation|align|aligned|displaymath)\*?\}"
)
_COMMANDS = {
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "approx": "≈", "in": "∈", "to": "→",
    "rightarrow": "→", "infty": "∞", "sum": "∑", "prod": "∏", "int": "∫", "alpha": "α", "beta": "β", "gamma": "γ",
    "delta": "δ", "theta": "θ", "lambda": "λ", "mu": "μ", "pi": "π", "sigma": "σ", "omega": "ω", "lt": "<", "gt": ">",
    "lvert": "|", "rvert": "|", "vert": "|", "mid": "|", "|": "‖", "Vert": "‖", "{": "{", "}": "}",
}  # fmt: skip
_CHARACTERS = str.maketrans({"−": "-", "⁄": "/", "∕": "/", "∣": "|", "∗": "*", "µ": "μ", "⟶": "→"})
_FUNCTIONS = ("sin", "cos", "tan", "log", "ln", "exp", "lim")
_ACCENTS = {
    "bar": "bar", "overline": "bar", "hat": "hat", "widehat": "hat", "vec": "vec", "overrightarrow": "vec",
}  # fmt: skip
_COMBINING = {"\u0304": "bar", "\u0305": "bar", "\u0302": "hat", "\u20d7": "vec"}
_MATRIX = re.compile(r"\\(begin|end)\{(p?matrix|array|cases)\}(?:\{[lcr]*\})?")


def reading(written: str) -> str:
    """What is written, in the one notation."""
    return " ".join(_Reader(_tokens(written)).row(()))


def says(written: str, expected: str) -> bool:
    """Whether a reading has another one in it."""
    return f" {expected} " in f" {written} "


def _tokens(written: str) -> Parts:
    plain = written.replace("\\\\", r"\newline ").replace(r"\mathbb{R}", "ℝ")
    plain = plain.replace(r"\{", r"\lbrace ").replace(r"\}", r"\rbrace ")
    plain = re.sub(r"\\left\s*\.|\\right\s*\.", " ", plain)
    plain = _MATRIX.sub(lambda found: f" \\{found[1]}{found[2]} ", plain)
    plain = _GONE.sub(" ", plain)
    tokens = []
    for token in _TOKEN.findall(_in_braces(_decomposed(plain.translate(_CHARACTERS)))):
        known = _COMMANDS.get(token[1:]) if token[0] == "\\" else None
        tokens.append(known or token)
    return tokens


def _decomposed(text: str) -> str:
    """Letters apart from the accents that stand for a bar, a hat or an arrow."""
    return "".join(
        each if each[-1] in _COMBINING else char
        for char in text
        for each in (unicodedata.normalize("NFD", char),)
    )


def _in_braces(text: str) -> str:
    """Raised and lowered characters as scripts, and fractions that are one character as two."""
    characters: list[str] = []
    for char in text:
        kind, _, value = unicodedata.decomposition(char).partition("> ")
        if kind in ("<super", "<sub"):
            mark = "^" if kind == "<super" else "_"
            plain_char = chr(int(value, 16)).replace("\u2212", "-")
            if characters and characters[-1] == mark + "}":
                characters[-1:] = [plain_char, mark + "}"]
            else:
                characters += [mark + "{", plain_char, mark + "}"]
        elif kind == "<fraction":
            above, _, below = unicodedata.normalize("NFKD", char).partition("⁄")
            characters.append(f" \\frac{{{above}}}{{{below}}} ")
        else:
            characters.append(char)
    return "".join("}" if each in ("^}", "_}") else each for each in characters)


class _Reader:
    """Reads tokens once, from left to right."""

    def __init__(self, tokens: Parts) -> None:
        self._tokens, self._at = tokens, 0

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1] if self._at <= len(self._tokens) else ""

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def row(self, ends: tuple[str, ...]) -> Parts:
        """Parts up to an end, or all; a fraction written with a slash becomes one."""
        parts: Parts = []
        while self._at < len(self._tokens) and self._peek() not in ends:
            if self._peek() == "/" and parts:
                self._next()
                above = _inner(parts.pop())
                parts.append(f"⟨{above}⟩⁄⟨{_inner(self._scripted())}⟩")
                continue
            part = self._scripted()
            if parts and parts[-1] in _FUNCTIONS and _is_one_thing(_inner(part)):
                part = _inner(part)
            parts.append(part)
        return [part for part in parts if part]

    def _scripted(self) -> str:
        base = self._one()
        scripts: dict[str, str] = {}
        while self._peek() in ("^", "_", "'", "′") or self._peek() in _COMBINING:
            mark = self._next()
            if mark in _COMBINING:
                base = f"{_COMBINING[mark]}⟨{base}⟩"
            elif mark in ("'", "′"):
                scripts["^"] = scripts.get("^", "") + "′"
            else:
                sign = self._next() if self._peek() == "-" else ""
                scripts[mark] = scripts.get(mark, "") + sign + _inner(self._one())
        return base + "".join(
            f"{mark}⟨{_spaced(scripts[mark])}⟩" for mark in "_^" if mark in scripts
        )

    def _one(self) -> str:
        token = self._next()
        if token == "{":
            inside = self.row(("}",))
            self._next()
            return inside[0] if len(inside) == 1 else f"⟨{' '.join(inside)}⟩" if inside else ""
        if token == "(":
            inside = self.row((")", "}"))
            if self._peek() == ")":
                self._next()
            return f"( {' '.join(inside)} )"
        if token in ("\\frac", "\\dfrac", "\\tfrac"):
            above, below = _inner(self._one()), _inner(self._one())
            return f"⟨{above}⟩⁄⟨{below}⟩"
        if token in ("\\sqrt", "√"):
            degree = ""
            if token[0] == "\\" and self._peek() == "[":
                self._next()
                degree = " ".join(self.row(("]",)))
                self._next()
            return f"√{degree}⟨{_inner(self._scripted() if token == '√' else self._one())}⟩"
        if token == "\\binom":
            return f"( ⟨{_inner(self._one())}⟩ over ⟨{_inner(self._one())}⟩ )"
        if token[1:] in _ACCENTS and token[0] == "\\":
            return f"{_ACCENTS[token[1:]]}⟨{_inner(self._one())}⟩"
        if token[:6] == "\\begin":
            return self._table(token[6:])
        if token and token[0] == "\\":
            return token[1:]
        return self._function(token)

    def _function(self, token: str) -> str:
        for name in _FUNCTIONS:
            if self._tokens[self._at - 1 : self._at - 1 + len(name)] == list(name):
                self._at += len(name) - 1
                return name
        return token

    def _table(self, kind: str) -> str:
        rows = " ".join(self.row((f"\\end{kind}",)))
        self._next()
        around = {"pmatrix": "( %s )", "cases": "{ %s"}.get(kind, "%s")
        return around % f"table⟨{rows}⟩"


def _inner(part: str) -> str:
    """An argument without the brackets around all of it."""
    for left, right in (("⟨", "⟩"), ("( ", " )")):
        if part.startswith(left) and part.endswith(right) and _is_one(part, left[0], right[-1]):
            return part[len(left) : -len(right)]
    return part


def _is_one_thing(row: str) -> bool:
    depth = 0
    for char in row:
        depth += (char in "⟨(") - (char in "⟩)")
        if char == " " and depth == 0:
            return False
    return True


def _is_one(part: str, left: str, right: str) -> bool:
    depth = 0
    for place, char in enumerate(part):
        depth += (char == left) - (char == right)
        if depth == 0:
            return place == len(part) - 1
    return False


def _spaced(script: str) -> str:
    return re.sub(r"^-(?=\S)", "- ", script)
