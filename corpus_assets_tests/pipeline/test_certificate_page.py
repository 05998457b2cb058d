"""The certificate as the person who asked reads it."""

from typing import Any

import pytest

from corpus_assets.pipeline.certificate_page import ASKED, HELD, render_certificate
from corpus_assets.sources.suppressions import KINDS

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
    "search": {"texts": 1200, "tokens": 50_000, "exact": 0, "similar": 3},
    "revoked_files": "deleted",
    "code_version": "0.1.0",
    "previous_sha256": None,
}


def _page(**changes: Any) -> str:
    return render_certificate(BODY | changes, "9" * 64)


def test_the_page_says_first_what_became_of_the_request() -> None:
    page = _page()
    assert "1 document was removed. No copy of the text is left in the corpus." in page
    assert "the page at the address" in page
    assert "and near copies of it" in page
    assert "near copies of the text, under any address" in page
    assert "1,200 stored texts and 50,000 tokens" in page
    assert "in 1 another member now stands for the rest" in page
    assert "9" * 64 in page
    assert "1" * 64 in page


def test_what_people_wrote_cannot_become_markup() -> None:
    page = _page()
    assert "https://example.com/a?&lt;b&gt;&amp;c" in page
    assert "mine &amp; &lt;i&gt;nobody&#x27;s&lt;/i&gt;" in page


def test_copies_that_are_left_are_said_at_the_top() -> None:
    page = _page(search={"texts": 2, "tokens": 9, "exact": 3, "similar": 1})
    assert 'class="lead open"' in page
    assert "Copies of the same text stand under other addresses" in page
    assert "ask for the text itself or for near copies" in page


def test_a_request_that_found_nothing_has_a_page_too() -> None:
    page = _page(documents=[], versions=[], clusters=[], search=None)
    assert "Nothing that was asked for stood in any version" in page
    assert "no version had to be changed" in page


def test_files_that_are_kept_are_not_called_deleted() -> None:
    page = _page(revoked_files="kept")
    assert "are kept for now, out of use" in page
    assert "are deleted as the last step" not in page


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_order_has_words(kind: str) -> None:
    assert HELD[kind] in _page(standing_orders={kind: 1})


def test_every_kind_of_request_has_words() -> None:
    from catalog.rows import TAKEDOWN_KINDS

    assert set(ASKED) == set(TAKEDOWN_KINDS)
