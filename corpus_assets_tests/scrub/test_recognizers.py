"""Recognizers that a recipe names: how they are loaded, what is told when they are not there."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from corpus_assets.core.errors import MissingExtra, RecipeError
from corpus_assets.scrub import presidio
from corpus_assets.scrub.recognizers import load_recognizer, recognize
from corpus_assets.scrub.settings import RecognizerSettings, ScrubSettings

MODULE = """
class Initials:
    def __init__(self, letter):
        self.letter = letter

    def identity(self):
        return f"initials 1.0 {self.letter}"

    def find(self, texts, languages):
        for text, language in zip(texts, languages):
            yield [(k, k + 1, "initial") for k, char in enumerate(text) if char == self.letter]

def make(letter="A"):
    return Initials(letter)
"""


@pytest.fixture
def initials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "initials_engine.py"
    path.write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield path
    sys.modules.pop("initials_engine", None)


def test_an_engine_is_loaded_by_its_module_path(initials: Path) -> None:
    engine, identity = load_recognizer("initials_engine:make", {"letter": "B"})
    assert recognize([engine], ["AB", "", "BB"], ["en", None, "de"]) == [
        [(1, 2, "initial")],
        [],
        [(0, 1, "initial"), (1, 2, "initial")],
    ]
    assert identity.startswith("initials_engine:make initials 1.0 B ")


def test_another_source_of_the_engine_is_another_identity(initials: Path) -> None:
    _, before = load_recognizer("initials_engine:make", {})
    initials.write_text(MODULE + "\n# changed\n")
    _, after = load_recognizer("initials_engine:make", {})
    assert before != after


def test_an_engine_that_is_not_installed_is_told_in_one_line() -> None:
    with pytest.raises(MissingExtra, match="install the package that provides it") as told:
        load_recognizer("no_such_module_here:make", {})
    assert "\n" not in str(told.value)


def test_an_engine_that_is_no_place_is_refused() -> None:
    with pytest.raises(RecipeError, match="nor `module:function`"):
        load_recognizer("just a name", {})


def test_options_that_the_engine_does_not_take_are_refused(initials: Path) -> None:
    with pytest.raises(RecipeError, match="unexpected keyword"):
        load_recognizer("initials_engine:make", {"colour": "red"})


class Wrong:
    """Answers something that cannot be."""

    def __init__(self, answer: list[Any]) -> None:
        self.answer = answer

    def identity(self) -> str:
        return "wrong 1"

    def find(self, texts: Sequence[str], languages: Sequence[str | None]) -> list[Any]:
        return self.answer


@pytest.mark.parametrize(
    "answer", [[[(0, 9, "x")]], [[(-1, 2, "x")]], [[(2, 2, "x")]], [], [[], []]]
)
def test_an_engine_that_answers_nonsense_is_told_apart(answer: list[Any]) -> None:
    with pytest.raises(RecipeError, match="correct the engine"):
        recognize([Wrong(answer)], ["short"], [None])


def test_presidio_that_is_not_installed_is_told_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(MissingExtra, match=r"pip install 'corpus-assets\[presidio\]'"):
        load_recognizer("presidio", {"recognizers": ["CryptoRecognizer"]})


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with Presidio's names and calls, as its documentation gives them."""

    class CryptoRecognizer:
        supported_entities = ("CRYPTO",)

        def __init__(self, supported_language: str) -> None:
            self.language = supported_language

        def analyze(self, text: str, entities: Sequence[str]) -> list[Any]:
            at = text.find("1A1z")
            score = 1.0 if text.endswith("!") else 0.2
            return (
                []
                if at < 0
                else [SimpleNamespace(start=at, end=at + 4, score=score, entity_type="CRYPTO")]
            )

    package, predefined = ModuleType("presidio_analyzer"), ModuleType("predefined")
    predefined.CryptoRecognizer = CryptoRecognizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "presidio_analyzer", package)
    monkeypatch.setitem(sys.modules, "presidio_analyzer.predefined_recognizers", predefined)
    monkeypatch.setattr(presidio, "version", lambda name: "2.2.0")


@pytest.mark.usefixtures("stand_in")
def test_single_recognizers_of_presidio_find_what_scores_enough() -> None:
    engine, identity = load_recognizer("presidio", {"recognizers": ["CryptoRecognizer"]})
    texts = ["pay 1A1z!", "pay 1A1z", "nothing!"]
    assert recognize([engine], texts, [None] * 3) == [[(4, 8, "crypto")], [], []]
    assert "presidio 2.2.0 CryptoRecognizer en 0.5" in identity


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("options", [{}, {"recognizers": ["X"], "analyzer": "a:b"}])
def test_presidio_wants_recognizers_or_an_engine(options: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match="either `recognizers` or `analyzer`"):
        load_recognizer("presidio", options)


@pytest.mark.usefixtures("stand_in")
def test_a_recognizer_that_presidio_does_not_have_is_told() -> None:
    with pytest.raises(RecipeError, match="has no recognizer NoSuchThing"):
        load_recognizer("presidio", {"recognizers": ["NoSuchThing"]})


@pytest.mark.parametrize(
    ("kinds", "told"),
    [({"Person": "replace"}, "lowercase letters"), ({"email": "drop"}, "by rules")],
)
def test_kinds_of_a_recognizer_have_names_of_their_own(kinds: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        RecognizerSettings(engine="presidio", kinds=kinds)


def test_settings_name_what_they_do_not_know() -> None:
    with pytest.raises(ValidationError, match="'emails' is not a kind; known: api_key"):
        ScrubSettings.model_validate({"by_domain": {"code": {"emails": "leave"}}})
    with pytest.raises(ValidationError, match="colour is not a kind"):
        ScrubSettings(placeholders={"colour": "<c>"})
    with pytest.raises(ValidationError, match="'replace', 'drop' or 'leave'"):
        ScrubSettings.model_validate({"by_domain": {"code": {"email": "hide"}}})


def test_settings_survive_being_written_and_read() -> None:
    settings = ScrubSettings(replace=("ip",), drop=("secret",), by_domain={"code": {"ip": "drop"}})
    assert settings.actions("web") == {"ip": "replace", "secret": "drop"}
    assert settings.actions("code") == {"ip": "drop", "secret": "drop"}
    assert ScrubSettings.model_validate(settings.identity()) == settings
