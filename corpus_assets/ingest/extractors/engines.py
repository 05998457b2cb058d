"""The extractors as functions from a page to its text. Loads nothing but the one asked for.

A page is UTF-8, lone surrogates passed through, so that an extractor that wants bytes gets them.
"""

import logging
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from corpus_assets.core.errors import MissingExtra

if TYPE_CHECKING:
    from corpus_assets.ingest.extractors.blocks import BlockEngine
    from corpus_assets.ingest.kernels.blocks import Blocks

Engine = Callable[[bytes], str | None]
PageType = Literal["article", "forum", "product", "listing", "documentation", "home_page", "other"]
PAGE_TYPES_VERSION = 3  # raise it whenever a page could be of another type
WARMING = b"<p>a"


class Extracted(NamedTuple):
    """A page's text, and its type where a recipe asks for that."""

    text: str
    page_type: str | None = None


def make_reader(options: dict[str, Any]) -> Callable[[bytes], Extracted]:
    """Return what reads pages by an extraction's options (`ExtractionSettings` as plain values)."""
    extract = _with_parse(options)
    if not options.get("page_type"):
        return lambda page: Extracted(extract(page, None) or "")
    from corpus_assets.ingest.extractors.page_types import page_type
    from corpus_assets.ingest.kernels.blocks import find_blocks

    def read(page: bytes) -> Extracted:
        parsed = find_blocks(page)  # once, for the type and for blocks
        return Extracted(extract(page, parsed) or "", page_type(page, parsed))

    read(WARMING)  # compiled before a page's limits count
    return read


def _with_parse(options: dict[str, Any]) -> Callable[[bytes, "Blocks | None"], str | None]:
    """Return the engine of options as one that may be given the page's blocks."""
    if options["engine"] == "blocks":
        return _blocks(options)
    engine = make_engine(options)
    return lambda page, parsed: engine(page)


def make_engine(options: dict[str, Any]) -> Engine:
    """Return the engine of an extraction's options, for its text alone."""
    if options["engine"] == "blocks":
        return _blocks(options)
    if options["engine"] == "resiliparse":
        return _resiliparse(options)
    return _trafilatura(trafilatura_arguments(options))


def _blocks(options: dict[str, Any]) -> "BlockEngine":
    from corpus_assets.ingest.extractors.blocks import block_engine

    return block_engine(options, Path(options["model"]) if "model" in options else None)


def engine_version(name: str, model_sha256: str | None = None) -> str:
    """Return the release whose text a recipe with this engine gets; part of a task's identity.
    A recipe's own model of blocks takes the place of the one of the package."""
    if name == "blocks":
        from corpus_assets.ingest.extractors.blocks import VERSION, model_digest

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
