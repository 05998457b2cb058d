"""How a value is written on a page.

Web pages choose their own addresses and titles. So control characters, and those that turn text
around, are written out; spaces and joiners that scripts need stay; markup is escaped.
"""

import re
from typing import Any

from markupsafe import Markup, escape

from catalog.figures import short

WRITING = frozenset(
    "\u00a0\u200c\u200d\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
)
"""Characters that are no print and that writing needs: spaces of all widths, joiners."""


class Percent(float):
    """A share, which a table writes as a percentage."""


def shown(value: Any) -> Any:
    """Return a value as it stands within a line; markup and what is no text stay as they are."""
    if isinstance(value, str):
        return value if isinstance(value, Markup) else _written_out(value, "")
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Percent):
        return f"{value:.1%}"
    return short(value) if isinstance(value, float) else value


def text(value: str) -> Markup:
    """Return a text of several lines, escaped; its line breaks and tabs stay."""
    return escape(_written_out(value, "\n\t"))


def _written_out(value: str, kept: str) -> str:
    if value.isprintable():
        return value
    return "".join(
        letter
        if letter.isprintable() or letter in WRITING or letter in kept
        else letter.encode("unicode_escape").decode("ascii")
        for letter in value
    )


def cell(value: Any) -> Any:
    """Return a value as it stands in a table: numbers with commas, floats with three decimals."""
    if isinstance(value, bool | Percent) or not isinstance(value, int | float):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "–"


def anchor(title: str) -> str:
    """Return the id of a section."""
    return re.sub(r"\W+", "-", title.lower())
