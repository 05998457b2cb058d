"""What is found in texts: by rules, in a batch at once, and by recognizers beside them.

The rules are imported where they are used: their tables take 0.2 CPU-s, which a plan does not need.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corpus_assets.text.pieces import pieces_in_chars
from corpus_assets.text.split import Bytes, Ints


@dataclass(frozen=True)
class Finding:
    """Characters [start, end) of a text are personal data of a kind."""

    start: int
    end: int
    kind: str


def find_by_rules(
    data: Bytes, offsets: Ints, kinds: frozenset[str], regions: tuple[str, ...]
) -> dict[int, list[Finding]]:
    """Return findings of each document of a batch that has any, in characters of it."""
    from corpus_assets.scrub.find import find_in_batch

    found = find_in_batch(data, offsets, kinds, regions)
    if not found:
        return {}
    counts = np.zeros(len(offsets) - 1, dtype=np.int64)
    for document, spans in found.items():
        counts[document] = len(spans)
    rows = np.concatenate(([0], np.cumsum(counts)))
    pieces = np.array(
        [
            (offsets[document] + start, offsets[document] + end)
            for document in sorted(found)
            for start, end, _ in found[document]
        ],
        dtype=np.int64,
    )
    places = iter(pieces_in_chars(data, offsets, pieces, rows).tolist())
    return {
        document: [_finding(next(places), kind) for _, _, kind in found[document]]
        for document in sorted(found)
    }


def _finding(place: Sequence[int], kind: str) -> Finding:
    return Finding(place[0], place[1], kind)


def with_recognized(
    findings: Mapping[int, list[Finding]], recognized: Sequence[Sequence[Finding]]
) -> dict[int, list[Finding]]:
    """Return findings of rules, and of recognizers where they overlap none of those."""
    from corpus_assets.scrub.find import strongest

    out = dict(findings)
    for document, others in enumerate(recognized):
        if others:
            groups = [
                [(one.start, one.end, one.kind) for one in group]
                for group in (findings.get(document, []), others)
            ]
            out[document] = [Finding(*found) for found in strongest(groups)]
    return out
