"""How a store on S3 is reached, as a resource: shown in the UI, changed in the launchpad.

The store reads the AWS_* variables of its process, and so do the workers that a run starts, the
command line and boto3. The resource begins with what these variables say, secrets by name alone; in
a run they are what the resource says. Importing dagster-aws takes 0.8 s of CPU time, so definitions
import this file only where the store is on S3.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg
from dagster_aws.s3 import S3Resource

from catalog.formats import s3
from corpus_assets.core.errors import StoreError

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "endpoint_url": s3.AWS_ENDPOINTS,
    "region_name": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "profile_name": ("AWS_PROFILE",),
    "aws_access_key_id": ("AWS_ACCESS_KEY_ID",),
    "aws_secret_access_key": ("AWS_SECRET_ACCESS_KEY",),
    "aws_session_token": ("AWS_SESSION_TOKEN",),
}
"""The variables of a setting; the first that has a value counts."""

KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")

Changes = Mapping[str, str | None]
"""New values of variables; None: it goes."""


class StoreOnS3(S3Resource):
    """Server, region and credentials of the store on S3, for the run and its workers.

    Empty settings are taken from the environment of the run. Name a secret instead of typing it:
    `aws_secret_access_key: {env: NAME}`. `profile_name` replaces the keys of the environment.
    `use_ssl: false` permits an `endpoint_url` with http://. Ray nodes use their own environment.
    """

    @classmethod
    def of_environment(cls) -> Any:
        """Return the resource with the settings that this process has, open to those of a run."""
        named = {field: _variable(field) for field in VARIABLES}
        given = {f: dg.EnvVar(name) for f, name in named.items() if os.environ.get(name)}
        return cls.configure_at_launch(
            use_unsigned_session=s3.is_on("AWS_SKIP_SIGNATURE"),
            use_ssl=not s3.is_on("AWS_ALLOW_HTTP"),
            max_attempts=s3.retries_allowed() + 1,
            **given,
        )

    @contextlib.contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["StoreOnS3"]:
        """Change the environment for as long as the run's steps take."""
        with _changed(self.changes()):
            yield self

    def get_object_to_set_on_execution_context(self) -> "StoreOnS3":
        """Be the resource itself: a client of boto3 takes 0.1 s or more to make, and is not needed."""
        return self

    def changes(self) -> Changes:
        """Return the variables that the resource wants otherwise than they are."""
        if self.verify is False:
            raise StoreError(
                "resource s3: the store always verifies certificates; remove `verify`, and name your "
                "own authority's certificate in SSL_CERT_FILE"
            )
        wanted = {_variable(field): getattr(self, field) for field in VARIABLES}
        changes: dict[str, str | None] = {
            name: value for name, value in wanted.items() if value and os.environ.get(name) != value
        }
        if "AWS_PROFILE" in changes and "AWS_ACCESS_KEY_ID" not in changes:
            changes |= dict.fromkeys(KEYS)
        if "AWS_ACCESS_KEY_ID" in changes:  # a token belongs to its key
            changes.setdefault("AWS_SESSION_TOKEN", None)
        for name, is_wanted in (
            ("AWS_SKIP_SIGNATURE", self.use_unsigned_session),
            ("AWS_ALLOW_HTTP", not self.use_ssl),
        ):
            if is_wanted != s3.is_on(name):
                changes[name] = "true" if is_wanted else None
        if self.max_attempts != s3.retries_allowed() + 1:
            changes["AWS_MAX_ATTEMPTS"] = str(self.max_attempts)
        return changes


def _variable(field: str) -> str:
    names = VARIABLES[field]
    return next((name for name in names if os.environ.get(name)), names[0])


@contextlib.contextmanager
def _changed(changes: Changes) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    _set(changes)
    try:
        yield
    finally:
        _set(before)


def _set(values: Changes) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
