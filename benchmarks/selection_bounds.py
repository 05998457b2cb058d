"""What the rules of `commoncrawl` keep, and the published ones, of two extractors' text.

    python benchmarks/selection_bounds.py CRAWL.warc.gz ... [--out FOLDER]

The bounds on repeated, short and unfinished lines are FineWeb's and Gopher's, made for the text of
other extractors; `commoncrawl` asks them of running text alone, and has two other bounds. Each variant
extracts the same pages and applies the rules; counted are pages in the recipe's language, by type.
`kinds` is what the column `line_kinds` takes of the bytes of the column `text`, as stored.

The last table has, for each bound of a rule, the share of pages beyond it and the bound beyond which
as many pages are by the recipe as of trafilatura's text: on one half of the hosts, with the shares of
the other half beside it.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from machine import machine

from corpus_assets.build import pin_sources
from corpus_assets.core import files
from corpus_assets.core.home import Home
from corpus_assets.core.store import Output, read_output
from corpus_assets.core.task import read_table
from corpus_assets.graph.run import run_asset
from corpus_assets.select.rules import Rule
from corpus_assets.session import Session, open_session

RECIPE = Path(__file__).resolve().parent.parent / "recipes" / "commoncrawl.yaml"
OF_LANGUAGE = ("language", "language_confidence")
RECIPES_OWN = "blocks, as in the recipe"
PUBLISHED = {
    "signals.measured_lines": "all",
    "selection.rules.short_lines.max": 0.67,
    "selection.rules.duplicated_line_chars.max": 0.01,
}
"""What the recipe changes of published rules, as published."""
VARIANTS: dict[str, dict[str, Any]] = {
    "trafilatura": {"engine": "trafilatura", "mode": "precision"},
    "blocks": {"engine": "blocks"},
    RECIPES_OWN: {"engine": "blocks"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a home to keep; default: a temporary one")
    options = parser.parse_args()
    found: dict[str, tuple[Counter[str], Counter[str], Counter[str]]] = {}
    values: dict[str, tuple[pa.Table, pa.Table]] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Home.resolve(str(options.out or folder))
        for name in VARIANTS:
            with open_session(
                str(RECIPE), home, workers=options.workers, overrides=overrides(name, options.files)
            ) as session:
                pin_sources(session)
                build_selection(session)
                found[name] = outcomes(session)
                values[name] = signals_of(session)
                if name != RECIPES_OWN:
                    rules = session.pipeline.recipe.selection.rules
                if name == "blocks":
                    share = share_of_kinds(session)
    print(f"{machine()}; kinds take {share:.1%} of the bytes of the text\n")
    types = sorted({kind for pages, *_ in found.values() for kind in pages})
    print(f"| pages | {' | '.join(found)} |")
    print(f"|---|{'---|' * len(found)}")
    for kind in ("all", *types):
        cells = []
        for pages, kept, _ in found.values():
            n, k = (c.total() if kind == "all" else c[kind] for c in (pages, kept))
            cells.append(f"{k / n:.1%} of {n}" if n else "-")
        print(f"| {kind} | {' | '.join(cells)} |")
    print(f"\n| first rule that fails | {' | '.join(found)} |")
    print(f"|---|{'---|' * len(found)}")
    reasons = sum((failed for *_, failed in found.values()), Counter[str]())
    for rule, _ in reasons.most_common(12):
        print(f"| {rule} | {' | '.join(str(failed[rule]) for *_, failed in found.values())} |")
    print_bounds(rules, values["trafilatura"], values[RECIPES_OWN])


def overrides(variant: str, paths: list[Path]) -> dict[str, Any]:
    """What a variant changes in the recipe: its source, its extractor, the lines it measures."""
    crawls = {f"crawl-{n}": str(path.resolve()) for n, path in enumerate(paths)}
    source = {"name": "web", "format": "warc", "domain": "web", "snapshots": crawls}
    return {
        "sources": [source],
        "documents.extraction": {**VARIANTS[variant], "page_type": True},
        **({} if variant == RECIPES_OWN else PUBLISHED),
    }


def build_selection(session: Session) -> None:
    """Run everything up to the rules."""
    pipeline = session.pipeline
    needed = {pipeline.graph.asset_of(name).name for name in pipeline.graph.upstream(["selection"])}
    for asset in pipeline.graph.assets.values():
        for crawl in pipeline.recipe.snapshots if asset.is_by_snapshot else (None,):
            if asset.name in needed:
                run_asset(
                    pipeline, session.engine, session.registry, session.progress, asset.name, crawl
                )


def parts_of(session: Session, file: files.File) -> list[Output]:
    """Files of all crawls, part by part."""
    pipeline = session.pipeline
    return [part for crawl in pipeline.recipe.snapshots for part in pipeline.parts(file, crawl)]


def outcomes(session: Session) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Pages in the recipe's language by type, those kept, and rules that the others fail first."""
    pages, kept, failed = Counter[str](), Counter[str](), Counter[str]()
    pipeline = session.pipeline
    for documents, selection in zip(
        parts_of(session, files.DOCUMENTS), parts_of(session, files.SELECTION), strict=True
    ):
        types = read_table(pipeline.store, documents, ["page_type"])["page_type"].to_pylist()
        reasons = read_table(pipeline.store, selection, ["reason"])["reason"].to_pylist()
        for kind, reason in zip(types, reasons, strict=True):
            if reason in OF_LANGUAGE:
                continue
            pages[str(kind)] += 1
            (kept if reason is None else failed)[str(kind) if reason is None else reason] += 1
    return pages, kept, failed


