"""Text that was decoded in a wrong charset (`Ã©` for `é`), repaired as edits.

ftfy (Speer 2019) mends each line, with the settings of datatrove's FTFYFormatter, which FineWeb2
runs before it replaces personal data: what decoding broke is mended, HTML entities are read in texts
without `<`, control characters go; quotes, ligatures, widths and line breaks stay as they are.

A line is mended as a whole and recorded word by word, so that other edits of the line find the words
that they mean. Lines of printable ASCII without `&` are as they are after one regex; ftfy reads the
others, which is most of what cleaning costs in languages other than English.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import accumulate
from typing import Any

from corpus_assets.clean.edits import Edit
from corpus_assets.core.errors import MissingExtra
from corpus_assets.scrub import Finding
from pageblocks import normalise

ENCODING = "encoding"
"""Kind of the edits that repair."""

_MAY_CHANGE = re.compile(r"[^\t\n -%'-~]")
"""What a line has that ftfy may change: no printable ASCII other than `&` does."""


def ftfy_release() -> str:
    """Return the release that repairs; part of a task's identity."""
    try:
        return version("ftfy")
    except PackageNotFoundError as error:
        raise MissingExtra(
            "clean_text.repair_encoding: ftfy is missing; install it with "
            "`pip install 'corpus-assets[ftfy]'`, or remove the key from the recipe"
        ) from error


def repairs_of(text: str) -> list[Edit]:
    """Return what repairs a text, as sorted edits that do not overlap."""
    if _MAY_CHANGE.search(text) is None:
        return []
    from ftfy import fix_and_explain

    config = _config()
    edits: list[Edit] = []
    place = 0
    for line in _lines(text, config.max_decode_length):
        if config.unescape_html and "<" in line:
            config = config._replace(unescape_html=False)  # from here on, as `ftfy.fix_text` does
        if _MAY_CHANGE.search(line) is not None:
            fixed = normalise(fix_and_explain(line, config).text)
            if fixed != line:
                edits += _word_edits(line, fixed, place)
        place += len(line)
    return edits


def in_unrepaired(findings: Iterable[Finding], edits: Sequence[Edit]) -> list[Finding]:
    """Return findings in a repaired text as findings in the text before; one that touches a repair
    takes all of what was repaired there."""
    grown = list(accumulate((len(e.replacement) - (e.end - e.start) for e in edits), initial=0))
    starts = [edit.start + before for edit, before in zip(edits, grown, strict=False)]
    ends = [edit.end + after for edit, after in zip(edits, grown[1:], strict=True)]
    out: list[Finding] = []
    done = 0
    for finding in sorted(findings, key=lambda one: one.start):
        first = bisect_right(ends, finding.start)  # the first repair that ends behind its start
        begin = finding.start - grown[first]
        if first < len(edits) and starts[first] <= finding.start:
            begin = edits[first].start
        last = bisect_right(starts, finding.end - 1)  # of these repairs the last begins in it
        stop = finding.end - grown[last]
        if last and ends[last - 1] >= finding.end:
            stop = edits[last - 1].end
        if max(begin, done) < stop:
            out.append(replace(finding, start=max(begin, done), end=stop))
            done = stop
    return out


def _config() -> Any:
    from ftfy import TextFixerConfig

    return TextFixerConfig(
        fix_latin_ligatures=False,
        fix_character_width=False,
        uncurl_quotes=False,
        fix_line_breaks=False,
        normalization=None,
        explain=False,
    )


def _lines(text: str, longest: int) -> Iterator[str]:
    """Yield the lines of a text with their ends, the longest ones in pieces."""
    place = 0
    while place < len(text):
        end = text.find("\n", place) + 1 or len(text)
        end = min(end, place + longest)
        yield text[place:end]
        place = end


def _word_edits(before: str, after: str, place: int) -> Iterator[Edit]:
    """Yield what makes one line of another: word by word where they have as many words."""
    old, new = before.split(" "), after.split(" ")
    if len(old) != len(new) or any(not a and b for a, b in zip(old, new, strict=True)):
        old, new = [before], [after]
    for a, b in zip(old, new, strict=True):
        if a != b:  # an edit takes at least one character
            head = min(_alike(a, b), len(a) - 1)
            tail = min(_alike(a[::-1], b[::-1]), len(a) - head - 1, max(0, len(b) - head))
            yield Edit(place + head, place + len(a) - tail, b[head : len(b) - tail], ENCODING)
        place += len(a) + 1


def _alike(a: str, b: str) -> int:
    """How many characters two strings begin with that are the same."""
    differ = (k for k, (one, other) in enumerate(zip(a, b, strict=False)) if one != other)
    return next(differ, min(len(a), len(b)))
