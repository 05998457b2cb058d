"""Personal data out of text: what a recipe does about each kind.

The rules are in `corpus_assets.scrub`; names of people and other things that no rule can describe
come from recognizers that a recipe names. What is found is replaced, drops the document or is
left alone, by kind and by the domain of the text. Values are never recorded, only counts.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from corpus_assets.core.identity import Settings

KINDS = (
    "private_key",
    "api_key",
    "secret",
    "email",
    "iban",
    "credit_card",
    "national_id",
    "ip",
    "phone",
)
"""The kinds that rules know. Where findings overlap, the kind that stands first here wins."""


REGIONS = ("US",)
"""Regions whose telephone numbers need no sign that they are some, by default."""


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

    path: str = Field(description="a file or a pattern")
    form: Form = Field(
        default="text",
        description="`text`: of the extracted text in UTF-8; `normalized`: in NFKC, case-folded, "
        "with single spaces",
    )


class RecognizerSettings(Settings):
    """Something else that finds personal data, such as a model that knows names."""

    engine: str = Field(
        description="`presidio`, an entry point of the group `corpus_assets.recognizers`, or "
        "`module:function`"
    )
    kinds: dict[str, Action] = Field(
        min_length=1, description="what to do with each kind; others are left alone"
    )
    options: dict[str, Any] = Field(default={}, description="options passed to the engine")

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
        default=REPLACED, description="kinds to replace by a placeholder; `[]`: none"
    )
    drop: tuple[Kind, ...] = Field(default=(), description="kinds that drop the document")
    by_domain: dict[str, dict[Kind, Action]] = Field(
        default={}, description="exceptions by domain, e.g. `code: {phone: leave}`"
    )
    phone_regions: tuple[str, ...] = Field(
        default=REGIONS,
        description="countries (ISO 3166) of national telephone numbers, besides those that "
        "speak the text's language",
    )
    placeholders: dict[str, str] = Field(
        default={}, description="placeholder by kind; default `<kind>`"
    )
    max_findings: int | None = Field(
        default=None, ge=0, description="a document with more findings is dropped"
    )
    recognizers: tuple[RecognizerSettings, ...] = Field(
        default=(), description="custom recognizers, e.g. for names"
    )

    @model_validator(mode="after")
    def _names_are_known(self) -> "ScrubSettings":
        for region in self.phone_regions:
            if not _is_region(region):
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
        from corpus_assets.scrub.phones import regions_of  # loads all numbering plans

        return tuple(sorted({*self.phone_regions, *regions_of(language)}))

    def placeholder(self, kind: str) -> str:
        return self.placeholders.get(kind, f"<{kind}>")


def _is_region(region: str) -> bool:
    if region in REGIONS:
        return True
    from corpus_assets.scrub.phones import is_region  # loads all numbering plans

    return is_region(region)


def drop_reason(kind: str) -> str:
    return f"holds_{kind}"
