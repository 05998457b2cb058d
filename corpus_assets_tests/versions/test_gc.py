"""Which artifacts a collection takes: those made from ranges go with the files of the ranges."""

from catalog.db.rows import ArtifactRow, InputRow, OutputRow
from corpus_assets.versions.gc import dead_artifacts, forgettable


def artifact(stage: str, made: str, *given: str) -> ArtifactRow:
    """An artifact whose fingerprint and content are called alike."""
    return ArtifactRow(
        stage=stage,
        fingerprint=made,
        content_hash=made,
        snapshot="S",
        part=0,
        documents_in=0,
        documents_out=0,
        bytes=1,
        outputs=(OutputRow("file", f"artifacts/{stage}/{made}/file", made, 1, 0),),
        inputs=tuple(InputRow(str(i), content) for i, content in enumerate(given)),
    )


def test_what_was_made_from_a_range_goes_with_the_file_that_held_it() -> None:
    rows = [
        artifact("documents", "old"),
        artifact("documents", "new"),
        artifact("cluster_keys", "old keys", "old"),
        artifact("cluster_keys", "new keys", "new"),
        artifact("cluster_pairs", "old pairs", "range 1", "range 2"),
        artifact("cluster_pairs", "same pairs", "range 2", "range 3"),
        artifact("cluster_pairs", "new pairs", "range 4"),
    ]
    ranges = {
        "old keys": ["range 1", "range 2", "range 3"],
        "new keys": [f"range {i}" for i in (2, 3, 4)],
    }
    named = {"artifacts/documents/new/file"}
    dead = {row.fingerprint for row in dead_artifacts(rows, named, ranges=ranges)}
    assert dead == {"old", "old keys", "old pairs"}
    assert "old pairs" not in {row.fingerprint for row in dead_artifacts(rows, named)}


def test_what_could_not_be_deleted_is_dead_the_next_time_too() -> None:
    rows = [
        artifact("documents", "old"),
        artifact("documents", "other"),
        artifact("cluster_keys", "old keys", "old"),
        artifact("cluster_pairs", "old pairs", "range 1"),
        artifact("cluster_pairs", "other pairs", "other"),
    ]
    ranges = {"old keys": ["range 1"]}
    dead = dead_artifacts(rows, set(), ranges=ranges, pinned=())
    assert {row.fingerprint for row in dead} == {
        "old",
        "other",
        "old keys",
        "old pairs",
        "other pairs",
    }
    gone = forgettable(dead, {"artifacts/cluster_pairs/old pairs/file"}, ranges)
    assert {row.fingerprint for row in gone} == {"other", "other pairs"}
    known = [row for row in rows if row not in gone]
    assert "old pairs" in {row.fingerprint for row in dead_artifacts(known, set(), ranges=ranges)}
