"""Scoring with an n-gram model: a trie of word ids, one pass over a batch.

Nodes are numbered through: first the words (`UNKNOWN`, `BOUNDARY`, then the vocabulary), then
the bigrams, and so on, each order sorted by its prefix and its last word. So the children of node
g are the nodes `first[g]` to `first[g + 1]`, sorted by `word`. For a node of the words w1..wk
`prob` is what the order k adds to P(wk | w1..wk-1), and `gamma` the weight of the order below
after w1..wk: a context that the model does not have has the weight 1. Hence

    P(w | w1..wk) = gamma[w1..wk] * P(w | w2..wk) + prob[w1..wk w]

which sums to 1 over all words, `UNKNOWN` and `BOUNDARY` included, at every context. A word that
is unknown is spelled: its probability is that of `UNKNOWN` times that of its bytes, so a text of
invented words cannot pass for a predictable one. Logarithms are to base 10, in float64.

Cost: order - 1 binary searches a word, about half a microsecond for a model of a million n-grams.
"""

import numpy as np
import numpy.typing as npt

from corpus_assets.text.exact_math import log, log10
from corpus_assets.text.split import END, START, Bytes, Hashes, Ints
from textkernels.compiled import kernel

UNKNOWN, BOUNDARY, FIRST_WORD = 0, 1, 2
EDGE = 256  # before the first and after the last byte of a word

Ids = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


@kernel
def unit_ids(spans: Ints, hashes: Hashes, vocabulary: Hashes, places: Ints) -> Ids:
    """int32[k]: each unit's word. `places: int64[65537]`: where each leading 16 bits begin."""
    out = np.empty(hashes.shape[0], dtype=np.int32)
    for k in range(hashes.shape[0]):
        if spans[k, START] == spans[k, END]:
            out[k] = BOUNDARY
            continue
        wanted = hashes[k]
        lead = np.int64(wanted >> np.uint64(48))
        low, high = places[lead], places[lead + 1]
        out[k] = UNKNOWN
        while low < high:
            middle = (low + high) >> 1
            found = vocabulary[middle]
            if found == wanted:
                out[k] = FIRST_WORD + middle
                break
            if found < wanted:
                low = middle + 1
            else:
                high = middle
    return out


@kernel
def _child(word: Ids, low: int, high: int, wanted: int) -> int:
    while low < high:
        middle = (low + high) >> 1
        if word[middle] < wanted:
            low = middle + 1
        elif word[middle] > wanted:
            high = middle
        else:
            return middle
    return -1


@kernel
def next_probability(
    state: Ints, wanted: int, order: int, word: Ids, prob: Floats, gamma: Floats, first: Ints
) -> float:
    """P(wanted | what came before), and `state` moved on.

    `state: int64[order]` holds the nodes of the last 1, 2, ... words, -1 where there is none.
    """
    p = float(prob[wanted])
    below = wanted
    for k in range(order - 1):
        context = state[k]
        state[k] = below
        below = -1
        if context >= 0:
            p *= float(gamma[context])
            below = _child(word, first[context], first[context + 1], wanted)
            if below >= 0:
                p += float(prob[below])
    if wanted == BOUNDARY:
        start_line(state)
    return p


@kernel
def start_line(state: Ints) -> None:
    """Nothing but a boundary stands before the first word of a line."""
    state[:] = -1
    state[0] = BOUNDARY


@kernel
def spelled(data: Bytes, start: int, end: int, spelling: Floats) -> float:
    """log10 of the probability of a word's bytes; `spelling: float32[257, 257]`."""
    total = 0.0
    before = EDGE
    for at in range(start, end):
        byte = int(data[at])
        total += float(spelling[before, byte])
        before = byte
    return total + float(spelling[before, EDGE])


@kernel
def score_texts(
    data: Bytes,
    spans: Ints,
    rows: Ints,
    ids: Ids,
    order: int,
    word: Ids,
    prob: Floats,
    gamma: Floats,
    first: Ints,
    spelling: Floats,
) -> Doubles:
    """float64[n]: log10 of the probability of each text, its line ends included."""
    n = rows.shape[0] - 1
    out = np.zeros(n, dtype=np.float64)
    state = np.empty(order, dtype=np.int64)
    for d in range(n):
        start_line(state)
        total = 0.0
        for k in range(rows[d], rows[d + 1]):
            wanted = int(ids[k])
            total += log10(next_probability(state, wanted, order, word, prob, gamma, first))
            if wanted == UNKNOWN:
                total += spelled(data, spans[k, START], spans[k, END], spelling)
        out[d] = total
    return out


@kernel
def divergences(ids: Ids, rows: Ints, log_share: Doubles) -> Doubles:
    """float64[n]: sum of p ln(p / q) over the words of each text, boundaries left out.

    `log_share: float64[words]`: ln q. All unknown words count as one. 0 for an empty text.
    """
    n = rows.shape[0] - 1
    out = np.zeros(n, dtype=np.float64)
    counts = np.zeros(log_share.shape[0], dtype=np.int64)
    for d in range(n):
        total = 0
        for k in range(rows[d], rows[d + 1]):
            if ids[k] != BOUNDARY:
                counts[ids[k]] += 1
                total += 1
        for k in range(rows[d], rows[d + 1]):
            times = counts[ids[k]]
            if times:
                share = times / total
                out[d] += share * (log(share) - log_share[ids[k]])
                counts[ids[k]] = 0
    return out


@kernel
def count_letters(data: Bytes, spans: Ints, which: Ints, counts: Ints) -> None:
    """Add the pairs of neighbouring bytes of some units to `counts: int64[257, 257]`."""
    for i in range(which.shape[0]):
        k = which[i]
        before = EDGE
        for at in range(spans[k, START], spans[k, END]):
            byte = int(data[at])
            counts[before, byte] += 1
            before = byte
        counts[before, EDGE] += 1
