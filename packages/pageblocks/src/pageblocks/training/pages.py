"""Pages made up around freely licensed texts, so that a model can be shipped that saw no other's.

A page has a type and a look: what its elements are called, whether they mean anything, how deep they
are wrapped. Around the main content stands what stands around it on the web: menus, cookie notes,
share bars, sidebars, related links, comments, footers. Its words are drawn from the same texts, so
nothing but form tells them apart, in any language. The same seed gives the same pages.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from html import escape
from pathlib import Path
from random import Random  # made-up pages, no secrets
from typing import Any

from pageblocks.errors import TruthError
from pageblocks.training.json_lines import json_rows
from pageblocks.training.page_parts import WIDE, PageParts
from pageblocks.training.truth import Truth

TYPES = ("article", "forum", "product", "listing", "collection", "documentation", "service")
WEIGHTS = (12, 6, 4, 6, 3, 2, 4)
MIN_PARAGRAPH_CHARS = 60
MIN_PARAGRAPHS, MAX_PARAGRAPHS = 200, 4000  # of a language


class Texts:
    """Paragraphs by language."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self.paragraphs: dict[str, list[str]] = {}
        for row in rows:
            lang = str(row.get("lang") or "en").split("-")[0]
            pool = self.paragraphs.setdefault(lang, [])
            for line in re.split(r"\n\s*\n" if "\n\n" in row["text"] else r"\n", row["text"]):
                line = " ".join(line.split())
                wide = len(WIDE.findall(line))
                if len(line) + 2 * wide >= MIN_PARAGRAPH_CHARS:
                    pool.append(line[:1500])
        self.paragraphs = {
            lang: Random(lang).sample(pool, min(len(pool), MAX_PARAGRAPHS))  # noqa: S311
            for lang, pool in self.paragraphs.items()
            if len(pool) >= MIN_PARAGRAPHS
        }
        self.languages = sorted(self.paragraphs)


def read_texts(paths: Iterable[Path]) -> Texts:
    """Texts of JSON lines with `text` and `lang`."""
    return Texts(_with_text(path, row) for path in paths for row in json_rows(path))


