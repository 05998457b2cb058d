"""A small whole corpus made by hand: records, decisions, clusters, texts, shards, manifest.

Two snapshots of two parts each. Among the records: pages that gave no text, pages that a rule
dropped, near duplicates with a kept member, a capture that stands twice in its snapshot, and
pages whose text was edited on the way. Two documents of three are for filling in the middle. Files are written as the pipeline writes them, with the
schemas of `corpus_assets.core.schemas`.
"""

import hashlib
import json
import random
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from catalog.db.registry import Registry
from catalog.db.rows import (
    ArtifactRow,
    FileRow,
    InputRow,
    LineageRow,
    LockRow,
    OutputRow,
    RecipeRow,
    ShardRow,
    SnapshotRow,
    SourceRow,
    VersionRow,
)
from catalog.formats.ids import text_id
from catalog.formats.store import FileStore
from catalog.formats.token_order import MARKER_NAMES
from catalog.formats.urls import canonical_url, url_key
from corpus_assets.core import schemas
from corpus_assets.text.sketch import sketch_texts
from corpus_assets_tests.catalog.keyed import write_keys

SEQ_LEN = 48
SNAPSHOTS = ("WEB-2024-10", "WEB-2024-18")
PREFERENCE = "header Content-Usage: train-ai=y"
SIGNALS = pa.schema(
    [
        *schemas.SIGNALS,
        ("n_words", pa.int32()),
        ("mean_word_length", pa.float32()),
    ]
)
WORDS = [
    "river",
    "stone",
    "lamp",
    "écluse",
    "größe",
    "naïve",
    "東京",
    "ветер",
    "harbour",
    "signal",
    "winter",
    "🌊",
    "garden",
    "letter",
    "copper",
    "quiet",
    "market",
    "bridge",
    "señal",
    "orchard",
    "ночь",
    "書店",
    "paper",
    "window",
    "candle",
    "thread",
]

Tables = dict[str, pa.Table]
Tamper = Callable[[Tables], Tables]


@dataclass
class Doc:
    """One record on its way through the pipeline."""

    snapshot: str
    part: int
    offset: int
    url: str
    text: str | None
    final: str | None = None
    edits: list[dict[str, Any]] = field(default_factory=list)
    kept: bool = True
    stage: str | None = None
    reason: str | None = None
    tier: str = "high"
    cluster: str | None = None
    derived_from: list[str] | None = None  # url_key of each parent
    line_kinds: list[int] | None = None

    @property
    def doc_id(self) -> bytes:
        payload = (self.text or "").encode()
        key = f"web|{self.snapshot}|{canonical_url(self.url)}|".encode() + payload
        return hashlib.blake2b(key, digest_size=16).digest()


@dataclass
class Corpus:
    home: Path
    registry: Registry
    store: FileStore
    docs: list[Doc]
    tokenizer: Tokenizer

    def kept(self) -> list[Doc]:
        return [doc for doc in self.docs if doc.kept]

    def doc(self, url: str) -> Doc:
        return next(doc for doc in self.docs if doc.url == url)


def pages(snapshot: str) -> list[Doc]:
    """The snapshot's records and their fates."""
    chance = random.Random(snapshot)
    docs = []
    for number in range(12):
        text = " ".join(chance.choice(WORDS) for _ in range(chance.randint(8, 60)))
        docs.append(
            Doc(
                snapshot,
                number % 2,
                1000 * number,
                f"https://www.site{number % 4}.example/page/{number}?utm_source=x",
                text,
                tier="high" if number % 3 else "low",
            )
        )
    docs[1].text = f"Home | About\n{docs[1].text}\nWrite to ann@example.org or bob@example.org now."
    docs[1].final, docs[1].edits = edit(docs[1].text, ["Home | About\n"], "example.org")
    docs[2].kept, docs[2].stage, docs[2].reason = False, "selection", "too_few_words"
    docs[3].text = f"{docs[0].text} again"
    docs[0].cluster = docs[3].cluster = f"{snapshot}-cluster"
    docs[3].kept, docs[3].stage, docs[3].reason = False, "clusters", "near_duplicate"
    docs[4].text, docs[4].kept = None, False
    docs[4].stage, docs[4].reason = "documents", "empty_page"
    twin = Doc(snapshot, 1, 99_000, docs[0].url, docs[0].text)
    twin.kept, twin.stage, twin.reason = False, "clusters", "same_capture"
    twin.cluster = docs[0].cluster
    long = Doc(snapshot, 0, 77_000, "http://long.example/", " ".join(WORDS * 8), tier="high")
    return [*docs, twin, long]


