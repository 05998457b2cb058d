"""Pages of `catalog serve` over many millions of documents, asked for over HTTP.

    python benchmarks/serve.py --documents 50_000_000 --out FOLDER

Makes the lineage of a synthetic corpus with the pipeline's own writers (as `lookups.py`), registers
it as a version in a real catalog, serves it, and asks for every kind of page: each time with a
document that was not asked for before, one question at a time. The first answer of each kind is
told apart, since a browser would wait for it. `--again` measures once more in the folder of an
earlier run. The folder needs about 300 bytes a document. Two more versions have every other part of
the lineage each, so that nothing of them is shared: a page of their difference answers before their
documents are counted; how long counting takes is told at the end.
"""

import argparse
import re
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import uvicorn
from lookups import VERSION, build_ours, domain_of, draw, register
from machine import machine
from synthetic_lineage import SEQ_LEN

from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.serve.app import make_app

Asked = Callable[[dict[str, Any]], str]
HALVES = ("half-1", "half-2")  # versions without a common lineage file


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--answers", type=int, default=100, help="of each kind")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True, help="an empty folder")
    parser.add_argument("--again", action="store_true", help="measure in the folder as it is")
    options = parser.parse_args()
    print(f"{machine()}\n")
    options.out.mkdir(parents=True, exist_ok=True)
    registry = Registry(f"sqlite:///{options.out / 'catalog.db'}")
    store = options.out / "store"
    if not options.again:
        build_ours(registry, store, options.documents, options.workers)
        for half, name in enumerate(HALVES):
            files = registry.lineage_files(VERSION, "decisions")[half::2]
            register(registry, store, files, registry.version_shards(VERSION), [], name)
    asked = draw(store, registry.lineage_files(VERSION, "records"), options.answers + 1)
    print(f"{registry.version(VERSION).documents:,} kept documents\n")
    print("| page | first ms | p50 ms | p95 ms | most ms |\n|---|---|---|---|---|")
    with serving(registry, FileStore(store)) as address:
        for name, path in pages(registry).items():
            spent = [answered(address + path(row)) for row in asked]
            first, rest = spent[0], spent[1:] or spent
            p50, p95 = np.percentile(rest, [50, 95])
            print(f"| {name} | {first:.0f} | {p50:.0f} | {p95:.0f} | {max(rest):.0f} |")
            sys.stdout.flush()
        started = time.perf_counter()
        while "are being counted" in body_of(
            f"{address}/diff?before={HALVES[1]}&after={HALVES[0]}"
        ):
            time.sleep(0.5)
        print(f"\ndocuments of the halves counted in {time.perf_counter() - started:.1f} s")


def pages(registry: Registry) -> dict[str, Asked]:
    """What a page of each kind is asked for with, given a document."""
    shards = registry.version_shards(VERSION)
    rng = np.random.default_rng(3)

    def find(asked: str) -> str:
        return f"/find?{urlencode({'q': asked, 'version': VERSION})}"

    def sample(_: dict[str, Any]) -> str:
        shard = shards[int(rng.integers(len(shards)))]
        place = urlencode({"sample": int(rng.integers(shard.samples)), "token": SEQ_LEN // 2})
        return f"/versions/{VERSION}/shards/{shard.full_name}?{place}"

    return {
        "versions": lambda row: "/",
        "a version": lambda row: f"/versions/{VERSION}",
        "other thresholds": lambda row: f"/versions/{VERSION}/what-if",
        "difference of versions": lambda row: f"/diff?before={VERSION}&after={VERSION}",
        "difference, no common file": lambda row: f"/diff?before={HALVES[0]}&after={HALVES[1]}",
        "search by address": lambda row: find(row["url"]),
        "search by host": lambda row: find(domain_of(row["host"])),
        "search by id": lambda row: find(row["doc_id"].hex()),
        "search by exact text": lambda row: find(f"no document says {row['url_key']}"),
        "a document": lambda row: f"/documents/{row['doc_id'].hex()}?version={VERSION}",
        "steps that saw a document": lambda row: (
            f"/documents/{row['doc_id'].hex()}/exposure?version={VERSION}&steps=1000"
        ),
        "a sample of a shard": sample,
        "takedowns": lambda row: "/takedowns",
    }


def answered(address: str) -> float:
    """Milliseconds until a page is there, redirections included."""
    started = time.perf_counter()
    body_of(address)
    return 1000 * (time.perf_counter() - started)


def body_of(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        body: str = answer.read().decode()
    if not re.search("</html>", body):
        raise SystemExit(f"{address} is not a whole page: the numbers would mean nothing")
    return body


@contextmanager
def serving(registry: Registry, store: FileStore) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(make_app(registry, store), log_level="warning")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
