"""Preferences about training, by the cases of the AIPREF drafts, content signals and RSL."""

import pytest

from corpus_assets.ingest.gates.gates import gate_page
from corpus_assets.ingest.gates.preferences import (
    Preference,
    Statement,
    combined,
    header_statements,
    markup_statements,
    training_preference,
)
from corpus_assets.ingest.gates.robots import parse_robots, rules_for
from corpus_assets.ingest.gates.settings import GateSettings
from corpus_assets.ingest.gates.site_rules import (
    from_bytes,
    licence_lines,
    robots_rules,
    to_bytes,
    usage_rules,
)

NO_USAGE = "file robots.txt Content-Usage: train-ai=n"
YES_USAGE = "file robots.txt Content-Usage: train-ai=y"
NO_SIGNAL = "file robots.txt Content-Signal: ai-train=no"


def said(
    robots: str, path: str, agents: tuple[str, ...] = (), ai_agents: tuple[str, ...] = ("GPTBot",)
) -> Preference:
    """What a robots.txt says about a path, through the bytes of the index."""
    content = robots.encode()
    usage = usage_rules(content, agents, ai_agents)
    data = to_bytes(robots_rules(content, agents), None, None, usage, licence_lines(content))
    return combined(from_bytes(data, agents).robots_statements(path.encode()))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("train-ai=n", "disallow"),
        ("train-ai=y", "allow"),
        ("  train-ai=n ", "disallow"),
        ("search=y, train-ai=n", "disallow"),
        ("search=y,train-ai=n", "disallow"),
        ("search=y\t,\ttrain-ai=n", "disallow"),
        ("train-ai=n;exception=(a b)", "unknown"),  # a parameter is no list
        ('train-ai=n;note="a, b=c"', "disallow"),
        ('note="train-ai=n", train-ai=y', "allow"),
        ("train-ai=y, train-ai=n", "disallow"),  # the last of equal names
        ("train-ai=n, train-ai=y", "allow"),
        ("new-label=n, train-ai=n", "disallow"),
        ('new-label=(a b;c=1 "x");d, train-ai=n', "disallow"),
        ('*odd=@1659578233, when=%"%c3%bc", raw=:aGk=:, yes=?1, n=-1.5, train-ai=n', "disallow"),
        ("new-label=n", "unknown"),
        ("search=n", "unknown"),
        ("train-ai", "unknown"),
        ("train-ai=?0", "unknown"),
        ("train-ai=no", "unknown"),
        ("train-ai=N", "unknown"),
        ('train-ai="n"', "unknown"),
        ("train-ai=(n)", "unknown"),
        ("train-ai=1", "unknown"),
        ("Train-AI=n", "unknown"),
        ("train-ai = n", "unknown"),
        ("train-ai=n,", "unknown"),
        (",train-ai=n", "unknown"),
        ("train-ai=n search=y", "unknown"),
        ("train-ai=n; search=y", "disallow"),  # a parameter
        ('train-ai=n, note="open', "unknown"),
        ("train-ai=n, \u00fc=y", "unknown"),
        ("ai-train=no", "unknown"),
        ("train-genai=n", "disallow"),  # words of earlier drafts: refusals count
        ("bots=n", "disallow"),
        ("bots=n, search=y", "disallow"),
        ("bots=n, train-ai=y", "allow"),  # the narrower word
        ("bots=n, train-ai=maybe", "disallow"),
        ("train-ai=y, train-genai=n", "disallow"),
        ("train-ai=n, train-genai=y", "disallow"),
        ("train-genai=y", "unknown"),
        ("bots=y", "unknown"),
        ("", "unknown"),
    ],
)
def test_content_usage_is_a_dictionary_and_what_is_none_says_nothing(
    value: str, expected: str
) -> None:
    assert training_preference("Content-Usage", value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ai-train=no", "disallow"),
        ("ai-train=yes", "allow"),
        ("search=yes,ai-train=no,use=reference", "disallow"),
        ("search=yes, ai-input=no, ai-train=yes", "allow"),
        ("AI-Train = NO", "disallow"),
        ("ai-train=yes, ai-train=no", "disallow"),
        ("search=no", "unknown"),
        ("ai-input=no", "unknown"),
        ("ai-train=n", "unknown"),
        ("ai-train", "unknown"),
        ("train-ai=no", "unknown"),
        ("ai-train=none", "unknown"),
        ("", "unknown"),
    ],
)
def test_content_signals_are_pairs(value: str, expected: str) -> None:
    assert training_preference("Content-Signal", value) == expected


