"""Lineage of a corpus that never was: random ids, addresses drawn like a crawl's, short texts.

Tables have the pipeline's schemas and are written by its own functions; only the documents are
made up. Three in ten records gave no text, six in ten texts were kept, one text in eight has a
near copy. Texts are twelve words of a vocabulary in which every word is one token, so tokens need
no tokenizer and still spell their text.
"""

import hashlib
import itertools
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from catalog.db.rows import LineageRow, ShardRow
from corpus_assets.core.schemas import CLUSTER_MEMBERS, DECISIONS, DOCUMENTS, FINAL_TEXT, RECORDS
from corpus_assets.core.task import LOOKUP_ROWS, parquet_bytes
from corpus_assets.shards.format import build_shard
from corpus_assets.shards.settings import END_OF_DOCUMENT, PAD, PackSettings
from corpus_assets.shards.tokens import TokenBatch, TokenizerInfo
from corpus_loader.manifest import FileRef, Group, Manifest, RecipeRef, ShardRef, TokenizerRef

RECORDS_PER_PART = 35_000
PARTS_PER_SHARD = 14
PARTS_PER_SNAPSHOT = 448  # whole shards, and whole runs of 64
WORDS_PER_TEXT = 12
SEQ_LEN = 2048
SEED = 7
GROUP = "web/high"
TLDS = np.array(["com", "org", "net", "de", "co.uk", "io", "fr", "com.br"])
SUBDOMAINS = np.array(["", "", "", "", "blog.", "m.", "news.", "shop."])

SCRUBBED = FINAL_TEXT.field("scrubbed").type

Bytes = npt.NDArray[np.uint8]


@dataclass
class Block:
    """What one process made: the parts behind one shard."""

    lineage: list[LineageRow] = field(default_factory=list)
    shards: list[ShardRow] = field(default_factory=list)
    table_cpu_s: float = 0.0
    record_bytes: int = 0


def words() -> list[str]:
    """1,024 words of two syllables and a letter."""
    starts = [a + b for a in "bdfgklmnprstvzhj" for b in "aeiou"][:64]
    pairs = itertools.product(starts[:32], starts[32:])
    return [first + second + "nrs"[place % 3] for place, (first, second) in enumerate(pairs)]


def tokenizer_json() -> tuple[bytes, TokenizerInfo]:
    """A byte-level vocabulary of the words with a space before each."""
    vocab = {f"\u0120{word}": number for number, word in enumerate(words())}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(END_OF_DOCUMENT), AddedToken(PAD)])
    data = tokenizer.to_str().encode()
    ids = [int(tokenizer.token_to_id(name) or 0) for name in (END_OF_DOCUMENT, PAD)]
    digest = hashlib.sha256(data).hexdigest()
    return data, TokenizerInfo(digest, tokenizer.get_vocab_size(), *ids)


