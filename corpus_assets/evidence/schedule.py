"""Which sample a run sees at each position, and at which learning rate.

A run warms up, goes on at a constant rate, and cools down to 0 over its last steps. With the protocol
`anneal` all arms of a seed are one model until it cools down, the baseline's; from there on half of
each step's samples are the arm's.

This file travels with packs: it needs numpy alone.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

WARM_UP = 0.05
COOL_DOWN = 0.4
"""Share of a run."""
CANDIDATES = 0.5
"""Share of a step's samples that are the arm's while it anneals. The rest are the baseline's, so that
an arm is asked what it adds, and not whether it can stand for everything else."""


@dataclass(frozen=True)
class Data:
    """What one run trains on."""

    samples: npt.NDArray[np.int32]  # [samples, sequence], padded
    order: npt.NDArray[np.int64]  # sample at each position of the run
    eod_id: int
    pad_id: int


def rate_at(step: int, steps: int) -> float:
    """Share of the learning rate at a step: up, flat, down."""
    warm_up = max(1, math.ceil(WARM_UP * steps))
    return min(1.0, (step + 1) / warm_up, (steps - step) / (COOL_DOWN * steps))


def trunk_steps(steps: int) -> int:
    """Return how many steps arms that anneal have in common: those before the rate falls."""
    return steps - math.floor(COOL_DOWN * steps)


def candidate_rows(rows: int) -> int:
    """Return how many samples of a step are the arm's while it anneals."""
    return int(CANDIDATES * rows)


def annealed_positions(steps: int, rows: int) -> int:
    """Return how many samples of its own an arm sees that anneals."""
    return (steps - trunk_steps(steps)) * candidate_rows(rows)


def annealed_share(steps: int, rows: int) -> float:
    """Return which part of a run's samples these are."""
    return annealed_positions(steps, rows) / (steps * rows)


def annealed(base: Data, arm: Data, steps: int, rows: int) -> Data:
    """Return what an arm is trained on that anneals: the baseline, and in the first rows of each step
    of the cool-down its own samples, in their order."""
    trunk, own = trunk_steps(steps), candidate_rows(rows)
    order = base.order[: steps * rows].reshape(steps, rows).copy()
    order[trunk:, :own] = arm.order[: (steps - trunk) * own].reshape(-1, own) + len(base.samples)
    samples = np.concatenate([base.samples, arm.samples])
    return Data(samples, order.reshape(-1), base.eod_id, base.pad_id)
