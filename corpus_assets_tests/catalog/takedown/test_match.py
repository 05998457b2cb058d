"""A few takedowns read a few files, and answer as if all had been read."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.cli.terminal import plain
from catalog.formats.ids import text_id
from catalog.formats.urls import one_spelling, url_key
from catalog.lineage.tables import LiveLineage
from catalog.takedown.match import Matcher
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import (
    Target,
    doc_id_target,
    domain_target,
    text_id_target,
    url_prefix_target,
    url_target,
)
from corpus_assets.core.urls import address_of
from corpus_assets.ingest.purge import covered_keys
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets_tests.catalog.corpus import SNAPSHOTS, Corpus, Doc, build
from corpus_assets_tests.catalog.lineage.test_lookups import (
    ADDRESSES,
    RECORD_KEY,
    documents,
    with_record_keys,
)
from corpus_assets_tests.catalog.spelled import draw_address

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
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    home = tmp_path_factory.mktemp("match")
    return build(home, docs=corpus_documents(), tamper=with_record_keys)


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
    said = request_takedown(
        corpus.registry, corpus.store, target, "why", near_duplicates=near, dry_run=True
    )
    return json.loads(json.dumps(plain(said)))


def test_answers_are_those_of_a_scan(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {(target.kind, target.value): target for target in targets(corpus.docs)}
    wanted = [(target, near) for n, target in enumerate(asked.values())
              for near in ((False, True) if n % 12 == 0 else (False,))]  # fmt: skip
    by_keys = [answer(corpus, target, near) for target, near in wanted]
    monkeypatch.setattr(LiveLineage, "focus", lambda live, paths: None)  # every file is read
    for (target, near), found in zip(wanted, by_keys, strict=True):
        assert found == answer(corpus, target, near), target
    assert sum(found["documents"] for found in by_keys) > 60


def test_a_page_is_found_in_any_spelling_and_refused_in_later_builds(tmp_path: Path) -> None:
    draw = random.Random(1)
    addresses = {draw_address(draw, f"h{i % 3}.example") for i in range(120)}
    docs = [
        Doc(SNAPSHOTS[i % 2], i % 2, i, address.written(draw), f"page {i} of the notebook")
        for i, address in enumerate(addresses)
    ]
    corpus = build(tmp_path, docs=docs)
    pairs = list(zip(addresses, docs, strict=True))
    asked = [(url_target(address.written(draw)), False) for address, _ in pairs]
    with LiveLineage(corpus.registry, corpus.store) as live:
        matcher = Matcher(live)
        for targets in (asked[::4], asked):
            matcher.match(targets)
            found = matcher.documents()
            mine = docs[::4] if targets is not asked else docs
            for place, doc in enumerate(mine):
                assert [one.doc_id for one in found[place]] == [doc.doc_id], doc.url
    for (target, _), (address, _) in zip(asked, pairs, strict=True):
        orders = Suppressions.from_rows(target.orders)
        for other in [address, *draw.sample(list(addresses), 20)]:
            named = address_of(other.written(draw))
            assert named is not None
            covered = orders.match_url(named.key, named.host) is not None
            assert covered == (other == address)
            keys = pa.array([named.key], pa.string())
            assert covered_keys("url", keys, orders).tolist() == [covered]


def test_sql_and_python_agree_on_one_spelling(corpus: Corpus) -> None:
    draw = random.Random(4)
    urls = [draw_address(draw, "a.example").written(draw) for _ in range(2000)]
    keys = [*map(url_key, urls), "books:it%27s", "com,example)/?%20", "com,example)/a?b", ""]
    with LiveLineage(corpus.registry, corpus.store) as live:
        Matcher(live)
        live.connection.register("keys", pa.table({"key": keys}))
        found = live.query("SELECT key, one_spelling(key) AS spelled FROM keys")
    assert {row["key"]: row["spelled"] for row in found} == {k: one_spelling(k) for k in keys}


def test_a_prefix_covers_what_begins_so_in_any_spelling(tmp_path: Path) -> None:
    urls = ["http://a.example/o%27b/1", "http://a.example/o'b/2?x=%3B", "http://a.example/o%2Fb/3"]
    docs = [Doc(SNAPSHOTS[0], 0, i, url, f"page {i}") for i, url in enumerate(urls)]
    child = Doc(SNAPSHOTS[0], 1, 9, "http://b.example/", "made of the first page")
    child.derived_from = [url_key("http://a.example/o'b/1")]
    corpus = build(tmp_path, docs=[*docs, child])
    for prefix in ("http://a.example/o%27b", "http://a.example/o'b/"):
        target = url_prefix_target(prefix)
        said = request_takedown(corpus.registry, corpus.store, target, "why", dry_run=True)
        listed = {one.doc_id for one in said.documents_listed}
        assert listed == {doc.doc_id.hex() for doc in (*docs[:2], child)}
        orders = Suppressions.from_rows(target.orders)
        keys = pa.array([url_key(url) for url in urls], pa.string())
        assert covered_keys("url", keys, orders).tolist() == [True, True, False]


def test_www_takes_its_host_and_leaves_the_siblings_with_counts_of_each_host(
    corpus: Corpus,
) -> None:
    def hosts(domain: str) -> dict[str, int]:
        said = answer(corpus, domain_target(domain), near=False)
        named = {row["host"]: row["documents"] for row in said["hosts"]}
        assert sum(named.values()) == said["documents_by_role"]["matched"]
        return named

    whole = hosts("site1.example")
    assert set(whole) == {"site1.example", "deep.sub.site1.example"}
    assert hosts("www.site1.example") == {"site1.example": whole["site1.example"]}
    assert hosts("www.sub.site1.example") == {}


def files_read(live: LiveLineage, table: str) -> int:
    return live.scan(table).count(".parquet'")


def test_one_page_is_looked_for_in_its_own_files(corpus: Corpus) -> None:
    with LiveLineage(corpus.registry, corpus.store) as live:
        assert files_read(live, "records") == 4
        matcher = Matcher(live)
        matcher.match([(url_target(ADDRESSES[1]), False)])
        assert len(matcher.documents()[0]) == 1
        for table in ("records", "spans", "documents", "signals"):
            assert files_read(live, table) == 1, table
        assert files_read(live, "cluster_members") == 0
        matcher.match([(domain_target("example"), False)])
        assert files_read(live, "records") == 4


def test_descendants_bring_their_own_files(corpus: Corpus) -> None:
    with LiveLineage(corpus.registry, corpus.store) as live:
        matcher = Matcher(live)
        matcher.match([(url_target(PAGE), False)])
        roles = [found.role for found in matcher.documents()[0]]
        assert sorted(roles) == ["descendant", "descendant", "matched", "matched"]
        assert files_read(live, "records") == 3
