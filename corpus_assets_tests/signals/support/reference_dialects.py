"""Dialects of datatrove, Dolma, DCLM and RedPajama-V2 in plain Python, as their authors count."""

import math
import re
import string
import unicodedata
from collections import Counter
from statistics import median

from corpus_assets.signals.kernels.word_boundaries import break_kinds
from corpus_assets.text.unicode import sentence_terminals
from corpus_assets_tests.signals.support.reference import (
    dup_ngram_chars,
    later_ngram_chars,
    lines_of,
    ngrams,
    share,
)

STOP_WORDS = {"the", "be", "to", "of", "and", "that", "have", "with"}
TERMINALS = {chr(c) for c in sentence_terminals()} | set("\u17d4\u17d5\u17d6\u17d9\u17da")
TERMINALS |= {"\U00011f43", "\U00011f44"}
CONTROLS = {chr(c) for c in (*range(9), 11, 12, *range(13, 32), *range(127, 160))}
PUNCTUATION = {*string.punctuation, *CONTROLS, *TERMINALS}
PUNCTUATION |= set("«´»–—’“”„…∶━►、。〈〉《》「」【】！％（），．１：；？～")


def copies(items: list[str]) -> tuple[int, int]:
    """Later copies and their characters."""
    seen: set[str] = set()
    n = chars = 0
    for item in items:
        if item in seen:
            n += 1
            chars += len(item)
        seen.add(item)
    return n, chars


