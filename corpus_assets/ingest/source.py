"""What a recipe says of one source: where its documents belong and how its files are read."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from corpus_assets.core.identity import Name, Settings, is_absent
from corpus_assets.ingest.gates import CodeSettings

Column = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]


ChatLayout = Literal["openai", "sharegpt", "alpaca"]


class FieldNames(Settings):
    """Which column of a JSONL or Parquet source holds what; None: the source has none.

    `a.b` is `b` inside the object `a`, unless there is a column `a.b`. For `text` sources the
    names are those of a Markdown file's front matter.
    """

    key: str | tuple[str, ...] | None = Field(
        default=None,
        description="an id that survives rewriting the file; several columns are joined by `/`",
    )
    url: str | None = None
    text: str = "text"
    messages: str | dict[ChatLayout, str | tuple[str, ...]] | None = Field(
        default=None,
        exclude_if=is_absent,
        description="instead of `text`: a list of messages (`role`, `content`, `tool_calls`, "
        "`reasoning_content`); other layouts: `{sharegpt: COLUMN}`, `{alpaca: [INSTRUCTION, INPUT, "
        "OUTPUT]}`",
    )
    path: str | None = Field(default=None, description="path of a source file in its repository")
    licence: str | None = None
    language: str | None = None
    title: str | None = None
    derived_from: str | None = Field(
        default=None, description="URLs or url_keys of parent documents"
    )
    generator: str | None = Field(default=None, description="what wrote a synthetic text")
    labels: dict[Column, str] = Field(
        default={},
        exclude_if=is_absent,
        description="signal name -> column of a label, for the family `source_labels`",
    )
    scores: dict[Column, str] = Field(
        default={},
        exclude_if=is_absent,
        description="the same for numbers",
    )

    @model_validator(mode="after")
    def _has_one_layout(self) -> Self:
        if isinstance(self.messages, dict) and len(self.messages) != 1:
            raise ValueError("messages: name one layout, as `{sharegpt: COLUMN}`")
        if self.messages is not None:
            layout, columns = self.conversation
            if len(columns) not in ((2, 3) if layout == "alpaca" else (1,)):
                raise ValueError(
                    "messages: `alpaca` has the columns [INSTRUCTION, INPUT, OUTPUT] or "
                    "[INSTRUCTION, OUTPUT], other layouts one column"
                )
        return self

    @property
    def conversation(self) -> tuple[ChatLayout, tuple[str, ...]]:
        """The layout of `messages`, and the columns that it is read from."""
        if not isinstance(self.messages, dict):
            return "openai", (self.messages,) if self.messages else ()
        ((layout, columns),) = self.messages.items()
        return layout, (columns,) if isinstance(columns, str) else columns

    def columns(self) -> tuple[str, ...]:
        """All columns that are named, each once."""
        key = self.key if isinstance(self.key, tuple) else (self.key,)
        rest = (
            self.url, *(self.conversation[1] or [self.text]), self.path, self.licence, self.language,
            self.title, self.derived_from, self.generator, *self.labels.values(), *self.scores.values(),
        )  # fmt: skip
        return tuple(dict.fromkeys(name for name in (*key, *rest) if name is not None))


class SourceSpec(Settings):
    """One source: where its documents belong and how its files are read."""

    name: Name
    format: str = Field(description="how files are read")
    domain: Name = Field(default="web", description="web, code, books, math ...")
    licence: str = Field(default="unknown", description="SPDX id of records that state none")
    licence_list: Literal["all", "any"] = Field(
        default="all",
        description="a record with several licences is under `all` of them, or under `any` one",
    )
    fields: FieldNames = FieldNames()
    generator: str | None = Field(
        default=None, description="what wrote the texts, for records that do not state it"
    )
    code: CodeSettings | None = Field(
        default=None, description="gates for source files; always on for the format `code`"
    )

    @property
    def has_messages(self) -> bool:
        """Whether texts are conversations, with markers for special tokens."""
        return self.fields.messages is not None
