"""One name for one page, whoever spells it."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.urls import canonical_host, canonical_url, host_key, url_key

SPELLINGS = [
    "http://example.com/a/b?x=1&y=2",
    "https://example.com/a/b?x=1&y=2",
    "HTTPS://WWW.EXAMPLE.COM/a/b?x=1&y=2",
    "http://example.com:80/a/b?x=1&y=2",
    "https://example.com:443/a/b?x=1&y=2",
    "http://ann:pass@example.com/a/b?x=1&y=2",
    "http://example.com./a/b?x=1&y=2",
    "http://example.com/a/b?y=2&x=1",
    "http://example.com/a/b?y=2&&x=1&",
    "http://example.com/a/b?x=1&y=2#part",
    "http://example.com/a/./c/../b?x=1&y=2",
    "http://example.com/%61/b?x=%31&y=2",
    "http://example.com/a/b?x=1&y=2&utm_source=n&UTM_Campaign=m&gclid=3&fbclid=4&mc_cid=5&mc_eid=6",
    "  http://example.com/a/b?x=1&y=2\n",
    "http://exam\tple.com/a/b?x=1&y=2",
    "http:\\\\example.com\\a\\b?x=1&y=2",
    "//example.com/a/b?x=1&y=2",
    "example.com/a/b?x=1&y=2",
]


@pytest.mark.parametrize("url", SPELLINGS)
def test_spellings_of_one_page_have_one_name(url: str) -> None:
    assert canonical_url(url) == "http://example.com/a/b?x=1&y=2"
    assert url_key(url) == "com,example)/a/b?x=1&y=2"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.com", "com,example)/"),
        ("http://example.com?", "com,example)/"),
        ("http://example.com/A", "com,example)/A"),
        ("http://example.com/a/", "com,example)/a/"),
        ("http://example.com//a", "com,example)//a"),
        ("http://example.com:8080/", "com,example:8080)/"),
        ("http://news.example.co.uk/", "uk,co,example,news)/"),
        ("http://www.com/", "com,www)/"),
        ("http://bücher.example/ä ö?q=ü", "example,xn--bcher-kva)/%C3%A4%20%C3%B6?q=%C3%BC"),
        ("http://xn--bcher-kva.example/%c3%a4%20%c3%b6?q=%c3%bc",
         "example,xn--bcher-kva)/%C3%A4%20%C3%B6?q=%C3%BC"),
        ("http://日本語。jp/", "jp,xn--wgv71a119e)/"),
        ("http://192.168.0.1/x", "192.168.0.1)/x"),
        ("http://[2001:DB8:0::1]:81/x", "[2001:db8::1]:81)/x"),
        ("http://example.com/?next=http://b/c", "com,example)/?next=http://b/c"),
        ("http://example.com/a%2Fb", "com,example)/a%2Fb"),
        ("http://example.com/100%", "com,example)/100%25"),
        ("http://example.com/a//b:c", "com,example)/a//b:c"),
        ("example.com/a//b:c", "com,example)/a//b:c"),
        ("http://a_b.example.com/", "com,example,a_b)/"),
        ("http://example.com/../../x/..", "com,example)/"),
    ],
)  # fmt: skip
def test_keys_are_as_written_here(url: str, key: str) -> None:
    assert url_key(url) == key


def test_different_pages_keep_different_names() -> None:
    urls = [
        "http://example.com/a", "http://example.com/A", "http://example.com/a/",
        "http://example.com/a?x=1", "http://example.com/a?x=2", "http://example.com/a?X=1",
        "http://example.com:8080/a", "http://sub.example.com/a", "http://example.com/a%2Fb",
        "http://example.com/a/b", "http://example.org/a",
    ]  # fmt: skip
    assert len({url_key(url) for url in urls}) == len(urls)


@pytest.mark.parametrize(
    "url",
    [
        "", " ", "http://", "http:///path", "/just/a/path", "mailto:ann@example.com",
        "javascript:alert(1)", "ftp://example.com/", "http://a..b/", "http://exa mple.com/",
        "http://example.com:99999/", "http://example.com:port/", "http://[::1", "http://[zz]/",
        "http://%ff.com/", "http://\ud800.com/", "http://example.com/\ud800", "http:example.com",
        "http://" + "a" * 64 + ".com/", "http://" + "a." * 200 + "com/", "x" * 70_000,
        "http://-a.com/", "http://ａ／ｂ.com/",
    ],
)  # fmt: skip
def test_what_is_no_web_address_is_a_value_error(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any ValueError is the promise
        url_key(url)


@given(st.one_of(st.text(), st.text().map(lambda tail: "http://example.com/" + tail)))
def test_hostile_input_gives_a_stable_name_or_a_value_error(url: str) -> None:
    try:
        once = canonical_url(url)
    except ValueError:
        return
    assert canonical_url(once) == once
    assert url_key(once) == url_key(url)
    assert once.isascii()
    assert url_key(url).isascii()
    assert not set(once) & set(' \t\n<>"')


@given(st.text(alphabet="a.@:[]/\\%?#&=wWüß。０-\x00 5", max_size=30))
def test_hosts_of_odd_letters_never_raise_anything_but_value_error(tail: str) -> None:
    with suppress(ValueError):
        url_key("http://" + tail)
    with suppress(ValueError):
        host_key(tail)


def test_a_host_key_begins_the_key_of_its_pages() -> None:
    assert host_key("WWW.Example.com") == "com,example"
    assert url_key("http://example.com/x").startswith(host_key("example.com") + ")")
    assert url_key("http://a.example.com/").startswith(host_key("example.com") + ",")
    assert canonical_host("Bücher.example") == "xn--bcher-kva.example"
