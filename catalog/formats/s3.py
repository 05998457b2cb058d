"""S3 servers, Amazon's or any compatible one: the AWS_* variables, the client, what its errors say.

Server and credentials come from the usual variables, those of a profile (AWS_PROFILE) through boto3,
which also refreshes what a role or single sign-on gives for a while; nothing of them is logged or
shown. What can be wrong with them is a ValueError that says what to set.
"""

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

AWS_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_METADATA_ENDPOINT",  # the role of a cloud machine, used only where it is asked for
    "AWS_SKIP_SIGNATURE",
    "AWS_PROFILE",
)
AWS_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")

RETRIES = 12  # where AWS_MAX_ATTEMPTS, which counts the first try, says nothing else

BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")
PREFIX = re.compile(r"(?!\.\.(/|$))(?!.*/\.\.(/|$))[^\x00-\x1f\x7f?#%\\]*")


def has_credentials(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the AWS_* variables say how to sign requests to S3, or not to."""
    return any(environment.get(name) for name in AWS_CREDENTIALS)


def is_on(name: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a variable says yes."""
    return environment.get(name, "").lower() in ("1", "true", "yes", "on", "y")


def retries_allowed(environment: Mapping[str, str] = os.environ) -> int:
    """Return how often a request is repeated."""
    text = environment.get("AWS_MAX_ATTEMPTS") or str(RETRIES + 1)
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"AWS_MAX_ATTEMPTS is {text!r}; expected a number of 1 or more")
    return int(text) - 1


def server_address(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the S3 server's address, None for Amazon's own; checked, since the client only
    panics."""
    name, endpoint = next(
        ((name, environment[name]) for name in AWS_ENDPOINTS if environment.get(name)), ("", "")
    )
    if not endpoint:
        return None
    try:
        parts = urlsplit(endpoint)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"{name} is not a valid URL; write it as https://host:port") from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.query:
        raise ValueError(f"{name} is not a server's address; write it as https://host:port")
    if parts.scheme == "http" and not is_on("AWS_ALLOW_HTTP", environment):
        raise ValueError(
            f"{name} {endpoint} is not encrypted; use https://, or set AWS_ALLOW_HTTP=true for a "
            "server on this machine"
        )
    return endpoint.rstrip("/")


def split_url(url: str) -> tuple[str, str]:
    """Return a store's bucket and prefix; a URL with anything else in it (a port, a key, a query)
    is refused."""
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    prefix = prefix.strip("/")
    plain = not prefix or prefix == "/".join(PurePosixPath(prefix).parts)
    if not BUCKET.fullmatch(bucket) or not plain or not PREFIX.fullmatch(prefix):
        raise ValueError("the store URL is not of the form s3://bucket/prefix; correct it")
    return bucket, prefix


def connect(bucket: str, prefix: str = "", retries: int = RETRIES, timeout_s: float = 60.0) -> Any:
    """Return a client of a bucket; nothing is asked yet. Without credentials requests are not
    signed, which is how public buckets are read. ImportError where obstore is not installed.

    `retries` counts per request, with exponential backoff; twelve last about ten seconds. A stalled
    transfer is given up after `timeout_s`; a whole request may take long enough for a large object
    on a slow line.
    """
    from obstore.store import S3Store

    refuse_after_fork()
    endpoint = server_address()
    config: dict[str, Any] = {"endpoint": endpoint} if endpoint else {}
    if not has_credentials():
        config["skip_signature"] = True
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region:  # else that of the profile
        config["region"] = region
    options: dict[str, Any] = {
        "client_options": {
            "allow_http": bool(endpoint and endpoint.startswith("http://")),
            "connect_timeout": timedelta(seconds=10),
            "read_timeout": timedelta(seconds=timeout_s),
            "timeout": timedelta(minutes=15),
        },
        "retry_config": {
            "max_retries": retries,
            "retry_timeout": timedelta(minutes=3),
            "backoff": {
                "init_backoff": timedelta(milliseconds=300),
                "max_backoff": timedelta(seconds=15),
                "base": 2,
            },
        },
    }
    profile = os.environ.get("AWS_PROFILE")
    if profile and not os.environ.get("AWS_ACCESS_KEY_ID") and not is_on("AWS_SKIP_SIGNATURE"):
        options["credential_provider"] = _credentials_of(profile)
    return cast(Any, S3Store)(bucket, prefix=prefix or None, config=config or None, **options)


def _credentials_of(profile: str) -> Any:
    import boto3
    from botocore.exceptions import ProfileNotFound
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        return Boto3CredentialProvider(boto3.Session(profile_name=profile))
    except ProfileNotFound:
        raise ValueError(
            f"there is no profile {profile!r} (AWS_PROFILE) in the AWS configuration of this user; "
            "`aws configure list-profiles` lists them"
        ) from None
    except ValueError:
        raise ValueError(
            f"the profile {profile!r} (AWS_PROFILE) has no credentials; `aws configure` adds them"
        ) from None


_process: int | None = None  # the one whose threads serve all clients


def refuse_after_fork() -> None:
    """The client's threads do not survive a fork: the child would wait for them for ever."""
    global _process
    if _process is None:
        _process = os.getpid()
    elif _process != os.getpid():
        raise ValueError(
            "this process was forked from one that used S3, which cannot work; start workers with "
            "the `spawn` method (for PyTorch: DataLoader(multiprocessing_context='spawn'))"
        )


class Fault(NamedTuple):
    """What the client's message says. The message itself quotes the server's answer, which names
    the access key: it is not shown, and not kept as a cause."""

    status: int  # of HTTP; 0 where no answer came
    code: str  # S3's own word for it, or empty
    wrong_credentials: bool
    wrong_region: bool
    unreachable: bool
    line: str  # what may be shown of a message that says nothing else

    @property
    def shown(self) -> str:
        return f"HTTP {self.status} {self.code}".rstrip()


def fault_of(error: Exception) -> Fault:
    """Read an error of the client."""
    answer = str(error).partition("\n\nDebug source")[0]
    found = re.search(r"<Code>(\w+)</Code>", answer)
    status = re.search(r"status code: (\d{3})|(\d{3}) (?:Forbidden|Unauthorized)", answer)
    code = found[1] if found else ""
    return Fault(
        status=int(status[1] or status[2]) if status else 0,
        code=code,
        wrong_credentials=code
        in ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"),
        wrong_region=code == "AuthorizationHeaderMalformed"
        or "incorrectly configured region" in answer,
        unreachable=status is None and "HTTP error" in answer,
        line=answer.partition("\n")[0].partition("<")[0][:200],
    )
