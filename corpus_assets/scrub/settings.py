"""Personal data out of text: what a recipe does about each kind, and what is found.

The rules are in `corpus_assets.scrub`; names of people and other things that no rule can describe
come from recognizers that a recipe names. What is found is replaced, drops the document or is
left alone, by kind and by the domain of the text. Values are never recorded, only counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from corpus_assets.core.identity import Settings
from corpus_assets.scrub.find import KINDS as KINDS
from corpus_assets.scrub.find import REGIONS, find_in_batch, strongest
from corpus_assets.scrub.phones import is_region, regions_of
from corpus_assets.text.pieces import pieces_in_chars
from corpus_assets.text.split import Bytes, Ints


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a kind; known: {', '.join(sorted(KINDS))}")
    return kind


Kind = Annotated[str, AfterValidator(_known)]
Action = Literal["replace", "drop", "leave"]

REPLACE, DROP, LEAVE = "replace", "drop", "leave"
TOO_MUCH = "too_much_personal_data"

REPLACED = (
    *("email", "ip", "phone", "credit_card", "iban", "national_id", "api_key", "private_key"),
)
"""What is replaced unless a recipe says otherwise: all but `secret`."""

Form = Literal["text", "normalized"]


class TextHashList(Settings):
    """A file of hashes, and of what they are."""

    path: str = Field(description="a file, or a pattern for files")
    form: Form = Field(
        default="text",
        description="`text`: of the extracted text in UTF-8, as it is; `normalized`: in form NFKC, "
        "case folded, white space as single spaces",
    )


class RecognizerSettings(Settings):
    """Something else that finds personal data, such as a model that knows names."""

    engine: str = Field(
        description="`presidio`, the name of an entry point in the group "
        "`corpus_assets.recognizers`, or `module:function`"
    )
    kinds: dict[str, Action] = Field(
        min_length=1, description="what to do with each kind it finds; others are left alone"
    )
    options: dict[str, Any] = Field(default={}, description="handed to the engine as they are")

    @model_validator(mode="after")
    def _kinds_are_its_own(self) -> "RecognizerSettings":
        for kind in self.kinds:
            if not kind.replace("_", "").isalnum() or kind != kind.lower():
                raise ValueError(f"{kind!r} is not a valid kind; use lowercase letters and _")
            if kind in KINDS:
                raise ValueError(f"the kind {kind} is found by rules; leave it out here")
        return self


class ScrubSettings(Settings):
    """What is done about each kind: it is replaced, drops the document, or is left alone."""

    replace: tuple[Kind, ...] = Field(
        default=REPLACED, description="kinds that become a placeholder; none: `[]`"
    )
    drop: tuple[Kind, ...] = Field(default=(), description="kinds that drop the document")
    by_domain: dict[str, dict[Kind, Action]] = Field(
        default={}, description="domains and what is different there, e.g. `code: {phone: leave}`"
    )
    phone_regions: tuple[str, ...] = Field(
        default=REGIONS,
        description="countries (ISO 3166) whose telephone numbers count without a word for it, a "
        "leading zero or a country code; those that speak a text's language are added",
    )
    placeholders: dict[str, str] = Field(
        default={}, description="replacement text of a kind, if not `<kind>`"
    )
    max_findings: int | None = Field(
        default=None, ge=0, description="a document with more findings is dropped; null: none is"
    )
    recognizers: tuple[RecognizerSettings, ...] = Field(
        default=(), description="other finders of personal data, such as names"
    )

    @model_validator(mode="after")
    def _names_are_known(self) -> "ScrubSettings":
        for region in self.phone_regions:
            if not is_region(region):
                raise ValueError(
                    f"phone_regions: {region!r} is not a country; write `US`, `DE`, ..."
                )
        known = {*KINDS, *(kind for entry in self.recognizers for kind in entry.kinds)}
        unknown = sorted(set(self.placeholders) - known)
        if unknown:
            raise ValueError(
                f"placeholders: {unknown[0]} is not a kind; known: {', '.join(sorted(known))}"
            )
        return self

    def actions(self, domain: str) -> dict[str, str]:
        """Return what is done about each kind in texts of a domain; kinds left alone are not
        listed."""
        chosen: dict[str, str] = dict.fromkeys(self.replace, REPLACE) | dict.fromkeys(
            self.drop, DROP
        )
        chosen |= self.by_domain.get(domain, {})
        for entry in self.recognizers:
            chosen |= entry.kinds
        return {kind: action for kind, action in chosen.items() if action != LEAVE}

    def regions(self, language: str | None) -> tuple[str, ...]:
        """Where telephone numbers of a text may be from without a sign of it."""
        return tuple(sorted({*self.phone_regions, *regions_of(language)}))

    def placeholder(self, kind: str) -> str:
        return self.placeholders.get(kind, f"<{kind}>")


@dataclass(frozen=True)
class Finding:
    """Characters [start, end) of a text are personal data of a kind."""

    start: int
    end: int
    kind: str


def drop_reason(kind: str) -> str:
    return f"holds_{kind}"


def find_by_rules(
    data: Bytes, offsets: Ints, kinds: frozenset[str], regions: tuple[str, ...]
) -> dict[int, list[Finding]]:
    """Return findings of each document of a batch that has any, in characters of it."""
    found = find_in_batch(data, offsets, kinds, regions)
    if not found:
        return {}
    counts = np.zeros(len(offsets) - 1, dtype=np.int64)
    for document, spans in found.items():
        counts[document] = len(spans)
    rows = np.concatenate(([0], np.cumsum(counts)))
    pieces = np.array(
        [
            (offsets[document] + start, offsets[document] + end)
            for document in sorted(found)
            for start, end, _ in found[document]
        ],
        dtype=np.int64,
    )
    places = iter(pieces_in_chars(data, offsets, pieces, rows).tolist())
    return {
        document: [_finding(next(places), kind) for _, _, kind in found[document]]
        for document in sorted(found)
    }


def _finding(place: Sequence[int], kind: str) -> Finding:
    return Finding(place[0], place[1], kind)


def with_recognized(
    findings: Mapping[int, list[Finding]], recognized: Sequence[Sequence[Finding]]
) -> dict[int, list[Finding]]:
    """Return findings of rules, and of recognizers where they overlap none of those."""
    out = dict(findings)
    for document, others in enumerate(recognized):
        if others:
            groups = [
                [(one.start, one.end, one.kind) for one in group]
                for group in (findings.get(document, []), others)
            ]
            out[document] = [Finding(*found) for found in strongest(groups)]
    return out
