import json
import zlib

from corpus_assets.demo.damage import (
    break_markup,
    encode,
    json_bytes,
    lying_charset,
    pdf_bytes,
    png_bytes,
    too_large_page,
)
from corpus_assets.demo.draw import Draw

PAGE = (
    '<html><head><title>t</title></head>\n<body class="a">\n<header class="h">x</header>\n'
    + "".join(f"<p>Grüße Nummer {n}. Noch ein Satz. Ende.</p>\n<li>x</li>\n" for n in range(12))
    + "</body>\n</html>"
)


def test_broken_markup_keeps_every_word() -> None:
    for number in range(8):
        broken = break_markup(PAGE, Draw("markup", number))
        assert broken != PAGE
        assert all(f"Nummer {n}." in broken for n in range(12))


def test_all_three_kinds_of_lying_charset_come_up() -> None:
    notes = set()
    for number in range(20):
        body, declared, note = lying_charset(PAGE, Draw("charset", number))
        notes.add(note)
        if "invalid" in note or declared == "utf-8":
            assert b"Gr\xfc\xdfe" in body or "Grüße".encode() in body
            try:
                body.decode("utf-8")
                raise AssertionError("these bytes should not be UTF-8")
            except UnicodeDecodeError:
                pass
        else:
            assert declared is None
            assert "Grüße" in body.decode("latin-1")
    assert len(notes) == 3


def test_characters_that_a_charset_lacks_become_references() -> None:
    assert encode("a → ü", "iso-8859-1") == b"a &#8594; \xfc"
    assert encode("港", "shift_jis").decode("cp932") == "港"


def test_a_too_large_page_has_about_three_megabytes() -> None:
    assert 2_900_000 < len(too_large_page("t", "s")) < 3_300_000


def test_the_picture_is_a_real_png() -> None:
    data = png_bytes(Draw("png"))
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at = data.index(b"IDAT")
    length = int.from_bytes(data[at - 4 : at], "big")
    assert len(zlib.decompress(data[at + 4 : at + 4 + length])) == 16 * 49


def test_the_pdf_finds_its_own_table() -> None:
    data = pdf_bytes("Tides (and) boats")
    start = int(data.split(b"startxref\n")[1].split(b"\n")[0])
    assert data[start:].startswith(b"xref")
    assert data.rstrip().endswith(b"%%EOF")


def test_the_json_body_is_json() -> None:
    assert json.loads(json_bytes("t", "x"))["body"] == "x"
