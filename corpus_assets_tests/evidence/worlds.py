"""Invented held-out sets and losses whose true difference is known."""

from dataclasses import dataclass

import numpy as np

from corpus_assets.evidence.compare import Floats, HeldOut, Scores


def held_out(
    rng: np.random.Generator, domains: int = 3, hosts: int = 20, per_host: int = 4
) -> HeldOut:
    """Hosts of unlike size in each domain."""
    domain, host = [], []
    for d in range(domains):
        for h in range(hosts):
            size = int(rng.integers(1, 2 * per_host))
            domain += [f"domain{d}"] * size
            host += [f"host{h}.domain{d}"] * size
    return HeldOut(rng.integers(500, 4000, len(domain)), domain, host)


@dataclass(frozen=True)
class Spread:
    """Standard deviations in percent of bits per byte."""

    baseline: float = 0.1  # between seeds of the baseline
    arm: float = 0.1  # between seeds of the arm
    shared: float = 0.3  # between seeds, the same for both where seeds are paired
    host: float = 1.0  # of the arm's effect between hosts
    document: float = 1.0  # and between documents of a host
    single: float = 0.5  # of one seed on one document


def losses(
    rng: np.random.Generator,
    held: HeldOut,
    seeds: int,
    spread: Spread,
    percent: float = 0.0,
    is_paired: bool = True,
) -> tuple[Scores, Scores]:
    """Draw what a baseline and an arm lose; on average the arm loses `percent` more."""
    host = np.unique(np.array(held.host), return_inverse=True)[1]
    documents = len(host)

    def by_host() -> Floats:
        return rng.standard_normal(int(host.max()) + 1)[host]

    def draw(effect: Floats | float, own: float, shared: Floats) -> Floats:
        between = own * rng.standard_normal((seeds, 1)) + shared
        single = spread.single * rng.standard_normal((seeds, documents))
        bits = level * (1 + (effect + between + single) / 100)
        return np.log(2) * held.bytes * bits

    level = 0.5 + np.abs(1 + 0.2 * by_host() + 0.1 * rng.standard_normal(documents))
    effect = percent + spread.host * by_host() + spread.document * rng.standard_normal(documents)
    first = spread.shared * rng.standard_normal((seeds, 1))
    second = first if is_paired else spread.shared * rng.standard_normal((seeds, 1))
    others = range(seeds) if is_paired else range(100, 100 + seeds)
    return (
        Scores(tuple(range(seeds)), draw(0.0, spread.baseline, first)),
        Scores(tuple(others), draw(effect, spread.arm, second)),
    )
