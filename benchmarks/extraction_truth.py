"""How much of the main text extractors find: F1 on truth sets, by type and language of pages.

    python benchmarks/extraction_truth.py --truth TRUTH.jsonl.gz [--truth MANIFEST.jsonl.gz]
        --warc FILE.warc.gz ... [--folds 5] [--timed 100] [--held-out]
        [--documentation DOCS.warc.gz ... --texts TEXTS.jsonl.gz ...]

Truth sets are those of `corpus extraction eval` (docs/how-to/train-an-extractor.md). `blocks` is the model that is
shipped, which saw none of these pages; `blocks, cross-validated` are models of the same make that
were trained on these pages, each measured on sites it did not see, and thrown away. With
`--documentation` and `--texts`, `blocks, with both` are models that were trained on these pages and
on those that the shipped one is from (docs/how-to/train-an-extractor.md has its command). The others are called
as their libraries are, trafilatura with its defaults and in two modes; those of
`requirements-extraction-truth.txt` where they are installed. F1 is over words, the mean of all pages, a page without text counting 0; in brackets the share
of pages under .5. `--held-out` prints the figures of one half of the sites, by hash, apart: nothing
was chosen by looking at them. The first `--timed` pages are timed by turns: CPU milliseconds a page.
"""

import argparse
import hashlib
import logging
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from machine import machine

from corpus_assets.ingest.extractors.engines import make_engine
from corpus_assets.ingest.stored_pages import read_stored_pages
from pageblocks.training import (
    Measure,
    Truth,
    cross_validate,
    evaluate,
    make_pages,
    measures,
    read_documentation,
    read_texts,
    read_truth,
)

Engine = Callable[[bytes], str | None]
TURNS = 5
SHIPPED = {"per_host": 12, "made": 2000, "seed": 2}  # what the shipped model was trained with


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--truth", type=Path, action="append", required=True)
    parser.add_argument("--warc", type=Path, action="append", default=[])
    parser.add_argument("--folds", type=int, default=5, help="0: no cross-validation")
    parser.add_argument("--timed", type=int, default=100, help="pages; 0: no times")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--documentation", type=Path, action="append", default=[])
    parser.add_argument("--texts", type=Path, action="append", default=[])
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"{machine()}\n")
    rows = read_truth(options.truth, read_stored_pages(options.warc))
    engines = all_engines()
    print(f"{len(rows)} pages of {len({row.site for row in rows})} sites\n")
    scores = {name: list(evaluate(rows, engine)) for name, engine in engines.items()}
    if options.folds:
        scores["blocks, cross-validated"] = cross_validate(rows, options.folds)
    if options.folds and options.texts:
        also = list(
            read_documentation(read_stored_pages(options.documentation), SHIPPED["per_host"])
        )
        also += make_pages(read_texts(options.texts), SHIPPED["made"], SHIPPED["seed"])
        scores["blocks, with both"] = cross_validate(rows, options.folds, also=also)
    print_table(rows, scores)
    if options.held_out:
        for half, name in ((0, "sites that things were chosen on"), (1, "sites held out")):
            chosen = [number for number, row in enumerate(rows) if half_of(row.site) == half]
            print(f"\n{name}\n")
            print_table(
                [rows[number] for number in chosen],
                {name: [its[number] for number in chosen] for name, its in scores.items()},
            )
    if options.timed:
        print_times([row.page for row in rows[: options.timed]], engines)


def half_of(site: str) -> int:
    return int(hashlib.sha256(f"half{site}".encode()).hexdigest()[:8], 16) % 2


def all_engines() -> dict[str, Engine]:
    """The extractors that are installed."""
    found: dict[str, Engine] = {}
    for name, engine, mode in (
        ("trafilatura fast", "trafilatura", "fast"),
        ("trafilatura precision", "trafilatura", "precision"),
        ("resiliparse", "resiliparse", "fast"),
        ("blocks", "blocks", "fast"),
    ):
        options = {"engine": engine, "mode": mode}
        found[name] = make_engine(options | {"include_tables": True, "include_comments": False})
    found["trafilatura"] = trafilatura_engine()
    for name, make in PEERS.items():
        try:
            found[name] = make()
        except ImportError:
            print(f"{name} is not installed: left out")
    return found


