"""Sixty invented web sites: their names, languages, looks, and where their pages live.

Every host ends in `.example` or lies under `example.org`, names that are reserved for examples
(RFC 2606), so no page of the demo can be mistaken for a real one.
"""

import html
import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from string import Template

from corpus_assets.demo.compose import UNSPACED, Article, Draw
from corpus_assets.demo.library import Library

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


# Articles as HTML pages, by eight families of templates.
#
# A template file holds named parts, each after a line `%% name`: the page, and the pieces that
# repeat in it. They are filled by `string.Template`; every value is escaped here and only here.

FAMILIES = ("news", "blog", "wiki", "forum", "docs", "magazine", "shop", "classic")

_RELATED = {"de": "Mehr zum Thema", "fr": "À lire aussi", "es": "Más sobre el tema"}
_NEUTRAL_LABELS = ("Home", "Blog", "Info", "RSS")


@dataclass(frozen=True)
class Look:
    """What a capture may change about its page besides the article."""

    charset: str | None = "utf-8"  # the <meta> declaration; None for none
    robots: str | None = None  # content of <meta name="robots">
    house_lines: tuple[str, ...] = ()  # lines that the site puts below each article


def render(site: Site, article: Article, url: str, day: date, look: Look, library: Library) -> str:
    """Return the whole page, the same for the same arguments."""
    # By article, not by address: an edited copy keeps its author, teasers and house lines.
    draw = Draw("page", article.id)
    parts = _template(site.family)
    words = site_words(site, library)
    build = f"{Draw('build', site.host).bits64():016x}"[:8]
    bits = {
        "lang": site.lang,
        "title": _escape(article.title),
        "site": _escape(site.name),
        "description": _escape(article.sentences()[0][:150]),
        "topic": _escape(article.topic),
        "url": _escape(url),
        "next_url": _escape(f"{site.scheme}://{site.host}/guide/"),
        "author": draw.choice(AUTHORS),
        "date": day_in_words(day, site.lang),
        "iso_date": day.isoformat(),
        "number": str(draw.between(100, 99_999)),
        "build": build,
        "colour": build[:6],
        "related": _RELATED.get(site.lang, "Related"),
        "charset": _charset_meta(site, look.charset),
        "head": _head(site, look),
        "cookie": _escape(words["cookie"][0]),
        "footer": _escape(words["footer"][0]),
        "footer_extra": _licence_note(site),
        "nav": _repeat(
            parts["nav"],
            [{"href": f"/{slug_of(w) or 'c'}/", "label": _escape(w)} for w in words["nav"]],
        ),
        "teasers": _repeat(
            parts["teaser"],
            [
                {"href": f"/x/{draw.between(100, 999)}", "text": _escape(text)}
                for text in draw.sample(words["teasers"], 4)
            ],
        ),
        "comments": _repeat(
            parts["comment"],
            [
                {"who": draw.choice(AUTHORS).split()[0], "text": _escape(text)}
                for text in draw.sample(words["comments"], draw.below(4))
            ],
        ),
        "body": _body(parts, article, look.house_lines),
    }
    return parts["page"].substitute(bits)


def house_lines_of(site: Site, library: Library) -> tuple[str, ...]:
    """Return the two lines that a site with `repeats_lines` puts below each of its articles."""
    if not site.repeats_lines:
        return ()
    snippets = _snippets(site.lang, library)
    lines = [*snippets["privacy_lines"], *snippets["sidebar_teasers"]]
    return tuple(Draw("house lines", site.host).sample(lines, 2))


def _body(parts: dict[str, Template], article: Article, house: tuple[str, ...]) -> str:
    glue = "" if article.lang in UNSPACED else " "
    out: list[str] = []
    for index, paragraph in enumerate(article.paragraphs):
        if paragraph.heading:
            out.append(
                parts["heading"].substitute(text=_escape(paragraph.heading), anchor=str(index))
            )
        if paragraph.is_list:
            items = _repeat(parts["item"], [{"text": _escape(s)} for s in paragraph.sentences])
            out.append(parts["list"].substitute(items=items))
        else:
            text = _escape(glue.join(paragraph.sentences))
            out.append(parts["paragraph"].substitute(text=text))
    out.extend(parts["paragraph"].substitute(text=_escape(line)) for line in house)
    return "\n".join(out)


def site_words(site: Site, library: Library) -> dict[str, list[str]]:
    """Return the site's own choice of snippets; the same on all of its pages."""
    draw = Draw("site words", site.host)
    snippets = _snippets(site.lang, library)
    known = site.lang in library.snippets
    labels = draw.sample(snippets["nav_labels"], 7) if known else list(_NEUTRAL_LABELS)
    footer = draw.choice(snippets["footers"]).replace("{site}", site.name)
    return {
        "nav": labels,
        "cookie": [draw.choice(snippets["cookie_banners"]).replace("{site}", site.name)],
        "footer": [footer if known else f"© 2024 {site.name}"],
        "teasers": list(snippets["sidebar_teasers"]) if known else [site.name],
        "comments": list(snippets["comments"]) if known else [],
    }


def _snippets(lang: str, library: Library) -> dict[str, tuple[str, ...]]:
    return library.snippets.get(lang, library.snippets["en"])


def _charset_meta(site: Site, charset: str | None) -> str:
    if charset is None:
        return "<!-- -->"
    if site.family == "classic":
        return f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">'
    return f'<meta charset="{charset}">'


def _head(site: Site, look: Look) -> str:
    lines = [f'<meta name="robots" content="{look.robots}">'] if look.robots else []
    if site.licence:
        lines.append(f'<link rel="license" href="{site.licence}">')
    return "\n".join(lines) or '<meta name="format-detection" content="telephone=no">'


def _licence_note(site: Site) -> str:
    if not site.licence:
        return ""
    return f' <a rel="license" href="{site.licence}"><img src="/cc.svg" alt="CC"></a>'


def _repeat(part: Template, values: list[dict[str, str]]) -> str:
    return "\n".join(part.substitute(value) for value in values)


def _escape(text: str) -> str:
    return html.escape(text, quote=True).replace("&#x27;", "'")


@cache
def _template(family: str) -> dict[str, Template]:
    source = files("corpus_assets.demo") / "templates" / f"{family}.html"
    parts: dict[str, Template] = {}
    for chunk in ("\n" + source.read_text(encoding="utf-8")).split("\n%% ")[1:]:
        name, _, text = chunk.partition("\n")
        parts[name.strip()] = Template(text.rstrip("\n"))
    return parts
