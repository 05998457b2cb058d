"""What whole crawls would take, by the rates of the shipped recipe for them on given pages.

    python benchmarks/capacity.py CRAWL.warc.gz ... [--parts 4] [--crawls 1 100] [--cores 512]

Every file is cut into parts at its records, so that rates have a spread. The recipe is
`commoncrawl`, built once, in one process; the answers are those of `corpus estimate`. A first,
smaller build loads compiled code, which would else be counted.
"""

import argparse
import tempfile
from pathlib import Path

from fastwarc.warc import ArchiveIterator
from machine import machine

from catalog.cli.answering import show
from catalog.db.registry import Registry
from corpus_assets.build import build
from corpus_assets.core.home import Home
from corpus_assets.inspect.cost import Crawls, Prices, estimate, version_cost
from corpus_assets.recipe import load_recipe
from corpus_assets.session import open_session

RECIPE = Path(__file__).resolve().parent.parent / "recipes" / "commoncrawl.yaml"
SCOPE = load_recipe(RECIPE).clusters.scope
FILES = 90_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--parts", type=int, default=4, help="of each file")
    parser.add_argument("--crawls", type=int, nargs="+", default=[1, 100])
    parser.add_argument("--cores", type=int, default=512)
    options = parser.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        crawl = Path(folder, "crawl")
        crawl.mkdir()
        for number, file in enumerate(options.files):
            cut(file, options.parts, crawl, number)
        first = Path(folder, "first")
        first.mkdir()
        (first / "a.warc.gz").write_bytes(min(crawl.iterdir()).read_bytes())
        built(first, Path(folder, "warm"))
        home = built(crawl, Path(folder, "home"))
        version = Registry(home.catalog_url).version("measured")
        show(version_cost(home, version, Prices()))
        for crawls in options.crawls:
            print(f"\n{crawls} x {FILES:,} files of 1 GiB on {options.cores} cores\n")
            asked = Crawls(crawls, FILES, 1.0)
            show(estimate(home, version, asked, options.cores, Prices(), SCOPE))


def cut(file: Path, parts: int, folder: Path, number: int) -> None:
    """Write a file's records to some files of about equal size."""
    with open(file, "rb") as stream:
        starts = [record.stream_pos for record in ArchiveIterator(stream, parse_http=False)]
    data = file.read_bytes()
    bounds = [min(starts, key=lambda at: abs(at - len(data) * n / parts)) for n in range(parts)]
    for part, (start, end) in enumerate(zip(bounds, [*bounds[1:], len(data)], strict=True)):
        if end > start:
            (folder / f"{number:04d}-{part:04d}.warc.gz").write_bytes(data[start:end])


def built(crawl: Path, folder: Path) -> Home:
    """Build the recipe on a folder of files."""
    source = {
        "name": "web",
        "format": "warc",
        "domain": "web",
        "snapshots": {"crawl": f"{crawl}/*.warc.gz"},
    }
    settings = {
        "sources": [source],
        "tokenizer.train.vocab_size": 4096,
        "tokenizer.audit": {"on_failure": "warn"},
    }
    home = Home.resolve(str(folder))
    with open_session(str(RECIPE), home, overrides=settings) as session:
        build(session, "measured")
    return home


if __name__ == "__main__":
    main()
