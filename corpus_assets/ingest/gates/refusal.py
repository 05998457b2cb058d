"""What a gate says of a record that goes no further."""

from typing import NamedTuple


class Refusal(NamedTuple):
    """Why a record goes no further. `detail` never holds text of the document."""

    reason: str
    detail: str | None = None
