"""Fixtures: an S3 server for all tests of a process, and nothing of the user's around it."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus_assets.core.store_s3 import S3Store
from corpus_assets_tests.s3_server import BUCKET, S3Server, environment, running_s3


def forget_environment(patch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "CORPUS_")) and name != "CORPUS_MODELS":
            patch.delenv(name)
    patch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture
def nothing_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials, server or cache but the test's own."""
    forget_environment(monkeypatch)
    monkeypatch.setenv("CORPUS_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with running_s3(tmp_path_factory.mktemp("s3")) as started:
        yield started


@pytest.fixture
def s3_url(s3_server: S3Server, nothing_of_the_user: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty place in the test bucket, and the variables that lead to it."""
    for name, value in environment(s3_server.endpoint).items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{uuid.uuid4().hex}/store"


@pytest.fixture
def s3(s3_url: str) -> S3Store:
    return S3Store(s3_url)
