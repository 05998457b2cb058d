"""What each gate costs a page, beside extracting it.

    python benchmarks/gates.py FILE.warc.gz [--hosts 1_000_000] [--entries 4_000_000]

Reads the pages of a web archive and times every gate alone, all of them passing: the index of
robots.txt has so many made-up hosts beside those of the pages (each with 30 rules), the lists of
categories so many made-up domains. Times are CPU microseconds a page, the fastest of seven rounds.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from machine import machine

from corpus_assets.core.urls import Address, Blocklist, address_of
from corpus_assets.ingest.extract import read_page
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets.ingest.gates.categories import CategoryIndex, build_category_index
from corpus_assets.ingest.gates.gates import (
    absurd_markup,
    blocked_category,
    blocked_host,
    blocked_url,
    header_opt_outs,
    http_status,
    site_files,
)
from corpus_assets.ingest.gates.licence import page_licence
from corpus_assets.ingest.gates.optout import meta_opt_out
from corpus_assets.ingest.gates.settings import GateSettings, RobotsSettings, UrlWords
from corpus_assets.ingest.gates.site_index import SiteIndex, file_hash, site_of, write_index
from corpus_assets.ingest.gates.site_rules import PATHS, robots_rules, to_bytes
from corpus_assets.ingest.gates.url_lists import UrlLists
from corpus_assets.ingest.kernels.landmarks import find_landmarks
from corpus_assets.ingest.records import RawRecord

AGENTS = ("GPTBot", "CCBot", "Google-Extended", "ClaudeBot")
ROUNDS = 7


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--entries", type=int, default=1_000_000)
    arguments = parser.parse_args()
    print(f"{machine()}\n")
    with open(arguments.file, "rb") as stream:
        found = [r for r in read_warc(stream, arguments.file.name, 2_000_000) if not r.damage]
    pages = [(record, address_of(record.url or "")) for record in found]
    pages = [(record, address) for record, address in pages if address is not None]
    settings = GateSettings(
        robots=RobotsSettings(agents=AGENTS),
        blocked_url_words=(UrlWords(name="spam", words=("casino", "porn", "viagra")),),
    )
    with tempfile.TemporaryDirectory() as folder:
        lists = UrlLists(
            made_up_categories(Path(folder), arguments.entries),
            made_up_sites(Path(folder), arguments.hosts, pages),
        )
        report(pages, settings, lists)


def report(pages: list[tuple[RawRecord, Address]], settings: GateSettings, lists: UrlLists) -> None:
    hosts = Blocklist(f"blocked{n}.test" for n in range(10_000))
    marks = [find_landmarks(record.payload) for record, _ in pages]
    gates: dict[str, Callable[[], Iterable[object]]] = {
        "address": lambda: (address_of(r.url or "") for r, _ in pages),
        "blocked_host": lambda: (blocked_host(a, hosts) for _, a in pages),
        "blocked_category": lambda: (blocked_category(a, lists) for _, a in pages),
        "blocked_url": lambda: (blocked_url(a, settings) for _, a in pages),
        "http_status": lambda: (http_status(r) for r, _ in pages),
        "robots, ai.txt, tdmrep": lambda: (site_files(r, a, settings, lists) for r, a in pages),
        "opt-out headers": lambda: (header_opt_outs(r, settings) for r, _ in pages),
        "landmarks": lambda: (find_landmarks(r.payload) for r, _ in pages),
        "opt-out markup": lambda: (
            meta_opt_out(r.payload, settings.optout, found.metas)
            for (r, _), found in zip(pages, marks, strict=True)
        ),
        "page licence": lambda: (
            page_licence(r.payload, found.hosts) for (r, _), found in zip(pages, marks, strict=True)
        ),
        "absurd markup": lambda: (absurd_markup(r.payload) for r, _ in pages),
        "(charset)": lambda: (read_page(r.payload, r.content_type) for r, _ in pages),
    }
    print(
        f"{len(pages)} pages, {len(lists.sites or ())} hosts, {len(lists.categories or ())} entries"
    )
    total = 0.0
    for name, gate in gates.items():
        for _ in gate():  # compiled and warm
            pass
        rounds = []
        for _ in range(ROUNDS):
            began = time.process_time()
            for _ in gate():
                pass
            rounds.append(time.process_time() - began)
        spent = min(rounds) / len(pages) * 1e6
        total += 0.0 if name.startswith("(") else spent
        print(f"{name:24} {spent:8.1f} us")
    print(f"{'all gates':24} {total:8.1f} us a page")


def made_up_categories(folder: Path, entries: int) -> CategoryIndex:
    path = folder / "domains"
    path.write_text("".join(f"listed{n}.test\n" for n in range(entries)))
    (folder / "categories").write_bytes(build_category_index([("adult", path)])[0])
    return CategoryIndex(folder / "categories")


def made_up_sites(folder: Path, hosts: int, pages: list[tuple[RawRecord, Address]]) -> SiteIndex:
    """Made-up hosts by random hashes, and one of a thousand rule sets for each file of a real
    host."""
    sets = []
    for number in range(1000):
        lines = [f"Disallow: /closed{number}/{n}/*.x$" for n in range(30)]
        content = "\n".join(["User-agent: *", *lines, "User-agent: GPTBot", *lines[:10]]).encode()
        rules = robots_rules(content, AGENTS)
        sets.append(to_bytes(rules, [["-*.jpg"]] * len(AGENTS), ["-/reserved/"]))
    sites = {site_of(record.url or "", address) or "" for record, address in pages}
    real = [file_hash(kind, site, path) for site in sites for path, kind in PATHS.items()]
    random = np.random.default_rng(1).integers(0, 2**63, hosts, dtype=np.uint64)
    hashes = np.unique(np.concatenate([random, np.array(real, dtype=np.uint64)]))
    numbers = (hashes % np.uint64(len(sets))).astype(np.int32)
    since = np.zeros(len(hashes), dtype=np.int64)
    for name, data in zip("ab", write_index(hashes, since, numbers, sets, AGENTS), strict=True):
        (folder / name).write_bytes(data)
    return SiteIndex(folder / "a", folder / "b")


if __name__ == "__main__":
    main()
