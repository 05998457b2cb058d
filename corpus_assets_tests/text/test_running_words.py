"""Running words of a line."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.text.characters import IGNORED, MARK, OWN_WORD, WORD, char_tables
from corpus_assets.text.running_words import MIN_RUN, running_words
from corpus_assets.text.unicode import class_table

PROSE = 8  # the default of a recipe


def words_of(line: str) -> int:
    data = np.frombuffer(line.encode() or b" ", np.uint8)
    spans = np.array([[0, len(line.encode()), len(line)]], np.int64)
    return int(running_words(data, spans, char_tables().classes, class_table())[0])


def plain_words(line: str) -> int:
    """The reference: piece by piece, character by character."""
    kinds = char_tables().classes
    words = spaceless = 0
    for piece in line.split():
        first = next((char for char in piece if kinds[ord(char)] == WORD), "")
        words += bool(first) and not first.isupper() and not first.isnumeric()
    run = 0
    for char in line + " ":
        kind = kinds[ord(char)]
        if kind == OWN_WORD:
            run += 1
        elif not (run and kind in (MARK, IGNORED)):
            spaceless += run if run >= MIN_RUN else 0
            run = 0
    return words + spaceless // 2


LETTERS = st.sampled_from(" \t\u3000ab1ZÀßéжЖ٣اع漢字かなไทย\u0301\u200d。.,|Ⅷ²ǅ-")


@given(st.lists(LETTERS, max_size=40).map("".join))
def test_words_are_those_of_the_plain_count(line: str) -> None:
    assert words_of(line) == plain_words(line)


def test_a_very_long_line_has_a_bounded_count() -> None:
    assert words_of("word " * 40_000) == 32_767


@pytest.mark.parametrize(
    "line",
    [
        "Share this article with your friends!",
        "Home | About us | Contact | Products | Services | Blog | News | Careers | Imprint",
        "By Jane Doe, Staff Writer | May 3, 2024 at 10:15 a.m. | Updated May 4, 2024",
        "Copyright 2024 Example Inc. All Rights Reserved. Terms of Use, Privacy Policy",
        "Startseite Über uns Kontakt Datenschutz Impressum",
        "Главная О нас Контакты Новости Блог Поддержка",
        "首页 新闻 体育 财经 娱乐 科技 汽车 房产 教育 健康 旅游 视频",
        "作者：张三 2024年5月3日 来源：新华社",
        "ホーム 会社案内 製品 ニュース 採用情報 お問い合せ",
        "12.05.2024 14:30 | 1,204 views | 17 comments | 3 shares",
    ],
)
def test_menus_bylines_and_prompts_are_no_prose(line: str) -> None:
    assert words_of(line) < PROSE


@pytest.mark.parametrize(
    "line",
    [
        "The ferry left at noon, as it did on every day of that year.",
        "Der alte Leuchtturmwärter schrieb jeden Abend die Namen der Schiffe in ein dickes Buch.",
        "Старый смотритель каждый вечер записывал имена кораблей в толстую книгу.",
        "كان حارس المنارة يكتب كل مساء أسماء السفن في كتاب كبير",
        "बूढ़ा पहरेदार हर शाम जहाजों के नाम एक मोटी किताब में लिखता था।",
        "השומר הזקן כתב בכל ערב את שמות האוניות בספר עבה מאוד",
        "图书馆的窗外，山上覆盖着厚厚的白雪，他轻轻地说真安静啊。",
        "図書館の窓から見える山は、雪で白く染まっていて静かだった。",
        "ผู้เฝ้าประภาคารเขียนชื่อเรือทุกลำลงในสมุดทุกเย็น",
        "등대지기는 매일 저녁 배들의 이름을 두꺼운 책에 적고 종을 울렸다.",
    ],
)
def test_sentences_are_prose_in_any_script(line: str) -> None:
    assert words_of(line) >= PROSE, unicodedata.name(line[0])