def edit(text: str, cut: list[str], mail_host: str) -> tuple[str, list[dict[str, Any]]]:
    """Cut lines out and mask e-mail addresses; the final text and the edits that made it."""
    edits = [(text.index(line), text.index(line) + len(line), "") for line in cut]
    at = 0
    while (found := text.find(f"@{mail_host}", at)) >= 0:
        start = text.rindex(" ", 0, found) + 1
        at = found + 1 + len(mail_host)
        edits.append((start, at, "<email>"))
    final, last = "", 0
    for start, end, new in sorted(edits):
        final += text[last:start] + new
        last = end
    recorded: list[dict[str, Any]] = [
        {"start": s, "end": e, "new_length": len(n), "kind": "email" if n else "boilerplate_line"}
        for s, e, n in sorted(edits)
    ]
    return final + text[last:], recorded


def train_tokenizer(docs: list[Doc]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<|end|>", "<|pad|>", *MARKER_NAMES],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([doc.text for doc in docs if doc.text], trainer)
    return tokenizer


def build(
    home: Path,
    version: str = "v1",
    docs: list[Doc] | None = None,
    tamper: Tamper = lambda tables: tables,
    recipe: str = "name: test\nselection:\n  n_words: {min: 3}\n",
    lock: dict[str, Any] | None = None,
    tokenizer: Tokenizer | None = None,
    units_per_run: int = 1,
) -> Corpus:
    """Write and publish a version. `tamper` changes tables before they are written; a key file
    indexes `units_per_run` files."""
    docs = docs if docs is not None else [doc for name in SNAPSHOTS for doc in pages(name)]
    root = home / "store"
    registry = Registry(f"sqlite:///{home / 'catalog.db'}")
    registry.upgrade()
    tokenizer = tokenizer or train_tokenizer(docs)
    lock_json = json.dumps(lock or {"seed": 7, "cutoffs": {"web": 0.5}}, sort_keys=True)
    lock_digest, recipe_digest = _sha(lock_json.encode()), _sha(recipe.encode())
    registry.put_source(SourceRow("crawl", "warc", "web"))
    registry.put_recipe(RecipeRow(recipe_digest, "test", recipe))
    registry.put_lock(LockRow(lock_digest, lock_json))
    token_path, token_sha, _ = _write(root, "artifacts/tokenizer", tokenizer.to_str().encode())
    shards: list[ShardRow] = []
    lineage: list[LineageRow] = []
    artifacts: list[ArtifactRow] = []
    snapshots = sorted({doc.snapshot for doc in docs})
    for rank, snapshot in enumerate(snapshots):
        mine = [doc for doc in docs if doc.snapshot == snapshot]
        registry.put_snapshot(
            SnapshotRow(snapshot, "crawl", rank),
            [FileRow(part, f"part-{part}.warc.gz", f"mem://{part}", 10) for part in (0, 1)],
        )
        for part in (0, 1):
            tables = tamper(_part_tables([doc for doc in mine if doc.part == part]))
            for name, table in tables.items():
                row = _write_table(root, name, table, snapshot, part)
                lineage.append(row)
                artifacts.append(_artifact(row, root))
        clusters = tamper({"cluster_members": _cluster_table(mine)})["cluster_members"]
        lineage.append(_write_table(root, "cluster_members", clusters, snapshot, None))
        for tier in ("high", "low"):
            kept = [doc for doc in mine if doc.kept and doc.tier == tier]
            for number in range(2 if tier == "high" else 1):
                inside = [doc for i, doc in enumerate(kept) if tier == "low" or i % 2 == number]
                shard = _write_shard(root, tokenizer, snapshot, tier, number, inside, tamper)
                shards.append(shard)
                lineage.append(
                    LineageRow(
                        "spans",
                        snapshot,
                        shard.spans_path,
                        shard.spans_sha256,
                        pq.read_metadata(root / shard.spans_path).num_rows,
                        shard=shard.full_name,
                    )
                )
    manifest = _manifest(version, recipe_digest, lock_digest, shards, tokenizer, token_path)
    manifest["tokenizer"]["sha256"] = token_sha
    path = root / "versions" / version / "manifest.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(manifest, sort_keys=True))
    registry.record_artifacts(artifacts)
    registry.publish_version(
        VersionRow(
            version,
            lock_digest,
            recipe_digest,
            f"versions/{version}/manifest.json",
            _sha(path.read_bytes()),
            sum(s.documents for s in shards),
            sum(s.tokens for s in shards),
            sum(s.samples for s in shards),
        ),
        shards,
        lineage,
        keys=write_keys(root, lineage, units_per_run),
    )
    return Corpus(home, registry, FileStore(root), docs, tokenizer)


def _part_tables(docs: list[Doc]) -> Tables:
    docs = sorted(docs, key=lambda doc: (doc.doc_id, doc.offset))
    texts = [doc for doc in docs if doc.text is not None]
    kept = [doc for doc in docs if doc.kept]
    return {
        "records": pa.Table.from_pylist(
            [
                {
                    "doc_id": doc.doc_id,
                    "source": "crawl",
                    "snapshot": doc.snapshot,
                    "part": doc.part,
                    "url": doc.url,
                    "url_key": url_key(doc.url),
                    "host": re.sub(r":\d+$", "", canonical_url(doc.url).split("/")[2]),
                    "file": f"part-{doc.part}.warc.gz",
                    "offset": doc.offset,
                    "length": 900,
                    "fetched_at": "2024-03-01T00:00:00Z",
                    "payload_digest": "sha1:x",
                    "content_type": "text/html",
                    "licence": "unknown",
                    "preference": "allow" if doc.kept else "unknown",
                    "preference_source": PREFERENCE if doc.kept else None,
                    "reason": doc.reason if doc.stage == "documents" else None,
                    "detail": None,
                }
                for doc in docs
            ],
            schemas.RECORDS,
        ),
        "decisions": pa.Table.from_pylist(
            [
                {
                    "doc_id": doc.doc_id,
                    "snapshot": doc.snapshot,
                    "part": doc.part,
                    "offset": doc.offset,
                    "kept": doc.kept,
                    "stage": doc.stage,
                    "reason": doc.reason,
                    "detail": None,
                    "failed_rules": [],
                    "domain": "web",
                    "language": "en",
                    "tier": doc.tier if doc.kept else None,
                }
                for doc in docs
            ],
            schemas.DECISIONS,
        ),
        "signals": pa.Table.from_pylist(
            [
                {
                    "doc_id": doc.doc_id,
                    "n_chars": len(doc.text or ""),
                    "n_words": len((doc.text or "").split()),
                    "mean_word_length": 4.5,
                }
                for doc in texts
            ],
            SIGNALS,
        ),
        "benchmark_hits": pa.Table.from_pylist(
            [
                {
                    "doc_id": doc.doc_id,
                    "benchmark": "quiz",
                    "item_id": "item-1",
                    "kind": "text",
                    "matched": 3,
                    "total": 10,
                    "share": 0.3,
                    "similarity": 0.3,
                    "verdict": "near_miss",
                    "places": [{"start": 0, "end": 5}],
                }
                for doc in texts[:1]
            ],
            schemas.BENCHMARK_HITS,
        ),
        "documents": pa.Table.from_pylist(
            [
                {
                    "doc_id": doc.doc_id,
                    "url_key": url_key(doc.url),
                    "domain": "web",
                    "offset": doc.offset,
                    "derived_from": doc.derived_from,
                    "text_id": text_id(doc.text or ""),
                    "sketch": sketch_texts([doc.text or ""])[0],
                    "text": doc.text,
                    "line_kinds": doc.line_kinds,
                }
                for doc in texts
            ],
            schemas.DOCUMENTS,
        ),
        "final_text": pa.Table.from_pylist(
            [
                {
                    "doc_id": doc.doc_id,
                    "domain": "web",
                    "tier": doc.tier,
                    "language": "en",
                    "boilerplate_lines": sum(e["new_length"] == 0 for e in doc.edits),
                    "scrubbed": [("email", sum(e["new_length"] > 0 for e in doc.edits))],
                    "edits": doc.edits,
                    "text": doc.final or doc.text,
                }
                for doc in kept
            ],
            schemas.FINAL_TEXT,
        ),
    }


def _cluster_table(docs: list[Doc]) -> pa.Table:
    rows = []
    for name in sorted({doc.cluster for doc in docs if doc.cluster}):
        members = sorted((d for d in docs if d.cluster == name), key=lambda d: (d.doc_id, d.part))
        keeper = next((doc for doc in members if doc.kept), members[0])
        rows += [
            {
                "doc_id": doc.doc_id,
                "snapshot": doc.snapshot,
                "part": doc.part,
                "row": 0,
                "cluster_id": members[0].doc_id,
                "kind": "capture" if doc.reason == "same_capture" else "near",
                "kept": doc.kept,
                "kept_doc_id": keeper.doc_id,
                "similarity": 0.875,
                "cluster_size": len(members),
            }
            for doc in members
        ]
    return pa.Table.from_pylist(rows, schemas.CLUSTER_MEMBERS)


def _ids(tokenizer: Tokenizer, number: int, doc: Doc) -> list[int]:
    """A document's tokens: one of three in the order of its text, the others as pieces of it."""
    text = doc.final or doc.text or ""
    draw = random.Random(doc.doc_id)
    order = ("plain", "psm", "spm")[number % 3]
    first, second = sorted(draw.choices(range(len(text) + 1), k=2))
    prefix, middle, suffix = (
        tokenizer.encode(piece).ids for piece in (text[:first], text[first:second], text[second:])
    )
    pre, suf, mid = (int(tokenizer.token_to_id(name) or 0) for name in MARKER_NAMES)
    if order == "psm":
        return [pre, *prefix, suf, *suffix, mid, *middle]
    if order == "spm":
        return [pre, suf, *suffix, mid, *prefix, *middle]
    return list(tokenizer.encode(text).ids)


def _write_shard(
    root: Path,
    tokenizer: Tokenizer,
    snapshot: str,
    tier: str,
    number: int,
    docs: list[Doc],
    tamper: Tamper,
) -> ShardRow:
    eod = int(tokenizer.token_to_id("<|end|>") or 0)
    pad = int(tokenizer.token_to_id("<|pad|>") or 0)
    samples: list[list[int]] = [[]]
    spans: list[dict[str, Any]] = []
    bounds = [0]
    for doc in sorted(docs, key=lambda doc: hashlib.sha256(doc.doc_id).digest()):
        ids = [*_ids(tokenizer, len(bounds), doc), eod]
        done = 0
        while done < len(ids):
            if SEQ_LEN - len(samples[-1]) < 6:  # too little room: pad, so that padding occurs
                samples.append([])
            piece = ids[done : done + SEQ_LEN - len(samples[-1])]
            spans.append(
                {
                    "sample": len(samples) - 1,
                    "offset": len(samples[-1]),
                    "length": len(piece),
                    "doc_id": doc.doc_id,
                    "doc_token_offset": done,
                }
            )
            samples[-1] += piece
            done += len(piece)
        bounds.append(len(spans))
    samples = [sample + [pad] * (SEQ_LEN - len(sample)) for sample in samples if sample]
    lengths = np.array([span["length"] for span in spans], "<i4")
    pointers = np.array([4 * (s["sample"] * SEQ_LEN + s["offset"]) for s in spans], "<i8")
    index = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, 4, len(spans), len(bounds))
    index += lengths.tobytes() + pointers.tobytes() + np.array(bounds, "<i8").tobytes()
    table = tamper({"spans": pa.Table.from_pylist(spans, schemas.SPANS)})["spans"]
    group = f"{snapshot}/web/{tier}"
    header = json.dumps({"group": group, "samples": len(samples)}).encode()
    bin_path, bin_sha, _ = _write(root, "artifacts/shards", np.array(samples, "<i4").tobytes())
    idx_path, idx_sha, _ = _write(root, "artifacts/shards", index)
    head_path, head_sha, _ = _write(root, "artifacts/shards", header)
    written = _write_table(root, "spans", table, snapshot, None)
    return ShardRow(
        group,
        snapshot,
        "web",
        tier,
        f"shard_{number:05d}",
        bin_path,
        bin_sha,
        idx_path,
        idx_sha,
        written.path,
        written.sha256,
        head_path,
        head_sha,
        len(samples),
        int(lengths.sum()),
        len(docs),
    )


