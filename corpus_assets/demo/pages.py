"""Articles as HTML pages, by eight families of templates.

A template file holds named parts, each after a line `%% name`: the page, and the pieces that
repeat in it. They are filled by `string.Template`; every value is escaped here and only here.
"""

import html
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from string import Template

from corpus_assets.demo.compose import UNSPACED, Article
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import Library
from corpus_assets.demo.sites import AUTHORS, Site, day_in_words, slug_of

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
