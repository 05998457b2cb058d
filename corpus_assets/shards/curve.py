"""Upsampling curves over buckets of equal shares: how often each is seen, from few numbers.

The curve is that of OLMo 3 (Ettinger et al. 2025, arXiv:2512.13961, section 3.4.4; code:
allenai/dolma3@c4712ff, datasets/dolma3_mix/mixes/mixing_utils.py): nothing below a percentile, and
above it f(x) = C x^p e^(l x), where x is the share of the corpus between that percentile and the
document. C fixes the mean over the corpus; p and l are as large as the mean over the best bucket
allows. Theirs takes p from a grid of 20 values up to 2 and then the largest l up to 2; here p is
continuous, and l rises only where p is 2. A bucket has the mean of the curve over it.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, model_validator

from corpus_assets.core.identity import Settings
from corpus_assets.core.tiers import bucket_names

STEEPEST = 2.0  # of p, and of l
DIGITS = 6
"""Decimals of a multiplier. Arithmetic has 50 digits, and exponentials and logarithms of decimals
are correctly rounded: multipliers are the same on every machine."""


class CurveSettings(Settings):
    """How often tokens of each bucket are seen, from the worst to the best."""

    buckets: int = Field(
        ge=2, le=100, description="number of buckets, as in `selection.tiers.buckets`"
    )
    discard: float = Field(
        default=0.0, ge=0, lt=1, description="share of the worst documents to leave out"
    )
    mean: Annotated[float, Field(gt=0)] | None = Field(
        default=1.0,
        description="mean multiplier over all buckets; null: as often as the share of the groups asks "
        "of the whole run, with buckets of as many tokens as these groups have",
    )
    largest: float = Field(default=7.0, gt=0, description="largest multiplier of a bucket")
    power: float | None = Field(
        default=None,
        ge=0,
        le=20,
        description="p of the curve C x^p e^(l x); null: the steepest curve within `largest`, with "
        "p and l up to 2",
    )
    exponent: float | None = Field(default=None, ge=0, le=20, description="l of the curve; null: 0")
    points: tuple[tuple[float, float], ...] = Field(
        default=(),
        description="instead: (share of worse documents, multiplier), joined by straight lines, "
        "from share 0 to 1",
    )

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        if self.points:
            shares = [share for share, _ in self.points]
            alone = CurveSettings.model_construct(buckets=self.buckets, points=self.points)
            if self != alone:
                raise ValueError("a curve is `points`, or its parameters")
            if shares != sorted(shares) or (shares[0], shares[-1]) != (0, 1):
                raise ValueError("points must ascend from share 0 to share 1")
            if min(weight for _, weight in self.points) < 0:
                raise ValueError("a multiplier in points is below 0")
        elif self.power is None and self.exponent is not None:
            raise ValueError("`exponent` goes with `power`")
        if self.mean is None and self.points:
            raise ValueError("a curve is `points`, or its parameters")
        best = max(self.multipliers.values())
        if not best:
            raise ValueError("the curve leaves everything out")
        if not self.points and self.mean is not None and best > self.largest:
            raise ValueError(
                f"the best bucket would be seen {best:g} times, allowed is {self.largest:g}: raise "
                "`largest`, or lower `mean`, `discard` or `power`"
            )
        return self

    @property
    def multipliers(self) -> dict[str, float]:
        """Return the multiplier of each bucket, best first."""
        return dict(zip(bucket_names(self.buckets), _means(self), strict=True))

    def multipliers_of(self, tokens: Mapping[str, int], mean: Fraction) -> dict[str, float]:
        """Return the multipliers of buckets with so many tokens, so that these are seen `mean` times
        on average. As published, only buckets that lie below `discard` as a whole are left out. Where
        not even equal multipliers are within `largest`, they are equal."""
        names = [name for name in bucket_names(self.buckets) if tokens.get(name)]
        total, below = sum(tokens[name] for name in names), 0
        edges = [Fraction(0)]
        for name in reversed(names):
            below += tokens[name]
            edges.insert(0, Fraction(below, total))
        last = max(edge for edge in edges if edge <= exact(self.discard))
        return dict(zip(names, _power_means(self, tuple(edges), last, mean), strict=True))


def exact(number: float) -> Fraction:
    """Return the decimal that a person wrote, not the nearest binary fraction."""
    return Fraction(repr(number))


@lru_cache(maxsize=64)
def _means(curve: CurveSettings) -> tuple[float, ...]:
    edges = [Fraction(k, curve.buckets) for k in range(curve.buckets, -1, -1)]
    if curve.points:
        held = [_area_below(curve.points, edge) for edge in edges]
        means = [(high - low) * curve.buckets for high, low in pairwise(held)]
        return tuple(round(float(mean), DIGITS) for mean in means)
    return _power_means(curve, tuple(edges), exact(curve.discard), exact(curve.mean or 1.0))


@lru_cache(maxsize=256)
def _power_means(
    curve: CurveSettings, edges: tuple[Fraction, ...], discard: Fraction, mean: Fraction
) -> tuple[float, ...]:
    """Return the means over buckets between edges, from 1 down to 0; the curve begins at `discard`."""
    with localcontext(Context(prec=50)):
        found = _exact_means(curve, edges, discard, mean)
    return tuple(round(float(each), DIGITS) for each in found)


def _exact_means(
    curve: CurveSettings, edges: Sequence[Fraction], discard: Fraction, mean: Fraction
) -> list[Decimal]:
    widths = [_decimal(high - low) for high, low in pairwise(edges)]
    xs = [max(edge - discard, Fraction(0)) for edge in edges]
    held = [_decimal(x) for x in xs]

    def means(power: Decimal, exponent: Decimal) -> list[Decimal]:
        areas = [_area(x, power, exponent) for x in held]
        scale = _decimal(mean) / areas[0]
        steps = zip(pairwise(areas), widths, strict=True)
        return [(high - low) / width * scale for (high, low), width in steps]

    if curve.power is not None:
        return means(Decimal(repr(curve.power)), Decimal(repr(curve.exponent or 0.0)))
    zero = Decimal(0)
    largest = Decimal(repr(curve.largest))

    def fits(power: Decimal, exponent: Decimal) -> bool:
        high, low = (_area(x, power, exponent) for x in held[:2])
        return (high - low) / widths[0] * (_decimal(mean) / high) <= largest

    power = _steepest(lambda p: fits(p, zero))
    exponent = zero
    if power == Decimal(STEEPEST):
        exponent = _steepest(lambda rise: fits(power, rise))
    return means(power, exponent)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _steepest(fits: Callable[[Decimal], bool]) -> Decimal:
    """Return the largest number up to STEEPEST that fits, 0 where none does."""
    low, high = Decimal(0), Decimal(STEEPEST)
    if fits(high):
        return high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _area(x: Decimal, power: Decimal, exponent: Decimal) -> Decimal:
    """Integrate t^power e^(exponent t) from 0 to x, x up to 1: the exponential's series."""
    if not x:
        return Decimal(0)
    term, total, k = (x.ln() * (power + 1)).exp(), Decimal(0), 0
    while term > Decimal("1e-40") or k <= exponent:
        total += term / (power + k + 1)
        k += 1
        term *= exponent * x / k
    return total


def _area_below(points: Sequence[tuple[float, float]], end: Fraction) -> Fraction:
    """Integrate the line through the points from 0 to `end`."""
    exact = [(Fraction(repr(x)), Fraction(repr(y))) for x, y in points]
    total = Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(exact):
        reach = min(end, x1)
        if reach > x0:
            at = y0 + (y1 - y0) * (reach - x0) / (x1 - x0)
            total += (y0 + at) / 2 * (reach - x0)
    return total
