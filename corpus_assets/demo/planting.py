"""Plant phenomena in a crawl, one function each: copies of pages, and new pages.

Copies are recrawls, mirrors, near duplicates and captures that occur twice; each is fetched after
its original and shares its `group`.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

from corpus_assets.demo.capture import Capture, Dress, copy_of, moment, page_text, site_phenomena
from corpus_assets.demo.compose import (
    Article,
    compose,
    fill,
    insert_sentences,
    jaccard,
    remove_paragraph,
)
from corpus_assets.demo.crawl import Crawl
from corpus_assets.demo.damage import (
    break_markup,
    encode,
    error_page,
    json_bytes,
    legacy_charset,
    lying_charset,
    pdf_bytes,
    png_bytes,
    redirect_page,
    too_large_page,
)
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import CORPUS_LANGUAGES, WRONG_LANGUAGES, EvalItem
from corpus_assets.demo.sites import Site, day_in_words, sites_of, url_of
from corpus_assets.demo.texts import (
    spam,
    thin,
    updated_line,
    with_contacts,
    with_near_miss,
    with_quote,
)
from corpus_assets.demo.warc import Exchange

NEAR = 0.88  # least 5-gram Jaccard of a planted near duplicate's main text

_UPDATED = {
    "en": "Last updated on {day}.",
    "de": "Zuletzt geändert am {day}.",
    "fr": "Dernière mise à jour le {day}.",
    "es": "Última actualización: {day}.",
}


def recrawl_unchanged(crawl: Crawl, count: int) -> None:
    """Plant the same URL with the same bytes as in an earlier snapshot."""
    draw = crawl.draw("recrawl unchanged")
    for original in crawl.originals(count, draw, crawl.earlier):
        capture = copy_of(original, original.url, original.site, crawl.snapshot, draw)
        crawl.add(capture.plant("recrawl_unchanged", "as in an earlier snapshot"))


def recrawl_changed(crawl: Crawl, count: int) -> None:
    """Plant the same URL with an edited page: every second one lightly, the others by half."""
    draw = crawl.draw("recrawl changed")
    for number, original in enumerate(crawl.originals(count, draw, crawl.earlier)):
        article = _article(original)
        edited = _edit(article, crawl, draw) if number % 2 else _rewrite(article, crawl, draw)
        capture = _edited_copy(crawl, original, edited, original.url, original.site, draw)
        crawl.add(capture.plant("recrawl_changed", _similarity(article, edited)))


def mirror(crawl: Crawl, count: int) -> None:
    """Plant the same bytes at another host, under another scheme, with a query, with www."""
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
    """Plant the same URL with the same bytes once more in one snapshot."""
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
    """Return one or two small edits; one that would change too much is left out."""
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
    """Keep the first half, and rewrite the rest from the same bank."""
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


# New pages.

Planter = Callable[[Crawl, int], None]


def templated_spam(crawl: Crawl, count: int) -> None:
    sites = sites_of("spam")
    for number in range(count):
        draw = crawl.draw("spam", number)
        article = spam(crawl.library, draw, f"spam-{crawl.snapshot.name}-{number}")
        crawl.new_page(article, draw, site=sites[number % len(sites)]).plant("templated_spam")


def thin_pages(crawl: Crawl, count: int) -> None:
    for number in range(count):
        draw = crawl.draw("thin", number)
        lang = "en" if number % 3 else CORPUS_LANGUAGES[1 + number // 3 % 3]
        full = crawl.articles.fresh(lang, composed_only=True)
        article_id = f"thin-{crawl.snapshot.name}-{number}"
        article = thin(crawl.library, lang, full, draw, article_id)
        quiet = [site for site in sites_of("articles", lang) if not site.repeats_lines]
        crawl.new_page(article, draw, site=draw.choice(quiet)).plant("thin")


def wrong_language(crawl: Crawl, count: int) -> None:
    known = [lang for lang in WRONG_LANGUAGES if lang in crawl.library.banks]
    for number in range(count):
        draw = crawl.draw("wrong language", number)
        lang = known[number % len(known)]
        dress = Dress(charset=legacy_charset("ja")) if lang == "ja" and number % 2 else None
        capture = crawl.fresh_page(lang, draw, dress).plant("wrong_language")
        if dress is not None:
            capture.plant("legacy_charset", f"declared {dress.charset}")


def broken_html(crawl: Crawl, count: int) -> None:
    for number in range(count):
        draw = crawl.draw("broken html", number)
        lang = "en" if number % 4 else CORPUS_LANGUAGES[number // 4 % 4]
        capture = crawl.fresh_page(lang, draw)
        page = break_markup(capture.exchange.body.decode("utf-8"), draw)
        capture.exchange = replace(capture.exchange, body=page.encode("utf-8"))
        capture.plant("broken_html")


def broken_encoding(crawl: Crawl, count: int) -> None:
    for number in range(count):
        draw = crawl.draw("broken encoding", number)
        lang = ("de", "fr", "es", "en")[number % 4]
        dress = Dress(charset_in_header=False, charset_in_page=False)
        capture = crawl.fresh_page(lang, draw, dress)
        page = capture.exchange.body.decode("utf-8")
        body, declared, note = lying_charset(page, draw)
        kind = "text/html" if declared is None else f"text/html; charset={declared}"
        headers = (("Content-Type", kind), *capture.exchange.headers[1:])
        capture.exchange = replace(capture.exchange, body=body, headers=headers)
        capture.plant("broken_encoding", note)


def legacy_charsets(crawl: Crawl, count: int) -> None:
    for number in range(count):
        lang = ("de", "fr", "es")[number % 3]
        charset = legacy_charset(lang)
        dress = Dress(charset=charset, charset_in_header=number % 2 == 0)
        capture = crawl.fresh_page(lang, crawl.draw("legacy charset", number), dress)
        capture.plant("legacy_charset", f"declared {charset}")


def personal_data(crawl: Crawl, count: int) -> None:
    for number in range(count):
        draw = crawl.draw("personal data", number)
        found = with_contacts(crawl.articles.fresh("en"), crawl.library, draw)
        capture = crawl.new_page(found.article, draw).plant("personal_data")
        capture.emails, capture.ips = found.emails, found.ips


def eval_quote(crawl: Crawl, count: int) -> None:
    items = _items(crawl, 2 * count)
    for number in range(count):
        draw = crawl.draw("eval quote", number)
        quoted = items[2 * number : 2 * number + (2 if number % 5 == 0 else 1)]
        article = crawl.articles.fresh("en")
        for item in quoted:
            article = with_quote(article, item, crawl.library, draw)
        capture = crawl.new_page(article, draw).plant("eval_quote")
        capture.eval_items = sorted({item.id for item in quoted})


def eval_near_miss(crawl: Crawl, count: int) -> None:
    items = _items(crawl, len(crawl.library.questions))
    long_enough = [item for item in reversed(items) if len(item.text.split()) >= 14]
    for number in range(count):
        item = long_enough[number % len(long_enough)]
        draw = crawl.draw("eval near miss", number)
        article = with_near_miss(crawl.articles.fresh("en", True), item, crawl.library, draw)
        capture = crawl.new_page(article, draw).plant("eval_near_miss", f"near {item.id}")
        capture.eval_items = [item.id]


def optout_meta(crawl: Crawl, count: int) -> None:
    for number in range(count):
        robots = ("noai, noimageai", "noindex", "noindex, nofollow", "noai")[number % 4]
        dress = Dress(robots=robots)
        capture = crawl.fresh_page("en", crawl.draw("optout meta", number), dress)
        capture.plant("optout_meta", f"meta robots {robots}")


def optout_header(crawl: Crawl, count: int) -> None:
    signals = (
        ("X-Robots-Tag", "noai"),
        ("TDM-Reservation", "1"),
        ("X-Robots-Tag", "noindex, noai"),
    )
    for number in range(count):
        name, value = signals[number % 3]
        dress = Dress(headers=((name, value),))
        capture = crawl.fresh_page("en", crawl.draw("optout header", number), dress)
        capture.plant("optout_header", f"{name}: {value}")


def blocked_host(crawl: Crawl, count: int) -> None:
    sites = sites_of("blocked")
    for number in range(count):
        article = crawl.articles.fresh("en", composed_only=True)
        site = sites[number % len(sites)]
        crawl.new_page(article, crawl.draw("blocked", number), site=site).plant("blocked_host")


def error_status(crawl: Crawl, count: int) -> None:
    for number in range(count):
        status = 500 if number % 4 == 3 else 404
        draw = crawl.draw("error", number)
        site = draw.choice(sites_of("articles"))
        body = error_page(status, site.name).encode("utf-8")
        url = f"{site.scheme}://{site.host}/old/{draw.between(10_000, 99_999)}"
        _bare(crawl, site, url, draw, body, status=status).plant("error_status", str(status))


def redirect(crawl: Crawl, count: int) -> None:
    for number in range(count):
        draw = crawl.draw("redirect", number)
        site = draw.choice(sites_of("articles"))
        target = f"{site.scheme}://{site.host}/"
        url = f"{target}go/{draw.between(10_000, 99_999)}"
        body = redirect_page(target).encode("utf-8")
        extra = (("Location", target),)
        _bare(crawl, site, url, draw, body, status=301, extra=extra).plant("redirect")


def not_html(crawl: Crawl, count: int) -> None:
    for number in range(count):
        draw = crawl.draw("not html", number)
        site = draw.choice(sites_of("articles"))
        text = crawl.articles.fresh("en", composed_only=True)
        name = f"{site.scheme}://{site.host}/files/{draw.between(10_000, 99_999)}"
        body, ending, kind = (
            (pdf_bytes(text.title), "pdf", "application/pdf"),
            (png_bytes(draw), "png", "image/png"),
            (json_bytes(text.title, text.text()), "json", "application/json"),
        )[number % 3]
        capture = _bare(crawl, site, f"{name}.{ending}", draw, body, kind=kind)
        capture.plant("not_html", kind)


def too_large(crawl: Crawl, count: int) -> None:
    for number in range(count):
        draw = crawl.draw("too large", number)
        site = draw.choice(sites_of("articles"))
        url = f"{site.scheme}://{site.host}/table/{draw.between(10_000, 99_999)}"
        body = too_large_page("All readings", site.name).encode("utf-8")
        _bare(crawl, site, url, draw, body).plant("too_large", f"{len(body)} bytes")


def _bare(
    crawl: Crawl,
    site: Site,
    url: str,
    draw: Draw,
    body: bytes,
    status: int = 200,
    kind: str = "text/html",
    extra: tuple[tuple[str, str], ...] = (),
) -> Capture:
    """Return a capture without an article."""
    headers = (("Content-Type", kind), ("Server", "nginx"), *extra)
    fetched = moment(crawl.snapshot, draw, late=False)
    exchange = Exchange(url, fetched, status, headers, body, payload_type=kind)
    return crawl.add(Capture(site, url, "en", exchange))


def _items(crawl: Crawl, count: int) -> list[EvalItem]:
    """Benchmark questions for this snapshot, starting over when all were used."""
    pool = crawl.draw("eval items").sample(crawl.library.questions, len(crawl.library.questions))
    return (pool * (count // len(pool) + 1))[:count]


FRESH: dict[str, Planter] = {
    "templated_spam": templated_spam,
    "thin": thin_pages,
    "wrong_language": wrong_language,
    "broken_html": broken_html,
    "broken_encoding": broken_encoding,
    "legacy_charset": legacy_charsets,
    "personal_data": personal_data,
    "eval_quote": eval_quote,
    "eval_near_miss": eval_near_miss,
    "optout_meta": optout_meta,
    "optout_header": optout_header,
    "blocked_host": blocked_host,
    "error_status": error_status,
    "redirect": redirect,
    "not_html": not_html,
    "too_large": too_large,
}
