"""`corpus export` on a version that the catalog knows."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corpus_assets.cli.main import main
from corpus_assets_tests.shards.export.published import empty_home, publish
from corpus_assets_tests.shards.export.small_export import GROUPS, PHASES, loader_rows, read_samples
from corpus_assets_tests.shards.small_corpus import make_store
from corpus_loader import Manifest

TOKENIZER = b'{"made": "up"}'


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("home")
    place, registry = empty_home(root / "h")
    publish(place, registry, manifest_of(root / "h"))
    return root / "h"


def manifest_of(home: Path) -> Manifest:
    store = home / "store"
    path = store / "versions" / "v1" / "manifest.json"
    if path.is_file():
        return Manifest.load(path)
    made = make_store(store, GROUPS, PHASES)
    (store / "tokenizer.json").write_bytes(TOKENIZER)
    digest = hashlib.sha256(TOKENIZER).hexdigest()
    headers = _with_tokenizer(store, made, digest)
    return replace(headers, tokenizer=replace(made.tokenizer, sha256=digest))


def _with_tokenizer(store: Path, manifest: Manifest, digest: str) -> Manifest:
    """Shards that say they were made with the tokenizer that is in the store."""
    raw = json.loads(manifest.dump())
    for group in raw["groups"]:
        for shard in group["shards"]:
            path = store / shard["header"]["path"]
            header = json.loads(path.read_bytes()) | {"tokenizer_sha256": digest}
            content = json.dumps(header).encode()
            path.write_bytes(content)
            shard["header"]["bytes"] = len(content)
            shard["header"]["sha256"] = hashlib.sha256(content).hexdigest()
    return Manifest.parse(json.dumps(raw).encode())


def run(home: Path, *arguments: str) -> int:
    return main(["export", *arguments, "--home", str(home)])


def test_a_version_is_exported_by_name(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(home, "v1", "--format", "mds", "--out", str(out), "--seed", "11") == 0
    rows = loader_rows(manifest_of(home), home / "store", 11)
    assert read_samples(out, "mds") == rows.tolist()
    assert (out / "tokenizer.json").read_bytes() == TOKENIZER
    said = capsys.readouterr().out
    assert "exported v1 to" in said
    assert f"{np.count_nonzero(rows != 1):,} without padding" in said
    assert "check-export" in said


def test_amounts_may_be_written_with_an_exponent(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["v1", "--format", "megatron", "--out", str(tmp_path / "out"), "--json"]
    assert run(home, *arguments, "--tokens", "1.28e3", "--phase", "phase1") == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["samples"], body["phase"]) == (20, "phase1")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["v9", "--format", "mds"], "there is no version 'v9'"),
        (["v1", "--format", "mds", "--tokens", "1e12"], "cannot be exported"),
        (["v1", "--format", "mds", "--tokens", "some"], "whole number"),
        (["v1", "--format", "mds", "--tokens", "inf"], "whole number"),
        (["v1", "--format", "csv"], "megatron"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    word: str,
) -> None:
    assert run(home, *arguments, "--out", str(tmp_path / "out")) != 0
    assert word in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_revoked_version_is_not_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, registry = empty_home(tmp_path / "h")
    made = manifest_of(tmp_path / "h")
    publish(place, registry, made)
    publish(place, registry, replace(made, version="v1.td1"), revokes=("v1",))
    assert run(tmp_path / "h", "v1", "--format", "mds", "--out", str(tmp_path / "out")) == 1
    assert "export v1.td1 instead" in capsys.readouterr().err


def test_a_damaged_tokenizer_or_manifest_is_not_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, registry = empty_home(tmp_path / "h")
    publish(place, registry, manifest_of(tmp_path / "h"))
    store = tmp_path / "h" / "store"
    for name in ("tokenizer.json", "versions/v1/manifest.json"):
        (store / name).write_bytes((store / name).read_bytes() + b" ")
        arguments = ["v1", "--format", "mds", "--out", str(tmp_path / "out")]
        assert run(tmp_path / "h", *arguments) == 1
        assert f"{name} in the store" in capsys.readouterr().err
