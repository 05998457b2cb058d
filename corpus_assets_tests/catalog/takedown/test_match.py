"""A few takedowns read a few files, and answer as if all had been read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog.formats.ids import text_id
from catalog.formats.urls import url_key
from catalog.lineage.tables import LiveLineage
from catalog.takedown.match import Matcher
from catalog.takedown.requests import request
from catalog.takedown.target import (
    Target,
    doc_id_target,
    domain_target,
    text_id_target,
    url_prefix_target,
    url_target,
)
from corpus_assets_tests.catalog.corpus import SNAPSHOTS, Corpus, Doc, build
from corpus_assets_tests.catalog.keyed import publish_with_keys
from corpus_assets_tests.catalog.lineage.test_lookups import (
    ADDRESSES,
    RECORD_KEY,
    documents,
    with_record_keys,
)
from corpus_assets_tests.registry_states import revoke

PAGE = "http://site3.example/page/11"


def corpus_documents() -> list[Doc]:
    """With a text made from a page, and one made from that."""
    docs = documents()
    child = Doc(SNAPSHOTS[1], 0, 81_000, "http://made.example/1", "told again in other words")
    child.derived_from = [url_key(PAGE)]
    grandchild = Doc(SNAPSHOTS[1], 1, 82_000, "http://made.example/2", "and told once more")
    grandchild.derived_from = [url_key(child.url)]
    return [*docs, child, grandchild]


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    home = tmp_path_factory.mktemp("scanned")
    return build(home, docs=corpus_documents(), tamper=with_record_keys)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    home = tmp_path_factory.mktemp("keyed")
    made = build(home, docs=corpus_documents(), tamper=with_record_keys)
    publish_with_keys(made)
    revoke(made.registry, "v1")
    return made


def targets(docs: list[Doc]) -> Iterator[Target]:
    for doc in docs[::7]:
        yield url_target(doc.url)
        yield doc_id_target(doc.doc_id.hex())
        if doc.text:
            yield text_id_target(text_id(doc.text).hex())
    yield url_target(RECORD_KEY, ["crawl"])
    yield url_prefix_target("crawl:chapter", ["crawl"])
    for prefix in ("http://port.example:8080/", "http://site1.example/pa"):
        yield url_prefix_target(prefix)
    for domain in ("example", "site1.example", "sub.site1.example", "port.example", "10.1.2.3",
                   "made.example", "nowhere.example", "2.3",
                   "www.site1.example", "www.port.example"):  # fmt: skip
        yield domain_target(domain)


def answer(corpus: Corpus, target: Target, near: bool) -> Any:
    said = request(corpus.registry, corpus.store, target, "why", near_duplicates=near, dry_run=True)
    return json.loads(json.dumps(said, default=str).replace('"keyed"', '"v1"'))


def test_answers_are_those_of_a_scan(scanned: Corpus, keyed: Corpus) -> None:
    seen = 0
    asked = {(target.kind, target.value): target for target in targets(scanned.docs)}
    for place, target in enumerate(asked.values()):
        found = answer(keyed, target, near=False)
        assert found == answer(scanned, target, near=False), target
        seen += found["documents"]
        if place % 12 == 0:
            assert answer(keyed, target, near=True) == answer(scanned, target, near=True)
    assert seen > 60


def test_www_takes_its_host_and_leaves_the_siblings_with_counts_of_each_host(keyed: Corpus) -> None:
    def hosts(domain: str) -> dict[str, int]:
        said = answer(keyed, domain_target(domain), near=False)
        named = {row["host"]: row["documents"] for row in said["hosts"]}
        assert sum(named.values()) == said["documents_by_role"]["matched"]
        return named

    whole = hosts("site1.example")
    assert set(whole) == {"site1.example", "deep.sub.site1.example"}
    assert hosts("www.site1.example") == {"site1.example": whole["site1.example"]}
    assert hosts("www.sub.site1.example") == {}


def files_read(live: LiveLineage, table: str) -> int:
    return live.scan(table).count(".parquet'")


def test_one_page_is_looked_for_in_its_own_files(keyed: Corpus) -> None:
    with LiveLineage(keyed.registry, keyed.store) as live:
        assert files_read(live, "documents") == 4
        matcher = Matcher(live)
        matcher.match([(url_target(ADDRESSES[1]), False)])
        assert len(matcher.documents()[0]) == 1
        for table in ("documents", "spans", "texts", "signals"):
            assert files_read(live, table) == 1, table
        assert files_read(live, "cluster_members") == 0
        matcher.match([(domain_target("example"), False)])
        assert files_read(live, "documents") == 4


def test_descendants_bring_their_own_files(keyed: Corpus) -> None:
    with LiveLineage(keyed.registry, keyed.store) as live:
        matcher = Matcher(live)
        matcher.match([(url_target(PAGE), False)])
        roles = [found.role for found in matcher.documents()[0]]
        assert sorted(roles) == ["descendant", "descendant", "matched", "matched"]
        assert files_read(live, "documents") == 3


def test_versions_without_keys_are_read_whole(scanned: Corpus, tmp_path: Path) -> None:
    with LiveLineage(scanned.registry, scanned.store) as live:
        Matcher(live).match([(url_target(PAGE), False)])
        assert files_read(live, "documents") == 4
