"""Pages that come a second time: recrawls, mirrors, near duplicates, one capture twice.

Every copy is fetched after its original and shares its `group`.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

from corpus_assets.demo.capture import Capture, Dress, copy_of, page_text, site_phenomena
from corpus_assets.demo.compose import (
    Article,
    compose,
    fill,
    insert_sentences,
    jaccard,
    remove_paragraph,
)
from corpus_assets.demo.crawl import Crawl
from corpus_assets.demo.damage import encode
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.sites import Site, day_in_words, sites_of, url_of
from corpus_assets.demo.texts import updated_line

NEAR = 0.88  # least 5-gram Jaccard of a planted near duplicate's main text

_UPDATED = {
    "en": "Last updated on {day}.",
    "de": "Zuletzt geändert am {day}.",
    "fr": "Dernière mise à jour le {day}.",
    "es": "Última actualización: {day}.",
}


def recrawl_unchanged(crawl: Crawl, count: int) -> None:
    """The same URL and the same bytes as in an earlier snapshot."""
    draw = crawl.draw("recrawl unchanged")
    for original in crawl.originals(count, draw, crawl.earlier):
        capture = copy_of(original, original.url, original.site, crawl.snapshot, draw)
        crawl.add(capture.plant("recrawl_unchanged", "as in an earlier snapshot"))


def recrawl_changed(crawl: Crawl, count: int) -> None:
    """The same URL with an edited page: every second one lightly, the others by half."""
    draw = crawl.draw("recrawl changed")
    for number, original in enumerate(crawl.originals(count, draw, crawl.earlier)):
        article = _article(original)
        edited = _edit(article, crawl, draw) if number % 2 else _rewrite(article, crawl, draw)
        capture = _edited_copy(crawl, original, edited, original.url, original.site, draw)
        crawl.add(capture.plant("recrawl_changed", _similarity(article, edited)))


def mirror(crawl: Crawl, count: int) -> None:
    """The same bytes at another host, under the other scheme, with a tracking query, with www."""
    draw = crawl.draw("mirror")
    hosts = sites_of("mirror")
    for number, original in enumerate(crawl.originals(count, draw)):
        parts = urlsplit(original.url)
        site = original.site
        if number % 4 == 0:
            site = hosts[number // 4 % len(hosts)]
            name = parts.netloc.replace(".", "-")
            url = f"{site.scheme}://{site.host}/cache/{name}{parts.path}"
            url += f"?{parts.query}" if parts.query else ""
            note = "other host"
        elif number % 4 == 1:
            other = "http" if parts.scheme == "https" else "https"
            url, note = parts._replace(scheme=other).geturl(), "other scheme"
        elif number % 4 == 2:
            tag = draw.choice(
                ("utm_source=letter&utm_medium=mail", "fbclid=IwAR0demo", "gclid=EAIademo")
            )
            query = f"{parts.query}&{tag}" if parts.query else tag
            url, note = parts._replace(query=query).geturl(), "tracking query"
        else:
            host = parts.netloc.removeprefix("www.")
            host = host if host != parts.netloc else f"www.{host}"
            url, note = parts._replace(netloc=host).geturl(), "with or without www"
        capture = copy_of(original, url, site, crawl.snapshot, draw)
        crawl.add(capture.plant("mirror", note))


def near_duplicate(crawl: Crawl, count: int) -> None:
    """Small edits, on another page of the same site or, every third, on another site."""
    draw = crawl.draw("near duplicate")
    for number, original in enumerate(crawl.originals(count, draw)):
        article = _article(original)
        edited = _edit(article, crawl, draw)
        # House lines of another site would make the two pages less alike than was planned.
        others = [
            site
            for site in sites_of("articles", article.lang)
            if site.host != original.site.host and not site.repeats_lines
        ]
        moves = number % 3 == 0 and not original.site.repeats_lines
        site = draw.choice(others) if moves else original.site
        published = original.published or crawl.snapshot.first.date()
        url = url_of(site, edited, published, draw)
        capture = _edited_copy(crawl, original, edited, url, site, draw)
        crawl.add(capture.plant("near_duplicate", _similarity(article, edited)))


def same_capture_twice(crawl: Crawl, count: int) -> None:
    """The same URL with the same bytes once more in one snapshot."""
    draw = crawl.draw("same capture twice")
    for original in crawl.originals(count, draw):
        capture = copy_of(original, original.url, original.site, crawl.snapshot, draw)
        crawl.add(capture.plant("same_capture_twice"))


def _edited_copy(
    crawl: Crawl, original: Capture, article: Article, url: str, site: Site, draw: Draw
) -> Capture:
    day = original.published or crawl.snapshot.first.date()
    page = page_text(site, article, url, day, Dress(), crawl.library)
    capture = copy_of(original, url, site, crawl.snapshot, draw, encode(page, "utf-8"))
    capture.article = article
    capture.planted = site_phenomena(site)
    return capture


def _edit(article: Article, crawl: Crawl, draw: Draw) -> Article:
    """One or two small edits; one that would change too much is left out."""
    bank = crawl.articles.bank_of(article)
    edited = article
    for kind in draw.sample(("stamp", "remove", "insert"), draw.between(1, 2)):
        trial = _stamp(edited, crawl, draw)
        if kind == "remove" and len(article.paragraphs) > 4:
            trial = remove_paragraph(edited, draw)
        elif kind == "insert":
            frame = draw.choice(draw.choice(bank.sections).sentences)
            trial = insert_sentences(edited, [fill(frame, bank.slots, {}, draw)], draw)
        if jaccard(article.text(), trial.text()) >= NEAR:
            edited = trial
    return edited if edited != article else _stamp(article, crawl, draw)


def _stamp(article: Article, crawl: Crawl, draw: Draw) -> Article:
    day = (crawl.snapshot.first - timedelta(days=draw.between(1, 60))).date()
    line = _UPDATED[article.lang].format(day=day_in_words(day, article.lang))
    return updated_line(article, line)


def _rewrite(article: Article, crawl: Crawl, draw: Draw) -> Article:
    """The first half stays, the rest is written anew from the same bank."""
    new = compose(crawl.articles.bank_of(article), draw, article.id)
    half = (len(article.paragraphs) + 1) // 2
    return replace(article, paragraphs=article.paragraphs[:half] + new.paragraphs[-half:])


def _article(capture: Capture) -> Article:
    if capture.article is None:
        raise ValueError(f"{capture.url} has no article to copy")
    return capture.article


def _similarity(left: Article, right: Article) -> str:
    return f"jaccard {jaccard(left.text(), right.text()):.3f}"


COPIES: dict[str, Callable[[Crawl, int], None]] = {
    "recrawl_unchanged": recrawl_unchanged,
    "recrawl_changed": recrawl_changed,
    "mirror": mirror,
    "near_duplicate": near_duplicate,
    "same_capture_twice": same_capture_twice,
}
