"""Publish a version: its folder in the store, then its rows in the catalog.

The manifest is written last of the files, after `contents.json`, which lists the others. The
catalog records the version, what it replaces and why, in one transaction. Publishing the same
version twice has no effect.
"""

import json
from collections.abc import Sequence

import pyarrow.compute as pc

from catalog.db import CONTENTS_NAME as CONTENTS
from catalog.db import (
    FUNNEL,
    THRESHOLDS,
    ActionRow,
    JudgementRow,
    KeyRow,
    LineageRow,
    LockRow,
    ModelRow,
    RecipeRow,
    Registry,
    ShardRow,
    VersionRow,
    dump_contents,
)
from catalog.errors import OrdersChanged
from catalog.formats.places import portable
from catalog.takedown import deliver_book
from corpus_assets.core import files
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.files import File
from corpus_assets.core.identity import canonical_json
from corpus_assets.core.lock import calibration_path
from corpus_assets.core.stage import Stage
from corpus_assets.core.store import Output, read_output, sealed_json, sha256_hex
from corpus_assets.graph import Pipeline, check_version, publishing
from corpus_assets.ingest import SUPPRESSED
from corpus_assets.lineage import key_rows
from corpus_assets.versions.funnel import funnel_bytes, funnel_lines, funnel_steps, read_columns
from corpus_assets.versions.gates import version_gates
from corpus_assets.versions.published import KEPT, published_manifest, recipe_path
from corpus_assets.versions.recipe_files import keep_files
from corpus_assets.versions.removed import Change, Held, forget_removed, note_removed
from corpus_assets.versions.report import render_report
from corpus_assets.versions.thresholds import count_thresholds
from corpus_assets.versions.version import Version
from corpus_loader.manifest import Group, Manifest, ShardRef, join_labels


def is_published(pipeline: Pipeline, registry: Registry, version: Version) -> bool:
    """Whether the store has the version, and the registry knows it."""
    path = f"versions/{version.name}/manifest.json"
    known = {row.name: row.manifest_sha256 for row in registry.versions()}
    return (
        known.get(version.name) == sha256_hex(version.manifest_bytes)
        and pipeline.store.exists(path)
        and pipeline.store.read(path) == version.manifest_bytes
    )


def publish_version(
    pipeline: Pipeline,
    registry: Registry,
    version: Version,
    replaces: Sequence[str] = (),
    requests: Sequence[int] = (),
) -> None:
    """Write a version's folder and tell the catalog, both without effect the second time.

    The versions it replaces are revoked, and the change recorded for the takedown requests
    it answers, in the transaction that publishes it. A version that was built under other orders
    than those in force is not published (`OrdersChanged`), nor is one that lost a document, nor an
    empty one, unless takedowns removed its last document. Of two of one name, one is.
    """
    outcome = check_version(pipeline, version.manifest)
    if not outcome.passed:
        raise CorpusError(
            f"version {version.name} is not published, documents are missing: {outcome.message}; "
            "this is a bug, please report it"
        )
    if version.is_empty and not replaces:
        raise CorpusError(
            f"version {version.name} is not published, nothing is left in it: "
            f"{'; '.join(funnel_lines(funnel_steps(pipeline)))}; correct the rule that drops too much, "
            "or the source, then run the same command again"
        )
    with publishing(registry, version.name) as fenced:
        _publish(pipeline, fenced, version, replaces, requests)


