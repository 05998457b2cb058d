"""Pages that say what they are, and pages whose form does."""

from pathlib import Path
from random import Random
from typing import get_args

import pytest
from pydantic import ValidationError

from corpus_assets.core.urls import Blocklist
from corpus_assets.ingest.documents import IngestSettings, ingest_part
from corpus_assets.ingest.extract import ExtractionSettings, Extractor, extractor_version
from corpus_assets.ingest.extractors.engines import PAGE_TYPES_VERSION, PageType
from corpus_assets.ingest.extractors.page_types import MAX_BYTES, page_type
from corpus_assets.ingest.kernels.blocks import find_blocks
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets_tests.ingest.extract.test_blocks_engine import ARTICLE, POST, SENTENCE
from corpus_assets_tests.ingest.kernels.test_block_features import random_page
from corpus_assets_tests.ingest.test_documents import WEB, pinned
from corpus_assets_tests.ingest.warc_bytes import members, response

POSTS = "".join(POST.format(f"user{n}", SENTENCE * 2) for n in range(5))
CARDS = "".join(
    f"<div class=card><a href=/{n}>The {n}th thing of them all</a> <span>of many</span></div>"
    for n in range(20)
)
PRODUCT = "<div class=product><h1>Lamp</h1><div class=price>€ 19</div><div class=sku>1</div><div class=cart>x</div></div>"
CODE = "<p>Call it.</p><pre>f(x)\n  g(y)\n</pre>" * 4


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (ARTICLE, "article"),
        (f"<body><h1>How high?</h1>{POSTS}", "forum"),
        (f"<body>{CARDS}", "listing"),
        (f"<body>{PRODUCT}", "product"),
        (f"<body><h1>f</h1>{CODE}", "documentation"),
        (f'<link rel="canonical" href="https://a.test/">{ARTICLE}', "home_page"),
        ('<meta property="og:url" content="https://a.test/">', "home_page"),
        ("<p>A line.", "other"),
        ("", "other"),
        ('<script type="application/ld+json">{"@type": "QAPage"}</script><p>?', "forum"),
        ('<div itemscope itemtype="https://schema.org/Product">Lamp</div>', "product"),
        ('<div itemscope itemtype="https://schema.org/Product">Lamp</div>' * 3, "listing"),
        ('<meta content="article" property="og:type"><p>A line.', "other"),
        ('<meta property="og:type" content="product">', "product"),
        ("<meta name=generator content='phpBB 3'><p>Hello", "forum"),
        ("<meta name=generator content='Sphinx 7.2'><p>Hello", "documentation"),
        ('<script>{"@type":["NewsArticle"]}</script><p>x', "article"),
    ],
)  # fmt: skip
def test_pages_are_what_they_say_or_what_they_look_like(page: str, expected: str) -> None:
    assert page_type(page.encode()) == expected


def test_a_menu_makes_no_listing_of_an_article() -> None:
    menu = "".join(f"<li><a href=/{n}>Section number {n} of the paper</a>" for n in range(200))
    assert page_type(f"<nav><ul>{menu}</ul></nav>{ARTICLE}".encode()) == "article"


def test_any_page_has_a_type_and_always_the_same() -> None:
    for seed in range(60):
        page = random_page(Random(seed))
        assert page_type(page) == page_type(bytes(page))
        assert page_type(page) in get_args(PageType)
    for page in (b"<", b"\0" * 50, b"<div>" * 3000, b"\xff" * 99, b"<meta" * 9999, b"</p>"):
        assert page_type(page) in get_args(PageType)


def test_the_end_of_a_very_long_page_is_not_looked_at() -> None:
    filler = b"<!--" + b" " * MAX_BYTES + b"-->"
    assert page_type(filler + ARTICLE.encode()) == "other"


def test_the_type_is_noted_with_every_engine() -> None:
    for engine in ("trafilatura", "resiliparse", "blocks"):
        settings = ExtractionSettings(engine=engine, page_type=True)
        found = Extractor(settings).extract(ARTICLE)
        plain = Extractor(ExtractionSettings(engine=engine)).extract(ARTICLE)
        assert (found.text, found.page_type) == (plain.text, "article")
        assert plain.page_type is None, "not noted where nobody asks"


def test_the_type_is_the_same_from_the_blocks_of_an_engine() -> None:
    for seed in range(20):
        page = random_page(Random(seed))
        assert page_type(page, find_blocks(page)) == page_type(page)
    page = b"<!--" + b" " * MAX_BYTES + b"-->" + ARTICLE.encode()
    assert page_type(page, find_blocks(page)) == page_type(page) == "other"


def test_a_higher_chance_keeps_less() -> None:
    texts = [
        Extractor(ExtractionSettings(engine="blocks", min_chance=chance)).extract(ARTICLE).text
        for chance in (0.0, 0.5, 1.0)
    ]
    assert len(texts[0]) > len(texts[1]) > len(texts[2]) == 0


@pytest.mark.parametrize("engine", ["trafilatura", "resiliparse"])
def test_a_chance_is_refused_for_engines_without_one(engine: str) -> None:
    with pytest.raises(ValidationError, match="min_chance is for blocks"):
        ExtractionSettings.model_validate({"engine": engine, "min_chance": 0.5})


def test_the_version_of_types_counts_in_the_identity_where_types_are_noted() -> None:
    plain, noted = ExtractionSettings(), ExtractionSettings(page_type=True)
    versions = f"{extractor_version(plain)}, page types {PAGE_TYPES_VERSION}"
    assert extractor_version(noted) == versions


def test_documents_have_the_type_of_their_page_and_none_where_there_is_no_page(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.warc.gz"
    plain = response("http://a.test/2", SENTENCE.encode(), headers="Content-Type: text/plain")
    path.write_bytes(members(response("http://a.test/1", ARTICLE.encode()), plain))
    settings = IngestSettings(extraction=ExtractionSettings(engine="blocks", page_type=True))
    _, found = ingest_part(
        WEB, "s", 0, pinned(path), settings, Blocklist(()), Suppressions.from_rows([])
    )
    types = dict(zip(found["url_key"].to_pylist(), found["page_type"].to_pylist(), strict=True))
    assert sorted(types.values(), key=str) == [None, "article"]


def test_the_setting_is_no_part_of_identities_that_do_not_use_it() -> None:
    assert "page_type" not in ExtractionSettings().identity()
    assert ExtractionSettings(page_type=True).identity()["page_type"] is True
