"""What became of clusters: promoted, split, emptied or as before."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.db.rows import LineageRow
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.store import LocalStore, sha256_hex
from corpus_assets.versions.removed import ClusterChange, cluster_changes


def _id(name: str) -> bytes:
    return name.encode().ljust(16, b".")


def _hex(*names: str) -> tuple[str, ...]:
    return tuple(_id(name).hex() for name in names)


def _changes(
    folder: Path, before: dict[str, str], after: dict[str, str], removed: set[str]
) -> list[ClusterChange]:
    """Clusters as member -> who is kept for it."""
    store = LocalStore(folder)
    files = []
    for version, members in (("v1", before), ("v2", after)):
        columns = {
            "doc_id": pa.array([_id(name) for name in members], DOC_ID),
            "kept_doc_id": pa.array([_id(kept) for kept in members.values()], DOC_ID),
            "kind": pa.array(["near"] * len(members)),
        }
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns), sink)
        data = sink.getvalue().to_pybytes()
        store.write(f"{version}.parquet", data)
        row = LineageRow("cluster_members", "S", f"{version}.parquet", sha256_hex(data), 0)
        files.append([row])
    return cluster_changes(store, *files, {_id(name) for name in removed})


def test_another_member_is_promoted_when_the_kept_one_goes(tmp_path: Path) -> None:
    before = {"a": "a", "b": "a", "c": "a", "x": "x", "y": "x"}
    (change,) = _changes(tmp_path, before, {"b": "b", "c": "b", "x": "x", "y": "x"}, {"a"})
    assert change == ClusterChange(*_hex("a"), _hex("a"), 2, _hex("b"))
    assert change.promoted == _hex("b")


def test_a_cluster_whose_bridge_goes_falls_apart(tmp_path: Path) -> None:
    before = {"a": "a", "b": "a", "c": "a", "d": "a"}
    (change,) = _changes(tmp_path, before, {"c": "c", "d": "c"}, {"b"})
    assert change.kept_after == _hex("a", "c")  # a is alone now and in no cluster
    assert change.promoted == _hex("c")


def test_a_kept_document_that_only_other_snapshots_name_is_a_member(tmp_path: Path) -> None:
    (change,) = _changes(tmp_path, {"b": "a"}, {}, {"a"})
    assert (change.removed, change.kept_after) == (_hex("a"), _hex("b"))


def test_nothing_is_left_or_nothing_changes(tmp_path: Path) -> None:
    (gone,) = _changes(tmp_path, {"a": "a", "b": "a"}, {}, {"a", "b"})
    assert (gone.members_left, gone.kept_after, gone.promoted) == (0, (), ())
    (same,) = _changes(tmp_path, {"a": "a", "b": "a", "c": "a"}, {"a": "a", "b": "a"}, {"c"})
    assert (same.kept_after, same.promoted) == (_hex("a"), ())
    assert _changes(tmp_path, {"a": "a", "b": "a"}, {"a": "a", "b": "a"}, {"z"}) == []
