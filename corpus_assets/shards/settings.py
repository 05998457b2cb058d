"""What a recipe says of shards: how samples are packed, the tokens that shards are built on."""

from typing import Annotated, Literal

from pydantic import Field

from corpus_assets.core.identity import Settings

END_OF_DOCUMENT = "<|end_of_document|>"
PAD = "<|pad|>"

NARROW_IDS = 1 << 16  # ids that two bytes can hold

Packing = Literal["best_fit", "concat"]


class PackSettings(Settings):
    """How documents are laid into samples."""

    seq_len: int = Field(default=2048, ge=2, le=2**24)
    """Tokens in a sample."""
    packing: Packing = "best_fit"
    """`best_fit` cuts only documents longer than a sample, and pads; `concat` cuts at every sample's end."""


class FillInTheMiddle(Settings):
    """Documents cut into prefix, middle and suffix, so that a model learns to fill in the middle."""

    rate: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of documents to rearrange."""
    spm: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of these in the order suffix, prefix, middle, not prefix, suffix, middle."""
    domains: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Domains with such documents."""
