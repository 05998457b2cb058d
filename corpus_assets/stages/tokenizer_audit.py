"""Measure a tokenizer, and prove of it what the shards rely on.

Any `tokenizer.json` can be measured, so that it can be compared; `problems` says whether shards
could be made with it. Held-out text is text that the tokenizer was not trained on.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tokenizers import Tokenizer

from corpus_assets.errors import CorpusError, ModelError
from corpus_assets.shards.tokens import END_OF_DOCUMENT, PAD, Encoder, one_thread
from corpus_assets.stages.tokenizer import RESERVED
from corpus_assets.stages.tokenizer_probes import PROBES
from corpus_assets.stages.tokenizer_vocabulary import inspect, spell

BATCH = 256
"""Documents encoded at once."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to measure on."""

    text: str
    domain: str = "-"
    language: str = "-"


@dataclass
class Tally:
    """What some texts cost in tokens."""

    documents: int = 0
    bytes: int = 0
    words: int = 0
    tokens: int = 0
    inexact: int = 0  # documents that do not come back as they were

    def add(self, text: str, tokens: int, exact: bool) -> None:
        self.documents += 1
        self.bytes += len(text.encode("utf-8"))
        self.words += len(text.split())
        self.tokens += tokens
        self.inexact += not exact

    def row(self) -> dict[str, Any]:
        return {
            "documents": self.documents,
            "bytes": self.bytes,
            "tokens": self.tokens,
            "bytes_per_token": round(self.bytes / self.tokens, 4) if self.tokens else 0.0,
            "tokens_per_word": round(self.tokens / self.words, 4) if self.words else 0.0,
            "inexact": self.inexact,
        }


@dataclass
class Measured:
    total: Tally = field(default_factory=Tally)
    by_domain: dict[str, Tally] = field(default_factory=dict)
    by_language: dict[str, Tally] = field(default_factory=dict)
    used: Counter[int] = field(default_factory=Counter)


