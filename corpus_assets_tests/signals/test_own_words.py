"""Words that only the language of a text has, in the text and in its URL."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.signals.base import FILE
from corpus_assets.signals.own_words import OwnWords
from corpus_assets_tests.signals.support.reference_dialects import tokens_of
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_pages
from corpus_assets_tests.signals.test_statistics import batch_of

LIST = "model://lists/hrv_Latn.txt"
ENTRIES = {
    "hr": (LIST, "url:hrv", "url:*croatia*"),
    "en": ("The", "of", "the"),  # no names in URLs
    "fr": ("url:fra", "url:*france*"),  # no words
}
WORDS = ["svibanj", "of", "Tjedan"]


@pytest.fixture
def models(tmp_path: Path) -> dict[str, Path]:
    path = tmp_path / "list.txt"
    path.write_text("# words\n" + "\n".join(WORDS), encoding="utf-8")
    return {FILE + LIST: path}


def _found(
    texts: list[str], languages: list[str | None], urls: list[str | None], models: dict[str, Path]
) -> list[tuple[int | None, int | None]]:
    batch = batch_of(texts)
    batch.columns["language"] = pa.array(languages, pa.string())
    batch.columns["url"] = pa.array(urls, pa.string())
    family = OwnWords(languages=ENTRIES)
    assert family.files() == (LIST,)
    rows = family.compute(batch, models).to_pylist()
    return [(row["own_words"], row["own_url_words"]) for row in rows]


def test_words_of_the_list_of_the_own_language_count_once_each(models: dict[str, Path]) -> None:
    texts = [*ADVERSARIAL[:16], *random_pages(seed=5, n=200), "Svibanj svibanj, tjedan Tjedan.", ""]
    languages = [("hr", "en", "fr", "xx", None)[n % 5] for n in range(len(texts))]
    listed = {"hr": {*WORDS}, "en": {"The", "of", "the"}}
    found = _found(texts, languages, [None] * len(texts), models)
    for text, language, (words, in_url) in zip(texts, languages, found, strict=True):
        own = listed.get(language or "")
        assert words == (None if own is None else len(own & {*tokens_of(text)}))
        assert in_url == (0 if language in ("hr", "fr") else None)
    assert _found(["Svibanj svibanj, tjedan Tjedan."], ["hr"], [None], models) == [(2, 0)]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://example.com/hrv/a", 1),
        ("https://example.com/HRV_a?lang=HRV", 1),
        ("https://example.com/archrv/hrvatska", 0),  # the code is a word, names are not
        ("https://visit-croatia.example/", 1),
        ("https://example.com/cro-atia_news", 1),  # letters, digits, slashes and dots count
        ("https://example.com/cro/atia", 0),
        ("http://hrv.croatia.hr/", 2),
        ("https://example.hr/", 0),
        ("", 0),
    ],
)
def test_codes_and_names_in_urls_are_found(url: str, found: int, models: dict[str, Path]) -> None:
    assert _found(["a"], ["hr"], [url], models) == [(0, found)]
    within = re.sub(r"[^a-z0-9/.]", "", url.lower())
    code = re.search(r"(?<![a-z0-9])hrv(?![a-z0-9])", url.lower()) is not None
    assert found == code + ("croatia" in within)
