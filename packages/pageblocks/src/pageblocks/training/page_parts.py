"""What made-up pages are made of: how designers call things, and all that is not main content."""

import re
from collections.abc import Callable
from html import escape
from random import Random

from pageblocks.kernels.page_names import names_in
from pageblocks.kernels.scripts import UNITS

WIDE = re.compile(f"[{UNITS}]")

NAMES = {
    "wrapper": "wrapper container page site wrap outer inner row col grid-12 layout app root l-page",
    "top": "header site-header masthead top-bar page-header banner branding",
    "nav": "nav main-nav navbar menu primary-menu navigation site-nav topnav",
    "crumbs": "breadcrumb breadcrumbs crumbs path you-are-here",
    "main": "main content main-content primary page-content center col-md-8 content-area site-main",
    "article": "article post entry story post-content article-body entry-content article__body story-body text",
    "side": "sidebar aside right-col widget-area secondary rail col-md-4 sidebar-right",
    "widget": "widget box module panel block side-box",
    "foot": "footer site-footer bottom foot page-footer colophon",
    "comments": "comments comment-list disqus comments-area reader-comments responses discussion feedback",
    "comment": "comment comment-item comment-body reply comment-content",
    "related": "related related-products upsells similar-items related-posts recommended read-more more-stories also-like trending latest popular news top-stories content-list",
    "share": "share social social-share share-buttons sharing follow-us",
    "meta": "meta post-meta byline entry-meta date author info timestamp article-info",
    "reviews": "reviews customer-reviews ratings testimonials product-reviews",
    "cookie": "cookie-banner cookie-consent gdpr consent modal overlay notice",
    "news": "newsletter subscribe signup cta mailing-list promo",
    "ad": "ad advert ad-slot sponsored banner-ad dfp promo",
    "paging": "pagination pager page-numbers nav-links prev-next",
    "cards": "cards list grid results items product-list feed archive news latest-news articles stories content",
    "card": "card item tile teaser result product-card entry list-item article news-item story post content",
    "tags": "tags tag-list post-tags categories labels",
    "bio": "author-bio author-box about-author profile",
    "posts": "thread topic messages posts questions",
    "post": "post message answer topic-post postbody message-cell reply",
    "user": "user author username poster profile member user-info message-user",
    "sig": "signature sig user-signature",
    "actions": "actions buttons toolbar post-actions controls",
    "product": "product product-detail item-page pdp",
    "price": "price product-price amount cost",
    "text": "description text body copy rte product-description content prose",
    "specs": "specs specifications details attributes features",
    "hero": "hero banner jumbotron intro headline-section",
    "section": "section feature block content-block services about row panel",
    "quote": "testimonial quote review",
    "faq": "faq accordion question-answer",
    "toc": "toc table-of-contents contents on-this-page",
    "figure": "figure image photo media wp-caption gallery",
    "title": "title headline entry-title page-title post-title heading",
    "lead": "lead intro summary standfirst excerpt dek",
    "form": "form search-form contact-form filter filters login",
    "hidden": "hidden sr-only visually-hidden skip-link screen-reader-text",
    "code": "code highlight code-block source",
}
"""What designers call the parts of a page."""
NEUTRAL = names_in("wrapper wrapper section widget cards card main text title figure")
"""Parts whose names say where something stands or how it looks, and not what it is."""
UTILITIES = names_in(
    "flex mt-4 px-6 text-sm w-full mb-2 bg-white rounded p-4 max-w-lg grid hidden md:block"
)
LOOKS = names_in(
    "item list box row col clearfix left right content main text title data block module js-view "
    "hidden-xs active first last inner wrap section page c1 even odd top small table menu-item link"
)
"""Words that stand in classes anywhere and say little."""
SEMANTIC = {
    "top": "header", "nav": "nav", "main": "main", "article": "article", "side": "aside",
    "foot": "footer", "section": "section", "comment": "article", "card": "article",
    "related": "aside", "figure": "figure", "crumbs": "nav", "paging": "nav", "toc": "nav",
    "comments": "section",
}  # fmt: skip
ROLES = {"nav": "navigation", "top": "banner", "foot": "contentinfo", "main": "main",
         "side": "complementary", "cookie": "dialog", "form": "search"}  # fmt: skip


