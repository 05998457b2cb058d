"""Compose articles from banks of sentences, by keyed random draws.

Draws depend on a key and on nothing else. `random.Random` promises a stable sequence only for
`random()`; `choice`, `sample` and `shuffle` have changed between Python releases. Here every draw
is taken from BLAKE2b in counter mode, so a key gives the same draws on every Python and machine.
About 1 us a draw.
"""

import hashlib
import re
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from corpus_assets.demo.library import Bank, Written

T = TypeVar("T")

_BLOCK = 64  # bytes of one BLAKE2b digest: eight draws


class Draw:
    """A stream of draws named by a key, e.g. `Draw("web", "CC-DEMO-2024-10", "spam")`."""

    def __init__(self, *key: str | int) -> None:
        self._name = "\x1f".join(str(part) for part in key)
        self._key = hashlib.blake2b(self._name.encode("utf-8"), digest_size=32).digest()
        self._block = b""
        self._counter = 0

    def fork(self, *key: str | int) -> "Draw":
        """Return a new stream under this one's name; this one is not advanced."""
        return Draw(self._name, *key)

    def bits64(self) -> int:
        """Return the next 64 bits."""
        at = self._counter * 8 % _BLOCK
        if at == 0:
            count = self._counter.to_bytes(8, "little")
            self._block = hashlib.blake2b(count, digest_size=_BLOCK, key=self._key).digest()
        self._counter += 1
        return int.from_bytes(self._block[at : at + 8], "little")

    def below(self, bound: int) -> int:
        """Draw an integer in [0, bound); the modulus' bias is under 2**-32 for our bounds."""
        return self.bits64() % bound

    def between(self, low: int, high: int) -> int:
        """Return an integer in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """Return true in about `percent` of 100 draws."""
        return self.below(100) < percent

    def choice(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.below(len(items))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Fisher-Yates, in place."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Up to `count` different items, in drawn order."""
        pool = list(items)
        self.shuffle(pool)
        return pool[:count]

    def subset(self, items: Sequence[T], count: int) -> list[T]:
        """Up to `count` different items, in their own order."""
        chosen = sorted(self.sample(range(len(items)), count))
        return [items[index] for index in chosen]


# Articles, and the small edits that make near duplicates.
#
# An article keeps its sentences in `paragraphs`, each a tuple of sentences, so that an edit can
# take one out or put one in and nothing has to be parsed back.

MIN_WORDS = 260
MAX_WORDS = 690
UNSPACED = ("ja",)  # no blanks between sentences or words
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Paragraph:
    """Sentences of one paragraph; `heading` opens a new section of the page."""

    sentences: tuple[str, ...]
    heading: str | None = None
    is_list: bool = False


@dataclass(frozen=True)
class Article:
    """What a page is about, before any markup."""

    id: str
    lang: str
    topic: str
    title: str
    paragraphs: tuple[Paragraph, ...]

    def sentences(self) -> list[str]:
        """Return every sentence of the body, in order."""
        return [sentence for each in self.paragraphs for sentence in each.sentences]

    def text(self) -> str:
        """Return the body as plain text, one paragraph a line, without headings."""
        glue = "" if self.lang in UNSPACED else " "
        return "\n".join(glue.join(each.sentences) for each in self.paragraphs)


def fill(frame: str, slots: dict[str, tuple[str, ...]], bound: dict[str, str], draw: Draw) -> str:
    """Put a value into every `{slot}` of a frame; a slot without values keeps its braces.

    A value with a capital is a name, and one text keeps to it: it goes into `bound`. Numbers,
    times and the like are drawn anew for each frame.
    """
    local: dict[str, str] = {}

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in bound:
            return bound[name]
        if name not in slots:
            return match.group(0)
        if name not in local:
            local[name] = draw.choice(slots[name])
            if local[name][:1].isupper():
                bound[name] = local[name]
        return local[name]

    filled = _SLOT.sub(value, frame)
    return filled[:1].upper() + filled[1:]


