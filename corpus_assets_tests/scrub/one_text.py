"""What the rules find in one text."""

import numpy as np

from corpus_assets.scrub.findings import Finding, find_by_rules
from corpus_assets.scrub.settings import ScrubSettings


def find_personal_data(
    text: str, settings: ScrubSettings, domain: str = "web", language: str | None = None
) -> list[Finding]:
    """Findings in order of place, none overlapping."""
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    offsets = np.array([0, len(data)], dtype=np.int64)
    kinds = frozenset(settings.actions(domain))
    return find_by_rules(data, offsets, kinds, settings.regions(language)).get(0, [])
