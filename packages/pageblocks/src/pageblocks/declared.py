"""What a page says of itself: the texts of its JSON-LD by type of schema.org, the recipe that its
microdata marks, and its description.

A recipe names its ingredients and steps, an article its body, a page of questions its answers, a
discussion its posts, a product its description. Strings may hold markup and entities: they become
lines as those of the main text are. What a page declares need not be shown on it, and what it shows
need not be declared.

Of microdata only ingredients and steps are read: each such element is a line or a few. An `articleBody`
is the box that an article stands in, with all that stands beside its text.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any, NamedTuple

import numpy as np

from pageblocks.charset import PageText, normalise
from pageblocks.declarations import page_description
from pageblocks.json_ld import json_ld
from pageblocks.kernels.blocks import BLOCK_COLUMNS, ELEMENT_COLUMNS, FLAGS, Blocks, find_blocks
from pageblocks.kernels.page_names import NOT_SHOWN_BIT
from pageblocks.kernels.start_tags import ITEMS
from pageblocks.lines import Line, MainText
from pageblocks.plain_text import text_of

MAX_STRINGS = 5_000
"""Strings that are read of a page: more are a catalogue, or made to take time."""
OPEN_GRAPH = "og:description"

_ARTICLES = (
    "Article NewsArticle BlogPosting Report ScholarlyArticle OpinionNewsArticle ReportageNewsArticle "
    "AnalysisNewsArticle ReviewNewsArticle BackgroundNewsArticle LiveBlogPosting TechArticle "
    "MedicalScholarlyArticle SatiricalArticle AdvertiserContentArticle SocialMediaPosting"
)
_TYPES = {
    name.lower(): name
    for name in f"{_ARTICLES} Recipe HowTo FAQPage QAPage Question Answer DiscussionForumPosting "
    "Comment Product".split()
}
ARTICLE_TYPES = frozenset(_ARTICLES.split())
_STEPS = ("recipeInstructions", "step", "steps", "itemListElement")
_ANSWERS = ("acceptedAnswer", "suggestedAnswer", "comment")
_QUESTIONS = ("mainEntity", "itemListElement", "hasPart")

_OF_TEXTS = (
    b'articlebody"', b'recipe"', b'howto"', b'question"', b'answer"', b'discussionforumposting"',
    b'comment"', b'product"', b"&quot;",
)  # fmt: skip
"""One of these stands in whatever has a text that is read here; much of JSON-LD has none."""

_FLAGS = BLOCK_COLUMNS.index("flags")
_HINTS, _FIRST, _ITEMS = map(ELEMENT_COLUMNS.index, ("hints", "first_block", "items"))
_BEFORE_NAME = re.compile("[/#:]")
_TAG = re.compile(r"</?[a-zA-Z]")
_BREAKING = re.compile(
    r"<(?:p|br|div|li|ul|ol|h[1-6]|table|tr|section|article|blockquote|pre|dl|dt|dd)\b",
    re.IGNORECASE,
)


class Declared(NamedTuple):
    """What a page declares of one thing: its type, its name, the lines of its text, and whether
    everybody may read it."""

    type: str  # of schema.org, or `OPEN_GRAPH`
    name: str
    lines: tuple[Line, ...]
    is_free: bool = True


def declared(page: bytes) -> list[Declared]:
    """What a page in UTF-8 declares, in its order, the description last; things without text are left
    out."""
    found = declared_things(page)
    description = page_description(PageText(page, "utf-8", None))
    if description:
        found.append(Declared(OPEN_GRAPH, "", (Line("paragraph", description),)))
    return found


def declared_things(page: bytes, parsed: Blocks | None = None) -> list[Declared]:
    """What the JSON-LD of a page in UTF-8 declares, and its microdata where no JSON-LD has a recipe;
    `parsed` are its blocks where they are there."""
    parsed = find_blocks(page) if parsed is None else parsed
    reader = _Reader()
    things = (thing for value in json_ld(page, parsed, _OF_TEXTS) for thing in reader.things(value))
    found = [thing for thing in things if thing.lines]
    if not any(thing.type == "Recipe" for thing in found):
        found += _recipe_of_microdata(parsed)
    return found


def _recipe_of_microdata(page: Blocks) -> list[Declared]:
    """The blocks that are marked as ingredients and steps, each text once: pages hold second copies."""
    is_line = page.blocks[:, _FLAGS] & FLAGS["is_recipe_line"] > 0
    is_marked = page.elements[:, _ITEMS] & ITEMS["recipe_line"] > 0
    if not (is_line.any() or is_marked.any()):
        return []
    for first, stop in page.elements[is_marked, _FIRST:_ITEMS].tolist():
        is_line[first:stop] = True
    for first, stop in page.elements[
        page.elements[:, _HINTS] & NOT_SHOWN_BIT > 0, _FIRST:_ITEMS
    ].tolist():
        is_line[first:stop] = False
    texts = (" ".join(page.text_of(number).split()) for number in np.flatnonzero(is_line).tolist())
    lines = tuple(Line("list_item", f"- {text}") for text in dict.fromkeys(texts))
    return [Declared("Recipe", "", lines)] if lines else []


class _Reader:
    """Walks the values of one page, no deeper than JSON-LD is read, and counts strings."""

    def __init__(self) -> None:
        self._n_strings = 0

    def things(self, value: Any) -> Iterator[Declared]:
        """The things that a value is or holds, each once."""
        if isinstance(value, list):
            for each in value:
                yield from self.things(each)
        elif isinstance(value, dict):
            kind = _type_of(value)
            read: tuple[str, ...] = ()
            if kind is not None:
                lines, read = self._read(kind, value)
                yield Declared(kind, self._name(value), tuple(lines), _is_free(value))
            for key, each in value.items():
                if key not in read and isinstance(each, list | dict):
                    yield from self.things(each)

    def _read(self, kind: str, thing: dict[str, Any]) -> tuple[list[Line], tuple[str, ...]]:
        """Lines of a thing, and its properties that they were read from."""
        if kind in ("Recipe", "HowTo"):
            given = thing.get("recipeIngredient") or thing.get("ingredients")
            lines = [*self._items(given), *self._steps(thing)]
            return lines, ("recipeIngredient", "ingredients", *_STEPS)
        if kind in ARTICLE_TYPES:
            return list(self._text(thing.get("articleBody"))), ("articleBody",)
        if kind in ("FAQPage", "QAPage"):
            questions = [each for key in _QUESTIONS for each in _dicts(thing.get(key))]
            its = [each for each in questions if _type_of(each) == "Question"]
            return [line for each in its for line in self._question(each)], _QUESTIONS
        if kind == "Question":
            return list(self._question(thing)), _ANSWERS
        if kind == "Product":
            return list(self._text(thing.get("description"))), ("description",)
        return list(self._post(thing)), ("comment", "suggestedAnswer")

    def _question(self, question: dict[str, Any]) -> Iterator[Line]:
        """Its name, its text where that says more, and its answers."""
        name = self._name(question)
        if name:
            yield Line("heading_2", name)
        text = list(self._text(question.get("text")))
        if [line.text for line in text] != [name]:
            yield from text
        for key in _ANSWERS:
            for answer in _list(question.get(key)):
                yield from self._post(answer if isinstance(answer, dict) else {"text": answer})

    def _post(self, post: dict[str, Any]) -> Iterator[Line]:
        """The text of a post or answer, and those of what was said to it."""
        text = self._text(post.get("text") or post.get("articleBody"))
        for number, line in enumerate(text):
            is_first = number == 0 and line.kind == "paragraph"
            yield Line("post", line.text) if is_first else line
        for key in ("comment", "suggestedAnswer"):
            for each in _dicts(post.get(key)):
                yield from self._post(each)

    def _steps(self, thing: dict[str, Any]) -> Iterator[Line]:
        for key in _STEPS:
            is_one = isinstance(thing.get(key), str)
            for each in _list(thing.get(key)):
                if isinstance(each, dict):
                    yield from self._step(each)
                else:
                    yield from self._text(each) if is_one else self._items(each)

    def _step(self, step: dict[str, Any]) -> Iterator[Line]:
        """A step, or a section of steps with its name as a heading."""
        step = next(iter(_dicts(step.get("item"))), step)  # of a ListItem
        if step.get("text"):
            yield from self._items(step["text"])
            return
        inner = list(self._steps(step))
        if not inner:
            yield from self._items(step.get("name") or step.get("description"))
        elif step.get("name") and "howtostep" not in _type_names(step):
            yield Line("heading_2", self._name(step))
        yield from inner

    def _items(self, value: Any) -> Iterator[Line]:
        """The strings of a value as items of a list; one of several lines is as many items."""
        for each in _list(value):
            for line in self._text(each):
                bare = line.text.removeprefix("- ")
                yield Line("list_item", f"- {bare}")

    def _text(self, value: Any) -> Iterator[Line]:
        """The lines of a string, or of several."""
        for each in _list(value):
            if isinstance(each, dict):
                each = each.get("@value")
            if isinstance(each, str) and self._n_strings < MAX_STRINGS:
                self._n_strings += 1
                yield from lines_of_string(each)

    def _name(self, thing: dict[str, Any]) -> str:
        """What a thing is called, in one line."""
        given = thing.get("headline") or thing.get("name")
        return " ".join(line.text for line in self._text(given))


def lines_of_string(given: str) -> list[Line]:
    """The lines of a string that may hold markup, or entities in place of it."""
    if given.isprintable() and given.isascii() and "<" not in given and "&" not in given:
        line = " ".join(given.split())  # most are
        return [Line("paragraph", line)] if line else []
    if "&lt;" in given and not _TAG.search(given):
        given = unescape(given)
    given = given.replace("\0", "")
    if _TAG.search(given):
        if not _BREAKING.search(given):
            given = given.replace("\n", "<br><br>")
        blocks = find_blocks(given.encode("utf-8", "surrogatepass"))
        everything = np.ones(len(blocks.blocks), dtype=np.bool_)
        written = text_of(blocks, everything)
        text = normalise(written.text)
        return MainText(text, written.line_kinds if text else b"").lines()
    lines = (" ".join(line.split()) for line in normalise(unescape(given)).splitlines())
    return [Line("paragraph", line) for line in lines if line]


def _list(value: Any) -> list[Any]:
    """What a value holds, which may be one thing, a list, or lists in a list."""
    if isinstance(value, list):
        return [inner for each in value for inner in _list(each)]
    return [] if value is None else [value]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in _list(value) if isinstance(each, dict)]


def _type_names(thing: dict[str, Any]) -> list[str]:
    """The types that a thing names, in lower case, without the address before them."""
    names = (each for each in _list(thing.get("@type")) if isinstance(each, str))
    return [_BEFORE_NAME.split(name)[-1].strip().lower() for name in names]


def _is_free(thing: dict[str, Any]) -> bool:
    """False where it says so: as a word, or as an address of schema.org."""
    return not str(thing.get("isAccessibleForFree")).lower().endswith("false")


def _type_of(thing: dict[str, Any]) -> str | None:
    """The type of a thing, of those that are read here."""
    return next((_TYPES[name] for name in _type_names(thing) if name in _TYPES), None)
