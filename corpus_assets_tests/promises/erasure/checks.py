"""What must hold of every version that a takedown leaves, whatever it is compared with."""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from catalog.formats.token_order import token_order
from corpus_assets.core import files
from corpus_assets.core.store import read_output
from corpus_assets.graph.checks import check_version
from corpus_assets.shards.settings import END_OF_DOCUMENT, PAD
from corpus_assets.shards.tokens import encoder_of
from corpus_assets_tests.promises.erasure.build import Built, paths
from corpus_assets_tests.promises.erasure.requests import Asked, descendants
from corpus_assets_tests.promises.erasure.state import LEDGERS, Files, State
from corpus_loader.index import numpy_type

KEY = ("doc_id", "snapshot", "part", "offset")


def check_whole(built: Built, state: State) -> None:
    """Every record has one fate, and every document that is kept is in one shard."""
    outcome = check_version(built.pipeline, built.version.manifest)
    assert outcome.passed, outcome.message
    given = Counter(tuple(row[name] for name in KEY) for row in state.records)
    decided = Counter(tuple(row[name] for name in KEY) for row in state.decisions)
    assert given == decided, "records and decisions are not the same"
    for row in state.decisions:
        fate = (row["stage"] is None, row["reason"] is None)
        assert fate == (row["kept"], row["kept"]), f"{row} has no single fate"
    held = Counter(doc_id for ids in state.shards.values() for doc_id in ids)
    assert held == Counter(dict.fromkeys(state.kept, 1)), "kept and sharded are not the same"


def check_spelled(built: Built, state: State) -> int:
    """Each document's tokens spell its final text; return how many are for filling in the middle."""
    manifest, store = built.version.manifest, built.pipeline.store
    tokenizer = read_output(store, built.pipeline.calibration(files.TOKENIZER))
    encoder = encoder_of(tokenizer, END_OF_DOCUMENT, PAD)
    rearranged = 0
    for shard in (shard for group in manifest.groups for shard in group.shards):
        flat = np.fromfile(store.local(shard.bin.path), numpy_type(manifest.dtype))
        pieces: dict[bytes, list[Any]] = {}
        for span in sorted(
            pq.read_table(store.local(shard.spans.path)).to_pylist(),
            key=lambda span: int(span["doc_token_offset"]),
        ):
            start = span["sample"] * manifest.seq_len + span["offset"]
            pieces.setdefault(span["doc_id"], []).append(flat[start : start + span["length"]])
        for doc_id, parts in pieces.items():
            tokens = np.concatenate(parts)
            assert encoder.decode(encoder.in_text_order(tokens)) == state.final[doc_id]
            rearranged += token_order(tokens, encoder.markers) is not None
    return rearranged


def check_gone(
    built: Built, state: State, before: State, asked: Sequence[Asked], files: Files
) -> None:
    """What was named is gone with its descendants, and no table but the ledgers names it."""
    named = {doc_id for one in asked for doc_id in one.named}
    expected = named | descendants(named, before)
    assert expected <= state.gone, f"still there: {hex_ids(expected - state.gone)}"
    store = built.pipeline.store
    for name, path in paths(built).items():
        if name.endswith(".parquet") and not name.endswith(LEDGERS):
            left = files.ids(store.local(path)) & state.gone
            assert not left, f"{name} still names {hex_ids(left)}"
    told = " ".join(row["detail"] or "" for row in state.decisions)
    assert not [one for one in hex_ids(state.gone) if one in told], "a reason names what is gone"


def check_shards(before: Built, old: State, after: Built, new: State) -> None:
    """A shard with the same documents as before is the same object; any other is not.

    A group that the lock pins keeps its shards, empty or not. Another one comes and goes with its
    only document, where another member stands for a cluster now.
    """
    was, now = (Counter(_group(name) for name in made.shards) for made in (before, after))
    pinned = _pinned_counts(after)
    assert pinned == {group: now[group] for group in pinned}, "pinned shard counts were not kept"
    assert {now[group] for group in now.keys() - pinned.keys()} <= {1}
    for name, held in after.shards.items():
        if _group(name) not in was:
            continue
        if new.shards[name] == old.shards[name]:
            assert held == before.shards[name], f"{name} was written anew"
        else:
            assert held[1] != before.shards[name][1], f"{name}: other documents, the same hash"


def _pinned_counts(built: Built) -> dict[str, int]:
    """Group -> shards, as the lock of a version says."""
    pipeline = built.pipeline
    return {
        f"{snapshot}/{group}": count
        for snapshot in pipeline.recipe.snapshots
        for group, count in json.loads(
            read_output(pipeline.store, pipeline.calibration(files.SHARD_COUNTS, snapshot))
        ).items()
    }


def _group(shard: str) -> str:
    return shard.rpartition("/")[0]


def hex_ids(ids: Collection[bytes]) -> list[str]:
    return sorted(doc_id.hex() for doc_id in ids)
