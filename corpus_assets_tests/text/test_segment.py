"""Words of scripts without spaces, beside plain Python that asks ICU for one word at a time."""

import random
import unicodedata
from types import ModuleType

import icu4py
import numpy as np
import pyarrow as pa
import pytest
from icu4py.breakers import WordBreaker

from corpus_assets.core.errors import MissingExtra
from corpus_assets.text import segment
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.unicode import code_points

CHINESE = "我们在北京大学学习，今天天气很好。（他说）“你好”！"
TEXTS = {
    CHINESE: "我们 在 北京 大学 学习， 今天 天气 很好。 （他 说） “你好”！",
    "iPhone手机2024年5月 well-known foo。bar": "iPhone 手机 2024 年 5 月 well-known foo。bar",
    "私は「東京大学」で勉強": "私 は 「東京 大学」 で 勉強",
    "コンピューターのデータ": "コンピューター の データ",
    "ภาษาไทยเป็นภาษาที่มีระดับเสียง": "ภาษา ไทย เป็น ภาษา ที่ มี ระดับ เสียง",
    "ພາສາລາວເປັນພາສາທາງການ": "ພາສາ ລາວ ເປັນ ພາສາ ທາງການ",
    "ភាសាខ្មែរជាភាសា\u200bផ្លូវការ": "ភាសាខ្មែរ ជា ភាសា\u200b ផ្លូវការ",
    "မြန်မာဘာသာစကားသည် မြန်မာ": "မြန်မာဘာသာ စကား သည် မြန်မာ",
    "བོད་ཡིག་ནི་བོད་ཀྱི། །": "བོད་ ཡིག་ ནི་ བོད་ ཀྱི། །",
    "한국어는 대한민국의 plain Ünïcödé слова हिन्दी": "한국어는 대한민국의 plain Ünïcödé слова हिन्दी",
    "。。。 「」 漢": "。。。 「」 漢",
    "我们😀在𠮷野家，😀😀学习": "我们😀 在 𠮷 野家，😀😀 学习",
    "": "",
}
SCRIPTS = "CJK HIRAGANA KATAKANA HALFWIDTH THAI LAO KHMER MYANMAR TIBETAN"


def is_unspaced(character: str) -> bool:
    name = unicodedata.name(character, "")
    is_mark = unicodedata.category(character)[0] != "L" or "PROLONGED" in name or "SOUND" in name
    return character == "々" or (name.split(" ")[0] in SCRIPTS.split() and not is_mark)


def has_word(piece: str) -> bool:
    return any(c.isalpha() or c.isnumeric() for c in piece)


def words_of(text: str) -> list[str]:
    """The definition in plain Python."""
    out = []
    for item in text.split():
        words, before = [""], ""
        pieces = list(WordBreaker(item, "en")) if any(map(is_unspaced, item)) else [item]
        for piece in pieces:
            if has_word(piece):
                if before and any(map(is_unspaced, before + piece)):
                    last = words[-1]
                    keep = len(last)
                    while unicodedata.category(last[keep - 1]) in ("Ps", "Pi"):
                        keep -= 1
                    words[-1:] = [last[:keep], last[keep:]]
                before = piece
            words[-1] += piece
        out += words
    return out


def segments_of(texts: list[str]) -> list[list[str]]:
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    found, data = batch.segments, batch.data.tobytes()
    words = [data[start:end].decode() for start, end, _ in found.spans.tolist()]
    assert [len(word) for word in words] == found.spans[:, 2].tolist()
    return [words[found.rows[d] : found.rows[d + 1]] for d in range(len(texts))]


def random_texts(seed: int, n: int) -> list[str]:
    draw = random.Random(seed)
    letters = "我们在北京大学の東京カナー々กขคงขอมภาษาລາວភាសာမြန်བོད་한국abcXY12年½𠮷𝒜"
    marks = "，。（）「」“”‘’«»·・!?…—〜\u200b\ufffd'-_@ \n\u3000😀"
    return ["".join(draw.choices(letters + marks, k=draw.randrange(60))) for _ in range(n)]


@pytest.mark.parametrize(("text", "words"), TEXTS.items())
def test_words_are_what_readers_of_the_script_expect(text: str, words: str) -> None:
    assert segments_of([text]) == [words.split(" ") if words else []]


def test_words_equal_the_reference_on_random_text() -> None:
    texts = [*TEXTS, *random_texts(seed=1, n=3_000)]
    assert segments_of(texts) == [words_of(text) for text in texts]


def test_a_text_has_the_same_words_alone_and_among_others() -> None:
    texts = random_texts(seed=2, n=60)
    assert [segments_of([text])[0] for text in texts] == segments_of(texts)


def test_text_with_spaces_is_not_looked_at_again() -> None:
    batch = TextBatch.from_arrow(pa.array(["Plain wörds, слова 한국어", "naïve “quotes” …"]))
    assert batch.segments is batch.words


def test_malformed_bytes_neither_stop_nor_move_words() -> None:
    pieces = [b"\xe6\xbc\xa2\xff\xe5\xad\x97 \xed\xa0\x80\xe6\xbc\xa2 ", b"\xe6\xbc", b"x"]
    offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    batch = TextBatch.from_bytes(np.frombuffer(b"".join(pieces), np.uint8), offsets)
    spans, rows = batch.segments.spans, batch.segments.rows
    for d in range(3):
        mine = spans[rows[d] : rows[d + 1]]
        assert (mine[:, 0] < mine[:, 1]).all()
        assert (mine[1:, 0] >= mine[:-1, 1]).all()
        assert mine.size == 0 or offsets[d] <= mine[0, 0] <= mine[-1, 1] <= offsets[d + 1]


@pytest.mark.skipif(
    unicodedata.unidata_version != "14.0.0", reason="this interpreter has another Unicode"
)
def test_opening_marks_are_those_of_unicode() -> None:
    named = {c for c in range(0x110000) if unicodedata.category(chr(c)) in ("Ps", "Pi")}
    assert set(code_points(segment._OPENING).tolist()) == named


def test_another_release_of_icu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    segment._breaker.cache_clear()
    monkeypatch.setattr(icu4py, "icu_version", "79.1")
    with pytest.raises(MissingExtra, match=r"ICU 78\.3.*brings ICU 79\.1.*requirements\.lock"):
        segments_of([CHINESE])
    segment._breaker.cache_clear()


def test_without_icu_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> ModuleType:
        raise ImportError(name)

    segment._breaker.cache_clear()
    monkeypatch.setattr(segment, "import_module", absent)
    with pytest.raises(MissingExtra, match=r"icu4py is not installed.*white_space"):
        segments_of([CHINESE])
    assert segments_of(["plain text"]) == [["plain", "text"]]
    segment._breaker.cache_clear()
