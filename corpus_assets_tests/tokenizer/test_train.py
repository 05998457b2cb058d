"""Training, audit and pinning of the tokenizer."""

import base64
import gzip
import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from pydantic import ValidationError
from tokenizers import Tokenizer

from corpus_assets.core.errors import ModelError
from corpus_assets.shards.tokens import Encoder
from corpus_assets.tokenizer.audit import Passage, audit_tokenizer
from corpus_assets.tokenizer.settings import MAX_RUN_CHARS, TokenizerSettings
from corpus_assets.tokenizer.train import (
    EXAMPLES,
    RARE_SHARE,
    learnable,
    load_pinned,
    name_slots,
    train_tokenizer,
)
from corpus_assets_tests.shared_data import shared_data
from corpus_assets_tests.small_corpus import prose

# Every word equally often: each merge is a tie, so an unstable order would show.
TIED_TEXTS = [
    f"{first}{second} {second}{first}{first}"
    for first in ("ka", "li", "mo", "ne", "ru")
    for second in ("ta", "si", "vo", "ße", "中")
] * 3
SMALL = TokenizerSettings(vocab_size=400, special_slots=5)

TRAIN_AND_HASH = """
import hashlib, json, sys
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer
texts = json.load(sys.stdin)
print(hashlib.sha256(train_tokenizer(texts, TokenizerSettings(vocab_size=600))).hexdigest())
"""


def test_training_gives_the_same_bytes_in_every_process() -> None:
    digests = set()
    for number, parallel in enumerate(("false", "true", "false")):
        done = subprocess.run(
            [sys.executable, "-c", TRAIN_AND_HASH],
            input=json.dumps(TIED_TEXTS),
            env={**os.environ, "PYTHONHASHSEED": str(number), "TOKENIZERS_PARALLELISM": parallel},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout.strip())
    assert len(digests) == 1


def test_training_does_not_depend_on_the_order_of_texts() -> None:
    assert train_tokenizer(TIED_TEXTS, SMALL) == train_tokenizer(TIED_TEXTS[::-1], SMALL)


def test_training_leaves_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    train_tokenizer(["a b"], SMALL)
    assert "TOKENIZERS_PARALLELISM" not in os.environ
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    train_tokenizer(["a b"], SMALL)
    assert os.environ["TOKENIZERS_PARALLELISM"] == "true"


def test_special_tokens_come_first_and_all_bytes_are_there_even_without_text() -> None:
    tokenizer = Tokenizer.from_str(train_tokenizer([], SMALL).decode())
    names = [tokenizer.id_to_token(number) for number in range(5)]
    assert names == [
        "<|end_of_document|>",
        "<|pad|>",
        "<|reserved_2|>",
        "<|reserved_3|>",
        "<|reserved_4|>",
    ]
    assert tokenizer.get_vocab_size() == 256 + 5


CHAT = ("<|im_start|>", "<|im_end|>", "<|tool_call|>", "<|think|>", "<|lang_zh-Hans|>")


def test_a_real_corpus_gets_up_to_128_000_ids_and_a_block_of_256_special_slots_by_default() -> None:
    settings = TokenizerSettings()
    assert settings.max_ids == 128_000
    names = settings.all_special_tokens()
    assert len(names) == 256
    assert names[2] == "<|reserved_2|>"
    assert names[-1] == "<|reserved_255|>"


def test_a_name_added_later_takes_a_reserved_slot_and_moves_no_id() -> None:
    before = TokenizerSettings(vocab_size=640)
    after = TokenizerSettings(vocab_size=640, special_tokens=(*before.special_tokens, *CHAT))
    old, new = (
        Tokenizer.from_str(train_tokenizer(TIED_TEXTS, each).decode()).get_vocab()
        for each in (before, after)
    )
    moved = {name for name in old if new.get(name) != old[name]}
    assert moved == {f"<|reserved_{number}|>" for number in range(2, 7)}
    assert [new[name] for name in CHAT] == [2, 3, 4, 5, 6]
    assert {new[name] for name in new if name not in old} == {2, 3, 4, 5, 6}


