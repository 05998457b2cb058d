"""When takedowns are carried out. None of it changes a byte of a version, so none of it is part
of a recipe's identity."""

from pydantic import Field

from corpus_assets.step import Settings


class TakedownSettings(Settings):
    """How long requests are gathered before a run, and what becomes of revoked versions."""

    window_minutes: float = Field(
        default=0.0,
        ge=0,
        description="the sensor starts a run when the oldest request has waited so long",
    )
    max_batch: int = Field(
        default=1000, ge=1, description="or when so many requests wait, whatever the window"
    )
    keep_revoked: bool = Field(
        default=False,
        description="leave revoked versions and their text to `corpus gc` instead of deleting them",
    )
