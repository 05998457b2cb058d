"""The prescan of the HTML standard, case by case."""

import random

import pytest

from pageblocks.charset import decode
from pageblocks.charset_prescan import declared_labels

PRAGMA = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">'


@pytest.mark.parametrize(
    ("markup", "labels"),
    [
        ("<meta charset=koi8-r>", ["koi8-r"]),
        ("<META CHARSET='koi8-r'/>", ["koi8-r"]),
        ("<meta/charset=koi8-r>", ["koi8-r"]),
        ('<meta name="x" charset = "koi8-r" >', ["koi8-r"]),
        ("<meta\ncharset\t=\n'koi8-r'", []),  # breaks off inside the tag
        ("<meta charset=' koi8-r '>", ["koi8-r"]),
        ("<meta charset=a charset=b>", ["a"]),
        (PRAGMA, ["koi8-r"]),
        (PRAGMA.replace('"', ""), ["koi8-r"]),  # an attribute of its own
        ("<meta content='text/html;charset=koi8-r' http-equiv=content-type>", ["koi8-r"]),
        ("<meta content='charset = \"koi8-r\"' http-equiv='CONTENT-TYPE'>", ["koi8-r"]),
        ("<meta content='a; charset=koi8-r; b' http-equiv=content-type>", ["koi8-r"]),
        ("<meta content='text/html; charset=koi8-r'>", []),
        ("<meta name=description content='charset=koi8-r'>", []),
        ("<meta http-equiv=refresh content='0; charset=koi8-r'>", []),
        ("<!-- <meta charset=koi8-r> -->", []),
        (f"<!--{PRAGMA}-->", []),
        ("<!-- <meta charset=koi8-r> --><meta charset=big5>", ["big5"]),
        ("<!--><meta charset=koi8-r>", ["koi8-r"]),
        ("<!---><meta charset=koi8-r>", ["koi8-r"]),
        ("<!-- a > <meta charset=koi8-r> -- > -->", []),
        ("<!-- never closed <meta charset=koi8-r>", []),
        ("<!-- a --!><meta charset=koi8-r>", []),
        ("<!--[if IE]><meta charset=koi8-r><![endif]-->", []),
        ("<![if !IE]><meta charset=koi8-r><![endif]>", ["koi8-r"]),
        ("<!DOCTYPE html><meta charset=koi8-r>", ["koi8-r"]),
        ("<p title='<meta charset=koi8-r>'>", []),
        ('<p title="<meta charset=koi8-r>" x=">"><meta charset=big5>', ["big5"]),
        ("<p title='never closed><meta charset=koi8-r>", []),
        ("<p title=<meta charset=koi8-r>", []),
        ("<p =x='<meta charset=koi8-r>'>", []),
        ("</p title='<meta charset=koi8-r>'>", []),
        ("<?php echo '<meta charset=koi8-r>' ?>", []),  # ends at the first >
        ("</ <meta charset=koi8-r>", []),
        ("< <meta charset=koi8-r>", ["koi8-r"]),
        ("<metal charset=koi8-r>", []),
        ("<script>'<meta charset=koi8-r>'</script>", ["koi8-r"]),  # as in browsers
        ("<title><meta charset=koi8-r></title>", ["koi8-r"]),
        ("<?xml version='1.0' encoding='koi8-r'?><meta charset=big5>", ["koi8-r", "big5"]),
        ("<!-- <?xml version='1.0' encoding='koi8-r'?> -->", []),
        ("<p>charset=koi8-r", []),
        ("", []),
    ],
)
def test_declarations_are_found_as_browsers_find_them(markup: str, labels: list[str]) -> None:
    assert declared_labels(markup.encode()) == labels


def test_a_page_is_not_read_in_the_charset_of_a_comment() -> None:
    body = "<p>" + "Gr\u00fc\u00dfe aus K\u00f6ln, sch\u00f6n und gr\u00fcn. " * 20
    page = f"<html><!-- <meta charset=koi8-r> --><meta charset=iso-8859-1>{body}"
    assert decode(page.encode("cp1252")).text == page
    commented = f"<html><!-- <meta charset=koi8-r> -->{body}"
    assert decode(commented.encode("cp1252")).text == commented


def test_an_unknown_label_leaves_the_word_to_the_next() -> None:
    page = "<meta charset=nonsense><meta charset=koi8-r><p>" + "Смотритель маяка. " * 20
    assert decode(page.encode("koi8-r")).text == page


@pytest.mark.parametrize("seed", range(20))
def test_any_bytes_are_scanned_and_give_only_labels_that_stand_in_them(seed: int) -> None:
    draw = random.Random(seed)
    pieces = [
        b"<",
        b">",
        b"!--",
        b"-->",
        b"meta ",
        b"charset",
        b"=",
        b"'",
        b'"',
        b"/",
        b"?",
        b"a",
        b" ",
    ]
    for _ in range(200):
        head = b"".join(draw.choices(pieces, k=draw.randrange(40)))
        labels = declared_labels(head)
        assert len(labels) <= head.count(b"<meta "), head
        assert all(label.encode() in head for label in labels), head
        assert declared_labels(b"<a>" + b"<meta charset=koi8-r>" + head)[0] == "koi8-r"
