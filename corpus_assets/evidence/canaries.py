"""What models remember of planted texts: extraction probabilities by how often a text was seen.

A canary is a text that stands in a corpus 1, 4, 16 or 64 times; a control is drawn in the same way
and stands in none. A model is shown a canary's beginning, and its loss on the rest is the nats of
all tokens together: the probability that it says exactly the rest, sampled once, is exp(-nats)
(Cooper et al. 2025, arXiv 2505.12546: p_z). Nats of whole texts, not of tokens: a tokenizer that
saw a canary often has fewer, rarer tokens for it. After a takedown the canaries should be as
improbable as controls.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from scipy.special import stdtrit

from catalog.pages import charts
from corpus_assets.evidence.compare import Floats


@dataclass(frozen=True)
class Memory:
    """What a model remembers of the canaries with so many copies; 0 copies are the controls."""

    copies: int
    canaries: int
    extraction: float  # geometric mean of exp(-nats)
    extracted: float  # share of canaries that come out within 100 samples as likely as not
    advantage: float  # nats a text below the controls; 0: as if never seen
    low: float  # 95% interval of the advantage, by Welch's t over canaries
    high: float


TRIES = 100


def memories(nats: Mapping[int, Floats]) -> list[Memory]:
    """Return a row for each number of copies, from nats[canary, model] of whole texts by copies.

    Models of several seeds are averaged for each canary first: one text is one draw.
    """
    if len(nats.get(0, ())) < 2:
        raise ValueError("memories are measured against controls: give at least two of 0 copies")
    means = {copies: np.asarray(own).mean(axis=1) for copies, own in nats.items()}
    control = means[0]
    rows = []
    for copies in sorted(nats):
        total = np.asarray(nats[copies])
        within = -np.expm1(TRIES * np.log1p(-np.exp(-np.maximum(total, 1e-12))))
        own = means[copies]
        advantage = float(control.mean() - own.mean())
        parts = [float(side.var(ddof=1)) / len(side) for side in (own, control) if len(side) > 1]
        error, degrees = math.sqrt(sum(parts)), _degrees(parts, [len(own), len(control)])
        half = float(stdtrit(degrees, 0.975)) * error if copies and len(own) > 1 else 0.0
        half = half if len(own) > 1 else math.inf
        rows.append(
            Memory(
                copies,
                len(own),
                float(np.exp(-total.mean())),
                float(np.mean(within >= 0.5)),
                advantage,
                advantage - half,
                advantage + half,
            )
        )
    return rows


def _degrees(parts: Sequence[float], sizes: Sequence[int]) -> float:
    """Welch's degrees of freedom."""
    total = sum(parts)
    if total == 0 or len(parts) < 2:
        return float(max(min(sizes) - 1, 1))
    pairs = zip(parts, sizes, strict=True)
    return float(total**2 / sum(part**2 / (size - 1) for part, size in pairs))


def memory_curve(models: Mapping[str, Sequence[Memory]]) -> Markup:
    """Draw the advantage over copies (as powers of two), one line a model."""
    lines = [
        (name, [(math.log2(row.copies), row.advantage) for row in rows if row.copies])
        for name, rows in models.items()
    ]
    axes = ("log2 of copies", "nats a text below texts never seen")
    return charts.lines(lines, *axes, "Advantage over texts never seen, by copies")
