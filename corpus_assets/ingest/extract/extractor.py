"""Main text of a page: which extractor, how, and within which limits.

The text is what the extractor itself returns for the same settings, page by page: trafilatura
(Barbaresi 2021) or resiliparse (Bevendorff et al. 2018), its line ends and Unicode form made
uniform.
"""

import json
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from corpus_assets.core.errors import ModelError
from corpus_assets.core.identity import Settings, file_digest, is_absent
from corpus_assets.core.model_choice import Model
from corpus_assets.ingest.extract.page_worker import (
    PageResult,
    WorkerSpec,
    borrow_worker,
    give_back,
)
from corpus_assets.ingest.extractors import engine_version
from pageblocks import PAGE_TYPES_VERSION, normalise

MAX_MEMORY_MB = 1024  # that the extracting process may hold


class ExtractionSettings(Settings):
    """How text is taken from pages.

    `fast` runs trafilatura's own rules only; `precision` also compares with two other
    extractors and keeps less where they disagree, and takes longer. resiliparse has one mode: it
    is several times faster than either, keeps nearly all of the main text and more of what
    stands around it. `blocks` is this project's own: a small model judges the blocks of a page, of
    any type (a forum's posts are its text); it has one mode, and leaves readers' comments out.
    """

    engine: Literal["trafilatura", "resiliparse", "blocks"] = "trafilatura"
    mode: Literal["fast", "precision"] = "fast"
    include_comments: bool = False
    min_chance: float | None = Field(
        default=None,
        ge=0,
        le=1,
        exclude_if=is_absent,
        description="blocks: keep every block with this chance of being main content or more, "
        "instead of those with the best expected F1; higher keeps less",
    )
    format: Literal["text", "markdown"] = Field(
        default="text",
        exclude_if=lambda format: format == "text",
        description="`markdown` has headings, lists, quotes, tables and fenced code as such; "
        "blocks only",
    )
    model: Model | None = Field(
        default=None,
        exclude_if=is_absent,
        description="a model of your own for blocks (`corpus extraction train`)",
    )
    page_type: bool = Field(
        default=False,
        exclude_if=operator.not_,
        description="note the type of each page: article, forum, product, listing, documentation, "
        "home_page or other",
    )
    max_seconds: int = Field(
        default=20, ge=1, description="CPU seconds a page may take, in two tries"
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


class Extractor:
    """The extractor of one part. Pages of all parts of a process go through one child."""

    def __init__(self, settings: ExtractionSettings, model: Path | None = None) -> None:
        """`model` is the file of the model that settings name, where they do."""
        wanted, found = settings.model, file_digest(model) if model is not None else None
        extractor_version(settings, found)  # a missing package is said now
        if wanted is not None and (found is None or wanted.sha256 not in (None, found)):
            raise ModelError(f"extraction needs the model {wanted.sha256 or wanted}, not {model}")
        options = json.dumps(engine_options(settings, model), sort_keys=True)
        self._spec = WorkerSpec(options, settings.max_seconds, MAX_MEMORY_MB)
        self.cpu_seconds = 0.0  # spent elsewhere

    def extract_all(self, pages: Sequence[bytes]) -> list[PageResult]:
        """Of pages in valid UTF-8: main text in normal form, empty when there is none, or the
        reason why not."""
        worker = borrow_worker(self._spec)
        found = worker.extract_all(pages)
        give_back(worker)
        self.cpu_seconds += sum(page.cpu_seconds for page in found)
        return [page._replace(text=normalise(page.text)) for page in found]

    def extract(self, html: str | bytes) -> PageResult:
        """Of one page, as text or in valid UTF-8."""
        page = html if isinstance(html, bytes) else html.encode("utf-8", "surrogatepass")
        [found] = self.extract_all([page])
        return found


def engine_options(settings: ExtractionSettings, model: Path | None = None) -> dict[str, Any]:
    """Return what the engine has to know; the limits are not its business."""
    options = settings.model_dump(mode="json", exclude={"max_seconds", "model"})
    options["include_tables"] = True
    return options if model is None else options | {"model": str(model)}


def extractor_version(settings: ExtractionSettings, model_sha256: str | None = None) -> str:
    """Package and release that the text comes from: identity, as settings are. Of a model that the
    settings name: its digest."""
    engine = engine_version(settings.engine, model_sha256)
    return f"{engine}, page types {PAGE_TYPES_VERSION}" if settings.page_type else engine
