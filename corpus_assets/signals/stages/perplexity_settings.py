"""Language models for perplexity as a recipe names them: trained here from texts, or KenLM's."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from corpus_assets.core.bounds import MAX_ORDER
from corpus_assets.core.identity import Settings
from corpus_assets.core.model_choice import Model
from corpus_assets.models import NgramSettings
from corpus_assets.signals.perplexity import MODEL


class PerplexityModelEntry(Settings):
    """A model that is trained on texts, or one of KenLM."""

    texts: tuple[str, ...] = Field(
        default=(), description="training files: JSONL or Parquet with a field `text`"
    )
    where: dict[str, str] = Field(
        default_factory=dict,
        description="use only rows with these values, e.g. {lang: de}",
    )
    order: int = Field(
        default=NgramSettings.order,
        ge=2,
        le=MAX_ORDER,
        description="longest n-grams, in words",
    )
    model: Model | None = Field(default=None, description="a KenLM model, instead of `texts`")
    pieces: Model | None = Field(
        default=None,
        description="its SentencePiece model, as in CCNet",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.texts) == (self.model is not None):
            raise ValueError("set either `texts` to train on, or `model`")
        if self.model is None and self.pieces is not None:
            raise ValueError("`pieces` goes with `model`")
        if not self.texts and self.where:
            raise ValueError("`where` goes with `texts`")
        return self

    @property
    def is_trained(self) -> bool:
        return bool(self.texts)

    def identity(self) -> dict[str, Any]:
        """Where files lie is not identity; models are known by their names and digests."""
        if self.model is None:
            return {"texts": len(self.texts), "where": self.where, "order": self.order}
        pieces = {"pieces": self.pieces.identity()} if self.pieces else {}
        return {"model": self.model.identity()} | pieces


def check_models(entries: Mapping[str, PerplexityModelEntry], needs: Iterable[str]) -> None:
    """Refuse families that name models which are not here."""
    for need in needs:
        name = need.removeprefix(MODEL)
        if need.startswith(MODEL) and name not in entries:
            raise ValueError(
                f"signals.families: there is no perplexity model {name!r}; known: "
                f"{', '.join(entries) or 'none, list it under `perplexity`'}"
            )
