"""Successive halving on invented worlds: how often a sweep is wrong, what it finds, what it saves.

    python benchmarks/evidence_sweep.py --save benchmarks/evidence/sweep.json

Each world has a held-out set of hosts of unlike size, and arms whose true differences from the
present value are known: none (A/A), a curve with its best value in the middle, or one good value
among worse ones. Spreads are near those of 17M models: seeds 0.15% of bits per byte, hosts 0.5%,
documents 1%. A sweep is wrong where it decides against a value that is as good as the one it lost
to, or proposes a value that is not better than the present one.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from machine import machine

from corpus_assets.evidence.compare import DecisionRule, Floats, HeldOut, Hosts, Scores
from corpus_assets.evidence.halving import BETTER, Standing, rounds_of, standing

SEED, HOST, DOCUMENT, SINGLE = 0.15, 0.5, 1.0, 0.5  # standard deviations in percent
WORLDS = {  # percent against the present value, of the other values
    "A/A, 3 values": (0.0, 0.0, 0.0),
    "A/A, 6 values": (0.0,) * 6,
    "all worse by 1%": (1.0, 1.0, 1.0),
    "one better by 0.5%": (-0.5, 0.0, 0.5),
    "one better by 1%": (-1.0, 0.0, 1.0),
    "a curve, best -2%": (-1.0, -2.0, -1.0, 1.0, 4.0),
}
MAIN, OTHER = 0, 1


def held_out(rng: np.random.Generator) -> HeldOut:
    domain, host = [], []
    for d in range(4):
        for h, size in enumerate(rng.integers(1, 8, 20)):
            domain += [f"domain{d}"] * int(size)
            host += [f"{h}.domain{d}"] * int(size)
    return HeldOut(rng.integers(500, 4000, len(domain)), domain, host)


def losses(
    rng: np.random.Generator, held: HeldOut, effects: list[float], seeds: tuple[int, ...]
) -> dict[str, list[Scores]]:
    """Losses of each arm at two learning rates; the effect on a host or document is that of the arm."""
    host = np.unique(np.array(held.host), return_inverse=True)[1]
    level = 0.5 + np.abs(1 + 0.2 * rng.standard_normal(len(host)))
    shared = 0.3 * rng.standard_normal((2, len(seeds), 1))
    found = {}
    for number, effect in enumerate(effects):
        own: Floats = effect + HOST / 2**0.5 * rng.standard_normal(host.max() + 1)[host]
        own = own + DOCUMENT / 2**0.5 * rng.standard_normal(len(host))
        rates = []
        for rate in (MAIN, OTHER):
            noise = SEED / 2**0.5 * rng.standard_normal((len(seeds), 1)) + shared[rate]
            noise = noise + SINGLE * rng.standard_normal((len(seeds), len(host)))
            rates.append(Scores(seeds, np.log(2) * held.bytes * level * (1 + (own + noise) / 100)))
        found[f"arm{number}"] = rates
    return found


def runs_of(found: Standing, rounds: tuple[tuple[int, ...], ...]) -> int:
    """Models of a learning rate that were trained."""
    (outcome,) = found.outcomes.values()
    until = np.cumsum([len(own) for own in rounds])
    contested = max((p.look or found.looks) for p in outcome.points)
    return int(sum(until[min(p.look or contested, found.looks) - 1] for p in outcome.points))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--save", type=Path, help="JSON file for what is printed")
    options = parser.parse_args()
    print(f"{machine()}\n")
    seeds = tuple(range(options.seeds))
    rounds = rounds_of(seeds)
    rule = DecisionRule(must_not_regress=())
    rows = []
    print(f"{'world':22} wrong  best lost  better found  left at the end  models of all")
    for name, effects in WORLDS.items():
        rng = np.random.default_rng(len(name))
        truth = [0.0, *effects]
        arms = [f"arm{n}" for n in range(len(truth))]
        best = {arm for arm, effect in zip(arms, truth, strict=True) if effect == min(truth)}
        wrong = lost = better = left = runs = 0
        for _ in range(options.worlds):
            held = held_out(rng)
            scores = losses(rng, held, truth, seeds)
            found = standing(Hosts(held), scores, {"key": arms}, rounds, rule)
            outcome = found.outcomes["key"]
            value = dict(zip(arms, truth, strict=True))
            lost += not best & set(outcome.left)
            wrong += any(
                p.beaten_by is not None and value[p.beaten_by] >= value[p.arm]
                for p in outcome.points
            ) or (outcome.verdict == BETTER and value[outcome.chosen] >= 0)
            better += outcome.chosen in best and outcome.verdict == BETTER
            left += len(outcome.left)
            runs += runs_of(found, rounds)
        n = options.worlds
        row = {"world": name, "worlds": n, "wrong": wrong / n, "best_lost": lost / n,
               "best_chosen": better / n, "left": left / n,
               "models": runs / n / len(arms) / len(seeds)}  # fmt: skip
        rows.append(row)
        print(f"{name:22} {wrong / n:5.1%}  {lost / n:9.1%}  {better / n:12.1%}  {left / n:15.2f}"
              f"  {row['models']:13.0%}", flush=True)  # fmt: skip
    if options.save:
        told = {"rounds": rounds, "confidence": rule.confidence, "rows": rows}
        options.save.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
