"""People's judgements of samples, as a section of a report."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from catalog.db import JudgementRow, summed
from catalog.pages import Percent, Section, render

TEMPLATE = Path(__file__).parent / "templates" / "review.html"


def judgements_section(rows: Sequence[JudgementRow]) -> Section:
    """Return a section of a report: judgements by reason, without their words."""
    found = [
        (one.stage, one.reason, one.judged, one.disagreed, Percent(one.share),
         f"{one.interval[0]:.1%} to {one.interval[1]:.1%}")
        for one in summed(rows)
    ]  # fmt: skip
    return Section("Review", render(TEMPLATE, rows=found) if found else Markup())
