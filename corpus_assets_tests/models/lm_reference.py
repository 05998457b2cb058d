"""The n-gram model in plain Python, from its definition: strings, dictionaries and recursion."""

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from corpus_assets.text.unicode import SCRIPTS, script_table

EDGE = "edge"
UNKNOWN = "<unk>"
BOUNDARY = "\n"
APART = {"han", "hiragana", "katakana", "thai", "lao", "khmer", "myanmar", "tibetan"}


def kind(char: str) -> str:
    if char.isspace():
        return "space"
    script = int(script_table()[ord(char)])
    if script and SCRIPTS[script - 1] in APART:
        return "alone"
    return "mark" if unicodedata.category(char)[0] in "PS" else "word"


def units(text: str) -> list[str]:
    """Units of a text that is folded already; a boundary after each line that has any."""
    out: list[str] = []
    for line in text.split("\n"):
        found: list[str] = []
        i = 0
        while i < len(line):
            what = kind(line[i])
            j = i + 1
            if what == "mark":
                while j < len(line) and line[j] == line[i]:
                    j += 1
            elif what == "word":
                while j < len(line) and (
                    kind(line[j]) == "word"
                    or (line[j] in "'\u2019" and j + 1 < len(line) and kind(line[j + 1]) == "word")
                ):
                    j += 1
            if what != "space":
                found.append(line[i:j])
            i = j
        if found:
            out += [*found, BOUNDARY]
    return out


class Model:
    """Interpolated modified Kneser-Ney over tuples of words."""

    def __init__(self, texts: Sequence[str], order: int, min_word: int, max_ngrams: int) -> None:
        self.order = order
        sentences: list[list[str]] = []
        for text in texts:
            line: list[str] = []
            for unit in units(text):
                line.append(unit)
                if unit == BOUNDARY:
                    sentences.append(line)
                    line = []
        counts = Counter(u for line in sentences for u in line if u != BOUNDARY)
        self.words = {word for word, n in counts.items() if n >= min_word}
        self.all_words = [UNKNOWN, BOUNDARY, *sorted(self.words)]
        self.spelling = self._spelling(set(counts))
        raw: dict[int, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for line in sentences:
            known = [BOUNDARY, *(self.known(unit) for unit in line)]
            for end in range(1, len(known)):
                for k in range(1, order + 1):
                    if end - k + 1 >= 0:
                        raw[k][tuple(known[end - k + 1 : end + 1])] += 1
        self.unigrams = raw[1]
        adjusted = {order: raw[order]}
        for k in range(order - 1, 0, -1):
            before: dict[tuple[str, ...], set[str]] = defaultdict(set)
            for gram in raw[k + 1]:
                before[gram[1:]].add(gram[0])
            adjusted[k] = Counter(
                {
                    gram: n if k > 1 and gram[0] == BOUNDARY else len(before[gram])
                    for gram, n in raw[k].items()
                }
            )
        sizes = sorted((n for k in range(2, order + 1) for n in raw[k].values()), reverse=True)
        least = 1 if len(sizes) <= max_ngrams else sizes[max_ngrams] + 1
        self.alpha: dict[tuple[str, ...], float] = {}
        self.gamma: dict[tuple[str, ...], float] = {}
        for k in range(1, order + 1):
            discounts = self._discounts(adjusted[k])
            totals: Counter[tuple[str, ...]] = Counter()
            for gram, n in adjusted[k].items():
                totals[gram[:-1]] += n
            taken: dict[tuple[str, ...], float] = defaultdict(float)
            for gram, n in adjusted[k].items():
                if k == 1 or raw[k][gram] >= least:
                    share = (n - discounts[min(n, 3) - 1]) / totals[gram[:-1]]
                    self.alpha[gram] = share
                    taken[gram[:-1]] += share
            for context in totals:
                kept = len(context) < 2 or raw[k - 1][context] >= least
                if kept:
                    self.gamma[context] = 1 - taken[context]

    @staticmethod
    def _discounts(counts: Counter[tuple[str, ...]]) -> tuple[float, float, float]:
        n = [sum(value == k for value in counts.values()) for k in (1, 2, 3, 4)]
        if 0 in n:
            return 0.5, 1.0, 1.5
        y = n[0] / (n[0] + 2 * n[1])
        d = (1 - 2 * y * n[1] / n[0], 2 - 3 * y * n[2] / n[1], 3 - 4 * y * n[3] / n[2])
        return d if all(0 < d[k] <= k + 1 for k in range(3)) else (0.5, 1.0, 1.5)

    @staticmethod
    def _spelling(words: set[str]) -> dict[tuple[int, int], float]:
        pairs: Counter[tuple[int, int]] = Counter()
        for word in words:
            letters = [256, *word.encode(), 256]
            pairs.update(pairwise(letters))
        totals = Counter[int]()
        for (first, _), n in pairs.items():
            totals[first] += n
        return {
            (a, b): (pairs[a, b] + 0.05) / (totals[a] + 0.05 * 257)
            for a in range(257)
            for b in range(257)
        }

    def known(self, unit: str) -> str:
        return unit if unit == BOUNDARY or unit in self.words else UNKNOWN

    def probability(self, word: str, context: tuple[str, ...]) -> float:
        if not context:
            return self.alpha.get((word,), 0.0) + self.gamma[()] / len(self.all_words)
        below = self.probability(word, context[1:])
        return self.gamma.get(context, 1.0) * below + self.alpha.get((*context, word), 0.0)

    def perplexity(self, text: str) -> float | None:
        found = units(text)
        if not found:
            return None
        total = 0.0
        history: tuple[str, ...] = (BOUNDARY,)
        for unit in found:
            word = self.known(unit)
            total += math.log10(self.probability(word, history[-(self.order - 1) :]))
            if word == UNKNOWN:
                letters = [256, *unit.encode(), 256]
                for pair in pairwise(letters):
                    total += math.log10(self.spelling[pair])
            history = (BOUNDARY,) if word == BOUNDARY else (*history, word)
        return float(10 ** min(-total / len(found), 12))

    def divergence(self, text: str) -> float | None:
        found = Counter(self.known(unit) for unit in units(text) if unit != BOUNDARY)
        if not found:
            return None
        smoothed = {word: self.unigrams[(word,)] + 0.5 for word in self.all_words}
        q = sum(smoothed.values())
        n = sum(found.values())
        return sum(c / n * math.log(c / n / (smoothed[w] / q)) for w, c in found.items())
