from pathlib import Path

import pytest

from corpus_assets.core.errors import RecipeError, SourceError
from corpus_assets.core.urls import address_of, host_of_key, url_key
from corpus_assets.ingest.suppressions import Blocklist, Suppressions


def test_a_blocked_host_blocks_its_subdomains_and_nothing_that_only_ends_alike() -> None:
    listed = Blocklist(["Example.COM", "*.spam.test", "münchen.example"])
    assert listed.match("example.com") == "example.com"
    assert listed.match("a.b.example.com") == "example.com"
    assert listed.match("badexample.com") is None
    assert listed.match("com") is None
    assert listed.match("x.spam.test") == "spam.test"
    assert listed.match("xn--mnchen-3ya.example") is not None
    assert Blocklist().match("example.com") is None


def test_blocklist_files_may_hold_comments_and_hosts_file_lines(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("# bad ones\none.test\n\n0.0.0.0 two.test # why\n")
    listed = Blocklist.from_files([path])
    assert len(listed) == 2
    assert listed.match("www2.two.test") == "two.test"


def test_a_blocklist_that_cannot_be_used_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    with pytest.raises(SourceError, match="cannot be read"):
        Blocklist.from_files([path])
    path.write_text("fine.test\nnot a ho$t\n")
    with pytest.raises(SourceError, match="line 2"):
        Blocklist.from_files([path])


DOC, TEXT = "00" * 15 + "01", "ff" * 16


def test_orders_of_each_kind_match_what_they_name() -> None:
    orders = Suppressions.from_rows(
        [
            ("url_key", url_key("http://a.test/page?x=1")),
            ("url_prefix", url_key("http://b.test/private/")),
            ("url_prefix", url_key("http://b.test/private/deeper/")),
            ("url_prefix", url_key("http://b.test/z")),
            ("host", "c.test"),
            ("doc_id", DOC),
            ("text_id", TEXT),
        ]
    )

    def match(url: str) -> str | None:
        address = address_of(url)
        assert address is not None
        return orders.match_url(address.key, address.host)

    assert match("https://www.a.test/page?x=1&utm_source=q") == "url_key"
    assert match("http://a.test/page") is None
    assert match("http://b.test/private/x") == "url_prefix"
    assert match("http://b.test/private/deeper/x") == "url_prefix"
    assert match("http://b.test/public") is None
    assert match("http://b.test/zebra") == "url_prefix"
    assert match("http://sub.c.test:8080/") == "host"
    assert match("http://notc.test/") is None
    assert orders.match_record("books:1", "", bytes.fromhex(DOC))
    assert bytes.fromhex(TEXT) in orders.text_ids


def test_a_text_derived_from_a_page_that_is_gone_goes_with_it() -> None:
    orders = Suppressions.from_rows([("host", "c.test"), ("url_key", "books:7")])
    for parent in (url_key("http://x.c.test/a"), "books:7"):
        assert orders.match_text(b"", ("books:1", parent))
    assert not orders.match_text(b"", ("books:1",))


def test_the_same_orders_are_the_same_rows_in_any_sequence() -> None:
    rows = [("host", "b.test"), ("url_key", "x"), ("host", "a.test"), ("doc_id", DOC)]
    one, other = Suppressions.from_rows(rows), Suppressions.from_rows(rows[::-1] + rows)
    assert one.rows == other.rows == tuple(sorted(rows))
    assert Suppressions().rows == Suppressions.from_rows([]).rows


@pytest.mark.parametrize(
    "row",
    [("domain", "a.test"), ("doc_id", "abc"), ("doc_id", "00"), ("host", "a b"), ("host", "")],
)
def test_an_order_that_makes_no_sense_is_refused(row: tuple[str, str]) -> None:
    with pytest.raises(RecipeError):
        Suppressions.from_rows([row])


def test_the_host_is_read_back_from_a_key() -> None:
    for url in (
        "http://a.b.test/x",
        "http://a.test:8080/",
        "http://192.0.2.7/",
        "http://[::1]:9/x",
    ):
        address = address_of(url)
        assert address is not None
        assert host_of_key(address.key) == address.host
    assert host_of_key("books:12") == ""
    assert address_of("dns:example.com") is None
    assert address_of("urn:uuid:1") is None
    assert address_of("http://") is None
