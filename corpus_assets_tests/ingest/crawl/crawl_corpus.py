"""Two small crawls in Common Crawl's layout, and a recipe that takes them."""

import gzip
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets.core.progress import Silent
from corpus_assets.graph.run import pin_snapshot, run_asset
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets.session import open_session
from corpus_assets_tests.crawl_server import crawl_files, crawl_list, index_files
from corpus_assets_tests.demo_build import hashes
from corpus_assets_tests.ingest.warc_bytes import record
from corpus_assets_tests.small_corpus import first_crawl, second_crawl, stored_member

FIRST, SECOND = "CC-MAIN-2024-10", "CC-MAIN-2024-18"
NEWS = {"crawl-data/CC-NEWS/2024/03/warc.paths.gz": gzip.compress(b"crawl-data/CC-NEWS/x.gz\n")}
"""As in Common Crawl's bucket: a folder that sorts behind all crawls, with a list a month."""

RECIPE = """\
name: crawl
seed: 7
sources:
  - name: web
    format: warc
    domain: web
    snapshots: [CC-MAIN-2024-10]
    crawl:
      base: BASE
signals:
  families:
    - {family: gopher_quality}
selection:
  rules:
    - {name: word_count, signal: n_words, min: 30}
tokenizer:
  train: {vocab_size: 400, special_slots: 2}
shards:
  seq_len: 64
mixture:
  block_samples: 8
  max_epochs: 100
"""


def archives(records: list[bytes], crawl: str, count: int = 4) -> dict[str, bytes]:
    """Records dealt to files named as Common Crawl names them."""
    return {
        f"{crawl}-{number:05d}.warc.gz": b"".join(map(stored_member, records[number::count]))
        for number in range(count)
    }


def robots(crawl: str, count: int = 4) -> dict[str, bytes]:
    text = record(b"User-agent: *\nDisallow: /private\n", url="http://example.com/robots.txt")
    return {f"{crawl}-{number:05d}.warc.gz": stored_member(text) for number in range(count)}


def index_of(files: dict[str, bytes], parts: int = 2) -> dict[str, bytes]:
    """A columnar URL index of WARC files, as Common Crawl writes it, sorted by address."""
    rows: list[dict[str, Any]] = []
    for path, data in files.items():
        if "/warc/" not in path or not path.endswith(".warc.gz"):
            continue
        for found in read_warc(io.BytesIO(data), path, 1 << 30):
            head = found.payload.lower()
            rows.append(
                {
                    "url_surtkey": found.url,
                    "url": found.url,
                    "fetch_time": datetime(2024, 3, 1, 12, tzinfo=UTC),
                    "fetch_status": found.http_status,
                    "content_digest": "A" * 32,
                    "content_mime_type": found.content_type.partition(";")[0] or None,
                    "content_mime_detected": "text/html",
                    "content_languages": "deu" if b"lang='de'" in head else "eng",
                    "content_truncated": "length"
                    if b"short" in (found.url or "").encode()
                    else None,
                    "warc_filename": path,
                    "warc_record_offset": found.offset,
                    "warc_record_length": found.length,
                }
            )
    table = pa.Table.from_pylist(sorted(rows, key=lambda row: str(row["url_surtkey"])))
    table = table.set_column(
        table.schema.get_field_index("fetch_time"),
        "fetch_time",
        table["fetch_time"].cast(pa.timestamp("ms", "UTC")),
    )
    found_parts = {}
    for number in range(parts):
        sink = io.BytesIO()
        size = -(-table.num_rows // parts)
        pq.write_table(table.slice(number * size, size), sink, row_group_size=7)
        found_parts[f"part-{number:05d}.gz.parquet"] = sink.getvalue()
    return found_parts


def two_crawls() -> dict[str, bytes]:
    """Every file of both crawls by its path, and the list of crawls."""
    files = crawl_files(FIRST, archives(first_crawl(), FIRST, 8), robots=robots(FIRST, 8))
    files |= index_files(FIRST, index_of(files))
    files |= crawl_files(SECOND, archives(second_crawl(), SECOND))
    return files | {"collinfo.json": crawl_list(FIRST, SECOND)}


def write_mirror(folder: Path) -> Path:
    """Both crawls in a folder, and beside them the news crawl, which has no list of its own."""
    for path, data in (two_crawls() | NEWS).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


class Place:
    """A recipe and a home."""

    def __init__(self, folder: Path, base: str, **changes: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.recipe = folder / "crawl.yaml"
        self.home = folder / "home"
        raw = yaml.safe_load(RECIPE.replace("BASE", base))
        raw["sources"][0]["crawl"] |= changes
        self.recipe.write_text(yaml.safe_dump(raw))

    def run(self, *words: str) -> int:
        command, *rest = words
        group = [command, rest.pop(0)] if command == "snapshots" else [command]
        return main([*group, str(self.recipe), *rest, "--home", str(self.home)])

    def build(self) -> None:
        assert self.run("build", "--version", "v", "--workers", "1") == 0

    def ingest(self) -> None:
        """As far as documents, without Dagster."""
        with open_session(str(self.recipe), Home.resolve(str(self.home))) as session:
            for name in session.pipeline.recipe.snapshots:
                pin_snapshot(session.pipeline, session.registry, name)
                run_asset(
                    session.pipeline, session.engine, session.registry, Silent(), "documents", name
                )

    def pinned(self, snapshot: str = FIRST) -> list[dict[str, Any]]:
        raw = json.loads((self.home / f"store/sources/{snapshot}.json").read_bytes())
        return list(raw["files"])

    def artifacts(self) -> dict[str, str]:
        """Every file of the documents stage by its path, the fingerprint included."""
        return hashes(self.home / "store/artifacts/documents")

    def rows(self, table: str) -> list[dict[str, Any]]:
        found = []
        for path in sorted(self.home.glob(f"store/artifacts/documents/*/{table}.parquet")):
            found += pq.read_table(path).to_pylist()
        return sorted(found, key=lambda row: (row["doc_id"], row["offset"]))
