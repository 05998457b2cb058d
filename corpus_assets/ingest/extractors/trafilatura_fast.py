"""Trafilatura's own extraction, faster: a private copy of it with its slowest steps replaced."""

import hashlib
import importlib
import importlib.util
import logging
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from lxml.etree import ElementDefaultClassLookup, XPath, _Element, tostring
from lxml.html import HtmlComment, HtmlElement, HtmlEntity, HtmlProcessingInstruction

from corpus_assets.ingest.extractors.trafilatura_rules import Rules

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


# Trafilatura's own extraction, with its slowest steps done another way.
#
# The steps, their order and all other code are trafilatura's; what comes out
# is, character by character, what `trafilatura.extract` returns. Replaced, because a profile of
# real pages names them:
#
# 1. XPath rules with a Python regex for each element: judged once a value (`trafilatura_rules`);
# 2. the Python call that picks a class for every element object;
# 3. a regex over the whole page that looks for control characters;
# 4. white space trimmed by a regex, and events formatted for a log that nobody keeps.
#
# On real pages this halves to thirds the time; `benchmarks/extraction.py` measures it.

Extract = Callable[[str], str | None]
FORBIDDEN = bytes(range(32)).translate(None, b"\t\n\r")


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
    copied.main_extractor._log_event = _say_nothing


def _body_rule(rules: Rules, stage: int) -> Callable[[_Element], list[_Element]]:
    def first(tree: _Element) -> list[_Element]:
        found = rules.first_body(stage, tree)
        return [] if found is None else [found]

    return first


def _trim(text: Any) -> str:
    """Words joined by single spaces; empty for what is no text."""
    return " ".join(text.split()) if isinstance(text, str) else ""


def _say_nothing(*_: object) -> None:
    """Formatting an event for a log that nobody keeps takes longer than the event."""


@lru_cache(maxsize=64)
def _compiled(path: str) -> Any:
    """Return an expression compiled once; strings come without the element they are from."""
    return XPath(path, smart_strings=False)
