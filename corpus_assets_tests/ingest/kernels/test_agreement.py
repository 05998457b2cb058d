import re
from collections import Counter
from random import Random

import pytest

from corpus_assets.ingest.kernels.agreement import agreement

ALONE = "\u0e00-\u0eff\u2e80-\uabff\uf900-\ufaff"
WORD = re.compile(rf"[^\W{ALONE}]+|(?=\w)[{ALONE}]")


def naive(one: str, other: str) -> int:
    left, right = Counter(WORD.findall(one)), Counter(WORD.findall(other))
    total = left.total() + right.total()
    return 2000 * (left & right).total() // total if total else 1000


@pytest.mark.parametrize(
    ("one", "other", "thousandths"),
    [
        ("", "", 1000),
        ("?!", "...", 1000),
        ("a b", "", 0),
        ("", "a b", 0),
        ("the cat sat", "the cat sat", 1000),
        ("the cat, sat", "cat the\nsat!", 1000),
        ("a a b", "a b b", 666),
        ("猫が座った", "猫が立った", 800),
        ("The", "the", 0),
    ],
)
def test_agreement_is_f1_over_words_as_often_as_they_stand(
    one: str, other: str, thousandths: int
) -> None:
    assert agreement(one.encode(), other.encode()) == thousandths
    assert naive(one, other) == thousandths


@pytest.mark.parametrize("seed", range(40))
def test_the_kernel_is_the_plain_count(seed: int) -> None:
    random = Random(seed)
    letters = random.choice(("ab ", "ab1_ .,\n", "aé ÄжЖ.", "猫a が。カ 한국어", "𝒜x . y"))

    def text() -> str:
        return "".join(random.choices(letters, k=random.randint(0, 300)))

    for _ in range(5):
        one, other = text(), text()
        assert agreement(one.encode(), other.encode()) == naive(one, other)
        assert agreement(one.encode(), other.encode()) == agreement(other.encode(), one.encode())


def test_broken_utf8_and_lone_surrogates_do_no_harm() -> None:
    broken = b"a \xff\xfe \xe2\x82 b \xf0\x9f"
    assert agreement(broken, broken) == 1000
    lone = "a \ud800 b".encode("utf-8", "surrogatepass")
    assert agreement(lone, lone) == 1000
