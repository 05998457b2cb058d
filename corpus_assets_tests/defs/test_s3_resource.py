"""What the resource `s3` makes of its settings, and of the environment that it begins with."""

import os
import subprocess
import sys
from typing import Any

import dagster as dg
import pytest

from corpus_assets.core.errors import StoreError
from corpus_assets.defs.resources import CorpusResource
from corpus_assets.defs.s3 import StoreOnS3

SECRET = "not-to-be-seen"
GIVEN = {
    "AWS_ENDPOINT_URL": "https://one.example",
    "AWS_DEFAULT_REGION": "eu-north-1",
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_SESSION_TOKEN": "token",
}


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)


@pytest.fixture
def _given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in GIVEN.items():
        monkeypatch.setenv(name, value)


@dg.op
def look(corpus: CorpusResource) -> dict[str, str]:
    assert isinstance(corpus.s3, StoreOnS3)
    return {name: value for name, value in os.environ.items() if name.startswith("AWS_")}


def seen_in_run(**settings: Any) -> dict[str, str]:
    """The AWS_* variables of a run that is launched with settings of the resource."""
    s3 = StoreOnS3.of_environment()

    @dg.job(resource_defs={"s3": s3, "corpus": CorpusResource(s3=s3)})
    def looking() -> None:
        look()

    before = dict(os.environ)
    done = looking.execute_in_process({"resources": {"s3": {"config": settings}}})
    assert dict(os.environ) == before
    assert not [event for event in done.all_events if SECRET in str(event)]
    seen: dict[str, str] = done.output_for_node("look")
    return seen


@pytest.mark.usefixtures("_given")
def test_a_run_begins_with_the_environment_and_secrets_are_shown_by_name_alone() -> None:
    assert StoreOnS3.of_environment().data == {
        "endpoint_url": dg.EnvVar("AWS_ENDPOINT_URL"),
        "region_name": dg.EnvVar("AWS_DEFAULT_REGION"),
        "aws_access_key_id": dg.EnvVar("AWS_ACCESS_KEY_ID"),
        "aws_secret_access_key": dg.EnvVar("AWS_SECRET_ACCESS_KEY"),
        "aws_session_token": dg.EnvVar("AWS_SESSION_TOKEN"),
        "use_unsigned_session": False,
        "use_ssl": True,
        "max_attempts": 13,
    }
    assert seen_in_run() == GIVEN


def test_what_the_launchpad_says_is_the_environment_of_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ELSEWHERE", SECRET)
    assert seen_in_run(
        endpoint_url="http://127.0.0.1:1",
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key={"env": "ELSEWHERE"},
        use_ssl=False,
        max_attempts=3,
    ) == {
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ALLOW_HTTP": "true",
        "AWS_MAX_ATTEMPTS": "3",
    }


@pytest.mark.usefixtures("_given")
def test_one_setting_leaves_the_others_as_they_are() -> None:
    assert seen_in_run(region_name="eu-west-1") == GIVEN | {"AWS_DEFAULT_REGION": "eu-west-1"}
    unsigned = seen_in_run(use_unsigned_session=True)
    assert unsigned == GIVEN | {"AWS_SKIP_SIGNATURE": "true"}


@pytest.mark.usefixtures("_given")
def test_a_profile_replaces_the_keys_of_the_environment_and_a_key_its_token() -> None:
    others = {name: GIVEN[name] for name in ("AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION")}
    assert seen_in_run(profile_name="team") == others | {"AWS_PROFILE": "team"}
    keys = {"aws_access_key_id": "other", "aws_secret_access_key": "secret-2"}
    assert seen_in_run(**keys, aws_session_token="t2") == others | {
        "AWS_ACCESS_KEY_ID": "other",
        "AWS_SECRET_ACCESS_KEY": "secret-2",
        "AWS_SESSION_TOKEN": "t2",
    }


@pytest.mark.usefixtures("_given")
def test_another_key_does_without_the_token_of_the_first() -> None:
    changes = StoreOnS3(aws_access_key_id="other", aws_secret_access_key="s").changes()
    assert changes["AWS_SESSION_TOKEN"] is None


def test_what_the_environment_allows_can_be_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ALLOW_HTTP", "AWS_SKIP_SIGNATURE"):
        monkeypatch.setenv(name, "yes")
    assert set(seen_in_run()) == {"AWS_ALLOW_HTTP", "AWS_SKIP_SIGNATURE"}
    assert seen_in_run(use_ssl=True, use_unsigned_session=False) == {}


def test_certificates_are_always_verified() -> None:
    with pytest.raises(StoreError, match="always verifies certificates"):
        StoreOnS3(verify=False).changes()


@pytest.mark.parametrize(
    ("store", "expected"), [("s3://bucket/x", "['corpus', 's3'] True"), ("", "['corpus'] False")]
)
def test_the_code_location_has_it_where_the_store_is_on_s3_and_loads_boto3_nowhere_else(
    store: str, expected: str
) -> None:
    code = (
        "import sys; from corpus_assets.definitions import defs; "
        "found = defs.get_repository_def().get_top_level_resources(); "
        "print(sorted(set(found) - {'io_manager'}), 'boto3' in sys.modules)"
    )
    environment = os.environ | {"CORPUS_STORE_URL": store}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert (done.stdout, done.stderr) == (f"{expected}\n", "")
