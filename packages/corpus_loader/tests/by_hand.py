"""Shards and manifests written byte by byte, as the repository's page on formats describes them."""

import hashlib
import importlib.util
import io
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from corpus_loader import Manifest
from corpus_loader.shard import ShardPaths

EOD, PAD, VOCABULARY, SEQ_LEN = 0, 1, 1000, 64
TOKENIZER_SHA256 = hashlib.sha256(b"tokenizer").hexdigest()
ENDINGS = {"bin": "bin", "idx": "idx", "spans": "spans.parquet", "header": "header.json"}
HAS_PYARROW = importlib.util.find_spec("pyarrow") is not None

Documents = Mapping[bytes, Sequence[int]]


class Piece(NamedTuple):
    """A row of the spans."""

    sample: int
    offset: int
    length: int
    doc_id: bytes
    doc_token_offset: int


def make_documents(seed: int, count: int, longest: int) -> dict[bytes, list[int]]:
    """Random documents by id, each closed by the end-of-document id."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, longest, count)
    ids = [hashlib.blake2b(f"{seed}/{n}".encode(), digest_size=16).digest() for n in range(count)]
    return {
        doc_id: [*generator.integers(2, VOCABULARY, length).tolist(), EOD]
        for doc_id, length in zip(ids, lengths, strict=True)
    }


def lay(documents: Documents) -> list[Piece]:
    """Documents one after the other; one that does not fit begins a sample, a long one is cut."""
    pieces, sample, offset = [], 0, 0
    for doc_id, tokens in documents.items():
        done = 0
        while done < len(tokens):
            if offset and len(tokens) - done > SEQ_LEN - offset:
                sample, offset = sample + 1, 0
            length = min(len(tokens) - done, SEQ_LEN - offset)
            pieces.append(Piece(sample, offset, length, doc_id, done))
            done, offset = done + length, offset + length
    return pieces


def shard_files(
    group: str, number: int, documents: Documents, dtype: str = "int32"
) -> dict[str, bytes]:
    """The four files of a shard by their kind."""
    pieces = lay(documents)
    samples = pieces[-1].sample + 1 if pieces else 0
    tokens = [PAD] * (samples * SEQ_LEN)
    for piece in pieces:
        at = piece.sample * SEQ_LEN + piece.offset
        begin = piece.doc_token_offset
        tokens[at : at + piece.length] = documents[piece.doc_id][begin : begin + piece.length]
    width, code = (2, 8) if dtype == "uint16" else (4, 4)
    files = {
        "bin": struct.pack(f"<{len(tokens)}{'H' if width == 2 else 'i'}", *tokens),
        "idx": index_of(pieces, len(documents), width, code),
        "spans": spans_of(pieces),
    }
    stem = f"shard_{number:05d}"
    header = {
        "format": "corpus-assets/shard/1",
        "group": group,
        "number": number,
        "seed": 7,
        "seq_len": SEQ_LEN,
        "packing": "by hand",
        "tokenizer_sha256": TOKENIZER_SHA256,
        "eod_id": EOD,
        "pad_id": PAD,
        "samples": samples,
        "tokens": sum(map(len, documents.values())),
        "documents": len(documents),
        **{kind: entry(f"{stem}.{ENDINGS[kind]}", data) for kind, data in files.items()},
    }
    if dtype != "int32":
        header |= {"format": "corpus-assets/shard/2", "dtype": dtype}
    plain = json.dumps(header, sort_keys=True, separators=(",", ":"))
    return files | {"header": f"{plain}\n".encode()}


def entry(name: str, data: bytes, called: str = "name") -> dict[str, Any]:
    return {called: name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def index_of(pieces: Sequence[Piece], documents: int, width: int, code: int) -> bytes:
    firsts = [number for number, piece in enumerate(pieces) if piece.doc_token_offset == 0]
    pointers = [width * (piece.sample * SEQ_LEN + piece.offset) for piece in pieces]
    lengths = [piece.length for piece in pieces]
    count = len(pieces)
    return (
        b"MMIDIDX\0\0"
        + struct.pack("<QBQQ", 1, code, count, documents + 1)
        + struct.pack(f"<{count}i{count}q", *lengths, *pointers)
        + struct.pack(f"<{documents + 1}q", *firsts, count)
    )


def spans_of(pieces: Sequence[Piece]) -> bytes:
    """Parquet where it can be written; else what looks like it from outside."""
    if not HAS_PYARROW:
        return b"PAR1 no more than a beginning and an end PAR1"
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = [pa.int32(), pa.int32(), pa.int32(), pa.binary(16), pa.int32()]
    columns = [[piece[n] for piece in pieces] for n in range(len(kinds))]
    schema = pa.schema(list(zip(Piece._fields, kinds, strict=True)))
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), sink)
    return sink.getvalue()


def write_shard(
    root: Path,
    documents: Documents,
    group: str = "S/web/high",
    number: int = 0,
    dtype: str = "int32",
) -> dict[str, Any]:
    """Write a shard below `shards/GROUP` of a store; return its entry of a manifest."""
    files = shard_files(group, number, documents, dtype)
    stem, folder = f"shard_{number:05d}", f"shards/{group}"
    (root / folder).mkdir(parents=True, exist_ok=True)
    refs = {}
    for kind, data in files.items():
        path = f"{folder}/{stem}.{ENDINGS[kind]}"
        (root / path).write_bytes(data)
        refs[kind] = entry(path, data, "path")
    header = json.loads(files["header"])
    counts = {what: header[what] for what in ("samples", "tokens", "documents")}
    return {"name": stem, **refs, **counts}


def paths_of(root: Path, group: str = "S/web/high", number: int = 0) -> ShardPaths:
    folder = root / "shards" / group
    return ShardPaths(*(folder / f"shard_{number:05d}.{ending}" for ending in ENDINGS.values()))


def plain_manifest(
    root: Path,
    groups: Mapping[str, Documents],
    phases: Sequence[tuple[int, Mapping[str, int]]],
    n_shards: int = 3,
    dtype: str = "int32",
) -> dict[str, Any]:
    """Write shards of every group and return a manifest of (blocks, counts per block) as JSON."""
    made = []
    for group, documents in groups.items():
        items = list(documents.items())
        shards = [
            write_shard(root, dict(items[number::n_shards]), group, number, dtype)
            for number in range(n_shards)
        ]
        snapshot, domain, tier = group.split("/")
        made.append(
            {
                "id": group,
                "snapshot": snapshot,
                "domain": domain,
                "tier": tier,
                "shards": shards,
                **{w: sum(s[w] for s in shards) for w in ("samples", "tokens", "documents")},
            }
        )
    return {
        "format": "corpus-assets/manifest/1",
        "version": "v1",
        "recipe": {"name": "by hand", "digest": "0" * 64},
        "lock_digest": "1" * 64,
        "seed": 7,
        "seq_len": SEQ_LEN,
        "tokenizer": {
            "path": "tokenizer.json",
            "sha256": TOKENIZER_SHA256,
            "vocab_size": VOCABULARY,
            "eod_id": EOD,
            "pad_id": PAD,
        },
        "block_samples": sum(phases[0][1].values()),
        "groups": made,
        "phases": [
            {"name": f"phase{number}", "blocks": blocks, "counts": dict(counts)}
            for number, (blocks, counts) in enumerate(phases)
        ],
        **({"format": "corpus-assets/manifest/2", "dtype": dtype} if dtype != "int32" else {}),
    }


def make_store(
    root: Path,
    groups: Mapping[str, Documents],
    phases: Sequence[tuple[int, Mapping[str, int]]],
    n_shards: int = 3,
    dtype: str = "int32",
) -> Manifest:
    """`plain_manifest`, read."""
    plain = plain_manifest(root, groups, phases, n_shards, dtype)
    return Manifest.parse(json.dumps(plain).encode())
