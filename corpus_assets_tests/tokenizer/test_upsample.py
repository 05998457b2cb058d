"""Lines of rare kinds count several times when a tokenizer is trained, and its audit says so."""

import json
from collections import Counter

import pytest

from corpus_assets.tokenizer.audit import TrainingFacts, audit_tokenizer
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer
from corpus_assets.tokenizer.upsample import LINES, with_copies

PROSE = "The fox sleeps - twice (or more), it is said: 5 < 6; so be it.\n"
LINE_OF = {
    "mathematics": "so ∑ x² ≤ ∞ holds\n",
    "cjk": "図書館の窓\n",
    "code": "    if (a != b) {\n",
}


@pytest.mark.parametrize("kind", LINE_OF)
def test_a_line_is_of_its_kind_alone_and_prose_of_none(kind: str) -> None:
    found = {name for name, pattern in LINES.items() if pattern.search(LINE_OF[kind])}
    assert found == {kind}
    assert not any(pattern.search(PROSE.strip()) for pattern in LINES.values())
    assert LINES["mathematics"].search(r"where \frac{a}{b} is")
    assert not LINES["mathematics"].search(r"C:\Users\me and \n")


def test_lines_count_as_often_as_asked_and_others_once() -> None:
    text = PROSE + LINE_OF["cjk"] + LINE_OF["mathematics"] + PROSE + LINE_OF["code"]
    counted = Counter(
        line for part in with_copies(text, {"cjk": 4, "code": 2}) for line in part.splitlines(True)
    )
    times = {LINE_OF["cjk"]: 4, LINE_OF["code"]: 2, LINE_OF["mathematics"]: 1, PROSE: 2}
    assert counted == times
    assert list(with_copies(text, {})) == list(with_copies(text, {"cjk": 1})) == [text]
    both = "図 == 書\n"
    assert list(with_copies(both, {"cjk": 3, "code": 2})) == [both] * 3


def test_a_biased_sample_gives_rare_text_tokens_and_the_audit_tells_of_it() -> None:
    texts = [
        f"fox number {n} sleeps in the old den of the dog\n" * 3 + "図書館の窓から\n"
        for n in range(9)
    ]
    asked = {"vocab_size": 545, "min_documents": 2}
    plain = TokenizerSettings(**asked)
    biased = TokenizerSettings(**asked, upsample={"cjk": 6})
    assert "upsample" not in plain.identity()

    def tokens(settings: TokenizerSettings) -> int:
        data = train_tokenizer(texts, settings)
        training = TrainingFacts(texts, ("latin", "han", "hiragana"), 16, settings.upsample)
        report = audit_tokenizer(data, training=training)
        assert report.passed, report.problems
        assert set(report.upsampled) == set(settings.upsample)
        for row in report.upsampled.values():
            assert (row.times, row.lines) == (6, 9)
            assert 0 < row.char_share < 0.1
            assert row.tokens > 0
        return sum(1 for token in json.loads(data)["model"]["vocab"] if token.startswith("å"))

    assert tokens(biased) > tokens(plain)
