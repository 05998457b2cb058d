import time

import pytest

from corpus_assets.ingest.gates.optout import frees_itself, header_opt_out, meta_opt_out
from corpus_assets.ingest.gates.settings import OptOutSettings

DEFAULT = OptOutSettings()
STRICT = OptOutSettings(directives=("noai", "noimageai", "noindex"))


@pytest.mark.parametrize(
    ("value", "default", "strict"),
    [
        ("noai", "noai", "noai"),
        ("NoAI, nofollow", "noai", "noai"),
        ("gptbot: noindex, noai", "noai", "noai"),
        ("noimageai", None, "noimageai"),
        ("noindex", None, "noindex"),
        ("none", None, "noindex"),
        ("noarchive, max-snippet:20", None, None),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST", None, None),
        ("nonoai", None, None),
        ("", None, None),
    ],
)
def test_robots_directives_are_honoured_as_the_policy_says(
    value: str, default: str | None, strict: str | None
) -> None:
    assert header_opt_out([value], "", DEFAULT) == default
    assert header_opt_out([value], "", STRICT) == strict
    for tag in (
        f'<meta name="robots" content="{value}">',
        f"<meta content='{value}' name='ccbot' />",
    ):
        markup = f"<html><head>{tag}</head>".lower().encode()
        assert meta_opt_out(markup, DEFAULT) == default
        assert meta_opt_out(markup, STRICT) == strict


def test_a_reservation_for_text_and_data_mining_is_honoured() -> None:
    page = b'<meta name="tdm-reservation" content="1">'
    assert header_opt_out([], "1", DEFAULT) == "tdm-reservation"
    assert meta_opt_out(page, DEFAULT) == "tdm-reservation"
    assert meta_opt_out(page.replace(b"1", b"0"), DEFAULT) is None
    assert header_opt_out([], "0", DEFAULT) is None


@pytest.mark.parametrize(
    ("tags", "agents", "expected"),
    [
        (["gptbot: noai"], None, "noai"),
        (["gptbot: noai"], ("GPTBot",), "noai"),
        (["otherbot: noai"], ("GPTBot",), None),
        (["otherbot: nofollow, noai"], ("GPTBot",), None),
        (["otherbot: nofollow, gptbot: noai"], ("GPTBot",), "noai"),
        (["otherbot: nofollow", "noai"], ("GPTBot",), "noai"),  # each header begins anew
        (["unavailable_after: 25 Jun 2030 15:00:00 PST, noai"], ("GPTBot",), "noai"),
        (["max-snippet: 0, noai"], ("GPTBot",), "noai"),
        (["*: noai"], ("GPTBot",), "noai"),
        (["otherbot/1.1: noai"], ("GPTBot",), None),
        (["other.bot: noai"], ("GPTBot",), None),
        (["GPTBot/1.1: noai"], ("GPTBot",), "noai"),
        (['"noai, nofollow"'], ("GPTBot",), "noai"),
        (['"otherbot: noai"'], ("GPTBot",), None),
        (["a" * 100_000 + ": noai"], ("GPTBot",), None),
    ],
)
def test_a_directive_for_one_agent_counts_as_the_policy_says(
    tags: list[str], agents: tuple[str, ...] | None, expected: str | None
) -> None:
    settings = DEFAULT if agents is None else OptOutSettings(agents=agents)
    assert header_opt_out(tags, "", settings) == expected


@pytest.mark.parametrize(
    ("name", "anyone", "only_gptbot"),
    [
        ("robots", "noai", "noai"),
        ("GPTBot", "noai", "noai"),
        ("ccbot", "noai", None),
        ("anthropic-ai", "noai", None),
        ("google-extended", "noai", None),
        ("description", None, None),
    ],
)
def test_a_meta_tag_for_one_agent_counts_as_the_policy_says(
    name: str, anyone: str | None, only_gptbot: str | None
) -> None:
    markup = f'<meta name="{name}" content="noai, noimageai">'.lower().encode()
    assert meta_opt_out(markup, DEFAULT) == anyone
    assert meta_opt_out(markup, OptOutSettings(agents=("GPTBot",))) == only_gptbot


@pytest.mark.parametrize(
    "tag",
    [
        '<meta name="robots" content="no&#97;i">',
        '<meta name="robots" content="no&#x61;i, nofollow">',
        '<meta name="robots" content="no&#97i">',
        '<meta name="robots" content="NO&#65;I">',
        '<meta name="&#114;obots" content="&#110;&#111;&#97;&#105;">',
    ],
)
def test_letters_written_as_character_references_are_letters(tag: str) -> None:
    assert meta_opt_out(tag.encode(), DEFAULT) == "noai"


