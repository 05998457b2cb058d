"""Which signals a recipe asks for, and what follows from that: columns, models, text steps."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, Self, Union

from pydantic import (
    Field,
    PlainValidator,
    SerializeAsAny,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from corpus_assets.core.column_types import ColumnType, ColumnTypes
from corpus_assets.core.identity import Settings
from corpus_assets.core.model_choice import LabelEngine
from corpus_assets.signals.base import (
    CountsWords,
    MeasuredLines,
    MeasuresLines,
    ScoredByFastText,
    SignalFamily,
    WordBreaks,
)
from corpus_assets.signals.classifier import Reading, ReadsTexts
from corpus_assets.signals.ensemble import Ensemble
from corpus_assets.signals.families import FAMILIES
from corpus_assets.signals.text_step import TextStep


@cache
def _every_family() -> TypeAdapter[SignalFamily]:
    every: Any = Union[tuple(FAMILIES.values())]  # noqa: UP007
    tagged: Any = Annotated[every, Field(discriminator="family")]
    return TypeAdapter(tagged)


def _read_family(value: Any) -> SignalFamily:
    """Read the settings of a family, of which alone the file is imported. Where they are refused,
    an error says what is expected, of which family."""
    if isinstance(value, SignalFamily):
        return value
    name = value.get("family") if isinstance(value, Mapping) else None
    if isinstance(name, str) and name in FAMILIES:
        with suppress(ValidationError):
            return FAMILIES[name].model_validate(value)
    return _every_family().validate_python(value)


AnyFamily = Annotated[SerializeAsAny[SignalFamily], PlainValidator(_read_family)]


class SignalSettings(Settings):
    """Which families to compute; each is named by its `family` and holds its own settings."""

    word_breaks: WordBreaks = Field(
        default="white_space",
        description="how words are found: at white space or, in scripts without spaces, also by "
        "dictionary",
    )
    measured_lines: MeasuredLines = Field(
        default="all",
        exclude_if=lambda lines: lines == "all",
        description="lines that `repetition` and `fineweb` measure: `all`, as published, or "
        "`prose`: no headings, list items, code, tables, quotations or formulas; "
        "`gopher_quality` then takes its share of words with letters outside of "
        "code and formulas",
    )
    engine: LabelEngine = Field(
        default="kernels",
        exclude_if=lambda engine: engine == "kernels",
        description="what runs fastText models: `kernels`, with the same bits on every "
        "processor, or the `fasttext` library",
    )
    families: tuple[AnyFamily, ...] = ()

    @field_validator("families")
    @classmethod
    def _with_shared_settings(
        cls, families: tuple[AnyFamily, ...], info: ValidationInfo
    ) -> tuple[AnyFamily, ...]:
        """Hand to families what the recipe says for all of them."""
        found = []
        for each in families:
            if isinstance(each, CountsWords) and "word_breaks" in info.data:
                each = each.with_words(info.data["word_breaks"])
            if isinstance(each, MeasuresLines) and "measured_lines" in info.data:
                each = each.with_lines(info.data["measured_lines"])
            if isinstance(each, ScoredByFastText) and "engine" in info.data:
                each = each.with_engine(info.data["engine"])
            found.append(each)
        return tuple(found)

    @model_validator(mode="after")
    def _columns_are_distinct(self) -> Self:
        seen = {"doc_id": "the documents", "n_chars": "the documents"}
        for family in self.families:
            for name in family.reads():
                if name not in seen:
                    raise ValueError(
                        f"the signal family {family.family!r} reads the column {name!r}: list a "
                        f"family that gives it before it"
                    )
            for name in family.columns():
                if name in seen:
                    raise ValueError(
                        f"column {name!r} comes from {seen[name]} and from {family.family}: "
                        f"list each family once"
                    )
                seen[name] = family.family
        return self

    def identity(self) -> dict[str, Any]:
        """Return settings with each family's version, so that raising one recomputes its signals."""
        return {"families": [family.identity() for family in self.families]}

    def columns(self) -> ColumnTypes:
        """Names and types of all signals, in order."""
        out: dict[str, ColumnType] = {"n_chars": "int64"}
        for family in self.families:
            out.update(family.columns())
        return out

    def only(self, families: Iterable[SignalFamily]) -> Self:
        """Return the same for some of the families."""
        return self.model_copy(update={"families": tuple(families)})

    def with_readings(self, readings: Mapping[str, Reading]) -> Self:
        """Return the same with how classifiers read texts, by their names."""
        return self.only(
            each.with_reading(readings[each.name])
            if isinstance(each, ReadsTexts) and each.name in readings
            else each
            for each in self.families
        )

    def plain(self) -> dict[str, Any]:
        """Return all of it for a task: settings, and how classifiers read texts."""
        readings = {
            each.name: each.reading.model_dump(mode="json", include=set(Reading.model_fields))
            for each in self.families
            if isinstance(each, ReadsTexts)
        }
        return {"settings": self.model_dump(mode="json"), "readings": readings}

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> Self:
        readings = {name: Reading(**reading) for name, reading in plain["readings"].items()}
        return cls.model_validate(plain["settings"]).with_readings(readings)

    def text_steps(self) -> tuple[TextStep, ...]:
        """Return the families that rewrite text, in order."""
        return tuple(family for family in self.families if isinstance(family, TextStep))

    @property
    def ensemble(self) -> Ensemble | None:
        return next((f for f in self.families if isinstance(f, Ensemble)), None)

    def ranked_columns(self) -> frozenset[str]:
        """Return the columns of the ensemble and of families that read them."""
        found: set[str] = set()
        for family in self.families:
            if isinstance(family, Ensemble) or found.intersection(family.reads()):
                found.update(family.columns())
        return frozenset(found)

    def document_columns(self) -> list[str]:
        """ColumnTypes of the documents that signals are computed from; not all documents have all."""
        own = {name for family in self.families for name in family.of_documents()}
        return ["doc_id", "domain", *sorted(own - {"doc_id", "domain"}), "text"]

    def needs(self) -> tuple[str, ...]:
        """Names of the model files that some family reads, sorted."""
        return tuple(sorted({name for family in self.families for name in family.needs()}))