def compose(bank: Bank, draw: Draw, article_id: str) -> Article:
    """Compose an article of 260 to 690 words from some sections and sentences of a bank."""
    bound: dict[str, str] = {}
    title = fill(draw.choice(bank.titles), bank.slots, bound, draw)
    target = draw.between(MIN_WORDS + 40, MAX_WORDS - 90)
    used: list[tuple[str, list[str]]] = []
    words = 0
    for section in draw.subset(
        bank.sections, draw.between(min(3, len(bank.sections)), len(bank.sections))
    ):
        count = draw.between(4, 6)
        chosen = draw.sample(section.sentences, count)
        filled = [fill(sentence, bank.slots, bound, draw) for sentence in chosen]
        used.append((section.name, filled))
        words += sum(count_words(sentence, bank.lang) for sentence in filled)
        if words >= target and len(used) > 1:
            break
    spare = [s for s in bank.sections if s.name not in {name for name, _ in used}]
    while words < MIN_WORDS and spare:
        section = spare.pop(0)
        filled = [
            fill(sentence, bank.slots, bound, draw)
            for sentence in draw.sample(section.sentences, 5)
        ]
        used.append((section.name, filled))
        words += sum(count_words(sentence, bank.lang) for sentence in filled)
    with_headings = draw.chance(50)
    paragraphs: list[Paragraph] = []
    for name, sentences in used:
        heading = _heading(name) if with_headings else None
        if len(sentences) >= 4:
            middle = draw.between(2, len(sentences) - 2)
            paragraphs.append(Paragraph(tuple(sentences[:middle]), heading))
            paragraphs.append(Paragraph(tuple(sentences[middle:])))
        else:
            paragraphs.append(Paragraph(tuple(sentences), heading))
    if draw.chance(20) and len(paragraphs) > 3:
        middle = draw.between(1, len(paragraphs) - 2)
        paragraphs[middle] = replace(paragraphs[middle], is_list=True)
    return Article(article_id, bank.lang, bank.topic, title, tuple(paragraphs))


def from_written(text: Written) -> Article:
    """Wrap an article that was written whole; its paragraphs stay, one sentence each."""
    paragraphs = tuple(Paragraph((paragraph,)) for paragraph in text.paragraphs)
    return Article(f"written-{text.slug}", text.lang, text.topic, text.title, paragraphs)


def count_words(text: str, lang: str) -> int:
    """Words between blanks; where a language has none, two characters count as a word."""
    return len(text) // 2 if lang in UNSPACED else len(text.split())


def remove_paragraph(article: Article, draw: Draw) -> Article:
    """Without one of its shorter inner paragraphs: the first and the last always stay."""
    inner = range(1, len(article.paragraphs) - 1)
    by_length = sorted(inner, key=lambda i: len("".join(article.paragraphs[i].sentences)))
    gone = draw.choice(by_length[: max(1, len(by_length) // 3)])
    kept = [each for index, each in enumerate(article.paragraphs) if index != gone]
    return replace(article, paragraphs=tuple(kept))


def insert_sentences(article: Article, sentences: list[str], draw: Draw) -> Article:
    """Put each sentence at the end of a random inner paragraph."""
    paragraphs = list(article.paragraphs)
    for sentence in sentences:
        at = draw.below(max(1, len(paragraphs) - 1))
        paragraphs[at] = replace(paragraphs[at], sentences=(*paragraphs[at].sentences, sentence))
    return replace(article, paragraphs=tuple(paragraphs))


def insert_paragraph(article: Article, text: str, draw: Draw) -> Article:
    """Return a new paragraph between two others."""
    at = draw.between(1, max(1, len(article.paragraphs) - 1))
    paragraphs = list(article.paragraphs)
    paragraphs.insert(at, Paragraph((text,)))
    return replace(article, paragraphs=tuple(paragraphs))


def shingles(text: str, size: int = 5) -> set[tuple[str, ...]]:
    """Return the distinct word n-grams of a text, in lower case."""
    words = text.lower().split()
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


def jaccard(left: str, right: str) -> float:
    """Shared part of the word 5-grams of two texts."""
    a, b = shingles(left), shingles(right)
    return len(a & b) / len(a | b) if a or b else 1.0


def _heading(name: str) -> str:
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]
