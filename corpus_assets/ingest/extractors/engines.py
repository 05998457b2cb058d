"""The extractors as functions from a page to its text. Loads nothing but the one asked for.

A page is UTF-8, lone surrogates passed through, so that an extractor that wants bytes gets them.
"""

import logging
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from corpus_assets.core.errors import MissingExtra

Engine = Callable[[bytes], str | None]


def make_engine(options: dict[str, Any]) -> Engine:
    """Return the engine of an extraction's options (`ExtractionSettings` as plain values)."""
    if options["engine"] == "blocks":
        from corpus_assets.ingest.extractors.blocks import block_engine

        return block_engine(options)
    if options["engine"] == "resiliparse":
        return _resiliparse(options)
    return _trafilatura(trafilatura_arguments(options))


def engine_version(name: str) -> str:
    """Return the release whose text a recipe with this engine gets; part of a task's identity."""
    if name == "blocks":
        from corpus_assets.ingest.extractors.blocks import VERSION, model_digest

        return f"blocks {VERSION} {model_digest()}"
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
