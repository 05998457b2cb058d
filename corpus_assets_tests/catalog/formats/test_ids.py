"""One rule for names of versions, snapshots, sources and domains, wherever they come in."""

import random

import pytest

from catalog.db.registry import Registry
from catalog.db.rows import SnapshotRow, SourceRow, VersionRow
from catalog.errors import BadName
from catalog.formats.ids import text_id
from catalog.formats.names import check_name
from catalog.formats.token_text import (
    TokenBytes,
    byte_alphabet,
    char_range,
    context,
    extracted_range,
)
from corpus_assets_tests.catalog.corpus import Corpus

BAD = (
    "", ".", "..", "a..b", "../x", "a/b", "a\\b", "-x", ".x", "a b", "a,b", "a\n", "a\x1b[2J",
    "a\u202eb", "a\x00", "x" * 101, "x" * 300, "café",
)  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_would_not_be_one_plain_folder_is_refused_on_one_line(
    name: str, registry: Registry
) -> None:
    registry.put_source(SourceRow("web", "warc", "web", ""))
    for put in (
        lambda: check_name("snapshot", name),
        lambda: registry.put_source(SourceRow(name, "warc", "web", "")),
        lambda: registry.put_source(SourceRow("web", "warc", name, "")),
        lambda: registry.put_snapshot(SnapshotRow(name, "web", 0), []),
        lambda: registry.publish_version(VersionRow(name, "l", "r", "m", "s", 0, 0, 0), [], []),
    ):
        with pytest.raises(BadName, match="is not a valid name for a") as caught:
            put()
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 300
    assert [source.name for source in registry.sources()] == ["web"]


def test_usual_names_are_fine_and_a_takedown_finds_room_for_its_ending() -> None:
    for name in ("CC-MAIN-2024-10", "a", "demo_1.2", "x" * 100):
        assert check_name("snapshot", name) == name
    assert check_name("version", "x" * 100 + ".td12")
    with pytest.raises(BadName):
        check_name("snapshot", "x" * 100 + ".td12")


# Ids of texts, bytes of tokens, and the way back through edits.


def test_equal_texts_have_equal_ids_whatever_their_normal_form() -> None:
    assert text_id("e\u0301t\u00e9") == text_id("\u00e9te\u0301")
    assert text_id("a") != text_id("a ")
    assert len(text_id("")) == 16


def test_the_alphabet_of_bytes_is_complete() -> None:
    assert sorted(byte_alphabet().values()) == list(range(256))
    assert byte_alphabet()["Ġ"] == 0x20


def test_the_bytes_of_tokens_spell_the_text(corpus: Corpus) -> None:
    names = TokenBytes(corpus.tokenizer.to_str())
    for text in ["river 東京 🌊", "no such words: ŋ\x00\ufffd\n\t", "<|end|> is text here", ""]:
        ids = corpus.tokenizer.encode(text).ids
        lengths, data = names.lengths_and_text(ids)
        assert data.decode() == text
        assert sum(lengths) == len(data)
    with pytest.raises(ValueError, match="no token 99999"):
        names.of(99_999)


def test_a_piece_of_a_character_counts_as_the_whole_character() -> None:
    data = "aé🌊b".encode()
    assert char_range(data, 0, 1) == (0, 1)
    assert char_range(data, 2, 3) == (1, 2)
    assert char_range(data, 4, 5) == (2, 3)
    assert char_range(data, 2, 5) == (1, 3)
    assert char_range(data, 8, 8) == (4, 4)


def apply(text: str, edits: list[tuple[int, int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """A plain reference: the final text, and for each of its characters the extracted range."""
    final, origin, last = "", [], 0
    for start, end, new_length in edits:
        final += text[last:start] + "#" * new_length
        origin += [(place, place + 1) for place in range(last, start)]
        origin += [(start, end)] * new_length
        last = end
    origin += [(place, place + 1) for place in range(last, len(text))]
    return final + text[last:], origin


@pytest.mark.parametrize("seed", range(30))
def test_ranges_of_the_final_text_lead_back_to_the_extracted_text(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choice("abcdefgh") for _ in range(chance.randint(1, 40)))
    edits, at = [], 0
    while at < len(text) and chance.random() < 0.8:
        start = chance.randint(at, len(text) - 1)
        end = chance.randint(start + 1, min(len(text), start + 6))
        edits.append((start, end, chance.choice([0, 0, 1, 4, 9])))
        at = end
    final, origin = apply(text, edits)
    shuffled = chance.sample(edits, len(edits))
    for start in range(len(final)):
        for end in range(start + 1, len(final) + 1):
            expected = (origin[start][0], origin[end - 1][1])
            assert extracted_range(shuffled, start, end) == expected
    assert extracted_range(shuffled, len(final), len(final)) == (len(text), len(text))


def test_context_stops_at_the_ends_of_the_text() -> None:
    assert context("abc", 1, 2, 5) == {"before": "a", "text": "b", "after": "c"}
    assert context("a" * 100, 50, 51)["before"] == "a" * 40
