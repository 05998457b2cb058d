"""Reading the store, local and remote, and nothing outside it."""

import uuid
from pathlib import Path

import fsspec
import pytest

from catalog.errors import PathRefused, StoreFileError
from catalog.formats.store import FileStore, relative_path


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "/etc/passwd", "", ".", "a/./b", "a//b", "a\\b", "s3://b/k", "a\0"],
)
def test_paths_out_of_the_store_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(PathRefused):
        relative_path(path)
    with pytest.raises(PathRefused):
        FileStore(tmp_path).read(path)


def test_no_link_in_the_store_is_followed(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "store" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "store" / "file").write_bytes(b"x")
    (tmp_path / "store" / "inside").symlink_to(tmp_path / "store" / "file")
    for path in ("link", "inside"):
        with pytest.raises(PathRefused, match=f"{path} in the store .* symbolic link"):
            FileStore(tmp_path / "store").read(path)


def test_a_store_reached_through_a_link_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x").write_bytes(b"x")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    assert FileStore(tmp_path / "linked").read("x") == b"x"
    assert FileStore(f"file://{tmp_path / 'linked'}").read("x") == b"x"


def test_missing_and_unreadable_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreFileError, match="a/b is not in the store .*; delete what is left"):
        FileStore(tmp_path).read("a/b")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreFileError, match="cannot read folder in the store"):
        FileStore(tmp_path).sha256("folder")


def test_changed_bytes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    store = FileStore(tmp_path)
    assert store.read_verified("x", store.sha256("x")) == b"abc"
    assert store.size("x") == 3
    with pytest.raises(StoreFileError, match="was changed after it was registered"):
        store.read_verified("x", "0" * 64)


def test_every_file_below_a_folder_is_listed_whatever_it_is(tmp_path: Path) -> None:
    (tmp_path / "a/b-c").mkdir(parents=True)
    (tmp_path / "a/b").mkdir()
    for name in ("a/b-c/x", "a/b/y", "a/.z.tmp"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "a/link").symlink_to(tmp_path / "a/b")
    store = FileStore(tmp_path)
    assert store.list("a") == ["a/.z.tmp", "a/b/y", "a/b-c/x", "a/link"]
    assert store.list("") == store.list("a")
    assert store.list("nothing") == []


def test_a_remote_store_reads_the_same(tmp_path: Path) -> None:
    root = f"/bucket-{uuid.uuid4().hex}"
    fsspec.filesystem("memory").pipe(f"{root}/a/x", b"abc")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"abc")
    remote, local = FileStore(f"memory:/{root}"), FileStore(tmp_path)
    assert remote.read("a/x") == b"abc"
    assert remote.sha256("a/x") == local.sha256("a/x")
    assert [store.exists(path) for store in (remote, local) for path in ("a/x", "a")] == [
        *(True, False, True, False)
    ]
    assert remote.list("") == remote.list("a") == local.list("a") == ["a/x"]
    with pytest.raises(StoreFileError, match="a/y is not in the store"):
        remote.read("a/y")
    with pytest.raises(PathRefused):
        remote.read("../x")


def test_an_unknown_kind_of_store_says_what_to_check() -> None:
    with pytest.raises(StoreFileError, match="use a folder, file:// or s3://"):
        FileStore("nowhere://bucket/x")
