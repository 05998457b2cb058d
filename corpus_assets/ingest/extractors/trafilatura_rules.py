"""Trafilatura's XPath rules on class, id and style, evaluated once for each distinct value.

Its expressions call a Python regex for every element and every rule, which is half of an
extraction. A page repeats few attribute values, so here a value is judged once: it gets a mask
with one bit for each rule that it meets, and an element is matched by looking its values up.
Patterns are read from trafilatura's own expressions, and every matcher returns what the
expression of the same name returns, in document order.

`@id|@class` in those expressions means the attribute written first in the source.
"""

import re
from collections.abc import Callable
from typing import Any

from lxml.etree import XPath, _Element

from corpus_assets.ingest.extractors.pattern_literals import branches_of, shared_prefixes, stems_of

MAX_VALUES = 1 << 16  # judged values kept; some 10 MB
MAX_VALUE_CHARS = 1_000  # longer values are judged each time

SECTIONS = ("div", "item", "list", "p", "section", "span")
AREAS = ("article", "div", "main", "section")
COMMENT_TAGS = ("div", "list", "section", "details", "ol", "ul")
APPENDED_TAGS = ("div", "section", "aside")

(
    DISCARD, HIDE, COOKIE, REPLY, HIDDEN, COMMENT, COMMENT_LIST,
    APPENDED, APPENDED_NAMED, SHARE_BUTTONS, BANNER, FOOTER, BODY_0, BODY_2, BODY_3, BODY_4,
) = (1 << n for n in range(16))  # fmt: skip
SELDOM = COOKIE | REPLY | HIDDEN  # of the attribute that the source writes first only
BODIES = {0: BODY_0, 2: BODY_2, 3: BODY_3}

Test = Callable[[str], bool]
Rule = tuple[int, tuple[str, ...], Test]  # bit, stems of which a value must hold one, test


class Masks(dict[str, int]):
    """Attribute value to the bits of the rules it meets.

    A rule's test is asked only where the value holds one of its stems: a single search for all
    stems takes the place of a search for each rule.
    """

    def __init__(self, rules: list[Rule]) -> None:
        super().__init__()
        self._tests: dict[str, list[tuple[int, Test]]] = {}
        stems = sorted({stem.lower() for _, its, _ in rules for stem in its}, reverse=True)
        for stem in stems:  # whoever finds a stem has found the stems it begins with, too
            self._tests[stem] = [
                (bit, test)
                for bit, its, test in rules
                if any(stem.startswith(other.lower()) for other in its)
            ]
        self._all = [(bit, test) for bit, _, test in rules]
        self._find = re.compile(f"(?=({shared_prefixes(stems)}))").findall  # the longest one

    def __missing__(self, value: str) -> int:
        mask = 0
        if value.isascii():
            for stem in self._find(value.lower()):
                for bit, test in self._tests[stem]:
                    if not mask & bit and test(value):
                        mask |= bit
        else:
            for bit, test in self._all:
                if test(value):
                    mask |= bit
        if len(value) <= MAX_VALUE_CHARS:
            if len(self) >= MAX_VALUES:
                self.clear()
            self[value] = mask
        return mask


