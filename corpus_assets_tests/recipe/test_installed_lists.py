"""Lists by name: fetched, found by rules, refused at plan time where they are absent, other or empty."""

import io
import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from corpus_assets.build import pin_sources
from corpus_assets.clean.upstream import step_settings
from corpus_assets.core.home import Home
from corpus_assets.ingest.url_word_lists import with_listed_words
from corpus_assets.inspect.plan import plan_build
from corpus_assets.install.pinned import ModelPin, ModelPins
from corpus_assets.models import files as models
from corpus_assets.recipe.load import load_recipe
from corpus_assets.session import open_session
from corpus_assets.signals import with_listed_entries
from corpus_assets.signals.published.dclm_text import DCLMText
from corpus_assets_tests.cli.test_commands import Captured, said
from corpus_assets_tests.recipe.test_all_recipes import NAMES, RECIPES, own_copy
from corpus_assets_tests.small_corpus import RECIPE, make_small_corpus

WORDS = b"# a list\ncasino\nFree-Porn\ns&m\nga.mble\n\n"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    make_small_corpus(tmp_path)
    return tmp_path


def recipe(small: Path, **changes: Any) -> str:
    """The small recipe with other keys at its top."""
    path = small / "lists.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(RECIPE) | changes))
    return str(path)


def with_family(*more: dict[str, Any]) -> dict[str, Any]:
    signals: dict[str, Any] = yaml.safe_load(RECIPE)["signals"]
    return {"signals": signals | {"families": [*signals["families"], *more]}}


def with_words(*rules: dict[str, Any]) -> dict[str, Any]:
    documents: dict[str, Any] = yaml.safe_load(RECIPE).get("documents") or {}
    gates = (documents.get("gates") or {}) | {"blocked_url_words": list(rules)}
    return {"documents": documents | {"gates": gates}}


def install(home: Home, name: str, content: bytes) -> None:
    at = home.root / f"{name}.source"
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_bytes(content)
    models.add_model(
        name, models.model_digest(at), lambda target: models.copy_model(at, target), "here", home
    )


@pytest.fixture
def home(small: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    lid = models.model_at("lid.176").path
    monkeypatch.delenv("CORPUS_MODELS", raising=False)
    found = Home.resolve(str(small / "home"))
    found.models.mkdir(parents=True)
    shutil.copy(lid, found.models / "lid.176.ftz")
    return found


def refused(path: str, home: Home, capsys: Captured) -> str:
    return said(capsys, "plan", path, "--home", str(home.root), code=1)


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        (with_family({"family": "bad_words"}), "signals.families.bad_words"),
        (with_family({"family": "listed_words"}), "signals.families.listed_words"),
        (with_family({"family": "listed_words", "lists": {"en": []}}), "families.listed_words"),
        (with_words({"name": "spam"}), "documents.gates.blocked_url_words.spam"),
    ],
)
def test_a_rule_without_a_list_is_refused_when_it_is_planned(
    small: Path, home: Home, capsys: Captured, changes: dict[str, Any], setting: str
) -> None:
    told = refused(recipe(small, **changes), home, capsys)
    assert f"{setting} is switched on without a list: name words or files" in told


def test_absent_lists_and_models_are_named_together_with_one_command(
    small: Path, home: Home, capsys: Captured
) -> None:
    changes = with_family({"family": "bad_words", "word_lists": ["model://ldnoobw-en"]})
    changes |= with_words({"name": "hard", "words": ["model://dclm-banned-hard"]})
    changes |= {"blocked_categories": {"adult": "model://ut1-adult", "own": "model://own-list"}}
    path = recipe(small, **changes)
    told = refused(path, home, capsys)
    for name, setting in (
        ("ldnoobw-en", "signals.families.bad_words"),
        ("dclm-banned-hard", "documents.gates.blocked_url_words.hard"),
        ("ut1-adult", "blocked_categories.adult"),
        ("own-list", "blocked_categories.own"),
    ):
        assert f"{name} ({setting})" in told
    assert f"run `corpus models fetch --recipe {path} --home {home.root}`; for own-list run" in told


def test_a_list_without_entries_is_refused(small: Path, home: Home, capsys: Captured) -> None:
    install(home, "own-list", b"# nothing\n\n")
    changes = with_family({"family": "bad_words", "word_lists": ["model://own-list"]})
    told = refused(recipe(small, **changes), home, capsys)
    assert "signals.families.bad_words: model://own-list has no entries" in told


