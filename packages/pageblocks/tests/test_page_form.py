from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from sample_pages import random_page, texts

from pageblocks.kernels.blocks import FLAGS, Blocks, find_blocks
from pageblocks.kernels.page_form import PageForm, measure_form
from pageblocks.kernels.page_names import HINTS, TAGS
from pageblocks.training import make_pages

Longs = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

_ENTRY_TAGS = [TAGS[name] for name in ("li", "div", "article", "tr", "section", "td", "custom")]
_AROUND_TAGS = [TAGS[name] for name in ("nav", "header", "footer", "aside", "dialog")]
_AROUND_HINTS = ("navigation", "footer", "sidebar", "overlay")
MIN_PROSE_CHARS, MIN_POST_CHARS, MANY_ITEMS = 80, 40, 8


def naive_form(page: Blocks) -> PageForm:
    """The same measures, array by array."""
    blocks, elements = page.blocks.astype(np.int64), page.elements.astype(np.int64)
    hints = elements[:, 2]
    around = _covered(elements, _is_around(elements), len(blocks))
    chars = np.where(around, 0, blocks[:, 4])
    if 10 * chars.sum() < blocks[:, 4].sum():  # all of it stands in something called so
        chars = blocks[:, 4]
    links = np.minimum(blocks[:, 6], chars)
    total = int(chars.sum())
    is_prose = (chars >= MIN_PROSE_CHARS) & (3 * links < chars) & (blocks[:, 8] > 0)
    is_pre = ((blocks[:, 3] & FLAGS["is_pre"]) > 0) & (chars > 0)
    held, linked = _held(chars, elements), _held(links, elements)
    prose = _held(np.where(is_prose, chars, 0), elements)
    main = int(np.flatnonzero(10 * prose >= 6 * prose[0])[-1])  # they form a chain
    is_post = _has(hints, "post") & ~_has(hints, "comment") & (held >= MIN_POST_CHARS)
    is_entry = np.isin(elements[:, 1], _ENTRY_TAGS) & (linked > 0)
    is_entry &= 3 * held < total  # what holds most of a page is none of many
    posts = _largest(page.signatures, is_post, held, 2)
    items = _largest(page.signatures, is_entry, held, MANY_ITEMS)
    in_posts, in_items = (_covered(elements, chosen, len(blocks)) for chosen in (posts, items))
    return PageForm(
        chars=total,
        link_share=_share(int(links.sum()), total),
        prose=int(prose[0]),
        main_link_share=_share(int(linked[main]), int(held[main])),
        pre_share=_share(int(chars[is_pre].sum()), total),
        pres=int(is_pre.sum()),
        posts=int(posts.sum()),
        post_share=_share(int(chars[in_posts].sum()), total),
        users=int(_largest(page.signatures, _has(hints, "user") & (held > 0), held, 2).sum()),
        items=int(items.sum()),
        item_share=_share(int(chars[in_items].sum()), total),
        item_prose_share=_share(int(chars[in_items & is_prose].sum()), int(prose[0])),
        product_names=int(_has(hints, "product").sum()),
    )


def _is_around(elements: Longs) -> Truths:
    """Elements that are what stands around the content of any page."""
    bits = sum(1 << HINTS[name] for name in _AROUND_HINTS)
    found: Truths = ((elements[:, 2] & bits) > 0) | np.isin(elements[:, 1], _AROUND_TAGS)
    return found


def _covered(elements: Longs, chosen: Truths, n: int) -> Truths:
    """Blocks that stand in one of the chosen elements."""
    steps = np.zeros(n + 1, dtype=np.int64)
    np.add.at(steps, elements[chosen, 4], 1)
    np.add.at(steps, elements[chosen, 5], -1)
    found: Truths = np.cumsum(steps)[:n] > 0
    return found


def _held(amounts: Longs, elements: Longs) -> Longs:
    """Sum of the amounts of the blocks that each element holds."""
    sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(amounts)])
    found: Longs = sums[elements[:, 5]] - sums[elements[:, 4]]
    return found


def _has(hints: Longs, name: str) -> Truths:
    found: Truths = (hints >> HINTS[name] & 1).astype(np.bool_)
    return found


def _share(part: int, whole: int) -> int:
    return 1000 * part // whole if whole else 0


def _largest(
    signatures: npt.NDArray[np.uint64], chosen: Truths, held: Longs, at_least: int
) -> Truths:
    """Those chosen elements of one make, so many at least, that hold the most."""
    where = np.flatnonzero(chosen)
    _, group, counts = np.unique(signatures[where], return_inverse=True, return_counts=True)
    sums = np.zeros(len(counts), dtype=np.int64)
    np.add.at(sums, group, held[where])
    sums[counts < at_least] = 0
    found = np.zeros(len(chosen), dtype=np.bool_)
    if sums.any():
        found[where[group == sums.argmax()]] = True
    return found


@pytest.mark.parametrize("seed", range(5))
def test_the_form_of_random_pages_is_that_of_the_naive_way(seed: int) -> None:
    random = Random(seed)
    for _ in range(20):
        page = find_blocks(random_page(random))
        assert measure_form(page) == naive_form(page)


def test_the_form_of_pages_of_all_types_is_that_of_the_naive_way() -> None:
    forms = []
    for made in make_pages(texts(), 60, 3):
        page = find_blocks(made.page)
        forms.append(measure_form(page))
        assert forms[-1] == naive_form(page)
    assert all(any(form[field] for form in forms) for field in range(len(PageForm._fields)))


def test_a_page_without_text_has_a_form() -> None:
    for page in (b"", b"<div></div>", b"<nav>a</nav>"):
        assert measure_form(find_blocks(page)) == naive_form(find_blocks(page))