def split_at_line_ends(text: str) -> list[str]:
    """Lines as `splitlines` gives them where only line feeds separate."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def is_mark(character: str) -> bool:
    stays = "@\u0f0b\u0f0c-/\\|~^¶"
    category = unicodedata.category(character)
    return character not in stays and (
        category[0] == "P" or (category[0] == "S" and (category != "Sm" or character in "<>=+"))
    )


def closes(before: str, mark: str) -> bool:
    if mark == "=":
        return False
    is_currency = mark in "$฿" or "¢" <= mark <= "¥" or "\u20a0" <= mark <= "\u20cf"
    return before.isdecimal() if is_currency or mark in "+%" else is_mark(mark)


def is_cut(before: str, mark: str, after: str) -> bool:
    if mark == "…" or (mark[0] == "." and len(mark) > 1):
        return True
    if mark in ("-", "--", "---", "–", "—", "~") and before.isalpha() and after.isalpha():
        return True
    if mark in ("-", "+", "*", "^"):
        return before.isdecimal() and after.isdecimal()
    if mark == ",":
        return before.isalpha() and after.isalpha()
    if mark in (":", "/", "<", "=", ">"):
        return before.isalnum() and after.isalpha()
    is_titled = before.islower() or (before.istitle() and not before.isupper())
    return mark == "." and is_titled and after.isupper()


def take_apart(word: str) -> list[str]:
    """A word between white space, with punctuation apart."""
    front: list[str] = []
    while word and is_mark(word[0]):
        run = re.match(r"\.+", word)
        mark = run.group() if run else word[0]
        if mark == "." and len(word) > 1:
            break
        front.append(mark)
        word = word[len(mark) :]
    back: list[str] = []
    while word and (closes(word[-2], word[-1]) if len(word) > 1 else is_mark(word)):
        run = re.search(r"\.+\Z", word)
        mark = run.group() if run else word[-1]
        if mark == "." and "." in word[:-1]:
            break
        back.insert(0, mark)
        word = word[: -len(mark)]
    ending = re.search(r"(?i:(?<=.)n['’]t|(?<=.)['’](?:[sdm]|re|ve|ll))\Z", word, re.ASCII)
    if ending:
        back.insert(0, ending.group())
        word = word[: ending.start()]
    pieces = [""]
    place = 0
    for part in re.findall(r"(?s)\.+|-+|.", word):
        end = place + len(part)
        if place > 0 and end < len(word) and is_cut(word[place - 1], part, word[end]):
            pieces += [part, ""]
        else:
            pieces[-1] += part
        place = end
    return [*front, *(piece for piece in pieces if piece), *back]


def tokens_of(text: str) -> list[str]:
    return [token for word in text.split() for token in take_apart(word)]


def datatrove(text: str, words: list[str]) -> dict[str, float]:
    n_chars = len(text)
    spoken = [w for w in words if any(c not in PUNCTUATION for c in w)]
    lines = text.splitlines()
    inked = [line for line in text.split("\n") if line.strip()]
    n_lines, line_chars = copies(re.split("\n+", text))
    n_paragraphs, paragraph_chars = copies(paragraphs := re.split(r"\n{2,}", text.strip()))
    out = {
        "hash_to_word_ratio": share(text.count("#"), len(words)),
        "ellipsis_to_word_ratio": share(text.count("...") + text.count("…"), len(words)),
        "alphabetic_word_share": share(sum(any(c.isalpha() for c in w) for w in words), len(words)),
        "n_words": len(spoken),
        "mean_word_chars": share(sum(map(len, spoken)), len(spoken)),
        "stop_words_distinct": len(STOP_WORDS & set(words)),
        "bullet_line_share": share(
            sum(line.lstrip().startswith(("•", "-")) for line in lines), len(lines)
        ),
        "ellipsis_line_share": share(
            sum(line.rstrip().endswith(("...", "…")) for line in lines), len(lines)
        ),
        "dup_paragraph_share": share(n_paragraphs, len(paragraphs)),
        "dup_paragraph_char_share": share(paragraph_chars, n_chars),
        "dup_line_share": share(n_lines, len(re.split("\n+", text))),
        "dup_line_char_share": share(line_chars, n_chars),
        "terminal_line_share": share(sum(line[-1] in TERMINALS for line in inked), len(inked)),
        "short_line_share": share(sum(len(line) <= 30 for line in inked), len(inked)),
        "dup_line_ink_share": share(copies(inked)[1], len(text.replace("\n", ""))),
        "newline_to_word_ratio": share(text.count("\n"), len(words)),
    }
    for n in (2, 3, 4):
        counts = Counter(" ".join(gram) for gram in ngrams(words, n))
        gram, count = counts.most_common(1)[0] if counts else ("", 0)
        out[f"top_{n}_gram_ratio"] = share(len(gram) * count, n_chars)
    for n in range(5, 11):
        out[f"dup_{n}_gram_share"] = share(later_ngram_chars(words, n), n_chars)
    return {f"datatrove_{name}": value for name, value in out.items()}


def dolma(text: str) -> dict[str, float]:
    words = text.split()
    lines = text.split("\n") if text else []
    chars = sum(map(len, words))
    counts = Counter(lines)
    out: dict[str, float] = {
        "stop_words_counted": sum(word in STOP_WORDS for word in words),
        "median_word_chars": median(map(len, words)) if words else 0.0,
        "symbol_word_share": share(sum("#" in w or "…" in w for w in words), len(words)),
        "bullet_line_share": share(sum(line.startswith(("*", "-")) for line in lines), len(lines)),
        "ellipsis_line_share": share(sum(line.endswith("…") for line in lines), len(lines)),
        "dup_line_share": share(sum(n for n in counts.values() if n > 1), len(lines)),
        "dup_line_char_ratio": share(
            sum(len(line) * n for line, n in counts.items() if n > 1), chars
        ),
        "unfinished_line_share": share(
            sum(not line.strip().endswith((".", "?", "!", '"')) for line in lines), len(lines)
        ),
    }
    for n in range(2, 11):
        grams = Counter(ngrams(words, n))
        lengths = {gram: count * sum(map(len, gram)) for gram, count in grams.items()}
        if n < 5:
            most = grams.most_common(1)[0][0] if grams else ()
            out[f"top_{n}_gram_ratio"] = share(lengths.get(most, 0), chars)
        else:
            twice = sum(length for gram, length in lengths.items() if grams[gram] > 1)
            out[f"dup_{n}_gram_share"] = share(twice, sum(lengths.values()))
    return {f"dolma_{name}": value for name, value in out.items()}


def plain_words(text: str) -> list[str]:
    """Words of DCLM's counts: fastText's, without those that begin with a mark."""
    return [word for word in re.split("[ \t-\r\0]+", text) if word and word[0].isalnum()]


def boundary_words(text: str) -> list[str]:
    """Words of DCLM's n-grams: pieces between the boundaries of Unicode's annex 29, each place
    between two characters decided by itself."""
    kinds = ["-ANKJlnex"[break_kinds()[ord(c)]] for c in text]
    pieces = [""]
    earlier = last = "-"
    for at, kind in enumerate(kinds):
        after = next((kinds[k] for k in range(at + 1, len(kinds)) if kinds[k] != "x"), "-")
        seen = (last + kind, last + kind + after, earlier + last + kind)
        if kind == "x" or any(one in JOINED for one in seen):
            pieces[-1] += text[at]
        else:
            pieces.append(text[at])
        if kind != "x":
            earlier, last = last, kind
    return [piece for piece in pieces if piece[:1].isalnum()]


JOINED = {
    *("AA", "AN", "NA", "NN", "KK", "AJ", "NJ", "KJ", "JJ", "JA", "JN", "JK"),
    *("AlA", "AeA", "NnN", "NeN"),
}


def dclm(text: str) -> dict[str, float]:
    lines = lines_of(text)
    symbols = sum(text.count(symbol) for symbol in ("#", "...", ". . .", "…"))
    dots = ("...", ". . .", "…")
    out = {
        "n_words": len(plain_words(text)),
        "symbol_to_word_ratio": share(symbols, len(text.split())),
        "bullet_line_share": share(sum(line[0] in "●•*-" for line in lines), len(lines)),
        "ellipsis_line_share": share(sum(line.endswith(dots) for line in lines), len(lines)),
    }
    paragraphs = [piece.strip() for piece in text.split("\n\n") if piece.strip()]
    for name, items in (("line", lines), ("paragraph", paragraphs)):
        twice = {item: n for item, n in Counter(items).items() if n > 1}
        chars = sum(len(item) * n for item, n in twice.items())
        out[f"dup_{name}_share"] = share(sum(twice.values()), len(items))
        out[f"dup_{name}_char_share"] = share(chars, sum(map(len, items)))
    words = boundary_words(text)
    for n in range(5, 11):
        out[f"dup_{n}_gram_char_share"] = share(dup_ngram_chars(words, n), sum(map(len, words)))
    for n in (2, 3, 4):
        counts = Counter(ngrams(words, n))
        most = max(counts.values(), default=0)
        longest = max((sum(map(len, g)) for g, c in counts.items() if c == most), default=0)
        value = longest * most if most > 1 else 0
        out[f"top_{n}_gram_ratio"] = share(value, sum(map(len, words)))
    return {f"dclm_{name}": value for name, value in out.items()}


def redpajama(text: str) -> dict[str, float]:
    plain = text.translate(str.maketrans("", "", string.punctuation))
    plain = unicodedata.normalize("NFD", plain.lower())
    words = plain.split()
    tokens = re.findall(r"\w+|[^\w\s]+", text)
    lines = split_at_line_ends(text)
    counts = Counter(words)
    chars = sum(map(len, words))
    bullets = tuple("\u2022\u2023\u25b6\u25c0\u25e6\u25a0\u25a1\u25aa\u25ab\u2013")
    entropy = -sum(n / len(words) * math.log(n / len(words)) for n in counts.values())
    symbols = sum(text.count(symbol) for symbol in ("#", "...", "…"))
    out = {
        "n_words": len(words),
        "mean_word_chars": share(chars, len(words)),
        "unique_word_share": share(len(counts), len(words)),
        "unigram_entropy": round(max(entropy, 0.0), 6),
        "javascript_words": counts["javascript"],
        "symbol_to_token_ratio": share(symbols, len(tokens)),
        "no_alphabet_token_share": share(
            sum(re.search("[a-zA-Z]", token) is None for token in tokens), len(tokens)
        ),
        "all_caps_token_share": share(sum(map(str.isupper, tokens)), len(tokens)),
        "ellipsis_line_share": share(
            sum(line.rstrip().endswith(("...", "…")) for line in lines), len(lines)
        ),
        "bullet_line_share": share(
            sum(line.lstrip().startswith(bullets) for line in lines), len(lines)
        ),
        "terminal_line_share": share(
            sum(line.rstrip().endswith((".", "!", "?", "”")) for line in lines), len(lines)
        ),
        "mean_line_words": share(len(words), len(lines)),
        "uppercase_char_share": share(sum(map(str.isupper, text)), len(text)),
        "numeric_char_share": share(sum(map(str.isnumeric, text)), len(text)),
        "curly_bracket_share": share(text.count("{") + text.count("}"), len(text)),
        "parenthesis_share": share(text.count("(") + text.count(")"), len(text)),
        "sentences": len(re.findall(r"\b[^.!?]+[.!?]*", text)),
    }
    for n in (2, 3, 4):
        grams = Counter(ngrams(words, n)).most_common(1)
        gram, count = grams[0] if grams else ((), 0)
        out[f"top_{n}_gram_ratio"] = share(sum(map(len, gram)) * count if count > 1 else 0, chars)
    for n in range(5, 11):
        out[f"dup_{n}_gram_share"] = share(dup_ngram_chars(words, n), chars)
    return {f"redpajama_{name}": value for name, value in out.items()}
