"""What a person sees while a build runs."""

import io
import re

from rich.console import Console

from corpus_assets.core.display import LiveBars, PlainLog
from corpus_assets.core.progress import Progress


def report(progress: Progress) -> None:
    """Two parts of an asset, then one that is found, as a build tells of them."""
    progress.started("signals", "crawl-1", 2)
    progress.advanced("signals", "crawl-1", 10, cached=False)
    progress.advanced("signals", "crawl-1", 5, cached=False)
    progress.finished("signals", "crawl-1", 0, 2)
    progress.started("tokenizer", None, 1)
    progress.advanced("tokenizer", None, 99, cached=True)
    progress.finished("tokenizer", None, 1, 0)


def test_the_plain_log_has_one_line_an_asset() -> None:
    lines: list[str] = []
    report(PlainLog(lines.append))
    first, second = lines
    assert re.fullmatch(r"signals crawl-1: 2 parts computed in [\d.]+ s, [\d,]+ documents/s", first)
    assert re.fullmatch(r"tokenizer: 0 parts computed, 1 cached in [\d.]+ s", second)


def test_an_asset_that_is_told_of_twice_is_counted_anew() -> None:
    lines: list[str] = []
    log = PlainLog(lines.append)
    log.started("signals", "crawl-1", 1)
    log.advanced("signals", "crawl-1", 10, cached=False)
    log.finished("signals", "crawl-1", 0, 1)
    log.started("signals", "crawl-1", 1)
    log.advanced("signals", "crawl-1", 10, cached=True)
    log.finished("signals", "crawl-1", 1, 0)
    assert "documents/s" in lines[0]
    assert "documents/s" not in lines[1]


def test_an_end_without_a_beginning_is_still_a_line() -> None:
    lines: list[str] = []
    PlainLog(lines.append).finished("shards", "crawl-1", 3, 0)
    assert lines == ["shards crawl-1: 0 parts computed, 3 cached in 0.0 s"]


def test_bars_show_every_asset_with_its_parts() -> None:
    out = io.StringIO()
    with LiveBars(Console(file=out, force_terminal=True, width=120)) as bars:
        report(bars)
        bars.advanced("nothing", None, 1, cached=False)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
    assert "signals crawl-1" in shown
    assert "2/2" in shown
    assert "tokenizer" in shown
    assert "cached" in shown


def test_nodes_of_one_asset_share_its_bar() -> None:
    out = io.StringIO()
    with LiveBars(Console(file=out, force_terminal=True, width=120)) as bars:
        for _ in range(3):
            bars.started("clean_text", "crawl-1", 2)
            for _ in range(2):
                bars.advanced("clean_text", "crawl-1", 1, cached=False)
        bars.finished("clean_text", "crawl-1", 0, 6)
    assert "6/6" in out.getvalue()
