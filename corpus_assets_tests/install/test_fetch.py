"""Models and lists from servers that fail: the right bytes or a clear refusal, and little asked twice."""

import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from corpus_assets.core.errors import CorpusError, ModelError, SourceError
from corpus_assets.core.home import Home
from corpus_assets.ingest.fetch.settings import FetchSettings
from corpus_assets.install.fetch import Fetched, fetch_model
from corpus_assets.install.pinned import ModelPins
from corpus_assets.models import files as models
from corpus_assets_tests.crawl_server import FAULTS, CrawlServer, every_other
from corpus_assets_tests.small_disk import remount, small_disk

DATA = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(5_000))  # 160 kB
SHA256 = hashlib.sha256(DATA).hexdigest()
COMMIT = "85cd6716494360367b75f642b5bc78667605d0b4"
QUICK = FetchSettings(requests_per_s=10_000, first_wait_s=0.001, max_wait_s=0.002, attempts=6)
KNOWN = models.PublicModel(
    "some", "file", "a model", "https://a.example/some.bin", "", "", None, "", ""
)


class DiskUsage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("CORPUS_MODELS", raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.setattr(FetchSettings, "of_environment", lambda: QUICK)
    return Home.resolve(str(tmp_path / "home"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[CrawlServer]:
    """A mirror of everything."""
    with CrawlServer({"some.bin": DATA}) as running:
        hub = f"https://huggingface.co/={running.base}"
        monkeypatch.setenv("CORPUS_MIRRORS", f"https://a.example/={running.base} {hub}")
        yield running


def fetched(home: Home, known: models.PublicModel = KNOWN, pins: str = "here") -> Fetched:
    """Fetch one model as the table has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(models.public_models(), known.name, known)
        return fetch_model(known.name, home, ModelPins(home.root / "locks" / pins))


def left(home: Home) -> list[str]:
    return sorted(path.name for path in home.models.iterdir())


# Digests.


def test_the_first_fetch_pins_a_digest_that_nobody_states(home: Home, server: CrawlServer) -> None:
    first = fetched(home)
    assert (first.is_new, first.is_pinned, first.model.sha256) == (True, True, SHA256)
    written = json.loads((home.root / "locks/here/models.json").read_text())
    assert written["models"]["some"] == {
        "sha256": SHA256, "bytes": len(DATA), "place": KNOWN.url, "revision": "",
    }  # fmt: skip
    again = fetched(home)
    assert (again.is_new, again.is_pinned) == (False, False)
    assert left(home) == ["some"]
    assert fetched(home, pins="of another recipe").is_pinned, (
        "what is installed is pinned there too"
    )


def test_a_second_machine_must_get_the_same_bytes(home: Home, server: CrawlServer) -> None:
    fetched(home)
    second = replace(home, root=home.root.with_name("second"))
    (second.root / "locks").mkdir(parents=True)
    (home.root / "locks/here").rename(second.root / "locks/here")
    server.files["some.bin"] = DATA[::-1]
    with pytest.raises(ModelError, match=f"not {SHA256}; nothing was installed"):
        fetched(second)
    assert left(second) == []
    server.files["some.bin"] = DATA
    assert fetched(second).model.sha256 == SHA256


def test_a_stated_digest_is_asked_for_and_pinned_nowhere(home: Home, server: CrawlServer) -> None:
    stated = replace(KNOWN, sha256=hashlib.sha256(b"other").hexdigest())
    with pytest.raises(ModelError, match=f"has SHA-256 {SHA256}, not"):
        fetched(home, stated)
    assert not fetched(home, replace(KNOWN, sha256=SHA256)).is_pinned
    assert not (home.root / "locks").exists()


def test_a_model_that_is_installed_otherwise_is_refused(home: Home, server: CrawlServer) -> None:
    fetched(home)
    with pytest.raises(ModelError, match="is installed with SHA-256"):
        fetched(home, replace(KNOWN, sha256="0" * 64))


def test_pins_that_cannot_be_read_are_not_overwritten(home: Home, server: CrawlServer) -> None:
    path = home.root / "locks/here/models.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"format": "corpus-assets/models/9", "models": {}}')
    with pytest.raises(ModelError, match="models/9.*restore or remove it"):
        fetched(home)
    assert "models/9" in path.read_text()


# Faults of servers.


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_gives_the_same_bytes(home: Home, server: CrawlServer, fault: str) -> None:
    server.faults = every_other([fault])
    assert fetched(home).model.sha256 == SHA256
    assert server.requests() < 30


def test_a_later_run_goes_on_where_the_earlier_one_was_cut_off(
    home: Home, server: CrawlServer
) -> None:
    server.faults = lambda path, number: {1: "close"}.get(number, "503" if number > 1 else None)
    with pytest.raises(CorpusError, match="given up after"):
        fetched(home)
    server.faults, asked = lambda path, number: None, server.requests()
    assert fetched(home).model.sha256 == SHA256
    assert server.seen[asked + 1].range == f"bytes={len(DATA) // 2}-{len(DATA) - 1}"
    assert left(home) == ["some"]


def test_what_has_changed_since_the_earlier_run_is_fetched_from_its_start(
    home: Home, server: CrawlServer
) -> None:
    server.faults = lambda path, number: {1: "close"}.get(number, "503" if number > 1 else None)
    with pytest.raises(CorpusError):
        fetched(home)
    server.faults, server.files["some.bin"] = lambda path, number: None, DATA[::-1]
    assert fetched(home).model.path.read_bytes() == DATA[::-1]


def test_a_file_that_changes_in_mid_transfer_is_never_mixed(
    home: Home, server: CrawlServer
) -> None:
    def change(path: str, number: int) -> str | None:
        if number == 2:
            server.files["some.bin"] = DATA[::-1]
        return "close" if number == 1 else None

    server.faults = change
    with pytest.raises(ModelError, match="was changed on its server while it was fetched"):
        fetched(home)
    assert left(home) == []
    assert fetched(home).model.path.read_bytes() == DATA[::-1]


def test_retry_after_is_waited_for(home: Home, server: CrawlServer) -> None:
    server.retry_after = "1"
    server.faults = lambda path, number: "429" if number == 1 else None
    assert fetched(home).model.sha256 == SHA256
    assert server.seen[2].at - server.seen[1].at >= 1


@pytest.mark.parametrize(
    ("fault", "told", "requests"),
    [
        ("redirect:", "more than 4 redirects", 5),  # to itself, for ever
        ("416", "given up after 6 attempts .*run the same command again later", 6),
        ("short_length", "given up after 6 attempts .*run the same command again later", 6),
    ],
)
def test_a_fault_that_stays_ends_soon_and_leaves_nothing_installed(
    home: Home, server: CrawlServer, fault: str, told: str, requests: int
) -> None:
    server.faults = lambda path, number: fault
    with pytest.raises(SourceError, match=told):
        fetched(home)
    assert server.requests() == requests
    assert left(home) == []


def test_an_empty_file_is_no_model(home: Home, server: CrawlServer) -> None:
    """Its digest would be pinned, and every machine would agree on nothing."""
    server.files["some.bin"] = b""
    with pytest.raises(ModelError, match="is empty on its server; nothing was installed"):
        fetched(home)
    assert left(home) == []
    assert not list((home.root / "locks").rglob("*"))


def test_a_disk_that_fills_in_mid_transfer_keeps_what_has_arrived(
    home: Home, server: CrawlServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk", 64) as disk:
        monkeypatch.setenv("CORPUS_MODELS", str(disk))
        monkeypatch.setattr(shutil, "disk_usage", lambda _: DiskUsage(1 << 30, 0, 1 << 30))
        with pytest.raises(ModelError, match=r"cannot be written \(No space left.* is kept: free"):
            fetched(home)
        remount(disk, "size=64m")
        assert fetched(home).model.path.read_bytes() == DATA
    assert any(seen.range not in ("", "bytes=0-0") for seen in server.seen)


def test_a_size_that_is_stated_is_asked_for(home: Home, server: CrawlServer) -> None:
    with pytest.raises(ModelError, match="has 160000 bytes, not 7 as its publisher says"):
        fetched(home, replace(KNOWN, bytes=7))
    assert server.requests() == 1


def test_a_redirect_into_the_local_network_is_refused(
    home: Home, server: CrawlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "corpus_assets.ingest.fetch.http._is_public", lambda address: address == "127.0.0.1"
    )
    monkeypatch.setattr(FetchSettings, "of_environment", lambda: replace(QUICK, allow_http=True))
    monkeypatch.delenv("CORPUS_MIRRORS")
    target = server.base.replace("127.0.0.1", "127.0.0.2")
    server.faults = lambda path, number: f"redirect:{target}some.bin"
    with pytest.raises(CorpusError, match=r"127\.0\.0\.2 is an address of the local network"):
        fetched(home, replace(KNOWN, url=f"{server.base}some.bin"))
    assert server.requests() == 1
    assert left(home) == []


# The hub.


def hub_answer(files: dict[str, bytes], commit: str = COMMIT, **more: object) -> bytes:
    siblings = [
        {"rfilename": name, "size": len(data), "blobId": "1"}
        | ({"lfs": {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}} if i else {})
        for i, (name, data) in enumerate(sorted(files.items()))
    ]
    return json.dumps({"sha": commit, "siblings": siblings} | more).encode()


FOLDER = {
    "config.json": b"{}",
    "model.safetensors": DATA,
    "pytorch_model.bin": b"the same in another form",
    "onnx/config.json": b"{}",
    ".gitattributes": b"*",
}
HUB = replace(
    KNOWN, name="scorer", kind="folder", url="hf://o/scorer@main", files="*.json *.safetensors"
)


def serve_hub(server: CrawlServer, files: dict[str, bytes], revision: str = "main") -> None:
    server.files[f"api/models/o/scorer/revision/{revision}?blobs=true"] = hub_answer(files)
    for name, data in files.items():
        server.files[f"o/scorer/resolve/{COMMIT}/{name}"] = data


def test_a_folder_is_fetched_at_one_commit_which_is_pinned(home: Home, server: CrawlServer) -> None:
    serve_hub(server, FOLDER)
    found = fetched(home, HUB)
    inside = {
        path.relative_to(found.model.path).as_posix()
        for path in found.model.path.rglob("*")
        if path.is_file()
    }
    assert inside == {"config.json", "model.safetensors"}
    pins = ModelPins(home.root / "locks/here")
    assert pins.all()["scorer"].revision == COMMIT
    # `main` is another commit by now: the second machine gets the pinned one.
    second = replace(home, root=home.root.with_name("second"))
    (second.root / "locks").mkdir(parents=True)
    (home.root / "locks/here").rename(second.root / "locks/here")
    server.files["api/models/o/scorer/revision/main?blobs=true"] = hub_answer({}, "1" * 40)
    serve_hub(server, FOLDER, COMMIT)
    assert fetched(second, HUB).model.sha256 == found.model.sha256


@pytest.mark.parametrize("fault", ["reset", "503", "ignore_range"])
def test_a_folder_survives_faults(home: Home, server: CrawlServer, fault: str) -> None:
    serve_hub(server, FOLDER)
    server.faults = every_other([fault])
    found = fetched(home, HUB).model
    assert (found.path / "model.safetensors").read_bytes() == DATA
    assert left(home) == ["scorer"]


def test_bytes_that_the_hub_states_otherwise_are_refused(home: Home, server: CrawlServer) -> None:
    serve_hub(server, FOLDER)
    server.files[f"o/scorer/resolve/{COMMIT}/model.safetensors"] = DATA[::-1]
    with pytest.raises(ModelError, match="has SHA-256 .* nothing was installed"):
        fetched(home, HUB)
    assert left(home) == [".partial"], "the other file stays for the next run"
    server.files[f"o/scorer/resolve/{COMMIT}/model.safetensors"] = DATA
    assert fetched(home, HUB).is_new
    assert server.requests("config.json") == 3, "two, and one to see that it is the same"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"<html>busy</html>", "cannot be read"),
        (b"[]", "cannot be read"),
        (hub_answer({}, "main"), "another revision"),
        (hub_answer({"../../up.json": b"x"}), "is refused"),
        (hub_answer({"/etc/passwd.json": b"x"}), "is refused"),
        (hub_answer({"a\\b.json": b"x"}), "is refused"),
        (hub_answer({"notes.md": b"x"}), "has 0 files of it"),
    ],
)
def test_an_answer_of_the_hub_that_makes_no_sense_is_refused(
    home: Home, server: CrawlServer, answer: bytes, why: str
) -> None:
    server.files["api/models/o/scorer/revision/main?blobs=true"] = answer
    with pytest.raises(ModelError, match=why):
        fetched(home, HUB)
    assert left(home) == []


def test_a_token_goes_to_the_hub_and_to_no_other_host(
    home: Home, server: CrawlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    told: list[str] = []
    with CrawlServer({"cdn": DATA}) as other:
        at = replace(KNOWN, url=f"hf://o/some@{COMMIT}/model.bin")
        server.faults = lambda path, number: f"redirect:{other.base}cdn?signed=1"
        other.files["cdn?signed=1"] = DATA
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(models.public_models(), at.name, at)
            fetch_model("some", home, ModelPins(home.root), log=told.append)
        assert {seen.headers["Authorization"] for seen in server.seen} == {"Bearer hf_secret"}
        assert {seen.headers["Authorization"] for seen in other.seen} == {None}
        monkeypatch.setenv("CORPUS_MIRRORS", f"https://a.example/={other.base}")
        fetched(home, replace(KNOWN, name="direct", url="https://a.example/cdn"))
        assert {seen.headers["Authorization"] for seen in other.seen} == {None}
    written = [path.read_bytes() for path in home.root.rglob("*") if path.is_file()]
    assert not any(b"hf_secret" in each for each in [*written, *map(str.encode, told)])


# Archives.


def archived(members: dict[str, bytes | tuple[bytes, str]]) -> bytes:
    """A .tar.gz; a value with a kind is a link to the bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, tuple):
                member.type, member.linkname = content[0], content[1]
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), mtime=0)


