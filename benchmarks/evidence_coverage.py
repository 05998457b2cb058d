"""How often intervals hold the truth: of two added variances, and of hosts of unlike size.

    python benchmarks/evidence_coverage.py

Training noise has 2, 3 or 5 degrees of freedom (3, 4 or 6 paired seeds), evaluation noise 9, 19 or 57
(hosts less domains), and its share of the whole variance goes from 0 to 90%. The least and the largest
coverage of 95% intervals over the shares are printed for three weights of 1/degrees: the shares
squared (Satterthwaite), to the power 1.5 (corpus_assets/evidence/compare.py), as they are (near to
Cochran and Cox).

Then means over documents of hosts of unlike size, whose values have a spread of their own and one of
their host's: how often the interval of `compare.Hosts` holds the truth, how wide it is in the median
beside the one that knows both spreads, and the same of one fewer hosts, drawn again (Rao and Wu 1988).
"""

import argparse
from collections.abc import Sequence

import numpy as np
from machine import machine
from scipy.special import stdtrit

from corpus_assets.evidence.compare import HeldOut, Hosts

SIZES = {
    "80, 4 of 3, 16 of 2": [80] + [3] * 4 + [2] * 16,
    "2 of 40, 22 of 2": [40, 40] + [2] * 22,
    "60 / rank, 20 hosts": [max(1, 60 // rank) for rank in range(1, 21)],
    "1 to 7, 21 hosts": [1, 2, 3, 4, 5, 6, 7] * 3,
}
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


def hosts_coverage(
    rng: np.random.Generator, worlds: int, sizes: Sequence[int], of_hosts: float
) -> list[tuple[float, float]]:
    """Coverage and relative width by variance components, and by resampled hosts in closed form."""
    number = np.repeat(np.arange(len(sizes)), sizes)
    weights = np.array(sizes) / len(number)
    known = np.sqrt(of_hosts**2 * weights @ weights + 1 / len(number))
    hosts = Hosts(HeldOut(np.ones(len(number), int), ["x"] * len(number), number.astype(str)))
    found = []
    for _ in range(worlds):
        values = of_hosts * rng.standard_normal(len(sizes))[number]
        values += rng.standard_normal(len(number))
        mean = values.mean()
        shares = np.bincount(number, values - mean) / len(number)
        resampled = shares @ shares * len(sizes) / (len(sizes) - 1)
        halves = [
            stdtrit(degrees, 0.975) * np.sqrt(variance)
            for variance, degrees in (hosts.variance(0, values), (resampled, len(sizes) - 1))
        ]
        found.append([(abs(mean) <= half, half / 1.96 / known) for half in halves])
    hits, widths = np.array(found).transpose(2, 1, 0)
    return list(zip(hits.mean(axis=1), np.median(widths, axis=1), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=200_000, help="drawn for each share")
    parser.add_argument(
        "--host-worlds", type=int, default=10_000, help="drawn for each set of hosts"
    )
    options = parser.parse_args()
    worlds = options.worlds
    print(f"{machine()}\n")
    rng = np.random.default_rng(0)
    print("seeds  hosts' degrees  " + "  ".join(f"power {p:g}".rjust(16) for p in POWERS))
    for training in (2, 3, 5):
        for evaluation in (9, 19, 57):
            drawn = [coverage(rng, worlds, training, evaluation, share) for share in SHARES]
            rows = np.array(drawn)
            ranges = [f"{100 * c.min():.1f} to {100 * c.max():.1f}%" for c in rows.T]
            print(f"{training + 1:5}  {evaluation:14}  " + "  ".join(r.rjust(16) for r in ranges))

    print("\ndocuments of hosts            spread of hosts     components       resampled")
    for name, sizes in SIZES.items():
        for of_hosts in (0.0, 0.3, 1.0):
            both = hosts_coverage(rng, options.host_worlds, sizes, of_hosts)
            shown = [f"{100 * hits:.1f}% x {width:.2f}".rjust(16) for hits, width in both]
            print(f"{name:28}  {of_hosts:15}  {shown[0]}{shown[1]}")


if __name__ == "__main__":
    main()
