"""Sixty invented web sites: their names, languages, looks, and where their pages live.

Every host ends in `.example` or lies under `example.org`, names that are reserved for examples
(RFC 2606), so no page of the demo can be mistaken for a real one.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date

from corpus_assets.demo.compose import Article
from corpus_assets.demo.draw import Draw

BY = "https://creativecommons.org/licenses/by/4.0/"
BY_SA = "https://creativecommons.org/licenses/by-sa/4.0/"
ZERO = "https://creativecommons.org/publicdomain/zero/1.0/"


@dataclass(frozen=True)
class Site:
    """One site. `family` is its template; `kind` says what lives on it."""

    host: str
    name: str
    lang: str
    family: str
    kind: str = "articles"  # articles, math, spam, mirror or blocked
    licence: str = ""  # page-level Creative Commons link, empty for none
    repeats_lines: bool = False  # house lines at the end of every article body
    secure: bool = True

    @property
    def scheme(self) -> str:
        """`https`, but for a few old sites."""
        return "https" if self.secure else "http"


SITES: tuple[Site, ...] = (
    Site("www.tidewater-courier.example", "Tidewater Courier", "en", "news"),
    Site("eastmoor-gazette.example", "Eastmoor Gazette", "en", "news", repeats_lines=True),
    Site("www.valleypost.example", "The Valley Post", "en", "news"),
    Site("brackenhill-echo.example", "Brackenhill Echo", "en", "news"),
    Site("opencivics.example.org", "Open Civics Desk", "en", "news", licence=BY),
    Site("fern-and-flint.example", "Fern and Flint", "en", "blog"),
    Site("thelongbench.example", "The Long Bench", "en", "blog", licence=BY_SA),
    Site("notes.ostlerhouse.example", "Ostler House Notes", "en", "blog"),
    Site("slowkettle.example", "Slow Kettle", "en", "blog", repeats_lines=True),
    Site("www.pennyfarthing-days.example", "Penny Farthing Days", "en", "blog"),
    Site("quietworkshop.example", "Quiet Workshop", "en", "blog"),
    Site("commonshelf.example.org", "Common Shelf", "en", "wiki", licence=BY_SA),
    Site("fieldnotes-wiki.example", "Fieldnotes", "en", "wiki", licence=BY_SA),
    Site("www.parishpedia.example", "Parishpedia", "en", "wiki"),
    Site("board.makersrow.example", "Makers Row Board", "en", "forum"),
    Site("talk.hedgerow.example", "Hedgerow Talk", "en", "forum"),
    Site("forum.oldcanals.example", "Old Canals Forum", "en", "forum", repeats_lines=True),
    Site("www.askatrade.example", "Ask a Trade", "en", "forum"),
    Site("handbook.lathewright.example", "Lathewright Handbook", "en", "docs"),
    Site("guide.smallharbour.example", "Small Harbour Guide", "en", "docs", licence=BY),
    Site("learn.copperline.example", "Copperline Learning", "en", "docs"),
    Site("manuals.example.org", "Shared Manuals", "en", "docs", licence=ZERO),
    Site("www.lanternreview.example", "Lantern Review", "en", "magazine"),
    Site("saltmarshquarterly.example", "Saltmarsh Quarterly", "en", "magazine"),
    Site("www.northlight-mag.example", "Northlight", "en", "magazine", repeats_lines=True),
    Site("orchardandlane.example", "Orchard and Lane", "en", "magazine"),
    Site("www.bellweather-supply.example", "Bellweather Supply", "en", "shop"),
    Site("thegoodspanner.example", "The Good Spanner", "en", "shop", repeats_lines=True),
    Site("www.ropeandcanvas.example", "Rope and Canvas", "en", "shop"),
    Site("www.millrace.example", "Millrace Village", "en", "classic", secure=False),
    Site("homepages.ketterwick.example", "Ketterwick Pages", "en", "classic", secure=False),
    Site("www.steamlane-society.example", "Steamlane Society", "en", "classic", secure=False),
    Site("heron-archive.example.org", "Heron Archive", "en", "classic", licence=ZERO),
    Site("proofs.chalkroom.example", "Chalkroom", "en", "blog", "math", licence=BY),
    Site("www.lemma-notes.example", "Lemma Notes", "en", "docs", "math"),
    Site("best-deals-tonight.example", "Best Deals Tonight", "en", "shop", "spam"),
    Site("www.quickcash-tips.example", "Quick Cash Tips", "en", "blog", "spam"),
    Site("topten-bonus.example", "Top Ten Bonus", "en", "magazine", "spam"),
    Site("readcopy.example", "ReadCopy", "en", "magazine", "mirror"),
    Site("www.pagekeeper.example", "Pagekeeper", "en", "news", "mirror"),
    Site("leaked-files.example", "Leaked Files", "en", "forum", "blocked"),
    Site("www.scrapefarm.example", "Scrapefarm", "en", "blog", "blocked"),
    Site("www.heideboten.example", "Der Heidebote", "de", "news"),
    Site("werkbank-blog.example", "Werkbank", "de", "blog", licence=BY_SA),
    Site("forum.gartenzaun.example", "Am Gartenzaun", "de", "forum"),
    Site("www.uferblatt.example", "Uferblatt", "de", "magazine", repeats_lines=True),
    Site("www.dorfchronik-lahn.example", "Dorfchronik", "de", "classic", secure=False),
    Site("www.courrier-du-bocage.example", "Courrier du Bocage", "fr", "news"),
    Site("carnets-atelier.example", "Carnets d’atelier", "fr", "blog"),
    Site("encyclo-village.example.org", "Encyclo-Village", "fr", "wiki", licence=BY_SA),
    Site("www.revuedesrives.example", "Revue des rives", "fr", "magazine", repeats_lines=True),
    Site("www.diario-del-valle.example", "Diario del Valle", "es", "news"),
    Site("cuaderno-abierto.example", "Cuaderno abierto", "es", "blog", licence=BY),
    Site("foro.huertos.example", "Foro de huertos", "es", "forum"),
    Site("www.guia-de-taller.example", "Guía de taller", "es", "docs"),
    Site("www.gazzetta-di-colle.example", "Gazzetta di Colle", "it", "news"),
    Site("www.kurier-nadrzeczny.example", "Kurier Nadrzeczny", "pl", "blog"),
    Site("www.skogsbladet.example", "Skogsbladet", "sv", "magazine"),
    Site("www.minato-dayori.example", "港だより", "ja", "classic", secure=False),
    Site("www.rechnoy-vestnik.example", "Речной вестник", "ru", "forum"),
)

AUTHORS = (
    "Maren Tolliver", "Idris Pengelly", "Odette Varga", "Jonas Felber", "Priya Lanner",
    "Tobias Wrenfield", "Celeste Amundsen", "Rafael Quintero", "Hanne Borchert", "Noor Haddock",
    "Elspeth Carrow", "Luc Demarais", "Yusuf Ekberg", "Agathe Millot", "Bruno Castell",
    "Wilma Oster", "Sorcha Vane", "Anselm Ridley", "Inés Robledo", "Kit Marlowe-Hay",
)  # fmt: skip

_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}


def sites_of(kind: str, lang: str = "en") -> list[Site]:
    """Return the sites of one kind and language, in the table's order."""
    return [site for site in SITES if site.kind == kind and site.lang == lang]


