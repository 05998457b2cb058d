"""Encode text to token ids and back, exactly: the tokenizer as the shards use it.

Three rules make every token traceable. Encoding is lossless, so that ids lead back to the very
characters of the document. Special tokens are never recognised in text, so a page that spells
out `<|end_of_document|>` cannot forge a boundary. The end-of-document id closes every document
and occurs nowhere else; the padding id occurs in no document at all.

The Rust library fastokens gives the same ids faster, and is used as far as it agrees. The
tokenizers library stays the oracle. `Encoder` compares the two when it is made and on a
sample of every batch, and goes back to the oracle at the first difference. Where fastokens is not
installed, or cannot read a tokenizer, there is no fast engine and nothing else changes.
"""

import copy
import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from catalog.formats.chat_markers import marker_chars
from catalog.formats.token_order import find_markers, find_separator, text_places
from corpus_assets.core.errors import ModelError, ShardError
from corpus_assets.shards.kernels.spelling import spell_spans
from corpus_assets.shards.settings import END_OF_DOCUMENT, PAD
from corpus_assets.shards.tokenizer_file import byte_table, parse_tokenizer, refuse_lossy

Flat = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]
FastEncode = Callable[[Sequence[str]], Flat]
"""Texts to all their ids end to end, and where each text's ids begin (one more than texts)."""


def load_fast_engine(definition: dict[str, Any]) -> FastEncode | None:
    """Load the fast engine for a parsed `tokenizer.json`; None where there is none.

    Special tokens are taken out first: in text they are letters like any others.
    """
    try:
        from fastokens import Tokenizer
    except ImportError:
        return None
    plain = copy.copy(definition)
    plain["added_tokens"] = [
        token for token in definition.get("added_tokens", []) if not token.get("special")
    ]
    plain["truncation"] = plain["padding"] = plain["post_processor"] = None
    try:
        engine = Tokenizer.from_json_str(json.dumps(plain))
    except Exception:  # whatever it cannot read is left to the oracle
        return None

    def encode(texts: Sequence[str]) -> Flat:
        ids, offsets = engine.encode_batch_flat(list(texts))
        starts = np.frombuffer(offsets, dtype="<u8").astype(np.int64)
        return np.frombuffer(ids, dtype="<u4").astype(np.int32), starts

    return encode


ONE_THREAD = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}

SAMPLE_STEP = 256
"""The oracle encodes one text in so many once more, and one of every batch at least."""

_BATCH_CHARS = 4_000_000
"""Characters handed to the tokenizer at once: bounds the memory of its intermediate objects."""

