"""Pages and edited copies of them, at an exact similarity: for the tests and benchmarks/near_dedup.

Pages are lists of words as signatures see them, so the exact Jaccard similarity of two pages is
that of their sets of n-grams.
"""

import gzip
import json
import re
from pathlib import Path

import numpy as np

from corpus_assets_tests.text.word_reference import words_of

Page = list[str]
SHINGLE = 5


def real_pages(
    path: Path, languages: tuple[str, ...] = (), most: int = 400, max_chars: int = 6_000
) -> list[Page]:
    """Main texts of real pages of 200 words and more, tags taken off, each once."""
    pages = []
    seen = set()
    with gzip.open(path, "rt") as lines:
        for line in lines:
            entry = json.loads(line)
            if not entry.get("main_content") or (languages and entry["lang"] not in languages):
                continue
            words = words_of(re.sub(r"<[^>]*>", " ", entry["main_content"])[:max_chars])
            if len(words) >= 200 and tuple(words[:50]) not in seen:
                seen.add(tuple(words[:50]))
                pages.append(words)
            if len(pages) == most:
                break
    return pages


def grams(page: Page) -> set[tuple[str, ...]]:
    return set(zip(*(page[i:] for i in range(SHINGLE)), strict=False))


def jaccard(left: Page, right: Page) -> float:
    one, other = grams(left), grams(right)
    return len(one & other) / len(one | other)


def edited(page: Page, similarity: float, words: Page, random: np.random.Generator) -> Page:
    """The page with words replaced, dropped or put in, all over it: as many as bring it closest
    to the similarity. On a page of 200 words the closest is within 0.013."""
    places = random.permutation(len(page))
    kinds = random.integers(0, 3, len(page))
    given = random.integers(0, len(words), len(page))

    def after(count: int) -> Page:
        return _changed(page, places[:count], kinds, given, words)

    few, many = 0, len(page)
    while few < many:
        count = (few + many) // 2
        if jaccard(page, after(count)) <= similarity:
            many = count
        else:
            few = count + 1
    around = [after(count) for count in range(max(few - 2, 1), few + 2)]
    return min(around, key=lambda made: abs(jaccard(page, made) - similarity))


def _changed(
    page: Page,
    places: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    kinds: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    given: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    words: Page,
) -> Page:
    chosen = set(places.tolist())
    found: Page = []
    for i, word in enumerate(page):
        if i not in chosen:
            found.append(word)
        elif kinds[i] == 0:
            found.append(words[given[i]])
        elif kinds[i] == 1:
            found += [word, words[given[i]]]
    return found


def in_frame(frame: Page, content: Page, frame_share: float, size: int) -> Page:
    """A page of so many words of which a share is the frame: half before the content, half after."""
    around = int(frame_share * size)
    return [*frame[: around // 2], *content[: size - around], *frame[around // 2 : around]]
