"""The registry's promises, each on SQLite and on PostgreSQL."""

import dataclasses

import pytest
from sqlalchemy import text
from sqlalchemy.event import listen

from catalog.db.registry import Registry
from catalog.db.rows import (
    ArtifactRow,
    FileRow,
    GateRow,
    InputRow,
    KeyRow,
    LineageRow,
    LockRow,
    MetricRow,
    ModelRow,
    OutputRow,
    RecipeRow,
    ShardRow,
    SnapshotRow,
    SourceRow,
    SuppressionRow,
    VersionRow,
)
from catalog.errors import (
    CatalogConflict,
    CatalogError,
    ContentDrift,
    LeaseHeld,
    LeaseLost,
    NotReleased,
    PathRefused,
    SnapshotChanged,
    UnknownName,
    VersionExists,
)
from corpus_assets_tests.registry_states import add_orders, revoke

CRAWL = SourceRow("crawl", "warc", "web", "CC0-1.0", "s3://crawl")
FILES = [FileRow(0, "a.warc.gz", "s3://crawl/a", 10, "ab"), FileRow(1, "b.warc.gz", "s3://b", 20)]


def artifact(number: int, content: str = "", cpu_seconds: float | None = None) -> ArtifactRow:
    return ArtifactRow(
        "signals",
        f"fingerprint-{number}",
        content or f"content-{number}",
        "S1",
        number,
        10,
        8,
        1234,
        cpu_seconds,
        outputs=(OutputRow("signals.parquet", f"artifacts/signals/{number}.parquet", "aa", 9, 8),),
        inputs=(InputRow("documents", f"input-{number}"), InputRow("model", "m")),
    )


def shard(name: str = "shard_00000", group: str = "S1/web/high") -> ShardRow:
    paths = [f"artifacts/shards/x/{name}.{kind}" for kind in ("bin", "idx", "spans", "header")]
    return ShardRow(
        group, "S1", "web", "high", name, paths[0], "b" * 64, paths[1], "i" * 64, paths[2],
        "s" * 64, paths[3], "h" * 64, 4, 100, 3,
    )  # fmt: skip


def version(name: str = "v1", manifest: str = "m" * 64) -> VersionRow:
    return VersionRow(
        name, "lock-1", "recipe-1", f"versions/{name}/manifest.json", manifest, 3, 100, 4
    )


def ready(registry: Registry) -> Registry:
    registry.put_recipe(RecipeRow("recipe-1", "demo", "name: demo\n"))
    registry.put_lock(LockRow("lock-1", "{}"))
    return registry


def test_the_last_description_of_a_source_stands(registry: Registry) -> None:
    registry.put_source(CRAWL)
    registry.put_source(dataclasses.replace(CRAWL, licence="CC-BY-4.0"))
    assert registry.sources() == [dataclasses.replace(CRAWL, licence="CC-BY-4.0")]


def test_a_snapshot_keeps_its_files_and_snapshots_come_in_rank_order(registry: Registry) -> None:
    registry.put_source(CRAWL)
    registry.put_snapshot(SnapshotRow("late", "crawl", 2), FILES)
    registry.put_snapshot(SnapshotRow("early", "crawl", 1), FILES[:1])
    assert [row.name for row in registry.snapshots()] == ["early", "late"]
    assert registry.source_files("late") == FILES
    assert registry.snapshots("other") == []


def test_pinning_a_snapshot_again_is_harmless_and_with_other_files_refused(
    registry: Registry,
) -> None:
    registry.put_source(CRAWL)
    registry.put_snapshot(SnapshotRow("S1", "crawl", 1), FILES)
    registry.put_snapshot(SnapshotRow("S1", "crawl", 1), list(reversed(FILES)))
    with pytest.raises(SnapshotChanged, match="S1 is pinned with 2 files"):
        registry.put_snapshot(SnapshotRow("S1", "crawl", 1), FILES[:1])
    assert registry.source_files("S1") == FILES
    registry.put_snapshot(SnapshotRow("S1", "crawl", 5), FILES[:1], replace=True)
    assert registry.source_files("S1") == FILES[:1]
    assert registry.snapshots()[0].rank == 5


