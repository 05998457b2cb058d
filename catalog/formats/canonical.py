"""JSON values in one form: their digest, and what differs between two of them."""

import hashlib
import json
from typing import Any


def canonical_digest(value: Any) -> str:
    """SHA-256 over canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def changed_keys(before: Any, after: Any) -> list[dict[str, Any]]:
    """Dotted keys whose values differ; None stands for a key that is not there."""
    old, new = dict(_flat(before)), dict(_flat(after))
    return [
        {"key": key, "before": old.get(key), "after": new.get(key)}
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
        return [
            item for place, inner in enumerate(value) for item in _flat(inner, f"{key}[{place}]")
        ]
    return [(key, value)]
