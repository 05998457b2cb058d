import unicodedata

import pytest

from corpus_assets.sources.charset import PageText, charset_of_label, decode, normalise, read_page

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


def test_labels_are_read_as_browsers_read_them() -> None:
    assert charset_of_label(" Latin1 ") == "cp1252"
    assert charset_of_label("KS_C_5601-1987") == "cp949"
    assert charset_of_label("iso-8859-2") == "iso8859-2"
    for unsafe in ("utf-7", "rot13", "idna", "unicode_escape", "no-such", "zlib", "a\0b"):
        assert charset_of_label(unsafe) is None


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
