"""Measure a tokenizer, and prove of it what the shards rely on.

Any `tokenizer.json` can be measured, so that it can be compared; `problems` says why no shards
should be made with it. Held-out text is text that the tokenizer was not trained on.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import pyarrow as pa
from tokenizers import Tokenizer

from corpus_assets.core.errors import CorpusError, ModelError
from corpus_assets.scrub import KINDS, ScrubSettings, find_by_rules
from corpus_assets.shards import END_OF_DOCUMENT, PAD, Encoder, one_thread
from corpus_assets.text.batch import TextBatch
from corpus_assets.tokenizer.probes import PROBES
from corpus_assets.tokenizer.scripts import own_scripts
from corpus_assets.tokenizer.settings import (
    MIN_SCRIPT_SHARE,
    RESERVED,
    AuditSettings,
    RareText,
    TokenizerSettings,
)
from corpus_assets.tokenizer.upsample import Upsampled, measure_upsampled
from corpus_assets.tokenizer.vocabulary import Vocabulary, inspect, spell

BATCH = 256
"""Documents encoded at once."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to measure on."""

    text: str
    domain: str = "-"
    language: str = "-"


@dataclass(frozen=True, slots=True)
class TrainingFacts:
    """What a tokenizer that was trained here learned from, and under which bounds."""

    texts: Iterable[str]
    scripts: Collection[str]
    max_token_chars: int
    upsample: Mapping[RareText, int] = field(default_factory=dict)


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

    def sums(self) -> "TextCost":
        return TextCost(
            self.documents,
            self.bytes,
            self.tokens,
            round(self.bytes / self.tokens, 4) if self.tokens else 0.0,
            round(self.tokens / self.words, 4) if self.words else 0.0,
            self.inexact,
        )


@dataclass(frozen=True)
class TextCost:
    """What some texts cost in tokens, in all and by length."""

    documents: int
    bytes: int
    tokens: int
    bytes_per_token: float
    tokens_per_word: float
    inexact: int


@dataclass(frozen=True)
class HeldOutCost(TextCost):
    """What the held-out texts cost."""

    by_domain: dict[str, TextCost]
    by_language: dict[str, TextCost]


@dataclass(frozen=True)
class SpecialTokens:
    """Special tokens: slots in all, those with a name, and how many round-trip as one id."""

    slots: int
    reserved: int
    named: dict[str, int]
    one_id_and_back: int


@dataclass(frozen=True)
class Probe:
    """A text that is hard to encode."""

    bytes: int
    tokens: int
    exact: bool


@dataclass(frozen=True)
class Audit:
    """What is known of a tokenizer. `problems` fail it, `warnings` do not; `usable` is false where
    tokens would be wrong, unused ones are only a waste of ids. `upsampled` is the text that its
    sample was biased to."""

    sha256: str
    kind: str
    vocab_size: int
    eod_id: int | None
    pad_id: int | None
    problems: list[str]
    warnings: list[str]
    scripts: list[str]
    special_tokens: SpecialTokens
    bytes_covered: int
    probes: dict[str, Probe]
    vocabulary: Vocabulary
    held_out: HeldOutCost
    passed: bool
    usable: bool = True
    upsampled: dict[str, Upsampled] = field(default_factory=dict)


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


def audit_tokenizer(
    tokenizer_json: bytes,
    held_out: Iterable[Passage] = (),
    eod_token: str = END_OF_DOCUMENT,
    pad_token: str = PAD,
    training: TrainingFacts | None = None,
) -> Audit:
    """Measure a tokenizer. Memory: the held-out texts, and the vocabulary.

    Foreign scripts and long tokens are problems of a tokenizer that was trained here. One that
    was chosen as it is gets warnings, and the held-out text says which scripts there are.
    """
    held_out = list(held_out)
    subject = Subject(tokenizer_json, eod_token, pad_token)
    problems = [subject.refusal] if subject.refusal else []
    special = _special_tokens(subject, problems)
    covered = len({piece for piece in subject.spelled if len(piece) == 1})
    if covered != 256:
        problems.append(f"only {covered} of 256 bytes are tokens")
    probes = _probes(subject)
    inexact = [name for name, probe in probes.items() if not probe.exact]
    if inexact:
        problems.append(f"does not give back exactly: {', '.join(inexact)}")
    measured = measure_tokenizer(subject, held_out)
    if measured.total.inexact:
        problems.append(
            f"{measured.total.inexact} of {measured.total.documents} held-out texts do not come "
            "back exactly"
        )
    usual = TokenizerSettings()
    scripts = (
        training.scripts
        if training is not None
        else own_scripts(
            ((one.text, one.domain, one.language) for one in held_out),
            MIN_SCRIPT_SHARE,
            usual.min_documents,
        )
    )
    most = training.max_token_chars if training is not None else usual.max_token_chars
    ids = set(subject.special.values())
    vocabulary = inspect(subject.definition, subject.spelled, measured.used, ids, scripts, most)
    warnings = _warnings(vocabulary, measured)
    (warnings if training is None else problems).extend(_faults(vocabulary, scripts, most))
    if training is not None:
        share = _never_used(subject, training.texts, measured.used)
        vocabulary = replace(vocabulary, never_used_share=share)
    return Audit(
        upsampled=_upsampled(subject, training),
        sha256=subject.sha256,
        kind=subject.kind,
        vocab_size=len(subject.spelled),
        eod_id=subject.encoder.eod_id if subject.encoder else None,
        pad_id=subject.encoder.pad_id if subject.encoder else None,
        problems=problems,
        warnings=warnings,
        scripts=list(scripts),
        special_tokens=special,
        bytes_covered=covered,
        probes=probes,
        vocabulary=vocabulary,
        held_out=HeldOutCost(
            **vars(measured.total.sums()),
            by_domain={name: t.sums() for name, t in sorted(measured.by_domain.items())},
            by_language={name: t.sums() for name, t in sorted(measured.by_language.items())},
        ),
        passed=not problems,
    )


