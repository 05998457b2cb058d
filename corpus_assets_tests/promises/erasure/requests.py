"""Random takedown requests against a version, and which documents a reader would say they mean."""

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass

from catalog.takedown.target import (
    Target,
    doc_id_target,
    domain_target,
    text_sha256_target,
    text_target,
    url_prefix_target,
    url_target,
)
from corpus_assets_tests.promises.erasure.random_corpus import ANCHOR, RandomCorpus
from corpus_assets_tests.promises.erasure.state import Row, State

KINDS = {"doc_id": 30, "url": 30, "text": 14, "text_sha256": 6, "url_prefix": 8, "domain": 6}
TURNING_POINTS = ("bridge", "centre", "link")


@dataclass(frozen=True)
class Asked:
    """A request, and the documents that it names itself: without copies and descendants."""

    target: Target
    near: bool
    named: frozenset[bytes]

    def __repr__(self) -> str:
        near = " with near duplicates" if self.near else ""
        return f"{self.target.kind} {self.target.given or self.target.value}{near}"


def draw_request(draw: random.Random, corpus: RandomCorpus, state: State) -> Asked:
    """A request that hits something, mostly something that others hang on."""
    pairs = zip(corpus.pages, state.records, strict=True)
    alive = [row for page, row in pairs if row["reason"] is None and page.plant != ANCHOR]
    if not alive or draw.random() < 0.04:
        return Asked(url_target(f"http://nowhere.test/{draw.randrange(9)}"), False, frozenset())
    ids = _candidates(draw, corpus, state)
    victim = draw.choice([row for row in alive if row["doc_id"] in ids] or alive)
    kind = draw.choices(list(KINDS), list(KINDS.values()))[0]
    if victim["url"] is None and kind in ("url_prefix", "domain"):
        kind = "url"
    near = kind not in ("url_prefix", "domain") and draw.random() < 0.12
    target = _target(kind, victim, state)
    named = frozenset(row["doc_id"] for row in alive if _is_named(target, row, state))
    return Asked(target, near, named)


def _candidates(draw: random.Random, corpus: RandomCorpus, state: State) -> set[bytes]:
    """Documents of a role drawn at random; it may be that nobody has it."""
    role = draw.choice(("any", "stands", "first", "first", "turn", "turn", "parent", "dropped"))
    if role == "stands":
        return {row["doc_id"] for row in state.members if row["kept"]}
    if role == "first":
        big = [rows for rows in state.clusters().values() if len(rows) > 3]
        return {rows[0]["cluster_id"] for rows in big}
    if role == "parent":
        keys = {key for row in state.texts.values() for key in row["derived_from"] or ()}
        return {row["doc_id"] for row in state.records if row["url_key"] in keys}
    if role == "turn":
        pairs = zip(corpus.pages, state.records, strict=True)
        return {row["doc_id"] for page, row in pairs if page.role in TURNING_POINTS}
    return set(state.texts) - (state.kept if role == "dropped" else set())


def _target(kind: str, victim: Row, state: State) -> Target:
    text = state.texts[victim["doc_id"]]["text"]
    if kind == "doc_id":
        return doc_id_target(victim["doc_id"].hex())
    if kind == "url":
        return url_target(victim["url"] or victim["url_key"], {victim["source"]})
    if kind == "url_prefix":
        return url_prefix_target(victim["url"].rpartition("/")[0])
    if kind == "domain":
        return domain_target(victim["host"])
    if kind == "text":
        return text_target(text)
    return text_sha256_target(hashlib.sha256(text.encode()).hexdigest())


def _is_named(target: Target, record: Row, state: State) -> bool:
    """What the request says, in plain words."""
    text = state.texts[record["doc_id"]]["text"]
    host = f".{record['host'] or ''}"
    return {
        "doc_id": record["doc_id"].hex() == target.value,
        "url": record["url_key"] == target.value,
        "url_prefix": record["url_key"].startswith(target.value),
        "domain": host.endswith(f".{target.value}"),
        "text_id": hashlib.sha256(text.rstrip("\n").encode()).hexdigest() == target.text_sha256,
        "text_sha256": hashlib.sha256(text.encode()).hexdigest() == target.value,
    }[target.kind]


def descendants(named: Iterable[bytes], state: State) -> set[bytes]:
    """Synthetic documents that go with those named: any parent is enough, to the end."""
    keys = {row["url_key"] for row in state.records if row["doc_id"] in set(named)}
    found: set[bytes] = set()
    while True:
        more = {
            doc_id
            for doc_id, row in state.texts.items()
            if doc_id not in found and keys.intersection(row["derived_from"] or ())
        }
        if not more:
            return found
        found |= more
        keys |= {state.texts[doc_id]["url_key"] for doc_id in more}
