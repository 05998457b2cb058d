"""C4, characters, code, mathematics and word lists in plain Python."""

import re
import unicodedata
from collections import Counter

from corpus_assets.signals.kernels.sentences import CLOSING_MARKS
from corpus_assets.signals.published.c4 import POLICY
from corpus_assets.signals.published.nemo import PHRASES
from corpus_assets.text.unicode import SCRIPTS, script_table, sentence_terminals
from corpus_assets_tests.signals.support.reference import lines_of, share
from corpus_assets_tests.signals.support.reference_dialects import plain_words

TERMINALS = "".join(chr(c) for c in sentence_terminals())
NARROW = "".join(c for c in TERMINALS if c.isascii())
WIDE = "".join(c for c in TERMINALS if not c.isascii())
CITATION = re.compile(r"\[[0-9]*]|\[edit]|\[citation needed]")


def ascii_lower(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)


def sentences(line: str) -> int:
    """Ends, and what is left behind the last one."""
    count, place = 0, 0
    end = re.compile(f"[{re.escape(TERMINALS)}][{re.escape(TERMINALS + CLOSING_MARKS)}]*")
    for match in end.finditer(line):
        follows = line[match.end() : match.end() + 1]
        has_wide = any(c in WIDE for c in match.group())
        if not follows or follows.isspace() or has_wide:
            count += 1
            place = match.end()
    return count + bool(line[place:].strip())


def nemo(text: str) -> dict[str, float]:
    lines, paragraphs = lines_of(text), text.lower().split("\n\n")
    counts = {
        "non_alphanumeric": sum(
            not (c.isascii() and c.isalnum()) and c not in "\n?!,." for c in text
        ),
        "url_char": sum(map(len, re.findall(r"https?://(?:[a-zA-Z0-9]|[$-_@.&+]|[!*(),])+", text))),
        "bracket": sum(c in "()[]{}⟨⟩" for c in text),
    }
    held = sum(any(phrase in one for phrase in PHRASES) for one in paragraphs)
    return {
        **{f"nemo_{name}_share": n / len(text) if text else 1 for name, n in counts.items()},
        "nemo_boilerplate_paragraph_share": 1
        if "lorem ipsum" in text.lower()
        else held / len(paragraphs),
        "nemo_unfinished_line_share": share(
            sum(not line.endswith((".", "?", "!", '"', "'")) for line in lines), len(lines)
        ),
        "nemo_max_word_chars": max(map(len, text.split()), default=0),
    }


def dclm_text(text: str, tlds: tuple[str, ...], max_newlines: int = 2) -> str:
    """What is left of a text, by one search from the left for each kind of address."""
    letters = "a-zA-Z0-9"
    before = r"\s{0,10}(?:http://|https://|ftp://)?"
    behind = f"[{letters}_:/?#@()&+=.%~-]*"
    if tlds and text.lower().startswith(tlds):
        host = rf"[{letters}_:#@+=.%~-]{{1,256}}\.(?:{'|'.join(tlds)})\b"
        text = re.sub(before + host + behind, "", text)
    octets = r"\.".join(["(?:[0-2][0-9][0-9]|[0-9][0-9]|[0-9])"] * 4)
    text = re.sub(before.replace("(?:", r"\b(?:", 1) + octets + behind, "", text)
    return re.sub(r"\n+", lambda run: run.group()[:max_newlines], text)


def c4(text: str) -> dict[str, float]:
    lines = lines_of(text)
    small = [ascii_lower(line) for line in lines]
    return {
        "curly_braces": text.count("{"),
        "lorem_ipsum": ascii_lower(text).count("lorem ipsum"),
        "javascript_line_share": share(sum("javascript" in line for line in small), len(lines)),
        "policy_line_share": share(
            sum(any(p in line for p in POLICY) for line in small), len(lines)
        ),
        "end_mark_line_share": share(sum(line[-1] in '.?!"' for line in lines), len(lines)),
        "sentences": sum(map(sentences, lines)),
        "long_lines": sum(len(line) >= 200 for line in lines),
    }


