"""The catalog's reader of a store, on a real S3 server."""

import os
import sys
from pathlib import Path

import pytest

from catalog.errors import StoreFileError
from catalog.formats.store import FileStore as CatalogStore
from corpus_assets.core.store import LocalStore
from corpus_assets.core.store_s3 import S3Store

pytestmark = pytest.mark.usefixtures("nothing_of_the_user")


def test_files_are_read_and_hashed(s3: S3Store, tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    s3.write("a/x", data)
    LocalStore(tmp_path).write("a/x", data)
    remote, local = CatalogStore(s3.url), CatalogStore(tmp_path)
    assert remote.read("a/x") == data
    assert remote.size("a/x") == len(data)
    assert remote.sha256("a/x") == local.sha256("a/x")
    with remote.open("a/x") as handle:
        handle.seek(2_000_000)
        assert handle.read(10) == data[2_000_000:2_000_010]


def test_an_empty_file_is_read(s3: S3Store) -> None:
    s3.write("a/empty", b"")
    assert CatalogStore(s3.url).read("a/empty") == b""


def test_missing_files_are_reported(s3: S3Store) -> None:
    with pytest.raises(StoreFileError, match="a/x is not in the store s3://"):
        CatalogStore(s3.url).read("a/x")


def test_refused_credentials_are_one_line(s3: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.write("a/x", b"x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-secret")
    with pytest.raises(StoreFileError, match="does not accept the credentials") as caught:
        CatalogStore(s3.url).read("a/x")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("AWS_ENDPOINT_URL", "nonsense", "write it as https://"),
        ("AWS_ALLOW_HTTP", "", "not encrypted"),
        ("AWS_ACCESS_KEY_ID", "", "no credentials for the store s3://"),
    ],
)
def test_settings_that_cannot_work_are_reported(
    s3_url: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(StoreFileError, match=message):
        CatalogStore(s3_url)


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(StoreFileError, match=r"pip install 'corpus-assets\[s3\]'"):
        CatalogStore("s3://bucket/x")