def test_a_model_that_is_not_the_pinned_one_is_refused(
    small: Path, home: Home, capsys: Captured
) -> None:
    install(home, "own-list", b"casino\n")
    changes = with_family({"family": "bad_words", "word_lists": ["model://own-list"]})
    path = recipe(small, **changes)
    ModelPins(small / "lists.lock").add("own-list", ModelPin("0" * 64, 7, "elsewhere"))
    told = refused(path, home, capsys)
    assert f"pins {'0' * 64}, which was fetched first" in told


def test_words_of_urls_come_from_installed_lists(small: Path, home: Home) -> None:
    install(home, "own-list", WORDS)
    changes = with_words(
        {"name": "a", "words": ["model://own-list", "bet"]},
        {"name": "b", "words": ["model://own-list"], "inside_words_without": "-."},
    )
    with open_session(recipe(small, **changes), home) as session:
        pin_sources(session)
        found = with_listed_words(session.pipeline).gates.blocked_url_words
        inputs = session.pipeline.inputs()
    assert [rule.words for rule in found] == [
        ("bet", "casino", "free-porn", "ga.mble"),
        ("casino",),
    ]
    assert {"blocked_url_words/0000", "blocked_url_words/0001"} <= set(inputs)
    planned = [rule.identity() for rule in found]
    assert "model://" not in json.dumps(planned), "a task does not depend on where a list is"


# All that recipes name, from a mirror.


def mirror_of(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with something for every model and list of a recipe."""
    for _, model in load_recipe(RECIPES / f"{name}.yaml").named_models():
        known = models.public_models().get(model)
        if known is None or model == "lid.176":
            continue
        path = folder / known.url.partition("://")[2]
        if known.kind == "folder":
            path.mkdir(parents=True, exist_ok=True)
            (path / "config.json").write_bytes(b"{}")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"example.com\nexample\n")
        if known.kind == "archive":
            with tarfile.open(path, "w:gz") as archive:
                member = tarfile.TarInfo(f"list/{known.files.split()[0].replace('*', 'one')}")
                member.size = len(b"example.com\n")
                archive.addfile(member, io.BytesIO(b"example.com\n"))
        monkeypatch.setitem(models.public_models(), model, replace(known, sha256="", bytes=None))
    return f"hf://={folder.as_uri()}/ https://={folder.as_uri()}/"


def check_arrival(
    name: str, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    path = str(own_copy(tmp_path, name))
    monkeypatch.setenv("CORPUS_MIRRORS", mirror_of(tmp_path / "mirror", name, monkeypatch))
    command = ("models", "fetch", "--recipe", path, "--home", str(home.root))
    named = {model for _, model in load_recipe(Path(path)).named_models()}
    for model in named:
        if not models.is_public(model) and model not in installed(home):
            install(home, model, b"brought by its owner")
    told = json.loads(said(capsys, *command, "--json"))
    assert {each["name"] for each in told["models"]} == named
    with open_session(path, home) as session:
        pin_sources(session)
        assert plan_build(session.pipeline, session.registry)[0].to_run == 0, name


def installed(home: Home) -> set[str]:
    return {each.name for each in models.installed_models(home)}


def test_dclm_plans_with_what_one_command_brings(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    check_arrival("dclm", home, tmp_path, monkeypatch, capsys)
    assert installed(home) == {
        "lid.176", "dclm-fasttext",
        "dclm-banned-domains", "dclm-banned-strict", "dclm-banned-hard", "dclm-banned-soft",
        "dclm-tlds",
    }  # fmt: skip


@pytest.mark.slow
def test_every_shipped_recipe_plans_with_what_one_command_brings(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    for name in NAMES:
        check_arrival(name, home, tmp_path, monkeypatch, capsys)


def test_top_level_domains_come_from_installed_lists(small: Path, home: Home) -> None:
    install(home, "own-tlds", b"# Version 1\nCOM\nTEST\n")
    signals: dict[str, Any] = yaml.safe_load(RECIPE)["signals"]
    step = {"family": "dclm_text", "tlds": ["model://own-tlds", "org"]}
    signals = signals | {"families": [step, *signals["families"]]}
    with open_session(recipe(small, signals=signals), home) as session:
        pin_sources(session)
        named = session.pipeline.recipe
        (found,) = with_listed_entries(session.pipeline).text_steps()
        (cleaned,) = step_settings(session.pipeline)["steps"]["families"]
    assert ("signals.families.dclm_text", "own-tlds") in named.named_models()
    assert isinstance(found, DCLMText)
    assert found.tlds == tuple(cleaned["tlds"]) == ("org", "com", "test")
    assert named.signals.text_steps()[0].needs() == ("file:model://own-tlds",)
