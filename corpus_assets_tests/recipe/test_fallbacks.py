"""A recipe names its models; without them it is refused, and a fallback is used only when asked for."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from corpus_assets.build import InProcess, build
from corpus_assets.cli.main import main
from corpus_assets.core.errors import ModelError, RecipeError
from corpus_assets.core.home import Home
from corpus_assets.core.lock import load_lock
from corpus_assets.core.model_choice import ModelChoice
from corpus_assets.core.progress import Silent
from corpus_assets.demo.generate import generate_demo
from corpus_assets.graph.run import run_asset
from corpus_assets.inspect.plan import plan_build
from corpus_assets.models.files import add_model, how_to_get, is_public
from corpus_assets.recipe.load import load_recipe, parse_recipe
from corpus_assets.session import open_session
from corpus_assets_tests.cli.test_commands import Captured, said
from corpus_assets_tests.small_corpus import RECIPE, make_small_corpus
from corpus_loader import Manifest

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
ALL = {"use_fallbacks": ["all"]}
NAMED = {
    name: recipe
    for name in sorted(path.stem for path in RECIPES.glob("*.yaml"))
    if (recipe := load_recipe(RECIPES / f"{name}.yaml")).fallbacks
}


def test_recipes_that_lean_on_published_models_name_them() -> None:
    assert set(NAMED) == {
        *(
            "c4",
            "dclm",
            "fineweb",
            "fineweb-edu",
            "fineweb2",
            "nemotron-cc",
            "ccnet",
            "redpajama-v2",
        ),
        *("llama3-like", "common-pile-like", "olmo3-like", "dolma"),
        *("open-web-math-like", "finemath-like"),
    }


@pytest.mark.parametrize("name", NAMED)
def test_fallbacks_replace_every_named_model_and_are_part_of_the_identity(
    name: str,
) -> None:
    real, other = NAMED[name], load_recipe(RECIPES / f"{name}.yaml", ALL)
    named = {model for _, model in real.named_models()} - {"lid.176"}
    replaced = {model for each in real.fallbacks.values() for model in each.instead_of}
    assert named == replaced != set()
    assert {model for _, model in other.named_models()} == {"lid.176"}
    assert "fallbacks" not in real.identity()
    assert other.identity()["fallbacks"] == other.fallbacks_in_use()
    assert set(other.fallbacks_in_use()) == set(real.fallbacks)
    assert real.digest != other.digest
    again = parse_recipe(other.model_dump(mode="json"), "a copy")  # as a takedown reads it
    assert again.digest == other.digest
    assert again.caveats() == other.caveats() != []


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    found = Home.resolve(str(tmp_path_factory.mktemp("home")))
    generate_demo(found.demo_sources)
    return found


@pytest.mark.parametrize("name", NAMED)
def test_a_shipped_recipe_without_its_models_refuses_in_one_line(name: str, home: Home) -> None:
    absent = {model for _, model in NAMED[name].named_models() if model != "lid.176"}
    path = str(RECIPES / f"{name}.yaml")
    with open_session(path, home) as session:
        with pytest.raises(ModelError) as raised:
            plan_build(session.pipeline, session.registry)
        with pytest.raises(ModelError, match="not installed"):  # as Dagster would run it
            run_asset(
                session.pipeline, session.engine, session.registry, session.progress, "documents",
                NAMED[name].snapshots[0],
            )  # fmt: skip
    message = str(raised.value)
    assert "\n" not in message
    public = [model for model in absent if is_public(model)]
    if len(absent) == 1:
        (only,) = absent
        assert f"model {only} is not installed: {how_to_get(only, home)}" in message
    else:
        assert all(f" {model} (" in message for model in absent)
        assert f"run `corpus models fetch --recipe {path} --home {home.root}`" in message
        assert all(how_to_get(model, home) in message for model in absent.difference(public))
    assert "`--fallbacks`" in message


def test_both_thresholds_of_dclm_stand_in_one_file() -> None:
    def rule(recipe: Any) -> Any:
        return next(rule for rule in recipe.selection.rules if rule.name == "low_quality")

    real, other = NAMED["dclm"], load_recipe(RECIPES / "dclm.yaml", ALL)
    assert (rule(real).min, rule(real).cutoff) == (0.018112, None)
    assert (rule(other).min, rule(other).cutoff) == (None, "quality")
    changed = load_recipe(
        RECIPES / "dclm.yaml", ALL | {"selection.cutoffs.quality.drop_share": 0.5}
    )
    assert changed.selection.cutoffs["quality"].drop_share == 0.5  # what is set wins


def test_single_fallbacks_can_be_asked_for() -> None:
    one = load_recipe(RECIPES / "nemotron-cc.yaml", {"use_fallbacks": ["mixtral_edu"]})
    assert one.fallbacks_in_use() == {"mixtral_edu": "mixtral-edu-classifier"}
    assert "dclm-fasttext" in {model for _, model in one.named_models()}
    with pytest.raises(RecipeError, match=r"no fallback nobody; known: nemotron_edu, mixtral_edu"):
        load_recipe(RECIPES / "nemotron-cc.yaml", {"use_fallbacks": ["nobody"]})


# A small corpus whose quality classifier is a model by name.


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CORPUS_MODELS", str(tmp_path / "models"))
    make_small_corpus(tmp_path)
    recipe: dict[str, Any] = yaml.safe_load(RECIPE)
    trained = recipe["classifiers"]["quality"]
    recipe["classifiers"]["quality"] = {"model": "my-quality"}
    recipe["fallbacks"] = {
        "quality": {"instead_of": ["my-quality"], "changes": {"classifiers.quality": trained}}
    }
    (tmp_path / "named.yaml").write_text(yaml.safe_dump(recipe))
    return tmp_path


class Told(Silent):
    """Keeps what a build tells."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def log(self, line: str) -> None:
        self._lines.append(line)


