"""Finders of personal data that are not rules: models that know names, places and the like.

A recognizer is any object with the two methods below. A recipe names one by an entry point of the
group `corpus_assets.recognizers`, by `module:function`, or as `presidio`; the function is called
with the recipe's options and returns the recognizer.

Rules give the same answer for ever; a model gives it only with the same weights, libraries and
sometimes processor. So a recognizer states an identity that must change when its answers could,
and that identity is part of the fingerprint of every document it saw.
"""

import hashlib
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from corpus_assets.core.errors import MissingExtra, RecipeError

GROUP = "corpus_assets.recognizers"
BUILT_IN = {"presidio": "corpus_assets.scrub.presidio:recognizer"}

Found = tuple[int, int, str]
"""[start, end) in characters, and the kind."""


class Recognizer(Protocol):
    """What finds personal data in texts."""

    def identity(self) -> str:
        """Name, version and digests of all that its answers depend on."""

    def find(
        self, texts: Sequence[str], languages: Sequence[str | None]
    ) -> Iterable[Iterable[Found]]:
        """For each text the places found in it. Must not depend on the other texts."""


def load_recognizer(engine: str, options: Mapping[str, Any]) -> tuple[Recognizer, str]:
    """Return the recognizer that a recipe names, and its identity with the digest of its module."""
    function = _function(engine)
    try:
        recognizer: Recognizer = function(**options)
    except TypeError as error:
        raise RecipeError(f"clean_text.scrub.recognizers: {engine}: {error}") from error
    source = inspect.getsourcefile(function)
    content = Path(source).read_bytes() if source else b""
    return recognizer, f"{engine} {recognizer.identity()} {hashlib.sha256(content).hexdigest()}"


def recognize(
    recognizers: Sequence[Recognizer], texts: Sequence[str], languages: Sequence[str | None]
) -> list[list[Found]]:
    """Return what all of them find in each text, sorted; what lies outside the text is an error."""
    out: list[list[Found]] = [[] for _ in texts]
    for recognizer in recognizers:
        found = list(recognizer.find(texts, languages))
        if len(found) != len(texts):
            raise RecipeError(
                f"clean_text.scrub.recognizers: {recognizer.identity()} answered for {len(found)} "
                f"of {len(texts)} texts; correct the engine"
            )
        for text, places, some in zip(texts, out, found, strict=True):
            for start, end, kind in some:
                if not 0 <= start < end <= len(text):
                    raise RecipeError(
                        f"clean_text.scrub.recognizers: {recognizer.identity()} found {kind} at "
                        f"[{start}, {end}) of a text of {len(text)} characters; correct the engine"
                    )
                places.append((start, end, kind))
    return [sorted(places) for places in out]


def _function(engine: str) -> Callable[..., Recognizer]:
    target = BUILT_IN.get(engine)
    for entry in entry_points(group=GROUP):
        if entry.name == engine:
            target = entry.value
    target = target or engine
    module, colon, name = target.partition(":")
    if not colon or not re.fullmatch(r"[\w.]+", module):
        raise RecipeError(
            f"clean_text.scrub.recognizers: {engine!r} is neither an entry point of {GROUP} nor "
            "`module:function`"
        )
    try:
        function: Callable[..., Recognizer] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise MissingExtra(
            f"clean_text.scrub.recognizers: {engine} cannot be loaded ({error}); install the "
            "package that provides it, or remove it from the recipe"
        ) from error
    return function
