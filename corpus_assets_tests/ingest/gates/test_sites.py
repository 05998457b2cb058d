import pytest

from corpus_assets.ingest.gates.site_index import site_of
from corpus_assets.ingest.gates.site_rules import (
    ai_txt_rules,
    from_bytes,
    robots_rules,
    tdmrep_rules,
    to_bytes,
)


@pytest.mark.parametrize(
    ("content", "path", "reserved"),
    [
        ('[{"location": "/", "tdm-reservation": 1}]', b"/x", True),
        ('[{"location": "/*", "tdm-reservation": "1"}]', b"/x", True),
        ('{"location": "/", "tdm-reservation": 1}', b"/x", True),
        ('[{"location": "/", "tdm-reservation": 0}]', b"/x", False),
        ('[{"location": "/", "tdm-reservation": true}]', b"/x", True),
        ('[{"location": "/", "tdm-reservation": 1.0}]', b"/x", True),
        ('[{"location": "/", "tdm-reservation": 10}]', b"/x", False),
        ('[{"location": "/", "tdm-reservation": 1,},]', b"/x", True),
        ('[{"location": "https://a.test/paid", "tdm-reservation": 1}]', b"/paid/x", True),
        ('[{"location": "https://a.test/paid", "tdm-reservation": 1}]', b"/x", False),
        ('[{"location": "//WWW.A.test:443", "tdm-reservation": 1}]', b"/x", True),
        ('[{"location": "https://b.test/", "tdm-reservation": 1}]', b"/x", False),
        ('[{"location": "/"}]', b"/x", False),
        (
            '[{"location": "/", "tdm-reservation": 1}, {"location": "/free/", "tdm-reservation": 0}]',
            b"/free/x",
            False,
        ),
        ('[{"location": "/*.pdf$", "tdm-reservation": 1}]', b"/a.pdf", True),
        ('[{"location": "/*.pdf$", "tdm-reservation": 1}]', b"/a.pdf.html", False),
        ('[{"location": "paid/", "tdm-reservation": 1}]', b"/paid/x", True),
        ('[5, {"location": 7}, {"location": "", "tdm-reservation": 1}]', b"/x", False),
        ("[" * 100_000, b"/x", False),
        ("no json", b"/x", False),
    ],
)
def test_the_longest_location_of_a_tdmrep_file_decides(
    content: str, path: bytes, reserved: bool
) -> None:
    rules = from_bytes(to_bytes(None, None, tdmrep_rules(content.encode(), "a.test")), ())
    assert rules.reserved_by_tdmrep(path) is reserved


@pytest.mark.parametrize(
    ("content", "path", "kind", "refused"),
    [
        ("User-Agent: *\nDisallow: *.html\nAllow: *.txt", b"/a/b", "text/html", True),
        ("User-Agent: *\nDisallow: *.html\nAllow: *.txt", b"/a/b.html", "text/html", True),
        ("User-Agent: *\nDisallow: *.html\nAllow: *.txt", b"/a/b.txt", "text/plain", False),
        ("User-Agent: *\nDisallow: *.jpg\nDisallow: *.png", b"/a", "text/html", False),
        ("User-Agent: *\nDisallow: /", b"/a", "text/html", True),
        ("User-Agent: *\nAllow: /", b"/a", "text/html", False),
        ("User-Agent: *\nDisallow: /art/", b"/a", "text/html", False),
        ("---\nname: a product\n---\n# About", b"/a", "text/html", False),
    ],
)
def test_ai_txt_speaks_of_paths_and_of_kinds_of_files(
    content: str, path: bytes, kind: str, refused: bool
) -> None:
    for agents in ((), ("GPTBot", "CCBot")):
        rules = from_bytes(to_bytes(None, ai_txt_rules(content.encode(), agents), None), agents)
        assert rules.refused_by_ai_txt(path, kind) == (list(agents or ("*",)) if refused else [])


@pytest.mark.parametrize(
    ("agents", "refused"),
    [
        ((), []),
        (("GPTBot",), ["GPTBot"]),
        (("CCBot", "GPTBot"), ["GPTBot"]),
        (("ClaudeBot", "GPTBot"), ["ClaudeBot", "GPTBot"]),
    ],
)
def test_a_group_of_ai_txt_counts_for_the_agents_of_the_recipe(
    agents: tuple[str, ...], refused: list[str]
) -> None:
    content = b"User-Agent: GPTBot\nUser-agent: ClaudeBot\nDisallow: /\n"
    rules = from_bytes(to_bytes(None, ai_txt_rules(content, agents), None), agents)
    assert rules.refused_by_ai_txt(b"/x", "text/html") == refused


def test_agents_with_the_same_rules_share_them() -> None:
    content = b"User-agent: a\nUser-agent: b\nDisallow: /x\nUser-agent: c\nDisallow: /y\nAllow: /"
    agents = ("a", "b", "c", "d")
    data = to_bytes(robots_rules(content, agents), None, None)
    assert data.count(b"-/x") == 1
    rules = from_bytes(data, agents)
    assert rules.disallowed(b"/x") == ["a", "b"]
    assert rules.disallowed(b"/y") == ["c"]
    assert rules.disallowed(b"/robots.txt") == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.A.test/x", "www.a.test"),
        ("http://a.test:80/x", "a.test"),
        ("https://a.test:8443", "a.test:8443"),
        ("http://user@www.a.test?x", "www.a.test"),
        ("http://www.test/", "www.test"),
        ("HTTP://WWW.a.test", "www.a.test"),
        ("http://b.test/http://www.a.test/", "b.test"),
        ("dns:a.test", None),
    ],
)
def test_a_site_is_its_authority_in_one_spelling(url: str, expected: str | None) -> None:
    assert site_of(url) == expected
