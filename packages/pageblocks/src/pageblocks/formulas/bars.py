r"""Formulas in the cells of a Markdown table, whose columns `|` separates.

`\|` is how Markdown writes the bar in a cell, and is the bar of a norm in TeX. So a formula says
`\vert` and `\Vert` there, which mean the same; columns of an array lose the lines between them.
"""

import re

_FORMULA = re.compile(
    r"(?<![$\\])\$\$(?P<displayed>[^$]+)\$\$"
    r"|(?<![$\\])\$(?!\s)(?P<inline>(?:[^$\\]|\\.)+)(?<!\s)\$(?![\d$])"
    r"|\\[(\[](?P<bracketed>(?:[^\\]|\\[^()\[\]])+)\\[)\]]",
    re.DOTALL,
)
_BAR = re.compile(
    r"(?P<array>\\begin\{array\}\{[^{}]*\})|(?P<text>\\(?:text[a-z]*|mbox)\{[^{}]*\})|(?P<norm>\\\|)|(?P<other>\\.)|\|",
    re.DOTALL,
)
_MARK = re.compile(r"[\\^_{}]")


def without_bars(text: str, has_formulas: bool) -> str:
    """The text of a cell with no `|` in its formulas. Without formulas of the page's markup, dollar
    signs are those of TeX where it is TeX that they hold, or bars in pairs."""

    def written(found: re.Match[str]) -> str:
        formula = found["inline"]
        if formula is not None and not has_formulas:
            is_price = found.start() and text[found.start() - 1].isalnum()
            if is_price or not (_MARK.search(formula) or formula.count("|") % 2 == 0):
                return found[0]
        return _BAR.sub(_in_words, found[0])

    return _FORMULA.sub(written, text) if "|" in text else text


def _in_words(bar: re.Match[str]) -> str:
    if bar["array"]:
        return bar[0].replace("|", "")
    if bar["text"]:
        return bar[0].replace("|", r"\textbar{}")
    if bar["other"]:
        return bar[0]
    name = r"\Vert" if bar["norm"] else r"\vert"
    return f"{name} " if bar.string[bar.end() : bar.end() + 1].isalpha() else name
