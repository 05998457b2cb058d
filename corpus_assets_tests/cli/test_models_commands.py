"""`corpus models`: models are added by path and address, checked, listed, refused."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.core.home import Home
from corpus_assets.models import files as models
from corpus_assets_tests.cli.test_commands import Captured, said
from corpus_assets_tests.crawl_server import CrawlServer

ROOT = Path(__file__).resolve().parents[2]
CONTENT = bytes(range(256)) * 400
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CORPUS_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    return tmp_path / "models"


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_file_is_added_once_and_other_bytes_are_refused(
    folder: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "model.bin"
    file.write_bytes(CONTENT)
    assert f"mine added: SHA-256 {SHA256}" in said(
        capsys, "models", "add", "mine", "--path", str(file)
    )
    file.write_bytes(b"gone from here")  # a copy was made
    assert models.model_at("mine").path.read_bytes() == CONTENT
    error = said(capsys, "models", "add", "mine", "--path", str(file), code=1)
    assert f"is installed with SHA-256 {SHA256}" in error
    assert "add the other one under another name" in error
    file.write_bytes(CONTENT)
    assert "is already installed" in said(capsys, "models", "add", "mine", "--path", str(file))
    assert models.model_at("mine").path.read_bytes() == CONTENT
    assert left(folder) == ["mine"]


def test_a_folder_is_pinned_by_names_and_contents_of_its_files(
    folder: Path, tmp_path: Path, capsys: Captured
) -> None:
    source = tmp_path / "scorer"
    (source / "deep").mkdir(parents=True)
    (source / "config.json").write_text("{}")
    (tmp_path / "blob").write_bytes(b"weights")
    (source / "deep" / "weights").symlink_to(tmp_path / "blob")  # as download caches have it
    digest = models.model_digest(source)
    assert digest in said(capsys, "models", "add", "scorer", "--path", str(source))
    found = models.model_at("scorer").path
    assert (found / "deep" / "weights").read_bytes() == b"weights"
    assert not (found / "deep" / "weights").is_symlink()
    (found / "config.json").rename(found / "other.json")
    assert models.model_digest(found) != models.model_at("scorer").sha256 == digest


def test_a_wrong_digest_or_path_installs_nothing(
    folder: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "model.bin"
    file.write_bytes(CONTENT)
    command = ("models", "add", "mine", "--path", str(file), "--sha256")
    assert "nothing was installed" in said(capsys, *command, "0" * 64, code=1)
    assert "is not a SHA-256" in said(capsys, *command, "short", code=1)
    absent = str(tmp_path / "absent")
    assert "no such file" in said(capsys, "models", "add", "mine", "--path", absent, code=1)
    assert "give either --path" in said(capsys, "models", "add", "mine", code=1)
    assert left(folder) == []


def test_a_model_comes_from_a_server_that_breaks_off(folder: Path, capsys: Captured) -> None:
    with CrawlServer({"model.bin": CONTENT}) as server:
        server.faults = lambda path, number: "reset" if number == 1 else None
        url = f"{server.base}model.bin"
        command = ("models", "add", "mine", "--url", url, "--sha256", SHA256, "--allow-local")
        assert "mine added" in said(capsys, *command)
        assert models.model_at("mine").path.read_bytes() == CONTENT
        asked = server.requests()
        assert "is already installed" in said(capsys, *command)
        assert server.requests() == asked  # what is here is not fetched again
        other = ("models", "add", "mine", "--url", url, "--sha256", "1" * 64, "--allow-local")
        assert "is installed with SHA-256" in said(capsys, *other, code=1)


def test_wrong_bytes_from_a_server_never_get_their_place(folder: Path, capsys: Captured) -> None:
    with CrawlServer({"model.bin": b"something else"}) as server:
        url = f"{server.base}model.bin"
        command = ("models", "add", "mine", "--url", url, "--sha256", SHA256, "--allow-local")
        assert "nothing was installed" in said(capsys, *command, code=1)
    assert left(folder) == []


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://example.org/m.bin", "is not an https:// address"),
        ("s3://bucket/m.bin", "is not an https:// address"),
        ("file:///etc/passwd", "is not an https:// address"),
        ("https://127.0.0.1:9/m.bin", "an address of the local network"),
        ("https://[::1]:9/m.bin", "an address of the local network"),
        ("https://10.0.0.1/m.bin", "an address of the local network"),
        ("https://169.254.169.254/latest/meta-data", "an address of the local network"),
        ("https://me:secret@example.org/m.bin", "not an address of the form"),
    ],
)
def test_addresses_that_are_not_public_are_not_asked(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, url: str, why: str
) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    error = said(capsys, "models", "add", "mine", "--url", url, "--sha256", SHA256, code=1)
    assert why in error
    assert "secret" not in error
    assert left(folder) == []


def test_a_file_that_is_too_large_is_not_fetched(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpus_assets.install.fetch.MAX_BYTES", 1000)
    with CrawlServer({"model.bin": CONTENT}) as server:
        url = f"{server.base}model.bin"
        command = ("models", "add", "mine", "--url", url, "--sha256", SHA256, "--allow-local")
        assert "more than the 1000" in said(capsys, *command, code=1)
        assert server.requests() == 1
    assert left(folder) == []


def test_fetching_by_name_refuses_other_digests_and_unknown_names(
    folder: Path, capsys: Captured
) -> None:
    assert "has SHA-256 a818" in said(
        capsys, "models", "fetch", "glotlid", "--sha256", "0" * 64, code=1
    )
    assert "no public model is known as nobody" in said(capsys, "models", "fetch", "nobody", code=1)
    both = ("models", "fetch", "glotlid", "--recipe", "dclm")
    assert "either names or --recipe" in said(capsys, *both, code=1)
    two = ("models", "fetch", "glotlid", "openlid-v2", "--sha256", SHA256)
    assert "digest of a single model" in said(capsys, *two, code=1)


def test_all_that_a_recipe_names_is_fetched_and_pinned_beside_it(
    folder: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "recipes" / "ccnet.yaml").read_text().replace("name: ccnet", "name: mine")
    (tmp_path / "mine.yaml").write_text(text)
    (folder / "lid.176.ftz").parent.mkdir()
    (folder / "lid.176.ftz").write_bytes(b"lid")
    monkeypatch.setattr("corpus_assets.install.fetch.fetch_lid176", lambda folder: None)
    names = [f"{at}.{kind}" for at in ("en", "de", "fr", "es") for kind in ("arpa.bin", "sp.model")]
    served = {f"cc_net/lm/{name}": name.encode() for name in names}
    with CrawlServer({name: data for name, data in served.items() if "es" not in name}) as server:
        monkeypatch.setenv("CORPUS_MIRRORS", f"https://dl.fbaipublicfiles.com/={server.base}")
        command = ("models", "fetch", "--recipe", str(tmp_path / "mine.yaml"))
        error = said(capsys, *command, code=1)
        assert "ccnet-es: " in error
        assert "does not exist" in error
        assert "ccnet-es-pieces: " in error
        server.files |= served
        asked = server.requests()
        text = said(capsys, *command)
    assert "ccnet-es-pieces added" in text
    assert "ccnet-en is already installed" in text
    assert "No publisher states the SHA-256 of ccnet-es, ccnet-es-pieces." in text
    assert server.requests("en.") == 4
    assert server.requests() - asked == 4
    pins = json.loads((tmp_path / "mine.lock" / "models.json").read_text())["models"]
    assert sorted(pins) == sorted(
        f"ccnet-{at}{more}" for at in ("en", "de", "fr", "es") for more in ("", "-pieces")
    )
    found = {name: models.model_at(name).path.read_bytes() for name in pins}
    assert found["ccnet-en-pieces"] == b"en.sp.model"


def test_the_list_has_what_is_known_and_what_is_here(
    folder: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "model.bin"
    file.write_bytes(CONTENT)
    said(capsys, "models", "add", "mine", "--path", str(file))
    lines = {line.split()[0]: line for line in said(capsys, "models", "list").splitlines()}
    assert SHA256[:12] in lines["mine"]
    assert "Apache-2.0" in lines["glotlid"]
    found = json.loads(said(capsys, "models", "list", "--json"))
    assert found["mine"]["sha256"] == SHA256
    assert found["dclm-fasttext"]["sha256"] == ""
    assert found["dclm-fasttext"]["path"] is None


def test_models_go_into_the_home_that_is_named_and_never_into_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.delenv("CORPUS_MODELS", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "model.bin"
    file.write_bytes(CONTENT)
    home = tmp_path / "its home"
    at = ("--home", str(home))
    said(capsys, "models", "add", "mine", "--path", str(file), *at)
    assert (home / "models" / "mine" / "model").read_bytes() == CONTENT
    assert not (tmp_path / "environment").exists()
    assert not (tmp_path / ".corpus").exists()
    assert SHA256[:12] in said(capsys, "models", "list", *at)
    assert SHA256[:12] not in said(capsys, "models", "list"), "another home has it"
    with pytest.raises(ModelError, match=f"corpus models fetch --home '{home}'"):
        models.model_at("lid.176", Home.resolve(str(home)))
    said(capsys, "models", "add", "mine", "--path", str(file))
    assert (tmp_path / ".corpus" / "models" / "mine" / "model").is_file()