def test_naming_slots_of_a_finished_tokenizer_equals_training_it_with_the_names() -> None:
    before = TokenizerSettings(vocab_size=640)
    after = TokenizerSettings(vocab_size=640, special_tokens=(*before.special_tokens, *CHAT))
    named = name_slots(train_tokenizer(TIED_TEXTS, before), CHAT)
    assert named == train_tokenizer(TIED_TEXTS, after)
    assert name_slots(named, ["<|fim_prefix|>"]) != named


@pytest.mark.parametrize(
    ("names", "word"),
    [
        (["<|pad|>"], "no name twice"),
        (["<|a|>", "<|a|>"], "no name twice"),
        (["plain"], "write it like"),
        (["<|reserved_9|>"], "cannot be a special token"),
        ([f"<|n{number}|>" for number in range(4)], "3 reserved slots, 4 names"),
    ],
)
def test_a_slot_gets_no_name_that_is_taken_or_unsafe(names: list[str], word: str) -> None:
    with pytest.raises(ModelError, match=word):
        name_slots(train_tokenizer([], SMALL), names)


def pieces_of(tokenizer_json: bytes) -> set[str]:
    """What all tokens spell, the special ones left out."""
    encoder = Encoder(tokenizer_json)
    return {encoder.token_bytes(i).decode("utf-8", "replace") for i in range(encoder.vocab_size)}


def test_no_token_spells_what_too_few_documents_hold() -> None:
    common = [f"the harbour of {place} is open" for place in ("Ash", "Elm", "Oak", "Fir", "Yew")]
    secret = "Quillorix Vantzelgolm met Quillorix " * 50  # often, and in one document only
    four = ["Zembradune said so"] * 9 + [f"Zembradune {n}" for n in ("I", "II", "III")]
    pieces = pieces_of(train_tokenizer([*common, secret, *four], SMALL))
    assert {" harbour", " open"} <= pieces
    for name in ("Quillorix", "Vantzelgolm", "Zembradune"):
        parts = {name[i : i + 3] for i in range(len(name) - 2)}
        assert not {piece for piece in pieces if any(part in piece for part in parts)}


def test_others_take_the_place_of_merges_that_are_taken_out() -> None:
    plenty = [" ".join(f"w{a}{b}{c}" for c in "abcdefghij") for a in "klmno" for b in "pqrst"] * 8
    shared = [f"{text} {n}" for n, text in enumerate(plenty)]
    alone = ["zyxv uzyx " * 900]  # its merges come first
    settings = SMALL.model_copy(update={"vocab_size": 290})
    assert Encoder(train_tokenizer(shared + alone, settings)).vocab_size == 290


LONG = "Donaudampfschifffahrtsgesellschaft"


@pytest.mark.parametrize("most", [8, 16, 128])
def test_no_token_with_a_letter_is_longer_than_the_bound(most: int) -> None:
    texts = [f"{LONG} {LONG} {n} " + "図書館の窓から見える山は雪で白い" * 2 for n in range(9)]
    settings = SMALL.model_copy(update={"vocab_size": 600, "max_token_chars": most})
    pieces = pieces_of(train_tokenizer(texts, settings))
    longest = max(len(piece) for piece in pieces if any(map(str.isalnum, piece)))
    assert longest == min(most, len(LONG) + 1)


def test_runs_of_space_and_punctuation_may_be_longer_than_words() -> None:
    texts = [f"{number}\n{' ' * 65}x\n\n{'=' * 64}x\n" * 3 for number in range(9)]
    pieces = pieces_of(train_tokenizer(texts, SMALL))
    assert {" " * 64, "=" * 64} <= pieces


def test_letters_of_scripts_that_are_not_asked_for_stay_bytes_and_cost_no_merge() -> None:
    english = [f"the harbour of {place} is open" for place in ("Ash", "Elm", "Oak", "Fir", "Yew")]
    quoted = [f"{text} «Смотритель маяка», 灯台守は毎晩 नमस्ते" for text in english]
    data = train_tokenizer(quoted, SMALL, scripts=["latin"])
    pieces = pieces_of(data)
    assert " harbour" in pieces
    assert not {c for piece in pieces for c in piece if c.isalpha() and not c.isascii()}
    assert any("Смотр" in piece for piece in pieces_of(train_tokenizer(quoted, SMALL)))
    definition = json.loads(data)
    assert definition["normalizer"] is None
    encoder = Encoder(data)
    assert encoder.decode(encoder.encode_batch(quoted[:1])[0][:-1]) == quoted[0]