def _publish(
    pipeline: Pipeline,
    registry: Registry,
    version: Version,
    replaces: Sequence[str],
    requests: Sequence[int],
) -> None:
    folder = f"versions/{version.name}"
    store = pipeline.store
    path = f"{folder}/manifest.json"
    known = {row.name: row for row in registry.versions()}.get(version.name)
    if known is not None and known.manifest_sha256 != sha256_hex(version.manifest_bytes):
        instead = f"is {known.status}, replaced by {known.superseded_by}"
        why = instead if known.superseded_by else "exists with other contents"
        raise CorpusError(
            f"version {known.name} {why}; "
            "choose another name with --version, in the Dagster UI another partition of "
            "corpus_version"
        )
    if pipeline.suppressions.state is not None:  # before any file is written, and again at the end
        registry.expect_orders(pipeline.suppressions.state)
    lineage, keys = lineage_rows(pipeline, version.manifest), key_rows(pipeline)
    changes = []
    for old in replaces:
        manifest = published_manifest(store, registry.version(old))
        changes.append(Change.between(old, manifest, version.name, version.manifest))
        if requests:  # a revoked version may be deleted at any time
            before = Held(old, registry.lineage_files(old), manifest)
            note_removed(store, before, Held(version.name, lineage, version.manifest))
    written = {}
    for name, output in pipeline.calibrations().items():
        pin = version.lock.calibrations[name]
        target = calibration_path(folder, pin)
        written[target.removeprefix(f"{folder}/")] = pin.sha256
        if not store.exists(target):
            store.write(target, read_output(store, output))
    listed = f"{folder}/{KEPT}"
    # Of a version that is published, what it was built from stays, whatever lies there now.
    is_known = known is not None and store.exists(listed)
    for name, data in (
        (KEPT, store.read(listed) if is_known else keep_files(pipeline).to_bytes()),
        ("lock.json", version.lock.to_bytes()),
        ("report.html", render_report(pipeline, version.manifest, lineage).encode()),
        (FUNNEL.name, funnel_bytes(pipeline)),
        (THRESHOLDS.name, count_thresholds(pipeline)),
    ):
        if data is None:
            continue
        store.write(f"{folder}/{name}", data)
        written[name] = sha256_hex(data)
    written["manifest.json"] = sha256_hex(version.manifest_bytes)
    contents = dump_contents(version.name, written, lineage, keys)
    store.write(f"{folder}/{CONTENTS}", contents)
    registry.expect_leases()  # a manifest is what makes a folder a version
    store.write(path, version.manifest_bytes)
    _save_recipe(pipeline)
    row = _version_row(pipeline, version, path, contents)
    actions = [change.action(request) for request in requests for change in changes]
    try:
        _register(pipeline, registry, version, row, lineage, keys, replaces, actions)
        deliver_book(registry, store)  # the order book says what was revoked
    except OrdersChanged:
        for path in store.list(folder):  # it is not registered, and the report quotes documents
            store.delete(path)
        forget_removed(store, version.name)
        raise


def _save_recipe(pipeline: Pipeline) -> None:
    """Keep the recipe with its locations, so that a takedown can build the version again."""
    body = {
        "digest": pipeline.recipe.digest,
        "folder": portable(str(pipeline.locations.recipe_folder), pipeline.locations.home.root),
        "recipe": pipeline.recipe.model_dump(mode="json"),
    }
    pipeline.store.write(recipe_path(pipeline.recipe.digest), sealed_json(body))


def _register(
    pipeline: Pipeline,
    registry: Registry,
    version: Version,
    row: VersionRow,
    lineage: Sequence[LineageRow],
    keys: Sequence[KeyRow],
    replaces: Sequence[str],
    actions: Sequence[ActionRow],
) -> None:
    manifest, lock = version.manifest, version.lock
    recipe_json = json.dumps(lock.recipe, indent=1, sort_keys=True)  # without locations
    registry.put_recipe(RecipeRow(pipeline.recipe.digest, pipeline.recipe.name, recipe_json))
    registry.put_lock(LockRow(lock.digest, canonical_json(lock.identity()).decode()))
    kinds = pipeline.graph.calibrations
    for name, pin in lock.calibrations.items():
        if kinds[name.partition("/")[0]].is_model:
            target = calibration_path(f"versions/{version.name}", pin)
            registry.put_model(ModelRow(name, pin.sha256, target, pin.sha256))
    registry.publish_version(
        row,
        [_shard_row(group, shard) for group in manifest.groups for shard in group.shards],
        lineage,
        revokes=replaces,
        actions=actions,
        keys=keys,
        orders_state=pipeline.suppressions.state,
        gates=version_gates(pipeline, registry, version.name, manifest, replaces),
        removed=_removed_judged(
            pipeline, [r for old in replaces for r in registry.judgements(old)]
        ),
    )


