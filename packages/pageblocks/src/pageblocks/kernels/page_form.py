"""The form of a page, for its type: what is prose, posts, entries of one make, in integers.

Menus, heads and feet are left out, unless all of the page stands in something called so.
"""

from typing import Any, NamedTuple

import numpy as np

from pageblocks.kernels.block_features import group_equal
from pageblocks.kernels.blocks import FLAGS, Blocks
from pageblocks.kernels.page_names import HINTS, TAGS
from textkernels.byte_search import byte_kernel
from textkernels.compiled import kernel

MANY_ITEMS = 8
MIN_PROSE_CHARS, MIN_POST_CHARS = 80, 40


def _has_tag(names: str) -> Any:
    found = np.zeros(len(TAGS) + 2, dtype=np.bool_)
    found[[TAGS[name] for name in names.split()]] = True
    return found


_IS_ENTRY = _has_tag("li div article tr section td custom")
_IS_AROUND = _has_tag("nav header footer aside dialog")
_AROUND_BITS = sum(1 << HINTS[name] for name in ("navigation", "footer", "sidebar", "overlay"))
_POST, _COMMENT, _USER, _PRODUCT = (
    1 << HINTS[name] for name in ("post", "comment", "user", "product")
)
_PRE = FLAGS["is_pre"]


class PageForm(NamedTuple):
    """Measures of a page without its menus, heads and feet; shares are thousandths of characters."""

    chars: int
    link_share: int  # in links
    prose: int  # characters of blocks that read as prose
    main_link_share: int  # in links, of the smallest element with most of the prose
    pre_share: int  # preformatted
    pres: int  # preformatted blocks
    posts: int  # elements of one make that are named as posts and hold text
    post_share: int  # what those hold
    users: int  # elements of one make that are named as users
    items: int  # of the elements of one make, with links, that hold the most
    item_share: int  # what those hold
    item_prose_share: int  # what those hold of the prose
    product_names: int  # elements named as prices, carts, variants ...


def measure_form(page: Blocks) -> PageForm:
    """Measure a page's form; time linear in its blocks and elements."""
    found = _measure(page.blocks, page.elements, page.signatures)
    return PageForm(*(int(value) for value in found))


@byte_kernel
def count_prices(text: Any, most: int) -> int:
    """How many prices stand in a text in UTF-8, up to so many: a sign of a currency before or behind a
    digit, with at most one space between."""
    n, count, at = len(text), 0, 0
    while at < n and count < most:
        sign = _sign_bytes(text, at)
        is_digit = 48 <= text[at] <= 57
        if sign == 0 and not is_digit:
            at += 1
            continue
        place = after = at + max(sign, 1)
        while place < n and place < after + 2 and text[place] in (32, 0xC2, 0xA0):
            place += 1
        width = 0
        if place < n:
            behind = _sign_bytes(text, place)
            width = (48 <= text[place] <= 57) if sign else (behind if behind == 3 else 0)
        count += width > 0
        at = place + width if width else at + 1
    return count


@byte_kernel
def _sign_bytes(text: Any, at: int) -> int:
    """Bytes of the sign of a currency at a place; 0 where there is none."""
    first = text[at]
    if first == 36:
        return 1
    if first == 0xC2 and at + 1 < len(text) and text[at + 1] in (0xA3, 0xA5):
        return 2
    if (
        first == 0xE2
        and at + 2 < len(text)
        and text[at + 1] == 0x82
        and 0xA0 <= text[at + 2] <= 0xBF
    ):
        return 3
    return 0


