"""Make captures: a page, its HTTP headers, and what was planted in it."""

from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from corpus_assets.demo.compose import Article
from corpus_assets.demo.damage import encode
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import Library
from corpus_assets.demo.pages import Look, house_lines_of, render
from corpus_assets.demo.plan import EXPECT, Entry, Expect, Snapshot
from corpus_assets.demo.sites import Site, url_of
from corpus_assets.demo.warc import Exchange

OVERLAYS = frozenset({"licence_cc", "boilerplate_lines"})
"""Phenomena that a page has because of its site; they change no decision."""

_SERVERS = ("nginx", "nginx/1.24.0", "Apache", "Apache/2.4.57 (Debian)", "Caddy", "openresty")


@dataclass
class Capture:
    """A capture that is not written yet. Mutable: an original learns later of its copies."""

    site: Site
    url: str
    lang: str
    exchange: Exchange
    article: Article | None = None
    published: date | None = None
    planted: list[str] = field(default_factory=list)
    expect: Expect = None
    of: str | None = None
    group: str | None = None
    eval_items: list[str] = field(default_factory=list)
    emails: int = 0
    ips: int = 0
    note: str = ""

    def is_plain(self) -> bool:
        """Whether it is an undisturbed article that should survive: fit to be copied."""
        return (
            self.expect is None and self.article is not None and OVERLAYS.issuperset(self.planted)
        )

    def plant(self, phenomenon: str, note: str = "") -> "Capture":
        """Note a phenomenon; the first one with an expected outcome decides the capture's."""
        self.planted.append(phenomenon)
        self.expect = self.expect or EXPECT[phenomenon]
        self.note = self.note or note
        return self

    def entry(self, snapshot: str, file: str) -> Entry:
        """Return the capture's line in the manifest."""
        return Entry(
            snapshot=snapshot,
            file=file,
            key=self.url,
            lang=self.lang,
            domain="web",
            planted=self.planted,
            of=self.of,
            group=self.group,
            eval_items=self.eval_items,
            emails=self.emails,
            ips=self.ips,
            expect=self.expect,
            note=self.note,
        )


@dataclass(frozen=True)
class Dress:
    """How the page goes over the wire."""

    charset: str = "utf-8"
    charset_in_header: bool = True
    charset_in_page: bool = True
    robots: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


def page_text(
    site: Site, article: Article, url: str, day: date, dress: Dress, library: Library
) -> str:
    """Return the page's HTML before it is encoded."""
    look = Look(
        charset=dress.charset if dress.charset_in_page else None,
        robots=dress.robots,
        house_lines=house_lines_of(site, library),
    )
    return render(site, article, url, day, look, library)


def http_headers(site: Site, url: str, charset: str | None) -> tuple[tuple[str, str], ...]:
    """Response headers of an HTML page; encodings undone by the crawler stay as X-Crawl lines."""
    draw = Draw("headers", site.host)
    page = Draw("headers", url)
    kind = "text/html" if charset is None else f"text/html; charset={charset}"
    headers = [("Content-Type", kind), ("Server", draw.choice(_SERVERS))]
    if draw.chance(60):
        headers.append(("X-Crawl-Content-Encoding", draw.choice(("gzip", "br"))))
        headers.append(("X-Crawl-Content-Length", str(page.between(2000, 9000))))
    if draw.chance(40):
        headers.append(("X-Crawl-Transfer-Encoding", "chunked"))
    if draw.chance(50):
        headers.append(("Cache-Control", "max-age=600"))
    if draw.chance(40):
        headers.append(("Vary", "Accept-Encoding"))
    if draw.chance(25):
        headers.append(("Strict-Transport-Security", "max-age=31536000"))
    return tuple(headers)


def capture_article(
    site: Site,
    article: Article,
    snapshot: Snapshot,
    draw: Draw,
    library: Library,
    dress: Dress | None = None,
) -> Capture:
    """Return a first capture of a new page, in the crawl's first part."""
    wear = dress or Dress(charset_in_header=draw.chance(70))
    published = (snapshot.first - timedelta(days=draw.between(3, 900))).date()
    url = url_of(site, article, published, draw)
    page = page_text(site, article, url, published, wear, library)
    declared = wear.charset if wear.charset_in_header else None
    exchange = Exchange(
        url=url,
        fetched=moment(snapshot, draw, late=False),
        status=200,
        headers=http_headers(site, url, declared) + wear.headers,
        body=encode(page, wear.charset),
        payload_type="text/html",
    )
    return Capture(site, url, article.lang, exchange, article, published, site_phenomena(site))


def site_phenomena(site: Site) -> list[str]:
    """Return what every page of a site carries."""
    carried = {"licence_cc": bool(site.licence), "boilerplate_lines": site.repeats_lines}
    return [name for name, is_carried in carried.items() if is_carried]


def moment(snapshot: Snapshot, draw: Draw, late: bool) -> datetime:
    """First captures come in the first 60% of a crawl, copies of them in the rest."""
    share = draw.below(10_000) / 10_000
    return snapshot.moment(0.6 + share * 0.39 if late else share * 0.6)


def copy_of(
    original: Capture,
    url: str,
    site: Site,
    snapshot: Snapshot,
    draw: Draw,
    body: bytes | None = None,
) -> Capture:
    """Return a later capture with the original's page, or with `body` in its place."""
    exchange = replace(
        original.exchange,
        url=url,
        fetched=moment(snapshot, draw, late=True),
        body=original.exchange.body if body is None else body,
    )
    capture = replace(original, site=site, url=url, exchange=exchange)
    capture.planted = [name for name in original.planted if name in OVERLAYS]
    capture.eval_items = []
    capture.of = original.url
    if original.group is None:
        original.group = f"group-{Draw('group', original.url).bits64():016x}"
    capture.group = original.group
    return capture
