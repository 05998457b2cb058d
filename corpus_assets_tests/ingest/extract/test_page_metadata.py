import pytest

from corpus_assets.ingest.extract.page_metadata import page_date, page_language, page_title
from corpus_assets_tests.ingest.warc_bytes import page


def test_titles_are_unescaped_and_of_bounded_length() -> None:
    assert page_title(page(title="A &amp; B &#8211;\n C").decode()) == "A & B \u2013 C"
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


@pytest.mark.parametrize(
    ("markup", "day"),
    [
        ('<meta property="article:published_time" content="2019-03-04T05:06:07+02:00">', "2019-03-04"),
        ("<META CONTENT='20190304' NAME=pubdate>", "2019-03-04"),
        ('<meta itemprop="datePublished" content="2019-03-04">', "2019-03-04"),
        ('<meta name="date" content="2001-01-01"><meta name="dc.date.issued" content="2002-02-02">', "2002-02-02"),
        ('<script>{"@type":"A","datePublished" : "2020-12-31T00:00Z"}</script>', "2020-12-31"),
        ('<time datetime="2018-02-28" pubdate>then</time>', "2018-02-28"),
        ('<time itemprop="datePublished" datetime="2016-02-29T10:00">then</time>', "2016-02-29"),
        ('<time datetime="2018-02-28">an event</time>', None),
        ('<meta name="date" content="2019-13-04">', None),
        ('<meta name="date" content="2019-00-10">', None),
        ('<meta name="date" content="2019-02-31">', None),
        ('<meta name="date" content="1970-01-01">', None),
        ('<meta name="date" content="04.03.2019">', None),
        ('<meta name="date" content="201903041">', None),
        ("<p>2019-03-04</p>", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_date_of_a_page_is_the_one_it_declares(markup: str, day: str | None) -> None:
    assert page_date(markup.encode()) == day


def test_metadata_of_hostile_pages_take_no_time() -> None:
    for bait in ("<meta " * 200_000, "<title " * 200_000, '"datePublished"' * 100_000,
                 "<time " * 200_000, "<html " * 200_000, "<meta name=" + "a" * 2_000_000):  # fmt: skip
        assert page_date(bait.encode()) is None
        assert page_title(bait) is None
        assert page_language(bait) is None
