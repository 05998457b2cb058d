"""Learned filters through the whole graph: several at once, from texts of every kind, and a
language model of one's own."""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.core import files
from corpus_assets.core.errors import ModelError, RecipeError, SourceError
from corpus_assets.core.home import Home
from corpus_assets.core.task import read_table
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import pin_snapshot
from corpus_assets.session import open_session
from corpus_assets.signals.stages.classifiers import read_files
from corpus_assets.versions.version import Version, make_version
from corpus_assets_tests.promises.erasure.build import run_all
from corpus_assets_tests.signals.support.fasttext_files import GERMAN, fasttext_file
from corpus_assets_tests.small_corpus import make_small_corpus, prose, spam


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learned")
    make_small_corpus(folder)
    pq.write_table(
        pa.table({"body": [prose("column", i) for i in range(20)], "n": range(20)}),
        folder / "good.parquet",
    )
    (folder / "cited.txt").write_text("example.com\nexample.org\n*.example\n", encoding="utf-8")
    return folder


def changes(folder: Path) -> dict[str, Any]:
    german = [" ".join(random.Random(i).choices(GERMAN, k=25)) for i in range(60)]
    english = [prose("english", i) for i in range(60)]
    lid = fasttext_file(folder / "own-lid.bin", {"eng_Latn": english, "deu_Latn": german})
    ads = fasttext_file(
        folder / "ads.bin", {"ad": [spam("ad", i) for i in range(40)], "other": english}
    )
    small = {"min_examples": 2, "epochs": 2, "dim": 4, "bucket": 100}
    return {
        "language_model": {"path": "own-lid.bin", "sha256": lid},
        "classifiers.cited": {
            "positives": [
                {"snapshots": ["crawl-1", "crawl-2"], "urls": ["cited.txt"], "max_documents": 15},
                {"files": ["good.parquet"], "text": "body"},
            ],
            "negatives": ["quality/negatives.jsonl"],
            "train": small,
        },
        "classifiers.ads": {"model": {"path": "ads.bin", "sha256": ads}, "text": "plain"},
        "signals.families": [
            {"family": "language"},
            {"family": "gopher_quality"},
            {"family": "classifier", "name": "quality"},
            {"family": "classifier", "name": "cited"},
            {"family": "classifier", "name": "ads", "labels": {"ad": 1}},
            {"family": "ensemble", "scores": ["quality_score", "cited_score"], "buckets": 4},
        ],
        "selection.rules": [
            {"name": "language", "signal": "language", "in": ["en"], "domains": ["web"]},
            {"name": "language_confidence", "signal": "language_score", "min": 0.5,
             "languages": {"en": {"min": 0.4}}, "domains": ["web"]},
            {"name": "advertising", "signal": "ads_score", "max": 0.5, "domains": ["web"]},
            {"name": "poor", "signal": "cited_score", "cutoff": "cited", "domains": ["web"]},
        ],
        "selection.cutoffs": {
            "cited": {"signal": "cited_score", "drop_share": 0.1, "by": "domain_language",
                      "min_documents": 5},
        },
        "selection.tiers": {"signal": "ensemble_bucket", "names": ["high", "low"], "bounds": [2],
                            "default": "low"},
        "tokenizer.sample.languages": None,
    }  # fmt: skip


@pytest.fixture(scope="module")
def built(folder: Path) -> tuple[Pipeline, Version]:
    home = Home.resolve(str(folder / "home"))
    with open_session(str(folder / "small.yaml"), home, overrides=changes(folder)) as session:
        for name in session.pipeline.recipe.snapshots:
            pin_snapshot(session.pipeline, session.registry, name)
        run_all(session)
        return session.pipeline, make_version(session.pipeline, "learned")


def rows(pipeline: Pipeline, node: str, file: str, snapshot: str) -> list[dict[str, Any]]:
    return [
        row
        for result in pipeline.results(node, snapshot)
        for row in read_table(pipeline.store, result.outputs[file]).to_pylist()
    ]


def test_each_classifier_has_a_column_and_its_place_in_the_lock(
    built: tuple[Pipeline, Version], folder: Path
) -> None:
    pipeline, version = built
    lock = version.lock
    assert {"classifiers/quality", "classifiers/cited", "score_ranks"} <= set(lock.calibrations)
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in
               ("own-lid.bin", "ads.bin")}  # fmt: skip
    assert lock.models == {
        "language": digests["own-lid.bin"], "classifier:ads": digests["ads.bin"],
    }  # fmt: skip
    assert {"classifiers/cited/positives/0", "classifiers/cited/positives/1"} <= set(lock.inputs)
    for row in rows(pipeline, "signals", "signals.parquet", "crawl-1"):
        for name in ("quality_score", "cited_score", "ads_score"):
            assert 0 <= row[name] <= 1
        assert 0 <= row["ensemble_bucket"] < 4


def test_what_a_classifier_learned_from_is_in_its_notes(built: tuple[Pipeline, Version]) -> None:
    notes = [result.notes["metrics"] for result in built[0].results("classifiers")]
    metrics = {name: value for note in notes for name, value in note.items()}
    assert set(metrics) == {"quality", "cited"}
    cited = metrics["cited"]
    assert cited["n_train_positives"] + cited["n_holdout_positives"] > 20
    assert cited["auc"] > 0.9
    assert not [value for value in cited.values() if not isinstance(value, int | float)]