def test_a_snapshot_of_an_unknown_source_is_refused(registry: Registry) -> None:
    with pytest.raises(UnknownName, match="put_source first"):
        registry.put_snapshot(SnapshotRow("S1", "nobody", 1), FILES)


def test_artifacts_come_back_as_they_were_recorded(registry: Registry) -> None:
    assert registry.record_artifacts([artifact(2), artifact(1)]) == 2
    rows = registry.artifacts()
    assert [dataclasses.replace(row, created_at="") for row in rows] == [artifact(1), artifact(2)]
    assert rows[0].created_at.endswith("Z")
    assert registry.artifacts(stage="other") == []
    assert len(registry.artifacts(stage="signals", snapshot="S1")) == 2
    assert registry.artifacts(snapshot="S2") == []


def test_recording_artifacts_twice_changes_nothing(registry: Registry) -> None:
    registry.record_artifacts([artifact(1)])
    before = registry.artifacts()
    assert registry.record_artifacts([artifact(1), artifact(1)]) == 0
    assert registry.artifacts() == before
    assert registry.record_artifacts([]) == 0


def test_one_fingerprint_with_two_contents_is_reported_with_both(registry: Registry) -> None:
    registry.record_artifacts([artifact(1)])
    with pytest.raises(ContentDrift, match=r"fingerprint-1.*content-1 was recorded, other now"):
        registry.record_artifacts([artifact(2), artifact(1, "other")])
    assert len(registry.artifacts()) == 1, "the whole call is undone"
    with pytest.raises(ContentDrift):
        registry.record_artifacts([artifact(3, "x"), artifact(3, "y")])


def test_the_cpu_time_of_the_first_real_run_is_kept(registry: Registry) -> None:
    registry.record_artifacts([artifact(1), artifact(2, cpu_seconds=1.5)])
    registry.record_artifacts([artifact(1, cpu_seconds=7.0), artifact(2, cpu_seconds=9.0)])
    registry.record_artifacts([artifact(1), artifact(2)])
    assert [row.cpu_seconds for row in registry.artifacts()] == [7.0, 1.5]


def test_thousands_of_artifacts_are_recorded_in_one_call(registry: Registry) -> None:
    rows = [artifact(number) for number in range(3000)]
    assert registry.record_artifacts(rows) == 3000
    assert registry.record_artifacts(rows) == 0
    found = registry.artifacts()
    assert [row.part for row in found] == list(range(3000))
    assert all(row.outputs[0].path.endswith(f"/{row.part}.parquet") for row in found)


def test_artifacts_are_forgotten_by_stage_and_fingerprint(registry: Registry) -> None:
    registry.record_artifacts([artifact(number) for number in range(900)])
    other = dataclasses.replace(artifact(1), stage="other")
    registry.record_artifacts([other])
    known = [("signals", f"fingerprint-{number}") for number in range(1, 900)]
    registry.forget_artifacts([*known, ("other", "fingerprint-2"), ("signals", "unknown")])
    assert [(row.stage, row.part) for row in registry.artifacts()] == [("other", 1), ("signals", 0)]


def test_recorded_artifacts_are_looked_up_in_an_index(registry: Registry) -> None:
    if registry.database.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL plans by the size of the table")
    asked: list[str] = []

    def note(*event: object) -> None:
        asked.append(str(event[2]))

    listen(registry.database.engine, "before_cursor_execute", note)
    registry.record_artifacts([artifact(1)])
    (lookup,) = [sql for sql in asked if sql.lstrip().startswith("SELECT artifacts.id")]
    with registry.database.read() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {lookup}", ("a", "b")).all()
    assert "SEARCH artifacts USING INDEX" in str(plan)
    assert "fingerprint=?" in str(plan)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../up", "a/../../b", "", "s3://b/x", "a\\b", "a//b"]
)
def test_paths_that_leave_the_store_are_not_recorded(registry: Registry, path: str) -> None:
    row = dataclasses.replace(artifact(1), outputs=(OutputRow("x", path, "aa", 1),))
    with pytest.raises(PathRefused):
        registry.record_artifacts([row])
    with pytest.raises(PathRefused):
        ready(registry).publish_version(version(), [], [LineageRow("spans", "S1", path, "a", 1)])
    with pytest.raises(PathRefused):
        registry.put_model(ModelRow("tokenizer", "aa", path, "f"))
    assert registry.artifacts() == []
    assert registry.versions() == []


