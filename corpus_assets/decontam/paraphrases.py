"""Find paraphrases of benchmark items: passages that say the same in other words.

A passage is a run of sentences of about the item's length. It must pass two tests:

1. Words: of the item's words, weighted by how few items have them, the passage has a good share,
   in any order and inflection, and every number. Rare words are names and terms, which a
   paraphrase keeps; a page on the same subject has other ones, or other numbers.
2. Meaning: the vectors of both are near each other (`embedders`).

The first is cheap and comes first: of each item the passage that shares most with it, first of
equals, is embedded, and nothing else of a document is. Weights and lengths are integers and all
comparisons exact, so a result depends on the text, the items and the model alone.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.decontam.embedders import TextEmbedder, Vectors, similarity, unit_vectors
from corpus_assets.decontam.eval_index import EvalIndex
from corpus_assets.decontam.settings import ParaphraseScan
from corpus_assets.text.characters import OWN_WORD, char_tables, nfkc
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.unicode import sentence_terminals
from corpus_assets.text.words import spell_words

Ints = npt.NDArray[np.int64]

STEM_CHARS = 4  # by which words are compared, so that inflections are one; numbers are whole
MAX_SENTENCE_CHARS = 1_000  # a longer stretch without an end is cut at white space
COMMON_SHARE, COMMON_ITEMS = 16, 2  # a word of more than one in so many items, and of so many
BLOCKS = (1 << 10, 1 << 12, 1 << 15)  # characters looked at together, for items of half of them


class Paraphrase(NamedTuple):
    """The passage of a text that is nearest to an item."""

    row: int
    item: int  # its first form
    matched: int  # weight of the item's words that it has
    total: int
    similarity: float
    start: int  # characters of the text
    end: int


class Paraphrases:
    """A search for the paraphrases of an index's items."""

    def __init__(self, index: EvalIndex, embedder: TextEmbedder, settings: ParaphraseScan) -> None:
        self._index, self._embedder, self._settings = index, embedder, settings
        self._vectors: dict[int, Vectors] = {}

    @cached_property
    def _items(self) -> "_Items":
        return _Items(self._index, self._settings)

    def find(self, texts: pa.Array) -> list[Paraphrase]:
        """Return at most one for each text and item, ordered by both."""
        found: list[Paraphrase] = []
        for row, text in enumerate(texts.to_pylist()):
            page = _Page(text or "", self._items.numbers)
            shared = self._items.shared_with(page)
            asked = [(form, page.plain(first, last)) for form, (_, first, last) in shared.items()]
            best: dict[int, Paraphrase] = {}
            for form, near in sorted(zip(shared, self._alike(asked), strict=True)):
                item, (weight, first, last) = int(self._index.items[form]), shared[form]
                is_nearer = item not in best or near > best[item].similarity
                if near >= self._settings.report_similarity and is_nearer:
                    place = page.bounds[first][0], page.bounds[last - 1][1]
                    total = int(self._items.totals[form])
                    best[item] = Paraphrase(row, item, weight, total, near, *place)
            found += [best[item] for item in sorted(best)]
        return found

    def _alike(self, asked: Sequence[tuple[int, str]]) -> list[float]:
        if not asked:
            return []
        wanted = sorted({form for form, _ in asked} - self._vectors.keys())
        passages = list(dict.fromkeys(passage for _, passage in asked))
        items = [_unspaced(self._index.texts[form].as_py().split()) for form in wanted]
        vectors = unit_vectors(self._embedder, [*items, *passages])
        self._vectors |= {form: row.copy() for form, row in zip(wanted, vectors, strict=False)}
        of_passage = dict(zip(passages, vectors[len(items) :], strict=True))
        return [similarity(self._vectors[form], of_passage[passage]) for form, passage in asked]