def make_block(root: Path, number: int, records: int) -> Block:
    """Tables of the parts of shard `number` (over all snapshots), and the shard itself."""
    made = Block()
    first = number * PARTS_PER_SHARD
    doc_ids: list[bytes] = []
    tokens: list[npt.NDArray[np.int32]] = []
    snapshot = ""
    _, info = tokenizer_json()
    for part in range(first, first + PARTS_PER_SHARD):
        rows = min(RECORDS_PER_PART, records - part * RECORDS_PER_PART)
        if rows <= 0:
            break
        snapshot = f"SYNTH-{part // PARTS_PER_SNAPSHOT:02d}"
        kept, spoken = _part(root, made, snapshot, part % PARTS_PER_SNAPSHOT, part, rows, info)
        doc_ids += kept
        tokens.append(spoken)
    group = f"{snapshot}/{GROUP}"
    flat = np.concatenate(tokens)
    length = WORDS_PER_TEXT + 1
    batch = TokenBatch(flat, np.arange(len(doc_ids) + 1, dtype=np.int64) * length)
    in_group = number % (PARTS_PER_SNAPSHOT // PARTS_PER_SHARD)
    settings = PackSettings(seq_len=SEQ_LEN)
    built = build_shard(group, in_group, doc_ids, batch, seed=SEED, settings=settings,
                        tokenizer=info)  # fmt: skip
    folder = root / "artifacts" / "shards" / f"{number:05d}"
    folder.mkdir(parents=True, exist_ok=True)
    stored: dict[str, tuple[str, str]] = {}
    for name, data in built.files.items():
        (folder / name).write_bytes(data)
        path = str((folder / name).relative_to(root))
        stored[name.partition(".")[2]] = (path, hashlib.sha256(data).hexdigest())
    shard = ShardRow(
        group, snapshot, *GROUP.split("/"), f"shard_{in_group:05d}",
        *stored["bin"], *stored["idx"], *stored["spans.parquet"], *stored["header.json"],
        built.header.samples, built.header.tokens, built.header.documents,
    )  # fmt: skip
    made.shards.append(shard)
    spans = LineageRow("spans", snapshot, shard.spans_path, shard.spans_sha256, len(doc_ids),
                       shard=shard.full_name)  # fmt: skip
    made.lineage.append(spans)
    return made


def _part(
    root: Path,
    made: Block,
    snapshot: str,
    part: int,
    number: int,
    rows: int,
    info: TokenizerInfo,
) -> tuple[list[bytes], npt.NDArray[np.int32]]:
    """Write the tables of one part; gives the kept documents and their tokens."""
    rng = np.random.default_rng([SEED, number])
    ids = rng.integers(0, 256, (rows, 16), dtype=np.uint8)
    ids = ids[np.lexsort(ids.T[::-1])]
    doc_id = _fixed(ids)
    hosts, keys, urls = addresses(rng, rows)
    has_text = rng.random(rows) < 0.7
    kept = has_text & (rng.random(rows) < 0.6)
    offset = rng.permutation(rows).astype(np.int64) * 28_000
    picked = rng.integers(0, 1024, (rows, WORDS_PER_TEXT)).astype(np.int32)
    text = _texts(picked[has_text])
    chosen = np.flatnonzero(has_text)
    kept_text = kept[has_text]
    tables = {
        "records": _table(RECORDS, rows, {
            "doc_id": doc_id, "source": "synthetic", "snapshot": snapshot, "part": part,
            "url": urls, "url_key": keys, "host": hosts,
            "file": f"{snapshot}/segments/1707947473347.0/warc/part-{part:05d}.warc.gz",
            "offset": offset, "length": rng.integers(2_000, 90_000, rows),
            "fetched_at": _times(rng, rows), "payload_digest": _digests(rng, rows),
            "content_type": "text/html", "licence": "unknown",
            "reason": pc.if_else(pa.array(has_text), pa.scalar(None, pa.string()), "no_text"),
        }),
        "decisions": _table(DECISIONS, rows, {
            "doc_id": doc_id, "snapshot": snapshot, "part": part, "offset": offset, "kept": kept,
            "stage": _when(kept, None, _when(has_text, "selection", "documents")),
            "reason": _when(kept, None, _when(has_text, "word_count", "no_text")),
            "domain": "web", "language": "en", "tier": _when(kept, "high", None),
        }),
        "documents": _table(DOCUMENTS, len(chosen), {
            "doc_id": _fixed(ids[chosen]), "url_key": keys.take(pa.array(chosen)),
            "host": hosts.take(pa.array(chosen)), "domain": "web", "offset": offset[chosen],
            "licence": "unknown", "text_id": _text_ids(text), "text": text,
        }),
        "signals": _signals(rng, ids[chosen]),
        "final_text": _table(FINAL_TEXT, int(kept_text.sum()), {
            "doc_id": _fixed(ids[kept]), "domain": "web", "tier": "high", "language": "en",
            "boilerplate_lines": 0, "scrubbed": pa.array([[]] * int(kept_text.sum()), SCRUBBED),
            "text": text.filter(pa.array(kept_text)),
        }),
        "cluster_members": _members(ids[chosen], kept_text, snapshot, part),
    }  # fmt: skip
    for name, table in tables.items():
        started = time.process_time()
        data = parquet_bytes(table, LOOKUP_ROWS)
        if name == "records":
            made.table_cpu_s += time.process_time() - started
            made.record_bytes += len(data)
        path = root / "artifacts" / name / f"{number:05d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        made.lineage.append(
            LineageRow(name, snapshot, str(path.relative_to(root)), digest, table.num_rows, part)
        )
    spoken = np.full((int(kept.sum()), WORDS_PER_TEXT + 1), info.eod_id, np.int32)
    spoken[:, :-1] = picked[kept]
    return [row.tobytes() for row in ids[kept]], spoken.reshape(-1)


