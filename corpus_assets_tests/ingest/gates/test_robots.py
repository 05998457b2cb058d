"""robots.txt by RFC 9309, on its own examples, on nasty files, and on a thousand real ones."""

import gzip
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.ingest.gates.path_rules import is_allowed, path_of
from corpus_assets.ingest.gates.robots import MAX_BYTES, parse_robots, rules_for
from corpus_assets_tests.ingest.gates.robots_reference import allowed as reference
from corpus_assets_tests.ingest.gates.robots_reference import may_fetch, rules_of, verdict
from corpus_assets_tests.shared_data import shared_data


def may(content: str | bytes, url: str, agent: str = "GPTBot") -> bool:
    raw = content if isinstance(content, bytes) else content.encode()
    if url.startswith("/"):
        url = f"https://host.test{url}"
    return may_fetch(raw, agent, path_of(url))


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        # RFC 9309, section 2.2.2: the longest match wins, of equals the one that allows
        ("Allow: /example/page/\nDisallow: /example/page/disallowed.gif", "/example/page/", True),
        (
            "Allow: /example/page/\nDisallow: /example/page/disallowed.gif",
            "/example/page/disallowed.gif",
            False,
        ),
        ("Disallow: /page\nAllow: /page", "/page", True),
        ("Allow: /p\nDisallow: /", "/page", True),
        ("Allow: /folder\nDisallow: /folder", "/folder/page", True),
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /$\nDisallow: /", "/page.htm", False),
        # section 2.2.2, table 1: percent-encoding
        ("Disallow: /foo/bar?baz=quz", "/foo/bar?baz=quz", False),
        ("Disallow: /foo/bar?baz=https://foo.bar", "/foo/bar?baz=https://foo.bar", False),
        ("Disallow: /foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", False),
        ("Disallow: /foo/bar?baz=https%3a%2f%2ffoo.bar", "/foo/bar?baz=https://foo.bar", False),
        ("Disallow: /foo/bar?a=1%26b", "/foo/bar?a=1&b", True),
        ("Disallow: /foo%3A", "/foo:", True),
        ("Disallow: /foo/bar/\u30c4", "/foo/bar/%E3%83%84", False),
        ("Disallow: /foo/bar/%E3%83%84", "/foo/bar/\u30c4", False),
        ("Disallow: /foo/bar/%62%61%7a", "/foo/bar/baz", False),
        ("Disallow: /foo/bar/baz", "/foo/bar/%62%61%7A", False),
        ("Disallow: /a%2Fb", "/a/b", True),
        ("Disallow: /a%2fb", "/a%2Fb", False),
        # section 2.2.3: special characters
        ("Disallow: /path/file-with-a-%2A.html", "/path/file-with-a-*.html", False),
        ("Disallow: /path/foo-%24", "/path/foo-$", False),
        ("Disallow: /this/*/exactly", "/this/path/exactly", False),
        ("Disallow: /this/path/exactly$", "/this/path/exactly/not", True),
        ("Disallow: /a$b", "/a$b", False),
        ("Disallow: *.pdf$", "/x/y.pdf", False),
        ("Disallow: *.pdf$", "/x/y.pdf?z", True),
        ("Disallow: /*a*b*c$", "/xaybzc", False),
        ("Disallow: /*a*b*c$", "/xaybz", True),
        ("Disallow: /*ab$", "/ab-ab", False),
        ("Disallow: /*ab*ab$", "/ab", True),
        ("Disallow: /**x", "/yx", False),
        ("Disallow: /$", "/", False),
        # what is no rule
        ("Disallow:", "/x", True),
        ("Disallow: private", "/private", True),
        ("Disallow: /x # /", "/", True),
        ("Disallow: /", "/robots.txt", True),
        # paths are compared with their case, keys without
        ("DISALLOW: /Case", "/case", True),
        ("disallow : /Case", "/Case", False),
        ("Dissallow: /x", "/x", False),
        ("Disallow /x", "/x", False),
        ("Disallow\t/x", "/x", False),
    ],
)
def test_rules_decide_as_the_standard_says(rules: str, path: str, expected: bool) -> None:
    assert may(f"User-agent: *\n{rules}\n", path) is expected
    assert may(f"\ufeffuser-agent : gptbot\r{rules}".replace("\n", "\r\n"), path) is expected


GROUPS = """
Disallow: /before-any-group
User-agent: ccbot
User-agent: Googlebot/2.1
Crawl-delay: 5
Disallow: /one
Sitemap: https://host.test/sitemap.xml
Disallow: /two

User-agent: *
Disallow: /all

User-agent: CCBOT
Allow: /two/open

User-agent: gptbot-image
Disallow: /images
User-agent: empty
Crawl-delay: 1
"""


