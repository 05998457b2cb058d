"""Main text of a page: which extractor, how, and within which limits.

The text is what the extractor itself returns for the same settings, page by page: trafilatura
(Barbaresi 2021) or resiliparse (Bevendorff et al. 2018), its line ends and Unicode form made
uniform.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpus_assets.core.errors import ModelError
from corpus_assets.core.identity import file_digest
from corpus_assets.ingest.extract.page_worker import (
    PageResult,
    WorkerSpec,
    borrow_worker,
    give_back,
)
from corpus_assets.ingest.extract.settings import ExtractionSettings
from corpus_assets.ingest.extractors import engine_version
from pageblocks import PAGE_TYPES_VERSION, normalise

MAX_MEMORY_MB = 1024  # that the extracting process may hold


class Extractor:
    """The extractor of one part. Pages of all parts of a process go through one child."""

    def __init__(self, settings: ExtractionSettings, model: Path | None = None) -> None:
        """`model` is the file of the model that settings name, where they do."""
        wanted, found = settings.model, file_digest(model) if model is not None else None
        extractor_version(settings, found)  # fails now where a package is missing
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
