"""P3: any token leads to its document and place in its text, and every document to its tokens."""

import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from tokenizers import Tokenizer

from catalog.ask.documents import document_history, find_text, find_url
from catalog.ask.tokens import Padding, trace_token
from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.lineage.tables import Lineage
from corpus_assets.shards.tokens import Encoder
from corpus_assets_tests.demo_build import VERSION


@pytest.fixture
def lineage(demo_home: Path) -> Any:
    registry = Registry(f"sqlite:///{demo_home}/catalog.db")
    with Lineage(registry, FileStore(str(demo_home / "store")), VERSION) as opened:
        yield opened


@pytest.fixture(scope="module")
def manifest(demo_home: Path) -> dict[str, Any]:
    path = demo_home / "store" / "versions" / VERSION / "manifest.json"
    loaded: dict[str, Any] = json.loads(path.read_bytes())
    return loaded


def _final_texts(home: Path) -> dict[bytes, str]:
    path = str(home / "store" / "artifacts" / "clean_text" / "*" / "final.parquet")
    return dict(duckdb.sql("select doc_id, text from read_parquet(?)", params=[path]).fetchall())


def test_every_document_round_trips_from_spans_to_tokens_to_its_text(
    demo_home: Path, manifest: dict[str, Any]
) -> None:
    store = demo_home / "store"
    encoder = Encoder((store / manifest["tokenizer"]["path"]).read_bytes())
    texts = _final_texts(demo_home)
    seen: set[bytes] = set()
    for group in manifest["groups"]:
        for shard in group["shards"]:
            tokens = np.fromfile(store / shard["bin"]["path"], dtype="<i4")
            pieces: dict[bytes, list[tuple[int, Any]]] = {}
            spans = duckdb.sql(
                'select sample, "offset", length, doc_id, doc_token_offset from read_parquet(?)',
                params=[str(store / shard["spans"]["path"])],
            ).fetchall()
            for sample, offset, length, doc_id, place in spans:
                start = sample * manifest["seq_len"] + offset
                pieces.setdefault(doc_id, []).append((place, tokens[start : start + length]))
            for doc_id, parts in pieces.items():
                ids = np.concatenate([part for _, part in sorted(parts, key=lambda p: p[0])])
                assert ids[-1] == encoder.eod_id
                assert encoder.decode(ids) == texts[doc_id]
                assert doc_id not in seen
                seen.add(doc_id)
    assert seen == set(texts)


def test_random_tokens_trace_to_the_text_at_that_place(
    lineage: Lineage, demo_home: Path, manifest: dict[str, Any]
) -> None:
    draw = random.Random(11)
    texts = _final_texts(demo_home)
    shards = [(g["id"], s) for g in manifest["groups"] for s in g["shards"]]
    encoder = Encoder((demo_home / "store" / manifest["tokenizer"]["path"]).read_bytes())
    traced = 0
    for _ in range(60):
        group, shard = draw.choice(shards)
        sample, token = draw.randrange(shard["samples"]), draw.randrange(manifest["seq_len"])
        found = trace_token(lineage, f"{group}/{shard['name']}", sample, token)
        if isinstance(found, Padding):
            continue
        text = texts[bytes.fromhex(found.doc_id)]
        start, end = found.final_text["start"], found.final_text["end"]
        piece = encoder.token_bytes(found.token_id)
        if found.token_id == encoder.eod_id:
            assert start == end == len(text)
        else:
            assert piece in text[start:end].encode()
            traced += 1
        assert found.record["snapshot"] == group.split("/")[0]
    assert traced > 30


def test_a_traced_record_can_be_read_again_from_its_source_file(
    lineage: Lineage, demo_home: Path
) -> None:
    rows = lineage.query(
        f'SELECT doc_id, url, file, snapshot, "offset", length FROM {lineage.scan("records")} '
        "WHERE reason IS NULL AND snapshot LIKE 'CC-DEMO%' ORDER BY doc_id LIMIT 40"
    )
    assert len(rows) == 40
    for row in rows:
        path = demo_home / "demo-sources" / "web" / row["snapshot"] / row["file"]
        data = path.read_bytes()[row["offset"] : row["offset"] + row["length"]]
        records = ArchiveIterator(io.BytesIO(data), record_types=WarcRecordType.response)
        assert next(iter(records)).headers["WARC-Target-URI"] == row["url"]
        gzip.decompress(data)  # exactly one whole member


def test_every_kept_document_is_found_by_its_url_and_leads_back_to_its_spans(
    lineage: Lineage,
) -> None:
    rows = lineage.query(
        f"SELECT d.doc_id, r.url FROM {lineage.scan('decisions')} d "
        f"JOIN {lineage.scan('records')} r USING (doc_id) "
        "WHERE d.kept AND r.url IS NOT NULL ORDER BY d.doc_id"
    )
    draw = random.Random(5)
    for row in draw.sample(rows, 25):
        doc_id = bytes(row["doc_id"]).hex()
        matches = find_url(lineage, row["url"], limit=100).matches
        assert doc_id in {match.doc_id for match in matches}
        story = document_history(lineage, bytes(row["doc_id"]))
        assert story.shards


def test_a_document_is_found_by_its_exact_text(lineage: Lineage, demo_home: Path) -> None:
    path = str(demo_home / "store" / "artifacts" / "documents" / "*" / "documents.parquet")
    doc_id, text = duckdb.sql(
        "select doc_id, text from read_parquet(?) order by doc_id limit 1", params=[path]
    ).fetchall()[0]
    found = find_text(lineage, text, limit=50)
    assert doc_id.hex() in {match.doc_id for match in found.matches}


def test_the_tokenizer_of_the_version_opens_in_its_own_library(
    demo_home: Path, manifest: dict[str, Any]
) -> None:
    tokenizer = Tokenizer.from_file(str(demo_home / "store" / manifest["tokenizer"]["path"]))
    assert tokenizer.get_vocab_size() == manifest["tokenizer"]["vocab_size"]
