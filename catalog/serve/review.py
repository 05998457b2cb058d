"""The review of a version: samples that were asked for last, and the place of a reviewer in one."""

import base64
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from markupsafe import Markup

from catalog.db import JudgementRow, VersionRow
from catalog.errors import CatalogError
from catalog.lineage import Lineage
from catalog.review import (
    DRAWN,
    MOST_DRAWN,
    Asked,
    Drawn,
    Place,
    Sizes,
    draw,
    is_good,
    place_of,
    shown_record,
    stratum_sizes,
)
from catalog.serve import story
from catalog.serve.guard import HEADERS, Form

REMEMBERED = 32  # samples, and sizes of the strata of versions
PLACE = ("doc_id", "snapshot", "part", "offset")
FILTERS = ("decision", "language", "page_type")

KEYS = Markup(Path(__file__).with_name("keys.js").read_text())  # noqa: S704 - our own script
POLICY = "{}; script-src 'sha256-{}'".format(
    HEADERS["Content-Security-Policy"],
    base64.b64encode(hashlib.sha256(KEYS.encode()).digest()).decode(),
)
"""Of the one page with a script: browsers run this one there and no other."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class Samples:
    """Sizes of strata and samples of versions, which do not change; a takedown that is filed later
    is seen when a record is shown."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[VersionRow, Sizes] = OrderedDict()
        self._drawn: OrderedDict[tuple[VersionRow, Asked], Drawn] = OrderedDict()
        self._lock = threading.Lock()

    def sizes(self, lineage: Lineage) -> Sizes:
        return self._remembered(self._sizes, lineage.version, lambda: stratum_sizes(lineage))

    def drawn(self, lineage: Lineage, asked: Asked) -> Drawn:
        sizes = self.sizes(lineage)
        key = (lineage.version, asked)
        return self._remembered(self._drawn, key, lambda: draw(lineage, sizes, asked))

    def _remembered(
        self, known: OrderedDict[Key, Value], key: Key, make: Callable[[], Value]
    ) -> Value:
        with self._lock:
            if key in known:
                known.move_to_end(key)
                return known[key]
        made = make()
        with self._lock:
            known[key] = made
            while len(known) > REMEMBERED:
                known.popitem(last=False)
        return made


def asked_of(query: Mapping[str, str]) -> Asked:
    """Read which records to draw from a query or a form."""

    def number(side: str) -> int:
        found = story.number(query.get(side, "").strip(), side, DRAWN)
        if found is None or found > MOST_DRAWN:
            raise CatalogError(f"{side} is at most {MOST_DRAWN:,}")
        return found

    filters = {name: query.get(name, "") for name in FILTERS}
    return Asked(number("kept"), number("dropped"), **filters)


def query_of(asked: Asked, version: str | None, by: str) -> dict[str, Any]:
    """Return what a link asks for to draw the same records again."""
    filters = {name: getattr(asked, name) or None for name in FILTERS}
    numbers = {"kept": asked.kept, "dropped": asked.dropped}
    return {"version": version, **numbers, **filters, "by": by or None}


def judged_by(rows: Sequence[JudgementRow], by: str, drawn: Drawn) -> dict[Place, JudgementRow]:
    """Return a reviewer's judgements of a sample, oldest first."""
    there = {place_of(record) for record in drawn.records}
    return {place_of(row): row for row in rows if row.judged_by == by and place_of(row) in there}


def next_open(drawn: Drawn, judged: Mapping[Place, JudgementRow], after: int) -> int | None:
    """Return the number, from 1, of the next record that is not judged; from the beginning again
    behind the last one."""
    numbers = list(range(1, len(drawn.records) + 1))
    for number in numbers[after:] + numbers[:after]:
        if place_of(drawn.records[number - 1]) not in judged:
            return number
    return None


def page_of(
    lineage: Lineage, drawn: Drawn, judged: Mapping[Place, JudgementRow], at: int | None
) -> dict[str, Any]:
    """Return what the page of one record of a sample shows: the one at a number from 1, else the
    next one to judge, else the last."""
    total = len(drawn.records)
    at = min(at or next_open(drawn, judged, 0) or total, total)
    record = drawn.records[at - 1] if at else None
    shown = shown_record(lineage, record) if record is not None else None
    mine = judged.get(place_of(record)) if record is not None else None
    last = list(judged.values())[-1] if judged else None
    following = next_open(drawn, judged, at)
    return {
        "at": at,
        "total": total,
        "answered": len(judged),
        "shown": shown,
        "rules": story.rules_of(lineage, shown) if shown else [],
        "mine": None if mine is None else {"why": mine.why, "is_good": is_good(mine)},
        "last": None if last is None else dict(zip(PLACE, place_of(last), strict=True)),
        "skip_to": None if following == at else following,
        "unrepresented": drawn.unrepresented,
        "withheld": drawn.withheld,
    }


def last_place(form: Form) -> dict[str, str]:
    """Return the fields of a form that name the record which was judged last."""
    return {name: form.get(f"last_{name}", "") for name in PLACE}


def number_of(drawn: Drawn, place: Place) -> int | None:
    """Return the number of a record in a sample, from 1."""
    places = [place_of(record) for record in drawn.records]
    return places.index(place) + 1 if place in places else None
