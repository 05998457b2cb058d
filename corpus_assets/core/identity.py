"""Identity of work: settings and versions in, one fingerprint out.

A fingerprint covers what can change bytes: the stage's name and version, its settings and the
content hashes of what it reads. Where the work runs, with how many workers and how its inputs
came to be are left out, so that equal inputs always meet the same result (ADR 2).
"""

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo

from catalog.formats.canonical import canonical_json as canonical_json
from catalog.formats.canonical import canonical_text
from catalog.formats.canonical import digest as digest
from catalog.formats.names import check_name
from corpus_assets.core.errors import SourceError


def _named(value: str, info: ValidationInfo) -> str:
    what = (info.field_name or "").removesuffix("s")
    return check_name(what if what != "name" else "recipe or source", value)


Name = Annotated[str, AfterValidator(_named)]
"""The name of a recipe, source, snapshot or domain."""


class Settings(BaseModel):
    """Base of every settings model: declared once, immutable, unknown keys refused.

    Numbers are finite: JSON, and so a fingerprint, has no others. Validators are built when they
    are first needed, those of a recipe's parts within the recipe's: half the time of reading one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    def identity(self) -> dict[str, Any]:
        """Return the settings as plain JSON values, defaults included."""
        return self.model_dump(mode="json")


def is_absent(value: object) -> bool:
    """Whether a setting says nothing. `Field(exclude_if=is_absent)` leaves such a key out of
    identities: a key that is added later changes no result of recipes that do not set it."""
    return value is None or value == {} or value == ()


def file_digest(path: Path) -> str:
    """SHA-256 of a file that a recipe names, in hex."""
    try:
        with open(path, "rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}; correct the recipe") from error


def fingerprint(
    stage: str, version: int, settings: Mapping[str, Any], inputs: Mapping[str, str]
) -> str:
    """Identity of one task: `inputs` maps each input's name to its content hash.

    The digest of canonical JSON of the four by their names, put together from its pieces: tasks of
    a stage share most of their settings, which are rendered once.
    """
    text = (
        f'{{"inputs":{_hashes(inputs)},"settings":{_WHOLE.text(settings)},'
        f'"stage":{_name(stage)},"version":{version}}}'
    )
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _hashes(inputs: Mapping[str, str]) -> str:
    """Return canonical JSON; of a few inputs, as most tasks have, in a third of the time."""
    if len(inputs) > 16:
        return canonical_text(dict(inputs))
    return f"{{{','.join([f'{_name(n)}:{_plain(inputs[n])}' for n in sorted(inputs)])}}}"


_name = lru_cache(1024)(canonical_text)
"""Names of stages and inputs, which tasks of a stage share."""


def _plain(text: str) -> str:
    """Return a string as canonical JSON has it; letters and digits need no look."""
    return f'"{text}"' if text.isalnum() and text.isascii() else canonical_text(text)


class _Rendered:
    """Canonical JSON of the containers that were asked for last, by `id`, which no other object has
    while one is held here. The settings of a task never change."""

    def __init__(self, render: Callable[[Any], str]) -> None:
        self._render = render
        self._known: dict[int, tuple[object, str]] = {}

    def text(self, value: Any) -> str:
        found = self._known.get(id(value))
        if found is None:
            if len(self._known) >= 64:
                self._known.clear()
            found = self._known[id(value)] = value, self._render(value)
        return found[1]


def _by_keys(settings: Mapping[str, Any]) -> str:
    return f"{{{','.join([f'{_name(n)}:{_value(settings[n])}' for n in sorted(settings)])}}}"


def _value(value: object) -> str:
    return _NESTED.text(value) if isinstance(value, dict | list) else canonical_text(value)


_WHOLE, _NESTED = _Rendered(_by_keys), _Rendered(canonical_text)
"""Settings that tasks share whole, and values of those that differ in a key."""


def keyed_hash(key: bytes, data: bytes) -> int:
    """Return a 64-bit keyed hash for placement and ordering (BLAKE2b-64, little-endian)."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key[:64]).digest(), "little")
