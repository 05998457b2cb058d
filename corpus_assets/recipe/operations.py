"""Settings that judge or time and change no byte of a version; none of them is part of an identity."""

from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from corpus_assets.core.identity import Settings


class DriftBounds(Settings):
    """Distances from which on a check warns, and fails."""

    warn: float | None = Field(default=None, ge=0, description="warn above it")
    error: float | None = Field(default=None, ge=0, description="fail above it")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.warn is not None and self.error is not None and self.warn > self.error:
            raise ValueError(f"warn {self.warn:g} is above error {self.error:g}")
        return self


class DriftSettings(Settings):
    """What `selection` keeps of a snapshot, against the snapshots of its source before it."""

    survival: DriftBounds = Field(
        default=DriftBounds(warn=0.1),
        description="difference of the shares that selection keeps",
    )
    languages: DriftBounds = Field(
        default=DriftBounds(warn=0.1),
        description="total variation distance of the languages of kept documents, 0 to 1",
    )
    quality: DriftBounds = Field(
        default=DriftBounds(warn=0.05),
        description="difference of the mean of `quality_signal` over kept documents",
    )
    quality_signal: str = Field(default="quality_score", description="the signal to compare")
    shares: DriftBounds = Field(
        default=DriftBounds(warn=0.05, error=0.3),
        description="difference between the share that a cutoff or tier asks for and takes, "
        "beyond chance",
    )
    min_documents: int = Field(
        default=200,
        ge=1,
        description="with fewer kept documents on either side the check is skipped",
    )


class ReviewRule(Settings):
    """When people's judgements let a version be released."""

    min_judged: int = Field(default=100, ge=1, description="number of records that must be judged")
    max_disagreement: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="blocks the release if the 95% interval of the share judged wrong is above "
        "it, for any reason",
    )


class ReleaseGateSettings(Settings):
    """What a version must pass to be released, besides conservation, the audit of its tokenizer and the
    comparison of models."""

    drift: Literal["errors", "warnings", "off"] = Field(
        default="errors", description="which outcomes of the `drift` checks block a release"
    )
    review: ReviewRule | None = Field(
        default=None, description="require people to judge samples of kept and dropped records"
    )


class TakedownSettings(Settings):
    """How long requests are gathered before a run, and what becomes of revoked versions."""

    window_minutes: float = Field(
        default=0.0,
        ge=0,
        description="how long the oldest request waits for the sensor",
    )
    keep_revoked: bool = Field(
        default=False,
        description="leave revoked versions and their text to `corpus gc`",
    )


Retention = Literal["all", "takedowns", "published"]
"""What is kept of a published version's results."""
KEEPS: tuple[Retention, ...] = get_args(Retention)  # from the most to the least