def test_a_script_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValidationError, match="no script is named 'klingon'"):
        TokenizerSettings(scripts=("klingon",))


RUNS = {
    "joiners": "\u200d",
    "one letter": "a",
    "marks": "\u0301",
    "spaces": " ",
    "ideographs": "中文字符汉语",
    "base64": base64.b64encode(hashlib.shake_128(b"blob").digest(150_000)).decode(),
}


@pytest.mark.parametrize("name", RUNS)
def test_long_unbroken_runs_train_in_no_more_than_their_length(name: str) -> None:
    """Ten pages of one run each: minutes to an hour where a run is learned as one word."""
    run = (RUNS[name] * (200_000 // len(RUNS[name]) + 1))[:200_000]
    texts = TIED_TEXTS + [f"{run}{number}" for number in range(10)]
    tokenizer = train_tokenizer(texts, SMALL)
    longest = max(len(piece) for piece in pieces_of(tokenizer))
    assert longest <= MAX_RUN_CHARS
    assert Encoder(tokenizer).decode(Encoder(tokenizer).encode_batch([run])[0][:-1]) == run


INTERRUPTED = """
import time
from corpus_assets.tokenizer.train import interruptible
print("ready", flush=True)
interruptible(lambda: time.sleep(600))
"""


def test_ctrl_c_ends_the_wait_for_native_training() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert said.rstrip().endswith("KeyboardInterrupt")


def test_digits_are_split_in_threes_at_most() -> None:
    of_one = SMALL.model_copy(update={"min_documents": 1})
    encoder = Encoder(train_tokenizer(["1234567890 " * 200, "2024 " * 200], of_one))
    pieces = [encoder.token_bytes(number) for number in range(encoder.vocab_size)]
    runs = [len(piece.strip()) for piece in pieces if piece.strip().isdigit()]
    assert max(runs) == 3


def with_change(change: str) -> bytes:
    definition = json.loads(train_tokenizer(TIED_TEXTS, SMALL))
    if change == "normalizer":
        definition["normalizer"] = {"type": "NFC"}
    elif change == "dropout":
        definition["model"]["dropout"] = 0.1
    elif change == "prefix_space":
        definition["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = True
    elif change == "missing_byte":
        del definition["model"]["vocab"]["!"]
    elif change == "no_pad":
        definition["added_tokens"] = [
            token for token in definition["added_tokens"] if token["content"] != "<|pad|>"
        ]
        del definition["model"]["vocab"]["<|pad|>"]
    return json.dumps(definition).encode()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ("normalizer", "normalizer"),
        ("dropout", "dropout"),
        ("prefix_space", "round-trip"),
        ("missing_byte", "byte symbols"),
        ("no_pad", "no special token"),
    ],
)
def test_a_tokenizer_that_loses_text_is_refused_and_the_audit_says_why(
    change: str, word: str
) -> None:
    tokenizer_json = with_change(change)
    with pytest.raises(ModelError, match=word):
        Encoder(tokenizer_json)
    report = audit_tokenizer(tokenizer_json, [Passage("text")])
    assert not report.passed
    assert word in report.problems[0]


@pytest.mark.parametrize("content", [b"not json", b"[]", b'{"model": {"type": "Nothing"}}'])
def test_a_file_that_is_no_tokenizer_is_refused(content: bytes) -> None:
    with pytest.raises(ModelError):
        Encoder(content)


@pytest.mark.parametrize(
    "wrong",
    [
        {"vocab_size": 270},
        {"special_tokens": ("<|end_of_document|>", "<|pad|>", "<|pad|>")},
        {"special_tokens": ("<|end_of_document|>", "<|pad|>", "hello")},
        {"special_tokens": ("<|end_of_document|>", "<|pad|>", "<|_|>")},
        {"special_tokens": ("<|end_of_document|>", "<|pad|>", "<|reserved_9|>")},
        {"special_tokens": ("<|end_of_document|>", "<|pad|>", "<|a|>"), "special_slots": 2},
        {"special_slots": 1},
    ],
)
def test_settings_without_room_or_with_unsafe_special_tokens_are_refused(
    wrong: dict[str, object],
) -> None:
    with pytest.raises(ValidationError):
        TokenizerSettings(**wrong)  # type: ignore[arg-type]


def test_a_pinned_tokenizer_loads_and_a_changed_or_missing_one_is_refused(tmp_path: Path) -> None:
    content = train_tokenizer(TIED_TEXTS, SMALL)
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    assert load_pinned(path, digest) == content
    path.write_bytes(content + b" ")
    with pytest.raises(ModelError, match="pinned is"):
        load_pinned(path, digest)
    with pytest.raises(ModelError, match="cannot be read"):
        load_pinned(tmp_path / "absent.json", digest)


def test_a_tokenizer_of_real_prose_passes_its_audit_on_other_languages() -> None:
    def texts(name: str, count: int) -> list[str]:
        with gzip.open(shared_data(f"text/{name}.jsonl.gz"), "rt") as lines:
            return [json.loads(line)["text"][:20_000] for line in itertools.islice(lines, count)]

    settings = TokenizerSettings(vocab_size=2048)
    passages = [Passage(text, "wiki", "many") for text in texts("multilingual", 40)]
    report = audit_tokenizer(train_tokenizer(texts("prose", 20), settings), passages)
    assert report.passed, report.problems
    assert report.vocab_size == 2048
    assert report.held_out.documents == 40
    assert report.vocabulary.across_words == 0


# A vocabulary whose size the recipe leaves open.

OPEN = TokenizerSettings(special_slots=5, min_documents=2)
TEXTS = [prose("open", i, sentences=12) for i in range(12)]


def counts_with(definition: dict, n: int, texts: list[str]) -> Counter[str]:
    """How often each token occurs where the first `n` merges alone are applied, by the library."""
    model = definition["model"] | {"merges": definition["model"]["merges"][:n]}
    tokenizer = Tokenizer.from_str(json.dumps(definition | {"model": model}))
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    return Counter(token for one in encoded for token in one.tokens)


@pytest.mark.parametrize(
    ("enough", "vocab_size"),
    [
        pytest.param(1, 900, marks=pytest.mark.slow),
        (3, 900),
        pytest.param(20, 900, marks=pytest.mark.slow),
        (10**9, 400),
    ],
)
def test_the_largest_vocabulary_with_examples_is_the_one_that_encoding_finds(
    enough: int, vocab_size: int
) -> None:
    asked = TokenizerSettings(vocab_size=vocab_size, special_slots=5, min_documents=1)
    definition = json.loads(train_tokenizer(TEXTS, asked))
    merges = definition["model"]["merges"]
    counts = counts_with(definition, len(merges), TEXTS)
    ids = definition["model"]["vocab"]
    found = learnable(definition, [counts[t] for t in sorted(ids, key=ids.__getitem__)], enough)

    def is_learnable(n: int) -> bool:
        counted = counts_with(definition, n, TEXTS)
        made = {left + right for left, right in merges[:n]}
        return sum(counted[token] < enough for token in made) <= RARE_SHARE * len(made)

    assert found == next(n for n in range(len(merges), -1, -1) if is_learnable(n))


def test_an_open_vocabulary_fits_texts_of_any_size() -> None:
    sizes = []
    for n_texts in (1, 3, 10, 120):
        texts = [prose("fits", i, sentences=12) for i in range(n_texts)]
        definition = json.loads(train_tokenizer(texts, OPEN))
        merges = definition["model"]["merges"]
        counts = counts_with(definition, len(merges), texts)
        rare = [a + b for a, b in merges if counts[a + b] < EXAMPLES]
        assert len(rare) <= RARE_SHARE * len(merges)
        assert len(definition["model"]["vocab"]) == 256 + 5 + len(merges)
        sizes.append(len(merges))
    assert sizes[0] == 0, "one text: nothing stands in two"
    assert sizes[1] < sizes[2] < sizes[3]


def test_examples_are_counted_in_the_corpus_and_not_in_the_sample() -> None:
    whole, tenth = (
        json.loads(train_tokenizer(TEXTS, OPEN, sampled=Fraction(1, n)))["model"] for n in (1, 10)
    )
    assert len(whole["merges"]) < len(tenth["merges"])
    assert tenth["merges"][: len(whole["merges"])] == whole["merges"]


def test_a_size_that_is_given_is_not_looked_at_again() -> None:
    definition = json.loads(train_tokenizer(TEXTS, OPEN.model_copy(update={"vocab_size": 700})))
    assert len(definition["model"]["vocab"]) == 700