class _Items:
    """The content words of each form, their weights, and which forms have a word.

    A word that more than one of 16 items has says nothing, and is none unless it is a number. The
    weight of the others is the number of binary digits of how many times as many items there are
    as have it.
    """

    def __init__(self, index: EvalIndex, settings: ParaphraseScan) -> None:
        self._min_shared = settings.min_shared
        words = [text.split() for text in index.texts.to_pylist()]
        units = [sorted(set(_units(own))) for own in words]
        is_whole = (index.items == np.arange(index.items.size)).tolist()
        counts = Counter(unit for own, whole in zip(units, is_whole, strict=True) if whole
                         for unit in own)  # fmt: skip
        n_items = sum(is_whole)
        most = max(COMMON_ITEMS, n_items // COMMON_SHARE)
        each = {unit for own in units for unit in own}
        known = sorted(unit for unit in each if counts[unit] <= most or _is_number(unit))
        self.numbers = {unit: number for number, unit in enumerate(known)}
        weights = [(n_items // max(1, counts[unit])).bit_length() for unit in known]
        self.weights = np.array(weights, np.int64)
        self.is_number = np.array([_is_number(unit) for unit in known], np.bool_)
        numbers = self.numbers
        self._units = [
            np.array([numbers[unit] for unit in own if unit in numbers], np.int64) for own in units
        ]
        self.totals = np.array([self.weights[own].sum() for own in self._units], np.int64)
        self._n_numbers = np.array([self.is_number[own].sum() for own in self._units], np.int64)
        self._sizes = [_size_class(len(" ".join(own))) for own in words]
        lengths = np.array([2 * math.isqrt(1 << size) for size in self._sizes], np.int64)
        is_wanted = np.array([own.size >= settings.min_words for own in self._units], np.bool_)
        tiers = np.searchsorted(BLOCKS, lengths)
        self._postings = [
            self._posting(np.flatnonzero(is_wanted & (tiers == tier)))
            for tier in range(len(BLOCKS))
        ]

    def _posting(self, chosen: Ints) -> tuple[Ints, Ints]:
        """(forms by word, where those of each word begin)"""
        none = np.zeros(0, np.int64)
        units = np.concatenate([none, *(self._units[form] for form in chosen.tolist())])
        forms = np.concatenate(
            [none, *(np.full(self._units[form].size, form) for form in chosen.tolist())]
        )
        order = np.argsort(units, kind="stable")
        return forms[order], np.searchsorted(units[order], np.arange(len(self.numbers) + 1))

    def shared_with(self, page: "_Page") -> dict[int, tuple[int, int, int]]:
        """Form -> (weight shared, first sentence, behind the last) of the passage that shares most
        with it, where that is enough."""
        best: dict[int, tuple[int, int, int]] = {}
        for posting, size in zip(self._postings, BLOCKS, strict=True):
            for block in page.blocks(size) if posting[0].size else ():
                for form in self._likely(posting, block.units):
                    found = self._best_passage(page, block, form)
                    if found is not None and (form not in best or found[0] > best[form][0]):
                        best[form] = found
        return best

    def _likely(self, posting: tuple[Ints, Ints], units: Ints) -> list[int]:
        """Forms of whose words some units have enough, and every number."""
        forms, firsts = posting
        counts = firsts[units + 1] - firsts[units]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        met = forms[np.repeat(firsts[units], counts) + within]
        of = np.repeat(units, counts)
        # Sums of integers that floating point holds exactly, in any order.
        shared = np.bincount(met, self.weights[of], minlength=self.totals.size)
        numbers = np.bincount(met, self.is_number[of], minlength=self.totals.size)
        is_enough = (shared > 0) & (shared >= self.totals * self._min_shared)
        return [int(form) for form in np.flatnonzero(is_enough & (numbers == self._n_numbers))]

    def _best_passage(
        self, page: "_Page", block: "_Block", form: int
    ) -> tuple[int, int, int] | None:
        firsts, lasts = page.passages(self._sizes[form], block)
        if not firsts.size:
            return None
        units = self._units[form]
        has = block.has(units, firsts, lasts)
        shared = (self.weights[units] @ has) * has[self.is_number[units]].all(axis=0)
        best = int(shared.argmax())
        is_enough = shared[best] >= self.totals[form] * self._min_shared
        return (int(shared[best]), int(firsts[best]), int(lasts[best])) if is_enough else None


class _Block(NamedTuple):
    """Sentences that begin in a stretch of a text, and those of the next stretch behind them."""

    first: int
    stop: int  # behind the last sentence of the stretch
    units: Ints  # the items' words in both
    before: npt.NDArray[np.int32]  # [words and one more, sentences and one more], in how many

    def has(self, units: Ints, firsts: Ints, lasts: Ints) -> npt.NDArray[np.bool_]:
        """[units, passages]: whether a passage has a word."""
        rows = np.minimum(np.searchsorted(self.units, units), self.units.size - 1)
        counts = self.before[np.where(self.units[rows] == units, rows, self.units.size)]
        found: npt.NDArray[np.bool_] = (
            counts[:, lasts - self.first] > counts[:, firsts - self.first]
        )
        return found


class _Page:
    """The sentences of a text, and the items' words in each."""

    def __init__(self, text: str, numbers: Mapping[str, int]) -> None:
        self.bounds = sentence_bounds(text)
        self._words = _spelled([text[start:end] for start, end in self.bounds])
        self._units = [
            sorted({numbers[unit] for unit in _units(own) if unit in numbers})
            for own in self._words
        ]
        lengths = [len(" ".join(own)) + bool(own) for own in self._words]
        self._edges = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self._passages: dict[int, tuple[Ints, Ints]] = {}

    def blocks(self, size: int) -> Iterator[_Block]:
        """Yield the text in blocks; a passage no longer than `size` lies in that of its start."""
        starts = np.arange(0, int(self._edges[-1]) + 1, size)
        edges = np.searchsorted(self._edges[:-1], starts).tolist() + [self._edges.size - 1] * 2
        for first, stop, end in zip(edges, edges[1:], edges[2:], strict=False):
            own = self._units[first:end]
            units = np.array(sorted(set().union(*own)), np.int64)
            if first < stop and units.size:
                before = np.zeros((units.size + 1, end - first + 1), np.int32)
                for sentence, words in enumerate(own, 1):
                    before[np.searchsorted(units, words), sentence] = 1
                yield _Block(first, stop, units, np.cumsum(before, axis=1, dtype=np.int32))

    def passages(self, size: int, block: _Block) -> tuple[Ints, Ints]:
        """(first sentence, behind the last one) of runs that begin in a block: from each sentence
        on the longest below a length and the shortest above, where they are not far off."""
        if size not in self._passages:
            target, edges = math.isqrt(1 << size), self._edges
            reached = np.searchsorted(edges, edges[:-1] + target)
            firsts = np.repeat(np.arange(edges.size - 1), 2)
            lasts = np.minimum(np.stack([reached - 1, reached], axis=1).ravel(), edges.size - 1)
            lengths = edges[lasts] - edges[firsts]
            is_near = (2 * lengths >= target) & (lengths <= 2 * target)
            self._passages[size] = firsts[is_near], lasts[is_near]
        firsts, lasts = self._passages[size]
        own = slice(*np.searchsorted(firsts, [block.first, block.stop]))
        return firsts[own], lasts[own]

    def plain(self, first: int, last: int) -> str:
        return _unspaced([word for own in self._words[first:last] for word in own])


def sentence_bounds(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence in characters: up to an end mark or a line's end."""
    edges = [0, *(match.end() for match in _sentence_end().finditer(text)), len(text)]
    bounds: list[tuple[int, int]] = []
    for start, end in pairwise(edges):
        while end - start > MAX_SENTENCE_CHARS:
            cut = text.rfind(" ", start + 1, start + MAX_SENTENCE_CHARS) + 1
            cut = cut if cut > start else start + MAX_SENTENCE_CHARS
            bounds.append((start, cut))
            start = cut
        if text[start:end].strip():
            bounds.append((start, end))
    return bounds


@lru_cache(maxsize=1)
def _sentence_end() -> "re.Pattern[str]":
    """Marks of scripts without spaces end a sentence anywhere, others before white space."""
    marks = "".join(map(chr, sentence_terminals().tolist()))
    anywhere = "".join(mark for mark in marks if "\u3000" <= mark <= "\uffff")
    closing = "\"'”’»)\\]」』）"
    return re.compile(rf"[{re.escape(marks)}]+[{closing}]*(?=\s)|[{anywhere}]+[{closing}]*|\n")


def _spelled(sentences: Sequence[str]) -> list[list[str]]:
    """Words of each sentence as the index spells them."""
    texts = nfkc(pa.array(sentences, pa.large_string()))
    codes, starts, firsts = spell_words(*text_buffers(texts), char_tables())
    spelled = codes.astype("<u4").tobytes().decode("utf-32-le")
    edges = starts[firsts].tolist()
    return [spelled[start:stop].split() for start, stop in pairwise(edges)]


def _units(words: Sequence[str]) -> list[str]:
    """What words are compared by: beginnings, numbers whole, and pairs of the characters of
    scripts without spaces. A single letter says nothing."""
    units: list[str] = []
    before = ""
    for word in words:
        if _is_own(word):
            units += [before + word] if before else []
            before = word
        else:
            units += [_unit(word)] if len(word) > 1 or word.isdigit() else []
            before = ""
    return units


@lru_cache(maxsize=1 << 16)
def _unit(word: str) -> str:
    return word if _is_number(word) else word[:STEM_CHARS]


def _is_own(word: str) -> bool:
    return not word.isascii() and char_tables().classes[ord(word[0])] == OWN_WORD


def _is_number(unit: str) -> bool:
    return any(char.isdigit() for char in unit)


def _unspaced(words: Sequence[str]) -> str:
    """Return words as text: spaces only where their script has them."""
    if all(word.isascii() for word in words):
        return " ".join(words)
    pairs = zip(words, [*words[1:], ""], strict=True)
    joined = (f"{a} " if b and not (_is_own(a) and _is_own(b)) else a for a, b in pairs)
    return "".join(joined)


def _size_class(n_chars: int) -> int:
    """Number a length in steps of the root of two: class c is about `isqrt(2 ** c)`."""
    return (n_chars**4).bit_length() // 2
