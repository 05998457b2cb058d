"""Sketches of texts: how near two texts are, by numbers that both have.

A sketch is 112 numbers of 16 bits (`docs/reference/ids-and-keys.md`); corpus-assets makes them. One covers a text
when at least MIN_AGREEING numbers are equal, and all of at least one of the 14 bands of 8.
"""

NEAR_TEXT = "near_text"  # the kind of a standing order against near copies
SKETCH_VERSION = 1  # raise it whenever the sketch of any text could change
SKETCH_PREFIX = f"v{SKETCH_VERSION}:"
"""How the value of such an order begins; the rest is the sketch in hex."""
BANDS = 14
ROWS_PER_BAND = 8
PLACES = BANDS * ROWS_PER_BAND
MIN_AGREEING = 96  # of 112, so 0.857


def near_text_order(sketch: bytes) -> tuple[str, str]:
    """Return the standing order against near copies of a text."""
    return NEAR_TEXT, SKETCH_PREFIX + sketch.hex()


def ordered_sketch(value: str) -> bytes:
    """Return the sketch in an order's value; empty where another release wrote it."""
    return bytes.fromhex(value[len(SKETCH_PREFIX) :]) if value.startswith(SKETCH_PREFIX) else b""


def agreeing(one: bytes, other: bytes) -> int:
    """Return how many places of two sketches are equal."""
    pairs = zip(one[::2], one[1::2], other[::2], other[1::2], strict=False)
    return sum(a == c and b == d for a, b, c, d in pairs)
