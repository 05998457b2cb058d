"""Trafilatura's own extraction, faster: a private copy of it with its slowest steps replaced."""

import hashlib
import importlib
import importlib.util
import logging
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from lxml.etree import ElementDefaultClassLookup, XPath, _Element, strip_tags, tostring
from lxml.html import HtmlComment, HtmlElement, HtmlEntity, HtmlProcessingInstruction

from corpus_assets.ingest.extractors.trafilatura_rules import CAPTION, TEASER, Rules

# A private copy of trafilatura's modules, so that some of their functions can be replaced.
#
# Whoever imports `trafilatura` gets it untouched; the copy is the same source files loaded once
# more under another package name. It exists only for releases whose sources were compared page by
# page with the replacements (`VERIFIED`): another release, or a changed file, gives None, and the
# caller uses the public function.

PACKAGE = "trafilatura"
COPY = "_corpus_assets_trafilatura"
MODULES = (
    "baseline",
    "core",
    "deduplication",
    "external",
    "htmlprocessing",
    "main_extractor",
    "readability_lxml",
    "settings",
    "utils",
    "xml",
    "xpaths",
)
VERIFIED = frozenset(
    {
        "a002061b53ea6f50294cb177e8ce03f21b2212fa6f15b6cfa725cb27b220a80e",  # 2.3.1
    }
)
"""SHA-256 over the sources in `MODULES` and `settings.cfg` of each release that was compared."""

_LOCK = threading.Lock()


@dataclass(frozen=True)
class TrafilaturaCopy:
    """The modules whose functions are called or replaced."""

    baseline: Any
    core: Any
    external: Any
    htmlprocessing: Any
    main_extractor: Any
    readability_lxml: Any
    settings: Any
    utils: Any
    xml: Any
    xpaths: Any


def sources_digest() -> str | None:
    """Digest of the installed trafilatura's sources; None where they cannot be read."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    hasher = hashlib.sha256()
    for name in (*(f"{module}.py" for module in MODULES), "settings.cfg"):
        try:
            content = (folder / name).read_bytes()
        except OSError:
            return None
        hasher.update(len(content).to_bytes(8, "little"))
        hasher.update(content)
    return hasher.hexdigest()


def load_copy() -> TrafilaturaCopy | None:
    """Return the copy, the same in a whole process; None where the release was never compared."""
    with _LOCK:
        if COPY not in sys.modules:
            if sources_digest() not in VERIFIED:
                return None
            spec = importlib.util.find_spec(PACKAGE)
            if spec is None or spec.origin is None:
                return None
            package = ModuleType(COPY)
            package.__path__ = [str(Path(spec.origin).parent)]
            sys.modules[COPY] = package  # its own __init__ would load downloaders and crawlers
            # it reports every odd page as an error; here each becomes a counted reason instead
            logging.getLogger(COPY).setLevel(logging.CRITICAL)
        names = list(TrafilaturaCopy.__dataclass_fields__)
        return TrafilaturaCopy(
            **{name: importlib.import_module(f"{COPY}.{name}") for name in names}
        )


# Which elements are mostly links, by trafilatura's measures, each link measured once.

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


# Trafilatura's own extraction, with its slowest steps done another way.
#
# The steps, their order and all other code are trafilatura's; what comes out
# is, character by character, what `trafilatura.extract` returns. Replaced, because a profile of
# real pages names them:
#
# 1. XPath rules with a Python regex for each element: judged once a value (`trafilatura_rules`);
# 2. the Python call that picks a class for every element object;
# 3. measuring link density twice over, with each link's text taken anew for every ancestor;
# 4. copies of the tree that nobody reads, and the measure of a page's text where a bound decides;
# 5. a regex over the whole page that looks for control characters.
#
# On real pages this halves to thirds the time; `benchmarks/extraction.py` measures it.

_count_elements = XPath("count(.//*)")

Extract = Callable[[str], str | None]
FORBIDDEN = bytes(range(32)).translate(None, b"\t\n\r")
UNSEEN = ("aside", "fencedframe", "footer", "script", "style", "svg", "template")


class PageElement(HtmlElement):  # type: ignore[misc]
    """One class for all elements, with quicker ways to the same strings."""

    def text_content(self) -> str:
        text: str = tostring(self, method="text", encoding="unicode", with_tail=False)
        return text

    def xpath(self, path: str, **options: Any) -> Any:
        return super().xpath(path, **options) if options else _compiled(path)(self)


class _ControlCharacters:
    """Stands for a regex whose `sub` removes characters that XML forbids; most pages have none."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def sub(self, new: str, text: str) -> str:
        if (
            "\ufffe" not in text
            and "\uffff" not in text
            and len(raw := text.encode("utf-8", "surrogatepass"))
            == len(raw.translate(None, FORBIDDEN))
        ):
            return text
        return self._pattern.sub(new, text)


