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
