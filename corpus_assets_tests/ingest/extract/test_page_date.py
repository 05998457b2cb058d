import pytest

from corpus_assets.ingest.extract import find_page_date


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
    assert find_page_date(markup.encode()) == day


def test_the_date_of_hostile_pages_takes_no_time() -> None:
    for bait in ("<meta " * 200_000, '"datePublished"' * 100_000,
                 "<time " * 200_000, "<meta name=" + "a" * 2_000_000):  # fmt: skip
        assert find_page_date(bait.encode()) is None