def day_in_words(day: date, lang: str) -> str:
    """Return a date as a page of this language writes it; ISO 8601 where we do not know better."""
    if lang not in _MONTHS:
        return day.isoformat()
    month = _MONTHS[lang].split()[day.month - 1]
    if lang == "de":
        return f"{day.day}. {month} {day.year}"
    if lang == "es":
        return f"{day.day} de {month} de {day.year}"
    return f"{day.day} {month} {day.year}"


def slug_of(title: str) -> str:
    """Lower-case ASCII words of a title, joined by hyphens; empty for other scripts."""
    plain = unicodedata.normalize("NFKD", title.replace("ß", "ss"))
    ascii_only = plain.encode("ascii", "ignore").decode("ascii").lower()
    return "-".join(re.findall(r"[a-z0-9]+", ascii_only)[:9])


def url_of(site: Site, article: Article, day: date, draw: Draw) -> str:
    """Return where the site publishes the article. The number in it keeps equal titles apart."""
    number = draw.between(1000, 999_999)
    slug = slug_of(article.title) or "item"
    topic = slug_of(article.topic) or "topic"
    path = {
        "news": f"/{day:%Y/%m/%d}/{slug}-{number}",
        "blog": f"/{day:%Y/%m}/{slug}-{number}/",
        "wiki": f"/wiki/{slug.capitalize().replace('-', '_')}_({number})",
        "forum": f"/t/{slug}/{number}",
        "docs": f"/guide/{topic}/{slug}-{number}.html",
        "magazine": f"/{topic}/{number}-{slug}",
        "shop": f"/advice/{slug}-{number}",
        "classic": f"/pages/show.php?id={number}",
    }[site.family]
    return f"{site.scheme}://{site.host}{path}"