class Rules:
    """The matchers, built from the expressions of one release."""

    def __init__(self, xpaths: Any, settings: Any) -> None:
        body, discard = xpaths.BODY_XPATH, xpaths.OVERALL_DISCARD_XPATH
        endless = xpaths.RAW_TREE_PRUNE_XPATH[0]
        comments = xpaths.REMOVE_COMMENTS_AND_LISTS_XPATH[0]
        both = [
            *_search(COOKIE, discard[0], "@id|@class"),
            *_search(APPENDED, endless, "@id"),
            *_search(APPENDED_NAMED, endless, "@id", 1),
            *_search(BANNER, settings.BASIC_CLEAN_XPATH, "@id", flags=re.IGNORECASE),
            _starts(REPLY, "reply-"),
            _starts(BODY_4, "main"),
            _holds(FOOTER, "footer"),
        ]
        self.classes = Masks(
            [
                *both,
                *_search(DISCARD, discard[0], "@class"),
                *_search(HIDE, discard[1], "@class"),
                *_search(COMMENT | COMMENT_LIST, comments, "@class"),
                _holds(SHARE_BUTTONS, "elementor-share-buttons"),
                *_search(BODY_0, body[0], "@class"),
                _is(BODY_0, "post", "entry"),
                *_search(BODY_2, body[2], "@class", flags=re.IGNORECASE),
                *_search(BODY_2, body[2], "@class", 1),
                _is(BODY_2, "postarea", "art-postcontent", "text", "cell", "story"),
                *_search(BODY_3, body[3], "@class"),
                _holds(BODY_3, "main-content", "CM"),
                _holds(BODY_3, "page-content", "CP"),
                _is(BODY_3, "content"),
            ]
        )
        self.ids = Masks(
            [
                *both,
                *_search(DISCARD, discard[0], "@id"),
                *_search(HIDE, discard[1], "@id"),
                _holds(HIDDEN, "hidden"),
                *_search(COMMENT, comments, "@id"),
                *_search(COMMENT_LIST, comments, "@id", 1),
                *_search(BODY_0, body[0], "@id"),
                _is(BODY_0, "articleContent"),
                *_search(BODY_2, body[2], "@id"),
                _is(BODY_2, "article", "story"),
                *_search(BODY_3, body[3], "@id"),
                _holds(BODY_3, "main-content", "CM"),
                _is(BODY_3, "content"),
            ]
        )

    def first_body(self, stage: int, tree: _Element) -> _Element | None:
        """Return the first element, in document order, that `BODY_XPATH[stage]` finds."""
        if stage == 1:
            return next(tree.iterdescendants("article"), None)
        classes, ids = self.classes, self.ids
        for element in tree.iterdescendants(AREAS):
            name, label = element.get("class"), element.get("id")
            if stage == 4:
                role = element.get("role")
                if element.tag == "main" or (role is not None and role.startswith("main")):
                    return element
                bit = BODY_4
            else:
                bit = BODIES[stage]
            if (name is not None and classes[name] & bit) or (
                label is not None and ids[label] & bit
            ):
                return element
            if (stage == 0 and element.get("itemprop") == "articleBody") or (
                stage == 2 and element.get("role") == "article"
            ):
                return element
        return None

    def appended_articles(self, tree: _Element) -> list[_Element]:
        """`RAW_TREE_PRUNE_XPATH`, both expressions; the second's matches follow the first's."""
        endless: list[_Element] = []
        share: list[_Element] = []
        for element in tree.iterdescendants(APPENDED_TAGS):
            name, label = element.get("class"), element.get("id")
            mask = 0 if name is None else self.classes[name]
            if mask & SHARE_BUTTONS:
                share.append(element)
            if label is not None:
                mask |= self.ids[label]
            if mask & APPENDED and (
                mask & APPENDED_NAMED or next(element.iterdescendants("h1"), None) is None
            ):
                endless.append(element)
        return endless + share

    def comments(self, tree: _Element, with_lists: bool) -> list[_Element]:
        """`REMOVE_COMMENTS_AND_LISTS_XPATH`, or `REMOVE_COMMENTS_XPATH` without lists."""
        found: list[_Element] = []
        for element in tree.iterdescendants(COMMENT_TAGS if with_lists else COMMENT_TAGS[:4]):
            name, label = element.get("class"), element.get("id")
            mask = 0 if name is None else self.classes[name]
            if label is not None:
                mask |= self.ids[label]
            if mask & COMMENT and (mask & COMMENT_LIST or element.tag not in ("ol", "ul")):
                found.append(element)
        return found

    def basic(self, tree: _Element) -> list[_Element]:
        """`BASIC_CLEAN_XPATH`."""
        found: list[_Element] = []
        for element in tree.iterdescendants("*"):
            tag = element.tag
            if tag in _BASIC_TAGS:
                found.append(element)
                continue
            name, label = element.get("class"), element.get("id")
            mask = 0 if name is None else self.classes[name]
            if label is not None:
                mask |= self.ids[label]
            if mask & BANNER or (
                mask & FOOTER and tag == "div" and "footer" in first_of(element, "class", "id")
            ):
                found.append(element)
        return found

    def discarded(self, tree: _Element) -> list[_Element]:
        """`OVERALL_DISCARD_XPATH`, the outermost matches of both expressions.

        What stands inside one of them goes with it, so the tree left over is the same.
        """
        found: list[_Element] = []
        outer: _Element | None = None
        classes, ids = self.classes, self.ids
        for element in tree.iterdescendants("*"):
            name, label, style = element.get("class"), element.get("id"), element.get("style")
            mask = 0 if name is None else classes[name]
            if label is not None:
                mask |= ids[label]
            is_section = element.tag in _SECTION_SET
            if (
                mask & HIDE
                or (mask & DISCARD and is_section)
                or (mask & SELDOM and _is_first(element, mask, is_section))
                or (style is not None and _hides(element, style))
                or element.get("aria-hidden") == "true"
                or (is_section and _names_itself(element))
            ) and (outer is None or all(up is not outer for up in element.iterancestors())):
                outer = element
                found.append(element)
        return found


