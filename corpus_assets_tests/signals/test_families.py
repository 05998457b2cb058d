"""Dialects, C4, characters, code, mathematics and word lists equal their references."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from corpus_assets.core.errors import ModelError
from corpus_assets.core.identity import digest
from corpus_assets.signals.bad_words import BadWords
from corpus_assets.signals.base import SignalFamily
from corpus_assets.signals.characters import COLUMNS as SCRIPT_COLUMNS
from corpus_assets.signals.characters import Characters
from corpus_assets.signals.code import GENERATED, LICENCE, Code
from corpus_assets.signals.families import FAMILIES
from corpus_assets.signals.mathematics import Mathematics
from corpus_assets.signals.published.c4 import C4
from corpus_assets.signals.published.c4_lines import C4Lines
from corpus_assets.signals.published.datatrove import DatatroveFineWeb, DatatroveGopher
from corpus_assets.signals.published.dclm import DCLM
from corpus_assets.signals.published.dclm_lines import DCLMLines
from corpus_assets.signals.published.dclm_text import DCLMText
from corpus_assets.signals.published.dolma import Dolma
from corpus_assets.signals.published.nemo import NeMo
from corpus_assets.signals.published.redpajama import RedPajama
from corpus_assets.text.batch import TextBatch
from corpus_assets_tests.signals.support import reference_content as content
from corpus_assets_tests.signals.support import reference_dialects as dialects
from corpus_assets_tests.signals.support.texts import (
    ADVERSARIAL,
    MANY_REPEATS,
    random_line_ends,
    random_pages,
    random_texts,
    real_texts,
)
from corpus_assets_tests.signals.test_statistics import batch_of, check

LISTED = ["damn", "damned", "s&m", "2 girls", "漢字", "word", "_x", "the of"]
CODE, CHARACTERS = Code(), Characters()
LOOSE = C4Lines(end_marks="", min_words=2, count_footnotes=True)


def as_datatrove(text: str) -> dict[str, Any]:
    return dialects.datatrove(text, dialects.tokens_of(text))


Plain = Callable[[str], dict[str, Any]]
CASES: dict[str, tuple[SignalFamily, Plain]] = {
    "nemo": (NeMo(), content.nemo),
    "datatrove_gopher": (DatatroveGopher(), as_datatrove),
    "datatrove_fineweb": (DatatroveFineWeb(), as_datatrove),
    "dolma": (Dolma(), dialects.dolma),
    "dclm": (DCLM(), dialects.dclm),
    "dclm_lines": (DCLMLines(), lambda text: content.dclm_lines(text)[0]),
    "redpajama": (RedPajama(), dialects.redpajama),
    "c4": (C4(), content.c4),
    "c4_lines": (C4Lines(), lambda text: content.c4_lines(text)[0]),
    "c4_lines, other settings": (LOOSE, lambda text: content.c4_lines(text, "", 2, True)[0]),
    "characters": (
        CHARACTERS,
        lambda text: content.characters(text, SCRIPT_COLUMNS),
    ),
    "code": (CODE, lambda text: content.code(text, GENERATED, LICENCE)),
    "mathematics": (Mathematics(), content.mathematics),
    "bad_words": (
        BadWords(words=tuple(LISTED)),
        lambda text: content.bad_words(text, LISTED),
    ),
}


# What each family says of fixed texts, by its version. When this fails, raise the version of the
# family that changed and pin the new digest.
GOLDEN = {
    "datatrove_gopher 5": "abbe2c426bca7ec9f13d4232d3d04af1a288ecd22673a7350f2704d3f05f4165",
    "datatrove_fineweb 4": "f48e49398758302b83c023c841a4cd527095bc14253ca3ff4112b41e60d16934",
    "dolma 1": "618e67eb89a4367b2fb3f84b6bd3e27d7ecbdae5d397859a0fce880dab4908f9",
    "dclm 2": "9b3eb2313c76d9cb9f732fcd1998d51843b9e635fb81736d219d2d09827d78e4",
    "dclm_lines 2": "c7752dcc95d727a398e7bdd9e8881663ee85a9ccf9a652c273134abfbf104db8",
    "redpajama 2": "64eaf8e0440145e95934830c834a5302d093ea4049f0c092b6d13be4a0ace0a8",
    "nemo 1": "d74415adf3c8dfe4f356cfa56c01b6dcca7c19f862d79391c8a6765ae1935108",
    "c4 1": "51fc17fefe157433aa5328d6015fe78d7ed813a81f5200885c4140cba980dfb0",
    "c4_lines 2": "7a8bf39bbb9fa0980de71448b7d0989511b6f1b343de163e6e75a377eda0a99c",
    "c4_lines, other settings 2": "f40921a3fcf3d155d861fec97a16cc576bb0279f6d2e1b8b69924016bb67ad95",
    "characters 2": "6e90a69c701793324d5380eaa9046c12a97a1b7bdb39aca5184fc503b27785de",
    "code 2": "5ac12598716e84fc373633741e1fe0c7901101e21ef0e98e18f0435e9e4007c7",
    "mathematics 1": "86babc46468d4a273be065f19bd0e47607e629d5279471b628bd64103223cec7",
    "bad_words 1": "2117ed6d3f32037995f20290fb06f1bec8bf9444f323d7eb33330a3c6d5a6316",
}


def test_values_change_only_together_with_a_version() -> None:
    texts = [*ADVERSARIAL, *random_pages(seed=15, n=200)]
    found = {
        f"{name} {type(family).version}": digest(family.compute(batch_of([*texts]), {}).to_pylist())
        for name, (family, _) in CASES.items()
    }
    assert found == GOLDEN


@pytest.mark.parametrize("name", CASES)
class TestEachFamily:
    def test_equals_its_reference_on_real_texts(self, name: str) -> None:
        check(*CASES[name], [text[:6_000] for text in real_texts()[::9]])

    @pytest.mark.slow
    def test_equals_its_reference_on_all_real_texts(self, name: str) -> None:
        check(*CASES[name], real_texts())

    def test_equals_its_reference_on_adversarial_texts(self, name: str) -> None:
        check(*CASES[name], ADVERSARIAL)

    def test_equals_its_reference_on_random_texts(self, name: str) -> None:
        check(*CASES[name], random_texts(seed=4, n=400))
        check(*CASES[name], random_pages(seed=5, n=1_500))
        check(*CASES[name], random_line_ends(seed=5, n=300))

    def test_takes_a_million_repeats(self, name: str) -> None:
        family, _ = CASES[name]
        for row in family.compute(batch_of(list(MANY_REPEATS)), {}).to_pylist():
            assert all(v <= 1.0 for k, v in row.items() if k.endswith("_share"))

    def test_says_the_same_of_a_text_alone_and_in_company(self, name: str) -> None:
        family, _ = CASES[name]
        texts = [*ADVERSARIAL, *random_pages(seed=6, n=30)]
        together = family.compute(batch_of(list(texts)), {}).to_pylist()
        assert together == [family.compute(batch_of([t]), {}).to_pylist()[0] for t in texts]

    def test_reads_malformed_bytes_inside_their_own_text_only(self, name: str) -> None:
        family, _ = CASES[name]
        draw = random.Random(9)
        texts = [draw.randbytes(draw.randrange(120)) for _ in range(60)]
        texts += [b"\xe2\x80", b"\xa6 next", b"\xc3", b"[1", b"]", b"\\", b"u00e9" * 9, b"$", b"$"]
        data = np.frombuffer(b"".join(texts), dtype=np.uint8)
        offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        together = family.compute(TextBatch.from_bytes(data, offsets), {}).to_pylist()
        for row, text in zip(together, texts, strict=True):
            alone = TextBatch.from_bytes(np.frombuffer(text, np.uint8), np.array([0, len(text)]))
            assert row == family.compute(alone, {}).to_pylist()[0]

    def test_gives_an_empty_batch_its_columns(self, name: str) -> None:
        family, _ = CASES[name]
        found = family.compute(batch_of([]), {})
        assert found.num_rows == 0
        assert found.schema == pa.schema(list(family.columns().items()))

    def test_keeps_every_share_between_zero_and_one(self, name: str) -> None:
        family, _ = CASES[name]
        found = family.compute(batch_of([*ADVERSARIAL, *random_pages(seed=7, n=500)]), {})
        for column in found.schema.names:
            if column.endswith("_share"):
                values = found.column(column).to_numpy(zero_copy_only=False)
                assert values.min() >= 0.0
                assert values.max() <= 1.0


def test_every_family_without_a_model_has_a_reference() -> None:
    here = {family.family for family, _ in CASES.values()}
    elsewhere = {"gopher_quality", "repetition", "fineweb", "listed_words", "squeeze_spaces"}
    elsewhere |= {"stop_words", "own_words"}  # they read languages
    elsewhere |= {"url_categories"}  # it reads addresses
    elsewhere |= {"perplexity", "token_divergence"}  # their models are in their settings
    elsewhere |= {"source_labels", "page_notes"}  # they read no text
    elsewhere |= {"structure"}  # it reads the kinds of lines, so its reference needs some
    elsewhere |= {"dclm_text"}  # below, by what it leaves
    elsewhere |= {"madlad"}  # in `test_madlad`, with a list
    elsewhere |= {"embedding_score"}  # a model, without which it has no settings
    others = {name: FAMILIES[name] for name in FAMILIES.keys() - here - elsewhere}
    assert [name for name, family in others.items() if not family(family=name).needs()] == []


def test_the_text_that_c4_leaves_equals_the_reference() -> None:
    texts = [*real_texts()[::9], *ADVERSARIAL, *random_pages(seed=8, n=2_000)]
    texts += random_line_ends(seed=8, n=500)
    left = C4Lines().rewrite(batch_of(list(texts))).left.texts.to_pylist()
    assert left == [content.c4_lines(text)[1] for text in texts]
    loose = LOOSE.rewrite(batch_of(list(texts))).left.texts.to_pylist()
    assert loose == [content.c4_lines(text, "", 2, True)[1] for text in texts]


MENUS = """Sign-in to your account
BREAKING NEWS FROM THE HARBOUR
12 345
1,203 views
Home

