"""The audit: of our own tokenizers, and of any other."""

import functools
import json
import re
from typing import Any

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import trainers as train

from corpus_assets.core.errors import ModelError
from corpus_assets.scrub.settings import ScrubSettings
from corpus_assets.shards.tokenizer_file import unicode_of_bytes
from corpus_assets.shards.tokens import Encoder
from corpus_assets.tokenizer.audit import Passage, TrainingFacts, audit_tokenizer, judged
from corpus_assets.tokenizer.probes import PROBES
from corpus_assets.tokenizer.settings import AuditSettings, TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer

TEXTS = [
    "The quick brown fox jumps over the lazy dog, and the dog does not mind at all.",
    "Der schnelle braune Fuchs springt über den faulen Hund; 12345 Mal im Jahr 2024.",
    "def fox(dog):\n    return [leg for leg in dog.legs if leg.is_lazy]\n",
] * 5


@functools.cache
def ours() -> bytes:
    return train_tokenizer(TEXTS, TokenizerSettings(vocab_size=700, min_documents=1))


def foreign(kind: str) -> bytes:
    """A tokenizer as other projects make them."""
    special = ["<unk>", "<s>", "</s>"]
    if kind == "unigram":
        made = Tokenizer(models.Unigram())
        made.normalizer = normalizers.NFKC()
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.decoder = decoders.Metaspace()
        trainer: Any = train.UnigramTrainer(
            vocab_size=200, special_tokens=special, unk_token="<unk>", show_progress=False
        )
    elif kind == "wordpiece":
        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer()
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.decoder = decoders.WordPiece()
        trainer = train.WordPieceTrainer(
            vocab_size=200, special_tokens=["[UNK]", "[PAD]"], show_progress=False
        )
    elif kind == "metaspace bpe":
        made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
        bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
        trainer = train.BpeTrainer(
            vocab_size=500, special_tokens=[*special, *bytes_], show_progress=False
        )
    elif kind == "no split":
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        made.decoder = decoders.ByteLevel()
        trainer = train.BpeTrainer(
            vocab_size=500,
            special_tokens=["<|end_of_document|>", "<|pad|>"],
            initial_alphabet=unicode_of_bytes(),
            show_progress=False,
        )
    else:  # GPT-2's: byte-level BPE with its own regular expression, one special token
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        trainer = train.BpeTrainer(
            vocab_size=500,
            special_tokens=["<|endoftext|>", "<|padding|>"],
            initial_alphabet=unicode_of_bytes(),
            show_progress=False,
        )
    made.train_from_iterator(TEXTS, trainer)
    definition = json.loads(made.to_str())
    definition["added_tokens"] = [
        token for token in definition["added_tokens"] if not token["content"].startswith("<0x")
    ]
    return json.dumps(definition).encode()


def test_a_sound_tokenizer_passes_with_every_number_the_shards_rely_on() -> None:
    passages = [Passage(text, "web", "en") for text in TEXTS[:2]] + [Passage(TEXTS[2], "code")]
    report = audit_tokenizer(ours(), passages)
    assert report.passed
    assert report.problems == report.warnings == []
    assert report.bytes_covered == 256
    special = report.special_tokens
    assert (special.slots, special.reserved, special.one_id_and_back) == (256, 254, 256)
    assert special.named == {"<|end_of_document|>": 0, "<|pad|>": 1}
    assert (report.eod_id, report.pad_id) == (0, 1)
    assert set(report.probes) == set(PROBES)
    assert all(probe.exact for probe in report.probes.values())


