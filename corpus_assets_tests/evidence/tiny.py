"""Tiny arms, held-out sets and packs for the tests of evidence."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corpus_assets.evidence.arms import Arm, Document, make_arm
from corpus_assets.evidence.heldout import encode_heldout, heldout_digest, make_heldout
from corpus_assets.evidence.pack import write_pack
from corpus_assets.evidence.plan import ArmRef, Plan
from corpus_assets.evidence.run import code_digest
from corpus_assets.recipe.evidence import Proxy
from corpus_assets.shards.tokens import Encoder
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer

NOUNS = [
    "river",
    "engine",
    "garden",
    "letter",
    "window",
    "market",
    "teacher",
    "forest",
    "copper",
    "island",
]
VERBS = ["carries", "follows", "remembers", "measures", "answers", "colours", "opens", "repairs"]
ENDS = ["before the rain", "after a long winter", "near the old bridge", "with great care"]


def sentence(draw: random.Random) -> str:
    """A sentence of a small grammar: its words say which may come next."""
    one, other = draw.sample(NOUNS, 2)
    return f"The {one} {draw.choice(VERBS)} the {other} {draw.choice(ENDS)}."


def texts(count: int, seed: int, sentences: int = 12) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(sentence(draw) for _ in range(sentences)) for _ in range(count)]


def shuffled(text: str, seed: int) -> str:
    words = text.split()
    random.Random(seed).shuffle(words)
    return " ".join(words)


def tiny_encoder(vocab_size: int = 640) -> Encoder:
    settings = TokenizerSettings(vocab_size=vocab_size)
    return Encoder(train_tokenizer(texts(200, 0), settings))


def documents(encoder: Encoder, found: Iterable[str], group: str = "s/text/all") -> list[Document]:
    batch = encoder.encode_batch(list(found))
    return [Document(i.to_bytes(16, "big"), group, batch[i]) for i in range(len(batch))]


def arm(encoder: Encoder, found: Iterable[str], samples: int, sequence: int) -> Arm:
    return make_arm(documents(encoder, found), {"s/text/all": 1.0}, samples, sequence)


def heldout_rows(count: int = 6, seed: int = 99) -> list[dict[str, str]]:
    return [
        {"id": f"h{i}", "domain": ("prose", "plain")[i % 2], "host": f"{i % 5}.example",
         "url": f"https://{i % 5}.example/{i}", "licence": "CC0-1.0", "context": "", "text": text,
         "item": ""}
        for i, text in enumerate(texts(count, seed, 5))
    ]  # fmt: skip


def tiny_plan(arms: Iterable[str], heldout: pa.Table, encoder: Encoder, **other: Any) -> Plan:
    told: dict[str, Any] = {
        "baseline": next(iter(arms)),
        "arms": {name: ArmRef(version=name, manifest="0" * 64) for name in arms},
        "heldout": heldout_digest(heldout),
        "tokenizer": encoder.sha256,
        "proxy": Proxy(size="nano", tokens=2048, unique_tokens=1024, sequence=64, batch_tokens=512),
        "learning_rates": (1e-3,),
        "seeds": (1, 2),
        "code": code_digest(),
    }
    return Plan(**(told | other))


def tiny_pack(folder: Path, encoder: Encoder, **other: Any) -> Plan:
    """A pack of two arms and two seeds: four runs of four steps."""
    heldout = make_heldout(heldout_rows())
    plan = tiny_plan(("clean", "other"), heldout, encoder, **other)
    samples, sequence = plan.proxy.unique_tokens // plan.proxy.sequence, plan.proxy.sequence
    arms = {
        "clean": arm(encoder, texts(40, 1), samples, sequence),
        "other": arm(encoder, texts(40, 1)[:20] + texts(20, 2), samples, sequence),
    }
    write_tiny_pack(folder, plan, arms, heldout, encoder)
    return plan


def write_tiny_pack(
    folder: Path, plan: Plan, arms: dict[str, Arm], heldout: pa.Table, encoder: Encoder
) -> None:
    """Write a pack in which every seed of an arm has the same documents."""
    by_seed = {name: dict.fromkeys(plan.seeds, one) for name, one in arms.items()}
    write_pack(folder, plan, by_seed, encode_heldout(heldout, encoder), encoder.info)


def rows_of(samples: "np.ndarray[Any, Any]") -> list[bytes]:
    return [row.tobytes() for row in samples]
