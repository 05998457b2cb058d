"""Figures for people: numbers, sizes, counts, and intervals of shares that were counted."""

from math import isfinite

Z = 1.959964  # 95%, two-sided


def wilson(part: float, whole: float, z: float = Z) -> tuple[float, float]:
    """Return the score interval of a share (Wilson 1927), the 95% one unless another `z` is asked
    for; (0, 1) where nothing was counted. Of a weighted sample, `whole` is its effective size."""
    if not whole:
        return 0.0, 1.0
    share, shrink = part / whole, 1 + z * z / whole
    middle = (share + z * z / (2 * whole)) / shrink
    half = z / shrink * (share * (1 - share) / whole + (z / (2 * whole)) ** 2) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def short(value: float) -> str:
    """Return a number with four digits, or with all of those before the point."""
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def written(value: object) -> object:
    """Return a value as people write it: 100,000 and 0.0123, lists with commas."""
    if isinstance(value, list | tuple):
        return ", ".join(str(written(one)) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {written(one)}" for name, one in value.items())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    is_whole = isinstance(value, int) or value.is_integer()
    if isinstance(value, float) and not isfinite(value):
        return "not a number"
    return f"{value:,.0f}" if is_whole or abs(value) >= 1e6 else f"{value:,.6g}"


def amount(count: float) -> str:
    """Return a large count as people say it: 15.0T, 7.25B, 320M; small ones whole."""
    for unit, name in ((10**15, "P"), (10**12, "T"), (10**9, "B"), (10**6, "M")):
        if unit <= abs(count) < 1000 * unit:
            return f"{count / unit:.3g}{name}"
    return f"{count:,.0f}"


def size(count: float) -> str:
    """Return bytes as people read them."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} PiB"


def cpu_time(seconds: float) -> str:
    """Return CPU time as people compare it: seconds up to six minutes, then hours."""
    if seconds < 360:
        return f"{seconds:,.1f} CPU seconds"
    return f"{short(seconds / 3600)} CPU hours"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 file`, `2 files`; other plurals are given: `counted(2, "copy", "copies")`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