def _upsampled(subject: Subject, training: TrainingFacts | None) -> dict[str, Upsampled]:
    if training is None:
        return {}
    special = set(subject.special.values())
    merged = (piece for n, piece in enumerate(subject.spelled) if n not in special)
    spelled = (piece.decode("utf-8", errors="ignore") for piece in merged if len(piece) > 1)
    return measure_upsampled(training.texts, training.upsample, spelled)


def judged(
    report: Audit,
    tokenizer_json: bytes,
    settings: AuditSettings,
    scrub: ScrubSettings,
    domains: Collection[str],
) -> Audit:
    """Return an audit with what a recipe asks besides: strings that are one token, few unused
    tokens, and no token that is personal data of a kind that is scrubbed in all domains."""
    subject = Subject(tokenizer_json, "", "")
    never_used = report.vocabulary.never_used_share
    problems, warnings = list(report.problems), list(report.warnings)
    split = [
        f"{text!r} ({len(ids)} tokens)"
        for text, ids in zip(settings.one_token, subject.encode(settings.one_token), strict=True)
        if len(ids) != 1 and text not in subject.special
    ]
    if split:
        problems.append(
            f"not one token each: {_some(split)}; train with a larger vocab_size or on text that "
            "has them, or take them from tokenizer.audit.one_token"
        )
    faults = problems if never_used is not None else warnings
    found = _personal_data(subject, scrub, domains)
    if found:
        kinds = ", ".join(sorted(set(found.values())))
        faults.append(
            f"{len(found)} tokens are personal data ({kinds}): ids {_some(list(map(str, found)))}; "
            "leave a split_pattern that keeps words apart as it is"
        )
    usable = not problems
    if never_used is not None and never_used > settings.max_unused_share:
        problems.append(
            f"{never_used:.1%} of the merged tokens are in no text of the sample, more than "
            f"{settings.max_unused_share:.1%}; leave vocab_size out and it is chosen to fit the "
            "text, lower it, train on more text, or raise "
            "tokenizer.audit.max_unused_share"
        )
    return replace(report, passed=not problems, usable=usable, problems=problems, warnings=warnings)


def _personal_data(
    subject: Subject, scrub: ScrubSettings, domains: Collection[str]
) -> dict[int, str]:
    """Tokens that the rules for personal data find something in, and its kind.

    Recognizers of other kinds are not asked: a first name is a fair token.
    """
    kinds = set(KINDS).intersection(*(scrub.actions(domain) for domain in domains))
    texts = [piece.decode("utf-8", errors="ignore") for piece in subject.spelled]
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    found = find_by_rules(batch.data, batch.offsets, frozenset(kinds), scrub.regions(None))
    return {number: findings[0].kind for number, findings in found.items()}


def _never_used(subject: Subject, texts: Iterable[str], used: Iterable[int]) -> float:
    """Share of the merged tokens that are in none of the texts and not among `used`; single bytes
    are there for whatever may come."""
    seen = set(used)
    rest = iter(texts)
    while batch := list(islice(rest, BATCH)):
        seen.update(chain.from_iterable(subject.encode(batch)))
    special = set(subject.special.values())
    merged = {n for n, piece in enumerate(subject.spelled) if len(piece) > 1} - special
    return round(len(merged - seen) / max(1, len(merged)), 4)


def _faults(vocabulary: Vocabulary, scripts: Collection[str], most: int) -> list[str]:
    """Sentences without the tokens, which are pieces of documents: errors and checks end in logs
    that no takedown reaches. `corpus tokenizer audit` shows some."""
    faults = []
    if vocabulary.foreign:
        faults.append(
            f"{vocabulary.foreign} tokens are in scripts that the text is not written in "
            f"({', '.join(sorted(set(vocabulary.by_script) - set(scripts)))}); it is "
            f"written in {', '.join(scripts)}"
        )
    if vocabulary.too_long:
        faults.append(
            f"{vocabulary.too_long} tokens with a letter or digit have more than {most} characters"
        )
    return faults


def measure_tokenizer(subject: Subject, passages: Iterable[Passage]) -> Measured:
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


def _special_tokens(subject: Subject, problems: list[str]) -> SpecialTokens:
    """Check that each special token is one id and back, and never comes out of text."""
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
    slots = len(subject.special)
    return SpecialTokens(slots, slots - len(named), named, slots - len(wrong))


def _probes(subject: Subject) -> dict[str, Probe]:
    found = {}
    for name, text in PROBES.items():
        try:
            (ids,) = subject.encode([text])
            exact = subject.decode(ids) == text
        except (CorpusError, ValueError):
            ids, exact = [], False
        found[name] = Probe(len(text.encode("utf-8")), len(ids), exact)
    return found


def _warnings(vocabulary: Vocabulary, measured: Measured) -> list[str]:
    warnings = []
    if vocabulary.across_words:
        warnings.append(f"{vocabulary.across_words} tokens span several words")
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