class PageParts:
    """Words, markup and surroundings of one made-up page."""

    def __init__(self, random: Random, pool: list[str], lang: str) -> None:
        self.random, self.pool, self.lang = random, pool, lang
        self.kept: list[str] = []
        self.is_wide = sum(len(WIDE.findall(text)) for text in pool[:20]) > 200
        self.naming = random.choices(
            ("plain", "none", "prefix", "hash", "module", "utility"), (45, 15, 14, 10, 8, 8)
        )[0]
        self.candour = random.choice((0.3, 0.6, 0.8, 0.95, 1.0))
        self.semantic = random.choice((0.0, 0.2, 0.6, 0.95))
        self.roles = random.random() < 0.3
        self.prefix = random.choice(("c-", "td-", "wp-", "js-", "o-", "m-", "app-", "sc-"))
        self.classes = {role: self.class_of(role) for role in NAMES}
        self.paragraph_tag = random.choices(("p", "div", "br", "p span"), (76, 8, 12, 4))[0]
        self.old = random.random() < 0.2
        self.portal = random.random() < 0.35
        self.terse = random.random() < 0.35  # paragraphs of a sentence or two

    # words

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def words(self, least: int, most: int) -> str:
        n = self.random.randint(least, most)
        text = self.random.choice(self.pool)
        if self.is_wide:
            at = self.random.randrange(max(1, len(text) - 2 * n))
            return text[at : at + 2 * n].strip("。，、,. ") or text[:3]
        parts = text.split()
        at = self.random.randrange(max(1, len(parts) - n))
        found = " ".join(parts[at : at + n]).strip(".,;:!?()[]\"'")
        return found[:1].upper() + found[1:] if found else "Info"

    def paragraph(self, longest: int = 1500) -> str:
        text = self.random.choice(self.pool)
        if self.terse:
            return (self.sentence() + " " + self.sentence())[:longest]
        while self.maybe(0.3) and len(text) < 500:
            text += " " + self.random.choice(self.pool)
        return text[:longest]

    def sentence(self) -> str:
        text = self.random.choice(self.pool)
        found = re.split(r"(?<=[.!?。！？।])\s*", text)
        return self.random.choice([part for part in found if part] or [text])[:300]

    def date(self) -> str:
        year, month, day = (
            self.random.randint(2001, 2025),
            self.random.randint(1, 12),
            self.random.randint(1, 28),
        )
        return self.random.choice((
            f"{day}.{month}.{year}", f"{year}-{month:02d}-{day:02d}", f"{month}/{day}/{year}",
            f"{self.words(1, 1)} {day}, {year}", f"{day} {self.words(1, 1)} {year} {day}:{month + 10}",
        ))  # fmt: skip

    def keep(self, text: str, chance: float = 1.0) -> str:
        """Text of the main content; returned as it was."""
        if self.maybe(chance):
            self.kept.append(text)
        return text

    # markup

    def class_of(self, role: str) -> str:
        """What this page calls a part: what it is, or what its place or looks are."""
        called = role
        if not self.maybe(self.candour):  # mostly by looks, rarely by what another part is
            called = self.random.choice(tuple(NAMES) if self.maybe(0.3) else NEUTRAL)
        base = self.random.choice(NAMES[called].split())
        if self.naming == "prefix":
            base = self.prefix + base
        elif self.naming == "module":
            base = f"{base.title().replace('-', '')}_{called}__{self.random.randrange(36**4):x}"
        elif self.naming == "hash":
            base = f"css-{self.random.randrange(36**5):x}"
        elif self.naming == "utility":
            base = " ".join(self.random.sample(UTILITIES, 3))
        if self.naming in ("plain", "prefix") and self.maybe(0.3):
            base += " " + " ".join(self.random.sample(LOOKS, self.random.randint(1, 3)))
        return base

    def name(self, role: str) -> str:
        """A part's class: the same for all of its kind, but for those that differ in looks."""
        base = self.classes[role]
        return base if self.maybe(0.92) else f"{base} {self.random.choice(LOOKS)}"

    def element(self, role: str, *inside: str, tag: str = "") -> str:
        if not tag:
            tag = SEMANTIC[role] if role in SEMANTIC and self.maybe(self.semantic) else "div"
        marks = ""
        if self.naming != "none" and self.maybe(0.9):
            where = (
                "id"
                if role in ("top", "main", "side", "foot", "nav", "comments") and self.maybe(0.3)
                else "class"
            )
            marks = f' {where}="{self.name(role)}"'
        if role == "cookie" and self.maybe(0.3):
            marks += self.random.choice(
                (" hidden", ' style="display: none"', ' aria-hidden="true"')
            )
        if self.roles and role in ROLES and self.maybe(0.6):
            marks += f' role="{ROLES[role]}"'
        made = f"<{tag}{marks}>" + "".join(inside) + f"</{tag}>"
        return self.wrapped(made) if self.maybe(0.15) else made

    def wrapped(self, inside: str) -> str:
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            mark = (
                f' class="{self.name("wrapper")}"'
                if self.naming != "none" and self.maybe(0.7)
                else ""
            )
            inside = f"<div{mark}>{inside}</div>"
        return inside

    def link(self, text: str, inline: bool = False) -> str:
        mark = f' class="{self.name("title")}"' if not inline and self.maybe(0.1) else ""
        return f'<a href="/{self.random.randrange(10**6)}"{mark}>{escape(text)}</a>'

    def rich(self, text: str) -> str:
        """Text with a link or an emphasis here and there."""
        parts = text.split(" ")
        made = [escape(part) for part in parts]
        for _ in range(self.random.choice((0, 0, 0, 1, 1, 2, 4)) if len(parts) > 8 else 0):
            at = self.random.randrange(len(parts) - 3)
            n = self.random.randint(1, 3)
            if "<" not in "".join(made[at : at + n]):
                mark = self.random.choice(("a", "a", "b", "em", "strong", "span", "code"))
                made[at] = (f'<a href="/{at}">' if mark == "a" else f"<{mark}>") + made[at]
                made[at + n - 1] += f"</{mark}>"
        return " ".join(made)

    def block(self, text: str, tag: str = "") -> str:
        """One paragraph as this page writes them."""
        tag = tag or self.paragraph_tag
        if tag == "br":
            return f"{self.rich(text)}<br><br>\n"
        if tag == "p span":
            return f"<p><span>{self.rich(text)}</span></p>\n"
        return f"<{tag}>{self.rich(text)}</{tag}>\n"

    def links(self, count: int, least: int = 1, most: int = 3) -> str:
        made = [self.link(self.words(least, most)) for _ in range(count)]
        style = self.random.choices(("ul", "div", "flat", "bar"), (6, 2, 2, 1))[0]
        if style == "ul":
            return "<ul>" + "".join(f"<li>{one}</li>" for one in made) + "</ul>"
        if style == "div":
            return "".join(f"<div>{one}</div>" for one in made)
        return (" | " if style == "bar" else " ").join(made)

    def heading(self, text: str, level: int, role: str = "") -> str:
        tag = f"h{level}" if self.maybe(0.9) else "div"
        return self.element(role or "title", escape(text), tag=tag)

    # what stands around

    def menu(self) -> str:
        size = self.random.choice((2, 3, 4, 6, 8, 12, 20, 60, 120))
        if size > 12:
            groups = "".join(
                f"<li>{self.link(self.words(1, 2))}{self.links(self.random.randint(3, 12))}</li>"
                for _ in range(size // 8)
            )
            return self.element("nav", f"<ul>{groups}</ul>")
        return self.element("nav", self.links(size))

    def top(self) -> str:
        parts = [
            self.element(
                "title",
                self.link(self.words(1, 3)),
                tag=self.random.choice(("div", "h1", "p", "div")),
            )
        ]
        if self.maybe(0.5):
            parts.append(
                self.element(
                    "form",
                    "<form><label>",
                    escape(self.words(1, 2)),
                    "</label><input name=q><button>",
                    escape(self.words(1, 1)),
                    "</button></form>",
                )
            )
        if self.maybe(0.3):
            parts.append(f"<p>{escape(self.words(3, 8))}</p>")
        parts.append(self.menu())
        if self.maybe(0.3):
            parts.append(self.links(self.random.randint(2, 4)))
        return self.element("top", *parts)

    def cookie(self) -> str:
        parts = [
            self.block(self.sentence() + " " + self.sentence(), "p")
            for _ in range(self.random.choice((1, 1, 2, 4)))
        ]
        if self.maybe(0.4):
            parts.insert(0, self.heading(self.words(2, 5), 2))
        buttons = "".join(
            f"<button>{escape(self.words(1, 3))}</button>" for _ in range(self.random.randint(1, 3))
        )
        return self.element("cookie", *parts, buttons)

    def newsletter(self) -> str:
        return self.element("news", self.heading(self.words(2, 6), 3), self.block(self.sentence(), "p"),
                            f"<form><input name=email><button>{escape(self.words(1, 2))}</button></form>")  # fmt: skip

    def share(self) -> str:
        sites = self.random.sample(
            ("Facebook", "Twitter", "X", "WhatsApp", "LinkedIn", "Email", "Reddit", "Telegram"),
            self.random.randint(2, 5),
        )
        made = " ".join(f'<a href="#">{site}</a>' for site in sites)
        return self.element(
            "share", f"<span>{escape(self.words(1, 2))}</span>" if self.maybe(0.4) else "", made
        )

    def meta(self, kept: float = 0.0) -> str:
        parts = []
        if self.maybe(0.7):
            by, name = self.keep(self.words(1, 1), kept), self.keep(self.words(2, 2), kept)
            parts.append(f"<span>{escape(by)} {self.link(name)}</span>")
        if self.maybe(0.8):
            date = escape(self.keep(self.date(), kept))
            parts.append(f"<time>{date}</time>" if self.maybe(0.5) else f"<span>{date}</span>")
        if self.maybe(0.2):
            count = self.keep(f"{self.random.randint(1, 90)} {self.words(1, 2)}", kept)
            parts.append(f"<span>{escape(count)}</span>")
        return self.element("meta", *parts) if parts else ""

    def cards(self, count: int, kept: float = 0.0, teaser: float = 0.5, price: float = 0.0) -> str:
        made = []
        dated = self.random.choice((0.0, 0.3, 1.0))
        keeps_meta = kept if self.maybe(0.6) else 0.0
        for _ in range(count):
            title = self.keep(self.words(3, 10), kept)
            parts = [
                self.random.choice(("<h3>{}</h3>", "<h2>{}</h2>", "{}", "<h4>{}</h4>")).format(
                    self.link(title)
                )
            ]
            if self.maybe(0.3):
                parts.insert(0, f'<a href="#"><img src="{self.random.randrange(999)}.jpg"></a>')
            if self.maybe(teaser):
                parts.append(
                    self.block(self.keep(self.paragraph(self.random.randint(60, 300)), kept), "p")
                )
            if self.maybe(price):
                parts.append(
                    self.element(
                        "price",
                        self.keep(
                            f"${self.random.randint(1, 999)}.{self.random.randint(10, 99)}", kept
                        ),
                        tag="span",
                    )
                )
                parts.append(
                    f"<button>{escape(self.words(1, 2))}</button>" if self.maybe(0.6) else ""
                )
            if self.maybe(dated):
                parts.append(self.meta(keeps_meta))
            made.append("".join(parts))
        if self.maybe(0.4):
            return self.element("cards", *(f"<li>{one}</li>" for one in made), tag="ul")
        return self.element("cards", *(self.element("card", one) for one in made))

    def related(self) -> str:
        inside = (
            self.cards(self.random.randint(3, 10), teaser=self.random.choice((0, 0, 0.5, 1)))
            if self.maybe(0.5)
            else self.links(self.random.randint(3, 10), 3, 10)
            if self.maybe(0.6)
            else self.headlines()
        )
        head = self.heading(self.words(1, 4), self.random.choice((2, 3, 4)))
        return self.element("related", head if self.maybe(0.8) else "", inside)

    def shelf(self) -> str:
        """Other products with their prices: bought together, looked at, alike."""
        cards = self.cards(self.random.randint(2, 8), teaser=0.1, price=1.0)
        return self.element("related", self.heading(self.words(1, 4), 2), cards)

    def headlines(self) -> str:
        """Dated titles of other pages, each a link and some with a line of text."""
        style = self.random.choice((
            "<dt>{}</dt><dd>{}</dd>", "<li><span>{}</span> {}</li>", "<div>{} {}</div>",
            "<tr><td>{}</td><td>{}</td></tr>", "<p>{}<br>{}</p>", "<h5>{}</h5>{}",
        ))  # fmt: skip
        with_line = self.random.choice((0.0, 0.0, 0.5, 1.0))
        clock = self.maybe(0.5)
        rows = []
        for _ in range(self.random.choice((4, 6, 10, 20, 40))):
            hour = f"{self.random.randint(0, 23)}:{self.random.randint(10, 59)}"
            text = self.link(self.words(3, 12))
            if self.maybe(with_line):
                line = escape(self.sentence())
                text += self.random.choice((f"<p>{line}</p>", f"<div>{line}</div>", f"<br>{line}"))
            rows.append(style.format(hour if clock else escape(self.date()), text))
        around = {"<dt>": "dl", "<li>": "ul", "<tr>": "table"}.get(style[:4], "div")
        return self.element("cards", *rows, tag=around)

    def figures(self) -> str:
        """Weather, rates, results: names and numbers."""
        style = self.random.choice((
            "<tr><td>{}</td><td>{}</td></tr>", "<div>{}</div><div>{}</div>", "<li>{} <b>{}</b></li>",
        ))  # fmt: skip
        rows = [
            style.format(
                escape(self.words(1, 2)),
                f"{self.random.uniform(-20, 900):.{self.random.randint(0, 2)}f}",
            )
            for _ in range(self.random.randint(3, 12))
        ]
        around = {"<tr>": "table", "<li>": "ul"}.get(style[:4], "div")
        return self.element(
            "widget", self.heading(self.words(1, 3), 3), self.element("widget", *rows, tag=around)
        )

    def note(self) -> str:
        """What only some readers see: old browsers, no scripts, those who are not signed in."""
        text = self.block(self.sentence() + " " + self.sentence(), self.random.choice(("p", "div")))
        return f"<noscript>{text}</noscript>" if self.maybe(0.4) else self.element("cookie", text)

    def leftover(self) -> str:
        """What readers do not see: data for scripts, names for machines, states of a window."""
        items = "".join(
            f"<li>{escape(self.words(1, 5))}</li>" for _ in range(self.random.randint(2, 6))
        )
        hidden = self.random.choice((
            "hidden", 'style="display:none !important"', 'class="hidden"', 'style="display: none"',
        ))  # fmt: skip
        return f"<ul {hidden}>{items}</ul>"

    def choices(self) -> str:
        """A choice of languages, countries or places."""
        made = [self.words(1, 2) for _ in range(self.random.choice((8, 20, 60, 200)))]
        style = self.random.choice(
            ("<li>{}</li>", "<li><a href=#>{}</a></li>", "<label>{}</label>", "{} ")
        )
        return self.element("form", *(style.format(escape(one)) for one in made))

    def dialog(self) -> str:
        """A window that opens later: to sign in, to choose, to report."""
        tag = "dialog" if self.maybe(0.2) else ""
        return self.element(
            "cookie",
            self.heading(self.words(2, 5), self.random.choice((1, 2, 3))),
            *(self.block(self.sentence(), "p") for _ in range(self.random.randint(0, 3))),
            self.choices() if self.maybe(0.2) else "",
            self.element(
                "form",
                f"<form><label>{escape(self.words(1, 3))}</label><input><button>{escape(self.words(1, 2))}</button></form>",
            ),
            tag=tag,
        )

    def teasers(self) -> str:
        """Other stories with their beginnings, which look like a listing and are none here."""
        return self.wrapped(
            self.cards(self.random.randint(3, 20), teaser=self.random.choice((0.5, 1, 1)))
            if self.maybe(0.7)
            else self.headlines()
        )

    def bio(self) -> str:
        name, text = self.heading(self.words(2, 3), 4), self.block(self.paragraph(300), "p")
        return self.element("bio", name, text)

    def comments(self) -> str:
        """What readers wrote under a page: often more than the page itself has."""
        made = [self.heading(f"{self.random.randint(1, 99)} {self.words(1, 1)}", 3)]
        title = self.random.choice(("", "", "<h4>{}</h4>", "<h5>{}</h5>", "<b>{}</b><br>"))
        tag = self.random.choice(("p", "p", "div", "blockquote", "br"))
        longest = self.random.choice((150, 500, 1500))
        for _ in range(self.random.choice((0, 1, 2, 3, 8, 25))):
            texts = "".join(
                self.block(self.paragraph(longest), tag)
                for _ in range(self.random.choice((1, 1, 1, 2, 4)))
            )
            one = self.element(
                "comment",
                title.format(escape(self.words(1, 5))),
                self.meta(),
                texts,
                self.link(self.words(1, 1)),
            )
            made.append(self.wrapped(one) if self.maybe(0.2) else one)
        if self.maybe(0.7):
            made.append(self.comment_form())
        return self.element("comments", *made)

    def comment_form(self) -> str:
        fields = "".join(
            f"<tr><td>{escape(self.words(1, 3))}</td><td><input></td></tr>" for _ in range(4)
        )
        rules = "".join(
            self.block(self.sentence(), self.random.choice(("p", "li")))
            for _ in range(self.random.choice((0, 0, 0, 1, 3, 8)))
        )
        label, button = escape(self.words(1, 3)), escape(self.words(1, 2))
        return self.element(
            "form",
            self.heading(self.words(1, 3), 3) if self.maybe(0.4) else "",
            rules,
            f"<form><table>{fields}</table></form>" if self.maybe(0.3) else "",
            f"<form><label>{label}</label><textarea></textarea><button>{button}</button></form>",
        )

    def side(self) -> str:
        made = []
        for _ in range(self.random.randint(1, 6)):
            what: Callable[[], str] = self.random.choice((
                lambda: self.links(self.random.randint(4, 20), 1, 8), self.newsletter, self.related,
                lambda: self.block(self.paragraph(400), "p"), lambda: self.cards(self.random.randint(2, 6), teaser=0.4),
                lambda: self.element("ad", escape(self.words(1, 4))), self.share,
                lambda: self.element("tags", self.links(12, 1, 1)), self.headlines, self.figures,
            ))  # fmt: skip
            made.append(
                self.element(
                    "widget",
                    self.heading(self.words(1, 4), self.random.choice((2, 3, 4)))
                    if self.maybe(0.8)
                    else "",
                    what(),
                )
            )
        return self.element("side", *made)

    def foot(self) -> str:
        made = []
        for _ in range(self.random.choice((0, 0, 0, 1, 2, 3, 4, 5))):
            made.append(
                self.element(
                    "widget",
                    self.heading(self.words(1, 2), 4),
                    self.links(self.random.randint(3, 10)),
                )
            )
        if self.maybe(0.35):
            made.append(self.block(self.paragraph(600), "p"))
        if self.maybe(0.3):
            made.append(self.newsletter())
        if self.maybe(0.4):
            made.append(self.share())
        if self.maybe(0.2):
            made.append(
                f"<address>{escape(self.words(3, 8))}<br>{self.random.randint(1, 999)} {escape(self.words(1, 3))}</address>"
            )
        note = f"© {self.random.randint(2005, 2025)} {escape(self.words(1, 4))}"
        made.append(f"<p>{note}. {escape(self.words(2, 8)) if self.maybe(0.7) else ''}</p>")
        if self.maybe(0.5):
            made.append(self.links(self.random.randint(2, 6)))
        return self.element("foot", *made)

    def crumbs(self) -> str:
        return self.element(
            "crumbs",
            " › ".join(self.link(self.words(1, 2)) for _ in range(self.random.randint(2, 4))),
        )