def test_a_value_made_to_hold_the_parser_does_not() -> None:
    for value in (
        "a;" * 4000,
        "a=(" + "b " * 4000,
        "a=" + '"' + '\\"' * 4000,
        "a" * 10**6,
        "," * 10**6,
    ):
        assert training_preference("Content-Usage", value) == "unknown"


DRAFT = """\
User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y
"""


@pytest.mark.parametrize(
    ("agents", "path", "expected"),
    [
        ((), "/test", Preference("disallow", NO_USAGE)),
        ((), "/ai-ok/test", Preference("allow", YES_USAGE)),
        (("ExampleBot",), "/test", Preference("allow", YES_USAGE)),
        (("examplebot",), "/ai-ok/test", Preference("allow", YES_USAGE)),
        (("OtherBot",), "/test", Preference("disallow", NO_USAGE)),
        (("ExampleBot", "OtherBot"), "/test", Preference("disallow", f"{NO_USAGE}; {YES_USAGE}")),
    ],
)
def test_the_example_of_the_draft_is_read_as_it_says(
    agents: tuple[str, ...], path: str, expected: Preference
) -> None:
    assert said(DRAFT, path, agents) == expected


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        ("Content-Usage: train-ai=n", "/", "disallow"),
        ("content-usage : /a train-ai=n", "/a/b", "disallow"),
        ("Content-Usage: /a train-ai=n", "/b", "unknown"),
        ("Content-Usage: /a\ttrain-ai=n", "/ab", "disallow"),
        ("Content-Usage: / train-ai=y\nContent-Usage: train-ai=n", "/x", "allow"),
        ("Content-Usage: /a train-ai=y\nContent-Usage: /a train-ai=n", "/a", "disallow"),
        ("Content-Usage: /a/b train-ai=y\nContent-Usage: /a train-ai=n", "/a/b", "allow"),
        ("Content-Usage: /a train-ai=n\nContent-Usage: /a/b train-ai=y", "/a/b", "allow"),
        ("Content-Usage: /*.html$ train-ai=n\nContent-Usage: train-ai=y", "/x.html", "disallow"),
        ("Content-Usage: /*.html$ train-ai=n\nContent-Usage: train-ai=y", "/x.htm", "allow"),
        ("Content-Usage: /%61 train-ai=n", "/a", "disallow"),
        ("Content-Usage: /\u00fc train-ai=n", "/%C3%BC", "disallow"),
        ("Content-Usage: train-ai=n # said twice, train-ai=y", "/", "disallow"),
        ("Content-Usage: train-ai=n\nContent-Usage: /docs/ search=y", "/docs/x", "unknown"),
        ("Content-Usage: train-ai=n\nContent-Usage: /docs/ train-ai", "/docs/x", "unknown"),
        ("Content-Usage: train-ai=n\nContent-Usage: /docs/ search=y", "/x", "disallow"),
        ("Content-Usage: /a", "/a", "unknown"),
        ("Content-Signal: search=yes,ai-train=no\nAllow: /", "/x", "disallow"),
        ("Content-Signal: /shop/ ai-train=yes\nContent-Signal: ai-train=no", "/shop/x", "allow"),
        ("Content-Signal: ai-train=no\nContent-Usage: train-ai=y", "/x", "disallow"),
        ("Content-Signal: ai-train=no\nContent-Usage: /blog train-ai=y", "/blog/1", "disallow"),
        ("Contents-Usage: train-ai=n", "/", "unknown"),
        ("Disallow: /x\nAllow: /", "/x", "unknown"),
    ],
)
def test_the_longest_path_counts_and_of_equals_the_most_restrictive(
    lines: str, path: str, expected: str
) -> None:
    for end in ("\n", "\r\n"):
        robots = f"User-agent: *\n{lines}\n".replace("\n", end)
        assert said(robots, path).value == expected


