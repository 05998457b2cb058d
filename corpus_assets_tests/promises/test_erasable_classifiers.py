"""P4 with learned filters: a classifier that learned from a snapshot, and ranks of its scores."""

import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from catalog.db.rows import SuppressionRow
from corpus_assets.core.home import Home
from corpus_assets.core.store import Store, read_output
from corpus_assets.core.task import read_table
from corpus_assets.graph.run import pin_snapshot
from corpus_assets.session import Session, open_session, reopen_session
from corpus_assets.shards.tokens import Encoder
from corpus_assets.stages import STAGES
from corpus_assets.versions.gc import collect_garbage
from corpus_assets.versions.publish import publish_version
from corpus_assets.versions.version import make_version
from corpus_assets_tests.promises.erasure.build import run_all
from corpus_assets_tests.promises.erasure.case import Erasure, Kit
from corpus_assets_tests.promises.test_erasable_random import kit  # noqa: F401, a fixture
from corpus_assets_tests.registry_states import add_orders
from corpus_assets_tests.small_corpus import make_small_corpus, prose

PINS = ("classifiers/quality", "score_ranks")


def _with_a_classifier(shared: Kit) -> Erasure:
    """The first random corpus whose recipe learns from a sample of a snapshot."""
    for seed in range(300_000, 300_100):
        case = Erasure(seed, shared)
        if case.corpus.recipes[0].classifiers:
            return case
    raise AssertionError("no recipe has a classifier")


def test_erasing_under_learned_filters_equals_never_having_read(kit: Kit) -> None:  # noqa: F811
    """`run` compares each takedown with a build from scratch under the same lock, file by file."""
    case = _with_a_classifier(kit)
    seen = []
    carry_out = case.carry_out

    def watched(number: int, asked: list) -> None:  # type: ignore[type-arg]
        carry_out(number, asked)
        now = case.lines[0].now
        seen.append(tuple(now.version.lock.calibrations[name].sha256 for name in PINS))
        for node in ("classifiers", "score_ranks"):
            assert now.pipeline.tasks(node) == [], "nothing is learned again"
        for node in ("classifier_sample", "score_sample"):
            assert now.pipeline.tasks(node, "s0") == [], "and nothing drawn"

    case.carry_out = watched  # type: ignore[method-assign]
    counts = case.run(batches=2)
    assert counts["cases"] >= 2
    assert len(set(seen)) == 1, "models and ranks stay the lock's"


LEARNS = {
    "classifiers.quality.positives": [{"snapshots": ["books-1"]}],
    "classifiers.quality.negatives": [{"snapshots": ["crawl-1"], "max_documents": 40}],
    "classifiers.quality.train": {"min_examples": 3, "epochs": 1, "dim": 4, "bucket": 100},
    "selection.rules": [{"name": "few_words", "signal": "n_words", "min": 5}],
    "selection.cutoffs": {},
}


def _sampled(store: Store, session: Session) -> set[bytes]:
    return {
        doc_id
        for result in session.pipeline.results("classifier_sample", "crawl-1")
        for doc_id in read_table(store, result.outputs["sample.parquet"])["doc_id"].to_pylist()
    }


def _stored_samples(store: Store) -> set[bytes]:
    """Documents in all samples that the store has."""
    found: set[bytes] = set()
    for path in store.list("artifacts/classifier_sample"):
        if path.endswith("sample.parquet"):
            found.update(pq.read_table(store.local(path))["doc_id"].to_pylist())
    return found


@pytest.mark.slow
def test_a_document_that_was_taken_down_is_in_no_sample_and_in_no_later_training(
    tmp_path: Path,
) -> None:
    recipe, home = str(make_small_corpus(tmp_path)), Home.resolve(str(tmp_path / "home"))
    with open_session(recipe, home, overrides=LEARNS) as session:
        for name in session.pipeline.recipe.snapshots:
            pin_snapshot(session.pipeline, session.registry, name)
        run_all(session)
        first = make_version(session.pipeline, "v")
        publish_version(session.pipeline, session.registry, first)
        store, registry = session.pipeline.store, session.registry
        gone = min(_sampled(store, session))
        add_orders(registry, [SuppressionRow("doc_id", gone.hex())])
    with reopen_session(home, "v") as session:
        run_all(session)
        second = make_version(session.pipeline, "v.td1")
        publish_version(session.pipeline, session.registry, second, ["v"])
        pin = "classifiers/quality"
        assert second.lock.calibrations[pin] == first.lock.calibrations[pin]
    assert gone in _stored_samples(store)
    collect_garbage(store, registry)
    assert gone not in _stored_samples(store)
    with open_session(recipe, home, overrides=LEARNS, upgrade=("classifiers",)) as session:
        run_all(session)
        assert gone not in _sampled(store, session)
        again = make_version(session.pipeline, "w")
        assert again.lock.calibrations[pin] != first.lock.calibrations[pin]


NAMES = ("Quillorix", "Vantzelgolm", "Zembradunq")  # each in one document, many times
OFTEN = "harbour"
FEW_EXAMPLES = {
    "classifiers.quality.positives": ["quality/positives.jsonl", {"snapshots": ["books-1"]}],
    "classifiers.quality.negatives": ["quality/negatives.jsonl", {"snapshots": ["books-1"]}],
    "selection.rules": [{"name": "few_words", "signal": "n_words", "min": 5}],
}


def _spelled(name: str, content: bytes) -> str:
    """All that a calibration file spells, decoded, in small letters."""
    if name == "tokenizer":
        encoder = Encoder(content)
        return b"\n".join(map(encoder.token_bytes, range(encoder.vocab_size))).decode(
            "utf-8", "replace"
        )
    if content[:4] == b"PAR1":
        return json.dumps(pq.read_table(io.BytesIO(content)).to_pydict(), default=repr)
    return content.decode("latin-1")


def test_no_pinned_file_spells_a_name_that_one_document_holds(tmp_path: Path) -> None:
    recipe, home = str(make_small_corpus(tmp_path)), Home.resolve(str(tmp_path / "home"))
    with open(tmp_path / "books/books-1.jsonl", "a", encoding="utf-8") as books:
        for number, name in enumerate(NAMES):
            text = (
                f"{prose('secret', number)} " + f"The {OFTEN} of {name} was open to {name}. " * 40
            )
            row = {"id": f"s-{number}", "title": name, "licence": "CC0-1.0", "text": text}
            books.write(json.dumps(row) + "\n")
    with open_session(recipe, home, overrides=FEW_EXAMPLES) as session:
        for name in session.pipeline.recipe.snapshots:
            pin_snapshot(session.pipeline, session.registry, name)
        run_all(session)
        pinned = session.pipeline.calibrations()
        files = {name: read_output(session.pipeline.store, out) for name, out in pinned.items()}
    assert {name.partition("/")[0] for name in files} == set(STAGES.calibrations)
    spelled = {name: _spelled(name, content).lower() for name, content in files.items()}
    assert OFTEN in spelled["tokenizer"]
    for kind, text in spelled.items():
        if kind not in ("tokenizer", "eval_index"):
            assert OFTEN not in text, f"{kind} spells what many documents hold"
    for kind, text in spelled.items():
        for name in NAMES:
            parts = {name.lower()[i : i + 4] for i in range(len(name) - 3)}
            assert not {part for part in parts if part in text}, f"{kind} spells {name}"
