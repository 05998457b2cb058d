"""One name for one page, whoever spells it."""

import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.formats.urls import (
    address_of,
    canonical_host,
    canonical_url,
    host_key,
    one_spelling,
    spellings,
    url_key,
)
from corpus_assets_tests.catalog.spelled import Address, draw_address

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


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("url_key", url_key("http://www.talk.example.com/t/1?a=b"), "talk.example.com/t/1?a=b"),
        ("url_key", url_key("http://example.com:8080/a)b"), "example.com:8080/a)b"),
        ("url_key", url_key("http://127.0.0.1/a"), "127.0.0.1/a"),
        ("url_key", url_key("http://[::1]:8080/a"), "[::1]:8080/a"),
        ("url_key", "books:chapter 1", "books:chapter 1"),
        ("url_prefix", "com,example)/blog", "example.com/blog"),
        ("url_prefix", "com,example,www,", "www.example.com"),
        ("host", "example.com", "example.com"),
        ("doc_id", "00" * 16, "00" * 16),
    ],
)
def test_an_order_is_shown_as_people_write_addresses(kind: str, value: str, shown: str) -> None:
    assert address_of(kind, value) == shown


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


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "2130706433", "0x7f000001", "0X7F.1", "017700000001", "127.1", "127.0.1",
        "0177.0.0.1", "0x7f.0x0.0x0.0x1", "127.0.0.1.", "127.0.0.0x1", "127.0.00.01",
        "%31%32%37.0.0.1", "\u2460\u2461\u2466.\uff10.0.1", "127\u30020\uff0e0.1",
    ],
)  # fmt: skip
def test_an_ipv4_address_has_one_name_in_whatever_numbers_it_is_written(host: str) -> None:
    assert url_key(f"http://{host}/x") == "127.0.0.1)/x"
    assert url_key(f"http://ann@{host}:80/x") == "127.0.0.1)/x"
    assert canonical_host(host) == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("0", "0.0.0.0"), ("0x", "0.0.0.0"), ("1", "0.0.0.1"), ("256", "0.0.1.0"),
        ("4294967295", "255.255.255.255"), ("1.2", "1.0.0.2"), ("1.65535", "1.0.255.255"),
        ("1.2.65535", "1.2.255.255"), ("010.8.8.8", "8.8.8.8"),
        ("[::FFFF:1.2.3.4]", "[::ffff:102:304]"), ("[0:0:0:0:0:0:0:0]", "[::]"),
        ("[::1]", "[::1]"), ("[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]"), ("[2001:db8:0:1:1:1:1:1]",
        "[2001:db8:0:1:1:1:1:1]"), ("[fe80:0:0:0:0:0:0:0]", "[fe80::]"), ("[0:0:1::]", "[0:0:1::]"),
        ("example.com.", "example.com"), ("www.example.com.", "example.com"),
        ("example.com\u3002", "example.com"), ("1.example", "1.example"), ("0x1.a", "0x1.a"),
    ],
)  # fmt: skip
def test_hosts_are_named_as_browsers_name_them(host: str, name: str) -> None:
    assert canonical_host(host) == name
    assert canonical_host(name) == name


@pytest.mark.parametrize(
    "host", ["256.1.1.1", "1.2.3.4.5", "4294967296", "1.2.3.256", "1.16777216", "a.1", "08.1.1.1",
             "www.1.2.3.4", "a.0x1", "1.2.3.09", "0x1g.1"],
)  # fmt: skip
def test_a_host_that_ends_in_a_number_and_is_no_address_is_none(host: str) -> None:
    with pytest.raises(ValueError, match=r"not a|invalid literal"):
        url_key(f"http://{host}/")


HEX = "0123456789abcdef0123456789ABCDEF"


