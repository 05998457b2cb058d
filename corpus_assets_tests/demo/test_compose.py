from collections import Counter

import pytest

from corpus_assets.demo.compose import (
    compose,
    count_words,
    fill,
    from_written,
    insert_paragraph,
    insert_sentences,
    jaccard,
    remove_paragraph,
)
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import Library


def test_a_name_stays_and_a_number_changes_within_one_text() -> None:
    slots = {"place": ("Aldmoor", "Berrick", "Colne"), "count": ("two", "three", "four", "five")}
    bound: dict[str, str] = {}
    draw = Draw("fill")
    texts = [fill("{count} in {place}", slots, bound, draw).split(" in ") for _ in range(30)]
    assert len({place for _, place in texts}) == 1
    assert len({count for count, _ in texts}) == 4
    assert all(count[0].isupper() for count, _ in texts)


def test_a_slot_without_values_keeps_its_braces() -> None:
    assert fill("Write to {email}.", {}, {}, Draw("x")) == "Write to {email}."


@pytest.mark.parametrize("lang", ["en", "de", "fr", "es", "it", "pl", "sv", "ja", "ru"])
def test_composed_articles_have_two_hundred_and_fifty_to_seven_hundred_words(
    lang: str, library: Library
) -> None:
    for bank in library.banks[lang]:
        for number in range(12):
            article = compose(bank, Draw("words", lang, bank.topic, number), "x")
            words = count_words(article.text(), lang)
            assert 150 if lang == "ja" else 240 <= words <= 740, (bank.topic, words)
            assert "{" not in article.text() + article.title, (lang, bank.topic)
            repeated = [s for s, n in Counter(article.sentences()).items() if n > 1]
            assert not repeated, (bank.topic, repeated)


def test_composing_is_a_function_of_bank_and_key(library: Library) -> None:
    bank = library.banks["en"][0]
    assert compose(bank, Draw("k"), "x") == compose(bank, Draw("k"), "x")
    assert compose(bank, Draw("k"), "x") != compose(bank, Draw("l"), "x")


def test_edits_do_what_they_say(library: Library) -> None:
    article = compose(library.banks["en"][0], Draw("edits"), "x")
    shorter = remove_paragraph(article, Draw("r"))
    assert len(shorter.paragraphs) == len(article.paragraphs) - 1
    assert shorter.paragraphs[0] == article.paragraphs[0]
    assert shorter.paragraphs[-1] == article.paragraphs[-1]
    longer = insert_sentences(article, ["A new sentence stands here."], Draw("i"))
    assert len(longer.sentences()) == len(article.sentences()) + 1
    quoted = insert_paragraph(article, "A new paragraph.", Draw("p"))
    assert len(quoted.paragraphs) == len(article.paragraphs) + 1
    assert quoted.paragraphs[0] == article.paragraphs[0]
    assert quoted.paragraphs[-1] == article.paragraphs[-1]


def test_a_written_article_keeps_its_paragraphs(library: Library) -> None:
    written = library.articles["en"][0]
    assert from_written(written).text() == "\n".join(written.paragraphs)


def test_jaccard_counts_shared_word_five_grams() -> None:
    assert jaccard("a b c d e f", "a b c d e f") == 1.0
    assert jaccard("a b c d e f", "a b c d e g") == pytest.approx(1 / 3)
    assert jaccard("a b c d e", "v w x y z") == 0.0
