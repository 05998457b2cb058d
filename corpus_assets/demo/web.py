"""Make the web snapshots: carry out the plan, capture by capture, and write WARC files."""

from dataclasses import replace
from pathlib import Path

from corpus_assets.demo.capture import Capture, Dress
from corpus_assets.demo.compose import Article, from_written
from corpus_assets.demo.crawl import Articles, Crawl
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import Library
from corpus_assets.demo.plan import (
    CORRUPT_AT,
    COUNTS,
    DUPLICATE,
    FILES,
    SNAPSHOTS,
    TRUNCATED_AT,
    Entry,
)
from corpus_assets.demo.planting import COPIES, FRESH
from corpus_assets.demo.sites import sites_of
from corpus_assets.demo.warc import CORRUPT, TRUNCATED, write_warc

FileOfCaptures = list[Capture]


def build_snapshots(library: Library) -> list[list[FileOfCaptures]]:
    """Return every capture: by snapshot, by file, in the order of the file."""
    articles = Articles(library)
    earlier: list[Capture] = []
    result: list[list[FileOfCaptures]] = []
    for index in range(len(SNAPSHOTS)):
        crawl = Crawl(library, articles, SNAPSHOTS[index], list(earlier))
        for name, planter in FRESH.items():
            planter(crawl, COUNTS[name])
        _mathematics(crawl, index)
        damaged = _to_be_damaged(crawl, index)
        copies = [name for name in COPIES if index > 0 or not name.startswith("recrawl")]
        crawl.fill_up(sum(COUNTS[name] for name in copies))
        for name in copies:
            COPIES[name](crawl, COUNTS[name])
        result.append(_into_files(crawl, index, damaged))
        earlier.extend(crawl.captures)
    return result


def write_snapshots(snapshots: list[list[FileOfCaptures]], out: Path) -> list[Entry]:
    """Write the WARC files under `out/web` and return a manifest entry for each capture."""
    entries: list[Entry] = []
    for snapshot, parts in zip(SNAPSHOTS, snapshots, strict=True):
        for number, captures in enumerate(parts):
            file = f"web/{snapshot.name}/part-{number:05}.warc.gz"
            write_warc(out / file, snapshot.name, [each.exchange for each in captures])
            entries.extend(each.entry(snapshot.name, file) for each in captures)
    return entries


def surviving_articles(snapshots: list[list[FileOfCaptures]]) -> list[tuple[str, Article]]:
    """URL and article of every plain English page without copies: parents for synthetic texts."""
    return [
        (capture.url, capture.article)
        for parts in snapshots
        for captures in parts
        for capture in captures
        if capture.article is not None
        and capture.is_plain()
        and capture.lang == "en"
        and capture.group is None
        and capture.site.kind == "articles"
    ]


def math_key(slug: str) -> str:
    """Record key of a mathematical note in the source of its own."""
    return f"math-{slug}"


def _mathematics(crawl: Crawl, index: int) -> None:
    """Each note once on the web, on one of two sites; the notes' own source has it too."""
    sites = sites_of("math")
    for number, note in enumerate(crawl.library.math):
        if number % len(SNAPSHOTS) != index:
            continue
        draw = crawl.draw("math", note.slug)
        article = from_written(note)
        capture = crawl.new_page(article, draw, Dress(), sites[number // 3 % len(sites)])
        capture.planted.append("mirror")
        capture.expect = DUPLICATE
        capture.of = math_key(note.slug)
        capture.group = f"group-math-{note.slug}"
        capture.note = "also in the source of mathematics; one of the two stays"


def _to_be_damaged(crawl: Crawl, index: int) -> dict[str, Capture]:
    """Return the pages whose records will be cut or corrupted in this snapshot."""
    damaged: dict[str, Capture] = {}
    for phenomenon, (snapshot, _) in (
        ("truncated_record", TRUNCATED_AT),
        ("corrupt_member", CORRUPT_AT),
    ):
        if snapshot == index:
            article = crawl.articles.fresh("en", composed_only=True)
            page = crawl.new_page(article, crawl.draw(phenomenon))
            damaged[phenomenon] = page.plant(phenomenon)
    return damaged


def _into_files(crawl: Crawl, index: int, damaged: dict[str, Capture]) -> list[FileOfCaptures]:
    """Spread over files by URL and order by time; put damaged records where they belong."""
    parts: list[FileOfCaptures] = [[] for _ in range(FILES)]
    marked = {id(capture) for capture in damaged.values()}
    for number, capture in enumerate(crawl.captures):
        if id(capture) not in marked:
            place = Draw("file", crawl.snapshot.name, capture.url, number).below(FILES)
            parts[place].append(capture)
    for part in parts:
        part.sort(key=lambda each: (each.exchange.fetched, each.url))
    for phenomenon, capture in damaged.items():
        cut = phenomenon == "truncated_record"
        part = parts[(TRUNCATED_AT if cut else CORRUPT_AT)[1]]
        capture.exchange = replace(capture.exchange, damage=TRUNCATED if cut else CORRUPT)
        at = len(part) if cut else len(part) // 2
        neighbour = part[at - 1].exchange.fetched
        capture.exchange = replace(capture.exchange, fetched=neighbour)
        part.insert(at, capture)
    return parts