def _with_text(path: Path, row: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(row.get("text"), str):
        raise TruthError(f"{path} has a row without `text`: texts are JSON lines, text and lang")
    return row


def make_pages(texts: Texts, count: int, seed: int) -> Iterator[Truth]:
    """Make up pages; each counts as a site of its own."""
    if count and not texts.languages:
        raise TruthError(
            f"pages are made up around at least {MIN_PARAGRAPHS} paragraphs of one language, of "
            f"{MIN_PARAGRAPH_CHARS} characters or more: give more texts"
        )
    for number in range(count):
        random = Random(f"{seed}/{number}")  # noqa: S311
        kind = random.choices(TYPES, WEIGHTS)[0]
        lang = (
            "en"
            if random.random() < 0.4 and "en" in texts.paragraphs
            else random.choice(texts.languages)
        )
        page = _Page(random, texts.paragraphs[lang], lang)
        html = page.make(kind)
        yield Truth(html.encode("utf-8"), "\n".join(page.kept), kind, lang, f"made-{number}")


class _Page(PageParts):
    """Main contents by type, and the page around them."""

    def prose(self, count: int, extras: float = 0.25) -> str:
        made: list[str] = []
        for number in range(count):
            if number and self.maybe(0.15):
                made.append(
                    self.heading(self.keep(self.words(2, 9)), self.random.choice((2, 2, 3, 4)))
                )
            made.append(self.block(self.keep(self.paragraph())))
            if not self.maybe(extras):
                continue
            extra = self.random.choices(
                (
                    "list",
                    "quote",
                    "table",
                    "figure",
                    "ad",
                    "related",
                    "news",
                    "code",
                    "one",
                    "links",
                    "slides",
                ),
                (6, 2, 1, 4, 2, 2, 1, 1, 3, 1, 1),
            )[0]
            if extra == "list":
                long = self.maybe(0.5)
                items = [
                    self.keep(self.paragraph(250) if long else self.words(3, 12))
                    for _ in range(self.random.randint(2, 8))
                ]
                tag = self.random.choice(("ul", "ul", "ol"))
                made.append(
                    f"<{tag}>"
                    + "".join(f"<li>{self.rich(item)}</li>" for item in items)
                    + f"</{tag}>"
                )
            elif extra == "quote":
                made.append(
                    f"<blockquote>{self.block(self.keep(self.paragraph(300)), 'p')}</blockquote>"
                )
            elif extra == "table":
                rows = [
                    [self.keep(self.words(1, 4)) for _ in range(3)]
                    for _ in range(self.random.randint(2, 8))
                ]
                made.append(
                    "<table>"
                    + "".join(
                        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
                        for row in rows
                    )
                    + "</table>"
                )
            elif extra == "figure":
                caption = self.keep(self.words(4, 20), 0.3)
                made.append(
                    self.element(
                        "figure",
                        f'<img src="{number}.jpg"><figcaption>{escape(caption)}</figcaption>',
                    )
                )
            elif extra == "ad":
                made.append(self.element("ad", escape(self.words(1, 3))))
            elif extra == "related":
                made.append(
                    self.element(
                        "related",
                        f"<strong>{escape(self.words(1, 2))}:</strong> {self.link(self.words(4, 10))}",
                    )
                )
            elif extra == "news":
                made.append(self.newsletter())
            elif extra == "code":
                code = "\n".join(
                    f"{'    ' * self.random.randint(0, 2)}{self.words(1, 4)} = {self.random.randint(0, 99)};"
                    for _ in range(self.random.randint(2, 9))
                )
                made.append(f"<pre><code>{escape(self.keep(code))}</code></pre>")
            elif extra == "slides":
                slides = self.cards(self.random.randint(3, 9), teaser=1.0, price=0.3)
                made.append(self.element("related", slides))
            elif extra == "one":
                made.append(self.block(self.keep(self.words(3, 9) + ".")))
            else:
                made.append(self.element("section", self.links(self.random.randint(3, 6), 3, 8)))
        return "".join(made)

    def article(self) -> str:
        made = [self.crumbs() if self.maybe(0.3) else "", self.heading(self.title, 1)]
        self.keep(self.title)
        if self.maybe(0.3):
            made.append(
                self.element(
                    "lead",
                    escape(self.keep(self.sentence())),
                    tag=self.random.choice(("p", "h2", "div")),
                )
            )
        made.append(self.meta() if self.maybe(0.8) else "")
        made.append(self.share() if self.maybe(0.4) else "")
        if self.maybe(0.4):
            made.append(
                self.element(
                    "figure",
                    f'<img src="a.jpg"><figcaption>{escape(self.keep(self.words(4, 20), 0.3))}</figcaption>',
                )
            )
        lengths = (1, 1, 2, 3, 4, 6, 10) if self.portal else (2, 3, 4, 5, 8, 12, 20, 30)
        body = self.element("article", self.prose(self.random.choice(lengths)))
        tail = []
        ends: tuple[tuple[float, Callable[[], str]], ...] = (
            (0.4, lambda: self.element("tags", self.links(self.random.randint(2, 8), 1, 2))),
            (0.4, self.share),
            (0.3, self.bio),
            (0.5, self.related),
            (0.3, self.newsletter),
            (0.7 if self.portal else 0.4, self.comments),
            (0.4, self.related),
            (0.7 if self.portal else 0.1, self.teasers),
            (0.5 if self.portal else 0.1, self.headlines),
            (0.3, lambda: self.element("paging", self.links(2, 3, 9))),
        )
        for chance, what in ends:
            if self.maybe(chance):
                tail.append(what())
        inside = "".join(made) + body
        return (
            self.element("article", inside, *tail)
            if self.maybe(0.4)
            else self.element("article", inside) + "".join(tail)
        )

    def forum(self) -> str:
        made = [self.crumbs(), self.heading(self.title, 1)]
        self.keep(self.title, 0.7)
        if self.maybe(0.3):
            made.append(self.element("meta", self.link(self.words(1, 2)), escape(self.date())))
        tag = self.random.choice(("div", "div", "article", "li", "tr"))
        write = self._post_writer(tag)
        posts = [write(number) for number in range(self.random.choice((2, 4, 8, 15, 25)))]
        made.append(self.element("posts", *posts, tag={"tr": "table", "li": "ol"}.get(tag, "div")))
        if self.maybe(0.5):
            made.append(self.element("form", f"<p>{escape(self.words(3, 9))}</p>", self.links(2)))
        made.append(self.related() if self.maybe(0.5) else "")
        return "".join(made)

    def _post_writer(self, tag: str) -> Callable[[int], str]:
        """What writes the posts of a board: software gives all of them one form."""
        names = [self.words(1, 1) for _ in range(self.random.choice((2, 5, 9)))]
        ranks = {name: self.words(1, 2) for name in names}
        labels = [self.words(1, 1) for _ in range(self.random.randint(0, 4))]
        signed = {name: self.words(3, 12) for name in names if self.maybe(0.3)}
        shows_names, shows_quotes = (float(self.maybe(chance)) for chance in (0.35, 0.7))
        quotes = self.random.choice((0.0, 0.2, 0.5))
        name_tag, rank_tag = self.random.choice((("h4", "h5"), ("div", "div"), ("span", "em")))
        body_tag = "article" if tag == "article" and self.maybe(0.5) else ""
        line = self.random.choice(("br", "br", "p", self.paragraph_tag))
        foot = self.random.choice((0.2, 0.9))
        nested = self.maybe(0.5)
        earlier: list[tuple[str, str]] = []

        def user(name: str) -> str:
            head = f"<{name_tag}>{self.link(name)}</{name_tag}>"
            head += f"<{rank_tag}>{escape(ranks[name])}</{rank_tag}>" if labels else ""
            pairs = [
                f"<dl><dt>{escape(label)}</dt><dd>{self.date() if self.maybe(0.3) else self.random.randint(1, 9999)}</dd></dl>"
                for label in labels
            ]
            return self.element("user", head, *pairs)

        def quote() -> str:
            whom, text = self.random.choice(earlier)
            head, more = self.words(1, 1), self.words(2, 3)
            self.keep(f"{whom} {head}:", shows_quotes)
            self.keep(text, shows_quotes)
            inside = f"<div>{escape(whom)} {escape(head)}:</div>"
            inside += f"<div>{self.block(text, line)}</div>"
            inside += f"<div>{escape(more)}...</div>" if nested else ""
            return f"<blockquote>{inside}</blockquote>"

        def write(number: int) -> str:
            name = self.keep(self.random.choice(names), shows_names)
            texts = [quote()] if earlier and self.maybe(quotes) else []
            for _ in range(self.random.choice((1, 1, 2, 3, 5))):
                draw = self.random.random()
                text = (
                    self.paragraph(700)
                    if draw < 0.5
                    else self.sentence()
                    if draw < 0.85
                    else self.words(1, 6) + "!"
                )
                earlier.append((name, text))
                texts.append(self.block(self.keep(text), line))
            if self.maybe(0.1):
                texts.append(f"<pre>{escape(self.keep(self.words(3, 12)))}</pre>")
            when = self.element("meta", escape(self.date()), f" #{number + 1}")
            body = self.element("text", *texts, tag=body_tag)
            after = self.element("sig", escape(signed[name])) if name in signed else ""
            if self.maybe(foot):
                after += self.element("actions", *(self._action() for _ in range(3)))
            if self.maybe(0.2):
                liked = ", ".join(self.link(one) for one in self.random.sample(names, 2))
                after += self.element("share", escape(self.words(1, 2)), liked)
            if tag == "tr":
                return f"<tr><td>{user(name)}</td><td>{when}{body}{after}</td></tr>"
            if nested:
                return self.element(
                    "post", user(name), self.element("wrapper", when, body, after), tag=tag
                )
            return self.element("post", user(name), when, body, after, tag=tag)

        return write

    def _action(self) -> str:
        word = self.words(1, 1)
        return f"<button>{escape(word)}</button>" if self.maybe(0.5) else self.link(word)

    def product(self) -> str:
        made = [self.crumbs(), self.element("figure", '<img src="p.jpg">'), self.heading(self.keep(self.title), 1),
                self.element("price", self.keep(f"€ {self.random.randint(1, 999)},{self.random.randint(10, 99)}", 0.6)),
                self.element("actions", f"<form><select><option>1</option></select><button>{escape(self.words(2, 3))}</button></form>")]  # fmt: skip
        if self.maybe(0.5):
            made.append(self.links(3, 2, 5))
        if self.maybe(0.4):
            made.append(self.choices())
        rest = (self.shelf, self.dialog, self.note, self.leftover)
        made += [what() for what in rest if self.maybe(0.2)]
        if self.maybe(0.4):
            made.append(self.element("nav", self.links(self.random.randint(2, 4), 1, 3)))
        made.append(self.element("text", self.prose(self.random.choice((1, 1, 2, 4)), 0.4)))
        if self.maybe(0.7):
            rows = [
                (self.keep(self.words(1, 3)), self.keep(self.words(1, 5)))
                for _ in range(self.random.randint(3, 14))
            ]
            table = self.random.choice(
                ("<tr><th>{}</th><td>{}</td></tr>", "<tr><td>{}</td><td>{}</td></tr>")
            )
            made.append(
                self.element(
                    "specs",
                    self.heading(self.keep(self.words(1, 3)), 3),
                    "<table>",
                    *(table.format(escape(a), escape(b)) for a, b in rows),
                    "</table>",
                )
            )
        if self.maybe(0.5):
            keeps = 1.0 if self.maybe(0.5) else 0.0
            reviews = [
                self.element(
                    "quote", self.meta(), self.block(self.keep(self.paragraph(400), keeps), "p")
                )
                for _ in range(self.random.randint(1, 6))
            ]
            made.append(self.element("reviews", self.heading(self.words(1, 3), 3), *reviews))
        made += [self.shelf() for _ in range(self.random.choice((0, 1, 1, 2)))]
        made.append(self.related() if self.maybe(0.3) else "")
        return self.element("product", *made)

    def listing(self) -> str:
        made = [self.crumbs() if self.maybe(0.4) else "", self.heading(self.keep(self.title), 1)]
        if self.maybe(0.4):
            made.append(self.block(self.keep(self.paragraph(400)), "p"))
        if self.maybe(0.4):
            made.append(self.element("form", self.links(self.random.randint(3, 12))))
        shape: Callable[[], str] = self.random.choice((
            lambda: self.cards(self.random.choice((5, 10, 20, 40)), kept=1.0, teaser=self.random.choice((0.0, 0.5, 1.0))),
            self.threads, self.threads, self.directory, self.sections,
        ))  # fmt: skip
        made.append(shape())
        made.append(
            self.element("paging", self.links(self.random.randint(2, 8), 1, 1))
            if self.maybe(0.6)
            else ""
        )
        return "".join(made)

    def threads(self) -> str:
        """What a board has: titles with who began, when, how many answered."""
        row = self.random.choice((
            "<tr><td>{0}<br>{1}</td><td>{2}</td><td>{3}</td></tr>",
            "<tr><td>{0}</td><td>{1}</td><td>{2} {3}</td></tr>",
            "<li>{0} <ul><li>{1}</li><li>{2} {3}</li></ul></li>",
            "<div>{0}<div>{1}</div><dl><dt>{2}</dt></dl><dl><dt>{3}</dt></dl></div>",
            "<div><div>{0}<ul><li>{1}</li></ul></div><div><dl>{2}</dl><dl>{3}</dl></div></div>",
            "<article><h3>{0}</h3><div>{1} - {2} - {3}</div></article>",
        ))  # fmt: skip
        keeps = float(self.maybe(0.7))
        labels = self.words(1, 1), self.words(1, 1)
        rows = []
        for _ in range(self.random.choice((8, 15, 30))):
            title = self.link(self.keep(self.words(3, 12)))
            who = escape(self.keep(f"{self.words(1, 2)} {self.date()}", keeps))
            counts = [
                escape(self.keep(f"{label} {self.random.randint(0, 9999)}", keeps))
                for label in labels
            ]
            rows.append(row.format(title, who, *counts))
        return self.element("cards", *rows, tag={"<tr>": "table", "<li>": "ul"}.get(row[:4], "div"))

    def directory(self) -> str:
        """Sections of links, as of a catalogue of courses or a site's archive."""
        made = []
        for _ in range(self.random.randint(2, 10)):
            made.append(self.heading(self.keep(self.words(1, 5)), self.random.choice((2, 3, 4))))
            items = [self.keep(self.words(2, 9)) for _ in range(self.random.randint(3, 15))]
            linked = self.maybe(0.7)
            made.append(
                self.element(
                    "cards",
                    *(f"<li>{self.link(one) if linked else escape(one)}</li>" for one in items),
                    tag="ul",
                )
            )
        return "".join(made)

    def sections(self) -> str:
        """A home page's or a catalogue's: headings, each with entries under it."""
        made = []
        for _ in range(self.random.randint(2, 6)):
            made.append(
                self.element(
                    "section",
                    self.heading(self.keep(self.words(1, 5)), 2),
                    self.cards(
                        self.random.randint(2, 9),
                        kept=1.0,
                        teaser=self.random.choice((0.0, 0.5, 1.0, 1.0)),
                    ),
                )
            )
        return "".join(made)

    def collection(self) -> str:
        made = [self.crumbs() if self.maybe(0.6) else "", self.heading(self.keep(self.title), 1)]
        if self.maybe(0.5):
            made.append(self.block(self.keep(self.paragraph(400)), "p"))
        if self.maybe(0.7):
            made.append(
                self.element(
                    "form",
                    *(
                        self.heading(self.words(1, 2), 4) + self.links(self.random.randint(3, 9))
                        for _ in range(3)
                    ),
                )
            )
        made.append(
            self.cards(
                self.random.choice((8, 16, 30)),
                kept=1.0,
                teaser=self.random.choice((0.0, 0.0, 0.5)),
                price=1.0,
            )
        )
        if self.maybe(0.4):
            made.append(self.element("text", self.prose(self.random.randint(1, 5), 0.1)))
        return "".join(made)

    def documentation(self) -> str:
        tree = "".join(
            f"<li>{self.link(self.words(1, 4))}{self.links(self.random.randint(0, 8))}</li>"
            for _ in range(self.random.randint(4, 20))
        )
        toc = (
            self.element("toc", self.links(self.random.randint(2, 10), 1, 5))
            if self.maybe(0.5)
            else ""
        )
        body = self.element(
            "article",
            self.heading(self.keep(self.title), 1),
            self.prose(self.random.choice((3, 6, 12, 25)), 0.5),
        )
        after = self.link(self.words(2, 4)) + self.element("paging", self.links(2, 1, 4))
        return (
            self.element("nav", f"<ul>{tree}</ul>")
            + (toc + body if self.maybe(0.5) else body + toc)
            + after
        )

    def service(self) -> str:
        made = [
            self.element(
                "hero",
                self.heading(self.keep(self.title), 1),
                self.block(self.keep(self.sentence()), "p"),
                self.link(self.words(1, 3)),
            )
        ]
        for _ in range(self.random.randint(2, 9)):
            kind = self.random.choice(
                ("text", "text", "cards", "cards", "quote", "faq", "numbers", "call", "logos")
            )
            head = (
                self.heading(self.keep(self.words(2, 8)), 2)
                if kind not in ("call", "logos")
                else ""
            )
            if kind == "text":
                made.append(
                    self.element(
                        "section",
                        head,
                        *(
                            self.block(self.keep(self.paragraph(500)))
                            for _ in range(self.random.randint(1, 3))
                        ),
                        self.link(self.words(1, 3)) if self.maybe(0.5) else "",
                    )
                )
            elif kind == "cards":
                made.append(
                    self.element(
                        "section",
                        head,
                        *(
                            self.element(
                                "card",
                                f"<h3>{escape(self.keep(self.words(1, 5)))}</h3>",
                                self.block(self.keep(self.sentence()), "p"),
                                self.link(self.words(1, 2)) if self.maybe(0.4) else "",
                            )
                            for _ in range(self.random.randint(2, 8))
                        ),
                    )
                )
            elif kind == "quote":
                made.append(
                    self.element(
                        "section",
                        head,
                        *(
                            self.element(
                                "quote",
                                self.block(self.keep(self.paragraph(300)), "p"),
                                f"<cite>{escape(self.keep(self.words(2, 4), 0.5))}</cite>",
                            )
                            for _ in range(self.random.randint(1, 5))
                        ),
                    )
                )
            elif kind == "faq":
                style = self.random.choice(
                    (
                        "<button>{}</button><div><p>{}</p></div>",
                        "<h3>{}</h3><p>{}</p>",
                        "<details><summary>{}</summary><p>{}</p></details>",
                    )
                )
                made.append(
                    self.element(
                        "faq",
                        head,
                        *(
                            style.format(
                                escape(self.keep(self.words(3, 10) + "?")),
                                self.rich(self.keep(self.paragraph(400))),
                            )
                            for _ in range(self.random.randint(2, 8))
                        ),
                    )
                )
            elif kind == "numbers":
                made.append(
                    self.element(
                        "section",
                        head,
                        *(
                            f"<div><b>{self.keep(str(self.random.randint(1, 999)))}+</b> {escape(self.keep(self.words(1, 3)))}</div>"
                            for _ in range(4)
                        ),
                    )
                )
            elif kind == "call":
                made.append(
                    self.element(
                        "news",
                        f"<h2>{escape(self.words(2, 6))}</h2>",
                        self.link(self.words(1, 3)),
                        self.newsletter() if self.maybe(0.3) else "",
                    )
                )
            else:
                made.append(
                    self.element(
                        "form",
                        f"<form>{''.join(f'<label>{escape(self.words(1, 2))}</label><input>' for _ in range(4))}<button>{escape(self.words(1, 1))}</button></form>",
                    )
                )
        return "".join(made)

    # the page

    def make(self, kind: str) -> str:
        self.title = self.words(3, 10)
        before = []
        if self.maybe(0.25):
            before.append(
                f'<a class="{self.name("hidden")}" href="#c">{escape(self.words(2, 4))}</a>'
            )
        if self.maybe(0.3):
            before.append(self.cookie())
        is_bare = self.maybe(0.1)
        before.append(self.menu() if is_bare else self.top())
        if self.portal:
            for _ in range(self.random.randint(0, 3)):
                before.append(
                    self.random.choice(
                        (
                            self.menu,
                            self.related,
                            self.teasers,
                            self.headlines,
                            self.figures,
                            self.crumbs,
                            self.share,
                        )
                    )()
                )
        main = self.element("main", getattr(self, kind)())
        sides = (
            [
                self.side()
                for _ in range(self.random.choice((0, 1, 1, 2, 3) if self.portal else (0, 1, 1, 2)))
            ]
            if kind in ("article", "listing", "forum", "collection", "product") and not is_bare
            else []
        )
        if self.old:
            cells = [f"<td>{side}</td>" for side in sides] + [f"<td>{main}</td>"]
            self.random.shuffle(cells)
            middle = "<table><tr>" + "".join(cells) + "</tr></table>"
        else:
            parts = [*sides, main] if self.maybe(0.3) else [main, *sides]
            middle = self.element("wrapper", *parts)
        after = [
            self.random.choice((self.related, self.teasers))()
            for _ in range(self.random.randint(0, 5 if self.portal else 1))
        ]
        for chance, what in (
            (0.15, self.note),
            (0.15, self.leftover),
            (0.15, self.choices),
            (0.2, self.dialog),
            (0.1, self.dialog),
        ):
            if self.maybe(chance):
                (before if self.maybe(0.5) else after).append(what())
        after.append(self.foot())
        if self.maybe(0.3):
            after.append(self.cookie())
        if self.maybe(0.2):
            after.append(self.element("cookie", self.menu()))
        body = "".join(before) + middle + "".join(after)
        for _ in range(self.random.randint(0, 4)):
            body = self.wrapped(body)
        title = self.random.choice(("{} - {}", "{} | {}", "{}")).format(
            self.title, self.words(1, 2)
        )
        script = (
            f"<script>var a = {{'{self.words(1, 2)}': \"<p>{self.random.random()}</p>\"}};</script>"
        )
        return f'<!DOCTYPE html><html lang="{self.lang}"><head><meta charset="utf-8"><title>{escape(title)}</title>{script}</head><body>{body}{script}</body></html>'