def c4_lines(
    text: str, end_marks: str = '.?!"', min_words: int = 5, count_footnotes: bool = False
) -> tuple[dict[str, float], str]:
    """The counts, and the text that is left."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    gone: Counter[str] = Counter()
    kept = []
    for line in lines:
        words = line.split()
        small = ascii_lower(line)
        left = CITATION.sub("", line)
        counted = words if count_footnotes else left.split()
        if any(len(word) > 1000 for word in words):
            gone["long_word"] += 1
        elif end_marks and (not left.endswith(tuple(end_marks)) or left.endswith("...")):
            gone["unfinished"] += 1
        elif len(counted) < min_words:
            gone["few_word"] += 1
        elif "lorem ipsum" in small:
            gone["filler"] += 1
        elif "javascript" in small:
            gone["javascript"] += 1
        elif "{" in line:
            gone["brace"] += 1
        elif any(phrase in small for phrase in POLICY):
            gone["policy"] += 1
        else:
            kept.append(left)
    names = ("long_word", "unfinished", "few_word", "filler", "javascript", "brace", "policy")
    left = "\n".join(kept)
    return {
        "c4_lines": len(lines),
        "c4_kept_lines": len(kept),
        "c4_kept_char_share": share(len(left), len(text)),
        **{f"c4_{name}_lines": gone[name] for name in names},
        "c4_sentences": sum(map(sentences, kept)),
    }, left


COUNTER = re.compile(
    r"^\W*\d[\d.,]*[kmb]?\s+(?:likes|shares|comments|retweets|reposts|quotes|bookmarks|upvotes"
    r"|downvotes|downloads|views|followers)\W*$",
    re.IGNORECASE | re.ASCII,
)
MENU = (rb"\s?items in cart", rb"\s?read more\.\.\.$", rb"^sign-in\s?")


def dclm_lines(text: str) -> tuple[dict[str, float], str]:
    """The counts, and the text that is left."""
    lines = text.split("\n")
    gone: Counter[str] = Counter()
    kept = []
    for line in lines:
        category = Counter(unicodedata.category(c) for c in line)
        if line and category["Lu"] / len(line) > 0.5:
            gone["uppercase"] += 1
        elif line and category["Nd"] / len(line) > 0.999999:
            gone["digit"] += 1
        elif COUNTER.search(line):
            gone["counter"] += 1
        elif line and len(line.split()) < 2:
            gone["short"] += 1
        else:
            left = line.encode()
            for pattern in MENU if len(line.split()) <= 10 else ():
                left = re.sub(pattern, b"", left, flags=re.IGNORECASE)
            gone["phrase"] += left != line.encode()
            if left.strip() or left == line.encode():
                kept.append(left.decode())
    left_text = "\n".join(kept).strip(" \t\n\r\x0b\x0c")
    words = len(plain_words(text))
    return {
        "dclm_lines": len(lines),
        **{f"dclm_{name}_lines": gone[name] for name in ("uppercase", "digit", "counter", "short")},
        "dclm_phrase_lines": gone["phrase"],
        "dclm_cut_word_share": share(words - len(plain_words(left_text)), words),
    }, left_text


def bad_words(text: str, words: list[str]) -> dict[str, float]:
    ordered = sorted(map(ascii_lower, words), key=lambda w: -len(w.encode()))
    either = "|".join(map(re.escape, ordered))
    pattern = rf"(?<!\w)(?:{either})(?!\w)"
    found = len(re.findall(pattern, ascii_lower(text)))
    return {"bad_words": found, "bad_word_ratio": share(found, len(text.split()))}


def dup_run_chars(text: str, n: int) -> int:
    ink = "".join(text.split())
    runs = Counter(ink[i : i + n] for i in range(len(ink) - n + 1))
    covered = {i + k for i in range(len(ink) - n + 1) if runs[ink[i : i + n]] > 1 for k in range(n)}
    return len(covered)


def characters(text: str, scripts: tuple[str, ...]) -> dict[str, float | str | None]:
    category = Counter(unicodedata.category(c)[0] for c in text)
    letters = [c for c in text if c.isalpha()]
    by_script = Counter(SCRIPTS[script_table()[ord(c)] - 1] for c in letters)
    main = max(SCRIPTS, key=lambda name: by_script[name])
    ink = len("".join(text.split()))
    return {
        "letter_char_share": share(len(letters), len(text)),
        "digit_char_share": share(sum(c.isdecimal() for c in text), len(text)),
        "punctuation_char_share": share(category["P"], len(text)),
        "symbol_char_share": share(category["S"], len(text)),
        "space_char_share": share(sum(c.isspace() for c in text), len(text)),
        "tab_chars": text.count("\t"),
        "replacement_chars": text.count("\ufffd"),
        "replacement_char_share": share(text.count("\ufffd"), len(text)),
        "space_run_char_share": share(
            sum(len(run) - 1 for run in re.findall(r"[^\S\n]+", text)), len(text)
        ),
        "uppercase_letter_share": share(sum(c.isupper() for c in letters), len(letters)),
        "main_script": main if letters else None,
        "main_script_share": share(by_script[main], len(letters)),
        **{f"script_{name}_share": share(by_script[name], len(letters)) for name in scripts},
        "dup_char_10_gram_share": share(dup_run_chars(text, 10), ink),
        "dup_char_20_gram_share": share(dup_run_chars(text, 20), ink),
    }


ENCODED = (
    re.compile(r"[A-Za-z0-9+/=\n]{64,}"),
    re.compile(r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[, \t\n]{0,4}){16,}"),
    re.compile(r"(?:\\u[0-9a-fA-F]{4}){8,}"),
)


def code(text: str, generated: tuple[str, ...], licence: tuple[str, ...]) -> dict[str, float]:
    lines = text.split("\n")
    n_lines = len(lines) - (lines[-1] == "")
    runs = [match.span() for pattern in ENCODED for match in pattern.finditer(text)]
    covered = {place for start, end in runs for place in range(start, end)}
    head = ["\n".join(ascii_lower(text).split("\n")[:n]) for n in (5, 30)]
    marks = [
        "|".join(map(re.escape, sorted(m, key=len, reverse=True))) for m in (generated, licence)
    ]
    return {
        "mean_line_chars": share(sum(map(len, lines)), n_lines),
        "max_line_chars": max(map(len, lines)),
        "alphanumeric_char_share": share(sum(map(str.isalnum, text)), len(text)),
        "letters_per_token": share(
            sum(map(str.isalpha, text)), len(re.split(r"\w+|[^\w\s]+", text))
        ),
        "generated_marks": len(re.findall(marks[0], head[0])),
        "licence_marks": len(re.findall(marks[1], head[1])),
        "encoded_char_share": share(len(covered), len(text)),
        "longest_encoded_run_chars": max((end - start for start, end in runs), default=0),
    }


def formula_end(data: bytes, at: int) -> int:
    """End of the formula that the dollar at `at` opens, or `at`."""
    opening = b"$$" if data[at : at + 2] == b"$$" else b"$"
    body = data[at + len(opening) : at + len(opening) + 1000]
    place = 0
    while place < len(body):
        if body[place] == ord("\\"):
            place += 2
        elif body[place] == ord("$"):
            break
        else:
            place += 1
    inside, close = body[:place], at + len(opening) + place
    if not inside or place >= len(body):
        return at
    if opening == b"$$":
        return close + 2 if data[close : close + 2] == b"$$" else at
    has_edge_space = inside[0] <= 32 or inside[-1] <= 32
    holds_line_end = b"\n" in re.sub(rb"\\.", b"", inside, flags=re.DOTALL)
    if has_edge_space or holds_line_end or data[close + 1 : close + 2].isdigit():
        return at
    return close + 1


def mathematics(text: str) -> dict[str, float]:
    data = text.encode()
    escapes = re.findall(rb"\\(begin\{|.|\Z)", data, re.DOTALL)
    n_commands = sum(c[:1].isalpha() for c in escapes)
    formulas, chars, at = 0, 0, 0
    formula_stop = 0
    while at < len(data):
        if data[at] == ord("\\"):
            at += 2
            continue
        if data[at] == ord("$") and at >= formula_stop:
            formula_stop = formula_end(data, at)
            if formula_stop > at:
                formulas += 1
                chars += len(data[at:formula_stop].decode("utf-8", "replace"))
        at += 1
    operators = sum(unicodedata.category(c) == "Sm" for c in text)
    digits = sum(c.isdecimal() for c in text)
    return {
        "latex_commands": n_commands,
        "latex_command_ratio": share(n_commands, len(text.split())),
        "latex_environments": escapes.count(b"begin{"),
        "formulas": formulas,
        "formula_char_share": share(chars, len(text)),
        "operator_char_share": share(operators, len(text)),
        "operator_and_digit_share": share(operators + digits, len(text)),
    }