@pytest.mark.parametrize(
    "url",
    [
        f"http://a.test/p;jsessionid={HEX}?x=1",
        "http://a.test/p;JSESSIONID=12.node-3!7?x=1",
        "http://a.test/p;jsessionid=?x=1",
        f"http://a.test/p?x=1&jsessionid={HEX}",
        f"http://a.test/p?PHPSESSID={HEX}&x=1",
        "http://a.test/p?phpsessid=1&x=1",
        f"http://a.test/p?sid={HEX}&x=1",
        f"http://a.test/p?x=1&SID={HEX}",
        f"http://a.test/p?x=1&osCsid={HEX}&zenid={HEX}",
        "http://a.test/p?ASPSESSIONIDAAAAAAAA=BCDEFGHIJKLMNOPQRSTUVWXY&x=1",
        "http://a.test/p?CFID=77&x=1&CFTOKEN=99",
        "http://a.test/(S(0123456789abcdefghijklmn))/p?x=1",
        "http://a.test/(a(0123456789abcdefghijklmn)S(0123456789abcdefghijklmn))/p?x=1",
    ],
)
def test_the_name_of_a_session_is_no_part_of_a_page_s(url: str) -> None:
    assert url_key(url) == "test,a)/p?x=1"


@pytest.mark.parametrize(
    "url",
    [
        "http://a.test/p?sid=12", "http://a.test/p?sid=story-of-a-long-winter-in-the-north",
        "http://a.test/p?cfid=77", "http://a.test/p;v=1", "http://a.test/(S(short))/p",
        "http://a.test/p?osid=0123456789abcdef0123456789abcdef", "http://a.test/p?sid",
        "http://a.test/jsessionid=1", "http://a.test/(a)/p",
    ],
)  # fmt: skip
def test_what_may_be_the_page_itself_is_kept(url: str) -> None:
    assert url_key(url) == f"test,a){url.removeprefix('http://a.test')}"


def test_different_pages_keep_different_names() -> None:
    urls = [
        "http://example.com/a", "http://example.com/A", "http://example.com/a/",
        "http://example.com/a?x=1", "http://example.com/a?x=2", "http://example.com/a?X=1",
        "http://example.com:8080/a", "http://sub.example.com/a", "http://example.com/a%2Fb",
        "http://example.com/a/b", "http://example.org/a",
    ]  # fmt: skip
    assert len({url_key(url) for url in urls}) == len(urls)


def test_addresses_are_one_for_takedowns_if_and_only_if_they_mean_the_same() -> None:
    draw = random.Random(12)
    addresses = [draw_address(draw, "a.example") for _ in range(3000)]
    met: dict[str, Address] = {}
    many = 0
    for address in addresses:
        keys = {url_key(address.written(draw)) for _ in range(3)}
        (spelled,) = {one_spelling(key) for key in keys}
        assert one_spelling(spelled) == spelled
        assert met.setdefault(spelled, address) == address, spelled
        listed = spellings(spelled)
        many += listed is None
        assert listed is None or (keys | {spelled}) <= set(listed)
        assert listed is None or {one_spelling(key) for key in listed} == {spelled}
    assert 0 < many < 1500
    assert len(met) > 1000


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a%2Fb", "/a/b"), ("/a%3Fb", "/a?b"), ("/a%23b", "/a#b"), ("/a%2527", "/a%27"),
        ("/?a=b%26c=d", "/?a=b&c=d"), ("/?a%3Db", "/?a=b"), ("/?a=b%2Bc", "/?a=b+c"),
        ("/?a=b%23c", "/?a=b#c"), ("/a%20b", "/a+b"), ("/A", "/a"), ("/a/", "/a"),
    ],
)  # fmt: skip
def test_what_a_bare_character_would_separate_stays_apart(one: str, other: str) -> None:
    keys = [one_spelling(url_key(f"http://example.com{path}")) for path in (one, other)]
    assert keys[0] != keys[1]


def test_keys_of_records_and_beginnings_of_hosts_have_one_spelling() -> None:
    for key in ("books:it%27s", "com,example)", "com,example,www,", "it%27s"):
        assert one_spelling(key) == key
        assert spellings(key) == [key]


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


@given(st.text(alphabet="a.@:[]/\\%?#&=wWüß。０-\x00 5x;(S", max_size=30))
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
