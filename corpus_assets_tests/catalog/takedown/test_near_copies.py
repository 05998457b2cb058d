"""Near copies by sketch: what the catalog finds is what ingest would refuse."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.formats.sketches import near_text_order
from catalog.lineage.tables import LiveLineage
from catalog.takedown.near_copies import find_near_copies
from catalog.takedown.requests import Requested, look_again, request_takedown
from catalog.takedown.target import doc_id_target, url_target
from corpus_assets.text import sketch
from corpus_assets_tests.catalog.corpus import SNAPSHOTS, Corpus, Doc, build
from corpus_assets_tests.registry_states import supersede

EARLY, LATE = SNAPSHOTS


def words(name: str, count: int) -> list[str]:
    chance = random.Random(name)
    return [f"{chance.choice('bcdfgh')}{chance.randrange(5000)}" for _ in range(count)]


def texts() -> dict[str, str]:
    story = words("story", 300)
    changed = [*story]
    changed[150] = "other"
    frame = words("frame", 150)
    return {
        "story": " ".join(story),
        "edited": " ".join(changed),
        "longer": " ".join([*story, *words("more", 6)]),
        "half": " ".join([*story[:150], *words("half", 150)]),
        "frame-1": " ".join([*frame, *words("one", 60)]),
        "frame-2": " ".join([*frame, *words("two", 60)]),
        "short": " ".join(words("short", 12)),
        "other": " ".join(words("other", 200)),
    }


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Texts that are copies of one another, in no cluster."""
    docs = [
        Doc(EARLY if n < 3 else LATE, n % 2, n, f"http://{name}.example/", text)
        for n, (name, text) in enumerate(texts().items())
    ]
    return build(tmp_path_factory.mktemp("near"), docs=docs)


def ask(corpus: Corpus, name: str, **options: Any) -> Requested:
    target = url_target(f"http://{name}.example/")
    return request_takedown(
        corpus.registry, corpus.store, target, "asked", near_duplicates=True, **options
    )


def names(corpus: Corpus, answer: Requested) -> set[str]:
    by_id = {doc.doc_id.hex(): doc.url.split("/")[2].split(".")[0] for doc in corpus.docs}
    return {by_id[row.doc_id] for row in answer.documents_listed}


def test_catalog_and_ingest_agree_on_what_a_sketch_is() -> None:
    value = sketch.sketch_text(texts()["story"])
    assert value is not None
    raw = sketch.sketch_texts([texts()["story"]])[0]
    assert near_text_order(raw or b"") == ("near_text", value)


def test_near_copies_in_no_cluster_are_found_and_pages_of_one_frame_are_not(
    corpus: Corpus,
) -> None:
    assert names(corpus, ask(corpus, "story", dry_run=True)) == {"story", "edited", "longer"}
    assert names(corpus, ask(corpus, "frame-1", dry_run=True)) == {"frame-1"}
    assert names(corpus, ask(corpus, "half", dry_run=True)) == {"half"}


def test_every_text_finds_what_an_order_against_it_would_refuse(corpus: Corpus) -> None:
    kept = [doc for doc in corpus.docs if doc.text]
    column = pa.array(sketch.sketch_texts([doc.text or "" for doc in kept]), pa.binary(224))
    with LiveLineage(corpus.registry, corpus.store) as live:
        for doc in kept:
            value = sketch.sketch_text(doc.text or "")
            if value is None:
                continue
            refused = sketch.SketchIndex([value]).match(column)
            found = live.query(find_near_copies(live, [(0, value)]))
            wanted = {d.doc_id for d, gone in zip(kept, refused, strict=True) if gone}
            assert {bytes(row["doc_id"]) for row in found} == wanted


def test_a_request_holds_the_sketch_until_it_is_withdrawn(tmp_path: Path) -> None:
    story = texts()["story"]
    corpus = build(tmp_path, docs=[Doc(EARLY, 0, 0, "http://story.example/", story)])
    answer = ask(corpus, "story")
    order = ("near_text", sketch.sketch_text(story))
    assert list(order) in answer.suppressions
    assert order in {(row.kind, row.value) for row in corpus.registry.suppressions()}
    corpus.registry.withdraw_takedown(answer.request.id)
    assert corpus.registry.suppressions() == []


def test_only_exact_copies_of_a_short_text_are_held_and_the_answer_says_so(
    tmp_path: Path,
) -> None:
    short = texts()["short"]
    urls = ("http://short.example/", "http://copy.example/")
    corpus = build(tmp_path, docs=[Doc(EARLY, 0, n, url, short) for n, url in enumerate(urls)])
    answer = ask(corpus, "short")
    assert names(corpus, answer) == {"short", "copy"}
    assert answer.texts_too_short == 1
    kinds = {kind for kind, _ in answer.suppressions}
    assert kinds == {"url_key", "text_id", "doc_id"}


def test_copies_published_after_the_request_are_found_by_the_sketch_it_holds(
    tmp_path: Path,
) -> None:
    known = texts()
    first = build(tmp_path, "v1", [Doc(EARLY, 0, 0, "http://story.example/", known["story"])])
    target = doc_id_target(first.docs[0].doc_id.hex())
    filed = request_takedown(first.registry, first.store, target, "asked", near_duplicates=True)
    docs = [Doc(LATE, 0, 1, "http://edited.example/", known["edited"])]
    later = build(tmp_path, "v2", docs, tokenizer=first.tokenizer)
    supersede(first.registry, "v1", "v2")
    number = filed.request.id
    found = look_again(later.registry, later.store, [number]).documents[number]
    assert [(row.doc_id, row.role) for row in found] == [(docs[0].doc_id, "near_duplicate")]
