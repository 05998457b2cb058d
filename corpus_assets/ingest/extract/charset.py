"""Charset labels as browsers read them (WHATWG Encoding Standard, section 4.2), by Python's codec.

`iso-8859-1` means windows-1252, `gb2312` means GB 18030, `shift_jis` means Windows-31J. Labels
that browsers refuse to decode (`iso-2022-kr`, `hz-gb-2312` ...) are not among them, nor is UTF-7.
Spellings that the standard does not list are left to Python, if it takes them for one of these.
"""

import codecs
import re
from functools import lru_cache
from typing import NamedTuple

from resiliparse.parse.encoding import detect_encoding

from corpus_assets.ingest.kernels.utf8 import count_control_bytes, utf8_counts
from corpus_assets.text.normal_forms import nfc

LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 "
    "iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 "
    "iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 "
    "iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 "
    "iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 "
    "iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 "
    "iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 "
    "iso88598 iso_8859-8 iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac_roman": "csmacintosh mac macintosh x-mac-roman",
    "mac_cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 "
    "iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 latin-1 us-ascii windows-1252 "
    "x-cp1252 x-user-defined",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 "
    "iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb18030 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 "
    "x-gbk",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 "
    "ksc_5601 windows-949",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
}
MULTI_BYTE = frozenset(
    {
        "big5hkscs", "cp932", "cp949", "euc_jp", "gb18030", "iso2022_jp",
        "utf-16-be", "utf-16-le", "utf-8",
    }
)  # fmt: skip

_CODECS = {label: codec for codec, labels in LABELS.items() for label in labels.split()}


@lru_cache(maxsize=256)
def charset_of_label(label: str) -> str | None:
    """Return the codec a browser would use for a charset label; None for one it does not know."""
    label = label.strip().lower()
    if label in _CODECS:
        return _CODECS[label]
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    return name if name in LABELS else _CODECS.get(name.replace("_", "-"), _CODECS.get(name))


# A guess at the charset of a page that says nothing credible of it and is not UTF-8.
#
# 1. From the page's text the pieces with bytes beyond ASCII are taken, 4 KiB at most.
# 2. uchardet names a charset for them. Only other scripts than Latin count: short Western text it
#    mistakes for Central European one time in ten.
# 3. The page must decode in it but for a few characters, and most letters beyond ASCII must stand
#    in runs, as they do in such scripts and do not in Western text.
#
# Cost: a few milliseconds for each page that comes to this; the others pay nothing.

SAMPLE_BYTES = 1 << 12
MIN_IN_RUNS = 0.6
GUESS_GOOD_PER_BAD = 50

# What uchardet calls them -> what they are read as: KOI8-U and windows-1255 hold the letters of
# their older kin, and Cyrillic of a Macintosh is hardly met while it is easily mistaken for.
NOT_LATIN = {
    "big5": "big5hkscs", "shift_jis": "cp932", "cp949": "cp949", "euc_kr": "cp949",
    "euc_jp": "euc_jp", "gb18030": "gb18030",
    "cp1251": "cp1251", "mac-cyrillic": "cp1251", "koi8-r": "koi8-u", "cp866": "cp866",
    "iso8859-5": "iso8859-5",
    "cp1253": "cp1253", "iso8859-7": "iso8859-7", "cp1255": "cp1255", "iso8859-8": "cp1255",
    "cp1256": "cp1256", "iso8859-6": "iso8859-6", "tis-620": "cp874",
}  # fmt: skip

# No trail byte of a two-byte charset is `<` or `>`, and a byte beyond ASCII that follows ASCII
# over such a distance is a lead byte: pieces begin and end between characters.
_PIECE = re.compile(rb"(?:[\x80-\xff][^\x80-\xff<>]{0,16})++")
_C1 = re.compile(rb"[\x80-\x9f]")
_RUN = re.compile(r"(?:[^\W\d_\x00-\x7f]|[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])+")  # or a mark of Thai


def guessed_text(payload: bytes) -> tuple[str, str] | None:
    """Text and charset of a page in a script other than Latin; None when nothing is credible."""
    sample = _sample(payload)
    charset = NOT_LATIN.get(detect_encoding(sample, html5_compatible=False) or "")
    if charset is None:
        return None
    if charset == "iso8859-7" and _C1.search(payload):
        charset = "cp1253"  # the same letters, and quotation marks where ISO 8859 has controls
    text = payload.decode(charset, "replace")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    bad = text.count("\ufffd")
    if (
        beyond_ascii - bad < GUESS_GOOD_PER_BAD * bad
        or _share_in_runs(sample, charset) < MIN_IN_RUNS
    ):
        return None
    return text, charset


def _share_in_runs(sample: bytes, charset: str) -> float:
    """Of all letters beyond ASCII those in runs of two, in single-byte charsets of three."""
    min_chars = 2 if charset in MULTI_BYTE else 3
    lengths = [len(run) for run in _RUN.findall(sample.decode(charset, "ignore"))]
    return sum(n for n in lengths if n >= min_chars) / max(1, sum(lengths))