def _manifest(
    version: str,
    recipe_digest: str,
    lock_digest: str,
    shards: list[ShardRow],
    tokenizer: Tokenizer,
    token_path: str,
) -> dict[str, Any]:
    groups = []
    for group_id in sorted({shard.group_id for shard in shards}):
        mine = [shard for shard in shards if shard.group_id == group_id]
        groups.append(
            {
                "id": group_id,
                "snapshot": mine[0].snapshot,
                "domain": mine[0].domain,
                "tier": mine[0].tier,
                "samples": sum(s.samples for s in mine),
                "tokens": sum(s.tokens for s in mine),
                "documents": sum(s.documents for s in mine),
                "shards": [
                    {
                        kind: {
                            "path": getattr(s, f"{kind}_path"),
                            "sha256": getattr(s, f"{kind}_sha256"),
                            "bytes": 0,
                        }
                        for kind in ("bin", "idx", "spans", "header")
                    }
                    | {
                        "name": s.shard,
                        "samples": s.samples,
                        "tokens": s.tokens,
                        "documents": s.documents,
                    }
                    for s in mine
                ],
            }
        )
    return {
        "format": "corpus-assets/manifest/1",
        "version": version,
        "recipe": {"name": "test", "digest": recipe_digest},
        "lock_digest": lock_digest,
        "seed": 7,
        "seq_len": SEQ_LEN,
        "tokenizer": {
            "path": token_path,
            "vocab_size": tokenizer.get_vocab_size(),
            "eod_id": tokenizer.token_to_id("<|end|>"),
            "pad_id": tokenizer.token_to_id("<|pad|>"),
        },
        "block_samples": 4 * len(groups),
        "groups": groups,
        "phases": [{"name": "main", "blocks": 3, "counts": {g["id"]: 4 for g in groups}}],
    }


def _write(root: Path, folder: str, data: bytes, suffix: str = "") -> tuple[str, str, int]:
    digest = _sha(data)
    path = f"{folder}/{digest}{suffix}"
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(data)
    return path, digest, len(data)


def _write_table(
    root: Path, name: str, table: pa.Table, snapshot: str, part: int | None
) -> LineageRow:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    folder = f"artifacts/{name}/{snapshot}-{part}"
    path, digest, _ = _write(root, folder, sink.getvalue().to_pybytes(), ".parquet")
    return LineageRow(name, snapshot, path, digest, table.num_rows, part)


def _artifact(row: LineageRow, root: Path) -> ArtifactRow:
    size = (root / row.path).stat().st_size
    return ArtifactRow(
        row.table_name,
        _sha(row.path.encode()),
        row.sha256,
        row.snapshot,
        row.part,
        row.rows,
        row.rows,
        size,
        0.5,
        outputs=(OutputRow(f"{row.table_name}.parquet", row.path, row.sha256, size, row.rows),),
        inputs=(InputRow("source", "0" * 64),),
    )


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
