"""Paraphrases in a whole build: refused without the model, dropped for their reason, same bytes."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets.session import Session, open_session
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.decontam.support.static_model import by_meaning, write_static_model
from corpus_assets_tests.small_corpus import make_small_corpus, prose

VECTORS = by_meaning(
    "lighthouse lamp lamps", "turns turn once", "twelve eighteen", "seconds", "harbour",
    "together", "face faces",
)  # fmt: skip
AGAIN = (
    "Two lamps look out over the harbour. The lighthouse lamp needs twelve seconds for a turn, and "
    "the second lamp eighteen seconds. After how many seconds will both face the harbour together?"
)
SETTINGS = "contamination: {drop_share: 0.8, judgements: [lists/judgements.jsonl]"


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The small corpus with a chapter that says an item in other words."""
    monkeypatch.setenv("CORPUS_MODELS", str(tmp_path / "models"))
    place = Place(tmp_path)
    make_small_corpus(tmp_path / "corpus")
    chapter = f"{prose('planted', 1)}\n{AGAIN}\n{prose('planted', 2)}"
    row = {"id": "b-8", "title": "Lamps", "licence": "CC0-1.0", "text": chapter}
    with open(place.source("books/books-1.jsonl"), "a") as books:
        books.write(json.dumps(row) + "\n")
    recipe = place.recipe.read_text()
    assert SETTINGS in recipe
    with_them = f"{SETTINGS}, paraphrases: {{model: tiny-vectors, action: drop}}"
    place.recipe.write_text(recipe.replace(SETTINGS, with_them))
    return place


def contamination_tasks(session: Session) -> list[bool]:
    """For each part of the books and the first crawl, whether it was searched already."""
    pipeline = session.pipeline
    tasks = [
        task for name in ("books-1", "crawl-1") for task in pipeline.tasks("contamination", name)
    ]
    return [pipeline.result_of(task) is not None for task in tasks]


@pytest.mark.slow
def test_a_paraphrase_is_dropped_for_its_reason_with_any_number_of_workers(
    planted: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert planted.build() == 1
    refused = capsys.readouterr().err
    assert "contamination.paraphrases: model tiny-vectors is not installed: run `corpus" in refused
    assert "models add tiny-vectors --path" in refused

    write_static_model(planted.folder / "vectors", VECTORS)
    assert main(["models", "add", "tiny-vectors", "--path", str(planted.folder / "vectors")]) == 0
    assert planted.build() == 0
    decided = [
        row
        for path in planted.artifacts("clean_text", "decisions.parquet")
        for row in pa.Table.to_pylist(pq.read_table(path))
        if row["reason"] == "paraphrases_eval_item"
    ]
    assert [(row["stage"], row["detail"]) for row in decided] == [("contamination", "lamps/q-1")]
    lock = json.loads((planted.store / "versions" / VERSION / "lock.json").read_text())
    assert "model:tiny-vectors" in lock["models"]
    kept = json.loads((planted.store / "versions" / VERSION / "files.json").read_text())["files"]
    assert len(kept["folder:contamination.paraphrases"]) == 2

    capsys.readouterr()
    assert main(["contamination", "--text", "--home", str(planted.home)]) == 0
    told = capsys.readouterr().out
    assert "drop: lamps/q-1 by paraphrase" in told
    assert "of its words by weight, similarity 0." in told
    assert "The lighthouse lamp needs twelve seconds for a turn" in " ".join(told.split())

    other = Place(planted.folder / "two")
    other.folder.mkdir()
    (other.folder / "corpus").symlink_to(planted.folder / "corpus")
    assert other.build("--workers", "2") == 0
    assert other.files() == planted.files()

    home, recipe = Home.resolve(str(planted.home)), str(planted.recipe)
    for key, value, is_searched in (
        ("min_similarity", 0.99, True),
        ("action", "review", True),
        ("engine", "other", False),
    ):
        change = {f"contamination.paraphrases.{key}": value}
        with open_session(recipe, home, overrides=change) as session:
            assert set(contamination_tasks(session)) == {is_searched}, key
