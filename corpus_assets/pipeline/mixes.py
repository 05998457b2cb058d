"""Two mixes beside each other."""

from collections.abc import Mapping
from typing import Any

NOTHING: Mapping[str, Any] = {"share": 0.0, "drawn_tokens": 0, "epochs": 0.0, "tokens": 0}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a group of either: share, tokens and epochs on both sides."""
    old, new = ({row["group"]: row for row in mix["rows"]} for mix in (before, after))
    return [
        {
            "group": name,
            **{
                key: {
                    "before": old.get(name, NOTHING)[key],
                    "after": new.get(name, NOTHING)[key],
                }
                for key in ("tokens", "drawn_tokens", "share", "epochs")
            },
            "allowed": (new.get(name) or old[name])["allowed"],
        }
        for name in sorted({*old, *new})
    ]
