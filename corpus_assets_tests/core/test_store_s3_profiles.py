"""Credentials of an AWS profile, and how often requests are repeated."""

import textwrap
from pathlib import Path

import pytest

from catalog.errors import StoreFileError
from catalog.formats.store import FileStore as CatalogStore
from corpus_assets.core.errors import StoreError
from corpus_assets.core.store import open_store
from corpus_assets.core.store_s3 import S3Store
from corpus_assets_tests.s3_server import WRITER

pytestmark = pytest.mark.usefixtures("nothing_of_the_user")

PROFILES = f"""
    [team]
    aws_access_key_id = {WRITER["key"]}
    aws_secret_access_key = {WRITER["secret"]}

    [outsider]
    aws_access_key_id = nobody
    aws_secret_access_key = knows

    [empty]
"""
CONFIG = """
    [profile team]
    region = us-east-1

    [profile program]
    credential_process = cat {folder}/answer.json
    region = us-east-1
"""


@pytest.fixture
def _profiles(s3_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Profiles in files, and the server, but no keys and no region in the environment."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    for name, text in (("SHARED_CREDENTIALS", PROFILES), ("CONFIG", CONFIG)):
        path = tmp_path / name.lower()
        path.write_text(textwrap.dedent(text).format(folder=tmp_path))
        monkeypatch.setenv(f"AWS_{name}_FILE", str(path))


@pytest.mark.usefixtures("_profiles")
class TestAProfile:
    def test_its_keys_open_the_store_for_all_readers(
        self, s3_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_PROFILE", "team")
        store = S3Store(s3_url)
        store.write("a/x", b"data")
        assert store.read("a/x") == b"data"
        assert store.local("a/x").read_bytes() == b"data"
        with CatalogStore(s3_url).open("a/x") as file:
            assert file.read() == b"data"

    def test_what_a_program_answers_is_asked_for(
        self, s3_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "answer.json").write_text(
            f'{{"Version": 1, "AccessKeyId": "{WRITER["key"]}", '
            f'"SecretAccessKey": "{WRITER["secret"]}"}}'
        )
        monkeypatch.setenv("AWS_PROFILE", "program")
        S3Store(s3_url).write("a/x", b"data")

    def test_keys_of_the_environment_come_first(
        self, s3_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_PROFILE", "outsider")
        with pytest.raises(StoreError, match="does not accept the credentials"):
            S3Store(s3_url, retries=0).write("a/x", b"data")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", WRITER["key"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", WRITER["secret"])
        S3Store(s3_url, retries=0).write("a/x", b"data")

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("nowhere", "there is no profile 'nowhere' .*aws configure list-profiles"),
            ("empty", "the profile 'empty' .* has no credentials"),
        ],
    )
    def test_one_that_cannot_work_is_one_line(
        self, s3_url: str, monkeypatch: pytest.MonkeyPatch, name: str, message: str
    ) -> None:
        monkeypatch.setenv("AWS_PROFILE", name)
        with pytest.raises(StoreError, match=message) as caught:
            open_store(s3_url)
        assert "\n" not in str(caught.value)


def test_requests_are_repeated_as_often_as_boto3_would(
    s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert S3Store(s3_url).retries == 12
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "3")
    assert S3Store(s3_url).retries == 2
    assert S3Store(s3_url, retries=5).retries == 5
    for wrong in ("0", "-1", "often"):
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", wrong)
        with pytest.raises(StoreFileError, match="AWS_MAX_ATTEMPTS is .*; expected a number"):
            CatalogStore(s3_url)