LIST = replace(
    KNOWN, name="list", kind="archive", url="https://a.example/list.tar.gz", files="domains urls"
)
GOOD = {"adult/domains": b"a.example\n" * 4000, "adult/urls": b"b.example/x\n", "adult/usage": b"-"}


def test_an_archive_becomes_a_folder_without_links(home: Home, server: CrawlServer) -> None:
    links = {
        "porn": (tarfile.SYMTYPE, "adult"),
        "adult/hard": (tarfile.LNKTYPE, "adult/urls"),
        "adult/pipe": (tarfile.FIFOTYPE, ""),
    }
    server.files["list.tar.gz"] = archived(GOOD | links)
    found = fetched(home, LIST).model.path
    assert sorted(path.name for path in found.iterdir()) == ["domains", "urls"]
    assert (found / "domains").read_bytes() == GOOD["adult/domains"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (archived(GOOD)[:-20], "cannot be unpacked"),
        (archived(GOOD)[:200], "cannot be unpacked"),
        (b"<html>no archive</html>", "cannot be unpacked"),
        (archived({"../../up": b"x"}), "is refused"),
        (archived({"/etc/domains": b"x"}), "is refused"),
        (archived({"domains": b"x", "./domains": b"y"}), "twice"),
        (archived({"readme": b"x"}), "none of the files domains urls"),
        (archived({"domains": (tarfile.SYMTYPE, "/etc/passwd")}), "none of the files"),
    ],
)
def test_an_archive_that_is_damaged_or_hostile_leaves_nothing(
    home: Home, server: CrawlServer, content: bytes, why: str
) -> None:
    server.files["list.tar.gz"] = content
    with pytest.raises(ModelError, match=why):
        fetched(home, LIST)
    assert left(home) == []
    assert not (home.root.parent / "up").exists()


