"""Builds of pages of one site, up to cleaning, without Dagster."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.db.registry import Registry
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import AssetReport, run_asset
from corpus_assets.recipe.load import parse_recipe
from corpus_assets.session import Session
from corpus_assets_tests.ingest.warc_bytes import members, response
from corpus_assets_tests.promises.erasure.build import first_session, new_home

Page = tuple[str, str]
Files = Sequence[Sequence[Page]]


def recipe_of(**changes: Any) -> dict[str, Any]:
    return {
        "name": "lines",
        "seed": 1,
        "sources": [
            {
                "name": "web",
                "format": "jsonl",
                "domain": "web",
                "fields": {"url": "url", "text": "text"},
                "snapshots": {"s": "web/*.jsonl"},
            }
        ],
        "signals": {"families": [{"family": "gopher_quality"}]},
        "selection": {"rules": [{"name": "few_words", "signal": "n_words", "min": 3}]},
        "tokenizer": {"train": {"vocab_size": 300, "special_slots": 2}},
        "mixture": {"max_epochs": 1000},
        **changes,
    }


class Corpus:
    """Builds of pages in files, each in a home of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._catalog = folder / "empty.db"
        self._number = 0
        Registry(f"sqlite:///{self._catalog}").upgrade()

    def session(self, files: Files, lock: Path | None = None, **changes: Any) -> Session:
        self._number += 1
        place = self._folder / str(self._number)
        (place / "web").mkdir(parents=True)
        for number, pages in enumerate(files):
            self.write(place / f"web/{number:02d}", pages)
        home = new_home(place / "home", self._catalog)
        recipe = parse_recipe(recipe_of(**changes), "recipe")
        registry = Registry(home.catalog_url)
        return first_session(recipe, place, home, registry, lock, same_inputs=False)

    def write(self, path: Path, pages: Sequence[Page]) -> None:
        lines = (json.dumps({"url": url, "text": text}) for url, text in pages)
        path.with_suffix(".jsonl").write_text("\n".join(lines))

    def build(self, files: Files, lock: Path | None = None, **changes: Any) -> Session:
        session = self.session(files, lock, **changes)
        clean(session)
        return session


class Crawl(Corpus):
    """Builds of the bodies of HTML pages, read with `blocks`."""

    OF_PAGES: ClassVar[dict[str, Any]] = {
        "sources": [
            {"name": "web", "format": "warc", "domain": "web", "snapshots": {"s": "web/*.warc.gz"}}
        ],
        "documents": {"extraction": {"engine": "blocks"}},
    }

    def session(self, files: Files, lock: Path | None = None, **changes: Any) -> Session:
        return super().session(files, lock, **self.OF_PAGES | changes)

    def write(self, path: Path, pages: Sequence[Page]) -> None:
        bodies = ((url, f"<html><body>{body}</body></html>".encode()) for url, body in pages)
        path.with_suffix(".warc.gz").write_bytes(members(*(response(*one) for one in bodies)))


def clean(session: Session) -> AssetReport:
    """Run everything up to cleaning; the report of that."""
    for asset in ("documents", "signals", "quality_cutoffs", "selection", "signatures", "clusters",
                  "contamination", "common_items", "clean_text"):  # fmt: skip
        snapshot = None if asset in ("quality_cutoffs", "common_items") else "s"
        report = run_asset(
            session.pipeline, session.engine, session.registry, session.progress, asset, snapshot
        )
    return report


def tables(pipeline: Pipeline, name: str) -> Iterator[pa.Table]:
    for part in pipeline.results("clean_text", "s"):
        yield pq.read_table(pipeline.store.local(part.outputs[name].path))


def rows(session: Session, name: str = "final.parquet") -> list[dict[str, Any]]:
    return [row for table in tables(session.pipeline, name) for row in table.to_pylist()]