def _removed_judged(
    pipeline: Pipeline, judged: Sequence[JudgementRow]
) -> set[tuple[str, str, int, int]]:
    """Return the places of judged records that takedowns took out, by the ledgers of their parts."""
    removed = set()
    for snapshot, part in {(row.snapshot, row.part) for row in judged}:
        result = pipeline.results("documents", snapshot)[part]
        records = read_columns(pipeline, result, files.RECORDS, ["doc_id", "offset", "reason"])
        left = records.filter(pc.fill_null(pc.not_equal(records["reason"], SUPPRESSED), True))
        known = set(zip(left["doc_id"].to_pylist(), left["offset"].to_pylist(), strict=True))
        removed |= {
            (row.doc_id, snapshot, part, row.offset)
            for row in judged
            if (row.snapshot, row.part) == (snapshot, part)
            and (bytes.fromhex(row.doc_id), row.offset) not in known
        }
    return removed


def _version_row(pipeline: Pipeline, version: Version, path: str, contents: bytes) -> VersionRow:
    groups = version.manifest.groups
    return VersionRow(
        name=version.name,
        lock_digest=version.lock.digest,
        recipe_digest=pipeline.recipe.digest,
        manifest_path=path,
        manifest_sha256=sha256_hex(version.manifest_bytes),
        documents=sum(group.documents for group in groups),
        tokens=sum(group.tokens for group in groups),
        samples=sum(group.samples for group in groups),
        contents_sha256=sha256_hex(contents),
    )


def _shard_row(group: Group, shard: ShardRef) -> ShardRow:
    return ShardRow(
        group_id=group.id,
        snapshot=group.snapshot,
        domain=group.domain,
        tier=group.tier,
        shard=shard.name,
        bin_path=shard.bin.path,
        bin_sha256=shard.bin.sha256,
        idx_path=shard.idx.path,
        idx_sha256=shard.idx.sha256,
        spans_path=shard.spans.path,
        spans_sha256=shard.spans.sha256,
        header_path=shard.header.path,
        header_sha256=shard.header.sha256,
        samples=shard.samples,
        tokens=shard.tokens,
        documents=shard.documents,
        labels=join_labels(group.labels) or None,
    )


def lineage_rows(pipeline: Pipeline, manifest: Manifest) -> list[LineageRow]:
    """List every Parquet file of a version's lineage."""
    rows: list[LineageRow] = []
    shard_names = {
        shard.spans.path: f"{group.id}/{shard.name}"
        for group in manifest.groups
        for shard in group.shards
    }
    for snapshot in pipeline.recipe.snapshots:
        for stage, file in pipeline.graph.lineage():
            for part, output in enumerate(_files_of(pipeline, stage, file, snapshot)):
                if file is files.SHARD_SPANS:
                    rows.append(_lineage(file, snapshot, output, None, shard_names[output.path]))
                else:
                    rows.append(_lineage(file, snapshot, output, part))
    return rows


def _files_of(pipeline: Pipeline, stage: Stage, file: File, snapshot: str) -> list[Output]:
    """List every file of a kind in a snapshot, in the order of parts."""
    return [
        output
        for result in pipeline.results(stage.name, snapshot)
        for name, output in sorted(result.outputs.items())
        if file.matches(name)
    ]


def _lineage(
    file: File, snapshot: str, output: Output, part: int | None, shard: str | None = None
) -> LineageRow:
    return LineageRow(
        table_name=file.lineage or "",
        snapshot=snapshot,
        path=output.path,
        sha256=output.sha256,
        rows=output.rows,
        part=part,
        shard=shard,
    )
