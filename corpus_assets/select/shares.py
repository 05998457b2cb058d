"""Whether the shares that a recipe asks for are the shares that selection drops.

Cutoffs and tiers are resolved on the calibration snapshots, where they take their share to a
document (`selection.resolve_cutoffs`). Of another snapshot, or under rules that let others through,
they may take more or less: scores drift. Counts go into the notes of the stage and decide nothing.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from corpus_assets.select.columns import Counts

SHARES = "shares"
SIGMAS = 3.0
"""Standard errors that are chance: one check in several hundred would fail by it alone."""

Noted = Mapping[str, "Mapping[str, float | Mapping[str, Counts]]"]


@dataclass(frozen=True)
class Gap:
    """How far the share beyond a cut is from the share asked for, chance taken off."""

    cutoff: str
    group: str
    asked: float
    dropped: float
    documents: int
    gap: float

    def __str__(self) -> str:
        of = "" if self.group == "*" else f" in {self.group}"
        what = f"asked {self.asked:.1%}, dropped {self.dropped:.1%} of {self.documents:,} documents"
        if self.cutoff.startswith("tier:"):
            what = (
                f"asked for {1 - self.asked:.1%} in this tier or a better one, got "
                f"{1 - self.dropped:.1%} of {self.documents:,} documents"
            )
        return f"{self.cutoff.removeprefix('max:')}{of}: {what}"


def share_gaps(parts: Iterable[Noted]) -> list[Gap]:
    """Return every share of some parts taken together, the farthest from what was asked first.

    Chance is that of drawing so many documents from those that the cut was resolved on.
    """
    asked: dict[str, float] = {}
    counts: dict[tuple[str, str], list[float]] = {}
    for part in parts:
        for cutoff, entry in part.items():
            asked[cutoff] = float(entry["asked"])  # type: ignore[arg-type]
            for group, (documents, weight, beyond) in entry["of"].items():  # type: ignore[union-attr]
                total = counts.setdefault((cutoff, group), [0, 0, 0])
                for place, value in enumerate((documents, weight, beyond)):
                    total[place] += value
    found = []
    for (cutoff, group), (documents, weight, beyond) in counts.items():
        if not documents or not weight:
            continue
        share, dropped = asked[cutoff], beyond / weight
        chance = SIGMAS * math.sqrt(share * (1 - share) / documents) + 1 / documents
        gap = max(abs(dropped - share) - chance, 0.0)
        found.append(Gap(cutoff, group, share, dropped, int(documents), gap))
    return sorted(found, key=lambda one: (-one.gap, one.cutoff, one.group))