def test_bytes_per_token_are_counted_in_all_by_domain_and_by_language() -> None:
    passages = [Passage(TEXTS[0], "web", "en"), Passage(TEXTS[1], "web", "de")]
    found = audit_tokenizer(ours(), passages).held_out
    encoder = Encoder(ours())
    for language, text in (("en", TEXTS[0]), ("de", TEXTS[1])):
        tokens = len(encoder.encode_batch([text])[0]) - 1
        row = found.by_language[language]
        assert (row.documents, row.tokens, row.bytes) == (1, tokens, len(text.encode()))
        assert row.bytes_per_token == pytest.approx(len(text.encode()) / tokens, abs=1e-4)
    assert found.by_domain["web"].tokens == found.tokens
    assert found.documents == 2


def test_the_vocabulary_is_shown_from_its_first_merges_to_its_last() -> None:
    vocabulary = audit_tokenizer(ours(), [Passage(text) for text in TEXTS]).vocabulary
    definition = json.loads(ours())
    assert vocabulary.merges == len(definition["model"]["merges"])
    assert len(vocabulary.first_merges) == len(vocabulary.last_merges) == 20
    assert " do" in vocabulary.first_merges
    assert len(vocabulary.longest[0]) >= len(vocabulary.longest[-1]) > 1
    assert vocabulary.across_words == 0
    assert 0 < vocabulary.unused_share < 1


def test_merges_across_words_are_counted_and_shown_but_hinder_nobody() -> None:
    report = audit_tokenizer(foreign("no split"))
    vocabulary = report.vocabulary
    assert vocabulary.across_words > 0
    assert any(" " in text.strip() for text in vocabulary.across_words_examples)
    assert report.passed
    assert "span several words" in report.warnings[0]


def test_without_held_out_text_the_audit_says_so() -> None:
    assert "no held-out text was measured" in audit_tokenizer(ours()).warnings
    assert audit_tokenizer(ours()).vocabulary.unused_share is None


def test_a_special_token_that_is_not_one_id_is_a_problem() -> None:
    made = Tokenizer.from_str(ours().decode())
    made.add_special_tokens([AddedToken("<|late|>", special=True)])
    made.decoder = decoders.Sequence([decoders.Replace("<|late|>", "?"), decoders.ByteLevel()])
    report = audit_tokenizer(made.to_str().encode())
    assert any("not one id and back: <|late|>" in problem for problem in report.problems)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("unigram", "is a Unigram model"),
        ("wordpiece", "is a WordPiece model"),
        ("metaspace bpe", "Metaspace"),
    ],
)
def test_tokenizers_that_cannot_spell_every_text_are_refused_by_name_and_still_measured(
    kind: str, word: str
) -> None:
    content = foreign(kind)
    with pytest.raises(ModelError, match=word):
        Encoder(content, eod_token="</s>", pad_token="<s>")
    report = audit_tokenizer(content, [Passage(TEXTS[0], "web", "en")])
    assert not report.passed
    assert word in report.problems[0]
    assert report.held_out.bytes_per_token > 1
    assert report.vocabulary.tokens > 50
    assert not all(probe.exact for probe in report.probes.values())


def test_a_byte_fallback_covers_all_bytes_and_is_counted_so() -> None:
    assert audit_tokenizer(foreign("metaspace bpe")).bytes_covered == 256
    assert audit_tokenizer(foreign("wordpiece")).bytes_covered < 256


def test_a_byte_level_tokenizer_of_others_is_taken_when_its_special_tokens_are_named() -> None:
    content = foreign("gpt-2")
    assert "no special token" in audit_tokenizer(content).problems[0]
    report = audit_tokenizer(
        content, [Passage(text) for text in TEXTS], "<|endoftext|>", "<|padding|>"
    )
    assert report.passed, report.problems


def test_a_split_that_drops_what_it_splits_at_is_found() -> None:
    made = Tokenizer.from_str(ours().decode())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\t"), behavior="removed"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    report = audit_tokenizer(made.to_str().encode())
    assert "code, tabs" in report.problems[-1]
    assert not report.probes["code, tabs"].exact
    assert report.probes["CJK"].exact


