"""How many documents of each language a rule drops, and when that is too many of one language.

A rule that was written for one way of writing can drop another language whole: a mean length of
words from 3 to 10 leaves no Chinese. Counts go into the notes of the stage and decide nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.select.columns import Mask
from corpus_assets.select.planner import SelectPlanner
from corpus_assets.select.rules import ANY, SelectionSettings

LOSSES_NOTE = "language_losses"
RULES = "rules"
MAX_LANGUAGE_LOSS = 0.5  # of a language: from there on one rule drops too many of its documents
MIN_DOCUMENTS = 20
"""A language with fewer is not judged: a handful of pages may be bad, or of another language."""

Losses = Mapping[str, Mapping[str, int]]


def language_losses(
    chosen: pa.Table, settings: SelectionSettings, about: Mapping[str, Mask] = MappingProxyType({})
) -> Losses:
    """For each language how many of its documents fail each rule, and under `*` how many there
    are; `chosen` has schema SELECTION. Languages that the recipe does not want are left out.
    `about` says whom rules with a condition are about; under `*RULE` these are counted."""
    about_language = [r.name for r in settings.rules if r.signal == "language" and r.allowed]
    failed = chosen["failed_rules"].combine_chunks()
    rules, rows = failed.flatten(), pc.list_parent_indices(failed).to_numpy()
    wanted = chosen["language"].is_valid().to_numpy().copy()
    wanted[rows[pc.is_in(rules, pa.array(about_language, rules.type)).to_numpy(False)]] = False
    languages = chosen["language"].combine_chunks()
    of_wanted = np.flatnonzero(wanted[rows])
    pairs = zip(
        languages.take(pa.array(rows[of_wanted])).to_pylist(),
        rules.take(pa.array(of_wanted)).to_pylist(),
        strict=True,
    )
    documents = Counter(languages.filter(pa.array(wanted)).to_pylist())
    out = {name: {ANY: n} for name, n in sorted(documents.items())}
    for (name, rule), n in sorted(Counter(pairs).items()):
        out[name][rule] = n
    for rule, concerned in about.items():
        for name, n in sorted(
            Counter(languages.filter(pa.array(wanted & concerned)).to_pylist()).items()
        ):
            out[name][ANY + rule] = n
    return out


def rule_counts(chosen: pa.Table) -> dict[str, dict[str, int]]:
    """How many documents fail each rule, and how many fail it alone; `chosen` has these columns of
    schema SELECTION: `reason`, `failed_rules`."""
    failed = chosen["failed_rules"].combine_chunks()
    is_alone = pc.equal(pc.list_value_length(failed), 1)
    found = {"fails": pc.list_flatten(failed), "alone": chosen["reason"].filter(is_alone)}
    return {
        kind: {entry["values"]: entry["counts"] for entry in pc.value_counts(names).to_pylist()}
        for kind, names in found.items()
    }


def summed_losses(losses: Iterable[Losses]) -> Losses:
    """Add up the losses of parts."""
    out: dict[str, Counter[str]] = {}
    for part in losses:
        for name, counts in part.items():
            out.setdefault(name, Counter()).update(counts)
    return out


def language_losses_message(pipeline: SelectPlanner, snapshot: str) -> tuple[bool, str]:
    """Whether every rule leaves enough of each language in a snapshot, and a sentence about it."""
    notes = [result.notes[LOSSES_NOTE] for result in pipeline.results("selection", snapshot)]
    return rule_losses_message(summed_losses(notes))


def rule_losses_message(losses: Losses, bound: float = MAX_LANGUAGE_LOSS) -> tuple[bool, str]:
    """Whether every rule leaves enough of each language, and a sentence about it."""
    hit = sorted(
        (-n / of, name, rule, of)
        for name, counts in losses.items()
        for rule, n in counts.items()
        if not rule.startswith(ANY)
        and (of := counts.get(ANY + rule, counts[ANY])) >= MIN_DOCUMENTS
        and n > bound * of
    )
    if not hit:
        return True, f"no rule drops more than {bound:.0%} of the documents of one language"
    named = ", ".join(
        f"`{rule}` drops {-share:.0%} of {of:,} documents in {name}"
        + (" that it is about" if ANY + rule in losses[name] else "")
        for share, name, rule, of in hit[:3]
    )
    more = f" and {len(hit) - 3} more" if len(hit) > 3 else ""
    return False, (
        f"{named}{more}: a rule made for other languages may not fit; compare signals of dropped "
        "documents (`corpus signals show`), and give the rule bounds under `languages`"
    )
