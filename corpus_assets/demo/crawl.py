"""One snapshot while it is planted: fresh articles, and what is there already."""

from collections import Counter
from dataclasses import dataclass, field

from corpus_assets.demo.capture import Capture, Dress, capture_article
from corpus_assets.demo.compose import Article, compose, from_written
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import Bank, Library, Written
from corpus_assets.demo.plan import HAND_WRITTEN_PERCENT, LANGUAGE_RECORDS, RECORDS, Snapshot
from corpus_assets.demo.sites import Site, sites_of


class Articles:
    """New articles for all snapshots: banks in turn, hand-written ones now and then, each once."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._draw = Draw("articles")
        self._count: Counter[str] = Counter()
        self._written: dict[str, list[Written]] = {
            lang: self._draw.fork(lang).sample(texts, len(texts))
            for lang, texts in library.articles.items()
        }

    def fresh(self, lang: str, composed_only: bool = False) -> Article:
        """Return an article that no page has had yet."""
        waiting = self._written.get(lang, [])
        if waiting and not composed_only and self._draw.chance(HAND_WRITTEN_PERCENT):
            return from_written(waiting.pop())
        number = self._count[lang]
        self._count[lang] += 1
        banks = self.library.banks[lang]
        article_id = f"{lang}-{number:05}"
        return compose(banks[number % len(banks)], Draw("article", article_id), article_id)

    def bank_of(self, article: Article) -> Bank:
        """Return the bank an article was composed from; if hand-written, any of its language."""
        banks = self.library.banks[article.lang]
        return next((bank for bank in banks if bank.topic == article.topic), banks[0])


@dataclass
class Crawl:
    """One snapshot: what was captured so far, and the captures of the snapshots before."""

    library: Library
    articles: Articles
    snapshot: Snapshot
    earlier: list[Capture]
    captures: list[Capture] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)  # URLs of this snapshot
    copied: set[int] = field(default_factory=set)  # captures that have a copy already, by id()

    def draw(self, *key: str | int) -> Draw:
        """Return a stream of draws of this snapshot."""
        return Draw("web", self.snapshot.name, *key)

    def add(self, capture: Capture) -> Capture:
        """Take a capture in; its URL is new in this snapshot unless it was meant not to be."""
        self.captures.append(capture)
        self.taken.add(capture.url)
        return capture

    def new_page(
        self, article: Article, draw: Draw, dress: Dress | None = None, site: Site | None = None
    ) -> Capture:
        """Return a first capture of an article on one of its language's sites."""
        place = site or draw.choice(sites_of("articles", article.lang))
        capture = capture_article(place, article, self.snapshot, draw, self.library, dress)
        while capture.url in self.taken:
            capture = capture_article(place, article, self.snapshot, draw, self.library, dress)
        return self.add(capture)

    def fresh_page(self, lang: str, draw: Draw, dress: Dress | None = None) -> Capture:
        """Return a first capture of a new article."""
        return self.new_page(self.articles.fresh(lang), draw, dress)

    def originals(self, count: int, draw: Draw, pool: list[Capture] | None = None) -> list[Capture]:
        """Plain captures to be copied, none of them twice."""
        source = self.captures if pool is None else pool
        plain = [each for each in source if each.is_plain() and id(each) not in self.copied]
        chosen = draw.sample(plain, count)
        self.copied.update(id(each) for each in chosen)
        return chosen

    def fill_up(self, copies_to_come: int) -> None:
        """Ordinary articles for whatever is missing, by language."""
        have = Counter(capture.lang for capture in self.captures)
        room = RECORDS - len(self.captures) - copies_to_come
        wanted = {lang: max(0, count - have[lang]) for lang, count in LANGUAGE_RECORDS.items()}
        total = sum(wanted.values())
        for lang, missing in wanted.items():
            for number in range(round(room * missing / total)):
                self.fresh_page(lang, self.draw("ordinary", lang, number))
