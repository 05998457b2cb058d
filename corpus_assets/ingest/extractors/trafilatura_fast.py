"""Trafilatura's own extraction, with its slowest steps done another way.

The steps, their order and all other code are trafilatura's, in a private copy of its modules
(`trafilatura_copy`); what comes out is, character by character, what `trafilatura.extract` returns.
Replaced, because a profile of real pages names them:

1. XPath rules with a Python regex for each element: judged once a value (`trafilatura_rules`);
2. the Python call that picks a class for every element object;
3. a regex over the whole page that looks for control characters;
4. white space trimmed by a regex, and events formatted for a log that is never kept.

On real pages this halves to thirds the time; `benchmarks/extraction.py` measures it.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from lxml.etree import ElementDefaultClassLookup, XPath, _Element, tostring
from lxml.html import HtmlComment, HtmlElement, HtmlEntity, HtmlProcessingInstruction

from corpus_assets.ingest.extractors.trafilatura_copy import TrafilaturaCopy, load_copy
from corpus_assets.ingest.extractors.trafilatura_rules import Rules

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
    """Formatting an event for a log that is not kept takes longer than the event."""


@lru_cache(maxsize=64)
def _compiled(path: str) -> Any:
    """Return an expression compiled once; strings come without the element they are from."""
    return XPath(path, smart_strings=False)
