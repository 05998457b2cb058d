"""Every statistic in plain Python, slow and readable: what the kernels must equal."""

from collections import Counter


def words_of(text: str) -> list[str]:
    return text.split()


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def paragraphs_of(text: str) -> list[str]:
    groups: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip():
            groups[-1].append(line)
        elif groups[-1]:
            groups.append([])
    return ["\n".join(group).strip() for group in groups if group]


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def later_occurrences(items: list[str]) -> list[str]:
    seen: set[str] = set()
    later = []
    for item in items:
        if item in seen:
            later.append(item)
        seen.add(item)
    return later


def gopher_quality(text: str, stop_words: tuple[str, ...], bullets: str) -> dict[str, float]:
    words, lines = words_of(text), lines_of(text)
    ascii_lower = ["".join(c.lower() if c.isascii() else c for c in word) for word in words]
    stops = [word for word in ascii_lower if word in stop_words]
    return {
        "n_words": len(words),
        "mean_word_chars": share(sum(map(len, words)), len(words)),
        "hash_to_word_ratio": share(text.count("#"), len(words)),
        "ellipsis_to_word_ratio": share(text.count("...") + text.count("…"), len(words)),
        "bullet_line_share": share(sum(line[0] in bullets for line in lines), len(lines)),
        "ellipsis_line_share": share(
            sum(line.endswith(("...", "…")) for line in lines), len(lines)
        ),
        "alphabetic_word_share": share(
            sum(any(c.isalpha() for c in word) for word in words), len(words)
        ),
        "stop_words_distinct": len(set(stops)),
        "stop_words_counted": len(stops),
    }


def ngrams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def chars_covered(words: list[str], starts: list[int], n: int) -> int:
    covered = {i + k for i in starts for k in range(n)}
    return sum(len(words[i]) for i in covered)


def top_ngram_chars(words: list[str], n: int) -> int:
    grams = ngrams(words, n)
    counts = Counter(grams)
    most = max(counts.values(), default=0)
    if most < 2:
        return 0
    starts: dict[tuple[str, ...], list[int]] = {}
    for i, gram in enumerate(grams):
        if counts[gram] == most:
            starts.setdefault(gram, []).append(i)
    return max(chars_covered(words, places, n) for places in starts.values())


def dup_ngram_chars(words: list[str], n: int) -> int:
    grams = ngrams(words, n)
    counts = Counter(grams)
    return chars_covered(words, [i for i, gram in enumerate(grams) if counts[gram] > 1], n)


def later_ngram_chars(words: list[str], n: int) -> int:
    seen: set[tuple[str, ...]] = set()
    chars = 0
    i = 0
    while i <= len(words) - n:
        gram = tuple(words[i : i + n])
        if gram in seen:
            chars += sum(map(len, gram))
            i += n
        else:
            seen.add(gram)
            i += 1
    return chars


def repetition(text: str) -> dict[str, float]:
    words, lines, paragraphs = words_of(text), lines_of(text), paragraphs_of(text)
    later_lines, later_paragraphs = later_occurrences(lines), later_occurrences(paragraphs)
    total = sum(map(len, words))
    out = {
        "dup_line_share": share(len(later_lines), len(lines)),
        "dup_line_char_share": share(sum(map(len, later_lines)), sum(map(len, lines))),
        "dup_paragraph_share": share(len(later_paragraphs), len(paragraphs)),
        "dup_paragraph_char_share": share(
            sum(map(len, later_paragraphs)), sum(map(len, paragraphs))
        ),
    }
    for n in (2, 3, 4):
        out[f"top_{n}_gram_char_share"] = share(top_ngram_chars(words, n), total)
    for n in range(5, 11):
        out[f"dup_{n}_gram_char_share"] = share(dup_ngram_chars(words, n), total)
        out[f"later_{n}_gram_char_share"] = share(later_ngram_chars(words, n), total)
    return out


def fineweb(text: str, terminals: set[str], short_chars: int) -> dict[str, float]:
    lines = lines_of(text)
    return {
        "terminal_line_share": share(sum(line[-1] in terminals for line in lines), len(lines)),
        "short_line_share": share(sum(len(line) <= short_chars for line in lines), len(lines)),
        "fineweb_dup_line_char_share": share(
            sum(map(len, later_occurrences(lines))), len(text.replace("\n", ""))
        ),
        "newline_to_word_ratio": share(text.count("\n"), len(words_of(text))),
    }
