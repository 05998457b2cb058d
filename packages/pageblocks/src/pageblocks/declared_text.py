"""The text of pages that show none: what they declare as their own body, in their JSON-LD.

Pages that scripts fill often hold all of their text for machines to read. It is taken where it is
longer than the main text and the main text has less than a quarter of its lines. A text that is
shorter and something else is a notice, a menu or an introduction; one that has a quarter was found
on the page, where it is in its order and form. Of several bodies the longest is taken: the others are
its parts, or about other pages. What the page says is not free for everybody is not taken.
"""

from collections.abc import Callable, Iterable

from pageblocks.declared import ARTICLE_TYPES, Declared
from pageblocks.kernels.blocks import Blocks
from pageblocks.lines import CODES, OTHER, Line, MainText
from pageblocks.recall import declared_recall

MAX_SHARE = 0.25
"""Of the declared lines that a main text has which gives way to them."""
BODY_TYPES = ARTICLE_TYPES | {
    "Recipe",
    "HowTo",
    "FAQPage",
    "QAPage",
    "Question",
    "DiscussionForumPosting",
}
"""Types whose text is that of a page. A product's description may be that of its shop, and comments
are no text of an article."""

_OF_BODIES = (
    b"articleBody", b"ngredient", b"nstructions", b"HowTo", b"nswer", b"DiscussionForumPosting",
)  # fmt: skip
"""One of these stands in whatever has a body; much of JSON-LD has none."""


def declared_text(
    markup: bytes,
    parsed: Blocks,
    text: str,
    format: str,
    things: Callable[[], Iterable[Declared]],
) -> MainText | None:
    """The text that a page in UTF-8 declares, where it has to take the place of its main text.
    `things` reads what its JSON-LD declares; few pages need it."""
    longer = (
        markup[start:end] for start, end in parsed.json_ld.tolist() if end - start > len(text)
    )
    if not any(name in script for script in longer for name in _OF_BODIES):
        return None
    bodies = [thing for thing in things() if thing.type in BODY_TYPES and thing.is_free]
    if not bodies:
        return None
    longest = max(bodies, key=_size)  # the first of equals
    if _size(longest) <= len(text):
        return None
    recall = declared_recall([longest], text)
    if not recall or recall[0].share >= MAX_SHARE:
        return None
    lines = _with_name(longest)
    return _markdown(lines) if format == "markdown" else _text(lines)


def _size(thing: Declared) -> int:
    return sum(len(line.text) for line in thing.lines)


def _with_name(thing: Declared) -> list[Line]:
    """The lines under the thing's name, where that is not what they begin with."""
    first = thing.lines[0].text
    return [
        *([Line("heading_1", thing.name)] if thing.name not in ("", first) else ()),
        *thing.lines,
    ]


def _text(lines: list[Line]) -> MainText:
    return MainText(
        "\n".join(line.text for line in lines), bytes(CODES[line.kind] for line in lines)
    )


def _markdown(lines: list[Line]) -> MainText:
    """Headings with their marks, and an empty line between all that are not items of one list."""
    texts: list[str] = []
    codes = bytearray()
    for number, line in enumerate(lines):
        if number and not line.kind == lines[number - 1].kind == "list_item":
            texts.append("")
            codes.append(OTHER)
        is_heading = line.kind.startswith("heading_")
        texts.append(f"{'#' * int(line.kind[-1])} {line.text}" if is_heading else line.text)
        codes.append(CODES[line.kind])
    return MainText("\n".join(texts), bytes(codes))
