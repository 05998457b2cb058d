"""What tiers of equal shares are called."""


def bucket_names(n: int) -> tuple[str, ...]:
    """Return the tiers of n buckets, best first: `q20` to `q01`."""
    width = len(str(n))
    return tuple(f"q{number:0{width}d}" for number in range(n, 0, -1))
