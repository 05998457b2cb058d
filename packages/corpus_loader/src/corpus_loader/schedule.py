"""Learning rates of a phase, as a recipe hands them to the trainer: pieces of simple curves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from corpus_loader.errors import FieldError

Shape = Literal["linear", "cosine", "sqrt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePiece:
    """A part of a phase, from one rate to another; `share` is of the phase's samples.

    With x from 0 to 1 the rate moves from `start` to `end` by x (linear), (1 - cos(pi x)) / 2
    (cosine) or sqrt(x) (the cooldown "1 - sqrt" of Hägele et al. 2024, arXiv:2405.18392).
    """

    share: float
    start: float
    end: float
    shape: Shape = "linear"

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise FieldError(f"{self.share} is not a share above 0, up to 1", "share")
        for name in ("start", "end"):
            if not 0 <= getattr(self, name) < math.inf:
                raise FieldError(f"{getattr(self, name)} is not a learning rate", name)

    def at(self, place: float) -> float:
        """Return the rate at a place in the piece, 0 to 1."""
        moved = {
            "linear": place,
            "cosine": (1 - math.cos(math.pi * place)) / 2,
            "sqrt": math.sqrt(place),
        }[self.shape]
        return self.start + (self.end - self.start) * moved


def check_pieces(pieces: Sequence[RatePiece]) -> None:
    """Refuse pieces that are not a whole phase."""
    if pieces and abs(sum(piece.share for piece in pieces) - 1) > 1e-6:
        raise FieldError("shares of the pieces do not add up to 1", "learning_rate")


def rate_at(pieces: Sequence[RatePiece], place: float) -> float | None:
    """Return the rate at a place in a phase, 0 to 1; None where the phase states none."""
    begin = 0.0
    for piece in pieces:
        end = begin + piece.share
        if place < end or piece is pieces[-1]:
            return piece.at(min(1.0, max(0.0, (place - begin) / piece.share)))
        begin = end
    return None
