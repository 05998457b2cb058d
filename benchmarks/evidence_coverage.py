"""How often intervals of two added variances hold the truth, by how degrees of freedom combine.

    python benchmarks/evidence_coverage.py

Training noise has 2, 3 or 5 degrees of freedom (3, 4 or 6 paired seeds), evaluation noise 9, 19 or 57
(hosts less domains), and its share of the whole variance goes from 0 to 90%. The least and the largest
coverage of 95% intervals over the shares are printed for three weights of 1/degrees: the shares
squared (Satterthwaite), to the power 1.5 (corpus_assets/evidence/compare.py), as they are (near to
Cochran and Cox).
"""

import argparse

import numpy as np
from machine import machine
from scipy.special import stdtrit

SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
POWERS = (2.0, 1.5, 1.0)


def coverage(
    rng: np.random.Generator, worlds: int, training: int, evaluation: int, share: float
) -> list[float]:
    first = (1 - share) * rng.chisquare(training, worlds) / training
    second = share * rng.chisquare(evaluation, worlds) / evaluation
    error = rng.standard_normal(worlds)
    total = first + second
    found = []
    for power in POWERS:
        own = (first / total) ** power / training + (second / total) ** power / evaluation
        found.append(float(np.mean(abs(error) <= stdtrit(1 / own, 0.975) * np.sqrt(total))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=200_000, help="drawn for each share")
    worlds = parser.parse_args().worlds
    print(f"{machine()}\n")
    rng = np.random.default_rng(0)
    print("seeds  hosts' degrees  " + "  ".join(f"power {p:g}".rjust(16) for p in POWERS))
    for training in (2, 3, 5):
        for evaluation in (9, 19, 57):
            drawn = [coverage(rng, worlds, training, evaluation, share) for share in SHARES]
            rows = np.array(drawn)
            ranges = [f"{100 * c.min():.1f} to {100 * c.max():.1f}%" for c in rows.T]
            print(f"{training + 1:5}  {evaluation:14}  " + "  ".join(r.rjust(16) for r in ranges))


if __name__ == "__main__":
    main()
