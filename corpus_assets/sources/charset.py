"""From bytes to text: which charset a page is in, whatever it says of itself.

Order: byte order mark, HTTP header, `<meta>` or XML declaration in the first 4 KB, UTF-8 when the
bytes are valid UTF-8, windows-1252. A declaration is a claim and is checked:

* declared otherwise but valid UTF-8: it is UTF-8 (prose of another charset practically never is,
  while any bytes at all decode as a single-byte charset, so that proves nothing);
* declared, and invalid in it: the next claim; then the first claim in which good characters far
  outnumber bad ones, these replaced by U+FFFD as browsers do; then windows-1252.

Labels are read as browsers read them (WHATWG Encoding Standard): `iso-8859-1` means windows-1252,
`gb2312` means GB 18030, `shift_jis` means Windows-31J.
Cost: pages in UTF-8 are checked, not decoded, until somebody asks for their text (`PageText`);
others take one decode.
"""

import codecs
import re
from functools import lru_cache
from typing import NamedTuple

from corpus_assets.kernels.control_bytes import count_control_bytes
from corpus_assets.kernels.utf8 import utf8_counts
from corpus_assets.normal_forms import nfc

SCAN_BYTES = 4096
MAX_BAD_SHARE = 0.02  # control and replacement characters; more than this is not text
FEW_CHARS = 16  # so few characters beyond ASCII may be valid UTF-8 by chance in GBK or Big5
GOOD_PER_BAD = 4  # valid sequences for each invalid one that still make a charset credible

_META = re.compile(
    rb"<meta\b[^>]{0,1024}?\bcharset\s*=\s*[\"']?\s*([\w.:-]{1,40})"
    rb"|<\?xml\b[^>]{0,256}?\bencoding\s*=\s*[\"']([\w.:-]{1,40})",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")

_ALIASES = {
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "iso_8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "l1": "cp1252",
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "windows-1252": "cp1252",
    "x-cp1252": "cp1252",
    "x-user-defined": "cp1252",
    "iso-8859-9": "cp1254",
    "latin5": "cp1254",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
    "windows-874": "cp874",
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "gb2312": "gb18030",
    "gb_2312-80": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "chinese": "gb18030",
    "big5": "big5hkscs",
    "x-x-big5": "big5hkscs",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "ms_kanji": "cp932",
    "x-euc-jp": "euc_jp",
    "euc-kr": "cp949",
    "euckr": "cp949",
    "ks_c_5601-1987": "cp949",
    "ksc5601": "cp949",
    "korean": "cp949",
    "windows-949": "cp949",
    "utf8": "utf-8",
    "utf-16": "utf-16-le",
    "unicode": "utf-16-le",
    "unicode-1-1-utf-8": "utf-8",
    "x-mac-roman": "mac_roman",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "koi8-ru": "koi8-u",
}
_MULTI_BYTE = frozenset(
    {
        "big5hkscs", "cp932", "cp949", "euc_jp", "gb18030", "iso2022_jp",
        "utf-16-be", "utf-16-le", "utf-8",
    }
)  # fmt: skip
_SINGLE_BYTE = frozenset(
    {
        "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258",
        "cp866", "cp874", "koi8-r", "koi8-u", "mac_cyrillic", "mac_roman",
        *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
    }
)  # fmt: skip


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
            self._text = self.payload.decode("utf-8")
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


def decode(payload: bytes, content_type: str = "") -> Decoded:
    """Decode a page; NUL characters are removed."""
    found = read_page(payload, content_type)
    return found if isinstance(found, Decoded) else Decoded(found.text, found.charset)


def read_page(payload: bytes, content_type: str = "") -> PageText | Decoded:
    """A page's text; `Decoded` with no text when the bytes are none."""
    for mark, charset in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if payload.startswith(mark):
            body = payload[len(mark) :]
            return _checked(body.decode(charset, "replace"), body, charset)
    claims = _claims(payload, content_type)
    seven_bit = claims[:1] in (["iso2022_jp"], ["utf-16-le"], ["utf-16-be"])
    if not seven_bit:  # single-byte charsets cannot fail, UTF-8 can: ask it first
        counts = utf8_counts(payload)
        is_foreign = claims and claims[0] in _MULTI_BYTE and claims[0] != "utf-8"
        if counts.is_valid and not (is_foreign and counts.non_ascii < FEW_CHARS):
            if counts.controls + counts.replacements > MAX_BAD_SHARE * counts.chars:
                return Decoded(None, "utf-8")
            text = payload.decode("utf-8").replace("\0", "") if counts.nuls else None
            return PageText(payload, "utf-8", text)
    for charset in claims:
        text = _strict(payload, charset)
        if text is not None:
            return _checked(text, payload, charset)
    for charset in dict.fromkeys([*claims, "utf-8"]):
        text = payload.decode(charset, "replace")
        bad = text.count("\ufffd")
        if _non_ascii(text) - bad >= GOOD_PER_BAD * bad:
            return _checked(text, payload, charset)
    return _checked(payload.decode("cp1252", "replace"), payload, "cp1252")


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


@lru_cache(maxsize=256)
def charset_of_label(label: str) -> str | None:
    """The codec a browser would use for a charset label; None for one it does not know."""
    label = label.strip().lower()
    if label in _ALIASES:
        return _ALIASES[label]
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    name = _ALIASES.get(name, name)
    return name if name in _MULTI_BYTE or name in _SINGLE_BYTE else None


def _strict(payload: bytes, charset: str) -> str | None:
    try:
        return payload.decode(charset)
    except UnicodeDecodeError:
        return None


def _non_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _claims(payload: bytes, content_type: str) -> list[str]:
    """Charsets the header and the page name, most trusted first."""
    claims: list[str] = []
    header = _PARAMETER.search(content_type)
    charset = charset_of_label(header[1]) if header else None
    has_nul = b"\0" in payload[:SCAN_BYTES]  # as UTF-16 of any script's markup has
    if charset is not None and (has_nul or not charset.startswith("utf-16")):
        claims.append(charset)
    meta = _META.search(payload[:SCAN_BYTES])
    if meta and (charset := charset_of_label((meta[1] or meta[2]).decode("ascii", "replace"))):
        # markup that could be read as ASCII to find this is not UTF-16, whatever it says
        claims.append("utf-8" if charset.startswith("utf-16") else charset)
    return list(dict.fromkeys(claims))


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
