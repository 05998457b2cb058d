"""What a takedown finds in the live versions, and what it says will happen."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from catalog.cli.commands import main
from catalog.cli.terminal import plain
from catalog.db.registry import Registry
from catalog.errors import AmbiguousName, TakedownRefused, TakedownTooWide, UnknownName
from catalog.formats.ids import text_id
from catalog.formats.store import FileStore
from catalog.formats.urls import url_key
from catalog.lineage.tables import LiveLineage
from catalog.takedown.impact import impact
from catalog.takedown.match import Matcher
from catalog.takedown.nearest import Nearest
from catalog.takedown.requests import Requested, find_doc_id, look_again, request_takedown
from catalog.takedown.target import (
    Target,
    doc_id_target,
    domain_target,
    text_sha256_target,
    text_target,
    url_prefix_target,
    url_target,
)
from corpus_assets_tests.catalog.corpus import SNAPSHOTS, Corpus, Doc, build, pages
from corpus_assets_tests.registry_states import revoke

EARLY, LATE = SNAPSHOTS


def ask(corpus: Corpus, target: Target, **options: Any) -> Requested:
    return request_takedown(corpus.registry, corpus.store, target, "asked for", **options)


def dry(corpus: Corpus, target: Target, **options: Any) -> Requested:
    return ask(corpus, target, dry_run=True, **options)


def listed(answer: Requested, role: str = "matched") -> set[str]:
    return {d.doc_id for d in answer.documents_listed if d.role == role}


def ids(docs: list[Doc]) -> set[str]:
    return {doc.doc_id.hex() for doc in docs}


def with_text(corpus: Corpus, condition: Any) -> list[Doc]:
    return [doc for doc in corpus.docs if doc.text is not None and condition(doc)]


def test_a_url_names_its_captures_in_all_snapshots(corpus: Corpus) -> None:
    answer = dry(corpus, url_target("http://SITE1.example/page/1"))
    named = with_text(corpus, lambda doc: "/page/1?" in doc.url)
    assert listed(answer) == ids(named)
    assert (answer.documents, len(named)) == (2, 2)
    assert answer.suppressions == [["url_key", "example,site1)/page/1"]]


def test_domains_and_prefixes_name_what_ingest_would_refuse(corpus: Corpus) -> None:
    for domain in ("example", "site1.example", "e.example"):
        named = with_text(corpus, lambda d, h=domain: f".{d.url.split('/')[2]}".endswith(f".{h}"))
        assert listed(dry(corpus, domain_target(domain))) == ids(named), domain
    prefixed = with_text(corpus, lambda doc: "site1.example/page/" in doc.url)
    assert listed(dry(corpus, url_prefix_target("site1.example/page"))) == ids(prefixed)
    assert len(prefixed) > 4


def test_a_request_that_takes_very_much_is_filed_when_it_is_confirmed(
    own_corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TakedownTooWide, match=r"hosts \(site\d.example \d+, .*many owners"):
        ask(own_corpus, domain_target("example"))
    with pytest.raises(TakedownTooWide, match="covers 0 documents: it has sites of many owners"):
        ask(own_corpus, domain_target("co.uk"))
    monkeypatch.setattr("catalog.takedown.match.FEW_DOCUMENTS", 3)
    with pytest.raises(TakedownTooWide, match=r"that is \d+% of what live versions hold"):
        ask(own_corpus, domain_target("site1.example"))
    assert own_corpus.registry.takedowns() == own_corpus.registry.suppressions() == []
    assert dry(own_corpus, domain_target("site1.example")).needs_yes
    asked = ask(own_corpus, domain_target("site1.example"), confirmed=True)
    assert asked.outcome == "filed"


def test_a_request_by_www_is_looked_for_again_as_it_was_filed(own_corpus: Corpus) -> None:
    filed = ask(own_corpus, domain_target("www.site1.example"))
    assert filed.documents > 1
    (found,) = look_again(
        own_corpus.registry, own_corpus.store, [filed.request.id]
    ).documents.values()
    assert {document.doc_id.hex() for document in found} == listed(filed)
    held = own_corpus.registry.takedown_suppressions(filed.request.id)
    assert {row.value for row in held} == {
        "example,site1)", "example,site1:", "example,site1,www,",
    }  # fmt: skip


def test_a_document_is_named_by_its_id_or_the_start_of_it(corpus: Corpus) -> None:
    doc = corpus.kept()[3]
    target = find_doc_id(corpus.registry, corpus.store, doc.doc_id.hex()[:12])
    assert target == doc_id_target(doc.doc_id.hex())
    assert listed(dry(corpus, target)) == ids([doc])
    unknown = doc_id_target("0" * 32)
    assert find_doc_id(corpus.registry, corpus.store, "0" * 32) == unknown
    with pytest.raises(UnknownName, match="all 32 digits to suppress"):
        find_doc_id(corpus.registry, corpus.store, "00000000")
    with pytest.raises(TakedownRefused, match="32 hex digits"):
        find_doc_id(corpus.registry, corpus.store, "abc")


def test_the_start_of_an_id_that_several_documents_share_is_refused(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catalog.takedown.requests.MIN_PREFIX", 1)
    digit = next(
        digit
        for digit in "0123456789abcdef"
        if len({i for i in ids(corpus.docs) if i.startswith(digit)}) > 1
    )
    with pytest.raises(AmbiguousName, match="give more digits"):
        find_doc_id(corpus.registry, corpus.store, digit)


def test_a_text_is_found_by_file_and_by_sha256(corpus: Corpus) -> None:
    doc = corpus.doc("http://long.example/")
    assert doc.text is not None
    same = with_text(corpus, lambda other: other.text == doc.text)
    by_text = dry(corpus, text_target(doc.text + "\n"))
    by_digest = dry(corpus, text_sha256_target(hashlib.sha256(doc.text.encode()).hexdigest()))
    assert listed(by_text) == listed(by_digest) == ids(same)
    named = [["doc_id", doc_id] for doc_id in sorted(ids(same))]
    assert by_digest.suppressions == [["text_id", text_id(doc.text).hex()], *named]
    assert ["text_id", text_id(doc.text).hex()] in by_text.suppressions


def test_what_a_version_holds_of_the_documents_is_counted(corpus: Corpus) -> None:
    answer = dry(corpus, domain_target("site1.example"))
    named = {bytes.fromhex(i) for i in listed(answer)}
    spans = [
        (row.full_name, span)
        for row in corpus.registry.version_shards("v1")
        for span in read_spans(corpus, row.spans_path)
        if span["doc_id"] in named
    ]
    assert answer.shards == len({shard for shard, _ in spans}) > 1
    assert answer.samples == len({(shard, span["sample"]) for shard, span in spans})
    assert answer.tokens == sum(span["length"] for _, span in spans)
    (version,) = answer.versions
    assert (version.version, version.documents) == ("v1", len(named))
    assert version.shard_names == sorted({shard for shard, _ in spans})
    assert version.documents_in_shards == len({span["doc_id"] for _, span in spans})


def read_spans(corpus: Corpus, path: str) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(corpus.home / "store" / path).to_pylist()
    return rows


def test_a_page_that_gave_no_text_is_a_standing_order(corpus: Corpus) -> None:
    empty = next(doc for doc in corpus.docs if doc.text is None)
    answer = dry(corpus, doc_id_target(empty.doc_id.hex()))
    assert (answer.standing, answer.documents, answer.versions) == (True, 0, [])


def test_a_request_that_matches_nothing_is_kept_as_a_standing_order(own_corpus: Corpus) -> None:
    answer = ask(own_corpus, url_target("http://nowhere.example/"))
    assert (answer.outcome, answer.standing) == ("filed", True)
    (row,) = own_corpus.registry.takedowns("pending")
    assert (row.standing, row.reason) == (True, "asked for")
    assert [s.value for s in own_corpus.registry.suppressions()] == ["example,nowhere)/"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    urls = [
        "http://notes.example/Archive/index.html", "http://notes.example/two/",
        "http://notes.example/list?page=2", "http://notes.example/o%27brien",
        "http://notes.example/Other", "http://www.elsewhere.example/x",
    ]  # fmt: skip
    docs = [Doc(EARLY, i % 2, i, url, f"page {i} of the notebook") for i, url in enumerate(urls)]
    return build(tmp_path_factory.mktemp("site"), docs=docs)


@pytest.mark.parametrize(
    ("asked", "nearest", "by"),
    [
        ("https://notes.example/two", "http://notes.example/two/", "slash"),
        ("notes.example/TWO", "http://notes.example/two/", "case"),
        ("notes.example/archive/", "http://notes.example/Archive/index.html", "index page"),
        ("notes.example/list/?page=3", "http://notes.example/list?page=2", "query"),
        ("notes.example/list", "http://notes.example/list?page=2", "query"),
        ("notes.example/O'Brien", "http://notes.example/o%27brien", "case"),
        ("notes.example/others", "http://notes.example/Other", "path"),
        ("note.example/two", "notes.example", "host"),
        ("m.notes.example/two", "notes.example", "host"),
    ],
)
def test_a_request_that_matches_nothing_shows_the_nearest_addresses(
    site: Corpus, asked: str, nearest: str, by: str
) -> None:
    answer = dry(site, url_target(asked))
    assert answer.standing
    assert answer.nearest[0] == Nearest(nearest, by)
    if by not in ("host", "path"):
        assert all(one.differs_by == "path" for one in answer.nearest[1:])


def test_prefixes_and_domains_show_what_is_near_and_ids_and_matches_nothing(site: Corpus) -> None:
    prefix = dry(site, url_prefix_target("notes.example/archive/i")).nearest
    assert prefix[0].address == "http://notes.example/Archive/index.html"
    (host,) = dry(site, domain_target("elsewere.example")).nearest
    assert host == Nearest("elsewhere.example", "host")
    assert dry(site, domain_target("nothing.test")).nearest == []
    assert dry(site, doc_id_target("ab" * 16)).nearest == []
    assert dry(site, url_target("notes.example/two/")).nearest == []
    command = ["takedown", "request", "--url", "notes.example/two", "--reason", "x", "--dry-run"]
    said = CliRunner().invoke(main, [*command, "--home", str(site.home)]).output
    assert "http://notes.example/two/" in said
    assert "slash" in said


def test_the_same_request_twice_is_one_request(own_corpus: Corpus) -> None:
    first = ask(own_corpus, url_target("http://long.example/"), reference="case 1")
    again = ask(own_corpus, url_target("https://www.long.example"), reference="case 2")
    assert (first.outcome, again.outcome) == ("filed", "already_there")
    assert again.request.id == first.request.id
    assert again.request.reference == "case 1"
    assert len(own_corpus.registry.takedowns()) == len(own_corpus.registry.suppressions()) == 1
    looked = dry(own_corpus, url_target("http://long.example/"))
    assert looked.request.id == first.request.id


def test_a_dry_run_writes_nothing(own_corpus: Corpus) -> None:
    answer = dry(own_corpus, domain_target("example"))
    assert (answer.outcome, answer.request) == ("dry_run", None)
    assert answer.documents > 20
    assert own_corpus.registry.takedowns() == []
    assert own_corpus.registry.suppressions() == []


def test_a_cluster_whose_kept_member_goes_promotes_another(corpus: Corpus) -> None:
    kept = next(doc for doc in corpus.docs if doc.cluster and doc.kept)
    other = next(doc for doc in corpus.docs if doc.cluster == kept.cluster and not doc.kept
                 and doc.doc_id != kept.doc_id)  # fmt: skip
    (effect,) = dry(corpus, doc_id_target(kept.doc_id.hex())).cluster_effects
    assert (effect.outcome, effect.size, effect.removed) == ("member_promoted", 2, 1)
    assert effect.promoted_doc_id == other.doc_id.hex()
    (effect,) = dry(corpus, doc_id_target(other.doc_id.hex())).cluster_effects
    assert (effect.outcome, effect.promoted_doc_id) == ("no_change_in_shards", None)
    whole = dry(corpus, doc_id_target(kept.doc_id.hex()), near_duplicates=True)
    (effect,) = whole.cluster_effects
    assert (effect.outcome, effect.removed) == ("nothing_left", 2)
    assert whole.cluster_outcomes == {
        "member_promoted": 0,
        "nothing_left": 1,
        "no_change_in_shards": 0,
    }


def test_near_duplicates_go_along_and_are_recorded_on_the_request(own_corpus: Corpus) -> None:
    copy = next(doc for doc in own_corpus.docs if doc.reason == "near_duplicate")
    kept = next(doc for doc in own_corpus.docs if doc.cluster == copy.cluster and doc.kept)
    answer = ask(own_corpus, url_target(copy.url), near_duplicates=True)
    assert kept.doc_id.hex() in listed(answer, "near_duplicate")
    row = own_corpus.registry.takedown(answer.request.id)
    assert (row.near_duplicates, row.found["near_duplicate"]) == (True, 2)
    held = own_corpus.registry.takedown_suppressions(row.id)
    assert ("doc_id", kept.doc_id.hex()) in {(s.kind, s.value) for s in held}
    alone = dry(own_corpus, url_target(copy.url))
    assert alone.documents_by_role["near_duplicate"] == 0


def chained(tmp_path: Path, keep: str | None = None) -> Corpus:
    """Four near copies in two snapshots whose clusters meet only through the kept document."""
    docs = [
        Doc(EARLY, 0, 0, "http://a.example/", "a text that others copy word for word", cluster="a"),
        Doc(EARLY, 1, 1, "http://b.example/", "a text that others copy word by word", cluster="a"),
        Doc(LATE, 0, 2, "http://c.example/", "a text that others copy line by line", cluster="c"),
        Doc(LATE, 1, 3, "http://d.example/", "a text that many copy line by line", cluster="c"),
        Doc(LATE, 1, 4, "http://e.example/", "a text that nobody ever thought to copy"),
    ]
    for doc in docs[1:4]:
        doc.kept, doc.stage, doc.reason = False, "clusters", "near_duplicate"

    def join(tables: dict[str, Any]) -> dict[str, Any]:
        if "cluster_members" not in tables:
            return tables
        table = tables["cluster_members"]
        rows = table.to_pylist()
        for row in rows:  # as with scope `all`: later copies name the early document
            row["kept_doc_id"] = docs[0].doc_id
        return {"cluster_members": table.from_pylist(rows, table.schema)}

    lock = {"recipe": {"clusters": {"keep": keep}}} if keep else None
    return build(tmp_path, docs=docs, tamper=join, lock=lock)


def test_near_duplicates_are_followed_over_all_snapshots(tmp_path: Path) -> None:
    corpus = chained(tmp_path)
    for doc in corpus.docs[:4]:
        answer = dry(corpus, doc_id_target(doc.doc_id.hex()), near_duplicates=True)
        assert listed(answer) | listed(answer, "near_duplicate") == ids(corpus.docs[:4])
    alone = dry(corpus, doc_id_target(corpus.docs[4].doc_id.hex()), near_duplicates=True)
    assert alone.documents == 1


def test_the_earliest_snapshot_is_promoted_first_then_the_smallest_id(tmp_path: Path) -> None:
    corpus = chained(tmp_path)
    first, second, third, fourth, _ = corpus.docs
    (effect,) = dry(corpus, doc_id_target(first.doc_id.hex())).cluster_effects
    assert (effect.promoted_doc_id, effect.size) == (second.doc_id.hex(), 4)
    assert effect.may_split
    early = ask(corpus, url_prefix_target("b.example/"))
    assert early.cluster_effects[0].outcome == "no_change_in_shards"
    with LiveLineage(corpus.registry, corpus.store) as live:
        both = [doc_id_target(doc.doc_id.hex()) for doc in (first, second)]
        Matcher(live).match([(target, False) for target in both])
        (effect,) = impact(live).cluster_effects
    assert effect.promoted_doc_id == min(third.doc_id, fourth.doc_id).hex()
    answer = dry(corpus, domain_target("example"))
    assert answer.cluster_effects[0].outcome == "nothing_left"


def test_the_recipes_policy_decides_among_members_of_one_snapshot(tmp_path: Path) -> None:
    docs = [
        Doc(EARLY, 0, number, f"http://{number}.example/", "word " * (number + 3), cluster="c",
            kept=number == 0)
        for number in range(5)
    ]  # fmt: skip
    for doc in docs[1:]:
        doc.stage, doc.reason = "clusters", "near_duplicate"

    def lengths(tables: dict[str, Any]) -> dict[str, Any]:
        if "signals" in tables:
            table = tables["signals"]
            index = table.schema.get_field_index("n_words")
            tables["signals"] = table.append_column("n_chars", table.column(index).cast("int64"))
        return tables

    lock = {"recipe": {"clusters": {"keep": "longest"}}}
    corpus = build(tmp_path, docs=docs, tamper=lengths, lock=lock)
    (effect,) = dry(corpus, doc_id_target(docs[0].doc_id.hex())).cluster_effects
    assert effect.promoted_doc_id == docs[4].doc_id.hex()


def family(tmp_path: Path) -> Corpus:
    """A page, a summary of it, a translation of that, and one with two parents."""
    docs = pages(EARLY)
    parents = [docs[5], docs[6]]
    child = Doc(EARLY, 0, 501, "http://gen.example/1", "a summary of the page in a few words")
    child.derived_from = [url_key(parents[0].url)]
    grandchild = Doc(EARLY, 1, 502, "http://gen.example/2", "a translation of the summary above")
    grandchild.derived_from = [url_key(child.url)]
    mixed = Doc(EARLY, 0, 503, "http://gen.example/3", "questions about two pages at the same time")
    mixed.derived_from = [url_key(parents[1].url), url_key(parents[0].url)]
    orphan = Doc(EARLY, 1, 504, "http://gen.example/4", "a summary of a page that was never here")
    orphan.derived_from = ["example,away)/x"]
    return build(tmp_path, docs=[*docs, child, grandchild, mixed, orphan])


def test_descendants_go_when_any_parent_goes_to_the_last_generation(tmp_path: Path) -> None:
    corpus = family(tmp_path)
    parent, other = corpus.docs[5], corpus.docs[6]
    child, grandchild, mixed, orphan = corpus.docs[-4:]
    for target in (
        url_target(parent.url),
        doc_id_target(parent.doc_id.hex()),
        text_target(parent.text or ""),
    ):
        answer = dry(corpus, target)
        assert listed(answer) == ids([parent])
        assert listed(answer, "descendant") == ids([child, grandchild, mixed])
        orders = {tuple(order) for order in answer.suppressions}
        assert {("doc_id", i) for i in ids([child, grandchild, mixed])} <= orders
    assert listed(dry(corpus, url_target(other.url)), "descendant") == ids([mixed])
    assert listed(dry(corpus, url_target(child.url)), "descendant") == ids([grandchild])
    for away in (domain_target("away.example"), url_prefix_target("away.example/")):
        answer = dry(corpus, away)
        assert (listed(answer), listed(answer, "descendant")) == (set(), ids([orphan]))
        assert not answer.standing


def two_versions(tmp_path: Path) -> Corpus:
    """v2 is v1 with one more snapshot; they share everything of the first."""
    early = pages(EARLY)
    first = build(tmp_path, "v1", early)
    return build(tmp_path, "v2", [*early, *pages(LATE)], tokenizer=first.tokenizer)


def test_all_live_versions_answer_and_shared_shards_count_once(tmp_path: Path) -> None:
    corpus = two_versions(tmp_path)
    doc = next(d for d in corpus.docs if d.snapshot == EARLY and d.url == "http://long.example/")
    answer = dry(corpus, doc_id_target(doc.doc_id.hex()))
    by_version = {row.version: row for row in answer.versions}
    assert set(by_version) == {"v1", "v2"}
    assert by_version["v1"].tokens == by_version["v2"].tokens == answer.tokens > 0
    late = next(d for d in corpus.docs if d.snapshot == LATE and d.url == "http://long.example/")
    assert [v.version for v in dry(corpus, doc_id_target(late.doc_id.hex())).versions] == ["v2"]
    revoke(corpus.registry, "v2")
    assert dry(corpus, doc_id_target(late.doc_id.hex())).standing
    assert [v.version for v in dry(corpus, doc_id_target(doc.doc_id.hex())).versions] == ["v1"]


def test_looking_again_finds_what_was_published_since(tmp_path: Path) -> None:
    early = pages(EARLY)
    first = build(tmp_path, "v1", early)
    digest = hashlib.sha256((early[7].text or "").encode()).hexdigest()
    filed = [
        ask(first, url_target("http://long.example/")),
        ask(first, text_sha256_target(hashlib.sha256(b"something new and short").hexdigest())),
        ask(first, text_sha256_target(digest)),
        ask(first, text_target(f"{early[8].text}\n")),
    ]
    numbers = [answer.request.id for answer in filed]
    new = Doc(LATE, 0, 9, "http://new.example/", "something new and short")
    corpus = build(tmp_path, "v2", [*early, *pages(LATE), new], tokenizer=first.tokenizer)
    found = look_again(corpus.registry, corpus.store, numbers).documents
    assert [len(found[number]) for number in numbers] == [2, 1, 1, 1]
    assert found[numbers[1]][0].doc_id == new.doc_id
    row = corpus.registry.takedown(numbers[1])
    assert (row.documents, row.standing, row.reason) == (1, False, "asked for")
    held = corpus.registry.takedown_suppressions(numbers[1])
    text = ("text_id", text_id(new.text or "").hex())
    assert [(s.kind, s.value) for s in held] == [text, ("doc_id", new.doc_id.hex())]
    assert look_again(corpus.registry, corpus.store, []).documents == {}


def read_differently(tables: dict[str, Any]) -> dict[str, Any]:
    """Texts as another extractor gives them: all ids are others."""
    if "documents" not in tables:
        return tables
    texts = tables["documents"]
    other = [text_id(value.hex()) for value in texts["text_id"].to_pylist()]
    column = texts.schema.get_field_index("text_id")
    changed = texts.set_column(
        column, texts.field(column), pa.array(other, texts.field(column).type)
    )
    return tables | {"documents": changed}


def test_a_text_of_one_version_names_its_documents_in_all_and_when_that_one_is_gone(
    tmp_path: Path,
) -> None:
    early = pages(EARLY)
    first = build(tmp_path, "v1", early)
    parent = early[5]
    assert parent.text is not None
    build(tmp_path, "v2", early, read_differently, tokenizer=first.tokenizer)
    filed = ask(first, text_target(parent.text))
    assert [row.version for row in filed.versions] == ["v1", "v2"]
    assert ["doc_id", parent.doc_id.hex()] in filed.suppressions
    revoke(first.registry, "v1")
    child = Doc(EARLY, 0, 501, "http://gen.example/1", "a summary of the page in a few words")
    child.derived_from = [url_key(parent.url)]
    build(tmp_path, "v3", [*early, child], read_differently, tokenizer=first.tokenizer)
    number = filed.request.id
    found = look_again(first.registry, first.store, [number])
    assert found.versions == ["v2", "v3"]
    roles = {(document.doc_id, document.role) for document in found.documents[number]}
    assert roles == {(parent.doc_id, "matched"), (child.doc_id, "descendant")}
    held = {row.value for row in first.registry.takedown_suppressions(number)}
    assert ids([parent, child]) <= held


def test_a_catalog_without_versions_keeps_standing_orders(
    registry: Registry, tmp_path: Path
) -> None:
    for target in (
        url_target("http://a.example/"),
        url_prefix_target("http://a.example/"),
        domain_target("a.example"),
        doc_id_target("ab" * 16),
        text_target("some text"),
        text_sha256_target("ab" * 32),
    ):
        answer = request_takedown(
            registry, FileStore(tmp_path), target, "why", near_duplicates=True
        )
        assert (answer.outcome, answer.standing) == ("filed", True)
    assert len(registry.takedowns("pending")) == 6
    kinds = {row.kind for row in registry.suppressions()}
    assert kinds == {"url_key", "url_prefix", "host", "doc_id", "text_id"}


def test_no_text_is_in_what_a_request_keeps_or_says(own_corpus: Corpus) -> None:
    doc = own_corpus.doc("http://long.example/")
    answer = ask(own_corpus, text_target(doc.text or ""), near_duplicates=True)
    said = json.dumps(plain(answer), ensure_ascii=False) + str(
        [dataclasses.asdict(row) for row in own_corpus.registry.takedowns()]
    )
    assert (doc.text or "")[:20] not in said
    assert "harbour" not in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"reason": " "}, "needs a reason"),
        ({"reason": "x" * 3000}, "longer than 2000"),
        ({"reason": "x", "requester": "\0"}, "NUL"),
        ({"reason": "x", "reference": "\ud800"}, "unpaired surrogate"),
    ],
)
def test_notes_that_no_database_can_hold_are_refused(
    corpus: Corpus, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(TakedownRefused, match=said):
        request_takedown(corpus.registry, corpus.store, url_target("http://a.example/"), **options)
    assert corpus.registry.takedowns() == []