SAYINGS = {
    "disallow": {"Content-Usage": "train-ai=n", "Content-Signal": "ai-train=no"},
    "allow": {"Content-Usage": "train-ai=y", "Content-Signal": "ai-train=yes"},
    "unknown": {"Content-Usage": "search=y", "Content-Signal": "search=yes"},
}


@pytest.mark.parametrize("signal", ["Content-Usage", "Content-Signal"])
@pytest.mark.parametrize("said_by_other", ["unknown", "allow"])
@pytest.mark.parametrize("paths", [("", "/x"), ("/x", ""), ("/x", "/x"), ("/", "/x/*.html$")])
def test_one_mechanism_never_takes_back_what_the_other_refuses(
    signal: str, said_by_other: str, paths: tuple[str, str]
) -> None:
    (other,) = {"Content-Usage", "Content-Signal"} - {signal}
    lines = [
        f"{signal}: {paths[0]} {SAYINGS['disallow'][signal]}",
        f"{other}: {paths[1]} {SAYINGS[said_by_other][other]}",
    ]
    for order in (lines, lines[::-1]):
        robots = "\n".join(["User-agent: *", *order])
        assert said(robots, "/x/page.html").value == "disallow"


def test_each_mechanism_is_resolved_by_its_own_longest_path() -> None:
    robots = (
        "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /x train-ai=y\n"
        "Content-Signal: ai-train=no\nContent-Signal: /x ai-train=yes\n"
    )
    assert said(robots, "/x").value == "allow"
    assert said(robots, "/y").value == "disallow"


def test_rules_of_fetching_in_front_of_all_groups_stay_no_rules() -> None:
    groups = parse_robots(b"Content-Usage: train-ai=n\nDisallow: /\nUser-agent: *\nDisallow: /a")
    assert [rule.pattern for rule in rules_for(groups, "CCBot")] == [b"/a"]


@pytest.mark.parametrize(
    ("robots", "agents", "expected"),
    [
        ("Content-Signal: ai-train=no\nUser-agent: *\nAllow: /", (), "disallow"),  # to all
        ("Content-Usage: train-ai=n\n", (), "disallow"),
        ("Content-Usage: train-ai=n\n", ("CCBot",), "disallow"),
        ("Sitemap: /s.xml\nDisallow: /\nContent-Usage: train-ai=n", (), "disallow"),
        (
            "Content-Usage: train-ai=n\nUser-agent: GPTBot\nContent-Usage: train-ai=y",
            ("GPTBot",),
            "disallow",
        ),
        (
            "Content-Usage: train-ai=n\nUser-agent: GPTBot\nContent-Usage: / train-ai=y",
            ("GPTBot",),
            "allow",
        ),
        ("User-agent: GPTBot\nContent-Signal: ai-train=no", (), "disallow"),
        ("User-agent: bingbot\nContent-Signal: ai-train=no", (), "unknown"),
        ("User-agent: GPTBot\nContent-Signal: ai-train=no", ("CCBot",), "unknown"),
        ("User-agent: GPTBot/1.1\nContent-Signal: ai-train=no", ("gptbot",), "disallow"),
        ("User-agent: GPTBot-Image\nContent-Signal: ai-train=no", ("GPTBot",), "unknown"),
        (
            "User-agent: *\nContent-Signal: ai-train=no\n\nUser-agent: GPTBot\nAllow: /",
            ("GPTBot",),
            "unknown",
        ),
        (
            "User-agent: GPTBot\nAllow: /\n\nUser-agent: *\nAllow: /\n\n"
            "User-agent: gptbot\nContent-Usage: train-ai=n",
            ("GPTBot",),
            "disallow",
        ),
    ],
)
def test_a_group_speaks_to_the_agents_it_names(
    robots: str, agents: tuple[str, ...], expected: str
) -> None:
    assert said(robots, "/x", agents).value == expected