def signals_of(session: Session) -> tuple[pa.Table, pa.Table]:
    """Signals of the pages in the recipe's language, of either half of the hosts."""
    tables = []
    for documents, signals, selection in zip(
        *(parts_of(session, file) for file in (files.DOCUMENTS, files.SIGNALS, files.SELECTION)),
        strict=True,
    ):
        store = session.pipeline.store
        hosts = read_table(store, documents, ["host"])["host"].to_pylist()
        half = pa.array([sha256((host or "").encode()).digest()[0] % 2 for host in hosts])
        reasons = read_table(store, selection, ["reason"])["reason"]
        table = read_table(store, signals).append_column("half", half)
        is_wanted = pc.invert(pc.is_in(reasons, pa.array(OF_LANGUAGE)))
        tables.append(table.filter(is_wanted))
    whole = pa.concat_tables(tables)
    return tuple(whole.filter(pc.equal(whole["half"], half)) for half in (0, 1))


def print_bounds(
    rules: Sequence[Rule], published: tuple[pa.Table, pa.Table], ours: tuple[pa.Table, pa.Table]
) -> None:
    """Print each bound with the share of pages beyond it, and the one that suits our text."""
    print("\n| bound | published | beyond it | ours beyond it | ours for as many | held out |")
    print("|---|---|---|---|---|---|")
    for rule in rules:
        for side, bound in (("min", rule.min), ("max", rule.max)):
            if rule.name in OF_LANGUAGE or not isinstance(bound, int | float):
                continue
            theirs, own = (
                [np.sort(table[rule.signal].to_numpy() * (-1 if side == "max" else 1)) for table in halves]
                for halves in (published, ours)
            )  # fmt: skip
            limit = -bound if side == "max" else bound
            share, now = (np.mean(half[0] < limit) for half in (theirs, own))
            fitted = own[0][min(round(share * len(own[0])), len(own[0]) - 1)]
            held = f"{np.mean(theirs[1] < limit):.1%} and {np.mean(own[1] < fitted):.1%}"
            print(
                f"| {rule.name} {side} | {bound} | {share:.1%} | {now:.1%} | {abs(fitted):.4g} | "
                f"{held} |"
            )


def share_of_kinds(session: Session) -> float:
    """Stored bytes of the kinds of lines for each byte of the text."""
    sizes: Counter[str] = Counter()
    for part in parts_of(session, files.DOCUMENTS):
        data = pa.BufferReader(read_output(session.pipeline.store, part))
        metadata = pq.ParquetFile(data).metadata
        for group in range(metadata.num_row_groups):
            for column in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(column)
                sizes[chunk.path_in_schema.split(".")[0]] += chunk.total_compressed_size
    return sizes["line_kinds"] / sizes["text"]


if __name__ == "__main__":
    main()
