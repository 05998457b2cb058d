"""Train, audit and pin the tokenizer: byte-level BPE over a sample of the corpus.

The tokenizer is a calibration: trained once, pinned by digest in the lock, never retrained by a
takedown. Training is deterministic: pair counts do not depend on the order in which words are
counted and the library breaks ties by token id; a test trains in several processes to keep it so.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from corpus_assets.errors import ModelError
from corpus_assets.shards.tokens import (
    END_OF_DOCUMENT,
    PAD,
    ROUND_TRIP_PROBES,
    Encoder,
    one_thread,
    unicode_of_bytes,
)
from corpus_assets.step import Settings

VERSION = 1

SPLIT_PATTERN = "|".join(
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",  # English contractions
        r"[^\r\n\p{L}\p{N}]?\p{L}+",  # a word with the one mark or space before it
        r"\p{N}{1,3}",  # at most three digits, so numbers split the same way everywhere
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",  # punctuation
        r"\s*[\r\n]+",  # line ends with the space before them
        r"\s+(?!\S)",  # runs of space, the last one left to the next word
        r"\s+",
    )
)
"""Pre-tokenization as in Llama 3 (Grattafiori et al. 2024), the cl100k family of patterns."""

SpecialToken = Annotated[str, Field(pattern=r"^<\|[a-z0-9_]+\|>$")]
"""The shape that the split pattern always cuts apart, so that no merge can ever rebuild it."""


class TokenizerSettings(Settings):
    """How the tokenizer is trained."""

    vocab_size: int = Field(default=8192, ge=256, le=1_000_000)
    """Upper bound, special tokens included; a small sample may not fill it."""
    split_pattern: str = SPLIT_PATTERN
    special_tokens: tuple[SpecialToken, ...] = (END_OF_DOCUMENT, PAD)
    reserved_tokens: int = Field(default=16, ge=0, le=256)
    """Slots `<|reserved_0|>` ... for fine-tuning, so that later needs do not move any id."""
    min_frequency: int = Field(default=2, ge=1)

    @model_validator(mode="after")
    def _room_for_all(self) -> "TokenizerSettings":
        names = self.all_special_tokens()
        if len(set(names)) != len(names):
            raise ValueError("special_tokens repeats a token or names a reserved slot")
        for needed in (END_OF_DOCUMENT, PAD):
            if needed not in names:
                raise ValueError(f"special_tokens must hold {needed}: the shards are built on it")
        if self.vocab_size < 256 + len(names):
            raise ValueError(
                f"vocab_size {self.vocab_size} has no room for 256 bytes and "
                f"{len(names)} special tokens; raise it to {256 + len(names)} or more"
            )
        return self

    def all_special_tokens(self) -> list[str]:
        """Special tokens, then reserved slots: ids 0, 1, 2 ... in this order."""
        reserved = [f"<|reserved_{number}|>" for number in range(self.reserved_tokens)]
        return [*self.special_tokens, *reserved]


def train_tokenizer(texts: Iterable[str], settings: TokenizerSettings) -> bytes:
    """Train on `texts` and return the `tokenizer.json`.

    Cost: about 0.6 s of CPU per MB of text at 8k merges; memory follows the distinct words.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(settings.split_pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=settings.vocab_size,
        min_frequency=settings.min_frequency,
        special_tokens=settings.all_special_tokens(),
        initial_alphabet=sorted(unicode_of_bytes()),
        show_progress=False,
    )
    with one_thread():
        tokenizer.train_from_iterator(texts, trainer=trainer)
    return tokenizer.to_str().encode("utf-8")


def audit(tokenizer_json: bytes, samples: Iterable[str]) -> dict[str, Any]:
    """Measure a tokenizer on `samples` and prove what the shards rely on.

    `passed` is true when nothing stands in `problems`; a tokenizer that the encoder refuses is
    reported, not raised, so that the report of a pinned foreign tokenizer can be read.
    """
    report: dict[str, Any] = {"sha256": hashlib.sha256(tokenizer_json).hexdigest()}
    try:
        encoder = Encoder(tokenizer_json)
    except ModelError as error:
        return {**report, "passed": False, "problems": [str(error)]}
    problems: list[str] = []

    vocabulary = Tokenizer.from_str(tokenizer_json.decode("utf-8"))
    specials = {
        token.content: number
        for number, token in sorted(vocabulary.get_added_tokens_decoder().items())
        if token.special
    }
    as_text = encoder.encode_batch(list(specials))
    special_ids = set(specials.values())
    forged = [
        token
        for number, token in enumerate(specials)
        if special_ids.intersection(as_text[number][:-1].tolist())
    ]
    if forged:
        problems.append(f"text can spell the special tokens {', '.join(forged)}")
    if len(special_ids) != len(specials):
        problems.append("two special tokens share one id")

    single_bytes = {encoder.token_bytes(number) for number in range(encoder.vocab_size)}
    bytes_covered = sum(bytes([byte]) in single_bytes for byte in range(256))
    if bytes_covered != 256:
        problems.append(f"only {bytes_covered} of 256 bytes are tokens")

    text_bytes = tokens = words = documents = failures = 0
    used: set[int] = set()
    for text in samples:
        ids = encoder.encode_batch([text])[0][:-1].tolist()
        documents += 1
        text_bytes += len(text.encode("utf-8"))
        tokens += len(ids)
        words += len(text.split())
        used.update(ids)
        failures += encoder.decode(ids) != text
    if failures:
        problems.append(f"{failures} of {documents} samples do not round-trip")
    return {
        **report,
        "vocab_size": encoder.vocab_size,
        "eod_id": encoder.eod_id,
        "pad_id": encoder.pad_id,
        "special_tokens": specials,
        "bytes_covered": bytes_covered,
        "probes_round_tripped": len(ROUND_TRIP_PROBES),
        "documents": documents,
        "bytes_per_token": round(text_bytes / tokens, 4) if tokens else 0.0,
        "tokens_per_word": round(tokens / words, 4) if words else 0.0,
        "vocabulary_used_share": round(len(used) / encoder.vocab_size, 4),
        "passed": not problems,
        "problems": problems,
    }


def load_pinned(path: Path, sha256: str) -> bytes:
    """Read a `tokenizer.json` and refuse it unless its digest is the pinned one."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(
            f"tokenizer {path.name} cannot be read ({error.strerror}); "
            "materialize the tokenizer or restore the file"
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ModelError(
            f"tokenizer {path.name} has digest {found}, pinned is {sha256}; "
            "restore the pinned file, or make a new lock to use this one"
        )
    return content