class Subject:
    """A tokenizer under audit: by the shards' encoder where it takes it, else by the library."""

    def __init__(self, tokenizer_json: bytes, eod_token: str, pad_token: str) -> None:
        self.sha256 = hashlib.sha256(tokenizer_json).hexdigest()
        self.encoder: Encoder | None = None
        self.refusal: str | None = None
        try:
            self.encoder = Encoder(tokenizer_json, eod_token=eod_token, pad_token=pad_token)
        except ModelError as error:
            self.refusal = str(error)
        try:
            self.definition: dict[str, Any] = json.loads(tokenizer_json)
            self.library = Tokenizer.from_str(tokenizer_json.decode("utf-8"))
            self._as_text = Tokenizer.from_str(tokenizer_json.decode("utf-8"))
        except Exception as error:  # the library raises plain Exception
            raise ModelError(self.refusal or f"tokenizer cannot be loaded: {error}") from error
        for tokenizer in (self.library, self._as_text):
            tokenizer.no_truncation()
            tokenizer.no_padding()
        self._as_text.encode_special_tokens = True
        self.special = {
            token.content: number
            for number, token in sorted(self.library.get_added_tokens_decoder().items())
            if token.special
        }
        self.spelled = self._spelled()

    @property
    def kind(self) -> str:
        return str(self.definition["model"].get("type", "BPE"))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, special tokens in it being text, no mark at the end."""
        if self.encoder is not None:
            batch = self.encoder.encode_batch(texts)
            return [batch[i][:-1].tolist() for i in range(len(batch))]
        with one_thread():
            found = self._as_text.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def decode(self, ids: Sequence[int]) -> str:
        if self.encoder is not None:
            return self.encoder.decode_bytes(ids).decode("utf-8", errors="backslashreplace")
        return str(self._as_text.decode(list(ids), skip_special_tokens=False))

    def _spelled(self) -> list[bytes]:
        if self.encoder is not None:
            return [self.encoder.token_bytes(i) for i in range(self.encoder.vocab_size)]
        vocabulary = self.library.get_vocab(with_added_tokens=True)
        is_byte_level = '"ByteLevel"' in json.dumps(
            [self.definition.get("pre_tokenizer"), self.definition.get("decoder")]
        )
        spelled = {number: spell(token, is_byte_level) for token, number in vocabulary.items()}
        special = set(self.special.values())
        return [
            b"" if number in special else spelled.get(number, b"")
            for number in range(min(max(vocabulary.values(), default=-1) + 1, 2**24))
        ]


def audit(
    tokenizer_json: bytes,
    held_out: Iterable[Passage] = (),
    eod_token: str = END_OF_DOCUMENT,
    pad_token: str = PAD,
) -> dict[str, Any]:
    """The whole audit as plain data. `passed` is true when nothing stands in `problems`;
    `warnings` do not hinder anybody. Memory: one batch of texts, and the vocabulary."""
    subject = Subject(tokenizer_json, eod_token, pad_token)
    problems = [subject.refusal] if subject.refusal else []
    special = _special_tokens(subject, problems)
    covered = len({piece for piece in subject.spelled if len(piece) == 1})
    if covered != 256:
        problems.append(f"only {covered} of 256 bytes are tokens")
    probes = _probes(subject)
    inexact = [name for name, probe in probes.items() if not probe["exact"]]
    if inexact:
        problems.append(f"does not give back exactly: {', '.join(inexact)}")
    measured = measure(subject, held_out)
    if measured.total.inexact:
        problems.append(
            f"{measured.total.inexact} of {measured.total.documents} held-out texts do not come "
            "back exactly"
        )
    ids = set(subject.special.values())
    vocabulary = inspect(subject.definition, subject.spelled, measured.used, ids)
    return {
        "sha256": subject.sha256,
        "kind": subject.kind,
        "vocab_size": len(subject.spelled),
        "eod_id": subject.encoder.eod_id if subject.encoder else None,
        "pad_id": subject.encoder.pad_id if subject.encoder else None,
        "passed": not problems,
        "problems": problems,
        "warnings": _warnings(vocabulary, measured),
        "special_tokens": special,
        "bytes_covered": covered,
        "probes": probes,
        "vocabulary": vocabulary,
        "held_out": {
            **measured.total.row(),
            "by_domain": {name: t.row() for name, t in sorted(measured.by_domain.items())},
            "by_language": {name: t.row() for name, t in sorted(measured.by_language.items())},
        },
    }


def measure(subject: Subject, passages: Iterable[Passage]) -> Measured:
    """Tokens of every passage, in all and by domain and language."""
    found = Measured()
    for batch in _batches(passages):
        for passage, ids in zip(batch, subject.encode([p.text for p in batch]), strict=True):
            exact = subject.decode(ids) == passage.text
            found.used.update(ids)
            for tally in (
                found.total,
                found.by_domain.setdefault(passage.domain, Tally()),
                found.by_language.setdefault(passage.language, Tally()),
            ):
                tally.add(passage.text, len(ids), exact)
    return found


def _special_tokens(subject: Subject, problems: list[str]) -> dict[str, Any]:
    """Each must be one id and back where it is meant, and never come out of text."""
    wrong: list[str] = []
    for name, number in subject.special.items():
        ids = subject.library.encode(name, add_special_tokens=False).ids
        back = subject.library.decode([number], skip_special_tokens=False)
        if ids != [number] or back != name:
            wrong.append(name)
    if wrong:
        problems.append(f"not one id and back: {_some(wrong)}")
    numbers = set(subject.special.values())
    spelled = zip(subject.special, subject.encode(list(subject.special)), strict=True)
    forged = [name for name, ids in spelled if numbers.intersection(ids)]
    if forged:
        problems.append(f"text can spell the special tokens {_some(forged)}")
    named = {n: i for n, i in subject.special.items() if not n.startswith(RESERVED)}
    return {
        "slots": len(subject.special),
        "reserved": len(subject.special) - len(named),
        "named": named,
        "one_id_and_back": len(subject.special) - len(wrong),
    }


def _probes(subject: Subject) -> dict[str, dict[str, Any]]:
    found = {}
    for name, text in PROBES.items():
        try:
            (ids,) = subject.encode([text])
            exact = subject.decode(ids) == text
        except (CorpusError, ValueError):
            ids, exact = [], False
        found[name] = {"bytes": len(text.encode("utf-8")), "tokens": len(ids), "exact": exact}
    return found


def _warnings(vocabulary: dict[str, Any], measured: Measured) -> list[str]:
    warnings = []
    if vocabulary["across_words"]:
        examples = ", ".join(repr(text) for text in vocabulary["across_words_examples"][:3])
        warnings.append(
            f"{vocabulary['across_words']} tokens go across words, for example {examples}"
        )
    if not measured.total.documents:
        warnings.append("no held-out text was measured")
    return warnings


def _batches(passages: Iterable[Passage]) -> Iterator[list[Passage]]:
    rest = iter(passages)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _some(names: Sequence[str], shown: int = 5) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
