"""Charsets that pages declare, or show in their bytes; what they are guessed to be is up to a detector."""

import unicodedata

import pytest

from pageblocks.charset import PageText, decode, normalise, read_page
from pageblocks.charset_labels import charset_of_label

RUSSIAN = "Смотритель маяка считал корабли каждый вечер. " * 20
CHINESE = "灯塔看守人每天晚上都数船。" * 20
JAPANESE = "灯台守は毎晩船を数えていた。" * 20
GERMAN = "Der Wärter zählte größere Schiffe über Nacht, „jeden Tag“. " * 20


def html(text: str, charset: str, declared: str = "") -> bytes:
    meta = f'<meta http-equiv="Content-Type" content="text/html; charset={declared}">'
    return f"<html><head>{meta if declared else ''}</head><p>{text}".encode(charset)


@pytest.mark.parametrize(
    ("text", "charset", "label"),
    [
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "KOI8-R"),
        (CHINESE, "gbk", "gb2312"),
        (CHINESE.replace("灯", "燈").replace("数", "數"), "gb18030", "GBK"),
        (JAPANESE, "shift_jis", "Shift_JIS"),
        (JAPANESE, "euc_jp", "x-euc-jp"),
        (JAPANESE, "iso2022_jp", "iso-2022-jp"),
        (GERMAN, "cp1252", "ISO-8859-1"),
        (GERMAN, "utf-8", "utf8"),
    ],
)
def test_the_header_or_the_page_names_the_charset(text: str, charset: str, label: str) -> None:
    in_header = decode(html(text, charset), f'text/html; charset="{label}"')
    in_page = decode(html(text, charset, label), "text/html")
    assert in_header.text is not None
    assert in_header.text.endswith(text)
    assert in_page.text is not None
    assert in_page.text.endswith(text)


def test_a_byte_order_mark_speaks_before_everything_else() -> None:
    for charset in ("utf-8-sig", "utf-16"):
        found = decode(html(GERMAN, charset, "koi8-r"), "text/html; charset=koi8-r")
        assert found.text is not None
        assert found.text.endswith(GERMAN)
        assert not found.text.startswith("\ufeff")


@pytest.mark.parametrize(
    "lie", ["iso-8859-1", "windows-1251", "gb2312", "shift_jis", "nonsense", ""]
)
def test_a_page_that_is_utf_8_is_read_as_utf_8_whatever_it_says(lie: str) -> None:
    found = decode(html(RUSSIAN, "utf-8", lie), f"text/html; charset={lie}")
    assert found.text is not None
    assert found.text.endswith(RUSSIAN)


def test_a_page_that_says_utf_8_and_is_not_is_read_as_windows_1252() -> None:
    found = decode(html(GERMAN, "cp1252", "utf-8"), "text/html; charset=utf-8")
    assert found.charset == "cp1252"
    assert found.text is not None
    assert found.text.endswith(GERMAN)


def test_a_page_that_says_utf_8_and_means_its_meta_is_read_by_its_meta() -> None:
    found = decode(html(RUSSIAN, "cp1251", "windows-1251"), "text/html; charset=utf-8")
    assert found.text is not None
    assert found.text.endswith(RUSSIAN)


def test_one_bad_byte_does_not_turn_a_page_into_mojibake() -> None:
    for charset, label in (("utf-8", "utf-8"), ("gbk", "gbk")):
        page = html(CHINESE, charset, label)
        found = decode(page[:-3] + b"\xff" + page[-3:], f"text/html; charset={label}")
        assert found.text is not None
        assert CHINESE[:-2] in found.text
    russian = decode(html(RUSSIAN, "cp1251") + b"\x98", "text/html; charset=windows-1251")
    assert russian.text is not None
    assert RUSSIAN in russian.text


def test_a_short_page_in_gbk_is_not_taken_for_the_utf_8_it_happens_to_be() -> None:
    assert decode("联通".encode("gbk"), "text/html; charset=gbk").text == "联通"


def test_a_page_that_claims_utf_16_in_ascii_is_read_as_it_is() -> None:
    assert decode(html("plain", "ascii", "utf-16"), "text/html; charset=utf-16").text == html(
        "plain", "ascii", "utf-16"
    ).decode("ascii")


def test_nul_bytes_are_removed() -> None:
    found = decode(b"<p>one\0 two\0</p>", "text/html; charset=utf-8")
    assert found.text == "<p>one two</p>"


@pytest.mark.parametrize(
    "payload", [bytes(range(256)) * 50, b"%PDF-1.5\n" + bytes(range(1, 256)) * 9]
)
def test_bytes_that_are_no_text_are_undecodable(payload: bytes) -> None:
    assert decode(payload, "text/html").text is None


