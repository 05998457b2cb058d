"""What a recipe says of benchmarks: suites of items, how they are looked for, and what follows."""

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from corpus_assets.core.bounds import MAX_NGRAM
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Settings, is_absent
from corpus_assets.core.model_choice import Model
from corpus_assets.core.urls import Blocklist, address_of

REPOSITORY = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}")


class ExclusionSettings(Settings):
    """Addresses and repositories."""

    addresses: tuple[str, ...] = Field(
        default=(),
        description="hosts with their subdomains, and URL prefixes in whole path segments",
    )
    repositories: tuple[str, ...] = Field(
        default=(),
        description="`owner/name`, as two path segments of a URL or a source file's key, "
        "case-insensitively",
    )

    @field_validator("addresses")
    @classmethod
    def _are_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            if is_host(entry):
                try:
                    Blocklist([entry])
                except RecipeError as error:
                    raise ValueError(str(error)) from error
            elif prefix_key(entry) is None:
                raise ValueError(f"{entry!r} is not a URL; write it like example.org/data")
        return value

    @field_validator("repositories")
    @classmethod
    def _are_repositories(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not REPOSITORY.fullmatch(name):
                raise ValueError(f"{name!r} is not a repository; write it like owner/name")
        return value

    def __bool__(self) -> bool:
        return bool(self.addresses or self.repositories)


def is_host(entry: str) -> bool:
    return "/" not in entry


def prefix_key(prefix: str) -> str | None:
    address = address_of(prefix if "://" in prefix else f"http://{prefix}")
    return None if address is None else address.key.rstrip("/")


class SuiteFields(Settings):
    """Names of a record's fields; a dot enters a nested object (`question.stem`)."""

    id: str | None = Field(default="id", description="text or number; null: the record's number")
    benchmark: str | None = Field(
        default="benchmark", description="name of the benchmark, if the suite does not set it"
    )
    question: tuple[str, ...] = Field(
        default=("text",), min_length=1, description="text to search for, joined in this order"
    )
    choices: str | None = Field(
        default=None,
        description="a list, or an object with a list in `text`, for questions that are too "
        "short or not unique",
    )
    answer: str | None = Field(default="answer", description="shown to people, never searched for")
    code: tuple[str, ...] = Field(
        default=(), description="source code, joined in this order, for `kind: code`"
    )

    @field_validator("question", "code", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class EvalSuite(Settings):
    """One benchmark, or several of one form."""

    files: tuple[str, ...] = Field(
        min_length=1, description="paths or patterns: .jsonl, .jsonl.gz, .jsonl.zst, .parquet"
    )
    benchmark: str | None = Field(
        default=None, min_length=1, description="its name; null: each record has its own"
    )
    kind: Literal["text", "code"] = Field(
        default="text",
        description="`code` also searches for the fields in `fields.code`, regardless of "
        "identifiers",
    )
    language: str = Field(default="python", description="programming language, for comments")
    fields: SuiteFields = SuiteFields()
    exclude: ExclusionSettings = Field(
        default=ExclusionSettings(), description="places known to host the benchmark"
    )
    split: Literal["test", "train"] = Field(
        default="test",
        exclude_if=lambda split: split == "test",
        description="`train`: documents with its items are kept, in groups that phases can leave "
        "out (`held_back: 0`)",
    )

    @field_validator("files", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _code_is_named(self) -> "EvalSuite":
        if (self.kind == "code") != bool(self.fields.code):
            raise ValueError(
                "a suite of the kind `code` says in `fields.code` which fields hold code, and "
                "only such a suite does"
            )
        if self.split == "train" and self.benchmark is None:
            raise ValueError("a suite with `split: train` names its `benchmark`, apart from tests")
        return self

    def identity(self) -> dict[str, Any]:
        """All but where the files lie: their digests are inputs."""
        body = super().identity()
        body["files"] = len(self.files)
        return body


STATIC = "static"  # the engine that is here


REPORT_SIMILARITY = 0.6  # embedding similarity at which a match is listed


class ParaphraseScan(Settings):
    """What the search for paraphrases reads."""

    engine: str = Field(default=STATIC, description="plug-in that runs the model")
    report_similarity: float = Field(
        default=REPORT_SIMILARITY,
        gt=0,
        le=1,
        description="embedding similarity at which a match is listed",
    )
    min_shared: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="share of the item's words, by their weight, that the passage must have",
    )
    min_words: int = Field(
        default=5, ge=3, description="an item with fewer content words is not looked for"
    )


class EvalIndexSettings(Settings):
    """How items are cut into n-grams."""

    ngram: int = Field(default=13, ge=1, le=MAX_NGRAM)
    min_words: int = Field(default=8, ge=1)

    @model_validator(mode="after")
    def _min_words_fit(self) -> "EvalIndexSettings":
        if self.min_words > self.ngram:
            raise ValueError("min_words must not be above ngram: no item could be indexed whole")
        return self


class ParaphraseVerdict(Settings):
    """What follows from passages that say the same as an item in other words."""

    min_similarity: float = Field(
        default=0.75,
        ge=REPORT_SIMILARITY,
        le=1,
        description="embedding similarity of a near miss",
    )
    action: Literal["review", "drop", "cut"] = Field(
        default="review",
        description="action for paraphrases without a judgement; `review` only lists them",
    )


class VerdictSettings(Settings):
    """What `verdicts` reads."""

    drop_share: float = Field(
        default=0.8,
        gt=0,
        le=1,
        description="share of an item's n-grams that counts as contamination",
    )
    exclusive: bool = Field(
        default=False,
        exclude_if=lambda value: not value,
        description="a share equal to `drop_share` does not count",
    )
    action: Literal["drop", "cut"] = Field(
        default="drop",
        description="`drop` the document, or `cut` the item from its text",
    )
    near_miss: Literal["review", "drop", "cut"] = Field(
        default="review",
        description="action for partial quotations and edited copies without a judgement; `review` "
        "only lists them",
    )
    judgements: tuple[str, ...] = Field(
        default=(),
        description="files of `corpus contamination judge`; a judgement overrides `near_miss`",
    )
    paraphrases: ParaphraseVerdict | None = Field(default=None, exclude_if=is_absent)

    def identity(self) -> dict[str, Any]:
        """Leave out where judgements lie, which count as an input, and what is as it always was."""
        body = super().identity()
        del body["judgements"]
        if self.near_miss == "review":
            del body["near_miss"]
        return body


class CommonSettings(Settings):
    """What makes an item a common phrase rather than a leak."""

    common_documents: int | None = Field(
        default=100,
        ge=1,
        description="items found in more texts of the calibration snapshots are listed, but no "
        "reason to drop",
    )


REPORT_SHARE = 0.3  # of an item's n-grams: from there on a document has a row


class ScanSettings(Settings):
    """What `scan_contamination` reads."""

    report_share: float = REPORT_SHARE
    near_misses: float | None = 0.7
    code_domains: tuple[str, ...] | None = None
    paraphrases: ParaphraseScan | None = Field(default=None, exclude_if=is_absent)


class ParaphraseSettings(ParaphraseVerdict):
    """Items in other words: found by an embedding model, and by words that must be there."""

    model: Model = Field(description="a model folder")
    engine: str = Field(default=STATIC, description="plug-in that runs the model")


class ContaminationSettings(EvalIndexSettings, VerdictSettings, CommonSettings):
    """All of it, as a recipe writes it; each step is given its own part."""

    drop_share: float = Field(
        default=0.8,
        ge=REPORT_SHARE,
        le=1,
        description="share of an item's n-grams that counts as contamination",
    )
    near_misses: float | None = Field(
        default=0.7,
        gt=0,
        le=1,
        description="similarity of lightly edited items (1 - edited words / words of the item)",
    )
    code_domains: tuple[str, ...] | None = Field(
        default=None, description="domains to search for code"
    )
    paraphrases: ParaphraseSettings | None = Field(
        default=None,
        exclude_if=is_absent,
        description="find rephrased items",
    )

    def identity(self) -> dict[str, Any]:
        body = super().identity()
        if self.paraphrases is not None:
            body["paraphrases"]["model"] = self.paraphrases.model.identity()
        return body

    @property
    def index(self) -> EvalIndexSettings:
        """The part that belongs to the fingerprint of the index."""
        return EvalIndexSettings(ngram=self.ngram, min_words=self.min_words)

    @property
    def scan(self) -> ScanSettings:
        """The part that belongs to the fingerprint of `scan_contamination`."""
        paraphrases = self.paraphrases
        return ScanSettings(
            near_misses=self.near_misses,
            code_domains=self.code_domains,
            paraphrases=ParaphraseScan(engine=paraphrases.engine)
            if paraphrases is not None
            else None,
        )

    @property
    def verdict(self) -> VerdictSettings:
        """The part that belongs to the fingerprint of `verdicts`."""
        body = {name: getattr(self, name) for name in VerdictSettings.model_fields}
        if (paraphrases := self.paraphrases) is not None:
            body["paraphrases"] = ParaphraseVerdict(
                min_similarity=paraphrases.min_similarity, action=paraphrases.action
            )
        return VerdictSettings(**body)

    @property
    def enough(self) -> dict[str, Any]:
        """The part that says which share of an item counts."""
        return self.model_dump(mode="json", include={"drop_share", "exclusive"})

    @property
    def common(self) -> CommonSettings:
        """The part that belongs to the calibration of common items."""
        return CommonSettings(common_documents=self.common_documents)