def fast_extract(options: dict[str, Any]) -> Extract | None:
    """`trafilatura.extract` with these arguments; None for a release that was not compared."""
    copied = load_copy()
    if copied is None:
        return None
    core = copied.core
    if not isinstance(copied.utils.INVALID_XML_CHARS, _ControlCharacters):
        _install(copied)
    extractor = copied.settings.Extractor(
        fast=options["fast"],
        precision=options["favor_precision"],
        comments=options["include_comments"],
        tables=options["include_tables"],
    )

    def extract(html: str) -> str | None:
        document = core.bare_extraction(html, options=extractor)
        if document is None:
            return None
        text: str = core.determine_returnstring(document, extractor)
        return text

    return extract


def _install(copied: TrafilaturaCopy) -> None:
    """Put the replacements where the copy's functions look them up."""
    rules = Rules(copied.xpaths, copied.settings)
    sequence = _Sequence(copied, rules)
    copied.utils.HTML_PARSER.set_element_class_lookup(
        ElementDefaultClassLookup(
            element=PageElement,
            comment=HtmlComment,
            pi=HtmlProcessingInstruction,
            entity=HtmlEntity,
        )
    )
    copied.utils.INVALID_XML_CHARS = _ControlCharacters(copied.utils.INVALID_XML_CHARS)
    xpaths = copied.xpaths
    xpaths.BODY_XPATH[:] = [_body_rule(rules, stage) for stage in range(len(xpaths.BODY_XPATH))]
    xpaths.RAW_TREE_PRUNE_XPATH[:] = [rules.appended_articles]
    xpaths.REMOVE_COMMENTS_XPATH[:] = [lambda tree: rules.comments(tree, with_lists=False)]
    xpaths.REMOVE_COMMENTS_AND_LISTS_XPATH[:] = [lambda tree: rules.comments(tree, with_lists=True)]
    xpaths.OVERALL_DISCARD_XPATH[:] = [rules.discarded]
    copied.baseline.BASIC_CLEAN_XPATH = rules.basic
    for module in (copied.htmlprocessing, copied.main_extractor, copied.readability_lxml,
                   copied.external, copied.baseline):  # fmt: skip
        module.trim = _trim
    copied.main_extractor.prune_unwanted_sections = sequence.prune_sections
    copied.main_extractor._log_event = _say_nothing
    copied.core.trafilatura_sequence = sequence.run


