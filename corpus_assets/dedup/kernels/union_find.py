"""Union-find over int64 parents, where a component's root is always its smallest member.

So the roots say nothing of the order in which edges came. Path halving keeps a search short
(amortised O(log n)); memory is the one array of parents. Indices are below 2^63, no arithmetic
is done on them, so nothing can overflow.
"""

from typing import Any

import numpy as np

from textkernels.compiled import kernel


@kernel
def find(parent: Any, member: Any) -> Any:
    """Root of `member`; halves the path on the way."""
    while parent[member] != member:
        parent[member] = parent[parent[member]]
        member = parent[member]
    return member


@kernel
def union(parent: Any, left: Any, right: Any) -> None:
    """Join two components under the smaller root."""
    left, right = find(parent, left), find(parent, right)
    if left < right:
        parent[right] = left
    elif right < left:
        parent[left] = right


@kernel
def roots(parent: Any) -> Any:
    """int64 root of every member."""
    found = np.empty_like(parent)
    for member in range(parent.size):
        found[member] = find(parent, member)
    return found


@kernel
def union_equal(parent: Any, codes: Any, n_codes: int, kinds: Any, kind: int) -> None:
    """Join members with equal codes (int64 below `n_codes`; negative: no match), in linear time.

    `kinds` (uint8, one a member) is lowered to `kind` for every member that has a partner.
    """
    first = np.full(n_codes, -1, np.int64)
    for member in range(codes.size):
        code = codes[member]
        if code < 0:
            continue
        if first[code] < 0:
            first[code] = member
            continue
        union(parent, first[code], member)
        kinds[first[code]] = min(kinds[first[code]], kind)
        kinds[member] = min(kinds[member], kind)
