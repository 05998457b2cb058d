"""What a recipe says of the last text step: lines and passages to cut, personal data to replace."""

import operator
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from corpus_assets.core.bounds import MAX_NGRAM
from corpus_assets.core.identity import Settings, is_absent
from corpus_assets.scrub import ScrubSettings, TextHashList
from corpus_assets.signals import SentenceCut


class BoilerplateSettings(Settings):
    """Which lines are counted, and how often makes one boilerplate."""

    domains: tuple[str, ...] = Field(
        default=("web",),
        description="domains to clean; empty: none",
    )
    min_chars: int = Field(default=12, ge=1, description="shorter lines are kept")
    min_documents: int = Field(
        default=6, ge=2, description="number of kept documents of a bucket with the line"
    )
    min_share: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="share of the kept documents of the bucket that have a line at the same place",
    )
    bucket: Literal["host", "snapshot"] = Field(
        default="host",
        description="`host`: whole elements at one place of a site's template, or, without "
        "places, lines at one distance from the top or bottom; `snapshot`: lines "
        "anywhere, over all sites",
    )

    @property
    def is_frame(self) -> bool:
        """Whether a line counts by its place in the text."""
        return self.bucket == "host"

    def buckets(self, hosts: Iterable[str | None]) -> list[str]:
        """Return the name under which each document's lines are counted."""
        if self.bucket == "snapshot":
            return ["" for _ in hosts]
        return [host or "" for host in hosts]


class RepeatedSpanSettings(Settings):
    """Which passages count as repeated, and where."""

    domains: tuple[str, ...] = Field(default=("web",), description="domains to compare")
    min_words: int = Field(default=50, ge=8, le=MAX_NGRAM, description="shortest passage, in words")
    min_bytes: int | None = Field(
        default=None,
        ge=16,
        le=4096,
        exclude_if=is_absent,
        description="shortest passage in bytes of UTF-8, compared as they are; replaces `min_words`",
    )
    join_share: float | None = Field(
        default=None,
        gt=0,
        le=1,
        exclude_if=is_absent,
        description="what stands between passages goes too where the passages are at least this "
        "share of the whole",
    )
    paragraph_share: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        exclude_if=is_absent,
        description="instead of passages, lines and documents go with more than this share of "
        "their n-grams in documents fetched before",
    )

    @model_validator(mode="after")
    def _one_measure(self) -> "RepeatedSpanSettings":
        default = type(self).model_fields["min_words"].default
        if self.min_bytes is not None and self.min_words != default:
            raise ValueError("min_words and min_bytes exclude each other: set one")
        if self.join_share is not None and self.paragraph_share is not None:
            raise ValueError("join_share is of passages: leave it out with paragraph_share")
        return self

    @property
    def in_bytes(self) -> bool:
        return self.min_bytes is not None

    @property
    def gram_units(self) -> int:
        return self.min_words if self.min_bytes is None else self.min_bytes

    @property
    def print_units(self) -> int:
        return self.gram_units // 2


class CleanTextSettings(Settings):
    boilerplate: BoilerplateSettings = Field(
        default=BoilerplateSettings(),
        description="lines that a site repeats",
    )
    repeated_spans: RepeatedSpanSettings | None = Field(
        default=None, description="cut passages that occur elsewhere in the snapshot"
    )
    sentences: tuple[SentenceCut, ...] = Field(
        default=(),
        exclude_if=is_absent,
        description="cut sentences by classifier score",
    )
    repair_encoding: bool = Field(
        default=False,
        exclude_if=operator.not_,
        description="repair wrongly decoded text (`Ã©` for `é`); needs ftfy",
    )
    scrub: ScrubSettings = ScrubSettings()
    text_hashes: tuple[TextHashList, ...] = Field(
        default=(), description="lists of texts to drop, by hash"
    )
    min_chars: int = Field(default=100, ge=1)
    min_sentences: int | None = Field(
        default=None,
        ge=1,
        exclude_if=is_absent,
        description="a final text with fewer sentences is dropped, counted like `c4_sentences`",
    )
    tiers_by_copies: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        default=(),
        description="cluster sizes from which kept documents form groups of their own "
        "(`high/copies=5`)",
    )

    @model_validator(mode="after")
    def _ascending(self) -> "CleanTextSettings":
        if list(self.tiers_by_copies) != sorted(set(self.tiers_by_copies)):
            raise ValueError("tiers_by_copies must ascend; write each size once")
        return self

    @model_validator(mode="after")
    def _each_classifier_once(self) -> "CleanTextSettings":
        names = [one.name for one in self.sentences]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"sentences: {twice[0]} is a duplicate; name each classifier once")
        return self

    def identity(self) -> dict[str, object]:
        """Without the lists: they are inputs by digest, and where they lie is not identity."""
        return super().identity() | {"text_hashes": []}
