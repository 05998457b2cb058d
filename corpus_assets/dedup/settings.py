"""What a recipe says of duplicates: how documents are signed, and which count as one."""

from typing import Annotated, Literal

from pydantic import Field

from corpus_assets.core.identity import Settings, is_absent

Earlier = Annotated[int, Field(ge=1)]
"""How many earlier snapshots."""


class SignatureSettings(Settings):
    """What a signature is made of; permutations = bands * rows_per_band."""

    shingle_words: int = Field(default=5, ge=1, le=64)
    shingle_chars: int | None = Field(
        default=None,
        exclude_if=is_absent,
        ge=1,
        le=64,
        description="characters in a shingle, instead of words; 24 are four or five English words",
    )
    bands: int = Field(default=14, ge=1, le=256)
    rows_per_band: int = Field(default=8, ge=1, le=64)

    @property
    def permutations(self) -> int:
        """Number of minima that the bands are made of."""
        return self.bands * self.rows_per_band


class ClusterSettings(Settings):
    """Which matches count, how far they reach, and who is kept."""

    url: bool = True
    exact: bool = True
    min_similarity: float | None = Field(default=0.8, ge=0, le=1)
    scope: Literal["per_snapshot", "all"] | Earlier = "per_snapshot"
    keep: Literal["longest", "earliest", "latest", "best_quality"] = "longest"

    @property
    def near(self) -> bool:
        """Whether near duplicates are looked for."""
        return self.min_similarity is not None
