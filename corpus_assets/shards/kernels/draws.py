"""From positions of a run to samples, and from samples to their place in files.

One pass over the positions, each a few dozen word operations and two binary searches, so a batch
is located in the time of one call. The formula is told in `shards/order.py`. Nothing here checks
its input: positions must lie in the run, and group and sample numbers in the manifest.
"""

from typing import Any

import numpy as np

from corpus_assets.text.feistel import derive, permute
from textkernels.compiled import kernel


@kernel(nogil=True)
def _after(ends: Any, value: int) -> int:
    """Number of entries of the ascending `ends` that are not above `value`."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) >> 1
        if ends[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(nogil=True)
def draw_samples(
    positions: Any,
    block_samples: int,
    phase_ends: Any,
    phase_keys: Any,
    share_ends: Any,
    counts: Any,
    draws_before: Any,
    sizes: Any,
    group_keys: Any,
) -> Any:
    """(group, sample, epoch) of each position, int64 [3, positions].

    `phase_ends` int64 [phases]: position after each phase; `phase_keys` uint64 [phases].
    `share_ends`, `counts`, `draws_before` int64 [phases * groups], phase by phase: where a group's
    share ends when the blocks of all phases lie end to end, how many samples of a block it is, and
    how many samples of the group earlier phases drew. `sizes` int64 and `group_keys` uint64
    [groups].
    """
    out = np.empty((3, len(positions)), dtype=np.int64)
    groups = len(sizes)
    for row in range(len(positions)):
        position = positions[row]
        phase = _after(phase_ends, position)
        if phase > 0:
            position -= phase_ends[phase - 1]
        block = position // block_samples
        slot = position - block * block_samples
        key = derive(phase_keys[phase], np.uint64(block))
        place = np.int64(permute(np.uint64(slot), np.uint64(block_samples), key))
        place += np.int64(phase * block_samples)
        share = _after(share_ends, int(place))
        ordinal = place - (share_ends[share] - counts[share])
        draw = draws_before[share] + block * counts[share] + ordinal
        group = share % groups
        size = sizes[group]
        epoch = draw // size
        key = derive(group_keys[group], np.uint64(epoch))
        out[0, row] = group
        out[1, row] = np.int64(permute(np.uint64(draw - epoch * size), np.uint64(size), key))
        out[2, row] = epoch
    return out


@kernel(nogil=True)
def find_in_shards(groups: Any, samples: Any, group_starts: Any, shard_ends: Any) -> Any:
    """(shard, sample in it) of each group's sample, int64 [2, rows].

    `group_starts` int64: samples before each group; `shard_ends` int64: samples up to the end of
    each shard, all groups' shards end to end. Empty shards are passed over.
    """
    out = np.empty((2, len(groups)), dtype=np.int64)
    for row in range(len(groups)):
        place = group_starts[groups[row]] + samples[row]
        shard = _after(shard_ends, place)
        out[0, row] = shard
        out[1, row] = place - (shard_ends[shard - 1] if shard > 0 else 0)
    return out
