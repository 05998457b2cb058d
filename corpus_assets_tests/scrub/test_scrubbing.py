"""Scrubbing through the graph: reasons, counts, lists and recognizers, and what identity is."""

import hashlib
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from corpus_assets.core.errors import MissingExtra, SourceError
from corpus_assets.core.home import Home
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import pin_snapshot, run_asset
from corpus_assets.session import open_session

SNAPSHOT = "notes-1"
ASSETS = (
    "documents", "signals", "quality_cutoffs", "selection", "signatures", "clusters", "clean_text",
)  # fmt: skip
TEXTS = {
    "plain": "Nothing is told about anybody in this short text on tides.",
    "listed": "This text must not be in any corpus, and is on a list.",
    "mail": "Write to jane@example.org or call +49 30 901820 about it.",
    "key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\nof the server",
    "short": "x@example.org",
    "named": "It was Ada Lovelace who wrote this about the engine.",
}
ENGINE = """
class Names:
    def identity(self):
        return "names 1"
    def find(self, texts, languages):
        for text in texts:
            at = text.find("Ada Lovelace")
            yield [(at, at + 12, "person")] if at >= 0 else []

def make():
    return Names()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [json.dumps({"text": text}) for name, text in TEXTS.items()]
    (tmp_path / "notes.jsonl").write_text("\n".join(rows), encoding="utf-8")
    digest = hashlib.sha256(TEXTS["listed"].encode()).hexdigest()
    (tmp_path / "hashes.txt").write_text(f"# texts\n{digest}\n")
    (tmp_path / "names_for_scrubbing.py").write_text(ENGINE)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def recipe(scrub: dict[str, Any], **clean_text: Any) -> dict[str, Any]:
    return {
        "name": "scrubbing",
        "seed": 1,
        "sources": [
            {"name": "notes", "format": "jsonl", "domain": "web", "snapshots": {SNAPSHOT: "notes.jsonl"}}
        ],
        "signals": {"families": [{"family": "gopher_quality"}]},
        "selection": {"rules": [{"name": "words", "signal": "n_words", "min": 1}]},
        "clean_text": {"min_chars": 10, "scrub": scrub, **clean_text},
        "tokenizer": {"train": {"vocab_size": 300, "special_slots": 2}},
        "mixture": {},
    }  # fmt: skip


def build(place: Path, settings: dict[str, Any]) -> Pipeline:
    (place / "recipe.yaml").write_text(yaml.safe_dump(settings))
    with open_session(str(place / "recipe.yaml"), Home.resolve(str(place / "home"))) as session:
        pin_snapshot(session.pipeline, session.registry, SNAPSHOT)
        for asset in ASSETS:
            snapshot = None if asset == "quality_cutoffs" else SNAPSHOT
            run_asset(
                session.pipeline, session.engine, session.registry, session.progress, asset, snapshot
            )  # fmt: skip
        return session.pipeline


def fates(pipeline: Pipeline) -> dict[str, str | None]:
    """What became of each text: its final text, or the reason why it has none."""
    (part,) = pipeline.results("clean_text", SNAPSHOT)
    (documents,) = pipeline.results("documents", SNAPSHOT)
    names = {"records": documents.outputs["documents.parquet"], **{
        name: part.outputs[f"{name}.parquet"] for name in ("decisions", "final")
    }}  # fmt: skip
    paths = {name: str(pipeline.store.local(output.path)) for name, output in names.items()}
    rows = duckdb.sql(
        "select r.text, coalesce(f.text, d.reason) "
        "from read_parquet($records) r join read_parquet($decisions) d using (doc_id) "
        "left join read_parquet($final) f using (doc_id)",
        params=paths,
    ).fetchall()
    names_of = {text: name for name, text in TEXTS.items()}
    return {names_of[text]: fate for text, fate in rows}


def test_reasons_and_counts_come_out_of_the_graph(place: Path) -> None:
    names = {"engine": "names_for_scrubbing:make", "kinds": {"person": "replace"}}
    pipeline = build(
        place,
        recipe(
            {"drop": ["private_key"], "recognizers": [names]}, text_hashes=[{"path": "hashes.txt"}]
        ),
    )
    assert fates(pipeline) == {
        "plain": TEXTS["plain"],
        "listed": "listed_text_hash",
        "mail": "Write to <email> or call <phone> about it.",
        "key": "holds_private_key",
        "short": "too_short_after_cleaning",
        "named": "It was <person> who wrote this about the engine.",
    }
    (part,) = pipeline.results("clean_text", SNAPSHOT)
    counts = {name: n for name, n in part.counts.items() if name.startswith("scrubbed_")}
    assert {name for name, n in counts.items() if n} == {
        "scrubbed_email", "scrubbed_phone", "scrubbed_person",
    }  # fmt: skip
    assert counts["scrubbed_iban"] == 0
    assert [file.name for file in pipeline.inputs()["text_hashes"]] == ["hashes.txt"]


def test_counts_are_asked_for_by_kind_in_sql(place: Path) -> None:
    pipeline = build(place, recipe({}))
    (part,) = pipeline.results("clean_text", SNAPSHOT)
    path = str(pipeline.store.local(part.outputs["final.parquet"].path))
    query = "select sum(scrubbed['email']), sum(scrubbed['phone']) from read_parquet($path)"
    assert duckdb.sql(query, params={"path": path}).fetchall() == [(1, 1)]


def identity(place: Path, settings: dict[str, Any]) -> str:
    (task,) = build(place, settings).tasks("clean_text", SNAPSHOT)
    return task.fingerprint


def test_a_list_counts_by_its_content_and_not_by_its_place(place: Path) -> None:
    with_list = recipe({}, text_hashes=[{"path": "hashes.txt"}])
    before = identity(place, with_list)
    (place / "other.txt").write_bytes((place / "hashes.txt").read_bytes())
    assert identity(place, recipe({}, text_hashes=[{"path": "other.txt"}])) == before
    assert (
        identity(place, recipe({}, text_hashes=[{"path": "other.txt", "form": "normalized"}]))
        != before
    )
    (place / "hashes.txt").write_text("0" * 64)
    assert identity(place, with_list) != before


def test_a_list_that_is_not_there_is_told(place: Path) -> None:
    with pytest.raises(SourceError, match=r"clean_text.text_hashes: no file at none.txt"):
        build(place, recipe({}, text_hashes=[{"path": "none.txt"}]))


def test_a_recognizer_that_is_missing_is_told_before_anything_is_cleaned(place: Path) -> None:
    names = {"engine": "no_such_package:make", "kinds": {"person": "replace"}}
    with pytest.raises(MissingExtra, match="no_such_package"):
        build(place, recipe({"recognizers": [names]}))
