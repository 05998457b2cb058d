"""How much extractors keep of what pages say of themselves in JSON-LD, by type of schema.org.

    python benchmarks/declared_recall.py FILE.warc.gz ...

Of the lines that a page declares (an ingredient, a step, a paragraph of the body), the mean share that
its text has; in brackets the share of things of which less than half is there. What a page declares
need not be shown on it, so no extractor has all. trafilatura is called with its defaults.
"""

import argparse
import logging
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from machine import machine

from corpus_assets.ingest.stored_pages import read_stored_pages
from pageblocks import Extractor, Recall, declared, declared_recall

Engine = Callable[[bytes], str | None]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("warcs", metavar="WARC", type=Path, nargs="+")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"{machine()}\n")
    engines = all_engines()
    found: dict[str, dict[str, list[Recall]]] = {name: defaultdict(list) for name in engines}
    n_pages = 0
    for page in read_stored_pages(options.warcs):
        n_pages += 1
        things = declared(page.page)
        if not things:
            continue
        for name, engine in engines.items():
            for recall in declared_recall(things, engine(page.page) or ""):
                found[name][recall.type].append(recall)
    print_table(found, n_pages)


def all_engines() -> dict[str, Engine]:
    import trafilatura

    extractor = Extractor()
    return {
        "blocks": lambda page: extractor.read(page).text,
        "trafilatura": lambda page: trafilatura.extract(page),
    }


def print_table(found: dict[str, dict[str, list[Recall]]], n_pages: int) -> None:
    print(f"{n_pages} pages; share of lines in the text, things under half\n")
    print("| type | things | lines |", " | ".join(found), "|")
    print("|---|---|---|" + "---|" * len(found))
    counts = next(iter(found.values()))
    for kind in sorted(counts, key=lambda kind: -len(counts[kind])):
        lines = sum(each.lines for each in counts[kind])
        cells = " | ".join(cell(its[kind]) for its in found.values())
        print(f"| {kind} | {len(counts[kind])} | {lines} | {cells} |")


def cell(recalls: list[Recall]) -> str:
    """The mean share of lines, and the share of things that have less than half of theirs."""
    mean = sum(each.share for each in recalls) / len(recalls)
    under = sum(each.share < 0.5 for each in recalls) / len(recalls)
    return f"{mean:.3f} ({under:.0%})"


if __name__ == "__main__":
    main()