def test_recipes_and_locks_keep_one_text_for_a_digest(registry: Registry) -> None:
    ready(ready(registry))
    assert registry.recipe("recipe-1").yaml == "name: demo\n"
    assert registry.lock("lock-1").json == "{}"
    with pytest.raises(ContentDrift):
        registry.put_recipe(RecipeRow("recipe-1", "demo", "name: other\n"))
    with pytest.raises(ContentDrift):
        registry.put_lock(LockRow("lock-1", '{"a": 1}'))
    with pytest.raises(UnknownName):
        registry.recipe("absent")
    with pytest.raises(UnknownName):
        registry.lock("absent")


def test_a_version_is_published_whole(registry: Registry) -> None:
    spans = LineageRow(
        "spans", "S1", "artifacts/s.parquet", "aa", 3, shard="S1/web/high/shard_00000"
    )
    texts = LineageRow("documents", "S1", "artifacts/t.parquet", "bb", 3, part=0)
    assert ready(registry).publish_version(version(), [shard()], [spans, texts], gates=[])
    assert dataclasses.replace(registry.version("v1"), created_at="") == version()
    assert registry.version_shards("v1") == [shard()]
    assert registry.lineage_files("v1", "spans") == [spans]
    assert registry.lineage_files("v1") == [spans, texts]
    assert registry.key_files("v1") == []


def test_key_files_are_published_with_their_version_or_not_at_all(registry: Registry) -> None:
    keys = [
        KeyRow(kind, "S1", f"artifacts/{kind}.keys", "aa", 64, 3) for kind in ("hosts", "url_keys")
    ]
    ready(registry)
    outside = dataclasses.replace(keys[0], path="../hosts.keys")
    with pytest.raises(PathRefused):
        registry.publish_version(version(), [shard()], [], keys=[keys[1], outside])
    assert registry.versions() == []
    registry.publish_version(version(), [shard()], [], keys=keys)
    assert registry.key_files("v1") == keys
    with pytest.raises(UnknownName):
        registry.key_files("v2")


def test_publishing_the_same_version_again_does_nothing(registry: Registry) -> None:
    ready(registry).publish_version(version(), [shard()], [])
    assert registry.publish_version(version(), [shard()], []) is False
    assert len(registry.versions()) == 1


def test_publishing_another_manifest_under_a_known_name_is_refused(registry: Registry) -> None:
    ready(registry).publish_version(version(), [shard()], [])
    with pytest.raises(VersionExists, match="choose another --version"):
        registry.publish_version(version(manifest="n" * 64), [], [])
    assert registry.version("v1").manifest_sha256 == "m" * 64


def test_a_version_without_its_lock_is_refused(registry: Registry) -> None:
    with pytest.raises(UnknownName, match="put_lock before publishing"):
        registry.publish_version(version(), [], [])


def test_a_publication_that_fails_half_way_leaves_nothing(registry: Registry) -> None:
    with pytest.raises(CatalogConflict, match="nothing was changed"):
        ready(registry).publish_version(version(), [shard(), shard()], [])
    assert registry.versions() == []
    twice = LineageRow("signals", "S1", "artifacts/x.parquet", "aa", 1, part=0)
    with pytest.raises(CatalogConflict, match="twice"):
        registry.publish_version(version(), [shard()], [twice, twice])
    wrong = LineageRow("signals", "S1", "artifacts/x.parquet", None, 1)  # type: ignore[arg-type]
    with pytest.raises(CatalogConflict):
        registry.publish_version(version(), [shard()], [wrong])
    assert registry.versions() == []


def test_the_newest_live_version_is_the_default(registry: Registry) -> None:
    ready(registry)
    with pytest.raises(UnknownName, match="no live version"):
        registry.version()
    for name in ("b", "a"):
        registry.publish_version(version(name), [], [])
    assert [row.name for row in registry.versions()] == ["b", "a"]
    assert registry.version().name == "a"
    revoke(registry, "a")
    assert registry.version().name == "b"
    assert registry.version("a").status == "revoked"


