"""Which pages of a crawl are trained on, and which are held out to measure with.

Pages are drawn by the hashes of their addresses, so many of a host and so many of all: the same
whatever the order of the files, in one pass, and in memory for twice as many pages as are drawn. Of
two captures of an address the first is taken.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple
from urllib.parse import urlsplit

from pageblocks.kernels.block_features import block_features
from pageblocks.kernels.blocks import find_blocks
from pageblocks.model import MODEL, BlockModel, judge, kept_blocks, read_model
from pageblocks.training.declared_pages import DeclaredPage, declared_page
from pageblocks.training.truth import StoredPage
from textkernels.hashing import fnv1a

HELD_OUT = 5  # one site of so many
_CHARS = 4  # column of blocks


class CrawlPages(NamedTuple):
    """Pages of a crawl that declare their text, those of held-out sites apart."""

    train: Sequence[DeclaredPage] = ()
    held_out: Sequence[DeclaredPage] = ()


class _Drawn(NamedTuple):
    order: int
    url: str
    host: str
    labelled: DeclaredPage


def draw_pages(
    pages: Iterable[StoredPage],
    count: int,
    per_host: int,
    on_page: Callable[[int, int], None] = lambda seen, labelled: None,
) -> CrawlPages:
    """Draw `count` pages that declare their text, at most `per_host` of a host. `on_page` gets how
    many pages were seen, and how many of them declare their text."""
    drawn: dict[str, _Drawn] = {}
    labelled = 0
    for seen, stored in enumerate(pages, 1):
        found = declared_page(stored)
        if found is not None:
            labelled += 1
            url = stored.url or stored.key
            drawn.setdefault(url, _Drawn(_hash(url), url, urlsplit(url).hostname or url, found))
            if len(drawn) >= 2 * count:
                drawn = _first(drawn, count, per_host)
        on_page(seen, labelled)
    sides: tuple[list[DeclaredPage], list[DeclaredPage]] = ([], [])
    for one in _first(drawn, count, per_host).values():
        sides[_hash(one.labelled.site) // 1009 % HELD_OUT == 0].append(one.labelled)
    return CrawlPages(*sides)


def _first(drawn: dict[str, _Drawn], count: int, per_host: int) -> dict[str, _Drawn]:
    of_host: Counter[str] = Counter()
    kept: dict[str, _Drawn] = {}
    for one in sorted(drawn.values(), key=lambda one: (one.order, one.url)):
        if of_host[one.host] < per_host and len(kept) < count:
            of_host[one.host] += 1
            kept[one.url] = one
    return kept


def known_f1(pages: Iterable[DeclaredPage], path: Path = MODEL) -> float:
    """What a model finds of pages, as a mean of F1 over the characters of those blocks of which a page
    says what they are."""
    model = read_model(path)
    return fmean(_known_f1(model, page) for page in pages)


def _known_f1(model: BlockModel, page: DeclaredPage) -> float:
    blocks = find_blocks(page.page)
    kept = kept_blocks(page.page, blocks, judge(model, blocks, block_features(blocks)))
    labels, chars = page.labels(blocks), blocks.blocks[:, _CHARS]
    shared = int(chars[kept & (labels == 1)].sum())
    total = int(chars[kept & (labels == labels)].sum() + chars[labels == 1].sum())
    return 2 * shared / total if total else 0.0


def _hash(name: str) -> int:
    return fnv1a(name.encode("utf-8", "surrogatepass"))
