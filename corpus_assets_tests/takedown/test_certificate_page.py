"""The certificate as the person who asked reads it."""

from typing import Any

import pytest

from corpus_assets.ingest.suppressions import KINDS
from corpus_assets.takedown.certificate_page import ASKED, HELD, render_certificate

BODY: dict[str, Any] = {
    "request": {
        "id": 7,
        "kind": "url",
        "value": "com,example)/a",
        "given": "https://example.com/a?<b>&c",
        "near_duplicates": True,
        "reason": "mine & <i>nobody's</i>",
        "requester": "",
        "reference": "T-1",
        "filed_at": "2026-11-15T04:22:11Z",
    },
    "standing_orders": {"url_key": 1, "near_text": 2},
    "documents": [{"doc_id": "ab" * 16, "text_id": "cd" * 16, "gram_digests": ["00" * 8]}],
    "versions": [
        {
            "before": "v-1",
            "after": "v-1.td1",
            "documents_before": 9,
            "documents_after": 8,
            "shards": {"S/web/high/shard_00000": ["1" * 64, "2" * 64]},
            "shared_shards": 4,
        }
    ],
    "clusters": [
        {"promoted": ["ef" * 16], "kept_after": ["ef" * 16], "members_left": 2},
        {"promoted": [], "kept_after": [], "members_left": 0},
    ],
    "search": {
        "texts": 1200,
        "tokens": 50_000,
        "exact": 0,
        "similar": 3,
        "files": 1400,
        "bytes": 9,
        "holding": [],
        "not_searched": [],
    },
    "models": {"tokenizer": "pieces of words that stand in many texts"},
    "key_sha256": None,
    "copies": [],
    "files": {
        "outcome": "deleted",
        "deleted": ["artifacts/a", "artifacts/b"],
        "left": [],
        "copies": ["extras/<pack>"],
    },
    "code_version": "0.1.0",
    "book": {"id": "b" * 32, "entry": 7, "sha256": "d" * 64},
    "number": 12,
    "issued_at": "2026-11-16T04:22:11Z",
    "previous_sha256": "9" * 64,
}
NEAR: dict[str, Any] = {
    "doc_id": "ef" * 16,
    "url": "https://mirror.example/<a>",
    "exact": False,
    "share_percent": 54,
    "in_training_data": True,
    "promoted": True,
}


def _page(**changes: Any) -> str:
    return render_certificate(BODY | changes)


def _lead(page: str) -> str:
    return page.partition('<p class="lead')[2].partition(">")[2].partition("</p>")[0]


def test_the_page_says_first_what_became_of_the_request() -> None:
    page = _page()
    assert _lead(page) == (
        "1 document was removed; no exact copy of the text was found in what is left."
    )
    assert "the page at the URL" in page
    assert "and near copies of it" in page
    assert "near duplicates of the text, under any URL" in page
    assert "1,200 stored texts and 50,000 tokens" in page
    assert "in 1 another member is now kept" in page
    assert "9" * 64 in page
    assert "1" * 64 in page


def test_what_people_wrote_cannot_become_markup() -> None:
    page = _page()
    assert "https://example.com/a?&lt;b&gt;&amp;c" in page
    assert "mine &amp; &lt;i&gt;nobody&#39;s&lt;/i&gt;" in page


def test_copies_that_are_left_are_said_at_the_top() -> None:
    exact = NEAR | {"exact": True, "share_percent": 100, "promoted": False}
    page = _page(copies=[exact, exact | {"in_training_data": False}])
    assert 'class="lead open"' in page
    assert _lead(page).startswith(
        "1 document was removed; the same text is found under 2 other URLs: 1 of them is in the "
        "training data."
    )
    assert "request their URLs or document ids" in page


def test_a_near_copy_that_the_takedown_put_into_the_training_data_is_in_the_first_sentence() -> (
    None
):
    page = _page(copies=[NEAR], request=BODY["request"] | {"near_duplicates": False})
    assert _lead(page).startswith(
        "1 document was removed; no exact copy of the text was found in what is left, but 1 near "
        "copy remains: it is in the training data, where this takedown put it, since the removed "
        "document no longer represents it."
    )
    assert 'class="lead open"' in page
    assert "https://mirror.example/&lt;a&gt;" in page
    assert "54%" in page
    assert "--near-duplicates" in page


def test_other_files_that_hold_the_text_are_said_at_the_top_and_named() -> None:
    held = [
        {
            "file": "logs/<x>.txt",
            "share_percent": 90,
            "is_source": False,
            "statement": "shows it",
            "to_do": "delete it",
        },
        {
            "file": "sources/crawl.warc.gz",
            "share_percent": 100,
            "is_source": True,
            "statement": "",
            "to_do": "",
        },
    ]
    search = BODY["search"] | {"holding": held, "not_searched": [("a.gz", "cut short")]}
    page = _page(search=search)
    assert "1 other file was found to hold the text" in _lead(page)
    assert 'class="lead open"' in page
    assert "logs/&lt;x&gt;.txt" in page
    assert "delete it" in page
    assert "sources/crawl.warc.gz" not in page
    assert "(1 of them was found to hold the text)" in page
    assert "cut short" in page


def test_copies_that_were_deleted_are_listed() -> None:
    assert "extras/&lt;pack&gt;" in _page()


def test_what_learned_parts_may_still_hold_is_said() -> None:
    assert "pieces of words that stand in many texts" in _page()
    assert "models that were trained on earlier versions" in _page()


def test_files_that_could_not_be_deleted_are_named_at_the_top_and_in_a_list() -> None:
    left = {"outcome": "left", "deleted": ["a"], "left": ["artifacts/stuck.parquet"], "copies": []}
    page = _page(files=left)
    assert "This is not finished: 1 file could not be deleted." in _lead(page)
    assert 'class="lead open"' in page
    assert "artifacts/stuck.parquet" in page
    assert "The request stays open until they are gone" in page


def test_machines_that_were_asked_to_delete_their_copies_are_said() -> None:
    nodes = [{"node": "one 0a1b", "files": 3}, {"node": "two 2c3d", "files": None}]
    page = _page(nodes=nodes)
    assert "1 of 2 worker machines deleted their copies" in page
    assert "did not answer, and may hold copies (1)" in page
    assert "two 2c3d" in page
    assert "one 0a1b" not in page
    assert "worker machine" not in _page()


def test_a_request_that_found_nothing_has_a_page_too() -> None:
    page = _page(documents=[], versions=[], clusters=[], search=None)
    assert _lead(page).startswith("Nothing was removed: no version of the corpus contained")
    assert "no version had to be changed" in page


def test_files_that_are_kept_are_not_called_deleted() -> None:
    page = _page(files={"outcome": "kept", "deleted": [], "left": []})
    assert "are kept for now, unused" in page
    assert "deleted, which" not in page
    assert "2 files were deleted, which" in _page()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_order_has_words(kind: str) -> None:
    assert HELD[kind] in _page(standing_orders={kind: 1})


def test_every_kind_of_request_has_words() -> None:
    from catalog.db.rows import TAKEDOWN_KINDS

    assert set(ASKED) == set(TAKEDOWN_KINDS)
