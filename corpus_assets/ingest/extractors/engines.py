"""The extractors as functions from a page to its text. Loads nothing but the one asked for.

A page is UTF-8, lone surrogates passed through, so that an extractor that wants bytes gets them.
"""

import logging
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from corpus_assets.core.errors import MissingExtra, ModelError

if TYPE_CHECKING:
    import pageblocks

Engine = Callable[[bytes], str | None]
WARMING = b"<p>a<pre>b</pre><table><tr><td>c</table>"


Recalls = list[tuple[str, int, int]]
"""Types of schema.org, each with the lines that a page declares and those that its text has."""


class Extracted(NamedTuple):
    """A page's text, its type where a recipe asks for that, and the kinds of its lines, their places
    (uint16, little-endian) and what it has of what the page declares where the engine knows them."""

    text: str
    page_type: str | None = None
    line_kinds: bytes = b""
    line_places: bytes = b""
    recalls: Recalls | None = None


def make_reader(options: dict[str, Any]) -> Callable[[bytes], Extracted]:
    """Return what reads pages by an extraction's options (`ExtractionSettings` as plain values)."""
    has_type = options.get("page_type")
    if options["engine"] == "blocks":
        blocks = _blocks(options)

        def read(page: bytes) -> Extracted:
            found = blocks.read(page)  # parsed once, for the text and for the type
            kind = found.page_type if has_type else None
            places = found.line_places.astype("<u2").tobytes()
            recalls = by_type(found.declared_recall)
            return Extracted(found.text, kind, found.line_kinds, places, recalls)
    else:
        engine = make_engine(options)
        if not has_type:
            return lambda page: Extracted(engine(page) or "")
        from pageblocks import page_type

        def read(page: bytes) -> Extracted:
            return Extracted(engine(page) or "", page_type(page))

    read(WARMING)  # compiled before a page's limits count
    return read


def by_type(recalls: "Iterable[pageblocks.Recall]") -> Recalls:
    """Sums over the things of each type, types in the order of their names."""
    sums: dict[str, tuple[int, int]] = {}
    for kind, lines, found in recalls:
        before = sums.get(kind, (0, 0))
        sums[kind] = before[0] + lines, before[1] + found
    return [(kind, *its) for kind, its in sorted(sums.items())]


def make_engine(options: dict[str, Any]) -> Engine:
    """Return the engine of an extraction's options, for its text alone."""
    if options["engine"] == "blocks":
        blocks = _blocks(options)
        return lambda page: blocks.read(page).text
    if options["engine"] == "resiliparse":
        return _resiliparse(options)
    return _trafilatura(trafilatura_arguments(options))


def _blocks(options: dict[str, Any]) -> "pageblocks.Extractor":
    from pageblocks import Extractor
    from pageblocks import ModelError as UnusableModel

    given = {"model": Path(options["model"])} if "model" in options else {}
    try:
        return Extractor(
            options.get("format", "text"),
            include_tables=options["include_tables"],
            min_chance=options.get("min_chance"),
            **given,
        )
    except UnusableModel as error:
        raise ModelError(str(error)) from error


def engine_version(name: str, model_sha256: str | None = None) -> str:
    """Return the release whose text a recipe with this engine gets; part of a task's identity.
    A recipe's own model of blocks takes the place of the one of the package."""
    if name == "blocks":
        from pageblocks import VERSION, model_digest

        return f"blocks {VERSION} {model_sha256 or model_digest()}"
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError as error:
        raise MissingExtra(
            f"the recipe asks for {name}: install it (pip install {name})"
        ) from error


def trafilatura_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Options as arguments of `trafilatura.extract`."""
    return {
        "fast": options["mode"] == "fast",
        "favor_precision": options["mode"] == "precision",
        "include_tables": options["include_tables"],
        "include_comments": options["include_comments"],
    }


def _trafilatura(arguments: dict[str, Any]) -> Engine:
    from corpus_assets.ingest.extractors.trafilatura_fast import fast_extract

    fast = fast_extract(arguments)
    if fast is not None:
        return lambda page: fast(page.decode("utf-8", "surrogatepass"))
    from trafilatura import extract  # another release: its own way, whatever it costs

    # it reports every odd page as an error; here each becomes a counted reason instead
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    return lambda page: extract(page.decode("utf-8", "surrogatepass"), **arguments)


def _resiliparse(options: dict[str, Any]) -> Engine:
    try:
        from resiliparse.extract.html2text import extract_plain_text
        from resiliparse.parse.html import HTMLTree
    except ImportError as error:
        raise MissingExtra(
            "the recipe asks for resiliparse: install it (pip install 'resiliparse>=1.1,<2')"
        ) from error

    def extract(page: bytes) -> str:
        text: str = extract_plain_text(
            HTMLTree.parse_from_bytes(page, "utf-8"),
            main_content=True,
            preserve_formatting=True,
            list_bullets=False,
            links=False,
            comments=options["include_comments"],
            alt_texts=False,
            form_fields=False,
            noscript=False,
        )
        return text

    return extract
