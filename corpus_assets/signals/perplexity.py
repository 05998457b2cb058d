"""Perplexity of a text under language models: how surprising good text would find it.

CCNet grades a crawl by it (Wenzek et al. 2020, arXiv:1911.00359). Models are under `perplexity` in
the recipe: trained in the graph (`signals.stages.perplexity`), or KenLM's by path and digest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.errors import ModelError
from corpus_assets.signals.base import SignalFamily, model_path

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.models import Doubles, NgramModel
    from corpus_assets.text.batch import TextBatch

MODEL = "perplexity:"
"""Begins the names in `needs` that are models of the recipe's `perplexity`."""
PIECES = ".pieces"
"""Ends the name of the SentencePiece model that belongs to a KenLM model."""

ModelName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]


class LanguageModelFamily(SignalFamily):
    """A number a text from each of several models, or from the one of the text's language."""

    decimals: ClassVar[int]

    models: tuple[ModelName, ...] | dict[str, ModelName] = Field(
        default=(),
        description="models of `perplexity`, one column each; or language -> model for one "
        "column, after the family `language`",
    )

    @model_validator(mode="after")
    def _are_different(self) -> Self:
        if not isinstance(self.models, dict) and len(set(self.models)) != len(self.models):
            raise ValueError(f"{self.family}.models names a model twice")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Return the models, each once."""
        return tuple(
            dict.fromkeys(self.models.values() if isinstance(self.models, dict) else self.models)
        )

    @property
    @abstractmethod
    def stem(self) -> str:
        """The column's name, and how those of several models begin."""

    @abstractmethod
    def scores(self, texts: pa.LargeStringArray, name: str, models: Mapping[str, Path]) -> Doubles:
        """float64[n] under one model; NaN where there is nothing to score."""

    def columns(self) -> ColumnTypes:
        if isinstance(self.models, dict):
            return {self.stem: "float32"}
        return {f"{self.stem}_{name}": "float32" for name in self.models}

    def needs(self) -> tuple[str, ...]:
        return tuple(MODEL + name for name in self.names)

    def reads(self) -> tuple[str, ...]:
        return ("language",) if isinstance(self.models, dict) else ()

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if not isinstance(self.models, dict):
            return self.record_batch(
                {
                    f"{self.stem}_{name}": self._stored(self.scores(batch.texts, name, models))
                    for name in self.models
                }
            )
        found = np.full(len(batch), np.nan)
        language = batch.columns["language"]
        for name in self.names:
            own = pa.array([label for label, of in self.models.items() if of == name])
            rows = np.flatnonzero(pc.is_in(language, own).to_numpy(zero_copy_only=False))
            if rows.size:
                found[rows] = self.scores(batch.texts.take(pa.array(rows)), name, models)
        return self.record_batch({self.stem: self._stored(found)})

    def _stored(self, values: Doubles) -> pa.Array:
        """Return rounded, so that a processor's last bit changes nothing; null for NaN."""

        import numpy as np
        import pyarrow as pa

        rounded = np.round(values, self.decimals)
        return pa.array(rounded.astype(np.float32), pa.float32(), mask=np.isnan(rounded))


class Perplexity(LanguageModelFamily):
    """`perplexity_MODEL`, or `perplexity`: 10 ** (-log10 P / length), low for ordinary text.

    The length of a text is its units and line ends; what a unit is differs between models, so
    values of two of them do not compare. Two decimals, float32; null for a text without words.
    """

    version: ClassVar[int] = 2
    decimals: ClassVar[int] = 2

    family: Literal["perplexity"] = "perplexity"

    @property
    def stem(self) -> str:
        return "perplexity"

    def scores(self, texts: pa.LargeStringArray, name: str, models: Mapping[str, Path]) -> Doubles:
        from corpus_assets.models import is_ngram_file, perplexities
        from corpus_assets.signals.kenlm_perplexity import kenlm_perplexities

        path = model_path(models, MODEL + name, self.family)
        if is_ngram_file(path):
            return perplexities(trained(path, name), texts)
        return kenlm_perplexities(texts.to_pylist(), path, models.get(MODEL + name + PIECES))


class TokenDivergence(LanguageModelFamily):
    """`token_divergence_MODEL`, or `token_divergence`: how far a text's words are from those the
    model was trained on.

    The Kullback-Leibler divergence of the text's distribution of words from the model's, in nats,
    which Llama 3 uses against documents with too many outlier tokens (Grattafiori et al. 2024,
    arXiv:2407.21783, section 3.1.1). Short texts are always far away: compare like with like, or
    ask it of long ones only. Needs a model that was trained in the graph.
    """

    version: ClassVar[int] = 2
    decimals: ClassVar[int] = 4

    family: Literal["token_divergence"] = "token_divergence"

    @property
    def stem(self) -> str:
        return "token_divergence"

    def scores(self, texts: pa.LargeStringArray, name: str, models: Mapping[str, Path]) -> Doubles:
        from corpus_assets.models import divergences_of, is_ngram_file

        path = model_path(models, MODEL + name, self.family)
        if not is_ngram_file(path):
            raise ModelError(
                f"token_divergence: {name} is a KenLM model, which does not tell how often words "
                "are; name a model that is trained in the graph"
            )
        return divergences_of(trained(path, name), texts)


def trained(path: Path, name: str) -> NgramModel:
    """One model of a file of ours."""

    from corpus_assets.models import load_models

    known = load_models(path)
    if name not in known:
        raise ModelError(
            f"no perplexity model named {name!r} in {path.name}; it has {', '.join(known)}"
        )
    return known[name]
