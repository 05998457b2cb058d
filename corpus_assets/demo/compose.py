"""Compose articles from banks of sentences, and make the small edits of near duplicates.

An article keeps its sentences in `paragraphs`, each a tuple of sentences, so that an edit can
take one out or put one in and nothing has to be parsed back.
"""

import re
from dataclasses import dataclass, replace

from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import Bank, Written

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
    times and the like are drawn again for each frame.
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
