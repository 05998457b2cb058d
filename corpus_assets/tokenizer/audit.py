"""Texts of many kinds that a tokenizer must give back exactly, character by character.

None of them is in any corpus, and none has to be well compressed: they show what a tokenizer
loses, where it loses anything.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field
from tokenizers import Tokenizer

from corpus_assets.core.errors import CorpusError, ModelError
from corpus_assets.core.identity import Settings
from corpus_assets.scrub.settings import FIELDS, ScrubSettings, find_by_rules
from corpus_assets.shards.tokens import END_OF_DOCUMENT, PAD, Encoder, one_thread, unicode_of_bytes
from corpus_assets.text.batch import TextBatch
from corpus_assets.tokenizer.sample import Share
from corpus_assets.tokenizer.scripts import names_of, own_scripts, scripts_of
from corpus_assets.tokenizer.train import RESERVED, TokenizerSettings, is_too_long

PYTHON = (
    "class Queue:\n"
    '    """First in, first out."""\n\n'
    "    def __init__(self, items=None):\n"
    "        self._items = list(items or [])\n\n"
    "    def pop(self):\n"
    "        if not self._items:\n"
    '            raise IndexError(f"empty: {self!r:>10}")  # nothing left\n'
    "        return self._items.pop(0)\n"
)
MAKEFILE = "all: build\n\nbuild:\t\tmain.o\n\tcc -o $@ $^ \\\n\t\t-lm\t# two tabs\n\n.PHONY:\tall\n"
LATEX = (
    "\\begin{align*}\n  \\int_{-\\infty}^{\\infty} e^{-x^2}\\,dx &= \\sqrt{\\pi} \\\\\n"
    "  \\sum_{n=1}^{\\infty} \\frac{1}{n^2} &= \\frac{\\pi^2}{6} \\quad (\\text{Euler})\n"
    "\\end{align*}\n% $100\\%$ & \\# \\_ \\{ \\}\n"
)
CJK = (
    "図書館の窓から見える山は、雪で白い。「静かですね」と彼女は言った。\n"
    "图书馆的窗外，山上覆盖着白雪。他轻轻地说：“真安静啊。”２０２４年１月\n"
    "도서관 창문 너머로 눈 덮인 산이 보인다. ㄱㄴㄷ 한글 자모\n"
)
SCRIPTS = (
    "Ο λύκος και το αρνί. Съешь же ещё этих мягких булок. שלום עולם. "
    "\u200fمرحبًا بالعالم\u200e ١٢٣. नमस्ते दुनिया क्षत्रिय। ภาษาไทยไม่มีช่องว่าง "
    "தமிழ் எழுத்து. አማርኛ ቋንቋ። ქართული ენა. Tiếng Việt có dấu. Ѐ e\u0301 \u1e9b\u0323"
)
EMOJI = (
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 "
    "\U0001f3f3\ufe0f\u200d\U0001f308 \U0001f1f3\U0001f1f1\U0001f1ef\U0001f1f5 "
    "\U0001f44d\U0001f3fd 1\ufe0f\u20e3 \u2764\ufe0f\u200d\U0001f525 \u263a\ufe0e \U0001fae0"
)
URLS = (
    "https://example.org:8443/a/b%20c/?q=caf%C3%A9&x[]=1&x[]=2#frag-1.2 "
    "mailto:a.b+c@example.org ftp://198.51.100.7/~u/x.tar.gz //cdn.example.net/v1.2.3/a.min.js "
    "http://xn--bcher-kva.example/%F0%9F%98%80 C:\\Users\\x\\file.txt /usr/lib/x86_64\n"
)
HTML = (
    "<!DOCTYPE html>\n<html lang='en'>\n<head><meta charset=\"utf-8\"><title>A &amp; B</title>\n"
    '<style>p > a:hover{color:#f0a}</style></head>\n<body><p class="x y">5 &lt; 6&nbsp;&copy;'
    "<br/>\n<!-- note --><script>let a=()=>`${1}`;</script></p></body></html>\n"
)
SQL = (
    "SELECT u.id, COUNT(*) AS \"n rows\", COALESCE(x.name, 'it''s -- none')\n"
    "FROM users AS u\n\tLEFT JOIN [order items] x ON x.user_id = u.id AND u.age >= 18\n"
    "WHERE u.mail LIKE '%\\_%' ESCAPE '\\'\nGROUP BY 1, 3 HAVING COUNT(*) > 1e3; /* end */\n"
)
REPLACED = b"caf\xe9 \xff\xfe \xed\xa0\x80 \xf0\x9f\x98 tail".decode("utf-8", errors="replace")
NUMBERS = "0 7 42 1234 12345678901234567890 3.14159 1,000,000.00 -1e-9 0xFF 10% ½ Ⅷ ٣٤٥ 1_000"
SPACES = (
    " one  two   three\n\n\n    indented\n\t\tmixed \t \n \n\r\nWindows\r\nOld Mac\r"
    "\u00a0no-break\u2003em\u200bzero\u3000wide\ufeff end   "
)
SPELLED = "<|end_of_document|><|pad|> <|reserved_7|> <s></s> [CLS] <unk> <0x0A> ▁Ġ Ċ"
CONTROLS = "".join(map(chr, range(0x20))) + "\x7f\x80\x9f\xad\u2028\u2029\ufffd\ufffe\U0010ffff"
JSON_TEXT = (
    '{"a": [1, -2.5e10, null, true], "b\\n\\u00e9": {"c": "\\"quoted\\" \\\\ /"}, "d": ""}\n'
)
LONG_WORDS = " ".join(f"word{number * 7919 % 99991}" for number in range(3_000))
LONG_RUNS = "x" * 5_000 + "7" * 2_999 + "=" * 5_000 + " " * 3_000 + "é" * 1_000 + "字" * 1_000

PROBES: Mapping[str, str] = {
    "code, 4 spaces": PYTHON,
    "code, tabs": MAKEFILE,
    "LaTeX": LATEX,
    "CJK": CJK,
    "other scripts": SCRIPTS,
    "emoji with joiners": EMOJI,
    "URLs and paths": URLS,
    "HTML": HTML,
    "SQL": SQL,
    "JSON": JSON_TEXT,
    "numbers": NUMBERS,
    "white space": SPACES,
    "control characters": CONTROLS,
    "special tokens spelled out": SPELLED,
    "invalid UTF-8, replaced": REPLACED,
    "a very long line": LONG_WORDS,
    "very long runs": LONG_RUNS,
    "nothing": "",
}
"""By what they are. Invalid UTF-8 cannot reach a tokenizer: what was not UTF-8 is there as
U+FFFD, put in by the decoder, and must come back as that."""


# A look into a vocabulary: which merges came first and last, which tokens are long or junk.

SHOWN = 20

SPACE = "[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
ACROSS_WORDS = re.compile(f"(?!{SPACE}).{SPACE}+(?!{SPACE}).", re.DOTALL)
"""Something, white space, something: a token that no split into words can give."""

_BYTES = {letter: byte for byte, letter in enumerate(unicode_of_bytes())}


def inspect(
    definition: dict[str, Any],
    spelled: Sequence[bytes],
    used: Iterable[int],
    special: set[int],
    scripts: Collection[str],
    max_token_chars: int,
) -> dict[str, Any]:
    """Describe the vocabulary of a `tokenizer.json`; `spelled` is the bytes of each id, `used` the ids that
    text was seen to need, `scripts` those that it is written in. Some seconds for a million tokens."""
    merges = [_joined(merge) for merge in definition["model"].get("merges") or ()]
    plain = [number for number in range(len(spelled)) if number not in special and spelled[number]]
    longest = sorted(plain, key=lambda number: (-len(spelled[number]), number))[:SHOWN]
    across = [number for number in plain if ACROSS_WORDS.search(_text(spelled[number]))]
    needed = set(used).intersection(plain)
    by_script: Counter[str] = Counter()
    foreign: list[str] = []
    for number in plain:
        text = spelled[number].decode("utf-8", errors="ignore")
        found = names_of(scripts_of(text).tolist())
        by_script.update(found)
        if scripts and not set(found) <= set(scripts):
            foreign.append(text)
    too_long = [number for number in plain if is_too_long(spelled[number], max_token_chars)]
    return {
        "tokens": len(plain),
        "by_script": dict(sorted(by_script.items())),
        "foreign": len(foreign),
        "foreign_examples": foreign[:SHOWN],
        "too_long": len(too_long),
        "too_long_examples": [_text(spelled[number]) for number in too_long[:SHOWN]],
        "merges": len(merges),
        "first_merges": merges[:SHOWN],
        "last_merges": merges[-SHOWN:],
        "longest": [_text(spelled[number]) for number in longest],
        "across_words": len(across),
        "across_words_examples": [_text(spelled[number]) for number in across[:SHOWN]],
        "mean_token_bytes": _mean([len(spelled[number]) for number in plain]),
        "unused_share": round(1 - len(needed) / len(plain), 4) if needed else None,
    }


def spell(token: str, is_byte_level: bool) -> bytes:
    """Return the bytes of a token of a foreign vocabulary, as well as one can tell."""
    if is_byte_level:
        return bytes(_BYTES.get(letter, 0x3F) for letter in token)
    found = re.fullmatch("<0x([0-9A-F]{2})>", token)
    if found is not None:
        return bytes([int(found[1], 16)])
    return token.replace("\u2581", " ").removeprefix("##").encode("utf-8", "replace")


def _joined(merge: str | Sequence[str]) -> str:
    """Return a merge as the text it makes; files write it as "a b" or as a pair."""
    left, _, right = merge.partition(" ") if isinstance(merge, str) else (merge[0], "", merge[1])
    both = left + right
    if all(letter in _BYTES for letter in both):
        return _text(bytes(_BYTES[letter] for letter in both))
    return both.replace("\u2581", " ")


def _text(spelled: bytes) -> str:
    """Bytes as text; those that are no whole character are written out."""
    return spelled.decode("utf-8", errors="backslashreplace")


def _mean(lengths: Sequence[int]) -> float:
    return round(sum(lengths) / len(lengths), 4) if lengths else 0.0


# Measure a tokenizer, and prove of it what the shards rely on.
#
# Any `tokenizer.json` can be measured, so that it can be compared; `problems` says why no shards
# should be made with it. Held-out text is text that the tokenizer was not trained on.

BATCH = 256
"""Documents encoded at once."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to measure on."""

    text: str
    domain: str = "-"
    language: str = "-"