def test_only_cited_pages_were_drawn_and_no_more_than_asked_for(
    built: tuple[Pipeline, Version],
) -> None:
    pipeline, _ = built
    hosts = {
        row["doc_id"]: row["host"]
        for row in rows(pipeline, "documents", "documents.parquet", "crawl-1")
    }
    drawn = rows(pipeline, "classifier_sample", "sample.parquet", "crawl-1")
    assert 0 < len(drawn) <= 2 * 15
    for row in drawn:
        assert hosts[row["doc_id"]].endswith((".example", "example.com", "example.org"))


def test_languages_have_the_model_s_own_labels_and_books_are_not_lost_to_them(
    built: tuple[Pipeline, Version],
) -> None:
    pipeline, _ = built
    labels = {row["language"] for row in rows(pipeline, "signals", "signals.parquet", "crawl-1")}
    assert labels <= {"en", "de", None}
    assert "en" in labels
    chosen = rows(pipeline, "selection", "selection.parquet", "books-1")
    assert chosen
    assert all(row["kept"] for row in chosen)
    web = rows(pipeline, "selection", "selection.parquet", "crawl-1")
    assert any("advertising" in row["failed_rules"] for row in web)


@pytest.mark.parametrize("weigh", ["documents", "characters"])
def test_scores_are_ranked_among_the_documents_that_reach_the_ensemble(
    folder: Path, built: tuple[Pipeline, Version], weigh: str
) -> None:
    """Rules before the first that reads the ensemble count, but for those by cutoff; so do rules
    about signals of families after it. Expected values are taken from the finished signals."""
    overrides = changes(folder)
    families = overrides["signals.families"]
    families[-1] |= {"weigh": weigh}
    families.insert(1, families.pop(4))  # the advertisements first
    families.append(families.pop(2))  # and `gopher_quality` after the ensemble
    rules = overrides["selection.rules"]
    rules.append(
        {"name": "few_words", "signal": "n_words", "min": 160, "domains": ["web"],
         "where": {"signal": "mean_word_chars", "max": 5.2}}
    )  # fmt: skip
    rules.append({"name": "low", "signal": "ensemble_score", "min": 0.1})
    rules.append({"name": "unlikely", "signal": "quality_score", "min": 2})
    home = Home.resolve(str(folder / "home"))
    with open_session(str(folder / "small.yaml"), home, overrides=overrides) as session:
        pipeline = session.pipeline
        run_all(session)
        ranks = json.loads(pipeline.store.read(pipeline.calibration(files.SCORE_RANKS).path))
        found = {name: rows(pipeline, "signals", "signals.parquet", name)
                 for name in pipeline.recipe.calibration_snapshots}  # fmt: skip
    passing = [
        row
        for name, signals in found.items()
        for row in signals
        if name.startswith("books")
        or (
            row["language"] == "en"
            and row["language_score"] >= np.float32(0.4)
            and row["ads_score"] <= 0.5
            and (row["n_words"] >= 160 or row["mean_word_chars"] > np.float32(5.2))
        )
    ]
    assert 10 < len(passing) < sum(map(len, found.values())) - 2
    for score in ("quality_score", "cited_score"):
        spread = sorted(
            row[score]
            for row in passing
            for _ in range(1 if weigh == "documents" else row["n_chars"])
        )
        steps = 4 * 50
        expected = [spread[k * len(spread) // steps] for k in range(1, steps)]
        values = [cut[0] if isinstance(cut, list) else cut for cut in ranks["scores"][score]]
        assert np.array_equal(np.float32(values), np.float32(expected))


def test_a_file_with_another_digest_is_refused(folder: Path, built: object) -> None:
    home = Home.resolve(str(folder / "home"))
    for key, value, message in (
        ("language_model.sha256", "00", "language_model: .*own-lid.bin has SHA-256 .* expected 00"),
        (
            "classifiers.ads.model.sha256",
            "00",
            "classifiers.ads: .*ads.bin has SHA-256 .* expected 00",
        ),
    ):
        overrides = changes(folder) | {key: value}
        with (
            open_session(str(folder / "small.yaml"), home, overrides=overrides) as session,
            pytest.raises(ModelError, match=message),
        ):
            session.pipeline.tasks("signals", "crawl-1")


def test_a_column_that_the_files_do_not_have_is_named(folder: Path, tmp_path: Path) -> None:
    good = str(folder / "good.parquet")
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"body": "one"}\n{"body": "two"}\n', encoding="utf-8")
    assert read_files([good, str(lines)], "body")[-3:] == [prose("column", 19), "one", "two"]
    with pytest.raises(SourceError, match="lines.jsonl line 1: expected a JSON object with `text`"):
        read_files([str(lines)], "text")
    with pytest.raises(SourceError, match=r"good.parquet: cannot be read .* column 'txet'"):
        read_files([good], "txet")
    with pytest.raises(SourceError, match="good.parquet: 'n' must be a string in every row"):
        read_files([good], "n")
    (tmp_path / "bad.parquet").write_bytes(b"no Parquet")
    with pytest.raises(SourceError, match="bad.parquet: cannot be read as Parquet"):
        read_files([str(tmp_path / "bad.parquet")], "text")


def test_an_ensemble_of_unknown_scores_is_refused_with_the_recipe(folder: Path) -> None:
    home = Home.resolve(str(folder / "home"))
    overrides = {"signals.families": [{"family": "ensemble", "scores": ["nobody_score"]}]}
    with (
        pytest.raises(RecipeError, match="'ensemble' reads the column 'nobody_score'"),
        open_session(str(folder / "small.yaml"), home, overrides=overrides),
    ):
        pass
