"""Two cheap engines that have to agree, a third where they do not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from corpus_assets.core.schemas import DOCUMENTS, PAGE_NOTES
from corpus_assets.core.urls import Blocklist
from corpus_assets.ingest.documents import IngestSettings, ingest_part
from corpus_assets.ingest.extract import ExtractionSettings, Extractor, extractor_version
from corpus_assets.ingest.extract.extractor import engine_options
from corpus_assets.ingest.extractors import engines
from corpus_assets.ingest.extractors.engines import make_engine, make_reader
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets_tests.ingest.extract.test_blocks_engine import ARTICLE, SENTENCE
from corpus_assets_tests.ingest.test_documents import WEB, pinned
from corpus_assets_tests.ingest.warc_bytes import members, response

SETTINGS = ExtractionSettings(engine="agreement", mode="precision", min_agreement=0.8)
OPTIONS = engine_options(SETTINGS)


def test_where_two_agree_blocks_answers_and_nobody_else_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = made_of(monkeypatch, blocks="a b c d e", resiliparse="a b c d e f", trafilatura=None)
    assert read(b"")[:3] == ("a b c d e", "blocks", 909)


@pytest.mark.parametrize(
    ("texts", "text", "by"),
    [
        (("a b c", "x y z", "x y z v"), "x y z", "resiliparse"),
        (("a b c", "x y z", "a b c d"), "a b c", "blocks"),
        (("a b v w", "x y v w", "a b x y"), "a b v w", "blocks"),  # a tie
        (("a b c d e f", "c d g h i j", "a b c d g h"), "a b c d g h", "trafilatura"),
        (("a b c", "x y z", ""), "a b c", "blocks"),
        (("", "x y z", "x y z v"), "x y z", "resiliparse"),
    ],
)
def test_where_two_disagree_the_text_that_the_others_agree_with_most_is_taken(
    texts: tuple[str, str, str], text: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = made_of(monkeypatch, **dict(zip(engines.AGREEING, texts, strict=True)))
    assert read(b"")[:2] == (text, by)


def made_of(monkeypatch: pytest.MonkeyPatch, **texts: str | None) -> Callable[[bytes], Any]:
    """A reader whose engines have these texts for any page; None: one that must not be asked."""

    def engine(options: dict[str, Any]) -> Callable[[bytes, object], str]:
        def extract(page: bytes, parsed: object) -> str:
            text = texts[options["engine"]]
            assert text is not None or page == b"<p>a", "asked for nothing"
            return text or ""

        return extract

    monkeypatch.setattr(engines, "with_parse", engine)
    return make_reader(OPTIONS)


def test_the_notes_of_a_page_come_out_of_the_process_with_its_text() -> None:
    found = Extractor(SETTINGS).extract_all([ARTICLE.encode(), b"", b"<p>\xff"])
    read = make_reader(OPTIONS)
    assert found[0].notes["extracted_by"] == "blocks"
    assert found[0].text == make_engine(OPTIONS | {"engine": "blocks"})(ARTICLE.encode())
    assert found[0].notes["agreement"] == read(ARTICLE.encode()).agreement
    assert found[1].notes == {"extracted_by": "blocks", "agreement": 1000, "page_type": None}
    assert not found[1].text


def test_all_engines_are_part_of_the_identity() -> None:
    said = extractor_version(SETTINGS)
    assert all(name in said for name in engines.AGREEING)


@pytest.mark.parametrize(
    "settings",
    [
        {"engine": "agreement"},
        {"engine": "blocks", "min_agreement": 0.5},
        {"engine": "agreement", "min_agreement": 1.5},
        {"engine": "agreement", "min_agreement": 0.5, "include_comments": True},
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExtractionSettings(**settings)


def test_identities_of_other_engines_do_not_know_of_it() -> None:
    assert "min_agreement" not in ExtractionSettings().identity()
    assert SETTINGS.identity()["min_agreement"] == 0.8


def test_documents_say_who_extracted_them_whatever_else_is_in_the_part(tmp_path: Path) -> None:
    posts = "".join(f"<div class=post>{SENTENCE}{n}</div>" for n in range(5))
    pages = [("http://a.test/1", ARTICLE.encode()), ("http://a.test/2", posts.encode())]
    path = tmp_path / "a.warc.gz"
    path.write_bytes(members(*(response(url, page) for url, page in pages)))
    settings = IngestSettings(extraction=SETTINGS)

    def documents(orders: list[tuple[str, str]]) -> list[dict[str, Any]]:
        suppressions = Suppressions.from_rows(orders)
        _, found = ingest_part(WEB, "s", 0, pinned(path), settings, Blocklist(()), suppressions)
        assert found.schema.names == [*DOCUMENTS.names, *PAGE_NOTES.names[:2]]
        rows: list[dict[str, Any]] = found.to_pylist()
        return rows

    both = documents([])
    assert len(both) == 2
    assert all(row["extracted_by"] in engines.AGREEING for row in both)
    assert all(0 <= row["agreement"] <= 1000 for row in both)
    (gone,) = (row for row in both if row["url_key"].endswith("/2"))
    assert documents([("doc_id", gone["doc_id"].hex())]) == [row for row in both if row != gone]