class AuditSettings(Settings):
    """What a tokenizer must be besides exact. It judges and changes no byte: no part of an
    identity."""

    max_unused_share: Share = Field(
        default=0.2,
        description="share of the merged tokens that neither the sample nor held-out text needs, "
        "at most; of a tokenizer that is trained",
    )
    one_token: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(), description="strings that must be one token each"
    )
    on_failure: Literal["stop", "warn"] = Field(
        default="stop",
        description="`stop`: a build ends before any token is written, unless unused tokens are "
        "all that is wrong; `warn`: it continues, and the check `audit` warns",
    )


@dataclass(frozen=True, slots=True)
class Training:
    """What a tokenizer that was trained here learned from, and under which bounds."""

    texts: Iterable[str]
    scripts: Collection[str]
    max_token_chars: int


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
    training: Training | None = None,
) -> dict[str, Any]:
    """Return the whole audit as plain data. `passed` is true when `problems` is empty;
    `warnings` do not fail it. Memory: the held-out texts, and the vocabulary.

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
    inexact = [name for name, probe in probes.items() if not probe["exact"]]
    if inexact:
        problems.append(f"does not give back exactly: {', '.join(inexact)}")
    measured = measure(subject, held_out)
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
            usual.min_script_share,
            usual.min_documents,
        )
    )
    most = training.max_token_chars if training is not None else usual.max_token_chars
    ids = set(subject.special.values())
    vocabulary = inspect(subject.definition, subject.spelled, measured.used, ids, scripts, most)
    warnings = _warnings(vocabulary, measured)
    (warnings if training is None else problems).extend(_faults(vocabulary, scripts, most))
    if training is not None:
        vocabulary["never_used_share"] = _never_used(subject, training.texts, measured.used)
    return {
        "sha256": subject.sha256,
        "kind": subject.kind,
        "vocab_size": len(subject.spelled),
        "eod_id": subject.encoder.eod_id if subject.encoder else None,
        "pad_id": subject.encoder.pad_id if subject.encoder else None,
        "passed": not problems,
        "problems": problems,
        "warnings": warnings,
        "scripts": list(scripts),
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


def judged(
    report: Mapping[str, Any],
    tokenizer_json: bytes,
    settings: AuditSettings,
    scrub: ScrubSettings,
    domains: Collection[str],
) -> dict[str, Any]:
    """Return an audit with what a recipe asks besides: strings that are one token, few unused
    tokens, and no token that is personal data of a kind that is scrubbed in all domains.

    `usable` is false where tokens would be wrong; unused ones are only a waste of ids.
    """
    subject = Subject(tokenizer_json, "", "")
    never_used = report["vocabulary"].get("never_used_share")
    problems, warnings = list(report["problems"]), list(report["warnings"])
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
    verdict = {"passed": not problems, "usable": usable, "problems": problems}
    return {**report, **verdict, "warnings": warnings}


def _personal_data(
    subject: Subject, scrub: ScrubSettings, domains: Collection[str]
) -> dict[int, str]:
    """Tokens that the rules for personal data find something in, and its kind.

    Recognizers of other kinds are not asked: a first name is a fair token.
    """
    kinds = set(FIELDS.values()).intersection(*(scrub.actions(domain) for domain in domains))
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


def _faults(vocabulary: Mapping[str, Any], scripts: Collection[str], most: int) -> list[str]:
    """Sentences without the tokens, which are pieces of documents: errors and checks end in logs
    that no takedown reaches. `corpus tokenizer audit` shows some."""
    faults = []
    if vocabulary["foreign"]:
        faults.append(
            f"{vocabulary['foreign']} tokens are in scripts that the text is not written in "
            f"({', '.join(sorted(set(vocabulary['by_script']) - set(scripts)))}); it is "
            f"written in {', '.join(scripts)}"
        )
    if vocabulary["too_long"]:
        faults.append(
            f"{vocabulary['too_long']} tokens with a letter or digit have more than {most} "
            "characters"
        )
    return faults


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
        warnings.append(f"{vocabulary['across_words']} tokens go across words")
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
