"""What a version's selection would keep with other thresholds, from what was counted when it was
published: an answer takes a look into a small file, however large the corpus is."""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from catalog.db import THRESHOLDS, VersionRow, load_counts
from catalog.errors import CatalogError
from catalog.formats.store import FileStore
from catalog.review import ABOVE, threshold_name


def what_if(store: FileStore, version: VersionRow, asked: Mapping[str, str]) -> dict[str, Any]:
    """Return every threshold at the place that was asked for, what it would keep there alone, and
    what is known of all moved ones together."""
    counted = load_counts(store, version, THRESHOLDS)
    if counted is None:
        return {"version": version.name, "rows": [], "other_rules": [], "scale": 1.0}
    scale = counted["documents"] / max(1, counted["looked_at"])
    kept, chars = counted["kept"], counted["kept_chars"]
    rows = [_row(one, asked, scale, kept) for one in counted["thresholds"]]
    moved = [row["change"] for row in rows if row["place"] != row["now"]]
    return {
        "version": version.name,
        "rows": rows,
        "other_rules": counted["other_rules"],
        "scale": scale,
        "documents": counted["documents"],
        "kept": round(kept * scale),
        "kept_chars": round(chars * scale),
        "moved": len(moved),
        "together": _together(round(kept * scale), moved),
    }


def _row(
    one: Mapping[str, Any], asked: Mapping[str, str], scale: float, kept: int
) -> dict[str, Any]:
    """Return a threshold at the value nearest to a typed one, else at the slider's place."""
    name, values = threshold_name(one), one["values"]
    place, typed = one["now"], None
    if written := asked.get(f"{name}.value", "").strip():
        try:
            typed = float(written)
        except ValueError as error:
            raise CatalogError(f"{name} is a number, not {written[:40]!r}") from error
        if not isfinite(typed):
            raise CatalogError(f"{name} is a finite number, not {written[:40]!r}")
        place = min(range(len(values)), key=lambda k: abs(values[k] - typed))
    elif (chosen := asked.get(name)) is not None:
        if not re.fullmatch("[0-9]{1,9}", chosen) or int(chosen) >= len(values):
            raise CatalogError(
                f"{name} has places from 0 to {len(values) - 1}, not {chosen[:40]!r}"
            )
        place = int(chosen)
    return {
        "name": name,
        "rule": one["rule"],
        "asks": f"{one['signal']} {ABOVE[one['end'], one['exclusive']]}",
        "only": one["language"] or ", ".join([*one["domains"], *one["languages"]]),
        "places": len(values) - 1,
        "place": place,
        "typed": typed,
        "now": one["now"],
        "value": values[place],
        "value_now": values[one["now"]],
        "ends": (values[0], values[-1]),
        "kept": round(one["documents"][place] * scale),
        "chars": round(one["chars"][place] * scale),
        "change": round((one["documents"][place] - kept) * scale),
        "curve": one["documents"],
    }


def _together(kept: int, changes: list[int]) -> tuple[int, int | None] | None:
    """Return the least and the most that is kept with all of them; None for the most that is not
    known, and None where none was moved.

    Tightened ones may drop the same documents. What fails two rules comes in only with both.
    """
    if len(changes) < 2:
        return (kept + changes[0], kept + changes[0]) if changes else None
    fewer, more = [c for c in changes if c < 0], [c for c in changes if c > 0]
    least = max(0, kept + sum(fewer) + (0 if fewer else sum(more)))
    return least, kept + min(fewer, default=0) if not more else None
