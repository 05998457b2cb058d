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
AGREEING = ("blocks", "resiliparse", "trafilatura")
"""The engines of `agreement`: the first two have to agree, the third is asked where they do not."""

WARMING = b"<p>a"


class Extracted(NamedTuple):
    """A page's text, and what is noted of it where a recipe asks for that."""

    text: str
    extracted_by: str | None = None  # whose text it is, where several engines are asked
    agreement: int | None = None  # of the first two, in thousandths
    page_type: str | None = None


_Read = Callable[[bytes, "Blocks | None"], Extracted]


def make_reader(options: dict[str, Any]) -> Callable[[bytes], Extracted]:
    """Return what reads pages by an extraction's options (`ExtractionSettings` as plain values):
    each page by those of its type, where the options have some."""
    read = _make_read(options)
    by_type = {kind: _make_read(options | own) for kind, own in options.get("by_type", {}).items()}
    is_noted = bool(options.get("page_type"))
    if not by_type and not is_noted:
        return lambda page: read(page, None)
    from corpus_assets.ingest.extractors.page_types import page_type
    from corpus_assets.ingest.kernels.blocks import find_blocks

    def read_by_type(page: bytes) -> Extracted:
        parsed = find_blocks(page)  # once, for the type and for blocks
        kind = page_type(page, parsed)
        found = by_type.get(kind, read)(page, parsed)
        return found._replace(page_type=kind) if is_noted else found

    read_by_type(WARMING)  # compiled before a page's limits count
    return read_by_type


def _make_read(options: dict[str, Any]) -> _Read:
    if options["engine"] == "agreement":
        return _agreeing(options)
    engine = with_parse(options)
    return lambda page, parsed: Extracted(engine(page, parsed) or "")


def with_parse(options: dict[str, Any]) -> Callable[[bytes, "Blocks | None"], str | None]:
    """Return the engine of options as one that may be given the page's blocks."""
    if options["engine"] == "blocks":
        return _blocks(options)
    engine = make_engine(options)
    return lambda page, parsed: engine(page)


def make_engine(options: dict[str, Any]) -> Engine:
    """Return the engine of an extraction's options, for its text alone."""
    if options["engine"] == "agreement":
        read = _agreeing(options)
        return lambda page: read(page, None).text
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
    if name == "agreement":
        return ", ".join(engine_version(each, model_sha256) for each in AGREEING)
    if name == "blocks":
        from corpus_assets.ingest.extractors.blocks import VERSION, model_digest

        return f"blocks {VERSION} {model_sha256 or model_digest()}"
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError as error:
        raise MissingExtra(
            f"the recipe asks for {name}: install it (pip install {name})"
        ) from error


def _agreeing(options: dict[str, Any]) -> _Read:
    """Where the first two engines agree as far as the recipe asks, the first one's text; elsewhere
    that one of all three which agrees most with the other two, the earlier one of equals."""
    from corpus_assets.ingest.kernels.agreement import SCALE, agreement

    first, second, third = (with_parse(options | {"engine": name}) for name in AGREEING)
    enough = round(options["min_agreement"] * SCALE)

    def read(page: bytes, parsed: "Blocks | None") -> Extracted:
        texts = [first(page, parsed) or "", second(page, parsed) or ""]
        written = [text.encode("utf-8", "surrogatepass") for text in texts]
        between = agreement(*written)
        if between >= enough:
            return Extracted(texts[0], AGREEING[0], between)
        texts.append(third(page, parsed) or "")
        best = choose(between, [*written, texts[2].encode("utf-8", "surrogatepass")])
        return Extracted(texts[best], AGREEING[best], between)

    read(WARMING, None)  # compiled before a page's limits count
    return read


def choose(between: int, texts: list[bytes]) -> int:
    """Return which of three texts agrees most with the other two, the first of equals; `between`
    is what the first two agree."""
    from corpus_assets.ingest.kernels.agreement import agreement

    with_third = [agreement(text, texts[2]) for text in texts[:2]]
    sums = (between + with_third[0], between + with_third[1], sum(with_third))
    return sums.index(max(sums))


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
