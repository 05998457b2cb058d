"""Best-fit packing of pieces into bins of equal size.

Pieces are taken from the longest to the shortest (equal lengths in the given order) and each goes
to the bin with the least space that still takes it; among bins of equal space, to the one that
came to that space last. This is best-fit decreasing, as used for packing documents without
needless cuts by Ding et al. 2024 ("Fewer Truncations Improve Language Modeling").

Bins are held in one chain per remaining space, and a two-level bitset says which chains are not
empty, so a piece costs a few word operations whatever the number of bins: 10 M pieces take about
a second.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from textkernels.compiled import kernel

_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)


def _bit_table() -> npt.NDArray[np.int64]:
    table = np.zeros(64, dtype=np.int64)
    for bit in range(64):
        table[((int(_DE_BRUIJN) << bit) & (2**64 - 1)) >> 58] = bit
    return table


_BIT_OF = _bit_table()


@kernel
def _lowest_bit(word: np.uint64) -> int:
    """Index of the lowest set bit of a word that is not zero."""
    isolated = word & (~word + np.uint64(1))
    return int(_BIT_OF[(isolated * _DE_BRUIJN) >> np.uint64(58)])


@kernel
def _next_set(words: Any, summary: Any, start: int) -> int:
    """Smallest set index >= start, or -1."""
    at = start >> 6
    word = words[at] & (~np.uint64(0) << np.uint64(start & 63))
    if word != np.uint64(0):
        return (at << 6) + _lowest_bit(word)
    at += 1
    block = at >> 6
    if block >= len(summary):
        return -1
    hint = summary[block] & (~np.uint64(0) << np.uint64(at & 63))
    while hint == np.uint64(0):
        block += 1
        if block >= len(summary):
            return -1
        hint = summary[block]
    at = (block << 6) + _lowest_bit(hint)
    return (at << 6) + _lowest_bit(words[at])


@kernel
def best_fit(lengths: Any, capacity: int) -> Any:
    """Assign each piece to a bin: (int32 bin of each piece, number of bins).

    `lengths` is int32, each in 1..capacity; bins are numbered as they are opened. Up to 2^31 - 1
    pieces. Memory: 12 bytes a piece.
    """
    pieces = len(lengths)
    starts = np.zeros(capacity + 2, dtype=np.int64)
    for length in lengths:
        starts[capacity - length + 1] += 1
    for slot in range(1, capacity + 2):
        starts[slot] += starts[slot - 1]
    by_length = np.empty(pieces, dtype=np.int32)
    for piece in range(pieces):
        slot = capacity - lengths[piece]
        by_length[starts[slot]] = piece
        starts[slot] += 1

    bins = np.empty(pieces, dtype=np.int32)
    below = np.empty(pieces, dtype=np.int32)  # next bin in the chain of equal space
    top = np.full(capacity + 1, -1, dtype=np.int32)
    words = np.zeros((capacity >> 6) + 1, dtype=np.uint64)
    summary = np.zeros((len(words) >> 6) + 1, dtype=np.uint64)
    one = np.uint64(1)
    used = 0
    for rank in range(pieces):
        piece = by_length[rank]
        length = lengths[piece]
        space = _next_set(words, summary, length)
        if space < 0:
            chosen = used
            used += 1
            space = capacity
        else:
            chosen = top[space]
            top[space] = below[chosen]
            if top[space] < 0:
                words[space >> 6] &= ~(one << np.uint64(space & 63))
                if words[space >> 6] == np.uint64(0):
                    summary[space >> 12] &= ~(one << np.uint64((space >> 6) & 63))
        bins[piece] = chosen
        left = space - length
        if left > 0:
            below[chosen] = top[left]
            top[left] = chosen
            words[left >> 6] |= one << np.uint64(left & 63)
            summary[left >> 12] |= one << np.uint64((left >> 6) & 63)
    return bins, used


@kernel
def _remainders(lengths: Any, capacity: int) -> Any:
    """Return what is left of each document after its full pieces, where anything is; and all
    pieces."""
    pieces = whole = 0
    for length in lengths:
        pieces += -(-length // capacity)
        whole += length // capacity
    rest = np.empty(pieces - whole, dtype=np.int32)
    at = 0
    for length in lengths:
        if length % capacity:
            rest[at] = length % capacity
            at += 1
    return rest, pieces, whole


@kernel
def _place(lengths: Any, capacity: int, pieces: int, whole: int, bins: Any, used: int) -> Any:
    owner = np.empty(pieces, dtype=np.int32)
    sample = np.empty(pieces, dtype=np.int32)
    offset = np.zeros(pieces, dtype=np.int32)
    length = np.empty(pieces, dtype=np.int32)
    within = np.empty(pieces, dtype=np.int64)
    filled = np.zeros(used, dtype=np.int32)
    at = full = rest = 0
    for document in range(len(lengths)):
        done = np.int64(0)
        while done < lengths[document]:
            owner[at] = document
            within[at] = done
            left = min(lengths[document] - done, capacity)
            length[at] = left
            if left == capacity:
                sample[at] = full
                full += 1
            else:
                sample[at] = whole + bins[rest]
                offset[at] = filled[bins[rest]]
                filled[bins[rest]] += left
                rest += 1
            done += left
            at += 1
    return owner, sample, offset, length, within


def lay_best_fit(lengths: npt.NDArray[np.int64], capacity: int) -> Any:
    """Cut documents into pieces of at most `capacity` and lay them into bins of that size.

    Full pieces fill bins of their own, which come first; what remains of each document is packed
    by `best_fit`; inside a bin pieces stand in document order, so that a long one is not always
    the first. Gives (document, bin, place in the bin, length: int32; first token in the document:
    int64), a row a piece, in document order. `lengths` is int64, each 1 or more. Memory: about 45
    bytes a piece, 24 of them the result.
    """
    rest, pieces, whole = _remainders(lengths, capacity)
    bins, used = best_fit(rest, capacity)
    return _place(lengths, capacity, pieces, whole, bins, used)


@kernel
def lay_end_to_end(lengths: Any, capacity: int) -> Any:
    """Documents in order without a gap, cut where a bin ends; only the last bin has room left.

    Takes and gives what `lay_best_fit` does, without packing.
    """
    pieces = 0
    end = np.int64(0)
    for length in lengths:
        pieces += (end + length - 1) // capacity - end // capacity + 1
        end += length
    owner = np.empty(pieces, dtype=np.int32)
    sample = np.empty(pieces, dtype=np.int32)
    offset = np.empty(pieces, dtype=np.int32)
    piece_length = np.empty(pieces, dtype=np.int32)
    within = np.empty(pieces, dtype=np.int64)
    at = 0
    place = np.int64(0)
    for document in range(len(lengths)):
        done = np.int64(0)
        while done < lengths[document]:
            room = capacity - place % capacity
            left = min(lengths[document] - done, room)
            owner[at] = document
            sample[at] = place // capacity
            offset[at] = place % capacity
            piece_length[at] = left
            within[at] = done
            done += left
            place += left
            at += 1
    return owner, sample, offset, piece_length, within


@kernel
def copy_pieces(source: Any, starts: Any, lengths: Any, targets: Any, out: Any) -> None:
    """Copy piece i, `source[starts[i]:starts[i] + lengths[i]]`, to `out[targets[i]:]`.

    `source` and `out` are flat int32, the others int64; no bounds are checked.
    """
    for piece in range(len(starts)):
        start, target = starts[piece], targets[piece]
        for token in range(lengths[piece]):
            out[target + token] = source[start + token]
