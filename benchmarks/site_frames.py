"""Frames of sites, learned from the trees of their pages: what cleaning takes, and whether that was right.

    python benchmarks/site_frames.py ARCHIVE.warc.gz ... [--truth extraction-truth.jsonl.gz] [--show 40]
                                     [--one-site]

Pages of sites with at least six different texts are read with `blocks` and cleaned as a snapshot of
their own: with the places of their lines in the tree, and without them, as text of other engines is.
With a truth of main texts, F1 over words before and after, on two halves of the sites. `--show` prints
the cut lines that most pages lose. The first lines say what the columns of kinds and places take of the
bytes of the text, as Parquet.
"""

import argparse
import hashlib
import io
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from extraction import f1, read_truth
from machine import machine

from corpus_assets.clean import boilerplate as frames
from corpus_assets.clean.clean_text import left_by_lines, rewritten
from corpus_assets.clean.pinned_lines import Boilerplate
from corpus_assets.clean.settings import BoilerplateSettings, CleanTextSettings
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.ingest.extract import read_page
from corpus_assets.ingest.formats.warc import read_warc
from pageblocks import Extractor, PageText

MAX_BYTES = 2_000_000
MIN_CHARS = CleanTextSettings().min_chars


class SitePage(NamedTuple):
    host: str
    name: str  # the id of its record
    text: str
    kinds: list[int]
    places: list[int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--show", type=int, default=0, metavar="LINES")
    parser.add_argument("--min-share", type=float, default=BoilerplateSettings().min_share)
    parser.add_argument("--min-documents", type=int, default=BoilerplateSettings().min_documents)
    parser.add_argument("--one-site", action="store_true", help="whatever the pages' hosts are")
    options = parser.parse_args()
    settings = BoilerplateSettings(min_share=options.min_share, min_documents=options.min_documents)
    sites = sites_of(options.archives, settings.min_documents, options.one_site)
    pages = [page for site in sites.values() for page in site]
    truth = read_truth(options.truth) if options.truth else {}
    if not pages:
        sys.exit(f"no site has {settings.min_documents} different texts: give more pages of it")
    least = settings.min_documents
    print(f"{machine()}; {len(pages):,} pages of {len(sites):,} sites with {least} texts or more")
    shares = [f"{share_of_text(pages, name):.1%}" for name in ("line_kinds", "line_places")]
    print(f"kinds of lines take {shares[0]} of the bytes of the text, their places {shares[1]}")
    print("\n| | pages changed | characters cut | F1, half of the sites | F1, the other half |")
    print("|---|---|---|---|---|")
    before = {page.name: page.text for page in pages}
    print(f"| extracted | | | {scores(pages, before, truth)} |")
    for name, has_tree in (("frames by tree", True), ("by distance from the ends", False)):
        after = cleaned(pages, settings, has_tree)
        changed = [key for key, text in after.items() if text != before[key]]
        cut = sum(len(before[key]) - len(after[key]) for key in changed)
        share = f"{cut / sum(map(len, before.values())):.2%}"
        print(f"| {name} | {len(changed):,} | {share} | {scores(pages, after, truth)} |")
        if options.show and has_tree:
            shown = lines_cut(pages, after).most_common(options.show)
    if options.show:
        for (host, line), count in shown:
            print(f"{count:4} {host}: {line[:140]}")


def sites_of(
    archives: Iterable[Path], least: int, is_one: bool = False
) -> dict[str, list[SitePage]]:
    """Pages by host, each text of a site once."""
    extractor, found = Extractor(), defaultdict[str, dict[str, SitePage]](dict)
    for path in archives:
        with open(path, "rb") as stream:
            for record in read_warc(stream, path.name, MAX_BYTES):
                if not record.payload or not record.url or b"<" not in record.payload[:2000]:
                    continue
                read = read_page(record.payload, record.content_type)
                if not isinstance(read, PageText):
                    continue
                page = extractor.read(read.utf8)
                host = "" if is_one else urlsplit(record.url).hostname or ""
                name = (record.key or "").strip("<>")
                kinds, places = list(page.line_kinds), page.line_places.tolist()
                if page.text:
                    found[host].setdefault(
                        page.text, SitePage(host, name, page.text, kinds, places)
                    )
    return {host: [*own.values()] for host, own in sorted(found.items()) if len(own) >= least}


def table_of(pages: list[SitePage], has_tree: bool) -> pa.Table:
    n = len(pages)
    ids = pa.chunked_array([pa.array([k.to_bytes(16, "big") for k in range(n)], DOC_ID)])
    places = [page.places if has_tree else None for page in pages]
    return pa.table(
        {
            "doc_id": ids,
            "domain": pa.array(["web"] * n),
            "host": pa.array([page.host for page in pages]),
            "fetched_at": pa.array(["2024-01-01T00:00:00Z"] * n),
            "text": pa.array([page.text for page in pages], pa.large_string()),
            "line_kinds": pa.array([page.kinds for page in pages], pa.list_(pa.uint8())),
            "line_places": pa.array(places, pa.list_(pa.uint16())),
        }
    )


def cleaned(pages: list[SitePage], settings: BoilerplateSettings, has_tree: bool) -> dict[str, str]:
    """Texts by name after cleaning, with lines counted over all of the pages."""
    table = table_of(pages, has_tree)
    ids = table["doc_id"]
    keys = frames.line_keys(rewritten(table, [])[0], table, settings)
    counted, templates = frames.count_lines(keys, range(len(pages)))
    common = frames.common_lines([counted], [templates], settings)
    candidates = frames.find_candidates(ids, ids, keys, common)
    pinned = Boilerplate.of(frames.choose_keepers([candidates], common, MIN_CHARS))
    left = left_by_lines(table, pinned, settings, MIN_CHARS)
    return {page.name: one.text for page, one in zip(pages, left, strict=True)}


def share_of_text(pages: list[SitePage], name: str) -> float:
    """Bytes of a column for each of the text, as compressed as in files of documents."""
    sizes = []
    for column in (name, "text"):
        out = io.BytesIO()
        pq.write_table(table_of(pages, True).select([column]), out, compression="zstd")
        sizes.append(len(out.getvalue()))
    return sizes[0] / sizes[1]


def scores(pages: list[SitePage], texts: dict[str, str], truth: dict[str, str]) -> str:
    """F1 over the pages with a truth, on each half of the sites."""
    halves: tuple[dict[str, str], ...] = ({}, {})
    for page in pages:
        if page.name in truth:
            half = hashlib.sha256(page.host.encode()).digest()[0] & 1
            halves[half][page.name] = truth[page.name]
    return " | ".join(f"{f1(texts, half)} ({len(half)} pages)" for half in halves)


def lines_cut(pages: list[SitePage], after: dict[str, str]) -> Counter[tuple[str, str]]:
    """How many pages of a site have lost each line."""
    found: Counter[tuple[str, str]] = Counter()
    for page in pages:
        lost = Counter(page.text.split("\n"))
        lost.subtract(after[page.name].split("\n"))
        found.update((page.host, line) for line, n in lost.items() if n > 0 and line.strip())
    return found


if __name__ == "__main__":
    main()