@pytest.mark.parametrize(
    ("labels", "codec"),
    [
        ("iso-8859-8-i logical visual csiso88598i", "iso8859-8"),
        ("iso_8859-9 iso88599 csisolatin5 x-cp1254 l5", "cp1254"),
        ("cn-big5 csbig5 big5-hkscs", "big5hkscs"),
        ("ksc_5601 csksc56011987 iso-ir-149 ks_c_5601-1989", "cp949"),
        ("koi8 koi cskoi8r", "koi8-r"),
        ("ucs-2 csunicode iso-10646-ucs-2 unicodefeff", "utf-16-le"),
        ("unicodefffe utf-16be", "utf-16-be"),
        ("csisolatin2 iso_8859-2:1987 l2", "iso8859-2"),
        ("dos-874 iso885911", "cp874"),
        ("sun_eu_greek elot_928", "iso8859-7"),
        ("csgb2312 iso-ir-58 gb_2312", "gb18030"),
        ("cseucpkdfmtjapanese", "euc_jp"),
        ("ansi_x3.4-1968 cp819 ibm819", "cp1252"),
    ],
)
def test_rare_labels_are_read_as_the_standard_lists_them(labels: str, codec: str) -> None:
    assert {charset_of_label(label) for label in labels.split()} == {codec}


def test_labels_are_read_as_browsers_read_them() -> None:
    assert charset_of_label(" Latin1 ") == "cp1252"
    assert charset_of_label("KS_C_5601-1987") == "cp949"
    assert charset_of_label("iso-8859-2") == "iso8859-2"
    for unsafe in ("utf-7", "rot13", "idna", "unicode_escape", "no-such", "zlib", "a\0b"):
        assert charset_of_label(unsafe) is None


def test_text_about_terminals_is_not_japanese() -> None:
    for text in ("\x1b[1mbold\x1b[0m", "\x1b$Bodd", "\x1b$B\x7f\x7f\x1b(B"):
        assert decode(text.encode()) == (text, "utf-8")


def test_normal_form_is_nfc_with_line_feeds_and_no_lone_surrogates() -> None:
    assert normalise("e\u0301\r\na\rb\0c\ud800d") == "\u00e9\na\nbc\ufffdd"
    odd = "".join(map(chr, range(0x300))) * 2 + "\u1100\u1161\u11a8"
    assert unicodedata.is_normalized("NFC", normalise(odd))


def test_a_payload_is_its_text_in_utf8_only_where_nothing_was_changed() -> None:
    for payload in (
        b"plain", "Grüße".encode(), b"\xef\xbb\xbfmarked", b"a\0b", b"bad \xff byte" * 9,
        "replaced \ufffd".encode(), "Grüße".encode("latin-1"), "wide".encode("utf-16-le"), b"",
    ):  # fmt: skip
        page = read_page(payload)
        if isinstance(page, PageText):
            assert page.utf8 == page.text.encode()
            assert page.beginning(1000) == page.text
            assert page.text == decode(payload).text
    same = read_page("Grüße".encode())
    assert isinstance(same, PageText)
    assert same.utf8 is same.payload


def test_the_beginning_of_a_page_never_ends_in_half_a_character() -> None:
    page = read_page(("ä" * 100).encode())
    assert isinstance(page, PageText)
    assert page.beginning(7) == "äää"


def test_without_a_detector_a_page_that_says_nothing_is_read_as_windows_1252() -> None:
    raw = html(RUSSIAN, "cp1251")
    assert decode(raw) == (raw.decode("cp1252"), "cp1252")
    assert decode(raw, detect=lambda sample: None) == decode(raw)


def test_a_detector_is_asked_with_little_of_the_page_and_believed_where_letters_stand_in_runs() -> (
    None
):
    asked: list[bytes] = []

    def detect(sample: bytes) -> str:
        asked.append(sample)
        return "cp1251"

    assert decode(html(RUSSIAN * 50, "cp1251"), detect=detect).charset == "cp1251"
    assert len(asked[0]) < 10_000
    assert decode(html(GERMAN, "cp1252"), detect=detect).charset == "cp1252"


def test_no_detector_is_asked_of_a_page_whose_charset_is_known() -> None:
    def refuse(sample: bytes) -> str:
        raise AssertionError("asked")

    for page in (html(RUSSIAN, "utf-8"), html(RUSSIAN, "koi8-r", "koi8-r")):
        assert RUSSIAN in (decode(page, detect=refuse).text or "")
