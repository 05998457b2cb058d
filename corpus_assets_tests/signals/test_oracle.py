"""fastText says the same of a snapshot's languages, labels and scores, whoever computed them."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.core import files
from corpus_assets.core.home import Home
from corpus_assets.graph.checks import CheckOutcome, check_asset
from corpus_assets.graph.run import pin_snapshot, run_asset
from corpus_assets.models.fasttext_library import LibraryModel
from corpus_assets.session import Session, open_session
from corpus_assets.signals.classifier import Label, Reading
from corpus_assets.signals.language import Language
from corpus_assets.signals.stages import oracle, signals
from corpus_assets.signals.stages.signals import compute_signals
from corpus_assets_tests.models.test_fasttext_labels import batch
from corpus_assets_tests.signals.support.fasttext_files import GERMAN, fasttext_file
from corpus_assets_tests.signals.support.texts import ADVERSARIAL
from corpus_assets_tests.small_corpus import prose, spam

S = "s"
CUT = "This website uses cookies and javascript to show the lorem ipsum of our advertisers today."
ENGLISH = [prose("english", i) for i in range(60)]
GERMAN_TEXTS = [" ".join(random.Random(i).choices(GERMAN, k=25)) for i in range(60)]
TEXTS = [
    *(f"{prose('page', i)}\n{CUT}\n{CUT}" for i in range(6)),
    *GERMAN_TEXTS[:4],
    *(spam("ad", i) for i in range(4)),
    *(text for text in ADVERSARIAL if text.strip() and "\ud800" not in text),
]
FAMILIES: list[dict[str, Any]] = [
    {"family": "language"},
    {"family": "c4_lines"},
    {"family": "classifier", "name": "quality", "labels": {"positive": 3, "negative": -1}},
    {"family": "classifier", "name": "ads", "labels": {"ad": 1}},
    {"family": "label", "name": "kind"},
]


def write_corpus(
    folder: Path, texts: list[str], families: list[dict[str, Any]], engine: str = "kernels"
) -> Path:
    """Three files of texts; page N has the address http://a.example/N. One classifier is trained
    by the recipe, two and the language model are files."""
    folder.mkdir(parents=True)
    for number in range(3):
        rows = [
            {"url": f"http://a.example/{i}", "text": text}
            for i, text in enumerate(texts)
            if i % 3 == number
        ]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{number}.jsonl").write_text(lines)
    for name, examples in (("good", ENGLISH[:20]), ("poor", [spam("b", i) for i in range(20)])):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in examples)
        (folder / f"{name}.examples").write_text(lines)
    lid = fasttext_file(folder / "lid.bin", {"eng_Latn": ENGLISH, "deu_Latn": GERMAN_TEXTS})
    ads = fasttext_file(
        folder / "ads.bin", {"ad": [spam("ad", i) for i in range(40)], "other": ENGLISH}
    )
    body = {
        "name": "r",
        "seed": 1,
        "sources": [
            {
                "name": "web",
                "format": "jsonl",
                "domain": "web",
                "fields": {"url": "url", "text": "text"},
                "snapshots": {S: "*.jsonl"},
            }
        ],
        "language_model": {"path": "lid.bin", "sha256": lid},
        "classifiers": {
            "quality": {
                "positives": [{"files": ["good.examples"]}],
                "negatives": [{"files": ["poor.examples"]}],
                "train": {"min_documents": 1, "dim": 4, "bucket": 500, "min_examples": 5},
            },
            "ads": {"model": {"path": "ads.bin", "sha256": ads}, "text": "plain"},
            "kind": {
                "model": {"path": "ads.bin", "sha256": ads},
                "text": "plain",
                "max_chars": None,
            },
        },
        "signals": {"engine": engine, "families": families},
        "selection": {"rules": [{"name": "few_chars", "signal": "n_chars", "min": 1}]},
        "tokenizer": {"train": {"vocab_size": 300, "special_slots": 2}},
        "mixture": {},
    }
    named = {family.get("name") for family in families}
    body["classifiers"] = {k: v for k, v in body["classifiers"].items() if k in named}  # type: ignore[attr-defined]
    (folder / "recipe.yaml").write_text(yaml.safe_dump(body))
    return folder / "recipe.yaml"


def opened(recipe: Path) -> Any:
    return open_session(str(recipe), Home.resolve(str(recipe.parent / "home")))


def compute(session: Session) -> CheckOutcome:
    """Run the assets up to signals; what the check says of them."""
    pin_snapshot(session.pipeline, session.registry, S)
    for asset in ("documents", "classifiers", "signals"):
        snapshot = None if asset == "classifiers" else S
        report = run_asset(
            session.pipeline, session.engine, session.registry, session.progress, asset, snapshot
        )
    (found,) = [one for one in check_asset(session.pipeline, report) if one.name == "fasttext"]
    return found


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus", TEXTS, FAMILIES)


@pytest.mark.parametrize("engine", ["kernels", "fasttext"])
def test_signals_of_all_fasttext_models_are_what_fasttext_says(tmp_path: Path, engine: str) -> None:
    corpus = write_corpus(tmp_path / "corpus", TEXTS, FAMILIES, engine)
    with opened(corpus) as session:
        outcome = compute(session)
    assert outcome.passed, outcome.message
    assert not outcome.is_warning
    assert outcome.numbers == {"documents": 24, "models": 4, "differing": 0}
    assert outcome.message == (
        "fastText agrees on 24 documents (models: classifier:ads, classifier:kind, "
        "classifier:quality, lid)"
    )


def test_the_engine_changes_no_column_and_no_value_by_more_than_its_last_bits(
    recipe: Path, tmp_path: Path
) -> None:
    tables = []
    for each in (recipe, write_corpus(tmp_path / "library", TEXTS, FAMILIES, "fasttext")):
        with opened(each) as session:
            compute(session)
            place = session.pipeline.store.local
            parts = session.pipeline.parts(files.SIGNALS, S)
            tables.append(pa.concat_tables([pq.read_table(place(part.path)) for part in parts]))
            trained = session.pipeline.tasks("classifiers")
            tables[-1] = tables[-1].replace_schema_metadata({"model": trained[0].fingerprint})
    ours, theirs = tables
    assert ours.schema.equals(theirs.schema, check_metadata=True), "no model is trained again"
    for name in ours.column_names:
        if pa.types.is_floating(ours.schema.field(name).type):
            np.testing.assert_allclose(ours[name].to_numpy(), theirs[name].to_numpy(), atol=2e-4)
        else:
            assert ours[name] == theirs[name], name


def test_what_the_library_computes_has_a_fingerprint_of_its_own() -> None:
    for family in (Language, Label):
        assert "library" not in family().identity()
        asked = family().with_engine("fasttext").identity()
        assert asked["library"].startswith("fasttext-community ")


Fault = Callable[[dict[str, Any]], None]


def another_language(row: dict[str, Any]) -> None:
    row["language"] = "de" if row["language"] == "en" else "en"


def an_unknown_language(row: dict[str, Any]) -> None:
    row["language"] = "tlh"


def no_language(row: dict[str, Any]) -> None:
    row["language"] = row["language_score"] = None


def a_language_score_that_is_off(row: dict[str, Any]) -> None:
    row["language_2_score"] += 0.0012


def a_quality_score_that_is_off(row: dict[str, Any]) -> None:
    row["quality_score"] -= 0.005


def no_quality_score(row: dict[str, Any]) -> None:
    row["quality_score"] = None


def another_label(row: dict[str, Any]) -> None:
    row["kind"] = "other" if row["kind"] == "ad" else "ad"


@pytest.mark.parametrize(
    ("fault", "model"),
    [
        (another_language, "lid"),
        (an_unknown_language, "lid"),
        (no_language, "lid"),
        (a_language_score_that_is_off, "lid"),
        (a_quality_score_that_is_off, "classifier:quality"),
        (no_quality_score, "classifier:quality"),
        (another_label, "classifier:kind"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_wrong_value_is_an_error_that_names_model_and_document_and_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, model: str
) -> None:
    spoilt: list[bytes] = []

    def spoil(*given: Any) -> pa.Table:
        table = compute_signals(*given)
        rows = table.to_pylist()
        fault(rows[0])
        spoilt.append(rows[0]["doc_id"])
        return pa.Table.from_pylist(rows, schema=table.schema)

    monkeypatch.setattr(signals, "compute_signals", spoil)
    pages = [prose("page", i) for i in range(3)]
    with opened(write_corpus(tmp_path / "corpus", pages, FAMILIES)) as session:
        outcome = compute(session)
    assert (outcome.passed, outcome.is_warning) == (False, False)
    assert outcome.numbers["differing"] == 3
    ids = ", ".join(sorted(doc_id.hex() for doc_id in spoilt))
    expected = f"fastText disagrees with {model} on 3 of 3 documents ({ids}); delete"
    assert outcome.message.startswith(expected)
    assert pages[0].split()[-1] not in outcome.message


def test_labels_that_are_equally_likely_may_have_changed_places() -> None:
    table = pa.table({"kind": ["b"], "kind_score": pa.array([0.4999], pa.float32())})
    family = Label(name="kind").with_reading(Reading(text="plain"))

    class Model(LibraryModel):
        def __init__(self, chances: list[float]) -> None:
            self.labels = ("a", "b")
            self.chances = np.array([chances], np.float32)

        def label_scores(self, data: Any, offsets: Any) -> Any:
            return self.chances

    texts = oracle.TextBatch.from_bytes(*batch(["x"]))
    assert not oracle._wrong(table, family, texts, Model([0.5001, 0.4999])).any()
    assert oracle._wrong(table, family, texts, Model([0.502, 0.498])).all()


def test_the_sample_is_small_fixed_and_without_the_longest_texts_and_largest_models(
    recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(recipe) as session:
        assert compute(session).passed
        monkeypatch.setattr(oracle, "DOCUMENTS", 2)
        drawn = oracle._draw(session.pipeline, S)
        assert drawn.num_rows == 6
        assert drawn == oracle._draw(session.pipeline, S)
        monkeypatch.setattr(oracle, "PARTS", 2)
        assert oracle._draw(session.pipeline, S).num_rows == 4
        monkeypatch.setattr(oracle, "MAX_CHARS", 100)
        assert (
            max(len(text) for text in oracle._draw(session.pipeline, S)["text"].to_pylist()) <= 100
        )
        size = (recipe.parent / "lid.bin").stat().st_size
        monkeypatch.setattr(oracle, "MAX_MODEL_BYTES", size - 1)
        found = oracle.compare_with_fasttext(session.pipeline, S)
        assert found.models == ["classifier:quality"]
        assert found.too_large == ["classifier:ads", "classifier:kind", "lid"]
        monkeypatch.setattr(oracle, "MAX_MODEL_BYTES", 0)
        outcome = compute(session)
        assert outcome.passed
        assert outcome.message == (
            "no signal is computed by a fastText model that can be compared; too large to compare: "
            "classifier:ads, classifier:kind, classifier:quality, lid"
        )


def test_signals_without_a_fasttext_model_need_no_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oracle, "_draw", None)
    families = [{"family": "gopher_quality"}]
    with opened(write_corpus(tmp_path / "corpus", TEXTS[:3], families)) as session:
        outcome = compute(session)
    assert outcome.passed
    assert outcome.numbers == {"documents": 0, "models": 0, "differing": 0}


def test_fasttext_never_sees_the_text_of_a_document_under_a_takedown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = write_corpus(tmp_path / "corpus", TEXTS[:9], FAMILIES)
    read: list[str] = []
    label_scores = LibraryModel.label_scores

    def look(model: LibraryModel, data: Any, offsets: Any) -> Any:
        read.append(data.tobytes().decode())
        return label_scores(model, data, offsets)

    monkeypatch.setattr(LibraryModel, "label_scores", look)
    gone = TEXTS[0].partition("\n")[0]
    with opened(recipe) as session:
        assert compute(session).passed
    assert any(gone in text for text in read)
    read.clear()
    home = Home.resolve(str(recipe.parent / "home"))
    target = url_target("http://a.example/0")
    request_takedown(Registry(home.catalog_url), FileStore(home.store_url), target, "asked")
    with opened(recipe) as session:
        outcome = compute(session)
    assert outcome.passed
    assert outcome.numbers["documents"] == 8
    assert read
    assert not any(gone in text for text in read)
