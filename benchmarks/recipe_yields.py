"""What each published recipe keeps of given crawls, beside the range its table states.

    python benchmarks/recipe_yields.py CRAWL.warc.gz ... [--recipes fineweb c4] [--out FOLDER]

Up to three files take the places of the demo's three crawls, in their order: cutoffs, tiers and
trained models learn from the first one. Everything up to deduplication runs as in a build, with the
recipe's own settings, and its fallbacks in the place of published models. The yield is
documents that selection and deduplication keep / records read. Its range stands in the row `yield`
of recipes/sources/RECIPE.csv: a crawl of mixed languages is meant, and one in a recipe's own
language alone gives more.
"""

import argparse
import csv
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import yaml
from machine import machine

from corpus_assets.build import pin_sources
from corpus_assets.core.home import Home
from corpus_assets.graph.run import run_asset
from corpus_assets.session import open_session

RECIPES = Path(__file__).resolve().parent.parent / "recipes"
CRAWLS = ("CC-DEMO-2024-10", "CC-DEMO-2024-18", "CC-DEMO-2024-26")


class Kept(NamedTuple):
    """Records read, and documents left after each step."""

    records: int
    texts: int
    selected: int
    unique: int

    @property
    def share(self) -> float:
        return self.unique / self.records if self.records else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--recipes", nargs="+", default=sorted(ranges()))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a home to keep; default: a temporary one")
    options = parser.parse_args()
    if len(options.files) > len(CRAWLS):
        parser.error(f"give at most {len(CRAWLS)} files, one a crawl")
    print(f"{machine()}\n")
    print("| recipe | records | texts | selected | unique | yield | range | inside |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        home = Home.resolve(str(options.out or folder))
        for name in options.recipes:
            kept = kept_of(name, options.files, home, options.workers)
            low, high = ranges()[name]
            inside = "yes" if low <= kept.share <= high else "no"
            numbers = " | ".join(str(number) for number in kept)
            print(
                f"| {name} | {numbers} | {kept.share:.3f} | {low} to {high} | {inside} |",
                flush=True,
            )


def ranges() -> dict[str, tuple[float, float]]:
    """The stated yield of each published recipe for crawls."""
    found = {}
    for path in sorted((RECIPES / "sources").glob("*.csv")):
        with open(path, newline="", encoding="utf-8") as lines:
            stated = [row["value"] for row in csv.DictReader(lines) if row["rule"] == "yield"]
        for low, high in map(yaml.safe_load, stated):
            found[path.stem] = (float(low), float(high))
    return found


def kept_of(name: str, files: list[Path], home: Home, workers: int) -> Kept:
    """Run a recipe on the files, up to deduplication."""
    crawls = {crawl: str(file.resolve()) for crawl, file in zip(CRAWLS, files, strict=False)}
    source = {"name": "web", "format": "warc", "domain": "web", "snapshots": crawls}
    overrides = {"sources": [source], "mixture.shares": {}, "use_fallbacks": ["all"]}
    counts: Counter[str] = Counter()
    path = str(RECIPES / f"{name}.yaml")
    with open_session(path, home, workers=workers, overrides=overrides) as session:
        pin_sources(session)
        graph = session.pipeline.graph
        upstream = graph.upstream(["clusters"])
        needed = {graph.asset_of(name).name for name in upstream}
        for asset in graph.assets.values():
            for crawl in crawls if asset.is_by_snapshot else (None,):
                if asset.name in needed:
                    report = run_asset(
                        session.pipeline,
                        session.engine,
                        session.registry,
                        session.progress,
                        asset.name,
                        crawl,
                    )
                    counts[f"{asset.name} in"] += report.documents_in
                    counts[f"{asset.name} out"] += report.documents_out
                    counts[f"{asset.name} dropped"] += report.reasons.total()
    selected = counts["selection out"]
    unique = selected - counts["clusters dropped"]
    return Kept(counts["documents in"], counts["documents out"], selected, unique)


if __name__ == "__main__":
    main()
