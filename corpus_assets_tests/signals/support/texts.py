"""Texts that the signal tests read: real pages, books, code, and the nastiest we could think of."""

import gzip
import json
import random

from corpus_assets_tests.shared_data import shared_data

ADVERSARIAL = [
    "",
    " ",
    "\n",
    "\n\n\n",
    "\t\r\n \u3000\u2028\x85\xa0\x1c",
    "word",
    "word\n",
    "\nword",
    "one line without an end",
    "a\n\nb\n \t\nc\r\n\r\nd\ne",
    "same\nsame\n\nsame\nsame\n\nother\n\nsame\nsame",
    "to be or not to be or not to be or not",
    "a " * 20_000,
    "a b " * 5_000 + "c",
    "line again and again\n" * 3_000,
    "aa b aa b c dd c dd",
    "x y z x y z x y z q x y z",
    "....... ... …… .. …\nends...\nends…\nends..\n...",
    "# ## hash#tag ###",
    "• one\n- two\n* three\n‣ four\n◦ five\n▪ six\n● seven\n– no\n",
    "!?!?!? ... ,,, ;;; --- (((",
    "The THE the thé Be OF. of, and that have with WITH to",
    "\0",
    "a\0b \0\0 c\n\0",
    "😀 😀😀 👩‍👩‍👧‍👦 👩‍👩‍👧‍👦\n🇩🇪🇫🇷",
    "Ünïcödé ßtraße ẞ İstanbul ǅ",
    "日本語のテキスト。これは文です。\n日本語のテキスト。これは文です。\nもう一つ！",
    "Привет мир? Ελληνικά. العربية؟ हिन्दी। ไทย 한국어 עברית",
    "mixed скрипт 漢字 text 漢字 text mixed скрипт\u200bzero\u200bwidth",
    "e\u0301 \u0301 \ufeffbom \uffff \U0010ffff 123 4a5 ① ² Ⅷ ª",
    "exactly thirty characters long\nexactly thirty-one chars long!!",
    "x" * 10_000 + "\n" + "x" * 10_000,
]


# Pieces that the rules of web, code and mathematics look for, to be thrown together at random.
PIECES = [
    *("the", "The", "of", "word", "WORD", "Ⅷ", "ǅ", "é", "漢字", "ひらがな", "слово", "😀", "_x"),
    *(" ", " ", " ", "\n", "\n", "\n\n", "\u3000", "\t", "\r\n"),
    *(".", "?", "!", '"', "...", "…", ". . .", "。", "！", "’", ")", "[1]", "[]", "[edit]", "[x]"),
    *("{", "}", "(", "#", "•", "- ", "* ", "–", "lorem ipsum", "JavaScript", "javascript"),
    *("cookie policy", "use cookies", "Terms of Use", "[citation needed]", "x" * 40),
    *("$", "$$", "\\", "\\frac{a}{b}", "\\begin{align}", "\\$", "1", "42", "=", "+", "≤", "½"),
    *("0x4f, ", "\\x1b", "deadbeef", "\\u00e9" * 3, "ab12" * 9, "@generated", "Copyright"),
    *("damn", "s&m", "2 girls", "Damn!", "damned", "\0"),
]

MANY_REPEATS = ["a " * 500_000, "ab" * 500_000, "Same line, again and again.\n" * 40_000]


def real_texts() -> list[str]:
    """Main content of web pages, books, mathematics, source code, and 284 languages."""
    texts = []
    with gzip.open(shared_data("web/extraction-truth.jsonl.gz"), "rt", encoding="utf-8") as lines:
        texts += [
            page["main_content"]
            for page in map(json.loads, list(lines)[::2])
            if "main_content" in page
        ]
    for name in ("prose", "math", "multilingual", "code"):
        with gzip.open(shared_data(f"text/{name}.jsonl.gz"), "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for line in list(lines)[::6]]
    return [text for text in texts if isinstance(text, str)]


def random_texts(seed: int, n: int) -> list[str]:
    """Short texts over a tiny alphabet, so that everything repeats and every break occurs."""
    draw = random.Random(seed)
    alphabet = [
        "a",
        "b",
        "the",
        "é",
        "漢",
        "😀",
        " ",
        " ",
        "\n",
        "\n",
        "\n\n",
        "\u3000",
        ".",
        "#",
        "…",
    ]
    return ["".join(draw.choices(alphabet, k=draw.randrange(60))) for _ in range(n)]


def random_pages(seed: int, n: int) -> list[str]:
    """Short texts of the pieces that rules look for, each drawn from a few of them."""
    draw = random.Random(seed)
    texts = []
    for _ in range(n):
        few = [*draw.sample(PIECES, draw.randrange(2, 16)), " ", "\n"]
        texts.append("".join(draw.choices(few, k=draw.randrange(80))))
    return texts


def random_line_ends(seed: int, n: int) -> list[str]:
    """Short pages whose lines end in all the ways that `str.splitlines` knows."""
    ends = ["\n", "\r", "\r\n", *map(chr, (11, 12, 28, 29, 30, 0x85, 0x2028, 0x2029))]
    words = ["the", "of", "é", "漢字", "word.", "end!", "- ", "•", "...", "…", " ", "\x1f", "[1]"]
    draw = random.Random(seed)
    texts = []
    for _ in range(n):
        few = [*draw.sample(ends, draw.randrange(1, 5)), "\n"]
        lines = (" ".join(draw.choices(words, k=draw.randrange(7))) for _ in range(9))
        texts.append("".join(line + draw.choice(few) * draw.randrange(1, 3) for line in lines))
    return texts