The ferry was late again, and nobody at the harbour knew why.
3 items in cart
  Items in cart
The mayor promised new boats. Read more...
read more..."""


def test_the_text_that_dclm_leaves_equals_the_reference() -> None:
    texts = [MENUS, *real_texts()[::9], *ADVERSARIAL, *random_pages(seed=8, n=2_000)]
    found = DCLMLines().rewrite(batch_of(list(texts)))
    assert found.left.texts.to_pylist() == [content.dclm_lines(text)[1] for text in texts]
    assert found.left.texts[0].as_py() == (
        "to your account\n12 345\n\nThe ferry was late again, and nobody at the harbour knew why.\n3\n"
        "The mayor promised new boats."
    )
    counts = found.columns.slice(0, 1).to_pylist()[0]
    assert [counts[f"dclm_{name}_lines"] for name in ("uppercase", "counter", "short", "phrase")] == [
        1, 1, 1, 5,
    ]  # fmt: skip


def test_what_nemo_looks_for_is_counted() -> None:
    text = "See (https://a.test/x?y=1, now)\n\nWe USE cookies ⟨here⟩\n\nThe end's \u201chere\u201d."
    row = NeMo().compute(batch_of([text, f"{text}\n\nLorem Ipsum", ""]), {}).to_pylist()
    url = "https://a.test/x?y=1,"  # the comma is one of theirs
    assert row[0]["nemo_url_char_share"] == pytest.approx(len(url) / len(text))
    assert row[0]["nemo_bracket_share"] == pytest.approx(4 / len(text))
    assert row[0]["nemo_boilerplate_paragraph_share"] == pytest.approx(1 / 3)
    assert row[0]["nemo_unfinished_line_share"] == pytest.approx(2 / 3)
    assert row[0]["nemo_max_word_chars"] == len("(" + url)
    assert row[1]["nemo_boilerplate_paragraph_share"] == 1
    assert row[2]["nemo_non_alphanumeric_share"] == 1


TLDS = ("com", "org", "co", "in", "рф", "th", "a")
LINKED = (
    "In the morning see http://harbour.org/tides?day=1 or  harbour.co.in, not harbour.coast.\n\n\n\n"
    "Router at 192.168.1.20:8080/setup, version 1.2.3, почта.рф and mail.рф.com..рф!\n"
)


def test_addresses_and_empty_lines_go_as_dclm_has_it() -> None:
    texts = [LINKED, f"We {LINKED}", "\n\n\n1.1.1.1\n\n", "com.com", ".com", "thé.com"]
    found = DCLMText(tlds=TLDS).rewrite(batch_of(texts))
    assert found.left.texts.to_pylist() == [
        "In the morning see or, not harbour.coast.\n\nRouter at, version 1.2.3, почта.рф andрф!\n",
        "We In the morning see http://harbour.org/tides?day=1 or  harbour.co.in, not harbour.coast."
        "\n\nRouter at, version 1.2.3, почта.рф and mail.рф.com..рф!\n",
        "\n\n", "", ".com", "thé.com",
    ]  # fmt: skip
    assert found.columns["dclm_cut_addresses"].to_pylist() == [4, 1, 1, 1, 0, 0]
    assert found.columns["dclm_cut_newlines"].to_pylist() == [2, 2, 0, 0, 0, 0]


def linked(seed: int, n: int) -> list[str]:
    """Texts of pieces of addresses in any order."""
    draw = random.Random(seed)
    pieces = [*TLDS, ".", ".", "..", "/", "(", "é", "x", " ", "\u00a0", "\n", "\n\n\n", "http://",
              "https://", "ftp:/", "1", "25", "192.168.1.20", "256.", "999.1.1.1", "-", "_", "A" * 300,
              "b.com", ".org/a?b", " " * 12]  # fmt: skip
    return ["".join(draw.choices(pieces, k=draw.randrange(1, 25))) for _ in range(n)]


@pytest.mark.parametrize("tlds", [TLDS, ()])
def test_any_run_of_pieces_of_addresses_is_cut_as_one_search_from_the_left_does(
    tlds: tuple[str, ...],
) -> None:
    texts = [
        *linked(seed=3, n=3_000),
        *ADVERSARIAL,
        *random_pages(seed=9, n=500),
        *real_texts()[::9],
    ]
    found = DCLMText(tlds=tlds).rewrite(batch_of(list(texts))).left.texts.to_pylist()
    for text, left in zip(texts, found, strict=True):
        assert left == content.dclm_text(text, tlds), text


@pytest.mark.parametrize("tld", ["COM", ".com", "", "com "])
def test_a_top_level_domain_is_written_plainly(tld: str) -> None:
    with pytest.raises(ValidationError, match="write top-level domains in lowercase"):
        DCLMText(tlds=(tld,))


def test_punctuation_is_set_apart_as_the_reference_does() -> None:
    texts = [*real_texts()[::9], *ADVERSARIAL, *random_pages(seed=10, n=2_000)]
    batch = batch_of(list(texts))
    tokens = batch.words.tokens
    for d, text in enumerate(texts):
        spans = tokens.spans[tokens.rows[d] : tokens.rows[d + 1]]
        found = [batch.data[start:end].tobytes().decode() for start, end, _ in spans]
        assert found == dialects.tokens_of(text)
        assert [len(token) for token in found] == spans[:, 2].tolist()


def test_english_is_taken_apart_as_readers_expect() -> None:
    text = 'He said: "don\'t go (U.S. cost $5.99), John’s well-known..." e-mail a@b.org 2-3'
    words = 'He said : " do n\'t go ( U.S. cost $ 5.99 ) , John ’s well - known ... " e - mail'
    assert dialects.tokens_of(text) == [*words.split(), "a@b.org", "2", "-", "3"]


def test_marks_that_belong_to_a_word_stay_with_it() -> None:
    words = ["-v", "--exclude", "/etc/apt/", "|---|---|", "\\|", "well-", "Policy¶", "~"]
    words += [".log", "C++", "end=", "×2"]
    tokens = batch_of([" ".join(words)]).words.tokens
    found = [tokens._data[start:end].tobytes().decode() for start, end, _ in tokens.spans]
    assert found == ["-v", "--exclude", "/etc", "/", "apt/", *words[3:]]


def test_scripts_are_told_apart() -> None:
    texts = ["straße", "слово", "日本語の", "ไทย", "한국어", "עברית", "12 !", "ⴰⴱⴳ"]
    rows = Characters().compute(batch_of(list(texts)), {}).to_pylist()
    found = [row["main_script"] for row in rows]
    assert found == ["latin", "cyrillic", "han", "thai", "hangul", "hebrew", None, "other"]
    assert rows[2]["script_hiragana_share"] == 0.25


def test_generated_and_encoded_code_is_seen() -> None:
    texts = [
        "# Code generated by a tool. DO NOT EDIT.\nx = 1\n",
        "\n" * 6 + "# generated by hand, so far down that it counts for nothing\n",
        "data = '" + "QUJD" * 400 + "'\n",
        "bytes = [" + "0xde, 0xad, " * 40 + "]\n",
    ]
    rows = Code().compute(batch_of(list(texts)), {}).to_pylist()
    assert [row["generated_marks"] for row in rows] == [2, 0, 0, 0]
    assert rows[2]["longest_encoded_run_chars"] == 1_600
    assert rows[3]["encoded_char_share"] > 0.9


def test_prices_are_no_formulas() -> None:
    texts = [
        "It costs $5 or $10, or $ 20.",
        r"We have $x^2 + y^2 = z^2$ and $$\int f$$.",
        "It is $a$1.",
    ]
    rows = Mathematics().compute(batch_of(list(texts)), {}).to_pylist()
    assert [row["formulas"] for row in rows] == [0, 2, 0]


def test_word_lists_come_from_files(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("# my list\n\n damn \ntwo words\n", encoding="utf-8")
    family = BadWords(word_lists=("list.txt",))
    assert family.needs() == ("file:list.txt",)
    batch = TextBatch.from_arrow(pa.array(["Damn, two  words and two words."]))
    row = family.compute(batch, {"file:list.txt": path}).to_pylist()[0]
    assert row["bad_words"] == 2
    path.write_bytes(b"\xff")
    with pytest.raises(ModelError, match=r"not a readable UTF-8 word list"):
        family.compute(batch, {"file:list.txt": path})