def test_a_reservation_written_with_character_references_counts() -> None:
    assert meta_opt_out(b'<meta name="tdm&#45;reservation" content="&#49;">', DEFAULT)
    free = b'<meta name="tdm&#45;reservation" content="&#48;">'
    assert header_opt_out([], "1", DEFAULT, free) is None
    assert meta_opt_out(b'<meta name="robots" content="no&amp;#97;i">', DEFAULT) is None


def test_a_header_written_as_a_meta_tag_counts() -> None:
    assert meta_opt_out(b'<meta http-equiv="x-robots-tag" content="noai">', DEFAULT) == "noai"
    scoped = b'<meta http-equiv="x-robots-tag" content="otherbot: noai">'
    assert meta_opt_out(scoped, OptOutSettings(agents=("gptbot",))) is None


def test_a_page_can_free_itself_from_the_reservation_in_its_headers() -> None:
    free = b'<META name="tdm-reservation" content="0">'
    assert header_opt_out([], "1", DEFAULT, free) is None
    assert header_opt_out([], "1", DEFAULT, b"<p>") == "tdm-reservation"
    assert header_opt_out([], "1", DEFAULT, free.replace(b"0", b"")) == "tdm-reservation"
    assert header_opt_out(["noai"], "1", DEFAULT, free) == "noai"


@pytest.mark.parametrize(
    ("value", "reserved", "freed"),
    [
        ("1", True, False),
        (' "1" ', True, False),
        ("1.0", True, False),
        ("1; policy=x", True, False),
        ("10", False, False),
        ("1.5", False, False),
        ("0", False, True),
        ("'0'", False, True),
        ("0.0", False, True),
        ("01", False, False),
        ("", False, False),
    ],
)
def test_a_reservation_is_read_leniently(value: str, reserved: bool, freed: bool) -> None:
    assert (header_opt_out([], value, DEFAULT) is not None) is reserved
    assert frees_itself(b"<p>", value) is freed


@pytest.mark.parametrize(
    "tag",
    [
        "<meta data-x='>' name='robots' content='noai'>",
        '<meta name="robots" data-x = ">" content="noai">',
        "<meta data-x='" + "y" * 3000 + "' name='robots' content='noai'>",
        "<meta " + "y " * 3000 + " name=robots content=noai>",
        "<meta/name=robots/content=noai>",
        "<meta name=robots/content=noai/>",
        "<meta name='robots' data-y=\"content='all'\" content='noai'>",
        "<meta name=description content='never closed><meta name=robots content=noai>",
        "<meta name='a' content='never closed><meta name='robots' content='noai'>",
    ],
)
def test_a_tag_is_read_whole_however_it_is_written(tag: str) -> None:
    assert meta_opt_out(f"<html><head>{tag}<p>text".encode(), DEFAULT) == "noai"


def test_what_stands_in_the_value_of_another_attribute_says_nothing() -> None:
    page = b"<meta name=robots data-x=\"content='noai'\" content='all'>"
    assert meta_opt_out(page, DEFAULT) is None


def test_a_page_can_free_itself_from_the_reservation_of_its_site() -> None:
    assert frees_itself(b'<meta name="tdm-reservation" content="0">', "1")
    assert frees_itself(b"<p>", "0")
    assert not frees_itself(b'<meta name="tdm-reservation" content="1">', "0")
    assert not frees_itself(b"<p>", "")


def test_other_meta_tags_and_words_in_the_text_mean_nothing() -> None:
    page = b'<meta name="description" content="robots noai"><p>noai robots</p><meta charset=utf-8>'
    assert meta_opt_out(page, STRICT) is None


def test_an_unquoted_directive_after_a_megabyte_is_found() -> None:
    page = b"<script>" + b"x" * 1_000_000 + b"</script><meta name=robots content=noai>"
    assert meta_opt_out(page, DEFAULT) == "noai"


@pytest.mark.parametrize(
    "unit",
    [
        b"<meta",
        b'<meta name="robots" content="',
        b"<meta namenamebot ",
        b'<meta noai=">"',
        b"<meta noai='>",
        b"noai=<meta",
    ],
)
def test_a_flood_of_broken_tags_is_read_in_a_second_or_so(unit: bytes) -> None:
    page = unit * (2_000_000 // len(unit))
    began = time.process_time()
    meta_opt_out(page, DEFAULT)
    assert time.process_time() - began < 5
