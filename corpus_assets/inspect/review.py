"""What people said of samples, as a section of a report."""

from collections.abc import Sequence

from catalog.db.judgements import summed
from catalog.db.rows import JudgementRow
from corpus_assets.versions.pages import Percent, table


def judgements_section(rows: Sequence[JudgementRow]) -> tuple[str, str]:
    """Return a section of a report: judgements by reason, without their words."""
    found = [
        (one.stage, one.reason, one.judged, one.disagreed, Percent(one.share),
         f"{one.interval[0]:.1%} to {one.interval[1]:.1%}")
        for one in summed(rows)
    ]  # fmt: skip
    heads = ("stage", "reason", "judged", "disagree", "share", "95% interval")
    about = "<p>Of samples that people have read: how many they would have decided otherwise.</p>"
    return "Review", about + table(heads, found) if found else ""