def test_a_candidate_is_found_by_its_name_only_until_its_gates_release_it(
    registry: Registry,
) -> None:
    ready(registry).publish_version(version("old"), [], [])
    closed = GateRow("new", "drift", False, detail={"message": "quality fell"})
    registry.publish_version(version("new"), [], [], gates=[closed])
    assert (registry.version("new").state, registry.version("latest").name) == ("candidate", "old")
    with pytest.raises(NotReleased, match="new stays a candidate: drift: quality fell"):
        registry.release_version("new", "me", "its gates passed")
    registry.put_gate(dataclasses.replace(closed, passed=True))
    assert registry.release_version("new", "me", "its gates passed")
    row = registry.version()
    assert (row.name, row.state, row.released_by) == ("new", "released", "me")
    assert not registry.release_version("new", "you", "again"), "the first release stands"
    assert registry.version("new").release_reason == "its gates passed"


def test_an_override_is_recorded_and_revoked_stays_revoked(registry: Registry) -> None:
    ready(registry)
    for name in ("a", "b"):
        closed = GateRow(name, "models", False, detail={"message": "not compared yet"})
        registry.publish_version(version(name), [], [], gates=[closed])
    assert registry.version().name == "b", "before any is released, the newest candidate"
    with pytest.raises(UnknownName, match="no live version is released yet: b is a candidate"):
        registry.version("latest")
    registry.release_version("a", "lead", "override: needed for the demo", override=True)
    assert registry.version().release_reason == "override: needed for the demo"
    revoke(registry, "a")
    assert registry.version("a").state == "revoked"
    with pytest.raises(NotReleased, match="is revoked"):
        registry.release_version("a", "lead", "override: again", override=True)


def test_no_version_is_called_latest(registry: Registry) -> None:
    with pytest.raises(VersionExists, match="newest released"):
        ready(registry).publish_version(version("latest"), [], [])


def test_an_unknown_version_is_named_in_the_error(registry: Registry) -> None:
    ready(registry).publish_version(version(), [], [])
    with pytest.raises(UnknownName, match=r"no version 'v9'.*v1"):
        registry.version("v9")
    with pytest.raises(UnknownName):
        registry.version_shards("v9")


def test_a_shard_is_found_by_its_full_name_or_a_unique_bare_one(registry: Registry) -> None:
    shards = [shard(), shard(group="S1/web/low"), shard("shard_00001")]
    ready(registry).publish_version(version(), shards, [])
    assert registry.version_shard("v1", "shard_00001").group_id == "S1/web/high"
    assert registry.version_shard("v1", "S1/web/low/shard_00000").group_id == "S1/web/low"
    with pytest.raises(UnknownName, match="2 shards are named"):
        registry.version_shard("v1", "shard_00000")
    with pytest.raises(UnknownName, match="no shard 'shard_9'"):
        registry.version_shard("v1", "shard_9")


def test_a_suppression_is_held_once_and_in_order(registry: Registry) -> None:
    first = SuppressionRow("url_key", "com,example)/a")
    rows = [first, SuppressionRow("host", "com,example"), first]
    assert add_orders(registry, rows) == 2
    assert add_orders(registry, rows) == 0
    assert [row.value for row in registry.suppressions()] == ["com,example)/a", "com,example"]
    assert [row.kind for row in registry.suppressions("host")] == ["host"]


@pytest.mark.parametrize("row", [SuppressionRow("colour", "red"), SuppressionRow("host", "")])
def test_a_suppression_of_no_kind_or_value_is_refused(
    registry: Registry, row: SuppressionRow
) -> None:
    with pytest.raises(CatalogError, match="url_key"):
        add_orders(registry, [row])
    assert registry.suppressions() == []


def test_the_last_value_of_a_metric_stands(registry: Registry) -> None:
    registry.add_metrics([MetricRow("kept", 1.0, "S1"), MetricRow("kept", 2.0)])
    registry.add_metrics([MetricRow("kept", 5.0), MetricRow("loss", 0.5, version="v1")])
    values = {(row.snapshot, row.value) for row in registry.metrics("kept")}
    assert values == {("S1", 1.0), (None, 5.0)}
    assert registry.metrics(version="v1") == [MetricRow("loss", 0.5, None, "v1")]
    assert registry.metrics(snapshot="S1") == [MetricRow("kept", 1.0, "S1", None)]


