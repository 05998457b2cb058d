"""Small made-up corpora for the tests of shards, manifests and loaders."""

import hashlib
from pathlib import Path

import numpy as np

from corpus_assets.shards.format import ShardFiles, build_shard
from corpus_assets.shards.pack import shards_of
from corpus_assets.shards.settings import PackSettings
from corpus_assets.shards.tokens import TokenBatch, TokenizerInfo
from corpus_loader.manifest import (
    FileRef,
    Group,
    Manifest,
    Phase,
    RecipeRef,
    ShardRef,
    TokenizerRef,
)

EOD, PAD, VOCABULARY = 0, 1, 1000
TOKENIZER = TokenizerInfo(hashlib.sha256(b"tokenizer").hexdigest(), VOCABULARY, EOD, PAD)


def doc_id_of(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=16).digest()


def make_documents(seed: int, count: int, longest: int) -> dict[bytes, list[int]]:
    """Random documents by id, each closed by the end-of-document id."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, longest, count)
    return {
        doc_id_of(f"{seed}/{number}"): [*generator.integers(2, VOCABULARY, length).tolist(), EOD]
        for number, length in enumerate(lengths)
    }


def build(
    documents: dict[bytes, list[int]],
    *,
    group: str = "S/web/high",
    number: int = 0,
    seed: int = 7,
    settings: PackSettings | None = None,
) -> ShardFiles:
    return build_shard(
        group,
        number,
        list(documents),
        TokenBatch.of(documents.values()),
        seed=seed,
        settings=settings or PackSettings(seq_len=64),
        tokenizer=TOKENIZER,
    )


def write(folder: Path, shard: ShardFiles) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in shard.files.items():
        (folder / name).write_bytes(content)


def split(
    documents: dict[bytes, list[int]], n_shards: int, seed: int = 7
) -> list[dict[bytes, list[int]]]:
    """The documents of each shard."""
    placed = shards_of(seed, list(documents), n_shards)
    return [
        {doc: ids for (doc, ids), at in zip(documents.items(), placed, strict=True) if at == number}
        for number in range(n_shards)
    ]


def make_store(
    root: Path,
    groups: dict[str, dict[bytes, list[int]]],
    counts: list[tuple[int, dict[str, int]]],
    *,
    n_shards: int = 3,
    seq_len: int = 64,
) -> Manifest:
    """Write shards of every group and return a manifest of (blocks, counts per block)."""
    made = []
    for group, documents in groups.items():
        refs = []
        for number, part in enumerate(split(documents, n_shards)):
            shard = build(part, group=group, number=number, settings=PackSettings(seq_len=seq_len))
            folder = f"shards/{group}"
            write(root / folder, shard)
            files = [
                FileRef(
                    path=f"{folder}/{name}",
                    sha256=hashlib.sha256(content).hexdigest(),
                    bytes=len(content),
                )
                for name, content in shard.files.items()
            ]
            refs.append(
                ShardRef(
                    name=f"shard_{number:05d}",
                    bin=files[0],
                    idx=files[1],
                    spans=files[2],
                    header=files[3],
                    samples=shard.header.samples,
                    tokens=shard.header.tokens,
                    documents=shard.header.documents,
                )
            )
        snapshot, domain, tier = group.split("/")
        made.append(
            Group(
                id=group,
                snapshot=snapshot,
                domain=domain,
                tier=tier,
                samples=sum(ref.samples for ref in refs),
                tokens=sum(ref.tokens for ref in refs),
                documents=sum(ref.documents for ref in refs),
                shards=tuple(refs),
            )
        )
    return Manifest(
        version="v1",
        recipe=RecipeRef(name="demo", digest="0" * 64),
        lock_digest="1" * 64,
        seed=7,
        seq_len=seq_len,
        tokenizer=TokenizerRef(
            path="tokenizer.json",
            sha256=TOKENIZER.sha256,
            vocab_size=VOCABULARY,
            eod_id=EOD,
            pad_id=PAD,
        ),
        block_samples=sum(counts[0][1].values()),
        groups=tuple(made),
        phases=tuple(
            Phase(name=f"phase{number}", blocks=blocks, counts=share)
            for number, (blocks, share) in enumerate(counts)
        ),
    )