def _sample(payload: bytes) -> bytes:
    pieces: list[bytes] = []
    left = SAMPLE_BYTES
    for found in _PIECE.finditer(payload):
        pieces.append(found[0][:left])
        left -= len(pieces[-1])
        if left <= 0:
            break
    return b"\n".join(pieces)


# The charset that markup declares, found as browsers find it before they parse.
#
# This is "prescan a byte stream" of the HTML standard (13.2.3.2): comments are passed over, and so
# are attributes of other tags, whatever they hold; of `<meta>` counts a `charset`, or a `content` with
# `http-equiv=content-type`. What stands in a script or a title is not told apart, there neither.

_BLANK = rb"\t\n\f\r "
_META = re.compile(rb"<meta(?=[\t\n\f\r /])", re.IGNORECASE)
_TAG = re.compile(rb"</?[A-Za-z][^\t\n\f\r >]*+")
_ATTRIBUTE = re.compile(
    rb"[%(blank)s/]*+(=?[^%(blank)s/=>]*+)[%(blank)s]*+"
    rb"(?:=[%(blank)s]*+(?:\"([^\"]*+)(\"?)|'([^']*+)('?)|([^%(blank)s>]*+)))?" % {b"blank": _BLANK}
)
_CONTENT = re.compile(
    rb"charset[%(blank)s]*=[%(blank)s]*(?:\"([^\"]*)\"|'([^']*)'|([^%(blank)s;\"'][^%(blank)s;]*))"
    % {b"blank": _BLANK},
    re.IGNORECASE,
)
_XML = re.compile(rb"\s*<\?xml\b[^>]{0,256}?\bencoding\s*=\s*[\"']([\w.:-]{1,40})", re.IGNORECASE)


def declared_labels(head: bytes) -> list[str]:
    """Labels that the beginning of a page declares: of an XML declaration, of its `<meta>` tags."""
    xml = _XML.match(head)
    labels = [xml[1]] if xml else []
    at = head.find(b"<")
    while at >= 0:
        meta = _META.match(head, at)
        tag = meta or _TAG.match(head, at)
        if tag is not None:
            at, attributes = _attributes(head, tag.end())
            label = _label(attributes) if meta else None
            labels += [label] if label else []
        elif head.startswith(b"<!--", at):
            at = _after(head, b"-->", at + 2)  # `<!-->` is a whole one
        elif head[at + 1 : at + 2] in (b"!", b"/", b"?"):
            at = _after(head, b">", at + 1)
        else:
            at += 1
        at = -1 if at < 0 else head.find(b"<", at)
    return [label.decode("ascii", "replace") for label in labels]


def _attributes(head: bytes, at: int) -> tuple[int, dict[bytes, bytes]]:
    """Attributes of a tag, of equal names the first, and the place after them; -1 in the middle
    of one."""
    found: dict[bytes, bytes] = {}
    while at < len(head):
        if attribute := _ATTRIBUTE.match(head, at):
            name, double, double_end, single, single_end, bare = attribute.groups()
            if (double is not None and not double_end) or (single is not None and not single_end):
                return -1, {}
            at = attribute.end()
            if not name:
                return at + 1, found
            found.setdefault(name.lower(), double or single or bare or b"")
    return -1, {}


def _label(meta: dict[bytes, bytes]) -> bytes | None:
    if b"charset" in meta:
        return meta[b"charset"].strip()
    if meta.get(b"http-equiv", b"").lower() != b"content-type":
        return None
    found = _CONTENT.search(meta.get(b"content", b""))
    return (found[1] or found[2] or found[3]) if found else None


def _after(head: bytes, end: bytes, at: int) -> int:
    found = head.find(end, at)
    return -1 if found < 0 else found + len(end)


# From bytes to text: which charset a page is in, whatever it says of itself.
#
# Order: byte order mark, HTTP header, XML declaration or `<meta>` in the first 4 KB
# (`ingest.extract.charset`), UTF-8 when the bytes are valid UTF-8, a guess, windows-1252. A declaration is a claim and is checked:
#
# * declared otherwise but valid UTF-8: it is UTF-8 (prose of another charset practically never is,
#   while any bytes at all decode as a single-byte charset, so that proves nothing);
# * declared, and invalid in it: the next claim; then the first claim in which good characters far
#   outnumber bad ones, these replaced by U+FFFD as browsers do; then the guess;
# * ASCII with the escape sequences of ISO-2022-JP is that.
#
# The guess (`ingest.extract.charset`) is for scripts other than Latin; all else is windows-1252.
# Labels are read as browsers read them (`ingest.extract.charset`).
# Cost: pages in UTF-8 are checked, not decoded, until somebody asks for their text (`PageText`);
# others take one decode.

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
    """Return a page's text; `Decoded` with no text when the bytes are none."""
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
    text, charset = guessed_text(payload) or (payload.decode("cp1252", "replace"), "cp1252")
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
