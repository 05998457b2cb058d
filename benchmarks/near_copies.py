"""What an order against near copies catches among real pages, and what looking it up costs.

    python benchmarks/near_copies.py [--shared FOLDER]

1. Extracts the pages of the shared web snapshots and sketches them. For each threshold: how
   many of the measured pairs of near duplicates an order for one page would catch in the other,
   by kind, and how many pairs of pages that are in no list and no exact copies (false alarms,
   unless a look shows otherwise; they are printed).
2. Draws 100,000 texts and orders and compares them, none of which match.

The threshold in use is `corpus_assets.text.sketch.MIN_AGREEING`.
"""

import argparse
import gzip
import json
import os
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
from fastwarc.warc import ArchiveIterator, WarcRecordType
from machine import machine

from corpus_assets.ingest.extract import ExtractionSettings, Extractor, decode
from corpus_assets.text import sketch

THRESHOLDS = (78, 84, 90, 96, 101, 107)  # of 112: 70, 75, 80, 86, 90, 96%
MAX_PAGE_BYTES = 600_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=os.environ.get("CORPUS_SHARED_DATA"))
    parser.add_argument("--orders", type=int, default=100_000)
    parser.add_argument("--texts", type=int, default=100_000)
    options = parser.parse_args()
    print(f"{machine()}\n")
    if options.shared is not None:
        measure_pages(Path(options.shared) / "web")
    measure_look_up(options.orders, options.texts)


def measure_pages(folder: Path) -> None:
    pages = extract(folder)
    sketch.sketch_texts(["compiles the kernels"])
    began = time.process_time()
    sketches = sketch.sketch_texts([text for _, _, text in pages])
    spent = time.process_time() - began
    there = [i for i, one in enumerate(sketches) if one is not None]
    print(f"{len(pages)} pages, {len(there)} long enough, {1e3 * spent / len(pages):.3f} ms a page")
    matrix = np.stack([np.frombuffer(sketches[i] or b"", "<u2") for i in there])
    place = {pages[i][0]: row for row, i in enumerate(there)}
    known: set[frozenset[int]] = set()
    by_kind: dict[str, list[int]] = defaultdict(list)
    with gzip.open(folder / "near-dup-pairs.jsonl.gz", "rt") as lines:
        for line in lines:
            pair = json.loads(line)
            rows = [place.get(pair[side]) for side in "ab"]
            if None not in rows:
                known.add(frozenset(rows))
                by_kind[f"{pair['kind']}"].append(agreement(matrix, *rows))
    print("pairs caught at    " + "".join(f"{t / sketch.PLACES:8.0%}" for t in THRESHOLDS))
    for kind, found in sorted(by_kind.items()):
        caught = "".join(f"{sum(n >= t for n in found):8d}" for t in THRESHOLDS)
        print(f"{kind:<19}{caught}   of {len(found)}")
    alarms: Counter[int] = Counter()
    listed = []
    for row in range(len(matrix)):
        agree = (matrix[row] == matrix[row + 1 :]).sum(axis=1)
        for other in np.flatnonzero(agree >= THRESHOLDS[0]) + row + 1:
            same = pages[there[row]][2] == pages[there[other]][2]
            if frozenset((row, int(other))) in known or same:
                continue
            count = agreement(matrix, row, int(other))
            alarms.update(t for t in THRESHOLDS if count >= t)
            listed.append((count, pages[there[row]][1], pages[there[other]][1]))
    print(f"{'in no list':<19}" + "".join(f"{alarms[t]:8d}" for t in THRESHOLDS))
    for count, one, other in sorted(listed, reverse=True):
        print(f"  {count / sketch.PLACES:.0%} {one} {other}")


def agreement(matrix: "np.ndarray", one: int, other: int) -> int:
    """Places that agree; none where no band is whole."""
    agree = matrix[one] == matrix[other]
    whole = agree.reshape(sketch.BANDS, sketch.ROWS_PER_BAND).all(axis=1).any()
    return int(agree.sum()) if whole else 0


def extract(folder: Path) -> list[tuple[str, str, str]]:
    """(record id, address, text) of every page that gives text."""
    extractor = Extractor(ExtractionSettings())
    pages = []
    for path in sorted(folder.glob("snapshot-*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                body = record.reader.read()
                headers = record.http_headers or {}
                html, _ = decode(body, headers.get("Content-Type", "") or "")
                if html is None or len(body) > MAX_PAGE_BYTES:
                    continue
                text = extractor.extract(html).text
                if text.strip():
                    address = record.headers.get("WARC-Target-URI", "")
                    pages.append((record.record_id.strip("<>"), address, text))
    return pages


def measure_look_up(orders: int, texts: int) -> None:
    draw = np.random.default_rng(1)
    drawn = draw.integers(0, 1 << 16, (orders, sketch.PLACES), np.uint16)
    values = [sketch.SKETCH_PREFIX + row.tobytes().hex() for row in drawn]
    began = time.process_time()
    index = sketch.SketchIndex(values)
    built = time.process_time() - began
    column = pa.array(
        [row.tobytes() for row in draw.integers(0, 1 << 16, (texts, sketch.PLACES), np.uint16)],
        pa.binary(sketch.BYTES),
    )
    began = time.process_time()
    assert not index.match(column).any()
    spent = time.process_time() - began
    print(f"{orders} orders: {built:.2f} s to prepare, {1e6 * spent / texts:.2f} us a text")


if __name__ == "__main__":
    main()
