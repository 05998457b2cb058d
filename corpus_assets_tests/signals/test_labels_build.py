"""Labels of sources in a build: rules ask for them, reports and queries show them."""

import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from catalog.db.registry import Registry
from catalog.formats.store import FileStore as CatalogStore
from catalog.lineage.tables import Lineage
from corpus_assets.build import build
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.recipe.load import load_recipe
from corpus_assets.session import open_session
from corpus_assets_tests.cli.test_commands import said
from corpus_assets_tests.shards.three_sources import write
from corpus_assets_tests.small_corpus import prose

CHANGES: dict[str, Any] = {
    "sources.0.fields": {"key": "id", "labels": {"topic": "meta.topic"}, "scores": {"edu": "edu"}},
    "signals.families": [
        {"family": "gopher_quality"},
        {"family": "source_labels", "labels": ["topic"], "scores": ["edu"]},
    ],
    "selection.rules": [
        {"name": "words", "signal": "n_words", "min": 5},
        {"name": "topic", "signal": "topic", "in": ["law", "health"], "only_languages": None,
         "where": {"signal": "edu", "max": 2}},
    ],
}  # fmt: skip
LABELS = [{"meta": {"topic": ("law", "games")[i % 2]}, "edu": i % 4} for i in range(12)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    recipe = write(folder / "in", CHANGES)
    rows = ({"id": f"forum-{i}", "text": prose("forum", i)} | LABELS[i] for i in range(12))
    (recipe.parent / "forum.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_session(str(recipe), Home.resolve(str(folder / "home")), workers=1) as session:
        build(session, "v")
    return folder


def test_a_rule_drops_by_the_label_of_the_source(place: Path) -> None:
    home = Home.resolve(str(place / "home"))
    registry = Registry(home.catalog_url)
    store = CatalogStore(home.store_url)
    with Lineage(registry, store, "v") as tables:
        fates = tables.connection.execute(
            f"SELECT s.topic, s.edu, d.reason FROM {tables.scan('signals')} AS s "
            f"JOIN {tables.scan('decisions')} AS d USING (doc_id)"
        ).fetchall()
        labels = tables.connection.execute(
            f"SELECT labels.topic, count(*) FROM {tables.scan('documents')} GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert len(fates) == 36
    for topic, edu, reason in fates:
        is_asked = edu is not None and edu <= 2
        assert reason == ("topic" if is_asked and topic != "law" else None)
    # Two sources give no labels: their texts have no such column, and are there all the same.
    assert labels == [("games", 6), ("law", 6), (None, 24)]


def test_the_report_shows_what_became_of_each_topic(place: Path) -> None:
    page = (place / "home/store/versions/v/report.html").read_text(encoding="utf-8")
    section = page.partition("By topic, of documents")[2].partition("<h3>")[0]
    said = re.findall(r'<dt>(\w+)</dt>.*?"said">(\d+ of \d+): <b>', section)
    dropped = sum(label["meta"]["topic"] == "games" and label["edu"] <= 2 for label in LABELS)
    assert dict(said) == {
        "all": f"{36 - dropped} of 36",
        "games": f"{6 - dropped} of 6",
        "law": "6 of 6",
        "unknown": "24 of 24",
    }
    assert said[1][0] == "games", "who lies farthest from the share of all comes first"
    assert f"most: selection/topic {dropped}" in section


def test_a_document_is_shown_with_its_labels(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home.resolve(str(place / "home"))
    files = Registry(home.catalog_url).lineage_files("v", "signals")
    tables = [pq.read_table(open_store(home.store_url).local(file.path)) for file in files]
    rows = [row for table in tables for row in table.to_pylist() if row["topic"] == "games"]
    shown = json.loads(
        said(
            capsys,
            "signals",
            "show",
            rows[0]["doc_id"].hex(),
            "--home",
            str(place / "home"),
            "--json",
        )
    )
    by_name = {signal["name"]: signal for signal in shown["signals"]}
    assert by_name["topic"]["value"] == "games"
    assert by_name["edu"]["percentile"] is not None


def test_a_label_that_no_source_gives_is_refused(tmp_path: Path) -> None:
    wrong = CHANGES | {"signals.families": [{"family": "source_labels", "labels": ["topik"]}]}
    recipe = write(tmp_path / "in", wrong | {"selection.rules": [], "selection.tiers": None,
                                             "mixture.weights": {}})  # fmt: skip
    with pytest.raises(
        RecipeError, match="no source has 'topik' under `fields.labels`; known: top"
    ):
        load_recipe(recipe)


WORDS = {"law": "court judge statute appeal verdict", "food": "bread butter oven flour sugar"}


def topical(source: str, number: int) -> tuple[str, str]:
    topic = ("law", "food")[number % 2]
    draw = random.Random(f"{source} {number}")
    return " ".join(draw.choices(WORDS[topic].split(), k=40)), topic


@pytest.mark.parametrize("by", ["source_labels", "imported"])
def test_labels_of_one_source_are_learned_for_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    home = tmp_path / "home"
    given: dict[str, Any] = {"family": "source_labels", "labels": ["given"]}
    if by == "imported":
        rows = [{"text_id": hashlib.sha256(text.encode()).hexdigest(), "given": topic}
                for text, topic in (topical("forum", i) for i in range(12))]  # fmt: skip
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        command = ("signals", "import", str(tmp_path / "rows.jsonl"), "--name", "mine")
        more = ("--key", "text_id", "--columns", "given", "--home", str(home), "--json")
        given = json.loads(said(capsys, *command, *more))["family"]
    changes: dict[str, Any] = {
        "signals.families": [{"family": "gopher_quality"}, given, {"family": "label", "name": "topic"}],
        "classifiers": {
            "topic": {
                "labels_from": "given",
                "documents": {"snapshots": ["forum-1"]},
                "train": {"min_examples": 3, "dim": 8, "epochs": 60, "bucket": 200, "lr": 0.5,
                          "min_documents": 1},
            }
        },
        "clusters": {"min_similarity": None},
        "selection.tiers": None,  # all of these texts have as many words
        "mixture.weights": {},
    }  # fmt: skip
    if by == "source_labels":
        changes["sources.0.fields"] = {"key": "id", "labels": {"given": "about"}}
    recipe = write(tmp_path / "in", changes)
    for name in ("forum", "news", "library"):
        lines = []
        for i in range(12):
            text, topic = topical(name, i)
            lines.append(json.dumps({"id": f"{name}-{i}", "text": text, "about": topic}) + "\n")
        (recipe.parent / f"{name}.jsonl").write_text("".join(lines))
    with open_session(str(recipe), Home.resolve(str(home)), workers=1) as session:
        build(session, "v")
        lock = json.loads(session.pipeline.store.read("versions/v/lock.json"))
    assert "classifiers/topic" in lock["calibrations"]
    opened = Home.resolve(str(home))
    with Lineage(Registry(opened.catalog_url), CatalogStore(opened.store_url), "v") as tables:
        found = tables.connection.execute(
            f"SELECT s.topic, s.given, t.text FROM {tables.scan('signals')} AS s "
            f"JOIN {tables.scan('documents')} AS t USING (doc_id)"
        ).fetchall()
    assert len(found) == 36
    assert sum(topic == ("law" if "court" in text or "judge" in text else "food")
               for topic, _, text in found) >= 33  # fmt: skip
    assert sum(own is not None for _, own, _ in found) == 12