def trafilatura_engine() -> Engine:
    import trafilatura

    def extract(page: bytes) -> str | None:
        found: str | None = trafilatura.extract(page)
        return found

    return extract


def justext_engine() -> Engine:
    import justext

    lists = {code: justext.get_stoplist(name) for code, name in STOP_LISTS.items()}

    def extract(page: bytes) -> str:
        said = HTML_LANG.search(page)
        words = lists.get(said[1].decode().lower() if said else "en", lists["en"])
        found = justext.justext(page.decode("utf-8", "replace"), words)
        return "\n".join(each.text for each in found if not each.is_boilerplate)

    return or_nothing(extract)


def readability_engine() -> Engine:
    from lxml.html import fromstring
    from readability import Document

    def extract(page: bytes) -> str:
        summary = Document(page.decode("utf-8", "replace")).summary()
        return str(fromstring(summary).text_content())

    return or_nothing(extract)


def newspaper_engine() -> Engine:
    from newspaper import Article

    def extract(page: bytes) -> str:
        article = Article("http://localhost/", fetch_images=False)
        article.download(input_html=page.decode("utf-8", "replace"))
        article.parse()
        return str(article.text)

    return or_nothing(extract)


def goose_engine() -> Engine:
    from goose3 import Goose

    goose = Goose({"enable_image_fetching": False})
    return or_nothing(
        lambda page: str(goose.extract(raw_html=page.decode("utf-8", "replace")).cleaned_text)
    )


def boilerpy_engine() -> Engine:
    from boilerpy3.extractors import ArticleExtractor

    extractor = ArticleExtractor(raise_on_failure=False)
    return or_nothing(lambda page: str(extractor.get_content(page.decode("utf-8", "replace"))))


def rs_trafilatura_engine() -> Engine:
    import rs_trafilatura

    return or_nothing(
        lambda page: str(rs_trafilatura.extract(page.decode("utf-8", "replace")).main_content)
    )


def or_nothing(engine: Callable[[bytes], str]) -> Engine:
    """An extractor that gives no text where its library raises, as they do on pages without text."""

    def extract(page: bytes) -> str:
        try:
            return engine(page)
        except Exception:
            return ""

    return extract


PEERS: dict[str, Callable[[], Engine]] = {
    "rs-trafilatura": rs_trafilatura_engine,
    "readability-lxml": readability_engine,
    "newspaper4k": newspaper_engine,
    "goose3": goose_engine,
    "boilerpy3": boilerpy_engine,
    "jusText": justext_engine,
}
HTML_LANG = re.compile(rb"<html[^>]*\slang=[\"']?([a-zA-Z]{2})", re.IGNORECASE)
STOP_LISTS = {
    "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian",
    "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "tr": "Turkish",
}  # fmt: skip


def print_table(rows: list[Truth], scores: dict[str, list[float]]) -> None:
    found = {name: measures(rows, its) for name, its in scores.items()}
    print("| pages of | pages |", " | ".join(found), "|")
    print("|---|---|" + "---|" * len(found))
    for group, one in next(iter(found.values())).items():
        cells = " | ".join(cell(its[group]) for its in found.values())
        print(f"| {group} | {one.pages} | {cells} |")


def cell(measure: Measure) -> str:
    return f"{measure.f1:.3f} ({measure.failed:.0%})"


def print_times(pages: list[bytes], engines: dict[str, Engine]) -> None:
    """Median over turns of the CPU time of a page, all extractors in each turn."""
    spent: dict[str, list[float]] = {name: [] for name in engines}
    for _ in range(TURNS):
        for name, engine in engines.items():
            began = time.process_time()
            for page in pages:
                engine(page)
            spent[name].append((time.process_time() - began) / len(pages))
    print(f"\nCPU ms a page, {len(pages)} pages of {statistics.fmean(map(len, pages)):.0f} bytes\n")
    for name, runs in spent.items():
        print(f"| {name} | {1000 * statistics.median(runs):.2f} |")


if __name__ == "__main__":
    main()
