"""A page read by the model: its main text, its blocks, its type, its title.

1. bytes become text in UTF-8 (`charset`);
2. `find_blocks` reads the page once into blocks in a tree of elements;
3. a model gives each block a chance to be main content, and the best are kept (`model`), with those
   that the page declares as its text (`declared_blocks`);
4. paragraphs, headings, list items and table rows become lines (`plain_text`, `markdown`);
5. where the page declares a text of its own and shows none of it, that is its text (`declared_text`).
"""

from collections.abc import Callable
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pageblocks.charset import PageText, normalise, read_page
from pageblocks.charset_guess import Detector
from pageblocks.declarations import page_title
from pageblocks.declared import Declared, declared_things
from pageblocks.declared_blocks import with_declared
from pageblocks.declared_text import declared_text
from pageblocks.errors import NotText
from pageblocks.kernels.block_features import block_features
from pageblocks.kernels.block_trees import SCALE, Ints
from pageblocks.kernels.blocks import Blocks, find_blocks
from pageblocks.lines import Line, MainText, places_of
from pageblocks.markdown import markdown_of
from pageblocks.model import MODEL, judge, kept_blocks, read_model
from pageblocks.page_types import PageType, page_type
from pageblocks.places import Kind, Places
from pageblocks.plain_text import text_of
from pageblocks.recall import Recall, declared_recall

VERSION = 15  # raise it whenever the same model could give another text
Format = Literal["text", "markdown"]


class Block(NamedTuple):
    """A piece of text between two tags that break it."""

    kind: Kind
    text: str
    kept: bool  # part of the main text
    chance: float  # to be main content, by the model


class Page:
    """A page that was read. What is asked of it is made then, and once.

    `is_declared` says that the text is what the page declares in its JSON-LD, and no block's.
    """

    def __init__(
        self,
        markup: bytes,
        parsed: Blocks,
        chances: Ints,
        kept: npt.NDArray[np.bool_],
        written: MainText,
        is_declared: bool,
        things: Callable[[], list[Declared]],
    ) -> None:
        self._markup, self._parsed, self._chances, self._kept = markup, parsed, chances, kept
        self.text, self.line_kinds, self._elements = written
        self.is_declared = is_declared
        self._things = things

    @cached_property
    def lines(self) -> list[Line]:
        """The lines of the main text, each with its kind."""
        return MainText(self.text, self.line_kinds).lines()

    @cached_property
    def line_places(self) -> npt.NDArray[np.uint16]:
        """Where each line of the main text stands in the page's tree: `lines.places_of`."""
        if not self.text:
            return np.empty(0, np.uint16)
        return places_of(self._parsed, self._elements or (-1,) * len(self.line_kinds))

    @cached_property
    def blocks(self) -> list[Block]:
        """All blocks of the page in their order, with those that are not its main text."""
        places = Places(self._parsed)
        return [
            Block(
                places.kind(number),
                normalise(self._parsed.text_of(number)),
                kept,
                chance / SCALE,
            )
            for number, (kept, chance) in enumerate(
                zip(self._kept.tolist(), self._chances.tolist(), strict=True)
            )
        ]

    @cached_property
    def page_type(self) -> PageType:
        """What kind of page it is, by what it declares and by its form."""
        return page_type(self._markup, self._parsed)

    @cached_property
    def declared_recall(self) -> list[Recall]:
        """What the text has of each thing that the page declares in its JSON-LD."""
        things = self._things()
        return declared_recall(things, self.text) if things else []

    @cached_property
    def title(self) -> str | None:
        """The `<title>` of the page; None where it has none."""
        return page_title(PageText(self._markup, "utf-8", None))


class Extractor:
    """Reads pages with one model and one set of options."""

    def __init__(
        self,
        format: Format = "text",
        *,
        include_tables: bool = True,
        min_chance: float | None = None,
        model: Path = MODEL,
    ) -> None:
        """`min_chance`, of 0 to 1, keeps every block with this chance of being main content or
        more, instead of those with the best expected F1; `model` is a file that `train` wrote."""
        self._model = read_model(model)
        self._format = format
        self._write = markdown_of if format == "markdown" else text_of
        self._include_tables = include_tables
        self._min_chance = None if min_chance is None else round(min_chance * SCALE)

    def extract(
        self, html: bytes | str, content_type: str = "", detect: Detector | None = None
    ) -> Page:
        """Read a page given as text, or as bytes in any charset.

        `content_type` is the server's header of the bytes; `detect` names the charset of a sample
        of bytes that say nothing credible themselves, in the words of uchardet. Raises NotText for
        bytes that are no text.
        """
        if isinstance(html, str):
            return self.read(html.replace("\0", "").encode("utf-8", "surrogatepass"))
        found = read_page(html, content_type, detect)
        if not isinstance(found, PageText):
            raise NotText(
                f"the page is not text: read as {found.charset}, too much of it is control "
                "characters; is it compressed, or an image?"
            )
        return self.read(found.utf8)

    def read(self, markup: bytes) -> Page:
        """Read a page that is in UTF-8, and without NUL, already."""
        parsed = find_blocks(markup)
        chances = judge(self._model, parsed, block_features(parsed))
        kept = kept_blocks(markup, parsed, chances, self._min_chance)
        text, kinds, elements = self._text(parsed, kept)
        things = cache(partial(declared_things, markup, parsed))
        if self._min_chance is None and things():
            more = with_declared(parsed, kept, things(), text)
            if more is not kept:
                kept = more
                text, kinds, elements = self._text(parsed, kept)
        said = declared_text(markup, parsed, text, self._format, things)
        written = said or (MainText(text, kinds, elements) if text else MainText("", b""))
        return Page(markup, parsed, chances, kept, written, said is not None, things)

    def _text(self, parsed: Blocks, kept: npt.NDArray[np.bool_]) -> MainText:
        written = self._write(parsed, kept, self._include_tables)
        # Lines stay what they are: no block holds another line's end than `\n`.
        return written._replace(text=normalise(written.text))


def extract(
    html: bytes | str,
    format: Format = "text",
    *,
    content_type: str = "",
    detect: Detector | None = None,
) -> Page:
    """Read a page with the model of the package: `Extractor(format).extract(...)`."""
    return Extractor(format).extract(html, content_type, detect)
