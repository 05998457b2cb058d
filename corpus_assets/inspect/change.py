"""A figure before and after a change."""

from dataclasses import dataclass
from typing import Generic, TypeVar

N = TypeVar("N", int, float)


@dataclass(frozen=True)
class BeforeAfter(Generic[N]):
    """One figure on both sides."""

    before: N
    after: N

    def __str__(self) -> str:
        return shown_change(self.before, self.after)


def shown_change(before: float, after: float) -> str:
    """Return `1,200 -> 1,100 (-8.3%)`, or the figure alone where it stays."""
    if before == after:
        return f"{before:,}"
    share = f" ({(after - before) / before:+.1%})" if before else ""
    return f"{before:,} -> {after:,}{share}"
