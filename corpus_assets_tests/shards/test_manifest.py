"""The manifest: one stable byte string for a version, and nothing that does not add up."""

import json
from pathlib import Path
from typing import Any

import pytest

from catalog.formats.manifest import Manifest
from corpus_assets.core.errors import ShardError
from corpus_assets.shards.manifest import load_manifest, parse_manifest
from corpus_assets_tests.shards.small_corpus import make_documents, make_store

GROUPS = {
    "S1/web/high": make_documents(1, 40, 100),
    "S1/code/mid": make_documents(2, 30, 100),
}


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    counts = {"S1/web/high": 3, "S1/code/mid": 1}
    return make_store(tmp_path, GROUPS, [(2, counts), (1, counts)])


def test_a_manifest_survives_the_way_to_disk_and_back(manifest: Manifest, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(manifest.dump())
    loaded = load_manifest(path)
    assert loaded == manifest
    assert loaded.dump() == manifest.dump()
    assert loaded.digest() == manifest.digest()


def test_utilisation_is_the_share_of_places_that_hold_tokens(manifest: Manifest) -> None:
    tokens = sum(len(ids) for documents in GROUPS.values() for ids in documents.values())
    places = 64 * sum(shard.samples for group in manifest.groups for shard in group.shards)
    assert manifest.utilisation == tokens / places < 1
    assert manifest.model_copy(update={"groups": ()}).utilisation == 1.0


def test_the_manifest_has_exactly_the_documented_fields(manifest: Manifest) -> None:
    plain = json.loads(manifest.dump())
    assert set(plain) == {
        "format", "version", "recipe", "lock_digest", "seed", "seq_len", "tokenizer",
        "block_samples", "groups", "phases",
    }  # fmt: skip
    assert plain["format"] == "corpus-assets/manifest/1"
    group = plain["groups"][0]
    assert set(group) == {
        "id", "snapshot", "domain", "tier", "samples", "tokens", "documents", "shards",
    }  # fmt: skip
    shard = group["shards"][0]
    assert set(shard) == {
        "name", "bin", "idx", "spans", "header", "samples", "tokens", "documents",
    }  # fmt: skip
    assert set(shard["bin"]) == {"path", "sha256", "bytes"}
    assert set(plain["phases"][0]) == {"name", "blocks", "counts"}


def test_the_order_of_groups_and_shards_does_not_show_in_the_bytes(manifest: Manifest) -> None:
    plain = json.loads(manifest.dump())
    plain["groups"].reverse()
    for group in plain["groups"]:
        group["shards"].reverse()
    assert parse_manifest(json.dumps(plain).encode()).dump() == manifest.dump()


def test_labels_and_narrow_tokens_are_of_the_second_format(manifest: Manifest) -> None:
    plain = json.loads(manifest.dump())
    plain |= {"format": "corpus-assets/manifest/2", "dtype": "uint16"}
    assert parse_manifest(json.dumps(plain).encode()).dtype == "uint16"
    del plain["dtype"]
    group, old = plain["groups"][0], plain["groups"][0]["id"]
    group["labels"] = {"topic": "math", "language": "de"}
    group["id"] = f"{old}/language=de/topic=math"
    for phase in plain["phases"]:
        phase["counts"] = {group["id"] if k == old else k: n for k, n in phase["counts"].items()}
    read = parse_manifest(json.dumps(plain).encode())
    (labelled,) = (each for each in read.groups if each.labels)
    assert labelled.id == group["id"]
    assert parse_manifest(read.dump()) == read
    for wrong in ({"format": "corpus-assets/manifest/1"}, {"groups": manifest.groups[:0]}):
        with pytest.raises(ShardError):
            parse_manifest(json.dumps(plain | wrong).encode())
    group["labels"] = {"topic": "games", "language": "de"}
    with pytest.raises(ShardError, match="must be SNAPSHOT/DOMAIN/TIER"):
        parse_manifest(json.dumps(plain).encode())


def change(plain: dict[str, Any], fault: str) -> None:
    group = plain["groups"][0]
    if fault == "samples":
        group["samples"] += 1
    elif fault == "SNAPSHOT/DOMAIN/TIER":
        group["tier"] = "low"
    elif fault == "names a shard twice":
        group["shards"][1]["name"] = group["shards"][0]["name"]
    elif fault == "share one id":
        plain["groups"].append(group)
    elif fault == "has no samples":
        plain["phases"][0]["counts"] = {"S1/books/high": 4}
    elif fault == "do not add up":
        plain["block_samples"] += 1
    elif fault == "share one name":
        plain["phases"][1]["name"] = plain["phases"][0]["name"]
    elif fault == "inside the store":
        group["shards"][0]["bin"]["path"] = "../secret"
    elif fault == "other/1":
        plain["format"] = "other/1"
    elif fault == "surplus":
        plain["surplus"] = 1


@pytest.mark.parametrize(
    "fault",
    [
        "samples",
        "SNAPSHOT/DOMAIN/TIER",
        "names a shard twice",
        "share one id",
        "has no samples",
        "do not add up",
        "share one name",
        "inside the store",
        "other/1",
        "surplus",
    ],
)
def test_a_manifest_that_does_not_add_up_is_refused(manifest: Manifest, fault: str) -> None:
    plain = json.loads(manifest.dump())
    change(plain, fault)
    with pytest.raises(ShardError, match=fault):
        parse_manifest(json.dumps(plain).encode())


def test_a_file_that_is_missing_or_no_json_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ShardError, match=r"absent\.json cannot be read"):
        load_manifest(tmp_path / "absent.json")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ShardError, match=r"broken\.json is not JSON"):
        load_manifest(tmp_path / "broken.json")