@kernel
def _measure(blocks: Any, elements: Any, signatures: Any) -> Any:
    """The fields of `PageForm`, int64 (13)."""
    n, m = len(blocks), len(elements)
    around = np.zeros(m, dtype=np.bool_)
    product_names = 0
    for e in range(m):
        around[e] = elements[e, 2] & _AROUND_BITS > 0 or _IS_AROUND[elements[e, 1]]
        product_names += elements[e, 2] & _PRODUCT > 0
    is_around = _covered(elements, around, n)
    everything = total = 0
    for b in range(n):
        everything += blocks[b, 4]
        total += 0 if is_around[b] else blocks[b, 4]
    if 10 * total < everything:  # all of it stands in something called so
        is_around[:] = False
        total = everything
    is_prose = np.zeros(n, dtype=np.bool_)
    sums = np.zeros((n + 1, 3), dtype=np.int64)  # chars, in links, of prose
    pres = pre_chars = 0
    for b in range(n):
        chars = 0 if is_around[b] else blocks[b, 4]
        links = min(blocks[b, 6], chars)
        is_prose[b] = chars >= MIN_PROSE_CHARS and 3 * links < chars and blocks[b, 8] > 0
        sums[b + 1, 0] = sums[b, 0] + chars
        sums[b + 1, 1] = sums[b, 1] + links
        sums[b + 1, 2] = sums[b, 2] + (chars if is_prose[b] else 0)
        if blocks[b, 3] & _PRE > 0 and chars > 0:
            pres += 1
            pre_chars += chars
    held = np.zeros((m, 3), dtype=np.int64)
    is_post, is_entry, is_user = (
        np.zeros(m, dtype=np.bool_),
        np.zeros(m, dtype=np.bool_),
        np.zeros(m, dtype=np.bool_),
    )
    main = 0
    for e in range(m):
        for column in range(3):
            held[e, column] = sums[elements[e, 5], column] - sums[elements[e, 4], column]
        chars, hints = held[e, 0], elements[e, 2]
        is_post[e] = hints & _POST > 0 and hints & _COMMENT == 0 and chars >= MIN_POST_CHARS
        is_user[e] = hints & _USER > 0 and chars > 0
        # what holds most of a page is none of many
        is_entry[e] = _IS_ENTRY[elements[e, 1]] and held[e, 1] > 0 and 3 * chars < total
        if 10 * held[e, 2] >= 6 * held[0, 2]:  # they form a chain
            main = e
    posts = _largest(signatures, is_post, held, 2)
    items = _largest(signatures, is_entry, held, MANY_ITEMS)
    in_posts, in_items = _covered(elements, posts, n), _covered(elements, items, n)
    post_chars = item_chars = item_prose = 0
    for b in range(n):
        chars = sums[b + 1, 0] - sums[b, 0]
        post_chars += chars if in_posts[b] else 0
        item_chars += chars if in_items[b] else 0
        item_prose += chars if in_items[b] and is_prose[b] else 0
    found = np.empty(13, dtype=np.int64)
    found[0] = total
    found[1] = _share(sums[n, 1], total)
    found[2] = held[0, 2]
    found[3] = _share(held[main, 1], held[main, 0])
    found[4] = _share(pre_chars, total)
    found[5] = pres
    found[6] = posts.sum()
    found[7] = _share(post_chars, total)
    found[8] = _largest(signatures, is_user, held, 2).sum()
    found[9] = items.sum()
    found[10] = _share(item_chars, total)
    found[11] = _share(item_prose, held[0, 2])
    found[12] = product_names
    return found


@kernel
def _covered(elements: Any, chosen: Any, n: int) -> Any:
    """Blocks that stand in one of the chosen elements."""
    steps = np.zeros(n + 1, dtype=np.int64)
    for e in range(len(elements)):
        if chosen[e]:
            steps[elements[e, 4]] += 1
            steps[elements[e, 5]] -= 1
    return np.cumsum(steps)[:n] > 0


@kernel
def _share(part: int, whole: int) -> int:
    return 1000 * part // whole if whole else 0


@kernel
def _largest(signatures: Any, chosen: Any, held: Any, at_least: int) -> Any:
    """Those chosen elements of one make, so many at least, that hold the most; of equals those
    of the lowest signature."""
    where = np.flatnonzero(chosen)
    groups, count = group_equal(signatures[where])
    sizes, sums = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    names = np.zeros(count, dtype=np.uint64)
    for at in range(len(where)):
        sizes[groups[at]] += 1
        sums[groups[at]] += held[where[at], 0]
        names[groups[at]] = signatures[where[at]]
    best = -1
    for group in range(count):
        if sizes[group] < at_least or sums[group] == 0:
            continue
        is_more = best < 0 or sums[group] > sums[best]
        if is_more or (sums[group] == sums[best] and names[group] < names[best]):
            best = group
    found = np.zeros(len(chosen), dtype=np.bool_)
    for at in range(len(where)):
        found[where[at]] = groups[at] == best
    return found
