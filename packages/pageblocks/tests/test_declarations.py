"""Titles and languages that pages declare."""

from pageblocks import extract, page_language, page_title


def test_titles_are_unescaped_and_of_bounded_length() -> None:
    assert (
        page_title("<html><head><title>A &amp; B &#8211;\n C</title></head><p>x")
        == "A & B \u2013 C"
    )
    assert page_title("<TITLE lang=en>Upper</TITLE>") == "Upper"
    assert page_title("<title></title>") is None
    assert page_title("<p>none</p>") is None
    assert len(page_title("<title>" + "x" * 3000) or "") == 500


def test_the_declared_language_comes_from_the_page_and_else_from_the_header() -> None:
    assert page_language("<html class=a lang='pt-BR'>", "en") == "pt-BR"
    assert page_language("<html xmlns=x xml:lang=de>") == "de"
    assert page_language("<html data-lang=fr>", "en") == "en"
    assert page_language("<html>", "en, fr") is None
    assert page_language("<html>") is None


def test_hostile_pages_take_no_time() -> None:
    for bait in ("<title " * 200_000, "<html " * 200_000):
        assert page_title(bait) is None
        assert page_language(bait) is None


def test_a_page_that_was_read_has_its_title_and_one_without_has_none() -> None:
    assert extract(b"<title>Gr\xfc\xdfe</title><p>x").title == "Gr\u00fc\u00dfe"
    assert extract("<title>a \ud800</title>").title == "a"
    assert extract("<p>x").title is None
