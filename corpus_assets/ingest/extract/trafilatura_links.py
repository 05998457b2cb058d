"""Which elements are mostly links, by trafilatura's measures, each link measured once."""

from typing import Any

from lxml.etree import _Element, tostring

from corpus_assets.ingest.extract.trafilatura_copy import TrafilaturaCopy

Sizes = dict[_Element, int]  # length of a link's text; valid until the tree changes
SHORT_CHARS = 10


def thin_out(
    copied: TrafilaturaCopy, tree: _Element, tag: str, is_precise: bool, sizes: Sizes
) -> bool:
    """Delete the elements of a tag that are mostly links; whether there were any.

    Does what `delete_by_link_density` does, which backtracks for `div` only.
    """
    doomed: list[_Element] = []
    most_chars, least_children = (200, 1) if is_precise else (100, 3)
    for element in tree.iter(tag):
        links = list(element.iterdescendants("ref"))
        if not links or next(element.iterdescendants("graphic"), None) is not None:
            continue
        size = text_size(element)
        is_farm, is_short = _is_link_farm(copied, element, links, size, is_precise, sizes)
        if is_farm or (
            is_short and tag == "div" and len(element) >= least_children and size < most_chars
        ):
            parent = element.getparent()
            if not (tag == "p" and parent is not None and parent.tag in ("item", "td", "th")):
                doomed.append(element)
    for element in doomed:
        copied.xml.delete_element(element)
    if doomed:
        sizes.clear()
    return bool(doomed)


def thin_out_tables(copied: TrafilaturaCopy, tree: _Element) -> None:
    """Delete tables that are mostly links, all of them judged before the first one goes."""
    sizes: Sizes = {}
    doomed: list[_Element] = []
    for element in tree.iter("table"):
        links = list(element.iterdescendants("ref"))
        size = text_size(element) if links else 0
        if size >= 200:
            in_links, _, _ = _link_sizes(links, sizes)
            if in_links > (0.8 if size < 1000 else 0.5) * size:
                doomed.append(element)
    for element in doomed:
        copied.xml.delete_element(element, keep_tail=False)


def text_size(element: _Element) -> int:
    """Length of an element's text with single spaces between words."""
    text: str = tostring(element, method="text", encoding="unicode", with_tail=False)
    return len(" ".join(text.split()))


def _is_link_farm(
    copied: TrafilaturaCopy,
    element: _Element,
    links: list[_Element],
    size: int,
    is_precise: bool,
    sizes: Sizes,
) -> tuple[bool, bool]:
    """Whether an element is mostly links, and whether it is a short one with links."""
    if len(links) == 1:
        in_links, _, _ = _link_sizes(links, sizes)
        if in_links > (10 if is_precise else 100) and in_links > size * 0.9:
            return True, False
    last, inner = (60, 30) if element.tag == "p" else (300, 100)
    if size < (last if element.getnext() is None else inner):
        in_links, count, n_short = _link_sizes(links, sizes)
        if count == 0:
            return True, False
        return in_links > size * 0.8 or (count > 1 and n_short / count > 0.8), True
    if len(links) > 4:
        in_links, count, _ = _link_sizes(links, sizes)
        ratio: float = copied.utils.LINK_FARM_RATIO
        if in_links > size * ratio and in_links < 100 * count:
            is_listing: bool = copied.htmlprocessing.is_paragraph_listing(links)
            return not is_listing, False
    return False, False


def _link_sizes(links: list[Any], sizes: Sizes) -> tuple[int, int, int]:
    """Characters in links, links with text, and how many of these are short."""
    total = count = n_short = 0
    for link in links:
        size = sizes.get(link)
        if size is None:
            size = sizes[link] = text_size(link)
        if size:
            total += size
            count += 1
            n_short += size < SHORT_CHARS
    return total, count, n_short
