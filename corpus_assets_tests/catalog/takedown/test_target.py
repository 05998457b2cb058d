"""What a takedown may ask for, and the standing orders it becomes."""

import hashlib
import unicodedata
from dataclasses import replace

import pytest

from catalog.errors import TakedownRefused
from catalog.formats.ids import text_id
from catalog.takedown.target import (
    Target,
    doc_id_target,
    domain_target,
    is_shared_suffix,
    scope_of,
    text_sha256_target,
    text_target,
    url_prefix_target,
    url_target,
)
from corpus_assets.core.urls import address_of
from corpus_assets.ingest.suppressions import Suppressions
from pageblocks import normalise


def covers(target: Target, url: str) -> bool:
    """Whether ingest refuses the page."""
    address = address_of(url)
    assert address is not None
    orders = Suppressions.from_rows(target.orders)
    return orders.match_url(address.key, address.host) is not None


def test_spellings_of_one_address_are_one_request() -> None:
    spellings = ["http://www.Example.com/a?utm_source=x", "https://example.com:443/a#top"]
    assert {url_target(url).value for url in spellings} == {"com,example)/a"}
    assert all(covers(url_target(spellings[0]), url) for url in spellings)
    assert not covers(url_target(spellings[0]), "http://example.com/A")


def test_a_request_holds_whatever_numbers_or_session_its_address_is_written_with() -> None:
    assert covers(url_target("http://127.0.0.1/x"), "http://2130706433/x")
    assert covers(url_target("http://0x7f.1/x;jsessionid=9"), "http://127.0.0.1./x")
    assert covers(domain_target("2130706433"), "http://127.1/x")
    assert covers(url_prefix_target("http://2130706433/x"), "http://127.0.0.1/x/y")
    page = url_target("http://example.com/a?PHPSESSID=1")
    assert page.orders == (("url_key", "com,example)/a"),)
    assert covers(page, "http://example.com/a;jsessionid=5")


def test_a_record_key_is_taken_where_its_source_is_known() -> None:
    assert url_target("books:12", {"books"}).value == "books:12"
    assert url_target("books:12").value == "books:12)/", "a host and a port"
    assert url_target("com,example)/a b").value == "com,example)/a b"
    with pytest.raises(TakedownRefused, match="nor SOURCE:KEY of a recorded source"):
        url_target("books:twelve")


def test_a_prefix_covers_what_begins_so_letter_by_letter() -> None:
    blog = url_prefix_target("https://www.example.com/blog")
    assert blog.value == "com,example)/blog"
    assert covers(blog, "http://example.com/blog/2?x=1")
    assert covers(blog, "http://example.com/blogger")
    assert not covers(blog, "http://sub.example.com/blog")
    assert url_prefix_target("example.com").value == "com,example)/"
    item = url_prefix_target("example.com/item?id=")
    assert item.value == "com,example)/item?id="
    assert covers(item, "http://example.com/item?id=7&z=1")
    assert not covers(item, "http://example.com/item")
    assert url_prefix_target("example.com/item?").value == "com,example)/item?"


@pytest.mark.parametrize(
    ("prefix", "said"),
    [
        ("example.com/x?b=1&a=", "several query parameters"),
        ("example.com/x?utm_source=", "only names a click or a session"),
        ("example.com/a/..", "ends in dots"),
        ("", "cannot be empty"),
        ("ftp://example.com/", "is not a web address"),
    ],
)
def test_a_prefix_that_would_cover_something_else_is_refused(prefix: str, said: str) -> None:
    with pytest.raises(TakedownRefused, match=said):
        url_prefix_target(prefix)


def test_a_domain_covers_its_subdomains() -> None:
    for written in ("Example.COM", "*.example.com", ".example.com"):
        target = domain_target(written)
        assert (target.value, target.orders) == ("example.com", (("host", "example.com"),))
    assert covers(target, "http://a.b.example.com/")
    assert not covers(target, "http://notexample.com/")
    with pytest.raises(TakedownRefused, match="not a host"):
        domain_target("http://example.com/")


def test_www_means_that_host_and_not_its_siblings() -> None:
    target = domain_target("WWW.Example.com")
    assert target.value == "www.example.com"
    for page in (
        "https://www.example.com/a",
        "http://example.com:8080/a",
        "http://b.www.example.com",
    ):
        assert covers(target, page), page
    for page in ("http://blog.example.com/a", "http://example.com.au/", "http://wwwexample.com/"):
        assert not covers(target, page), page
    assert covers(domain_target("example.com"), "http://blog.example.com/a")
    assert domain_target(target.value) == replace(target, given=target.value)
    assert domain_target("www.com").orders == (("host", "www.com"),), "a name of its own"
    assert scope_of(target) == (
        "www.example.com, which is one address with example.com; no other host of example.com"
    )
    assert scope_of(domain_target("example.com")) == "example.com and every host below it"
    assert scope_of(url_target("example.com")) is None


def test_names_under_which_many_owners_stand_are_known() -> None:
    assert all(map(is_shared_suffix, ("uk", "co.uk", "com.au", "ac.jp")))
    assert not any(map(is_shared_suffix, ("bbc.co.uk", "example.com", "t.co", "co.com")))


def test_a_text_is_the_text_that_ingest_keeps_with_or_without_a_last_line_end() -> None:
    text = "Cafe\u0301 au lait\r\nwith\0 milk"
    kept = normalise(text)
    for ending in ("", "\n", "\r\n", "\n\n"):
        target = text_target(text + ending)
        assert target.value == text_id(kept).hex()
        assert target.given == ""
        assert target.text_sha256 == hashlib.sha256(kept.encode()).hexdigest()
        orders = Suppressions.from_rows(target.orders)
        assert {text_id(kept), text_id(kept + "\n")} <= orders.text_ids
    assert unicodedata.is_normalized("NFC", kept)
    with pytest.raises(TakedownRefused, match="empty"):
        text_target(" \n")


def test_ids_and_digests_are_given_whole() -> None:
    assert doc_id_target(" AB" + "0" * 30).value == "ab" + "0" * 30
    assert text_sha256_target("AB" * 32).orders == (("text_id", "ab" * 16),)
    for wrong in ("ab", "zz" * 16, "0" * 31, "0" * 33):
        with pytest.raises(TakedownRefused, match="32 hex digits"):
            doc_id_target(wrong)
    with pytest.raises(TakedownRefused, match="64 hex digits"):
        text_sha256_target("ab" * 16)


def test_an_address_too_long_for_an_index_is_refused() -> None:
    with pytest.raises(TakedownRefused, match="longer than 2000"):
        url_target("http://example.com/" + "a" * 3000)
    with pytest.raises(TakedownRefused, match="unpaired surrogate"):
        url_target("http://example.com/\ud800")