def test_a_preference_is_a_rule_that_ends_the_list_of_agents() -> None:
    robots = "User-agent: *\nContent-Signal: ai-train=no\n\nUser-agent: GPTBot\nDisallow: /\n"
    groups = parse_robots(robots.encode())
    assert not rules_for(groups, "CCBot")
    assert rules_for(groups, "GPTBot")
    assert said(robots, "/x", ("CCBot",)) == Preference("disallow", NO_SIGNAL)


def test_licences_are_recorded_as_terms_that_nobody_has_read() -> None:
    robots = (
        "License: https://a.test/license.xml\nUser-agent: *\nAllow: /\n"
        "LICENSE : https://b.test/rsl.xml # global\nLicense:\n"
    )
    both = (
        "file robots.txt License: https://a.test/license.xml; "
        "file robots.txt License: https://b.test/rsl.xml"
    )
    assert said(robots, "/x") == Preference("unknown", both)
    with_signal = said(robots + "Content-Signal: ai-train=no", "/x")
    assert with_signal == Preference("disallow", f"{NO_SIGNAL}; {both}")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], None),
        ([("content-usage", "train-ai=n")], "header Content-Usage: train-ai=n"),
        ([("content-usage", "search=y"), ("content-usage", "train-ai=n")],
         "header Content-Usage: train-ai=n"),
        ([("content-usage", "train-ai=n"), ("content-usage", "train-ai = y")],
         "header Content-Usage: train-ai=n"),
        ([("content-usage", 'note="open'), ("content-usage", "train-ai=n")],
         "header Content-Usage: train-ai=n"),
        ([("content-usage", "a=" + "b" * 9000), ("content-usage", "train-ai=n")],
         "header Content-Usage: train-ai=n"),
        ([("content-usage", "train-ai=n"), ("content-usage", "train-ai=y")],
         "header Content-Usage: train-ai=y"),
        ([("content-signal", "ai-train=yes, search=yes")], "header Content-Signal: ai-train=yes"),
        ([("link", '<https://a.test/l.xml>; rel="license"; type="application/rsl+xml"')],
         "header Link: https://a.test/l.xml"),
        ([("link", "</a.css>; rel=preload, </l.xml>; type=application/rsl+xml; rel=license")],
         "header Link: /l.xml"),
        ([("link", '<https://cc.test/by>; rel="license"')], None),
        ([("link", '</l.xml>; rel="alternate"; type="application/rsl+xml"')], None),
        ([("x-robots-tag", "noai")], None),
    ],
)  # fmt: skip
def test_headers_say_it_of_one_page(headers: list[tuple[str, str]], expected: str | None) -> None:
    assert combined(header_statements(headers)).source == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        (
            '<link rel="license" type="application/rsl+xml" href="https://a.test/l.xml">',
            "https://a.test/l.xml",
        ),
        ("<LINK HREF='/l.xml' TYPE='application/rsl+xml' REL='License nofollow' />", "/l.xml"),
        ("<link rel=license type=application/rsl+xml href=/l.xml?a=1&amp;b=2>", "/l.xml?a=1&b=2"),
        ('<link rel="license" href="https://cc.test/by">', None),
        ('<link rel="alternate" type="application/rsl+xml" href="/l.xml">', None),
        ("<p>application/rsl+xml</p>", None),
    ],
)
def test_a_page_links_to_its_licence(markup: str, expected: str | None) -> None:
    page, statements = f"<head>{markup}</head>".encode(), list[Statement]()
    assert gate_page(page, "unknown", GateSettings(), collected=statements) is None
    assert statements == markup_statements(page)
    assert combined(statements).source == (expected and f"markup link: {expected}")


def test_the_most_restrictive_statement_counts_and_all_are_named() -> None:
    said = [Statement("unknown", "c"), Statement("allow", "b"), Statement("disallow", "a")]
    assert combined(said) == Preference("disallow", "a; b; c")
    assert combined(said[:2]) == Preference("allow", "b; c")
    assert combined([]) == Preference("unknown", None)
