"""What must hold of every version that a takedown leaves, whatever it is compared with."""

import json
from collections import Counter
from collections.abc import Collection, Sequence

from corpus_assets.core import files
from corpus_assets.core.store import read_output
from corpus_assets.graph.checks import check_version
from corpus_assets_tests.promises.erasure.build import Built, paths
from corpus_assets_tests.promises.erasure.requests import Asked, descendants
from corpus_assets_tests.promises.erasure.state import LEDGERS, Files, State

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
