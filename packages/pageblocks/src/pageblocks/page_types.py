"""What kind of page a page is: what it says of itself first, then the form of its blocks.

Whatever speaks for a type adds points to it; the type with the most is the page's, `other` where none
has enough. Points are whole numbers and every rule means the same in any language. Costs a look at
the page's declarations and a few sums; the parse is that of the main text where it is asked for too.
"""

import re
from collections import Counter
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from pageblocks.kernels.blocks import Blocks, find_blocks
from pageblocks.kernels.page_form import MANY_ITEMS, PageForm, count_prices, measure_form
from pageblocks.kernels.said_places import said_places

PageType = Literal["article", "forum", "product", "listing", "documentation", "home_page", "other"]
PAGE_TYPES_VERSION = 4  # raise it whenever a page could be of another type

MAX_BYTES = 2_000_000
"""The beginning of a page that is looked at."""
_BY_RANK: tuple[PageType, ...] = (
    "forum",
    "product",
    "documentation",
    "listing",
    "home_page",
    "article",
)
"""An article is what has nothing more to show of another type."""
ENOUGH = 4
MANY_PRICES, MANY_PRODUCT_NAMES, MIN_ARTICLE_CHARS = 10, 4, 400

_ATTRIBUTE = re.compile(
    rb"\b(name|property|content|rel|href)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))",
    re.IGNORECASE,
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


class _Declared(NamedTuple):
    """What a page declares: types of schema.org, og:type, generators, path of its address."""

    schema: Counter[str]
    open_graph: str
    generators: str
    path: str | None


def page_type(page: bytes, parsed: Blocks | None = None) -> PageType:
    """Return the type of a page in UTF-8; `parsed` are its blocks where they are there already."""
    if parsed is None or len(page) > MAX_BYTES:
        page = page[:MAX_BYTES]
        parsed = find_blocks(page)
    form = measure_form(parsed)
    prices = _prices(parsed) if form.product_names >= MANY_PRODUCT_NAMES else 0
    points = _points(_declared(page), form, prices)
    best = max(_BY_RANK, key=lambda name: points[name])  # the first of equals
    return best if points[best] >= ENOUGH else "other"


def _points(declared: _Declared, form: PageForm, prices: int) -> Counter[str]:
    points: Counter[str] = Counter()
    for name, count in declared.schema.items():
        kind = _SCHEMA_OF[name]
        is_many = kind in ("article", "product") and count > 2  # each an entry of a list
        points["listing" if is_many else kind] += {"article": 4, "listing": 3}.get(kind, 6)
    if declared.open_graph in _OPEN_GRAPH:
        kind = _OPEN_GRAPH[declared.open_graph]
        points[kind] += 2 if kind == "article" else 6  # many systems call all pages articles
    for kind, names in _GENERATORS.items():
        if any(name in declared.generators for name in names.split()):
            points[kind] += 6
    if declared.path is not None:
        points[_path_kind(declared.path)] += 7 if declared.path in ("", "/") else 3
    if form.posts >= 2 and form.post_share >= 250:
        points["forum"] += 5 if form.users >= 2 else 3
    if form.pres >= 2 and form.pre_share >= 50:
        points["documentation"] += 5
    if form.product_names >= MANY_PRODUCT_NAMES and prices:
        points["product" if prices <= MANY_PRICES else "listing"] += 4
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


def _declared(page: bytes) -> _Declared:
    open_graph, generators, path = "", [], None
    places = said_places(page, MAX_PLACES)
    for start, end in places.tags.tolist():
        tag = page[start:end]
        found = {m[1].lower(): (m[2] or m[3] or m[4] or b"") for m in _ATTRIBUTE.finditer(tag)}
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
    names = (
        page[start:end].decode() for start, end in (*places.typed.tolist(), *places.items.tolist())
    )
    schema = Counter(name for name in names if name in _SCHEMA_OF)
    return _Declared(schema, open_graph, " ".join(generators), path)


def _path(address: str) -> str | None:
    """Return the path of a whole address without a query."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return None
    return parts.path if parts.netloc and not parts.query else None


def _prices(page: Blocks) -> int:
    return int(count_prices(page.text[: page.blocks[-1, 1] if len(page.blocks) else 0], MAX_PLACES))
