"""How words of addresses are read and compared: lower case, one Unicode form, punycode undone."""

import unicodedata
from urllib.parse import unquote

INSIDE = "-_."


def checked_word(word: str) -> str:
    """Return the word as it is compared; ValueError for one that no address could hold."""
    plain = one_form(word)
    readable = one_form(host_in_letters(unquote(plain)))
    if readable != plain:
        raise ValueError(f"{word!r} never occurs in a decoded URL: write {readable!r}")
    if not plain or not is_part(plain[0]) or not is_part(plain[-1]):
        raise ValueError(f"{word!r}: write a word that begins and ends with a letter or a digit")
    strange = next((char for char in plain if not is_part(char) and char not in INSIDE), None)
    if strange is not None:
        raise ValueError(
            f"{word!r}: {strange!r} is not part of a word; write letters and digits, joined by "
            "- _ or . where the address has these, and several words as several entries"
        )
    return plain


def is_part(char: str) -> bool:
    """Whether a character is a letter, a digit, or a mark on one."""
    return char.isalnum() or unicodedata.category(char).startswith("M")


def one_form(text: str) -> str:
    """Small letters, in form NFC."""
    text = text.lower()
    if text.isascii():
        return text
    from textkernels.normal_forms import nfc  # with numpy: recipes are read without

    return nfc(text)


def host_in_letters(host: str) -> str:
    """Labels in the letters they stand for; one that is no punycode stays."""
    return ".".join(map(_label, host.split("."))) if "xn--" in host else host


def _label(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label
