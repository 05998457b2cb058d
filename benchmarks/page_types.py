"""How often the type of a page is told right, and what that costs.

    python benchmarks/page_types.py --truth TRUTH.jsonl.gz [--truth MANIFEST.jsonl.gz]
        --warc FILE.warc.gz ...

Truth sets are those of `corpus extraction eval` (docs/how-to/train-an-extractor.md). Pages are in two halves by a
hash of their site: the rules were made by looking at the first, the second was held out. Rows are
what people said, columns what `page_type` says.
"""

import argparse
import hashlib
import logging
import time
from collections import Counter
from pathlib import Path
from typing import get_args

from machine import machine

from corpus_assets.ingest.stored_pages import read_stored_pages
from pageblocks import PageType, model_digest, page_type
from pageblocks.kernels.blocks import find_blocks
from pageblocks.training import Truth, read_truth

PAGE_TYPES: tuple[str, ...] = get_args(PageType)
HALVES = ("sites that rules were made on", "sites held out")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--truth", type=Path, action="append", required=True)
    parser.add_argument("--warc", type=Path, action="append", default=[])
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"{machine()}; model of blocks {model_digest()[:16]}\n")
    rows = read_truth(options.truth, read_stored_pages(options.warc))
    for half, name in enumerate(HALVES):
        print(f"\ntypes, {name}\n")
        print_types([row for row in rows if half_of(row) == half])


def half_of(row: Truth) -> int:
    return int(hashlib.sha256(f"half{row.site}".encode()).hexdigest()[:8], 16) % 2


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
