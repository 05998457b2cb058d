"""How remote files are fetched: how fast, how patiently, and whether copies are kept."""

from typing import Literal

from pydantic import Field

from corpus_assets.core.identity import Settings

MIB = 1 << 20


class FetchSettings(Settings):
    """How remote files are fetched. None of it is identity: it cannot change a byte."""

    requests_per_second: float = Field(
        default=4.0,
        gt=0,
        le=1000,
        description="to one server, all processes of a machine with this home together",
    )
    connections: int = Field(default=4, ge=1, le=256, description="open at once, counted likewise")
    cache: Literal["none", "files"] = Field(
        default="none", description="`files`: keep whole files in the home for the next time"
    )
    cache_bytes: int = Field(
        default=100 << 30, ge=1, description="the longest unused files go when there are more"
    )
    attempts: int = Field(default=12, ge=1, le=1000, description="failures a range may have")
    first_wait_s: float = Field(default=1.0, ge=0, description="bound of the first waiting time")
    max_wait_s: float = Field(default=60.0, ge=0, description="bound of all waiting times")
    timeout_s: float = Field(default=60.0, gt=0, description="longest time without a byte")
    range_bytes: int = Field(default=8 * MIB, ge=1 << 12, le=1 << 30, description="of one request")
    allow_http: bool = Field(default=False, description="read from servers that are not encrypted")