def addresses(rng: np.random.Generator, rows: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Hosts (few have many pages, many have few), url_keys and urls."""
    site = (4_000_000 * rng.random(rows) ** 4).astype(np.int64)
    tld, sub = TLDS[site % len(TLDS)], SUBDOMAINS[rng.integers(0, len(SUBDOMAINS), rows)]
    name = pc.binary_join_element_wise("site", pa.array(site).cast(pa.string()), "")
    hosts = pc.binary_join_element_wise(pa.array(sub), name, ".", pa.array(tld), "")
    surt_tld = np.array([",".join(reversed(t.split("."))) for t in TLDS])[site % len(TLDS)]
    surt_sub = np.char.add(np.where(sub == "", "", ","), np.char.rstrip(sub, "."))
    page = pa.array(rng.integers(0, 1 << 40, rows)).cast(pa.string())
    section = pa.array(np.array(["news", "articles", "p", "tag"])[rng.integers(0, 4, rows)])
    path = pc.binary_join_element_wise("/", section, "/", page, ".html", "")
    keys = pc.binary_join_element_wise(
        pa.array(surt_tld), ",", name, pa.array(surt_sub), ")", path, ""
    )
    return hosts, keys, pc.binary_join_element_wise("https://www.", hosts, path, "")


def _members(ids: Bytes, kept: npt.NDArray[np.bool_], snapshot: str, part: int) -> pa.Table:
    """Every eighth text is a near copy of the one before it."""
    second = np.arange(7, len(ids), 8)
    first = second - 1
    rows = np.stack([first, second], axis=1).reshape(-1)
    keepers = np.repeat(first, 2)
    return _table(
        CLUSTER_MEMBERS,
        len(rows),
        {
            "doc_id": _fixed(ids[rows]), "snapshot": snapshot, "part": part, "row": rows,
            "cluster_id": _fixed(ids[keepers]), "kind": "near",
            "kept": kept[rows] & (rows == keepers), "kept_doc_id": _fixed(ids[keepers]),
            "similarity": 0.9, "cluster_size": 2,
        },
    )  # fmt: skip


def _signals(rng: np.random.Generator, ids: Bytes) -> pa.Table:
    score = pa.array(rng.random(len(ids)), pa.float32())
    chars = pa.array(rng.integers(200, 9000, len(ids)))
    language = pa.array(["en"] * len(ids))
    return pa.table(
        {"doc_id": _fixed(ids), "n_chars": chars, "language": language, "quality_score": score}
    )


def _table(schema: pa.Schema, rows: int, given: dict[str, Any]) -> pa.Table:
    columns = []
    for column in schema:
        value = given.get(column.name)
        if value is None or isinstance(value, str | int | float):
            columns.append(pa.repeat(pa.scalar(value, column.type), rows))
        else:
            column_value = value if isinstance(value, pa.Array) else pa.array(value)
            columns.append(column_value.cast(column.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _fixed(ids: Bytes) -> pa.Array:
    data = pa.py_buffer(np.ascontiguousarray(ids).tobytes())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(ids), [None, data])


def _when(mask: npt.NDArray[np.bool_], yes: Any, no: Any) -> pa.Array:
    values = [v if isinstance(v, pa.Array) else pa.scalar(v, pa.string()) for v in (yes, no)]
    return pc.if_else(pa.array(mask), *values)


def _times(rng: np.random.Generator, rows: int) -> pa.Array:
    minute = pa.array(rng.integers(10, 60, rows)).cast(pa.string())
    return pc.binary_join_element_wise("2024-02-20T21:", minute, ":00Z", "")


def _digests(rng: np.random.Generator, rows: int) -> pa.Array:
    table = np.frombuffer("".join(f"{i:02x}" for i in range(256)).encode(), "S2")
    hexed = table[rng.integers(0, 256, (rows, 32))].view("S64").reshape(-1)
    return pc.binary_join_element_wise("sha256:", pa.array(hexed).cast(pa.string()), "")


def _texts(picked: npt.NDArray[np.int32]) -> pa.Array:
    vocabulary = pa.array([f" {word}" for word in words()])
    columns = [vocabulary.take(pa.array(picked[:, i])) for i in range(WORDS_PER_TEXT)]
    return pc.binary_join_element_wise(*columns, "")


def _text_ids(texts: pa.Array) -> pa.Array:
    sha = hashlib.sha256
    joined = b"".join([sha(text.encode()).digest()[:16] for text in texts.to_pylist()])
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(16), len(texts), [None, pa.py_buffer(joined)]
    )


def manifest_bytes(version: str, shards: list[ShardRow], tokenizer_path: str) -> bytes:
    """A manifest that names the shards' groups; the mixture is of no interest here."""
    _, info = tokenizer_json()
    by_group: dict[str, list[ShardRow]] = {}
    for shard in shards:
        by_group.setdefault(shard.group_id, []).append(shard)
    groups = tuple(_group(name, listed) for name, listed in sorted(by_group.items()))
    return Manifest(
        version=version,
        recipe=RecipeRef(name="synthetic", digest="0" * 64),
        lock_digest="0" * 64,
        seed=SEED,
        seq_len=SEQ_LEN,
        tokenizer=TokenizerRef(
            path=tokenizer_path,
            sha256=info.sha256,
            vocab_size=info.vocab_size,
            eod_id=info.eod_id,
            pad_id=info.pad_id,
        ),
        block_samples=1,
        groups=groups,
        phases=(),
    ).dump()


def _group(name: str, shards: list[ShardRow]) -> Group:
    snapshot, domain, tier = name.rsplit("/", 2)
    refs = tuple(
        ShardRef(
            name=shard.shard,
            **{
                kind: FileRef(path=path, sha256=sha256, bytes=0)
                for kind, (path, sha256) in zip(
                    ("bin", "idx", "spans", "header"), shard.files, strict=True
                )
            },
            samples=shard.samples,
            tokens=shard.tokens,
            documents=shard.documents,
        )
        for shard in shards
    )
    return Group(
        id=name,
        snapshot=snapshot,
        domain=domain,
        tier=tier,
        samples=sum(ref.samples for ref in refs),
        tokens=sum(ref.tokens for ref in refs),
        documents=sum(ref.documents for ref in refs),
        shards=refs,
    )
