"""What a rule of personal data is.

A rule names where it can begin (a trigger of `scrub.kernels.triggers`), what it looks like (a
regular expression over UTF-8 bytes, every repetition of it bounded) and what must be true of a
match (its check). A rule finds what scanning a text from left to right would: at each place where
the expression matches and the check agrees, the text is taken and the scan goes on behind it.

Rules see bytes. ASCII classes mean the same there as in characters; what is not ASCII is written
out in UTF-8.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from corpus_assets.scrub.kernels.triggers import NUMBER, lead

Span = tuple[int, int]
Check = Callable[[bytes, re.Match[bytes]], Span | None]

GAP = rb"(?:[ ().\-/]|\xc2\xa0|\xe2\x80[\xaf\x90-\x95]|\xe2\x88\x92)"
"""One separator inside a number: the kernel's own list."""

HEAD_OR_VALUE = (
    rb"(?<![A-Za-z0-9_+])(?<![0-9][.,/:-])(?<![A-Za-z]-)(?<![$#/])(?<!\xc2\xa3)(?<!\xe2\x82\xac)"
)
HEAD = HEAD_OR_VALUE + rb"(?<!=)"
"""What may not stand before a number that names somebody: more of a number, a word, a price,
the path or the query of an address."""

TAIL = rb"(?![A-Za-z0-9_])(?![.,/:-][0-9])(?!-[A-Za-z])"
"""What may not stand behind it."""

_CONTEXT_BEFORE, _CONTEXT_AFTER = 72, 24
_URL_BEFORE = 120
_NO_DIGITS = bytes(byte for byte in range(256) if not 48 <= byte <= 57)
LETTER = re.compile(rb"[A-Za-z\x80-\xff]")


def whole(doc: bytes, match: re.Match[bytes]) -> Span | None:
    """Return the check of a rule whose expression says it all."""
    return match.span()


@dataclass(frozen=True)
class PatternRule:
    """One way in which a kind of personal data is written."""

    name: str
    kind: str
    trigger: int
    pattern: re.Pattern[bytes]
    check: Check = whole
    leads: frozenset[int] | None = field(default=None)  # details of its trigger; None for all

    def find(self, doc: bytes, places: Sequence[int]) -> list[Span]:
        """Return what the rule finds, given every place of its trigger (and maybe more), sorted."""
        out: list[Span] = []
        free = 0
        match, check = self.pattern.match, self.check
        for place in places:
            if place >= free and (hit := match(doc, place)):
                span = check(doc, hit)
                if span is not None:
                    out.append(span)
                    free = span[1]
        return out


def leads(*groups: tuple[int, bytes | None]) -> frozenset[int]:
    """Leads of numbers: (digits of the first group, bytes that may follow; None for any)."""
    return frozenset(
        lead(n_digits, byte)
        for n_digits, following in groups
        for byte in (range(256) if following is None else following)
    )


def number(
    name: str,
    kind: str,
    pattern: bytes,
    check: Check,
    begins: frozenset[int] | None = None,
) -> PatternRule:
    """Return a rule that begins at a number."""
    return PatternRule(name, kind, NUMBER, re.compile(pattern), check, begins)


def digits_of(matched: bytes) -> bytes:
    """Only the digits of it."""
    return matched.translate(None, _NO_DIGITS)


def has_word(doc: bytes, span: Span, words: re.Pattern[bytes]) -> bool:
    """Whether one of the words stands shortly before the place or close behind it."""
    start, end = span
    sides = ((max(0, start - _CONTEXT_BEFORE), start), (end, end + _CONTEXT_AFTER))
    # Asking for any letter first keeps texts of nothing but numbers cheap.
    return any(LETTER.search(doc, *side) and words.search(doc, *side) for side in sides)


def in_address(doc: bytes, start: int) -> bool:
    """Whether the place is inside a web address: the numbers there name pages."""
    before = doc[max(0, start - _URL_BEFORE) : start]
    if b"://" not in before and b"www." not in before:
        return False
    word = re.split(rb"[\s<>\"'()]", before)[-1]
    return b"://" in word or word.startswith(b"www.")
