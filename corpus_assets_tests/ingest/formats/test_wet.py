import io

import pytest

from corpus_assets.ingest.formats.wet import read_wet
from corpus_assets.ingest.records import RawRecord
from corpus_assets_tests.ingest.warc_bytes import http, members, record, response

ORIGIN = "urn:uuid:00000000-0000-0000-0000-000000000009"


def conversion(
    text: str, url: str | None = "http://a.test/", language: str = "eng,deu", **more: str
) -> bytes:
    extra = f"WARC-Refers-To: <{ORIGIN}>"
    if language:
        extra += f"\r\nWARC-Identified-Content-Language: {language}"
    return record(text.encode(), url, "conversion", "text/plain", extra=extra, **more)


def read(*records: bytes) -> list[RawRecord]:
    return list(read_wet(io.BytesIO(members(*records)), "a.warc.wet.gz", 10_000))


def test_a_conversion_record_is_its_text_with_language_and_origin() -> None:
    info = record(b"software: x", None, "warcinfo", "application/warc-fields")
    [found] = read(info, conversion("Wörter\n\nauf Zeilen"))
    assert found.payload.decode() == "Wörter\n\nauf Zeilen"
    assert found.content_type == "text/plain; charset=utf-8"
    assert (found.url, found.language, found.refers_to) == ("http://a.test/", "eng", ORIGIN)


@pytest.mark.parametrize("language", ["", "en-, x", "7", "a" * 40])
def test_a_language_that_is_none_is_left_out(language: str) -> None:
    assert read(conversion("words", language=language))[0].language is None


def test_a_web_page_among_them_is_damage_and_counted() -> None:
    found = read(conversion("words"), response("http://b.test/"), conversion("more"))
    assert [(each.damage, each.detail) for each in found] == [
        (None, None),
        ("damaged_record", "not_a_conversion"),
        (None, None),
    ]


def test_a_truncated_conversion_is_damage() -> None:
    cut = record(http(b"x")[:5], "http://c.test/", "conversion", "text/plain", length=500)
    [found] = read(cut)
    assert found.damage == "damaged_record"