class _Sequence:
    """The cascade of extractors and the pruning of a section."""

    def __init__(self, copied: TrafilaturaCopy, rules: Rules) -> None:
        self._copied = copied
        self._rules = rules
        self._stock = copied.core.trafilatura_sequence
        self._delete = copied.xml.delete_element

    def run(
        self, tree: HtmlElement, options: Any, url: str | None = None
    ) -> tuple[_Element, str, _Element, str]:
        """Return the cascade without comments; with them, trafilatura's own."""
        core = self._copied.core
        if options.comments:
            found: tuple[_Element, str, _Element, str] = self._stock(tree, options, url)
            return found
        is_precise = options.focus == "precision"
        is_forum = core._forum_thread_page(tree)
        self._drop(self._rules.appended_articles(tree))
        if is_precise or not is_forum:
            self._drop(self._rules.comments(tree, with_lists=True))
        cleaned = core.tree_cleaning(copy(tree), options)
        backup = None if options.fast else copy(cleaned)
        cleaned = core.convert_tags(cleaned, options, url)
        if is_precise and not is_forum:
            self._drop(self._rules.comments(cleaned, with_lists=False))
        body, text = core.extract_content(cleaned, options)
        if backup is not None:
            # a precise run does not look at a whole document again; a fragment has a parent,
            # which its copy has not
            raw = tree if is_precise and tree.getparent() is None else copy(tree)
            body, text = core.compare_extraction(backup, raw, body, text, options)
        if len(text) < options.min_extracted_size and not is_precise:
            rescued, rescued_text, size = core.baseline(tree)
            if size > len(text):
                body, text = rescued, rescued_text
        if (
            options.focus == "balanced"
            and 0 < len(text) < core.ESCALATION_MAX_LENGTH
            and self._covers_little(tree, len(text))
        ):
            body, text = self._escalate(tree, options, url, body, text)
        return body, text, core.Element("body"), ""

    def _escalate(
        self, tree: HtmlElement, options: Any, url: str | None, body: _Element, text: str
    ) -> tuple[_Element, str]:
        """Return a second try that prefers recall, and jusText's beside it, taken if clearly
        longer."""
        core = self._copied.core
        eager = copy(options)
        eager.focus = "recall"
        wider: tuple[_Element, str] = body, ""
        other: tuple[_Element, str] = body, ""
        with suppress(Exception):  # as there: a second try that fails counts for nothing
            wider = core._recall_retry(tree, eager, url)
        if not options.fast:
            with suppress(Exception):
                other = core.justext_rescue(copy(tree), options)
        least = core.ESCALATION_JUSTEXT_RATIO * len(text)
        if len(other[1]) > len(wider[1]) and len(other[1]) > least:
            return other
        least = core.ESCALATION_ACCEPT_RATIO * len(text)
        if len(wider[1]) >= options.min_extracted_size and len(wider[1]) > least:
            return wider
        return body, text

    def _covers_little(self, tree: HtmlElement, size: int) -> bool:
        """Whether `size` characters are a small share of the page's text.

        The page's text is measured only where an upper bound of it does not decide: its
        characters, its words, one more word for each end of a block, less what is never seen.
        """
        baseline, core = self._copied.baseline, self._copied.core
        body = tree.find(".//body")
        if body is None:
            body = tree
        chars, words = _measure(body)
        for element in body.iterdescendants(*UNSEEN):
            if next(element.iterancestors(*UNSEEN), None) is None:
                its_chars, its_words = _measure(element)
                chars -= its_chars
                words -= its_words - 2
        share: float = core.ESCALATION_PAGE_SHARE
        if size >= share * (chars + words + 2 * (1 + _count_elements(body))):
            return False
        words += 2 * sum(1 for _ in body.iter(*baseline._BLOCK_ELEMS))
        if size >= share * (chars + words):
            return False
        return size < share * len(core.html2txt(tree))

    def prune_sections(
        self, tree: HtmlElement, potential_tags: set[str], options: Any, keep_teasers: bool = False
    ) -> HtmlElement:
        """Delete what the rules name, then what is mostly links."""
        is_precise = options.focus == "precision"
        discarded = self._rules.discarded(tree)
        if discarded:
            size = len(tree.text_content())
            lost = sum(len(element.text_content()) for element in discarded)
            if size - lost > size / 7:
                self._drop(discarded)
        if "graphic" not in potential_tags:
            self._drop(self._rules.marked(tree, CAPTION))
        if options.focus != "recall":
            if not keep_teasers:
                self._drop(self._rules.marked(tree, TEASER))
            if is_precise:
                self._drop(list(tree.iterdescendants("header")))
                self._drop(self._rules.imprecise(tree))
        has_links = next(tree.iter("ref"), None) is not None
        for _ in range(2 if has_links else 0):
            sizes: dict[_Element, int] = {}
            found = [
                thin_out(self._copied, tree, tag, is_precise, sizes) for tag in ("div", "list", "p")
            ]
            if not any(found):
                break  # a second look at the same tree finds the same
        if has_links and ("table" in potential_tags or is_precise):
            thin_out_tables(self._copied, tree)
        if is_precise:
            while len(tree) > 0 and tree[-1].tag == "head":
                self._delete(tree[-1], keep_tail=False)
            if has_links:
                thin_out(self._copied, tree, "head", True, {})
                thin_out(self._copied, tree, "quote", True, {})
        strip_tags(tree, "span", *(() if "ref" in potential_tags else ("ref",)))
        return tree

    def _drop(self, elements: list[_Element]) -> None:
        for element in elements:
            self._delete(element)


def _body_rule(rules: Rules, stage: int) -> Callable[[_Element], list[_Element]]:
    def first(tree: _Element) -> list[_Element]:
        found = rules.first_body(stage, tree)
        return [] if found is None else [found]

    return first


def _measure(element: _Element) -> tuple[int, int]:
    """Characters that are not spaces, and words."""
    words = tostring(element, method="text", encoding="unicode", with_tail=False).split()
    return len("".join(words)), len(words)


def _trim(text: Any) -> str:
    """Words joined by single spaces; empty for what is no text."""
    return " ".join(text.split()) if isinstance(text, str) else ""


def _say_nothing(*_: object) -> None:
    """Formatting an event for a log that nobody keeps takes longer than the event."""


@lru_cache(maxsize=64)
def _compiled(path: str) -> Any:
    """Return an expression compiled once; strings come without the element they are from."""
    return XPath(path, smart_strings=False)
