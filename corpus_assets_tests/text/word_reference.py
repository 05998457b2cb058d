"""Words, n-grams and their hashes in plain Python, as the kernels are meant to have them."""

import re
import unicodedata

MASK = 2**64 - 1
SPACELESS = re.compile(
    "[\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\u3005\u3007\u3105-\u312f\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0edf\u1000-\u109d"
    "\u1950-\u1974\u1980-\u19df\u1a20-\u1aad\uaa80-\uaadf"
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9\ua000-\ua48c\U00020000-\U0002a6df]"
)


def fold(char: str) -> str:
    for change in (str.upper, str.lower):
        changed = change(char)
        char = changed if len(changed) == 1 else char
    return char


def is_invisible(char: str) -> bool:
    return unicodedata.category(char) == "Cf" or "\ufe00" <= char <= "\ufe0f" or char == "\u034f"


def words_of(text: str) -> list[str]:
    words: list[str] = []
    open_word = ""
    for char in unicodedata.normalize("NFKC", text):
        category = unicodedata.category(char)
        if is_invisible(char):
            continue
        if SPACELESS.match(char) and category[0] in "LNM":
            words += [open_word, fold(char)]
            open_word = ""
        elif category[0] in "LN" or (category[0] == "M" and open_word):
            open_word += fold(char)
        elif category[0] != "M":
            words.append(open_word)
            open_word = ""
    return [word for word in [*words, open_word] if word]


def mix64(value: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = ((value ^ (value >> 33)) * factor) & MASK
    return value ^ (value >> 33)


def word_hash(word: str) -> int:
    value = 0xCBF29CE484222325
    for char in word:
        value = ((value ^ ord(char)) * 0x100000001B3) & MASK
    return mix64(value)


def gram_hash(words: list[str]) -> int:
    value = 0
    for word in words:
        value = (value * 0x9E3779B97F4A7C15 + word_hash(word)) & MASK
    return mix64((value + len(words) * 0xD6E8FEB86659FD93) & MASK)


def ngrams_of(words: list[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + length]) for i in range(len(words) - length + 1)]


NASTY = [
    "",
    "word",
    "?!... --- ***",
    "\ufffd",
    "\ufffd \ufffd\ufffd",
    "שלום עולם, זה מבחן קצר. مرحبا بالعالم",
    "😀😃 👩‍👩‍👧‍👦 ❤️ 🇩🇪",
    "don't STOP; Don’t stop",
    "ﬁne ½ ™ Ⅳ ㎏ ²³ ＦＵＬＬ ｶﾞｷﾞ … ≠",
    "e\u0301te\u0301 été \u0301lone a\u0323\u0301 a\u0301\u0323",
    "soft\u00adhyphen zero\u200bwidth \ufeffbom a\u200db",
    "ΟΔΟΣ οδός Σίσυφος ς",
    "漢字かなカナー交じり文 and Latin漢字mixed ไทยภาษา ភាសាខ្មែរ",
    "한국어 문장 \u1112\u1161\u11ab",
    "हिन्दी में एक वाक्य क़ ड़",
    "a_b_c x1 1x 3.14 foo@bar.com",
    "\x00\x01 tab\tnew\nline\r\n\u2028 nbsp\u00a0end",
    "Straße STRASSE ẞ ÿ Ÿ ǅ",
]
