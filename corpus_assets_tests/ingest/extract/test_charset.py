"""Charsets of pages that say nothing credible of it, as uchardet and what checks it have them."""

import codecs
import gzip
import itertools
import json

from resiliparse.parse.encoding import map_encoding_to_html5

from corpus_assets.ingest.extract import decode
from corpus_assets_tests.shared_data import shared_data
from pageblocks.charset_labels import LABELS, charset_of_label

RUSSIAN = "Смотритель маяка считал корабли каждый вечер. " * 20
CHINESE = "灯塔看守人每天晚上都数船。" * 20
JAPANESE = "灯台守は毎晩船を数えていた。" * 20
GERMAN = "Der Wärter zählte größere Schiffe über Nacht, „jeden Tag“. " * 20


KOREAN = "등대지기는 매일 저녁 배를 세어 긴 책에 적어 두었다. " * 20
TRADITIONAL = "燈塔看守人每天晚上都數船，並把它們記在一本長長的書裡。" * 20
GREEK = "Ο φύλακας του φάρου μετρούσε τα πλοία κάθε βράδυ και τα έγραφε. " * 20
HEBREW = "שומר המגדלור ספר אוניות בכל ערב ורשם אותן בספר ארוך וישן. " * 20
ARABIC = "كان حارس المنارة يعد السفن كل مساء ويكتبها في كتاب طويل قديم. " * 20
FRENCH = "Le gardien du phare comptait les navires chaque soirée d’été, à côté de la forêt. " * 20
SPANISH = "El farero contaba los barcos cada mañana; ¿quién lo leerá después, señor? " * 20
WESTERN = ("de", "fr", "pt", "it", "sv", "da", "nl", "fi", "nb", "is", "ca", "ga", "eu", "sq", "af")
MARKUP = "".join(f'<li class="item-{n}"><a href="/list/{n}">Item {n}</a></li>' for n in range(99))


def read_as(raw: bytes, charset: str) -> str | None:
    try:
        return raw.decode(charset)
    except UnicodeDecodeError:
        return None


def western(text: str) -> bytes:
    return html(MARKUP + text.encode("cp1252", "ignore").decode("cp1252"), "cp1252")


def html(text: str, charset: str, declared: str = "") -> bytes:
    meta = f'<meta http-equiv="Content-Type" content="text/html; charset={declared}">'
    return f"<html><head>{meta if declared else ''}</head><p>{text}".encode(charset)


ONE_NAME = {
    "gbk": "gb18030", "big5": "big5hkscs", "shift_jis": "cp932", "euc_kr": "cp949",
    "iso8859-11": "cp874",
}  # fmt: skip
"""What resiliparse calls a charset, where its superset is read instead."""


def test_every_label_of_the_standard_is_known() -> None:
    ours = {"latin-1", "x-user-defined", "x-mac-cyrillic", "x-mac-ukrainian"}
    known = {label: codec for codec, labels in LABELS.items() for label in labels.split()}
    assert len(known) == 228 - 6 + 1  # the standard's, less those that browsers refuse, and latin-1
    for label, codec in known.items():
        assert charset_of_label(label.upper()) == codec
        if label not in ours:
            other = codecs.lookup(map_encoding_to_html5(label, False)).name
            assert codecs.lookup(ONE_NAME.get(other, other)) == codecs.lookup(codec), label
    for label in ["csiso2022kr", "hz-gb-2312", "iso-2022-cn", "iso-2022-cn-ext", "iso-2022-kr"]:
        assert charset_of_label(label) is None


def test_a_page_that_declares_nothing_is_read_in_the_charset_its_bytes_speak_for() -> None:
    for text, charset in (
        (RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (RUSSIAN, "cp866"), (KOREAN, "cp949"),
        (CHINESE, "gb18030"), (TRADITIONAL, "big5"), (JAPANESE, "cp932"), (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"), (GREEK, "cp1253"), (HEBREW, "cp1255"), (ARABIC, "cp1256"),
    ):  # fmt: skip
        for page in (text, text[:40], MARKUP + text[:120]):
            for declared in ("", "utf-8", "no-such"):
                raw = html(page, charset, declared)
                assert decode(raw).text == raw.decode(charset), (charset, declared, page[-40:])


def test_a_western_page_that_declares_nothing_stays_windows_1252() -> None:
    lines = gzip.decompress(shared_data("langid/sentences.jsonl.gz").read_bytes()).splitlines()
    rows = [json.loads(line) for line in lines]
    sentences = [row["text"] for row in rows if row["lang"] in WESTERN]
    sentences += [GERMAN, FRENCH, SPANISH, "© 2024 — don’t", "5 € «\xa0oui\xa0» ÄÖÜ ß ñ ção ÇÃO"]
    asked = 0
    for text in [*sentences, " ".join(sentences)]:
        raw = western(text)
        if read_as(raw, "utf-8") is None:
            asked += 1
            assert decode(raw) == (raw.decode("cp1252"), "cp1252"), text
    assert asked > 500


def test_a_guess_does_not_depend_on_what_was_read_before() -> None:
    pages = [html(RUSSIAN[:30], "cp1251"), html(JAPANESE, "cp932"), western(GERMAN)]
    alone = [decode(page).charset for page in pages]
    assert alone == ["cp1251", "cp932", "cp1252"]
    for order in itertools.permutations(range(3)):
        for number in order:
            assert decode(pages[number]).charset == alone[number]
