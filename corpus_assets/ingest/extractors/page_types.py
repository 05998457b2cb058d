"""What kind of page a page is: what it says of itself first, then the form of its blocks.

Whatever speaks for a type adds points to it; the type with the most is the page's, `other` where none
has enough. Points are whole numbers and every rule means the same in any language. About as long as
one parse of the page: `find_blocks` and a few sums.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from corpus_assets.ingest.kernels.blocks import FLAGS, Blocks, find_blocks
from corpus_assets.ingest.kernels.page_names import HINTS, TAGS

PAGE_TYPES = ("article", "forum", "product", "listing", "documentation", "home_page", "other")
MAX_BYTES = 2_000_000
"""The beginning of a page that is looked at."""
_BY_RANK = ("forum", "product", "documentation", "listing", "home_page", "article")
"""An article is what has nothing more to show of another type."""
ENOUGH = 4
MANY_PRICES, MANY_ITEMS, MANY_PRODUCT_NAMES, MIN_ARTICLE_CHARS = 10, 8, 4, 400

Longs = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

_META = re.compile(rb"<(?:meta|link)\b[^>]{0,600}", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rb"\b(name|property|content|rel|href)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))",
    re.IGNORECASE,
)
_TYPED = re.compile(rb"\"@type\"\s{0,9}:\s{0,9}(?:\[\s{0,9})?\"([A-Za-z]{3,40})\"")
_ITEM_TYPE = re.compile(rb"schema\.org/([A-Za-z]{3,40})[\"'\s>]")
_PRICE = re.compile(
    rb"(?:[$]|\xc2[\xa3\xa5]|\xe2\x82[\xa0-\xbf])[ \xc2\xa0]{0,2}\d|\d[ \xc2\xa0]{0,2}\xe2\x82[\xa0-\xbf]"
)
MAX_PLACES = 400

_SCHEMA = {
    "forum": "DiscussionForumPosting QAPage",
    "product": "Product IndividualProduct ProductModel ProductGroup Vehicle",
    "listing": "CollectionPage SearchResultsPage ItemList OfferCatalog SomeProducts",
    "documentation": "TechArticle APIReference SoftwareSourceCode",
    "article": "Article NewsArticle BlogPosting Report ScholarlyArticle OpinionNewsArticle "
    "ReportageNewsArticle AnalysisNewsArticle ReviewNewsArticle BackgroundNewsArticle "
    "LiveBlogPosting MedicalScholarlyArticle Recipe",
}
"""Types of schema.org that a page of a type carries."""
_SCHEMA_OF = {name: kind for kind, names in _SCHEMA.items() for name in names.split()}
_GENERATORS = {
    "forum": "phpbb vbulletin discourse xenforo mybb smf flarum nodebb punbb fluxbb invision "
    "vanilla bbpress",
    "documentation": "sphinx mkdocs docusaurus doxygen rustdoc javadoc docbook asciidoc texi2any "
    "texi2html gitbook vuepress vitepress antora docutils readme.io mdbook pdoc yard ronn",
}
"""Software that says in `<meta name="generator">` that it wrote a page, and writes one type."""
_OPEN_GRAPH = {
    "article": "article",
    "product": "product",
    "product.item": "product",
    "og:product": "product",
    "product:group": "listing",
    "product.group": "listing",
}
_PATHS = {
    "forum": "forum forums thread threads topic topics viewtopic showthread discussion discussions "
    "questions community",
    "product": "product products item dp",
    "listing": "category categories tag tags collection collections search archive archives",
    "documentation": "docs doc documentation reference manual manuals api javadoc wiki",
    "article": "article articles news blog story stories post posts",
}
"""Words of addresses that software gives pages of a type."""
_PATH_OF = {word: kind for kind, words in _PATHS.items() for word in words.split()}
_PATH_WORD = re.compile(r"[a-z]+")


class _Said(NamedTuple):
    """What a page declares: types of schema.org, og:type, generators, path of its address."""

    schema: Counter[str]
    open_graph: str
    generators: str
    path: str | None


class _Form(NamedTuple):
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
    prices: int


def page_type(page: bytes) -> str:
    """Return the type of a page in UTF-8, one of `PAGE_TYPES`."""
    page = page[:MAX_BYTES]
    points = _points(_said(page), _form(find_blocks(page)))
    best = max(_BY_RANK, key=lambda name: points[name])  # the first of equals
    return best if points[best] >= ENOUGH else PAGE_TYPES[-1]


def _points(said: _Said, form: _Form) -> Counter[str]:
    points: Counter[str] = Counter()
    for name, count in said.schema.items():
        kind = _SCHEMA_OF[name]
        is_many = kind in ("article", "product") and count > 2  # each an entry of a list
        points["listing" if is_many else kind] += {"article": 4, "listing": 3}.get(kind, 6)
    if said.open_graph in _OPEN_GRAPH:
        kind = _OPEN_GRAPH[said.open_graph]
        points[kind] += 2 if kind == "article" else 6  # many systems call all pages articles
    for kind, names in _GENERATORS.items():
        if any(name in said.generators for name in names.split()):
            points[kind] += 6
    if said.path is not None:
        points[_path_kind(said.path)] += 7 if said.path in ("", "/") else 3
    if form.posts >= 2 and form.post_share >= 250:
        points["forum"] += 5 if form.users >= 2 else 3
    if form.pres >= 2 and form.pre_share >= 50:
        points["documentation"] += 5
    if form.product_names >= MANY_PRODUCT_NAMES and form.prices:
        points["product" if form.prices <= MANY_PRICES else "listing"] += 4
    if form.items >= MANY_ITEMS and form.item_share >= 400:
        is_in_items = form.prose < MIN_ARTICLE_CHARS or form.item_prose_share >= 500
        points["listing"] += 4 if is_in_items else 2
    if form.link_share >= 400:
        points["listing"] += 2
    if form.prose >= MIN_ARTICLE_CHARS and form.main_link_share < 250:
        points["article"] += 4
    return points


def _path_kind(path: str) -> str:
    """Return the type that the path of a page's own address speaks for, by its first word that
    speaks for one."""
    if path in ("", "/"):
        return "home_page"
    words = _PATH_WORD.findall(path.lower())
    return next((_PATH_OF[word] for word in words if word in _PATH_OF), "other")


def _said(page: bytes) -> _Said:
    open_graph, generators, path = "", [], None
    for tag in _first(_META, page):
        found = {m[1].lower(): (m[2] or m[3] or m[4] or b"") for m in _ATTRIBUTE.finditer(tag[0])}
        name = (found.get(b"property") or found.get(b"name") or b"").lower()
        content = found.get(b"content", b"").decode("utf-8", "replace").strip().lower()
        if name == b"og:type":
            open_graph = open_graph or content
        elif name == b"generator":
            generators.append(content)
        elif found.get(b"rel", b"").lower() == b"canonical":
            path = _path(found.get(b"href", b"").decode("utf-8", "replace"))
        elif name == b"og:url" and path is None:
            path = _path(content)
    names = (m[1].decode() for pattern in (_TYPED, _ITEM_TYPE) for m in _first(pattern, page))
    schema = Counter(name for name in names if name in _SCHEMA_OF)
    return _Said(schema, open_graph, " ".join(generators), path)


def _first(pattern: re.Pattern[bytes], page: bytes) -> Iterator[re.Match[bytes]]:
    for _, found in zip(range(MAX_PLACES), pattern.finditer(page), strict=False):
        yield found


def _path(address: str) -> str | None:
    """Return the path of a whole address without a query."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return None
    return parts.path if parts.netloc and not parts.query else None


_ENTRY_TAGS = [TAGS[name] for name in ("li", "div", "article", "tr", "section", "td", "custom")]
_AROUND_TAGS = [TAGS[name] for name in ("nav", "header", "footer", "aside", "dialog")]
_AROUND_HINTS = ("navigation", "footer", "sidebar", "overlay")
MIN_PROSE_CHARS, MIN_POST_CHARS = 80, 40


def _form(page: Blocks) -> _Form:
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
    product_names = int(_has(hints, "product").sum())
    return _Form(
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
        product_names=product_names,
        prices=_prices(page) if product_names >= MANY_PRODUCT_NAMES else 0,
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


def _prices(page: Blocks) -> int:
    text = page.text[: page.blocks[-1, 1] if len(page.blocks) else 0].tobytes()
    return sum(1 for _ in _first(_PRICE, text))


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