def command(small: Path, name: str, *more: str) -> list[str]:
    return [name, str(small / "named.yaml"), "--home", str(small / "home"), *more]


def test_a_build_without_its_model_does_no_work(small: Path, capsys: Captured) -> None:
    for name in ("plan", "build", "lock"):
        error = said(capsys, *command(small, name), code=1)
        assert re.search(
            r"(?m)^corpus: error: recipe small: classifiers\.quality: model my-quality is not installed: "
            r"run `corpus models add my-quality --path .*; or add `--fallbacks` to build with the "
            r"recipe's fallback for it$",
            error.strip(),
        )
    assert not (small / "home" / "store" / "artifacts").exists()


@pytest.mark.slow
def test_a_fallback_is_reported_everywhere_and_the_real_model_is_not_one(
    small: Path, capsys: Captured
) -> None:
    told = "fallback: quality replaces my-quality"
    assert told in said(capsys, *command(small, "plan", "--fallbacks"))
    listed = json.loads(said(capsys, *command(small, "plan", "--fallbacks", "--json")))
    assert listed["signals"]["fallbacks"] == {"quality": "my-quality"}
    capsys.readouterr()
    assert main(command(small, "build", "--fallbacks", "--version", "other", "--workers", "1")) == 0
    shown = capsys.readouterr()
    assert told in shown.out
    assert told in shown.err
    assert "--fallbacks --set" in shown.out  # what to try next works
    versions = small / "home" / "store" / "versions"
    other = Manifest.load(versions / "other" / "manifest.json")
    assert other.recipe.fallbacks == {"quality": "my-quality"}
    assert load_lock(versions / "other" / "lock.json").recipe["fallbacks"] == other.recipe.fallbacks
    assert told in (versions / "other" / "report.html").read_text()

    (trained,) = (small / "home" / "store").glob("artifacts/classifiers/*/*.bin")
    content = trained.read_bytes()
    sha256 = load_lock(versions / "other" / "lock.json").calibrations["classifiers/quality"].sha256
    add_model("my-quality", sha256, lambda target: target.write_bytes(content) and None, "here")
    told_now: list[str] = []
    home = Home.resolve(str(small / "home"))
    with open_session(str(small / "named.yaml"), home, progress=Told(told_now)) as session:
        assert build(session, "real", InProcess()) is not None
    assert not any("fallback" in line for line in told_now)
    real = Manifest.load(versions / "real" / "manifest.json")
    assert b"fallbacks" not in (versions / "real" / "manifest.json").read_bytes()
    lock = load_lock(versions / "real" / "lock.json")
    assert lock.models["classifier:quality"] == sha256
    assert "classifiers/quality" not in lock.calibrations
    assert [group.documents for group in real.groups] == [g.documents for g in other.groups]


MY_QUALITY = ModelChoice(name="my-quality")


def test_a_model_by_name_can_be_held_to_a_digest(small: Path, capsys: Captured) -> None:
    sha256 = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"
    add_model("my-quality", sha256, lambda target: target.write_bytes(b"password") and None, "here")
    said(capsys, *command(small, "plan"))
    with open_session(
        str(small / "named.yaml"),
        Home.resolve(str(small / "home")),
        overrides={"classifiers.quality.model": {"name": "my-quality", "sha256": "0" * 64}},
    ) as session:
        with pytest.raises(ModelError, match=f"has SHA-256 {sha256}, expected 0000"):
            session.pipeline.model(MY_QUALITY.model_copy(update={"sha256": "0" * 64}), "any")
        installed, digest = session.pipeline.model(MY_QUALITY, "any")
        assert digest == sha256
    installed.write_bytes(b"changed after it was added")
    with (
        open_session(str(small / "named.yaml"), Home.resolve(str(small / "home"))) as session,
        pytest.raises(ModelError, match=f"has SHA-256 .*, expected {sha256}"),
    ):
        session.pipeline.model(MY_QUALITY, "any")


@pytest.mark.parametrize(
    ("entry", "said_what"),
    [
        ({"model": {"name": "a", "path": "b", "sha256": "c"}}, "set either `name` or `path`"),
        ({"model": "a", "positives": ["p"], "negatives": ["n"]}, "set either `model`, or"),
        ({}, "set `positives` and `negatives`, or `model`"),
    ],
)
def test_a_classifier_comes_from_one_place(
    small: Path, entry: dict[str, Any], said_what: str
) -> None:
    with pytest.raises(RecipeError, match=re.escape(said_what)):
        load_recipe(small / "named.yaml", {"classifiers.quality": entry})


def test_environments_without_the_language_identifier_are_told_before_any_work(
    small: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(small / "environment"))
    error = said(capsys, *command(small, "plan", "--fallbacks"), code=1)
    assert "language_model: model lid.176 is not installed: run `corpus models fetch`" in error
