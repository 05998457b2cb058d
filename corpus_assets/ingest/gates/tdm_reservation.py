"""Values of `tdm-reservation` (W3C TDM Reservation Protocol), read leniently.

The protocol knows 1 and 0. Publishers also write them in quotes, with decimals or with something
after them, and `true` in JSON; what else is written says nothing.
"""

import re

_ONE = re.compile(r"[\s\"']*1(?:\.0*)?(?![\w.])")
_ZERO = re.compile(r"[\s\"']*0(?:\.0*)?[\s\"']*")


def is_reserved(value: object) -> bool:
    """Whether a value, as text or from JSON, reserves the rights."""
    return value is True or _ONE.match(str(value)) is not None


def is_freed(value: str) -> bool:
    """Whether a value says, and says nothing else, that they are not reserved."""
    return _ZERO.fullmatch(value) is not None
