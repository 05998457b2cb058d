"""JSON values in one form: their bytes and digest, strict parsing, seals, and what differs between
two of them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CHECKSUM = "checksum"
canonical_text = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode
"""Serialize plain JSON values to the one text that stands for them."""


def canonical_json(value: Any) -> bytes:
    """Serialize plain JSON values to the one byte string that stands for them."""
    return canonical_text(value).encode("utf-8")


def strict_json(data: bytes | str) -> Any:
    """Parse JSON that every parser reads alike; ValueError where a key is a duplicate in one object,
    for numbers that JSON does not have, and for values nested too deeply to be read."""
    try:
        return json.loads(data, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("its values are nested too deeply") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:40]!r} is a duplicate in one object")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def digest(value: Any) -> str:
    """Return SHA-256 over the canonical JSON of `value`, in hex."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def sealed_json(body: Mapping[str, Any]) -> bytes:
    """Return canonical JSON with its own SHA-256 in `checksum`, for files that no digest names."""
    return canonical_json({**body, CHECKSUM: digest(dict(body))})


def unseal(data: bytes) -> tuple[dict[str, Any], str, str]:
    """Return what `sealed_json` wrote: the body, its digest and the one recorded; ValueError where
    it is no such JSON."""
    try:
        body = dict(json.loads(data))
        recorded = str(body.pop(CHECKSUM))
        return body, digest(body), recorded
    except KeyError as error:
        raise ValueError("it has no checksum") from error
    except (TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error


@dataclass(frozen=True, slots=True)
class ChangedKey:
    """A key whose value differs between two mappings; None where it is absent."""

    key: str
    before: Any
    after: Any


def changed_keys(before: Any, after: Any) -> list[ChangedKey]:
    """Return dotted keys whose values differ; None stands for a key that is not there.

    Things in a list are told apart by their names where each has one, as in `--set`, so that one
    more shifts no others; `KEY.*` has the names in their order.
    """
    old, new = dict(_flat(before)), dict(_flat(after))
    return [
        ChangedKey(key, old.get(key), new.get(key))
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key) or (key in old) != (key in new)
    ]


def _flat(value: Any, key: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        return [
            item
            for name, inner in value.items()
            for item in _flat(inner, f"{key}.{name}" if key else str(name))
        ]
    if isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        names = [inner.get("name") if isinstance(inner, dict) else None for inner in value]
        is_named = all(isinstance(name, str) for name in names) and len({*names}) == len(names)
        return [(f"{key}.*", names)] * is_named + [
            item
            for place, inner in enumerate(value)
            for item in _flat(inner, f"{key}.{names[place]}" if is_named else f"{key}[{place}]")
        ]
    return [(key, value)]
