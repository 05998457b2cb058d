"""Bundles: the same models on a machine without a network, and nothing from a hostile file."""

import hashlib
import io
import json
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.core.home import Home
from corpus_assets.install.bundle import pack_models, unpack_models
from corpus_assets.install.pinned import ModelPin, ModelPins
from corpus_assets.models import files as models
from corpus_assets_tests.cli.test_commands import Captured, said

WEIGHTS = bytes(range(256)) * 50


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with a file, a folder and the language identifier."""
    monkeypatch.delenv("CORPUS_MODELS", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    found = Home.resolve(str(tmp_path / "home"))
    folder = tmp_path / "scorer"
    (folder / "deep").mkdir(parents=True)
    (folder / "config.json").write_bytes(b"{}")
    (folder / "deep" / "weights").write_bytes(WEIGHTS)
    for name, path in (("words", folder / "config.json"), ("scorer", folder)):
        digest = models.model_digest(path)

        def fill(target: Path, path: Path = path) -> None:
            models.copy_model(path, target)

        models.add_model(name, digest, fill, "somewhere", found)
    lid = models.PinnedModel("lid.176.ftz", 3, hashlib.sha256(b"lid").hexdigest())
    monkeypatch.setitem(models.MODELS, "lid.176", lid)
    (found.models / "lid.176.ftz").write_bytes(b"lid")
    return found


def other(home: Home) -> tuple[Home, ModelPins]:
    root = home.root.with_name("other")
    return replace(home, root=root), ModelPins(root / "locks")


def left(home: Home) -> list[str]:
    return sorted(p.name for p in home.models.iterdir()) if home.models.exists() else []


def test_a_bundle_brings_the_same_models_to_another_machine(home: Home, tmp_path: Path) -> None:
    bundle, there = tmp_path / "b.tar", other(home)
    packed = pack_models(["words", "scorer", "lid.176", "words"], bundle, home)
    assert [each.name for each in packed] == ["lid.176", "scorer", "words"]
    found = unpack_models(bundle, *there)
    assert [each.is_new for each in found] == [True] * 3
    here = {each.name: each.sha256 for each in models.installed_models(home)}
    assert {each.name: each.sha256 for each in models.installed_models(there[0])} == here
    weights = models.model_at("scorer", there[0]).path / "deep" / "weights"
    assert weights.read_bytes() == WEIGHTS
    assert [each.is_new for each in unpack_models(bundle, *there)] == [False] * 3
    pack_models(["scorer", "words", "lid.176"], tmp_path / "again.tar", there[0])
    assert (tmp_path / "again.tar").read_bytes() == bundle.read_bytes()


def test_single_models_are_taken_from_a_bundle(
    home: Home, tmp_path: Path, capsys: Captured
) -> None:
    bundle, (there, pins) = tmp_path / "b.tar", other(home)
    text = said(capsys, "models", "pack", str(bundle), "words", "scorer", "--home", str(home.root))
    assert f"scorer, words written to {bundle}" in text
    at = ("--bundle", str(bundle), "--home", str(there.root))
    assert "words added" in said(capsys, "models", "fetch", "words", *at)
    assert left(there) == ["words"]
    with pytest.raises(ModelError, match="does not have lid.176: make it again"):
        unpack_models(bundle, there, pins, ["lid.176"])


def test_a_bundle_with_other_bytes_than_the_pinned_is_refused(home: Home, tmp_path: Path) -> None:
    bundle, (there, pins) = tmp_path / "b.tar", other(home)
    pack_models(["words"], bundle, home)
    pins.add("words", ModelPin("0" * 64, 2, "somewhere"))
    with pytest.raises(ModelError, match=f"not {'0' * 64}; it was not installed"):
        unpack_models(bundle, there, pins)
    assert left(there) == []


def test_a_public_model_from_a_bundle_is_pinned_as_if_it_were_fetched(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = models.PublicModel("words", "file", "a list", "https://a/b", "", "", None, "", "")
    monkeypatch.setitem(models.public_models(), "words", known)
    bundle, (there, pins) = tmp_path / "b.tar", other(home)
    pack_models(["words"], bundle, home)
    assert [each.is_pinned for each in unpack_models(bundle, there, pins)] == [True]
    assert pins.all()["words"].sha256 == hashlib.sha256(b"{}").hexdigest()


def test_a_model_that_was_changed_is_not_packed(home: Home, tmp_path: Path) -> None:
    models.model_at("words", home).path.write_bytes(b"other")
    with pytest.raises(ModelError, match="was changed since it was installed"):
        pack_models(["words"], tmp_path / "b.tar", home)
    assert not (tmp_path / "b.tar").exists()


# Hostile bundles.

DIGEST = hashlib.sha256(b"{}").hexdigest()
ENTRY = {"name": "m", "sha256": DIGEST, "origin": "x", "files": [{"name": "", "bytes": 2}]}


def crafted(target: Path, entries: list[dict[str, Any]], *members: tarfile.TarInfo | str) -> Path:
    """A bundle with this index; members by name hold two bytes."""
    index = json.dumps({"format": "corpus-assets/bundle/1", "models": entries}).encode()
    with tarfile.open(target, "w") as archive:
        for name, content in [("bundle.json", index), *((each, b"{}") for each in members)]:
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            member.size = len(content) if member.isreg() else 0
            archive.addfile(member, io.BytesIO(content))
    return target


def link(name: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "/etc/passwd"
    return member


@pytest.mark.parametrize(
    ("entries", "members", "why"),
    [
        ([ENTRY], [link("m/model")], "where its index has"),
        ([ENTRY], [link("m/model", tarfile.LNKTYPE)], "where its index has"),
        ([ENTRY], ["../model"], "where its index has"),
        ([ENTRY], ["extra", "m/model"], "where its index has"),
        ([ENTRY], [], "ends before m/model"),
        ([ENTRY, ENTRY], ["m/model", "m/model"], "a model twice"),
        ([ENTRY | {"sha256": "0" * 64}], ["m/model"], "nothing was installed"),
        ([ENTRY | {"sha256": "no"}], ["m/model"], "cannot be read"),
        ([ENTRY | {"name": "../m"}], ["../m/model"], "is refused"),
        ([ENTRY | {"name": "a/b"}], ["a/b/model"], "cannot be read"),
        ([ENTRY | {"name": "UP"}], ["UP/model"], "cannot be the name"),
        ([ENTRY | {"files": [{"name": "../x", "bytes": 2}]}], ["m/model/../x"], "is refused"),
        ([ENTRY | {"files": [{"name": "/x", "bytes": 2}]}], ["m/model//x"], "is refused"),
        ([ENTRY | {"files": [{"name": "", "bytes": 1 << 62}]}], ["m/model"], "needs"),
        ([ENTRY | {"files": [{"name": "", "bytes": 3}]}], ["m/model"], "where its index has"),
        ([ENTRY | {"files": []}], [], "cannot be read"),
        (["m"], [], "cannot be read"),
    ],
)
def test_a_hostile_bundle_leaves_nothing(
    tmp_path: Path, home: Home, entries: Any, members: Any, why: str
) -> None:
    there, pins = other(home)
    with pytest.raises(ModelError, match=why):
        unpack_models(crafted(tmp_path / "b.tar", entries, *members), there, pins)
    assert left(there) == []


def test_a_bundle_that_is_cut_off_or_none_is_refused(home: Home, tmp_path: Path) -> None:
    bundle, there = tmp_path / "b.tar", other(home)
    pack_models(["scorer", "words"], bundle, home)
    whole = bundle.read_bytes()
    for content in (whole[:5000], whole[:100], b"no tar at all" * 100, b""):
        bundle.write_bytes(content)
        with pytest.raises(ModelError, match=r"b\.tar"):
            unpack_models(bundle, *there)
    assert [name for name in left(there[0]) if name != "words"] == []
    with pytest.raises(ModelError, match="no such file"):
        unpack_models(tmp_path / "absent.tar", *there)
