"""Which documents the tokenizer learns from, and which it is measured on.

Every document has a place on a line, by keyed hash of its id. A tokenizer learns from one end of
the line and is measured on the other, so that no document is on both sides:

1. `amounts` of each part: documents and characters of final text at each place.
2. `draw`: where the two ends lie in each domain, from the amounts of all parts. A calibration.
3. `sides` of each part: the documents on either end; only their text is stored, once.

A share thins documents out before that: a language with share 0.1 has a tenth of its documents
on the line, spread over all of it. So shares hold wherever the ends lie, whatever the order of
files, and the sample's size is bounded in all domains alike.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.sample import CIRCLE, Sample
from corpus_assets.tokenizer.settings import TokenizerSample

PLACES = 1 << 20
"""Places on the line: the ends are exact to a millionth of a domain."""

MAX_DOCUMENT_CHARS = 200_000  # the rest of a longer document is left out
HELD_OUT = 0.01
"""Share of documents in each domain, one at least, that the tokenizer is measured on and never trained
on."""
HELD_OUT_CHARS = 5_000_000  # to measure on at most, from all domains together

AMOUNTS = pa.schema([("place", pa.int32()), ("documents", pa.int64()), ("chars", pa.int64())])

Ints = npt.NDArray[np.int64]


def places(
    doc_ids: Sequence[bytes],
    languages: Sequence[str | None],
    settings: TokenizerSample,
    seed: int,
) -> Ints:
    """Return each document's place on the line, -1 where it has none. About a microsecond each."""
    sample = Sample(f"corpus-assets/tokenizer-sample/{seed}".encode())
    limits = {
        language: int(Fraction(repr(part)) * CIRCLE)
        for language, part in settings.language_shares.items()
    }
    found = np.full(len(doc_ids), -1, np.int64)
    for row, (doc_id, language) in enumerate(zip(doc_ids, languages, strict=True)):
        if settings.languages is not None and language not in settings.languages:
            continue
        limit = limits.get(language or "", CIRCLE)
        drawn = sample.place(doc_id)
        if drawn < limit:
            found[row] = drawn * PLACES // limit
    return found


def amounts(at: Ints, n_chars: Ints) -> pa.Table:
    """Documents and characters at each place of a part, places without any left out."""
    inside = at >= 0
    where, row = np.unique(at[inside], return_inverse=True)
    chars = np.zeros(len(where), np.int64)
    np.add.at(chars, row, np.minimum(n_chars[inside], MAX_DOCUMENT_CHARS))
    documents = np.bincount(row, minlength=len(where)).astype(np.int64)
    columns = [pa.array(where, pa.int32()), pa.array(documents), pa.array(chars)]
    return pa.Table.from_arrays(columns, schema=AMOUNTS)


def draw(
    parts: Iterable[tuple[str, pa.Table]],
    settings: TokenizerSample,
    proportions: Mapping[str, float],
) -> dict[str, Any]:
    """Return where the ends lie in each domain, from (domain, amounts) of every part.

    `train_below` and `held_out_from` are places. Memory: 16 MB a domain.
    """
    documents: dict[str, Ints] = {}
    chars: dict[str, Ints] = {}
    for domain, table in parts:
        for totals, name in ((documents, "documents"), (chars, "chars")):
            line = totals.setdefault(domain, np.zeros(PLACES, np.int64))
            line[table["place"].to_numpy()] += table[name].to_numpy()
    room = HELD_OUT_CHARS // max(1, len(chars))
    ends = {
        domain: _held_out_from(documents[domain], chars[domain], HELD_OUT, room)
        for domain in sorted(chars)
    }
    there = {domain: int(chars[domain][:end].sum()) for domain, end in ends.items()}
    quotas = divided(settings.max_chars, there, proportions)
    drawn: dict[str, Any] = {}
    for domain, end in ends.items():
        below = _train_below(chars[domain], end, quotas[domain])
        drawn[domain] = {
            "train_below": below,
            "held_out_from": end,
            "available_documents": int(documents[domain].sum()),
            "available_chars": int(chars[domain].sum()),
            "documents": int(documents[domain][:below].sum()),
            "chars": int(chars[domain][:below].sum()),
            "held_out_documents": int(documents[domain][end:].sum()),
            "held_out_chars": int(chars[domain][end:].sum()),
        }
    return drawn


def divided(
    room: int, there: Mapping[str, int], proportions: Mapping[str, float]
) -> dict[str, int]:
    """`room` characters among domains; none gets more than it has, and what it leaves goes on.

    Without proportions each domain gives the same share of what it has.
    """
    weights = {
        name: Fraction(repr(proportions.get(name, 0.0))) if proportions else Fraction(amount)
        for name, amount in there.items()
    }
    quotas = dict.fromkeys(there, 0)
    open_ = sorted(name for name in there if weights[name])
    left = room
    while open_:
        total = sum((weights[name] for name in open_), Fraction(0))
        full = [name for name in open_ if there[name] <= left * weights[name] / total]
        if not full:
            quotas |= {name: math.floor(left * weights[name] / total) for name in open_}
            break
        for name in full:
            quotas[name] = there[name]
            left -= there[name]
        open_ = [name for name in open_ if name not in full]
    return quotas


def _held_out_from(documents: Ints, chars: Ints, share: float, room: int) -> int:
    """Find the place from which documents are held out: from the end back until there are enough of
    them or their characters fill the room. One place at least, where another one is left."""
    used = np.flatnonzero(documents)
    if not share or len(used) < 2:
        return PLACES
    wanted = math.ceil(Fraction(repr(share)) * int(documents.sum()))
    counted = np.cumsum(documents[used][::-1])
    enough = int(np.searchsorted(counted, wanted)) + 1
    fitting = int(np.searchsorted(np.cumsum(chars[used][::-1]), room, side="right"))
    return int(used[-max(1, min(enough, fitting, len(used) - 1))])


def _train_below(chars: Ints, end: int, quota: int) -> int:
    """Find the place below which documents are trained on; one of them at least, where any may be."""
    if not quota:
        return 0
    counted = np.cumsum(chars[:end])
    if not len(counted) or counted[-1] <= quota:
        return end
    used = np.flatnonzero(chars[:end])
    return max(int(np.searchsorted(counted, quota, side="right")), int(used[0]) + 1)


def sides(
    at: Ints, drawn: Mapping[str, int]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Choose the documents to train on and those to hold out."""
    return (at >= 0) & (at < drawn["train_below"]), at >= drawn["held_out_from"]


def rows_of(tables: Iterable[pa.Table], held_out: bool) -> Iterator[tuple[str, str, str]]:
    """Yield (text, domain, language) of one side of a sample, one table in memory at a time."""
    for table in tables:
        side = table.filter(pc.equal(table["held_out"], held_out))
        columns = (side[name].to_pylist() for name in ("text", "domain", "language"))
        yield from zip(*columns, strict=True)