def learned(texts: list[str], **settings: Any) -> bytes:
    asked = {"vocab_size": 700, "min_documents": 1, "max_token_chars": 128, **settings}
    return train_tokenizer(texts, TokenizerSettings(**asked))


PLANTED = {
    "script": ([*TEXTS, "Съешь же ещё этих булок " * 9], {}, r"\d+ tokens are in .*\(cyrillic\)"),
    "long": ([*TEXTS, "Donaudampfschifffahrt " * 9], {}, "more than 16 characters"),
    "e-mail": (
        [*TEXTS, "write to jane@example.org " * 9],
        {"split_pattern": r"\s+|\S+"},
        r"1 tokens are personal data \(email\): ids \d+;",
    ),
    "unused": (TEXTS, {"split_pattern": r"\p{L}+"}, "% of the merged tokens are in no text"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_fails_a_tokenizer_that_was_trained_here_and_warns_of_another(
    name: str,
) -> None:
    texts, settings, message = PLANTED[name]
    data = learned(texts, **settings)
    seen = ["The dog."] if name == "unused" else texts
    bound = 0.2 if name == "unused" else 1
    rules = (AuditSettings(max_unused_share=bound), ScrubSettings(), {"web", "code"})
    trained = audit_tokenizer(data, (), training=TrainingFacts(seen, ("latin",), 16))
    report = judged(trained, data, *rules)
    assert not report.passed
    (problem,) = report.problems
    assert re.search(message, problem)
    assert not re.search("jane|Donau|булок", problem), "no token is printed: logs keep problems"
    passages = [Passage(text) for text in TEXTS[:9]]
    chosen = judged(audit_tokenizer(data, passages), data, *rules)
    assert chosen.passed
    said = [warning for warning in chosen.warnings if re.search(message, warning)]
    assert len(said) == (name != "unused")


def test_a_sound_tokenizer_stays_so_under_every_rule() -> None:
    data = learned(TEXTS, vocab_size=540)
    training = TrainingFacts(TEXTS, ("latin",), 16)
    report = audit_tokenizer(data, [Passage(text) for text in TEXTS[:3]], training=training)
    report = judged(report, data, AuditSettings(), ScrubSettings(), {"web"})
    assert report.passed, report.problems
    assert report.scripts == ["latin"]
    assert set(report.vocabulary.by_script) == {"latin"}
    assert 0 < report.vocabulary.never_used_share < 0.2


def test_kinds_that_some_domain_keeps_fail_no_token() -> None:
    data = learned([*TEXTS, "write to jane@example.org " * 9], split_pattern=r"\s+|\S+")
    report = audit_tokenizer(data, training=TrainingFacts(TEXTS, ("latin",), 128))
    kept = ScrubSettings(by_domain={"code": {"email": "leave"}})
    bounds = AuditSettings(max_unused_share=1)
    assert judged(report, data, bounds, kept, {"web", "code"}).passed
    assert not judged(report, data, bounds, kept, {"web"}).passed


def test_strings_that_must_be_one_token_fail_the_audit_where_they_are_not() -> None:
    wanted = (" the", "the lazy", "<|pad|>", "!")
    report = judged(
        audit_tokenizer(ours()), ours(), AuditSettings(one_token=wanted), ScrubSettings(), {"web"}
    )
    (problem,) = report.problems
    assert problem.startswith("not one token each: 'the lazy' (2 tokens);")


def test_a_file_that_is_no_tokenizer_cannot_be_audited() -> None:
    with pytest.raises(ModelError, match="not JSON"):
        audit_tokenizer(b"nothing")


def test_the_probes_hold_what_they_are_named_for() -> None:
    assert "\t" in PROBES["code, tabs"]
    assert "\n    " in PROBES["code, 4 spaces"]
    assert "\u200d" in PROBES["emoji with joiners"]
    assert "\ufffd" in PROBES["invalid UTF-8, replaced"]
    assert max(map(len, PROBES["a very long line"].split("\n"))) > 25_000
