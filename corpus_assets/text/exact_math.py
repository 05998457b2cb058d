"""Exponentials and logarithms with the same bits on every processor.

A C library has variants of these functions for different processors, and numpy has its own;
their last bits differ. Here they are sums and products of float64 in a fixed order, which IEEE 754
defines to the bit: compiled code neither reorders nor fuses them. Errors are below 2e-15 of the
result (`exps10`: below 1e-14 up to 1e20).
"""

import math

import numpy as np
import numpy.typing as npt

from textkernels.compiled import kernel

Doubles = npt.NDArray[np.float64]

_LN2_HIGH = 0.6931471803691238  # 33 bits: a product with an exponent is exact
_LN2_LOW = 1.9082149292705877e-10
LN10 = 2.302585092994046
_PER_LN2 = 1.4426950408889634
_SQRT_HALF = 0.7071067811865476
_LEAST, _MOST = -745.2, 709.8  # beyond: 0 and infinity


@kernel
def exp(x: float) -> float:
    """Return e ** x, by Taylor's series within half a power of two around 0."""
    if math.isnan(x):
        return x
    if x < _LEAST:
        return 0.0
    if x > _MOST:
        return math.inf
    power = math.floor(x * _PER_LN2 + 0.5)
    rest = (x - power * _LN2_HIGH) - power * _LN2_LOW
    total = 1.0
    for n in range(14, 0, -1):
        total = 1.0 + rest * total / n
    return math.ldexp(total, int(power))


@kernel
def log(x: float) -> float:
    """Return the natural logarithm of x, by the series of the area tangent; NaN below 0."""
    if math.isnan(x) or x < 0.0:
        return math.nan
    if x == 0.0:
        return -math.inf
    if x == math.inf:
        return x
    share, power = math.frexp(x)
    if share < _SQRT_HALF:
        share *= 2.0
        power -= 1
    ratio = (share - 1.0) / (share + 1.0)
    square = ratio * ratio
    total = 0.0
    for n in range(25, 0, -2):
        total = total * square + 1.0 / n
    return power * _LN2_HIGH + (2.0 * ratio * total + power * _LN2_LOW)


@kernel
def log10(x: float) -> float:
    """Return the logarithm of x to base 10."""
    return log(x) / LN10


@kernel
def logs(values: Doubles) -> Doubles:
    """Return the natural logarithm of each value of an array."""
    out = np.empty_like(values)
    for place in range(values.size):
        out.flat[place] = log(values.flat[place])
    return out


@kernel
def exps10(values: Doubles) -> Doubles:
    """Return 10 to the power of each value of an array."""
    out = np.empty_like(values)
    for place in range(values.size):
        out.flat[place] = exp(values.flat[place] * LN10)
    return out
