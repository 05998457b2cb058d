"""`hf://OWNER/REPO@REVISION/PATH`: files of the Hugging Face hub, by plain HTTPS.

`hf://datasets/OWNER/REPO@...` is a dataset. A revision that is no commit (`main`) is resolved to
the commit that it names now, and all files come from that one. The hub says of each file how long
it is, and of large ones the SHA-256.

`HF_TOKEN`, where it is set, is sent to the hub's own host and to no other, whatever it redirects to.
"""

import json
import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from corpus_assets.core.errors import ModelError
from corpus_assets.ingest import Fetcher
from corpus_assets.install.contents import Wanted, checked_name
from corpus_assets.install.mirrors import mirrored

HUB = "https://huggingface.co/"
TOKEN = "HF_TOKEN"  # noqa: S105, the name of a variable
MAX_ANSWER_BYTES = 32 << 20

_FORM = re.compile(
    r"hf://(datasets/)?([\w.-]+/[\w.-]+)@([A-Za-z0-9][A-Za-z0-9._-]{0,99})(?:/([^?#]+))?"
)
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubPlace:
    kind: str  # `models` or `datasets`, as the hub's addresses have it
    repository: str
    revision: str
    path: str  # of a file; empty: all of them

    @classmethod
    def parse(cls, place: str) -> "HubPlace":
        found = _FORM.fullmatch(place)
        if found is None:
            raise ModelError(f"{place}: not of the form hf://OWNER/REPO@REVISION/PATH; correct it")
        path = checked_name(found[4], place) if found[4] else ""
        return cls("datasets" if found[1] else "models", found[2], found[3], path)

    @property
    def is_commit(self) -> bool:
        return _COMMIT.fullmatch(self.revision) is not None

    def url_of(self, name: str) -> str:
        above = "datasets/" if self.kind == "datasets" else ""
        return f"{hub()}{above}{self.repository}/resolve/{self.revision}/{quote(name)}"


def hub() -> str:
    """Return the address of the hub, or of its mirror."""
    return mirrored(HUB)


def tokens() -> dict[str, str]:
    """Return which host gets which token: the hub alone."""
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        return {}
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ModelError(f"{TOKEN} is not a token: it has white space or control characters")
    return {urlsplit(hub()).netloc.lower(): token}


def files_of(place: HubPlace, fetcher: Fetcher) -> tuple[str, list[Wanted]]:
    """Return the commit and its files, in the order of their names; one request. A single file at
    a commit is known without any."""
    if place.path and place.is_commit:
        return place.revision, [Wanted(place.path, place.url_of(place.path))]
    url = f"{hub()}api/{place.kind}/{place.repository}/revision/{quote(place.revision)}?blobs=true"
    try:
        answer = json.loads(fetcher.answer(url, MAX_ANSWER_BYTES))
        commit, siblings = str(answer["sha"]), list(answer["siblings"])
        at = HubPlace(place.kind, place.repository, commit, place.path)
        found = [_wanted(at, each) for each in siblings]
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"hf://{place.repository}: the hub's answer cannot be read ({type(error).__name__}); "
            "run the same command again"
        ) from error
    if not at.is_commit or (place.is_commit and commit != place.revision):
        raise ModelError(
            f"hf://{place.repository}: the hub answers with another revision, {commit}"
        )
    if place.path:
        found = [each for each in found if each.name == place.path]
        if not found:
            raise ModelError(f"hf://{place.repository}@{commit} has no file {place.path}")
    return commit, sorted(found, key=lambda each: each.name)


def _wanted(place: HubPlace, sibling: dict[str, Any]) -> Wanted:
    name = checked_name(str(sibling["rfilename"]), place.repository)
    large = sibling.get("lfs") or {}
    size, sha256 = sibling.get("size"), str(large.get("sha256") or "")
    if sha256 and re.fullmatch("[0-9a-f]{64}", sha256) is None:
        raise ValueError(sha256)
    return Wanted(name, place.url_of(name), int(size) if size is not None else None, sha256)
