from collections import defaultdict

import pytest
from trafilatura import extract

from corpus_assets.demo.capture import Capture
from corpus_assets.demo.library import Library
from corpus_assets.demo.pages import FAMILIES, site_words
from corpus_assets.demo.sites import SITES


def extracted(capture: Capture) -> str:
    return extract(capture.exchange.body, fast=True, include_comments=False) or ""


def plain(text: str) -> str:
    """Without what broken encodings and markup may have put between the words."""
    kept = "".join(c if c.isalnum() else " " for c in text if c.isascii())
    return " ".join(kept.split())


def with_article(captures: list[Capture], family: str, phenomenon: str | None) -> list[Capture]:
    wanted = [
        each
        for each in captures
        if each.site.family == family
        and each.article is not None
        and each.lang in ("en", "de", "fr", "es")
        and len(each.article.paragraphs) > 2
        and each.site.kind == "articles"
        and (phenomenon in each.planted if phenomenon else each.is_plain())
    ]
    return wanted[:: max(1, len(wanted) // 12)][:12]


def test_there_are_sixty_sites_on_reserved_names_in_eight_families() -> None:
    assert len(SITES) == len({site.host for site in SITES}) == 60
    assert all(site.host.endswith((".example", ".example.org")) for site in SITES)
    assert {site.family for site in SITES} == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_article_is_extracted_and_nothing_around_it(
    family: str, captures: list[Capture], library: Library
) -> None:
    sample = with_article(captures, family, None)
    assert len(sample) >= 8
    for capture in sample:
        text = extracted(capture)
        assert capture.article is not None
        sentences = capture.article.sentences()
        assert " ".join(sentences[0].split()) in " ".join(text.split()), capture.url
        assert " ".join(sentences[-1].split()) in " ".join(text.split()), capture.url
        words = site_words(capture.site, library)
        lines = {line.strip(" -|") for line in text.splitlines()}
        assert not lines & set(words["nav"]), capture.url
        assert words["cookie"][0] not in text
        assert words["footer"][0] not in text
        assert not any(comment in text for comment in words["comments"])


@pytest.mark.parametrize("phenomenon", ["broken_html", "broken_encoding", "legacy_charset"])
def test_damaged_pages_still_give_their_article(phenomenon: str, captures: list[Capture]) -> None:
    checked: dict[str, int] = defaultdict(int)
    for family in FAMILIES:
        for capture in with_article(captures, family, phenomenon):
            assert capture.article is not None
            sentences = capture.article.sentences()
            text = plain(extracted(capture))
            shared = [plain(s) in text for s in sentences]
            if "declared as utf-8" in capture.note:
                # Bytes that are no UTF-8 may cost the letters beyond ASCII, not the words.
                assert sum(shared) >= len(shared) // 4, capture.url
            else:
                assert (shared[0], shared[-1]) == (True, True), (capture.url, capture.note)
            checked[family] += 1
    assert sum(checked.values()) >= 20


def test_pages_of_one_site_share_their_navigation_and_its_house_lines(
    captures: list[Capture],
) -> None:
    bodies = defaultdict(list)
    for capture in captures:
        if "boilerplate_lines" in capture.planted and capture.is_plain():
            bodies[capture.site.host].append(capture.exchange.body.decode("utf-8"))
    assert len(bodies) >= 7
    for pages in bodies.values():
        lines = [set(page.split("\n")) for page in pages if page]
        paragraphs = set.intersection(*lines)
        assert sum("<p" in line and len(line) > 40 for line in paragraphs) >= 2


def test_a_rendered_page_leaves_no_placeholder_behind(captures: list[Capture]) -> None:
    for capture in captures[:400]:
        assert b"$title" not in capture.exchange.body
        assert b"{site}" not in capture.exchange.body
