"""From bytes to text: which charset a page is in, whatever it says of itself.

Order: byte order mark, HTTP header, XML declaration or `<meta>` in the first 4 KB
(`charset_prescan`), UTF-8 when the bytes are valid UTF-8, a guess, windows-1252. A declaration is a
claim and is checked:

* declared otherwise but valid UTF-8: it is UTF-8 (prose of another charset practically never is,
  while any bytes at all decode as a single-byte charset, so that proves nothing);
* declared, and invalid in it: the next claim; then the first claim in which good characters far
  outnumber bad ones, these replaced by U+FFFD as browsers do; then the guess;
* ASCII with the escape sequences of ISO-2022-JP is that.

The guess (`charset_guess`) is for scripts other than Latin and takes a detector, which the caller
brings along; without one, and for all else, it is windows-1252. Labels are
read as browsers read them (`charset_labels`). Cost: pages in UTF-8 are checked, not decoded, until
their text is asked for (`PageText`); others take one decode.
"""

import codecs
import re
from typing import NamedTuple

from pageblocks.charset_guess import Detector, guessed_text
from pageblocks.charset_labels import MULTI_BYTE, charset_of_label
from pageblocks.charset_prescan import declared_labels
from pageblocks.kernels.control_bytes import count_control_bytes
from pageblocks.kernels.utf8_counts import utf8_counts
from textkernels.normal_forms import nfc

SCAN_BYTES = 4096
MAX_BAD_SHARE = 0.02  # control and replacement characters; more than this is not text
FEW_CHARS = 16  # so few characters beyond ASCII may be valid UTF-8 by chance in GBK or Big5
TO_JIS = (b"\x1b$B", b"\x1b$@")  # escape sequences of ISO-2022-JP
GOOD_PER_BAD = 4  # valid sequences for each invalid one that still make a charset credible

_PARAMETER = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")


class Decoded(NamedTuple):
    """Text and the charset it was read as; `text` is None when the bytes are no text."""

    text: str | None
    charset: str


class PageText:
    """A page's text and the charset it was read as; NUL characters are removed.

    Most pages are their own text in UTF-8, and most of what is asked of them needs no more than
    these bytes, or their beginning as text: so that is decoded on demand.
    """

    __slots__ = ("_text", "charset", "payload")

    def __init__(self, payload: bytes, charset: str, text: str | None) -> None:
        self.payload = payload
        self.charset = charset
        self._text = text  # None: the payload is it

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = self.payload.decode("utf-8", "surrogatepass")
        return self._text

    @property
    def utf8(self) -> bytes:
        """The text in UTF-8; for most pages the very bytes they came as."""
        return self.payload if self._text is None else self._text.encode("utf-8", "surrogatepass")

    def beginning(self, n_bytes: int) -> str:
        """About so much of the text, and all of it where there is no more."""
        if self._text is not None:
            return self._text[:n_bytes]
        return self.payload[:n_bytes].decode("utf-8", "ignore")  # but for a character cut in two


def decode(payload: bytes, content_type: str = "", detect: Detector | None = None) -> Decoded:
    """Decode a page; NUL characters are removed."""
    found = read_page(payload, content_type, detect)
    return found if isinstance(found, Decoded) else Decoded(found.text, found.charset)


def read_page(
    payload: bytes, content_type: str = "", detect: Detector | None = None
) -> PageText | Decoded:
    """Return a page's text; `Decoded` with no text when the bytes are none.

    `content_type` is the server's header; `detect` names the charset of a sample of bytes, as
    uchardet does.
    """
    for mark, charset in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if payload.startswith(mark):
            body = payload[len(mark) :]
            return _checked(body.decode(charset, "replace"), body, charset)
    of_header = _claim_of_header(payload, content_type)
    first = of_header or _claim_of_markup(payload)  # what is trusted most
    # single-byte charsets cannot fail, UTF-8 can: ask it first
    if first not in ("iso2022_jp", "utf-16-le", "utf-16-be"):
        counts = utf8_counts(payload)
        if counts.is_valid and not counts.non_ascii and _turns_to_jis(payload):
            text = _strict(payload, "iso2022_jp")
            if text is not None:
                return _checked(text, payload, "iso2022_jp")
        is_foreign = first in MULTI_BYTE and first != "utf-8"
        if counts.is_valid and not (is_foreign and counts.non_ascii < FEW_CHARS):
            if counts.controls + counts.replacements > MAX_BAD_SHARE * counts.chars:
                return Decoded(None, "utf-8")
            text = payload.decode("utf-8").replace("\0", "") if counts.nuls else None
            return PageText(payload, "utf-8", text)
    # only now: what the markup says does not matter where the header's claim is not doubted
    second = None if of_header is None else _claim_of_markup(payload)
    claims = [claim for claim in dict.fromkeys((first, second)) if claim is not None]
    for charset in claims:
        text = _strict(payload, charset)
        if text is not None:
            return _checked(text, payload, charset)
    for charset in dict.fromkeys([*claims, "utf-8"]):
        text = payload.decode(charset, "replace")
        bad = text.count("\ufffd")
        if _non_ascii(text) - bad >= GOOD_PER_BAD * bad:
            return _checked(text, payload, charset)
    guess = None if detect is None else guessed_text(payload, detect)
    text, charset = guess or (payload.decode("cp1252", "replace"), "cp1252")
    return _checked(text, payload, charset)


def _turns_to_jis(payload: bytes) -> bool:
    return b"\x1b" in payload and any(each in payload for each in TO_JIS)


def normalise(text: str) -> str:
    """The one form text is kept in: NFC, `\\n` line ends, no NUL, no lone surrogates."""
    if "\0" in text:
        text = text.replace("\0", "")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = _SURROGATE.sub("\ufffd", text)
    return nfc(text)


def _strict(payload: bytes, charset: str) -> str | None:
    try:
        return payload.decode(charset)
    except UnicodeDecodeError:
        return None


def _non_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _claim_of_header(payload: bytes, content_type: str) -> str | None:
    header = _PARAMETER.search(content_type)
    charset = charset_of_label(header[1]) if header else None
    if charset is None or not charset.startswith("utf-16"):
        return charset
    return charset if b"\0" in payload[:SCAN_BYTES] else None  # as its markup of any script has


def _claim_of_markup(payload: bytes) -> str | None:
    known = map(charset_of_label, declared_labels(payload[:SCAN_BYTES]))
    charset = next(filter(None, known), None)
    # markup that could be read as ASCII to find this is not UTF-16, whatever it says
    return "utf-8" if charset is not None and charset.startswith("utf-16") else charset


def _checked(text: str, payload: bytes, charset: str) -> PageText | Decoded:
    bad = text.count("\ufffd") if "\ufffd" in text else 0
    is_wide = charset.startswith("utf-16")
    if not is_wide:
        bad += count_control_bytes(payload)
    if bad > MAX_BAD_SHARE * len(text):
        return Decoded(None, charset)
    # asked of the bytes: looking for NUL in a wide string stops at every character
    has_nul = "\0" in text if is_wide else b"\0" in payload
    return PageText(payload, charset, text.replace("\0", "") if has_nul else text)