_BASIC_TAGS = frozenset({"aside", "fencedframe", "footer", "script", "style", "svg", "template"})
_SECTION_SET = frozenset(SECTIONS)


def first_of(element: _Element, one: str, other: str) -> str:
    """Return the value of whichever attribute the source writes first; empty without either."""
    mine: str | None = element.get(one)
    its: str | None = element.get(other)
    if mine is None:
        return its or ""
    if its is None:
        return mine
    for key in element.keys():  # noqa: SIM118  an element's items are its children
        if key == one:
            return mine
        if key == other:
            return its
    return ""


def _is_first(element: _Element, mask: int, is_section: bool) -> bool:
    """Whether the value that met a `SELDOM` rule is the one that counts."""
    if mask & HIDDEN and "hidden" in first_of(element, "id", "style"):
        return True
    first = first_of(element, "id", "class")
    return first.startswith("reply-") or (is_section and "cookie" in first)


def _hides(element: _Element, style: str) -> bool:
    return (
        "display:none" in style
        or "display: none" in style
        or ("hidden" in style and "hidden" in first_of(element, "id", "style"))
    )


def _names_itself(element: _Element) -> bool:
    """Attributes that say navigation or popular stories outright."""
    role = element.get("role")
    return (
        (role is not None and "nav" in role.replace("N", "n"))
        or element.get("data-lp-replacement-content") is not None
        or "MostPopularStories" in element.get("data-component", "")
    )


def _search(
    bit: int, expression: XPath, attribute: str, place: int = 0, flags: int = 0
) -> list[Rule]:
    """Return the `place`-th `re:test` on an attribute in an expression, a rule for each branch."""
    quoted = rf"re:test\({re.escape(attribute)}, '([^']*)'"
    pattern = re.findall(quoted, expression.path)[place]
    return [_branch(bit, branch, flags) for branch in branches_of(pattern)]


def _branch(bit: int, branch: str, flags: int) -> Rule:
    if not flags and re.fullmatch(r"[\w -]+", branch):
        return bit, (branch,), lambda value: branch in value
    search = re.compile(branch, flags).search
    return bit, stems_of(branch), lambda value: search(value) is not None


def _holds(bit: int, word: str, lowered: str = "") -> Rule:
    """Values with `word` in them, once the capitals `lowered` are made small."""
    small = str.maketrans(lowered, lowered.lower())
    return bit, (word,), lambda value: word in value.translate(small)


def _starts(bit: int, word: str) -> Rule:
    return bit, (word,), lambda value: value.startswith(word)


def _is(bit: int, *words: str) -> Rule:
    return bit, words, frozenset(words).__contains__