ROUND_TRIP_PROBES = (
    "",
    " ",
    "  leading and trailing  ",
    "\ttabs\tand\r\nline\rends\n\n\n",
    "\x00\x01\x1f\x7f\x80\x9f\xa0\xad",
    "don't WE'LL it'S",
    "1 12 123 1234 1234567890 ٣٤٥٦ ½ Ⅷ",
    "e\u0301 \u00e9 \ufb01 \u212b",
    "naïve café Straße İstanbul",
    "中文字符 日本語テキスト 한국어 ภาษาไทย हिन्दी عربى עברית",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308 \u200b\ufeff",
    "\ufffd \ufffe \uffff \U0010ffff \ue000",
    f"a{END_OF_DOCUMENT}b {PAD}<|reserved_0|> <s></s> [UNK] <|endoftext|>",
    "a" * 500 + "!" * 500 + " " * 500,
    "def f(x):\n    return {'k': x ** 2}  # \\n\n",
)
"""Strings that lossy tokenizers get wrong, each in its own way."""


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Documents' tokens end to end: document i is `flat[offsets[i]:offsets[i + 1]]`."""

    flat: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]  # documents + 1 of them, the first is 0

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, document: int) -> npt.NDArray[np.int32]:
        return self.flat[self.offsets[document] : self.offsets[document + 1]]

    @classmethod
    def of(cls, documents: Iterable[Sequence[int] | npt.NDArray[np.int32]]) -> "TokenBatch":
        """Join one array (or list) of ids per document."""
        arrays = [np.asarray(document, dtype=np.int32) for document in documents]
        offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
        np.cumsum([len(array) for array in arrays], out=offsets[1:])
        flat = np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int32)
        return cls(flat, offsets)


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """What a shard must know of its tokenizer."""

    sha256: str
    vocab_size: int
    eod_id: int
    pad_id: int
    file_separator: int | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep the tokenizer libraries on the calling thread; work is spread over processes.

    Their thread pool does not survive a fork, and would fight with the other workers for cores.
    """
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Encoder:
    """A byte-level BPE tokenizer (`tokenizer.json`) that loses nothing.

    Construction costs some milliseconds: it refuses what could not be traced back (normalizers,
    dropout, vocabularies without all bytes) and proves the round trip on `ROUND_TRIP_PROBES`.
    """

    def __init__(
        self,
        tokenizer_json: bytes,
        *,
        eod_token: str = END_OF_DOCUMENT,
        pad_token: str = PAD,
        fast: bool = True,
    ) -> None:
        self.sha256 = hashlib.sha256(tokenizer_json).hexdigest()
        definition = parse_tokenizer(tokenizer_json)
        try:
            self._tokenizer = Tokenizer.from_str(tokenizer_json.decode("utf-8"))
        except Exception as error:  # the library raises plain Exception
            raise ModelError(
                f"tokenizer cannot be loaded: {error}; give the tokenizer.json of a BPE tokenizer"
            ) from error
        refuse_lossy(definition)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self._table = byte_table(self._tokenizer)
        self.vocab_size = len(self._table)
        self.eod_id = self._special_id(eod_token)
        self.pad_id = self._special_id(pad_token)
        if self.eod_id == self.pad_id:
            raise ModelError(
                f"{eod_token} and {pad_token} share id {self.eod_id}; "
                "padding needs an id of its own, add a pad token to the tokenizer"
            )
        added = self._tokenizer.get_added_tokens_decoder()
        self.markers = find_markers(added)
        self.file_separator = find_separator(added)
        self.chat_markers = {
            number: char
            for number, char in marker_chars(added).items()
            if number not in (self.eod_id, self.pad_id)
        }
        for number, char in self.chat_markers.items():
            self._table[number] = char.encode()
        self._definition = definition
        self._wants_fast = fast
        self._probe()

    @functools.cached_property
    def _fast(self) -> FastEncode | None:
        """Loaded for the first text: who only decodes need not wait for it."""
        return self._agreeing(load_fast_engine(self._definition)) if self._wants_fast else None

    def _agreeing(self, engine: FastEncode | None) -> FastEncode | None:
        """Return the engine if it gives the oracle's ids for every probe."""
        if engine is None:
            return None
        ids, starts = engine(ROUND_TRIP_PROBES)
        wanted = self._oracle(ROUND_TRIP_PROBES)
        same = all(
            ids[starts[i] : starts[i + 1]].tolist() == expected for i, expected in enumerate(wanted)
        )
        return engine if same else None

    @property
    def info(self) -> TokenizerInfo:
        return TokenizerInfo(
            self.sha256, self.vocab_size, self.eod_id, self.pad_id, self.file_separator
        )

    @property
    def has_fast_engine(self) -> bool:
        """Whether ids come from the fast engine; they are the same either way."""
        return self._fast is not None

    def encode_batch(self, texts: Sequence[str]) -> TokenBatch:
        """Ids of every text, each closed by the end-of-document id; an empty text is that alone."""
        pieces: list[TokenBatch] = []
        with one_thread():
            for start, end in _chunks(texts):
                try:
                    pieces.append(self._encode(texts[start:end]))
                except UnicodeEncodeError as error:
                    raise ShardError(
                        f"a text between document {start} and {end - 1} is not Unicode "
                        f"({error.reason}); decode it with errors='replace' before"
                    ) from error
        if len(pieces) == 1:
            return pieces[0]
        return TokenBatch.of(piece[i] for piece in pieces for i in range(len(piece)))

    def _encode(self, texts: Sequence[str]) -> TokenBatch:
        """By the fast engine where its ids on a sample are the oracle's, else by the oracle."""
        if self._fast is None:
            return self._closed(self._oracle(texts))
        ids, starts = self._fast(texts)
        sample = range(len(texts) // 2 % SAMPLE_STEP, len(texts), SAMPLE_STEP)
        wanted = self._oracle([texts[i] for i in sample])
        for i, expected in zip(sample, wanted, strict=True):
            if ids[starts[i] : starts[i + 1]].tolist() != expected:
                self._fast = None
                return self._closed(self._oracle(texts))
        counts = np.diff(starts)
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum(counts + 1, out=offsets[1:])
        flat = np.full(int(offsets[-1]), self.eod_id, dtype=np.int32)
        flat[np.arange(len(ids)) + np.repeat(np.arange(len(texts)), counts)] = ids
        return TokenBatch(flat, offsets)

    def _oracle(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def _closed(self, pieces: list[list[int]]) -> TokenBatch:
        return TokenBatch.of([*ids, self.eod_id] for ids in pieces)

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of a token; none for special tokens and unused ids, but for markers of
        conversations, which a character stands for in texts."""
        return self._table[token]

    def spell_spans(
        self, tokens: Any, starts: Any, lengths: Any, firsts: Any
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """Spell many documents at once: all their bytes, and where each document begins.

        Document d is spans firsts[d] to firsts[d + 1]; span s is `lengths[s]` tokens from
        `starts[s]` on (int64 arrays). An id that the tokenizer does not have spells nothing.
        """
        data, offsets = spell_spans(tokens, starts, lengths, firsts, *self._byte_table)
        return data, offsets

    @functools.cached_property
    def _byte_table(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """What every id spells, end to end, and where each begins."""
        offsets = np.zeros(len(self._table) + 1, np.int64)
        np.cumsum([len(piece) for piece in self._table], out=offsets[1:])
        return np.frombuffer(b"".join(self._table), np.uint8), offsets

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Bytes of a run of tokens; a run cut inside a document may split a character."""
        table = self._table
        return b"".join([table[token] for token in ids])

    def decode(self, ids: Iterable[int]) -> str:
        """Text of whole documents; the inverse of `encode_batch`."""
        return self.decode_bytes(ids).decode("utf-8")

    def in_text_order(
        self, tokens: npt.NDArray[Any], starts: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[Any]:
        """Return tokens with documents for fill-in-the-middle in the order of their text."""
        if self.markers is None:
            return tokens
        return tokens[text_places(tokens, self.markers, self.eod_id, starts)]

    def _special_id(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None or self._table[found] != b"":
            raise ModelError(
                f"tokenizer has no special token {token!r}; "
                "add it to the tokenizer or name the one it has instead"
            )
        return int(found)

    def _probe(self) -> None:
        with one_thread():
            batch = self._closed(self._oracle(ROUND_TRIP_PROBES))
        for number, text in enumerate(ROUND_TRIP_PROBES):
            ids = batch[number]
            forged = bool(np.isin(ids[:-1], (self.eod_id, self.pad_id)).any())
            if forged or self.decode_bytes(ids) != text.encode("utf-8"):
                fault = "turns text into special tokens" if forged else "does not round-trip"
                raise ModelError(
                    f"tokenizer {fault} on {text[:40]!r}; shards must be traceable to text, "
                    "use a byte-level tokenizer without normalizer, prefix space or stripping"
                )


@functools.lru_cache(maxsize=2)
def encoder_of(tokenizer_json: bytes, eod_token: str, pad_token: str) -> Encoder:
    """Return the encoder of a tokenizer, made once a process for many tasks in a row."""
    return Encoder(tokenizer_json, eod_token=eod_token, pad_token=pad_token)


def _chunks(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    start = size = 0
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise ShardError(f"document {number} has no text to encode; filter such rows before")
        size += len(text)
        if size >= _BATCH_CHARS:
            yield start, number + 1
            start, size = number + 1, 0
    if start < len(texts):
        yield start, len(texts)
