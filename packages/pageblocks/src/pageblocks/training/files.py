"""A model from files: what `pageblocks train` and `corpus extraction train` do with theirs."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pageblocks.errors import TruthError
from pageblocks.model import write_model
from pageblocks.training.pages import make_pages, read_texts
from pageblocks.training.training import TREES, TrainingPage, train
from pageblocks.training.truth import StoredPage, Truth, read_documentation

PER_HOST = 60


@dataclass(frozen=True)
class FreePages:
    """Pages that a published model may be trained on: documentation whose generator marks the main
    content, at most `per_host` of a host, and so many made up around texts."""

    documentation: Iterable[StoredPage] = ()
    per_host: int = PER_HOST
    made: int = 0
    texts: Sequence[Path] = ()

    def rows(self, seed: int) -> list[Truth]:
        """The pages with their main content."""
        rows = list(read_documentation(self.documentation, self.per_host))
        return rows + list(make_pages(read_texts(self.texts), self.made, seed) if self.made else ())


def train_model(
    out: Path,
    truth: Sequence[TrainingPage],
    free: FreePages,
    files: Mapping[str, Sequence[Path]],
    seed: int = 1,
    trees: int = TREES,
    drawn: int | None = None,
) -> int:
    """Write a model trained on these pages, with the digests of the files they are from by what
    each is for, and how many pages were to be `drawn` from a crawl; the number of pages."""
    rows = [*truth, *free.rows(seed)]
    if not rows:
        raise TruthError(
            "no page to train on: give --truth, --documentation, --made and --texts, or a crawl with more "
            "pages that declare their text"
        )
    trained_on: dict[str, Any] = {
        option: {file.name: _digest(file) for file in given}
        for option, given in files.items()
        if given
    }
    if drawn is not None:
        trained_on["pages"] = drawn
    trained_on |= {"per_host": free.per_host, "made": free.made, "seed": seed, "trees": trees}
    out.write_bytes(write_model(train(rows, seed, trees), trained_on))
    return len(rows)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
