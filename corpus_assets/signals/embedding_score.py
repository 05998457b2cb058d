"""A score by a regression on an embedding model, in the manner of FineWeb-Edu (Penedo et al. 2024).

The model is a folder on this machine, pinned by digest. Engines that run such folders are
plug-ins: entry points of the group `corpus_assets.text_scorers`, each a function of the folder and
the longest input that gives a `TextScorer`. `transformers` is built in and works where that
library and torch are installed; nothing of the project needs them otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from pydantic import Field

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.errors import ModelError
from corpus_assets.core.model_choice import Model
from corpus_assets.signals.base import SignalFamily, model_path
from corpus_assets.signals.classifier import Name

if TYPE_CHECKING:
    import pyarrow as pa

    from corpus_assets.text.batch import TextBatch

PLUG_INS = "corpus_assets.text_scorers"
DECIMALS = 3
MAX_CHARS = 20_000  # handed to the engine at most


class TextScorer(Protocol):
    """What an engine gives. A text's score must not depend on the texts beside it."""

    def score(self, texts: Sequence[str]) -> Sequence[float]: ...


class EmbeddingScore(SignalFamily):
    """`NAME_score`: what the model's one output says of a text. Rounded to three decimals,
    float32; null for a text without words."""

    version: ClassVar[int] = 1

    family: Literal["embedding_score"] = "embedding_score"
    name: Name = Field(default="edu", description="prefix of the column")
    model: Model = Field(description="a model folder")
    engine: str = Field(default="transformers", description="plug-in that runs the model")
    max_tokens: int = Field(default=512, ge=1, description="tokens to read per text")

    def identity(self) -> dict[str, Any]:
        return super().identity() | {"model": self.model.identity()}

    def columns(self) -> ColumnTypes:
        return {f"{self.name}_score": "float32"}

    def needs(self) -> tuple[str, ...]:
        from corpus_assets.core.lock import FOLDER

        return (f"{FOLDER}{self.name}",)

    def compute(self, batch: TextBatch, models: Mapping[str, Path]) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        from corpus_assets.text.blank_texts import blank_texts

        folder = model_path(models, self.needs()[0], self.family)
        scorer = load_scorer(self.engine, folder, self.max_tokens)
        rows = np.flatnonzero(~blank_texts(batch.data, batch.offsets)).tolist()
        texts = batch.texts.take(pa.array(rows, pa.int64())).to_pylist()
        scores = np.asarray(scorer.score([t[:MAX_CHARS] for t in texts]), dtype=np.float64)
        if scores.shape != (len(rows),):
            raise ModelError(
                f"the engine {self.engine!r} gave {scores.shape} scores for {len(rows)} texts: the "
                f"model of {self.name!r} must have one output"
            )
        values: list[float | None] = [None] * len(batch)
        for row, score in zip(rows, np.round(scores, DECIMALS).tolist(), strict=True):
            values[row] = score
        return self.record_batch({f"{self.name}_score": values})


@lru_cache(maxsize=2)
def load_scorer(engine: str, folder: Path, max_tokens: int) -> TextScorer:
    """Return the engine's scorer for a folder, once a process."""
    found = {point.name: point for point in entry_points(group=PLUG_INS)}
    if engine in found:
        make: Callable[[Path, int], TextScorer] = found[engine].load()
        return make(folder, max_tokens)
    if engine == "transformers":
        return Transformers(folder, max_tokens)
    raise ModelError(
        f"no plug-in runs the engine {engine!r}; known: "
        f"{', '.join(sorted({*found, 'transformers'}))}"
    )


class Transformers:
    """Folders that the library `transformers` wrote: a sequence classifier with one output."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        try:
            torch, transformers = import_module("torch"), import_module("transformers")
        except ImportError as error:
            raise ModelError(
                f"the signal family 'embedding_score' needs the library {error.name}, which is not "
                "installed: `pip install transformers torch`, or remove the family from the recipe"
            ) from error
        self._torch: Any = torch
        self._max_tokens = max_tokens
        try:
            self._tokens: Any = transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True
            )
            kind = transformers.AutoModelForSequenceClassification
            self._model: Any = kind.from_pretrained(folder, local_files_only=True).eval()
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(
                f"{folder} is not a folder that transformers can read ({error})"
            ) from error

    def score(self, texts: Sequence[str]) -> list[float]:
        """One text at a time and one thread, so that no text's rounding depends on another's."""
        self._torch.set_num_threads(1)
        found: list[float] = []
        with self._torch.inference_mode():
            for text in texts:
                read = self._tokens(
                    text, return_tensors="pt", truncation=True, max_length=self._max_tokens
                )
                found.append(self._model(**read).logits.squeeze(-1).float().item())
        return found
