"""What a recipe says of extraction: how text is taken from pages."""

import operator
from typing import Literal, Self

from pydantic import Field, model_validator

from corpus_assets.core.identity import Settings, is_absent
from corpus_assets.core.model_choice import Model


class ExtractionSettings(Settings):
    """How text is taken from pages.

    `fast` runs trafilatura's own rules only; `balanced`, its default, also compares with two
    other extractors, and takes longer; `precision` does so too and keeps less. resiliparse has one
    mode: it is several times faster than any of these, keeps nearly all of the main text and more
    of what stands around it. `blocks` is this project's own: a small model judges the blocks of a page, of
    any type (a forum's posts are its text); it has one mode, and leaves readers' comments out.
    """

    engine: Literal["trafilatura", "resiliparse", "blocks"] = "trafilatura"
    mode: Literal["fast", "balanced", "precision"] = "fast"
    include_comments: bool = False
    min_chance: float | None = Field(
        default=None,
        ge=0,
        le=1,
        exclude_if=is_absent,
        description="blocks: keep blocks with at least this probability of being main content, "
        "instead of those with the best expected F1",
    )
    format: Literal["text", "markdown"] = Field(
        default="text",
        exclude_if=lambda format: format == "text",
        description="`markdown` keeps headings, lists, quotes, tables and fenced code; blocks only",
    )
    model: Model | None = Field(
        default=None,
        exclude_if=is_absent,
        description="your own model for blocks (`corpus extraction train`)",
    )
    page_type: bool = Field(
        default=False,
        exclude_if=operator.not_,
        description="record the page type",
    )
    max_seconds: int = Field(
        default=20, ge=1, description="CPU seconds per page, over two attempts"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.engine == "blocks" and self.include_comments:
            raise ValueError("blocks has no include_comments: leave it out, or use another engine")
        if self.format == "markdown" and self.engine != "blocks":
            raise ValueError("`format: markdown` is for `engine: blocks`")
        if self.model is not None and self.engine != "blocks":
            raise ValueError("a model is for blocks: set `engine: blocks`")
        if self.min_chance is not None and self.engine != "blocks":
            raise ValueError("min_chance is for blocks: set `engine: blocks` or leave it out")
        return self
