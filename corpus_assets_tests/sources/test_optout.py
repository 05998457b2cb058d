import time

import pytest

from corpus_assets.sources.optout import OptOutSettings, header_opt_out, meta_opt_out

DEFAULT = OptOutSettings()
STRICT = OptOutSettings(headers=("noai", "noimageai"), meta=("noai", "noimageai"), noindex=True)


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
    assert header_opt_out(value, "", DEFAULT) == default
    assert header_opt_out(value, "", STRICT) == strict
    for tag in (
        f'<meta name="robots" content="{value}">',
        f"<meta content='{value}' name='ccbot' />",
    ):
        markup = f"<html><head>{tag}</head>".lower().encode()
        assert meta_opt_out(markup, DEFAULT) == default
        assert meta_opt_out(markup, STRICT) == strict


def test_a_reservation_for_text_and_data_mining_is_honoured_unless_the_policy_says_not() -> None:
    off = OptOutSettings(tdm_reservation=False)
    page = b'<meta name="tdm-reservation" content="1">'
    assert header_opt_out("", "1", DEFAULT) == "tdm-reservation"
    assert meta_opt_out(page, DEFAULT) == "tdm-reservation"
    assert meta_opt_out(page.replace(b"1", b"0"), DEFAULT) is None
    assert header_opt_out("", "0", DEFAULT) is None
    assert header_opt_out("", "1", off) is None
    assert meta_opt_out(page, off) is None


def test_other_meta_tags_and_words_in_the_text_mean_nothing() -> None:
    page = b'<meta name="description" content="robots noai"><p>noai robots</p><meta charset=utf-8>'
    assert meta_opt_out(page, STRICT) is None


def test_an_unquoted_directive_after_a_megabyte_is_found() -> None:
    page = b"<script>" + b"x" * 1_000_000 + b"</script><meta name=robots content=noai>"
    assert meta_opt_out(page, DEFAULT) == "noai"


@pytest.mark.parametrize(
    "unit", [b"<meta", b'<meta name="robots" content="', b"<meta namenamebot "]
)
def test_a_flood_of_broken_tags_is_read_in_a_second_or_so(unit: bytes) -> None:
    page = unit * (2_000_000 // len(unit))
    began = time.process_time()
    meta_opt_out(page, DEFAULT)
    assert time.process_time() - began < 5
