"""Lines that count several times when merges are learned: rare text that ought to be short in tokens.

In a sample in the proportions of the mixture, signs of mathematics, Chinese, Japanese and Korean, and
the idioms of code are too rare to become tokens. A recipe says how often such lines count. They are
counted again, not drawn again: in how many documents a merge is used stays what it is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from corpus_assets.tokenizer.settings import RareText

_LATEX = r"\\[A-Za-z]+[{_^]"  # a command with an argument or an index
_SIGNS = (  # Unicode's blocks for mathematics, and signs and letters for it in other blocks
    "¬±×÷ℂℓℕℙℚℝℤℵ↦⇐⇒⇔\u2200-\u22ff\u27c0-\u27ef\u2980-\u2aff\U0001d400-\U0001d7ff"
)
_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U000323af"
)
_OPERATORS = r"[=!<>]=|[-=]>|<-|:=|::|&&|\|\||[+\-*/|&]=|\+\+|\(\)|\[\]|\{\}"

LINES: Mapping[RareText, re.Pattern[str]] = {
    "mathematics": re.compile(f"[{_SIGNS}]|{_LATEX}"),
    "cjk": re.compile(f"[{_CJK}]"),
    "code": re.compile(rf"{_OPERATORS}|(?:[;{{}}]|\):)\s*$"),
}
"""What a line must have to be of a kind."""

TOKENS: Mapping[RareText, re.Pattern[str]] = {
    "mathematics": re.compile(rf"[{_SIGNS}]|\\[A-Za-z]"),
    "cjk": LINES["cjk"],
    "code": re.compile(rf"{_OPERATORS}|[;{{}}]\s*$|[)\]]:|\n[ \t]{{2}}"),
}
"""What a token must have to count as one of a kind, in an audit."""


@dataclass(frozen=True)
class Upsampled:
    """Lines of a kind in the sample, how often they counted, and the tokens of that kind."""

    times: int
    lines: int
    char_share: float
    tokens: int


def with_copies(text: str, times: Mapping[RareText, int]) -> Iterator[str]:
    """Yield a text, and what counts more than once as often again, lines that follow each other in
    one piece. A line of several kinds counts as often as the one that counts most."""
    yield text
    kinds = {kind: n for kind, n in times.items() if n > 1 and LINES[kind].search(text)}
    if not kinds:
        return

    def of_line(line: str) -> int:
        return max((n for kind, n in kinds.items() if LINES[kind].search(line)), default=1)

    for n, lines in groupby(text.splitlines(keepends=True), of_line):
        if n > 1:
            run = "".join(lines)
            yield from (run for _ in range(n - 1))


def measure_upsampled(
    texts: Iterable[str], times: Mapping[RareText, int], spelled: Iterable[str]
) -> dict[str, Upsampled]:
    """Describe the kinds that count several times, by kind; `spelled` are the merged tokens."""
    if not times:
        return {}
    lines, chars, total = dict.fromkeys(times, 0), dict.fromkeys(times, 0), 0
    for text in texts:
        total += len(text)
        for kind in times:
            if LINES[kind].search(text):
                found = [line for line in text.splitlines() if LINES[kind].search(line)]
                lines[kind] += len(found)
                chars[kind] += sum(map(len, found))
    tokens = list(spelled)
    return {
        kind: Upsampled(
            n,
            lines[kind],
            round(chars[kind] / max(1, total), 4),
            sum(TOKENS[kind].search(token) is not None for token in tokens),
        )
        for kind, n in sorted(times.items())
    }