@pytest.mark.parametrize(
    ("agent", "path", "expected"),
    [
        ("CCBot", "/one", False),
        ("CCBot", "/two", False),
        ("CCBot", "/two/open", True),
        ("CCBot", "/all", True),
        ("googlebot", "/one", False),
        ("Googlebot-News", "/one", True),
        ("Googlebot-News", "/all", False),
        ("GPTBot", "/images", True),
        ("GPTBot", "/all", False),
        ("gptbot-image", "/images", False),
        ("CCBot", "/before-any-group", True),
        ("empty", "/all", True),
    ],
)
def test_groups_are_merged_and_chosen_by_name(agent: str, path: str, expected: bool) -> None:
    assert may(GROUPS, path, agent) is expected


def test_without_a_group_everything_is_allowed() -> None:
    assert may("", "/x")
    assert may("User-agent: other\nDisallow: /", "/x")
    assert may("<!doctype html><html><body>Disallow: /", "/x")


def test_five_hundred_kibibytes_are_read_and_a_line_cut_there_is_not() -> None:
    filler = b"# " + b"x" * 97 + b"\n"
    head = b"User-agent: *\nDisallow: /early\n"
    before = head + filler * ((MAX_BYTES - len(head) - 20) // 100)
    before += b"#" * (MAX_BYTES - len(before) - 13) + b"\n"
    late = before + b"Disallow: /late-and-long\nDisallow: /later\n"
    assert before[:MAX_BYTES] == before
    assert len(before) + len(b"Disallow: /l") == MAX_BYTES
    assert not may(late, "/early")
    assert may(late, "/late-and-long")
    assert may(late, "/l")
    assert may(late, "/later")


@pytest.mark.parametrize(
    "content",
    [b"\0" * 1000, b"\xff\xfe" * 500, b"User-agent" * 1000, b":" * 5000, b"\n" * 100_000,
     b"User-agent: *\nDisallow: /" + b"*a" * 100_000, b"User-agent: *\nDisallow: /\xff\xfe%zz%",
     b"User-agent: \xff\n" * 500],
)  # fmt: skip
def test_nonsense_neither_fails_nor_takes_long(content: bytes) -> None:
    assert may(content, "/" + "a" * 20_000)
    assert may(content, "/%zz%\udcff")


@given(
    st.lists(st.text("/a*$%2Fé?b", min_size=1, max_size=8), min_size=1, max_size=5),
    st.lists(st.booleans(), min_size=5, max_size=5),
    st.text("/a*$%2Fé?b", max_size=12),
)
def test_random_rules_agree_with_the_plain_reference(
    patterns: list[str], allow: list[bool], path: str
) -> None:
    lines = [
        f"{'Allow' if allow[i] else 'Disallow'}: {pattern}" for i, pattern in enumerate(patterns)
    ]
    content = ("User-agent: *\n" + "\n".join(lines)).encode()
    target = f"/{path}".encode()
    assert may_fetch(content, "GPTBot", path_of(f"http://h.test/{path}")) == reference(
        content, "GPTBot", target
    )


def test_every_real_file_agrees_with_the_plain_reference() -> None:
    """All 1,095 files; for each a few agents and paths made from its own rules."""
    lines = gzip.decompress(shared_data("robots/robots.jsonl.gz").read_bytes()).splitlines()
    rng = random.Random(7)
    asked = disallowed = 0
    for line in lines:
        content = json.loads(line)["text"].encode("utf-8", "replace")
        groups = parse_robots(content)
        patterns = sorted({rule.pattern for group in groups for rule in group.rules})
        chosen = rng.sample(patterns, min(2, len(patterns)))
        paths = [b"/", b"/index.html?a=b"]
        for pattern in chosen:
            path = pattern.removesuffix(b"$").replace(b"*", b"abc")
            paths += [path if path.startswith(b"/") else b"/x" + path]
            paths += [paths[-1] + b"more"]
        names = sorted({name for group in groups for name in group.agents if name.isalpha()})
        for agent in ("GPTBot", *rng.sample(names, min(1, len(names)))):
            rules, plain = rules_for(groups, agent), rules_of(content, agent)
            for path in paths:
                asked += 1
                found = is_allowed(path, rules)
                disallowed += not found
                assert found == verdict(plain, path), (content, agent, path, rules)
    assert len(lines) == 1095
    assert asked > 7000
    assert 1000 < disallowed < asked - 1000
