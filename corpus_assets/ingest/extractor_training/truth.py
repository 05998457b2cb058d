"""Truth sets of extraction: pages with the main text that a person, or a template, says they have."""

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.extract import PageText, read_page
from corpus_assets.ingest.extractor_training.documentation_templates import main_content
from corpus_assets.ingest.formats import read_warc
from corpus_assets.ingest.kernels.blocks import Blocks

GRAM = 4
MAX_PAGE_BYTES = 20_000_000
MIN_DOCUMENTATION_CHARS = 200
_MARKS = re.compile(r"</?p>")  # some truth sets mark paragraphs
_WORD = re.compile(r"\w+")
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u2e80-\u2fff\u3040-\u9fff\uf900-\ufaff"
_UNIT = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


class Truth(NamedTuple):
    """A page in UTF-8, its main text, and what it is counted under."""

    page: bytes
    main_content: str
    type: str
    lang: str
    site: str


def f1_of(text: str, expected: str) -> float:
    """F1 over words in lower case, each as often as it stands; 0 for a page without text. Soft
    hyphens are not there."""
    wanted = Counter(_WORD.findall(_shown(expected)))
    found = Counter(_WORD.findall(_shown(text)))
    shared = sum((wanted & found).values())
    total = sum(wanted.values()) + sum(found.values())
    return 2 * shared / total if total else 0.0


def _shown(text: str) -> str:
    return text.lower().replace("\xad", "")


def block_texts(page: Blocks) -> list[str]:
    """Return the text of each block."""
    return [
        page.text[start:end].tobytes().decode("utf-8", "replace")
        for start, end in page.blocks[:, :2].tolist()
    ]


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


def json_rows(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of JSON lines, gzipped or not."""
    opened = gzip.open if file.suffix == ".gz" else open
    number = 0
    try:
        with opened(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):  # noqa: B007 - the error tells it
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError("it is not an object")
                yield row
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise SourceError(
            f"{file} cannot be read at or after line {max(number, 1)} ({error}): it should be JSON "
            "lines in UTF-8, an object each, gzipped where its name ends in .gz"
        ) from error


def read_truth(files: Iterable[Path], warcs: Iterable[Path]) -> list[Truth]:
    """Read truth sets: JSON lines, gzipped or not.

    A row has `main_content`, its page as `html` or as the `record_id` of a record of one of the
    WARC files, and may have `type` (or `page_type`), `lang`, `url`. Rows with one `record_id` in
    several files are one; those without main content or page are passed over.
    """
    rows: dict[str, dict[str, Any]] = {}
    for file in files:
        for number, row in enumerate(json_rows(file)):
            key = str(row.get("record_id") or f"{file}:{number}").strip("<>")
            rows.setdefault(key, {}).update(row)
    pages: dict[str, tuple[bytes, str | None]] = {}
    for warc in warcs:
        for key, page, url in read_pages(warc):
            if key in rows:
                pages[key] = page, url
    found = []
    for key, row in rows.items():
        page, url = pages.get(
            key, (str(row.get("html") or "").encode("utf-8", "surrogatepass"), None)
        )
        if page and row.get("main_content"):
            found.append(
                Truth(
                    page,
                    _MARKS.sub(" ", row["main_content"]),
                    str(row.get("type") or row.get("page_type") or "other"),
                    str(row.get("lang") or "unknown"),
                    site_of(row.get("url") or url or key),
                )
            )
    return found


def read_documentation(warcs: Iterable[Path], per_site: int) -> Iterator[Truth]:
    """Truth from the templates of documentation, at most so many pages of a host."""
    taken: Counter[str] = Counter()
    for warc in warcs:
        for key, page, url in read_pages(warc):
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


def read_pages(warc: Path) -> Iterator[tuple[str, bytes, str | None]]:
    """Yield record id, page in UTF-8 and URL of the pages of a WARC file."""
    with warc.open("rb") as stream:
        for record in read_warc(stream, warc.name, MAX_PAGE_BYTES):
            if record.http_status is None or not record.payload:
                continue
            page = read_page(record.payload, record.content_type or "")
            if isinstance(page, PageText):
                yield (record.key or "").strip("<>"), page.utf8, record.url