def test_gates_and_models_are_recorded_with_their_details(registry: Registry) -> None:
    ready(registry).publish_version(version(), [], [])
    registry.put_gate(GateRow("v1", "loss", False, 3.0, 2.0, {"seeds": [1, 2]}))
    registry.put_gate(GateRow("v1", "loss", True, 1.0, 2.0))
    assert [(gate.passed, gate.value) for gate in registry.gates("v1")] == [(True, 1.0)]
    registry.put_model(ModelRow("tokenizer", "aa", "artifacts/t.json", "f", {"vocab": 4}))
    registry.put_model(ModelRow("tokenizer", "aa", "artifacts/t.json", "f", {"vocab": 5}))
    assert [model.metrics for model in registry.models("tokenizer")] == [{"vocab": 5}]
    with pytest.raises(UnknownName):
        registry.put_gate(GateRow("v9", "loss", True))


def test_a_lease_excludes_others_and_names_its_holder(registry: Registry) -> None:
    lease = registry.acquire_lease("signals/S1", "run-1", 60)
    again = registry.acquire_lease("signals/S1", "run-1", 60)
    assert again.expires_at >= lease.expires_at
    assert again.token == lease.token
    with pytest.raises(LeaseHeld, match="signals/S1 is in use by run-1"):
        registry.acquire_lease("signals/S1", "run-2", 60)
    registry.acquire_lease("signals/S2", "run-2", 60)
    assert registry.release_lease("signals/S1", "run-2") is False
    assert registry.release_lease("signals/S1", "run-1") is True
    registry.acquire_lease("signals/S1", "run-2", 60)


def test_a_lease_that_ran_out_is_lost_whether_another_took_it_or_not(registry: Registry) -> None:
    lease = registry.acquire_lease("signals/S1", "run-1", -5)
    with pytest.raises(LeaseLost, match=r"it ran out 5 s ago.*run the same command again"):
        registry.renew_lease(lease, 60)
    registry.acquire_lease("signals/S1", "run-2", 60)
    with pytest.raises(LeaseLost, match="run-2 has it now"):
        registry.renew_lease(lease, 60)
    registry.release_lease("signals/S1", "run-2")
    with pytest.raises(LeaseLost, match="taken back"):
        registry.renew_lease(lease, 60)


def test_each_lease_that_is_taken_has_a_higher_token(registry: Registry) -> None:
    tokens = []
    for number, ttl_s in enumerate((60, -1, 60, -1)):
        tokens.append(registry.acquire_lease("build", f"run-{number}", ttl_s).token)
        tokens.append(registry.acquire_lease("other", f"run-{number}", ttl_s).token)
        if ttl_s > 0:
            registry.release_lease("build", f"run-{number}")
            registry.release_lease("other", f"run-{number}")
    assert tokens == sorted(set(tokens))


def test_who_lost_a_lease_writes_nothing_more(registry: Registry) -> None:
    lease = registry.acquire_lease("build", "run-1", 60)
    held = registry.under(lease)
    held.record_artifacts([artifact(1)])
    held.expect_leases()
    registry.release_lease("build", "run-1")
    again = registry.acquire_lease("build", "run-1", 60)  # the same owner, another turn
    for write in (
        lambda: held.record_artifacts([artifact(2)]),
        lambda: held.forget_artifacts([("signals", artifact(1).fingerprint)]),
        lambda: held.put_recipe(RecipeRow("d" * 64, "r", "{}")),
        lambda: held.acquire_lease("version/v", "run-1", 60),
    ):
        with pytest.raises(LeaseLost, match="lost its lease"):
            write()
    assert [row.fingerprint for row in registry.artifacts()] == [artifact(1).fingerprint]
    with pytest.raises(LeaseLost):
        registry.under(again, lease).expect_leases()
    registry.under(again).record_artifacts([artifact(2)])


def test_foreign_keys_hold(registry: Registry) -> None:
    with pytest.raises(CatalogConflict), registry.database.write() as connection:
        connection.execute(text("INSERT INTO artifact_inputs VALUES (999, 'documents', 'content')"))
