"""Main text of a page: which extractor, how, and within which limits.

The text is what the extractor itself returns for the same settings, page by page: trafilatura
(Barbaresi 2021) or resiliparse (Bevendorff et al. 2018), its line ends and Unicode form made
uniform. It runs in a process of its own (`page_worker`), so that no page can hold up a part.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from corpus_assets.core.identity import Settings
from corpus_assets.ingest.extract.charset import normalise
from corpus_assets.ingest.extract.engines import engine_version
from corpus_assets.ingest.extract.page_worker import (
    PageResult,
    WorkerSpec,
    borrow_worker,
    give_back,
)


class ExtractionSettings(Settings):
    """How text is taken from pages.

    `fast` runs trafilatura's own rules only; `precision` also compares with two other
    extractors and keeps less where they disagree, and takes longer. resiliparse has one mode: it
    is several times faster than either, keeps nearly all of the main text and more of what
    stands around it.
    """

    engine: Literal["trafilatura", "resiliparse"] = "trafilatura"
    mode: Literal["fast", "precision"] = "fast"
    include_tables: bool = True
    include_comments: bool = False
    max_seconds: int = Field(
        default=20, ge=1, description="CPU seconds a page may take, in two tries"
    )
    max_memory_mb: int = Field(
        default=1024, ge=64, description="memory the extracting process may hold"
    )


class Extractor:
    """The extractor of one part. Pages of all parts of a process go through one child."""

    def __init__(self, settings: ExtractionSettings) -> None:
        engine_version(settings.engine)  # a missing package is said now
        options = json.dumps(engine_options(settings), sort_keys=True)
        self._spec = WorkerSpec(options, settings.max_seconds, settings.max_memory_mb)
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


def engine_options(settings: ExtractionSettings) -> dict[str, Any]:
    """What the engine has to know; the limits are not its business."""
    return settings.model_dump(mode="json", exclude={"max_seconds", "max_memory_mb"})


def extractor_version(settings: ExtractionSettings) -> str:
    """Package and release that the text comes from: identity, as settings are."""
    return engine_version(settings.engine)
