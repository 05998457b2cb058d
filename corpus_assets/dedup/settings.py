"""What a recipe says of duplicates: how documents are signed, and which count as one."""

from typing import Literal

from pydantic import Field

from corpus_assets.core.identity import Settings, is_absent


class SignatureSettings(Settings):
    """What a signature is made of; permutations = bands * rows_per_band."""

    shingle_words: int = Field(default=5, ge=1, le=64)
    shingle_chars: int | None = Field(
        default=None,
        exclude_if=is_absent,
        ge=1,
        le=64,
        description="characters in a shingle, instead of words; those of 24 characters are as long "
        "as four or five words of English",
    )
    character_shingles: bool = True
    bands: int = Field(default=14, ge=1, le=256)
    rows_per_band: int = Field(default=8, ge=1, le=64)
    seed: int = Field(default=1, ge=0, lt=2**32)

    @property
    def permutations(self) -> int:
        """Number of minima that the bands are made of."""
        return self.bands * self.rows_per_band


class Rolling(Settings):
    """The snapshot and the `rolling` ones before it."""

    rolling: int = Field(ge=1)


class ClusterSettings(Settings):
    """Which matches count, how far they reach, and who is kept."""

    url: bool = True
    exact: bool = True
    near: bool = True
    min_similarity: float = Field(default=0.8, ge=0, le=1)
    max_rounds: int = Field(default=3, ge=1)
    scope: Literal["per_snapshot", "all"] | Rolling = "per_snapshot"
    keep: Literal["longest", "earliest", "latest", "best_quality"] = "longest"
