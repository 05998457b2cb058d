"""Counting and smoothing for n-gram models: interpolated modified Kneser-Ney.

Chen and Goodman 1999; discounts and adjusted counts as KenLM's `lmplz` has them (Heafield et al.
2013). Everything is sorted arrays of integers until the last step, so the result does not depend
on the order of the texts.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corpus_assets.models.ngram_score import BOUNDARY
from corpus_assets.text.exact_math import LN10, logs

FALLBACK = (0.5, 1.0, 1.5)  # KenLM's discounts where too few texts give none
SPELLING_PRIOR = 0.05  # added to every pair of bytes: any byte can follow any other

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Counted:
    """The distinct n-grams of one order, sorted by prefix and last word."""

    prefix: Ints  # the place of each n-gram's first words in the order below
    word: Ints
    raw: Ints  # occurrences
    adjusted: Ints  # different words before it; occurrences in the highest order and at line starts

    @property
    def discounts(self) -> tuple[float, float, float]:
        """Subtracted from adjusted counts of 1, 2, and 3 or more."""
        n = [int(np.count_nonzero(self.adjusted == k)) for k in (1, 2, 3, 4)]
        if not all(n):
            return FALLBACK
        y = n[0] / (n[0] + 2 * n[1])
        found = tuple(k - (k + 1) * y * n[k] / n[k - 1] for k in (1, 2, 3))
        fits = all(0 < d <= k for k, d in enumerate(found, 1))
        return (found[0], found[1], found[2]) if fits else FALLBACK


def count_ngrams(units: Ints, n_words: int, highest: int) -> list[Counted]:
    """All orders. An n-gram may begin or end with a boundary and has none inside.

    `node[i]` is the n-gram that ends at unit i, -1 where there is none. The n-grams of the next
    order are the distinct pairs of node[i - 1] and unit i.
    """
    raw = np.bincount(units, minlength=n_words)
    raw[BOUNDARY] -= 1  # the one that was put before all
    orders: list[Counted] = []
    prefix, word, begins = np.zeros(n_words, np.int64), np.arange(n_words), np.zeros(n_words, bool)
    node = units.copy()
    for order in range(1, highest + 1):
        if order == highest:
            orders.append(Counted(prefix, word, raw, raw))
            break
        here = np.flatnonzero(node[:-1] >= 0) + 1
        if order > 1:
            here = here[units[here - 1] != BOUNDARY]
        keys = (node[here - 1] << 32) | units[here]
        distinct, where, which, times = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        suffix = node[here[where]]  # the same words without the first
        adjusted = np.bincount(suffix[suffix >= 0], minlength=raw.size)
        orders.append(Counted(prefix, word, raw, np.where(begins, raw, adjusted)))
        prefix, word, raw = distinct >> 32, distinct & 0xFFFFFFFF, times
        begins = (prefix == BOUNDARY) if order == 1 else begins[prefix]
        longer = np.full(units.size, -1, dtype=np.int64)
        longer[here] = which
        node = longer
    return orders


def least_count(counted: list[Counted], max_ngrams: int) -> int:
    """The smallest count that leaves no more n-grams than allowed. A prefix occurs as often as
    what begins with it, so what is left is a trie."""
    counts = np.concatenate([one.raw for one in counted[1:]])
    if counts.size <= max_ngrams:
        return 1
    return int(np.sort(counts)[::-1][max_ngrams]) + 1


class Trie:
    """The kept n-grams of all orders as the arrays of `models.ngram_score`."""

    def __init__(self, counted: list[Counted], kept: list[npt.NDArray[np.bool_]]) -> None:
        words, probs, gammas, firsts = [], [], [], []
        place = 0
        for k, (one, mask) in enumerate(zip(counted, kept, strict=True)):
            alpha, left = _discounted(one, counted[k - 1].raw.size if k else 1)
            if k == 0:  # what is left goes to all words alike
                alpha += left[0] / one.raw.size
            else:
                dropped = np.bincount(one.prefix[~mask], weights=alpha[~mask], minlength=left.size)
                before = kept[k - 1]
                gammas.append((left + dropped)[before])
                children = np.bincount(one.prefix[mask], minlength=left.size)[before]
                firsts.append(place + np.cumsum(children) - children)
            words.append(one.word[mask])
            probs.append(alpha[mask])
            place += int(mask.sum())
        self.word = np.concatenate(words).astype(np.int32)
        self.prob = np.concatenate(probs).astype(np.float32)
        self.gamma = np.concatenate(gammas).astype(np.float32)
        self.first = np.append(np.concatenate(firsts), place).astype(np.int64)


def _discounted(one: Counted, n_contexts: int) -> tuple[Doubles, Doubles]:
    """Return what each n-gram gets of its context's mass, and what is left of it for the order
    below.

    A context that nothing follows leaves all of it.
    """
    discount = np.array([0.0, *one.discounts])[np.minimum(one.adjusted, 3)]
    total = np.bincount(one.prefix, weights=one.adjusted, minlength=n_contexts)
    taken = np.bincount(one.prefix, weights=discount, minlength=n_contexts)
    alpha = np.where(one.adjusted > 0, one.adjusted - discount, 0.0) / np.maximum(
        total[one.prefix], 1.0
    )
    left = np.divide(taken, total, out=np.ones(n_contexts), where=total > 0)
    return alpha, left


def spelling_of(letters: Ints) -> npt.NDArray[np.float32]:
    """log10 of the chance of each byte after each other: pairs of the distinct words' bytes."""
    pairs = letters.sum(axis=1, keepdims=True) + letters.shape[1] * SPELLING_PRIOR
    return (logs((letters + SPELLING_PRIOR) / pairs) / LN10).astype(np.float32)
