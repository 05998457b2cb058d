"""Truth sets of extraction: pages with the main text that a person, or a template, says they have."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from pageblocks.charset import normalise
from pageblocks.errors import TruthError
from pageblocks.kernels.blocks import Blocks
from pageblocks.kernels.scripts import UNITS
from pageblocks.training.json_lines import json_rows

GRAM = 4
MIN_DOCUMENTATION_CHARS = 200
_MARKS = re.compile(r"</?p>")  # some truth sets mark paragraphs
_WORD = re.compile(r"\w+")
_UNIT = re.compile(rf"[{UNITS}]|[^\W{UNITS}]+")


class StoredPage(NamedTuple):
    """A page in UTF-8, the name that truth sets give it, and where it is from."""

    key: str
    page: bytes
    url: str | None


class Truth(NamedTuple):
    """A page in UTF-8, its main text, and what it is counted under."""

    page: bytes
    main_content: str
    type: str
    lang: str
    site: str

    def labels(self, page: Blocks) -> npt.NDArray[np.float64]:
        """How much of each of its blocks is main content."""
        return block_labels(block_texts(page), self.main_content)


def f1_of(text: str, expected: str) -> float:
    """F1 over words in lower case, each as often as it stands; 0 for a page without text. Both in
    normal form, and soft hyphens are not there."""
    wanted = Counter(_WORD.findall(_shown(normalise(expected))))
    found = Counter(_WORD.findall(_shown(normalise(text))))
    shared = sum((wanted & found).values())
    total = sum(wanted.values()) + sum(found.values())
    return 2 * shared / total if total else 0.0


def _shown(text: str) -> str:
    return text.lower().replace("\xad", "")


def block_texts(page: Blocks) -> list[str]:
    """Return the text of each block."""
    return [page.text_of(number) for number in range(len(page.blocks))]


def block_labels(texts: list[str], main_content: str) -> npt.NDArray[np.float64]:
    """How much of each block's words is main content, 0 to 1.

    A word is when one of the runs of four words it stands in, over the borders of blocks too, is
    one of the main content. A run that the page has more often than the main content counts in
    proportion: of two copies one is too many. Scripts without spaces are compared by characters.
    """
    wanted = _UNIT.findall(_shown(main_content))
    size = min(GRAM, max(1, len(wanted)))
    grams = Counter(_runs(wanted, size))
    words: list[str] = []
    owners: list[int] = []
    for number, text in enumerate(texts):
        units = _UNIT.findall(_shown(text))
        words += units
        owners += [number] * len(units)
    runs = list(_runs(words, size))
    seen = Counter(runs)
    covered = np.zeros(len(words))
    for at, run in enumerate(runs):
        if run in grams:
            here = covered[at : at + size]
            np.maximum(here, min(1.0, grams[run] / seen[run]), out=here)
    total = np.bincount(np.array(owners, dtype=np.int64), minlength=len(texts))
    right = np.bincount(np.array(owners, dtype=np.int64), covered, minlength=len(texts))
    return right / np.maximum(total, 1)


def _runs(words: list[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]


def read_truth(files: Iterable[Path], pages: Iterable[StoredPage] = ()) -> list[Truth]:
    """Read truth sets: JSON lines, gzipped or not.

    A row has `main_content`, its page as `html` or as the `record_id` of one of `pages`, and may
    have `type` (or `page_type`), `lang`, `url`. Rows with one `record_id` in several files are one;
    those without main content or page are passed over.
    """
    rows: dict[str, dict[str, Any]] = {}
    for file in files:
        for number, row in enumerate(json_rows(file)):
            key = str(row.get("record_id") or f"{file}:{number}").strip("<>")
            rows.setdefault(key, {}).update(row)
    stored = {page.key: page for page in pages if page.key in rows}
    found = []
    for key, row in rows.items():
        page = stored.get(key) or _page_of(row, key)
        if page.page and row.get("main_content"):
            found.append(
                Truth(
                    page.page,
                    _MARKS.sub(" ", row["main_content"]),
                    str(row.get("type") or row.get("page_type") or "other"),
                    str(row.get("lang") or "unknown"),
                    site_of(row.get("url") or page.url or key),
                )
            )
    return found


def read_pages(files: Iterable[Path]) -> Iterator[StoredPage]:
    """Read pages of JSON lines with `html` and `url`."""
    for file in files:
        for number, row in enumerate(json_rows(file)):
            yield _page_of(row, f"{file}:{number}")


def _page_of(row: dict[str, Any], key: str) -> StoredPage:
    html = str(row.get("html") or "").encode("utf-8", "surrogatepass")
    return StoredPage(key, html, row.get("url"))


def read_documentation(pages: Iterable[StoredPage], per_site: int) -> Iterator[Truth]:
    """Truth from the templates of documentation, at most so many pages of a host."""
    try:
        from pageblocks.training.documentation_templates import main_content
    except ImportError as error:
        raise TruthError(
            "pages of documentation are read with lxml: install it "
            "(pip install 'pageblocks[documentation]')"
        ) from error
    taken: Counter[str] = Counter()
    for key, page, url in pages:
        host = urlsplit(url or key).hostname or key
        text = main_content(page) if taken[host] < per_site else None
        if text is not None and len(text) >= MIN_DOCUMENTATION_CHARS:
            taken[host] += 1
            yield Truth(page, text, "documentation", "unknown", site_of(url or key))


def site_of(url: str) -> str:
    """The site that a URL is counted under in cross-validation: the last labels of its host."""
    labels = (urlsplit(url).hostname or url).split(".")
    is_short = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3
    return ".".join(labels[-3 if is_short else -2 :])
