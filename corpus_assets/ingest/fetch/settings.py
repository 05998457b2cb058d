"""How remote files are fetched: how fast, how patiently, and whether copies are kept.

The environment says it and not the recipe, since none of it can change a byte. Tasks carry it, so
that every machine of a build fetches as its driver is configured.
"""

import os
from dataclasses import dataclass

from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import number

MIB = 1 << 20
GIB = 1 << 30

REQUESTS = "CORPUS_FETCH_REQUESTS_PER_S"
CONNECTIONS = "CORPUS_FETCH_CONNECTIONS"
ATTEMPTS = "CORPUS_FETCH_ATTEMPTS"
CACHE = "CORPUS_FETCH_CACHE_GIB"
ALLOW_HTTP = "CORPUS_FETCH_ALLOW_HTTP"


@dataclass(frozen=True)
class FetchSettings:
    requests_per_s: float = 4.0  # to one server, all processes of a machine with this home together
    connections: int = 4  # open at once, counted likewise
    attempts: int = 12  # failures a range may have
    cache_bytes: int = 0  # of whole files kept in the home, the longest unused go first; 0: none is
    allow_http: bool = False  # read from servers that are not encrypted
    first_wait_s: float = 1.0  # bound of the first waiting time
    max_wait_s: float = 60.0  # bound of all waiting times
    timeout_s: float = 60.0  # longest time without a byte
    range_bytes: int = 8 * MIB  # of one request

    @classmethod
    def of_environment(cls) -> "FetchSettings":
        """What an operator may have a reason to change."""
        return cls(
            requests_per_s=_at_least(0.001, REQUESTS, cls.requests_per_s, "requests"),
            connections=int(_at_least(1, CONNECTIONS, cls.connections, "connections")),
            attempts=int(_at_least(1, ATTEMPTS, cls.attempts, "attempts")),
            cache_bytes=int(number(CACHE, 0, "GiB") * GIB),
            allow_http=os.environ.get(ALLOW_HTTP, "").lower() in ("1", "true", "yes"),
        )


def _at_least(least: float, name: str, default: float, unit: str) -> float:
    value = number(name, default, unit)
    if value < least:
        raise CorpusError(f"{name} is {value:g}; expected {least:g} or more {unit}")
    return value
