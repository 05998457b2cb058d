"""FineWeb2's configurations become the table that its recipe reads."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from corpus_assets.core.errors import ModelError, RecipeError
from corpus_assets.models.files import add_model, copy_model, model_digest
from corpus_assets.recipe.load import load_recipe
from corpus_assets.select.published_languages import LanguageRows, read_configurations
from corpus_assets.signals.stop_words import StopWords
from corpus_assets_tests.cli.test_commands import Captured, said

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
LABELS = {"de": "deu_Latn", "fr": "fra_Latn", "tr": "tur_Latn", "zh": "cmn_Hani"}


def configuration(row: dict[str, str], **other: Any) -> str:
    """A row of the table in the box, as its authors write it."""
    names = {
        "dup_line_frac": "dup_line_share",
        "language_score": "language_score",
        "line_punct_thr": "terminal",
        "max_avg_word_length": "max_word_chars",
        "max_non_alpha_words_ratio": "alphabetic",
        "min_avg_word_length": "min_word_chars",
        "new_line_ratio": "newlines",
    }
    return yaml.safe_dump(
        {key: float(row[name]) for key, name in names.items()}
        | {"dup_n_grams": [[n, float(row[f"dup_{n}"])] for n in range(5, 11)]}
        | {"top_n_grams": [[n, float(row[f"top_{n}"])] for n in (2, 3, 4)]}
        | {"stopwords": json.loads(row["stop_words"])}
        | other
    )


def in_the_box() -> dict[str, dict[str, str]]:
    with open(RECIPES / "fineweb2-languages.csv", newline="", encoding="utf-8") as lines:
        return {row["language"]: row for row in csv.DictReader(lines)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = in_the_box()
    configs = tmp_path / "published" / "configs"
    configs.mkdir(parents=True)
    for language, label in LABELS.items():
        (configs / f"{label}.yml").write_text(configuration(rows[language]))
    for label in ("aai_Latn", "kor_Hang", "vie_Latn", "jav_Java"):
        (configs / f"{label}.yml").write_text(configuration(rows["de"], line_punct_thr=None))
    return configs.parent


def test_a_configuration_becomes_the_row_that_is_in_the_box(folder: Path) -> None:
    found = read_configurations(folder)
    assert list(found.rows) == ["aai_Latn", *LABELS]
    box = in_the_box()
    for language in LABELS:
        assert found.rows[language] == box[language]
    assert found.rows["aai_Latn"]["terminal"] == ""
    assert set(found.left_out) == {"kor_Hang", "vie_Latn", "jav_Java"}


def test_one_command_writes_a_table_that_the_recipe_reads(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("CORPUS_MODELS", str(tmp_path / "models"))
    digest = model_digest(folder)
    add_model("fineweb2-configs", digest, lambda target: copy_model(folder, target), "here")
    table = tmp_path / "fineweb2-languages.csv"
    text = said(capsys, "models", "languages", str(table))
    assert text.startswith(f"5 languages written to {table}\n")
    assert "left out: kor_Hang: words are morphemes there (Kiwi)" in text
    shutil.copy(RECIPES / "fineweb2.yaml", tmp_path)
    ours, box = load_recipe(tmp_path / "fineweb2.yaml"), load_recipe(RECIPES / "fineweb2.yaml")
    assert ours.selection.rules[0].allowed == ("aai_Latn", *LABELS)
    for rule, other in zip(ours.selection.rules[1:], box.selection.rules[1:], strict=True):
        for language in LABELS:
            assert rule.bounds_for(language) == other.bounds_for(language)
    lists, listed = (
        next(f.languages for f in one.signals.families if isinstance(f, StopWords))
        for one in (ours, box)
    )
    assert {language: lists[language] for language in LABELS} == {
        language: listed[language] for language in LABELS
    }
    said(capsys, "models", "languages", str(table), "--only", "tr", "--only", "deu_Latn")
    assert load_recipe(tmp_path / "fineweb2.yaml").selection.rules[0].allowed == ("de", "tr")


def test_only_languages_that_are_often_others_get_the_precision_filter(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Contaminated above a tenth, and with a list; hosts' top-level domains are no names."""
    (folder / "configs" / "hrv_Latn.yml").write_text(configuration(in_the_box()["hr"]))
    lists = tmp_path / "lists"
    words = lists / "misc" / "precision_filtering" / "wordlists-0.85"
    words.mkdir(parents=True)
    for label in ("hrv_Latn", "tur_Latn", "fra_Latn"):
        (words / f"{label}.txt").write_text("svibanj\n")
    scores = {"hrv_Latn": 0.7413, "tur_Latn": 0.1, "deu_Latn": 0.5, "fra_Latn": 0.2}
    (words.parent / "cont_scores.json").write_text(json.dumps(scores))
    names = {"hrv": [".hr", "croatian", "croatia"]}
    (words.parent / "url_whitelist.json").write_text(json.dumps(names))
    rows = read_configurations(folder, lists=lists).rows
    assert rows["hr"] == in_the_box()["hr"]
    assert [code for code, row in rows.items() if row["own_words"]] == ["fr", "hr"]
    assert len(json.loads(rows["fr"]["own_words"])) == 1  # no names: all pages stay, as there
    (words.parent / "cont_scores.json").write_text("[]")
    with pytest.raises(ModelError, match="no lists of FineWeb2's precision filter"):
        read_configurations(folder, lists=lists)
    monkeypatch.setenv("CORPUS_MODELS", str(tmp_path / "models"))
    digest = model_digest(folder)
    add_model("fineweb2-configs", digest, lambda target: copy_model(folder, target), "here")
    text = said(capsys, "models", "languages", str(tmp_path / "t.csv"))
    assert "run `corpus models fetch fineweb2-wordlists` first" in text


def test_what_is_no_configuration_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no configuration of qq"):
        read_configurations(folder, ["de", "qq"])
    (folder / "configs" / "swe_Latn.yml").write_text("top_n_grams: {a")
    with pytest.raises(RecipeError, match=r"swe_Latn.yml is not a configuration"):
        read_configurations(folder)
    rows = {"de": {**in_the_box()["de"], "stop_words": "der und"}}
    LanguageRows(rows, {}).write(tmp_path / "t.csv")
    text = (RECIPES / "fineweb2.yaml").read_text().replace("fineweb2-languages.csv", "t.csv")
    (tmp_path / "r.yaml").write_text(text)
    with pytest.raises(RecipeError, match="de: stop_words is not a list in JSON"):
        load_recipe(tmp_path / "r.yaml")
