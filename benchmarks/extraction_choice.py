"""What asking more engines is worth, and how often the type of a page is told right.

    python benchmarks/extraction_choice.py --truth TRUTH.jsonl.gz [--truth MANIFEST.jsonl.gz]
        --warc FILE.warc.gz ... [--mode fast --mode precision]

Truth sets are those of `corpus extraction eval` (docs/extraction.md). Pages are in two halves by a
hash of their site: thresholds and rules were chosen by looking at the first, the second was held out.

1. `engine: agreement` at several `min_agreement`: F1 over words, share of pages under .5, share of
   pages that trafilatura was asked for, and CPU milliseconds a page of all engines together. Every
   engine reads every page once, and is timed; what a threshold costs is the sum of what it asks.
2. Page types: rows are what people said, columns what `page_type` says.
"""

import argparse
import hashlib
import logging
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple, get_args

from machine import machine

from corpus_assets.ingest.extractor_training import Truth, read_truth
from corpus_assets.ingest.extractor_training.truth import f1_of
from corpus_assets.ingest.extractors.blocks import model_digest
from corpus_assets.ingest.extractors.engines import AGREEING, PageType, choose, make_engine
from corpus_assets.ingest.extractors.page_types import page_type
from corpus_assets.ingest.kernels.agreement import agreement
from corpus_assets.ingest.kernels.blocks import find_blocks

PAGE_TYPES: tuple[str, ...] = get_args(PageType)
THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MODES = ("fast", "precision")
HALVES = ("sites that things were chosen on", "sites held out")


class Asked(NamedTuple):
    """A page's texts by all engines, what each took, and how far the first two agree."""

    texts: list[bytes]
    cpu_ms: list[float]
    between: int
    f1: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--truth", type=Path, action="append", required=True)
    parser.add_argument("--warc", type=Path, action="append", default=[])
    parser.add_argument("--mode", choices=MODES, action="append", help="of trafilatura [both]")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"{machine()}; model of blocks {model_digest()[:16]}\n")
    rows = read_truth(options.truth, options.warc)
    for mode in options.mode or MODES:
        asked = ask_all(rows, mode)
        for half, name in enumerate(HALVES):
            chosen = [one for one, row in zip(asked, rows, strict=True) if half_of(row) == half]
            print(f"\nagreement, trafilatura {mode}, {len(chosen)} pages of {name}\n")
            print_thresholds(chosen)
    for half, name in enumerate(HALVES):
        print(f"\ntypes, {name}\n")
        print_types([row for row in rows if half_of(row) == half])


def half_of(row: Truth) -> int:
    return int(hashlib.sha256(f"half{row.site}".encode()).hexdigest()[:8], 16) % 2


def ask_all(rows: list[Truth], mode: str) -> list[Asked]:
    shared = {"mode": mode, "include_tables": True, "include_comments": False}
    engines = [make_engine(shared | {"engine": name}) for name in AGREEING]
    found = []
    for row in rows:
        texts, cpu_ms = [], []
        for engine in engines:
            began = time.process_time()
            texts.append(engine(row.page) or "")
            cpu_ms.append(1000 * (time.process_time() - began))
        written = [text.encode("utf-8", "surrogatepass") for text in texts]
        f1 = [f1_of(text, row.main_content) for text in texts]
        found.append(Asked(written, cpu_ms, agreement(*written[:2]), f1))
    return found


def print_thresholds(pages: list[Asked]) -> None:
    if not pages:
        return
    print("| min_agreement | F1 | under .5 | asked trafilatura | CPU ms a page |")
    print("|---|---|---|---|---|")
    for threshold in THRESHOLDS:
        scores, costs, asked = [], [], 0
        for page in pages:
            is_enough = page.between >= round(1000 * threshold)
            best = 0 if is_enough else choose(page.between, page.texts)
            scores.append(page.f1[best])
            costs.append(sum(page.cpu_ms[: 2 if is_enough else 3]))
            asked += not is_enough
        under = sum(score < 0.5 for score in scores) / len(pages)
        print(
            f"| {threshold} | {statistics.fmean(scores):.3f} | {under:.1%} | "
            f"{asked / len(pages):.0%} | {statistics.fmean(costs):.1f} |"
        )
    for number, name in enumerate(AGREEING):
        alone = statistics.fmean(page.f1[number] for page in pages)
        under = sum(page.f1[number] < 0.5 for page in pages) / len(pages)
        cost = statistics.fmean(page.cpu_ms[number] for page in pages)
        print(f"| {name} alone | {alone:.3f} | {under:.1%} | | {cost:.1f} |")


def print_types(rows: list[Truth]) -> None:
    told = Counter((row.type, page_type(row.page)) for row in rows)  # compiled, too
    parsed = [find_blocks(row.page) for row in rows]
    began = time.process_time()
    for row, blocks in zip(rows, parsed, strict=True):
        page_type(row.page, blocks)
    beside = time.process_time()
    for row in rows:
        page_type(row.page)
    spent = [
        1000 * each / max(len(rows), 1) for each in (beside - began, time.process_time() - beside)
    ]
    print("| said | " + " | ".join(PAGE_TYPES) + " |")
    print("|---" * (len(PAGE_TYPES) + 1) + "|")
    for said in sorted({row.type for row in rows}):
        print(f"| {said} | " + " | ".join(str(told[said, name]) for name in PAGE_TYPES) + " |")
    print(f"\nCPU ms a page: {spent[0]:.2f} with the parse of blocks, {spent[1]:.2f} by itself")


if __name__ == "__main__":
    main()
