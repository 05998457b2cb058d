"""Thresholds that fit people's judgements better than those in force.

A threshold decides about kept documents and about those that fail its rule alone. Of these, a good
one below a `min` (above a `max`) is a wrong answer, and a bad one that passes is another. Proposed
is the bound with the fewest wrong answers, where

1. a judged document fails it,
2. good documents have higher values (of a `max`, lower ones) by the one-sided test of Mann and
   Whitney, at 5% divided by the number of thresholds that are tested (Bonferroni), and
3. more answers become right than wrong with it than by chance at 5%, by the sign test of those that
   change.

Answers are counted one by one, not weighted: rules take turns in samples, so kept documents do not
outnumber the few that a rule drops.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb, erfc, isnan, sqrt
from typing import Annotated, Any, ClassVar

import yaml

from catalog.answers import Shown
from catalog.db import THRESHOLDS, load_counts
from catalog.figures import written
from catalog.lineage import Lineage, Row
from catalog.review.records import Place

ERROR_RATE = 0.05
ABOVE = {("min", False): "at least", ("min", True): "more than",
         ("max", False): "at most", ("max", True): "less than"}  # fmt: skip

ONE_SIDE = "no judged document fails it alone"
NOT_ENOUGH = "not enough answers"
NOT_APART = "good and bad documents do not differ in it"
BEST = "no other value is clearly better"


@dataclass(frozen=True)
class JudgedSignal:
    """A judged record, and the only rule of selection that it fails."""

    place: Place
    domain: str | None
    language: str | None
    failed: str | None
    is_good: bool


@dataclass(frozen=True)
class Proposal:
    """What judgements say of a threshold: `value` is the one proposed, else `why_none` says why
    there is none. `answers` are judged records that it decides about, `dropped` those of them that
    it drops, `wrong` how many are decided wrongly now, and `wrong_then` with the value proposed."""

    threshold: str
    signal: str
    asks: str
    language: str | None
    now: Annotated[float, Shown(form=written)]
    value: Annotated[float | None, Shown("proposed", form=written)]
    answers: int
    good: int
    dropped: int
    wrong: Annotated[int, Shown("wrong now")]
    wrong_then: Annotated[int | None, Shown("wrong then")]
    why_none: str | None

    shows: ClassVar = ("threshold", "signal", "now", "value", "answers", "wrong", "wrong_then")


def propose(lineage: Lineage, judged: Sequence[JudgedSignal]) -> list[Proposal]:
    """Return what judgements say of each threshold that was counted when the version was published,
    which are those that what-ifs know; proposals first, then those with most answers."""
    counted = load_counts(lineage.store, lineage.version, THRESHOLDS)
    if counted is None or not judged:
        return []
    recipe = yaml.safe_load(lineage.registry.recipe(lineage.version.recipe_digest).yaml) or {}
    rules = {rule["name"]: rule for rule in (recipe.get("selection") or {}).get("rules") or ()}
    thresholds = counted["thresholds"]
    signals = _signals(lineage, judged, {one["signal"] for one in thresholds})
    asked = [
        (one, values, good, dropped)
        for one in thresholds
        for values, good, dropped in [_about(one, rules[one["rule"]], judged, signals)]
        if values
    ]
    tests = sum(dropped > 0 for *_, dropped in asked)
    found = [
        _proposal(one, values, good, dropped, ERROR_RATE / max(1, tests))
        for one, values, good, dropped in asked
    ]
    return sorted(found, key=lambda one: (one.value is None, -one.dropped, -one.answers))


def threshold_name(one: Mapping[str, Any]) -> str:
    """Return where a counted threshold is in its rule, as `corpus whatif --set` takes it."""
    keys = [] if one["language"] is None else ["languages", one["language"]]
    return ".".join([one["rule"], *keys, one["end"]])


def best_bound(
    values: Sequence[float], good: Sequence[bool], is_min: bool, now: float
) -> tuple[float, int]:
    """Return the bound with the fewest wrong answers that has values on both sides, and their
    number. It lies between two neighbouring values and has as few digits as these allow; of equally
    good ones, the one nearest to the bound in force."""
    both = Counter(zip(values, good, strict=True))
    order = sorted(set(values))
    # From the lowest bound to the highest: what comes below it is decided the other way.
    wrong, at = {}, sum(is_good != is_min for is_good in good)
    for low, high in pairwise(order):
        turned = both[low, True] - both[low, False]
        at += turned if is_min else -turned
        wrong[low, high] = at
    least = min(wrong.values())
    low, high = min(
        (gap for gap, n in wrong.items() if n == least),
        key=lambda gap: max(gap[0] - now, now - gap[1], 0.0),
    )
    return _short_number(low, high), least


def differ_by_chance(values: Sequence[float], good: Sequence[bool]) -> float:
    """Return how probable it is that good ones have values so much higher by chance (Mann and
    Whitney 1947, the normal approximation with continuity and tie corrections)."""
    order, n = sorted(values), len(values)
    ties = Counter(order)
    n_good = sum(good)
    n_bad = n - n_good
    if not n_good or not n_bad or len(ties) == 1:
        return 1.0
    ranks = sum(
        bisect_left(order, value) + (ties[value] + 1) / 2
        for value, is_good in zip(values, good, strict=True)
        if is_good
    )
    above = ranks - n_good * (n_good + 1) / 2
    tied = sum(t**3 - t for t in ties.values()) / (n * (n - 1))
    deviation = sqrt(n_good * n_bad / 12 * (n + 1 - tied))
    return erfc((above - n_good * n_bad / 2 - 0.5) / deviation / sqrt(2)) / 2


def at_least_by_chance(heads: int, tosses: int) -> float:
    """Return how probable so many heads or more are, of tosses of a fair coin."""
    return 0.5**tosses * sum(comb(tosses, k) for k in range(heads, tosses + 1))


def _proposal(
    one: Mapping[str, Any],
    values: Sequence[float],
    good: Sequence[bool],
    dropped: int,
    error_rate: float,
) -> Proposal:
    is_min, now = one["end"] == "min", one["values"][one["now"]]
    passes = [_passes(value, now, is_min, one["exclusive"]) for value in values]
    wrong = sum(p != g for p, g in zip(passes, good, strict=True))
    n_good = sum(good)
    value: float | None = None
    wrong_then: int | None = None
    why_none: str | None = None
    if not dropped:
        why_none = ONE_SIDE
    elif 1 / comb(len(good), n_good) > error_rate:  # what a test of perfectly separated ones gives
        why_none = NOT_ENOUGH
    elif differ_by_chance([v if is_min else -v for v in values], good) > error_rate:
        why_none = NOT_APART
    else:
        best, least = best_bound(values, good, is_min, now)
        turned = [_passes(value, best, is_min, False) for value in values]
        changed = sum(before != after for before, after in zip(passes, turned, strict=True))
        if at_least_by_chance((changed + wrong - least) // 2, changed) > ERROR_RATE:
            why_none = BEST
        else:
            value, wrong_then = best, least
    return Proposal(
        threshold=threshold_name(one),
        signal=one["signal"],
        asks=ABOVE[one["end"], one["exclusive"]],
        language=one["language"],
        now=now,
        value=value,
        answers=len(values),
        good=n_good,
        dropped=dropped,
        wrong=wrong,
        wrong_then=wrong_then,
        why_none=why_none,
    )


def _about(
    one: Mapping[str, Any],
    rule: Mapping[str, Any],
    judged: Iterable[JudgedSignal],
    signals: Mapping[Place, Row],
) -> tuple[list[float], list[bool], int]:
    """Return the values and verdicts of the records that a threshold decides about, and how many
    of them it drops."""
    own = {
        language
        for language, bounds in (rule.get("languages") or {}).items()
        if (bounds or {}).get(one["end"]) is not None
    }
    is_min, now = one["end"] == "min", one["values"][one["now"]]
    values, good, dropped = [], [], 0
    for record in judged:
        value = signal_value(signals.get(record.place, {}), one["signal"])
        if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value):
            continue
        held_to = record.language if record.language in own else None
        is_about = (
            held_to == one["language"]
            and (not one["domains"] or record.domain in one["domains"])
            and (not one["languages"] or record.language in one["languages"])
        )
        fails = record.failed == one["rule"] and not _passes(value, now, is_min, one["exclusive"])
        if is_about and (record.failed is None or fails):
            values.append(float(value))
            good.append(record.is_good)
            dropped += fails
    return values, good, dropped


def _passes(value: float, bound: float, is_min: bool, is_exclusive: bool) -> bool:
    low, high = (bound, value) if is_min else (value, bound)
    return low < high if is_exclusive else low <= high


def signal_value(signals: Row, name: str) -> Any:
    """Return the value of a signal, or of a field of one: `language_scores.en`."""
    value: Any = signals
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _signals(
    lineage: Lineage, judged: Iterable[JudgedSignal], names: Iterable[str]
) -> dict[Place, Row]:
    """Return signals of judged records; documents with one id in one part have the same ones."""
    places: dict[tuple[str, int], list[Place]] = {}
    for one in judged:
        places.setdefault(one.place[1:3], []).append(one.place)
    files = [one for one in lineage.files["signals"] if (one.snapshot, one.part) in places]
    source = lineage.scan("signals", files=files)
    known = {row["column_name"] for row in lineage.query(f"DESCRIBE SELECT * FROM {source}")}
    columns = sorted({name.partition(".")[0] for name in names} & known - {"snapshot", "part"})
    listed = "".join(f', "{name}"' for name in columns)
    rows = lineage.query(
        f"SELECT doc_id, snapshot, part{listed} FROM {source} "
        "WHERE doc_id IN (SELECT unhex(unnest(?::VARCHAR[])))",
        [sorted({one.place[0] for one in judged})],
    )
    found = {(row["doc_id"].hex(), row["snapshot"], row["part"]): row for row in rows}
    return {
        place: found[place[:3]] for some in places.values() for place in some if place[:3] in found
    }


def _short_number(low: float, high: float) -> float:
    """Return a number between two others, of as few digits as will do."""
    middle = low + (high - low) / 2
    shortest = (float(f"{middle:.{digits}g}") for digits in range(1, 18))
    return next((number for number in shortest if low < number < high), middle)
