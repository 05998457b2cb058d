"""Names and other entities through Microsoft Presidio, where it is installed.

Presidio's own engine wants a model of spaCy, which no package index carries. So a recipe names
either single recognizers of Presidio (patterns and check digits, no model), or a function that
makes the engine you have:

    {engine: presidio, kinds: {person: replace}, options: {analyzer: "my_engine:make"}}
    {engine: presidio, kinds: {crypto: replace}, options: {recognizers: [CryptoRecognizer]}}
"""

import importlib
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from corpus_assets.core.errors import MissingExtra, RecipeError
from corpus_assets.scrub.recognizers import Found

INSTALL = "install it with `pip install 'corpus-assets[presidio]'`, or remove it from the recipe"


def recognizer(
    recognizers: Sequence[str] = (),
    analyzer: str = "",
    language: str = "en",
    min_score: float = 0.5,
    digest: str = "",
) -> "PresidioRecognizer":
    """Options of a recipe to a recognizer; say either `recognizers` or `analyzer`.

    `digest` is yours to set: change it with the model behind `analyzer`.
    """
    try:
        presidio = importlib.import_module("presidio_analyzer")
        release = version("presidio-analyzer")
    except (ImportError, PackageNotFoundError) as error:
        raise MissingExtra(
            f"clean_text.scrub.recognizers: Presidio is missing; {INSTALL}"
        ) from error
    if bool(recognizers) == bool(analyzer):
        raise RecipeError(
            "clean_text.scrub.recognizers: presidio takes either `recognizers` or `analyzer`"
        )
    if analyzer:
        module, _, name = analyzer.partition(":")
        engine = getattr(importlib.import_module(module), name)()
        return PresidioRecognizer((), engine, language, min_score, f"{release} {analyzer} {digest}")
    predefined = importlib.import_module("presidio_analyzer.predefined_recognizers")
    made = []
    for name in recognizers:
        kind = getattr(predefined, name, None) or getattr(presidio, name, None)
        if kind is None:
            raise RecipeError(
                f"clean_text.scrub.recognizers: presidio {release} has no recognizer {name}"
            )
        made.append(kind(supported_language=language))
    return PresidioRecognizer(made, None, language, min_score, f"{release} {','.join(recognizers)}")


class PresidioRecognizer:
    """Presidio's answers with at least a score, its entity names as kinds."""

    def __init__(
        self, single: Sequence[Any], engine: Any, language: str, min_score: float, identity: str
    ) -> None:
        self._single = single
        self._engine = engine
        self._language = language
        self._min_score = min_score
        self._identity = f"presidio {identity} {language} {min_score:g}"

    def identity(self) -> str:
        return self._identity

    def find(self, texts: Sequence[str], languages: Sequence[str | None]) -> Iterator[list[Found]]:
        for text in texts:
            yield [
                (found.start, found.end, found.entity_type.lower())
                for found in self._analyze(text)
                if found.score >= self._min_score
            ]

    def _analyze(self, text: str) -> list[Any]:
        if self._engine is not None:
            return list(self._engine.analyze(text=text, language=self._language))
        return [
            found
            for one in self._single
            for found in one.analyze(text=text, entities=one.supported_entities) or ()
        ]