def test_an_archive_that_grows_beyond_bounds_is_stopped(
    home: Home, server: CrawlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpus_assets.install.fetch.MAX_BYTES", 1 << 20)
    server.files["list.tar.gz"] = archived({"domains": bytes(50 << 20)})
    with pytest.raises(ModelError, match="more than"):
        fetched(home, LIST)
    assert left(home) == []


# Mirrors.


def test_a_mirror_may_be_a_folder(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, data in FOLDER.items():
        path = tmp_path / "mirror" / "o" / "scorer@main" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "mirror" / "some.bin").write_bytes(DATA)
    mirror = (tmp_path / "mirror").as_uri()
    monkeypatch.setenv("CORPUS_MIRRORS", f"hf://={mirror}/ https://a.example/={mirror}/")
    assert (fetched(home, HUB).model.path / "model.safetensors").read_bytes() == DATA
    assert fetched(home).model.sha256 == SHA256
    assert (tmp_path / "mirror" / "some.bin").exists()
    (tmp_path / "mirror" / "some.bin").unlink()
    with pytest.raises(ModelError, match=r"some\.bin: nothing is there"):
        fetched(home, replace(KNOWN, name="other"))


@pytest.mark.parametrize("text", ["no-equals-sign", "https://a/=ftp://b/", "a=b", "=https://a/"])
def test_a_mirror_that_is_none_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("CORPUS_MIRRORS", text)
    with pytest.raises(ModelError, match="write PREFIX=PLACE"):
        fetched(home)


def test_a_mirror_may_be_a_bucket(
    home: Home, server: CrawlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore", reason="obstore is not installed")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.base.rstrip("/"))
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("CORPUS_MIRRORS", "hf://=s3://mirror/hub/ https://a.example/=s3://mirror/")
    server.files = {f"mirror/hub/o/scorer@main/{name}": data for name, data in FOLDER.items()}
    server.files |= {name.replace("@", "%40"): data for name, data in server.files.items()}
    server.files["mirror/some.bin"] = DATA
    server.faults = lambda path, number: "close" if number == 1 else None
    assert fetched(home).model.sha256 == SHA256
    found = fetched(home, HUB).model.path
    assert (found / "model.safetensors").read_bytes() == DATA
    assert sorted(path.name for path in found.iterdir()) == ["config.json", "model.safetensors"]
