"""Train and pin the tokenizer: byte-level BPE over a sample of the corpus.

The tokenizer is a calibration: trained once, pinned by digest in the lock, never retrained by a
takedown. Training is deterministic: pair counts do not depend on the order in which words are
counted and the library breaks ties by token id; a test trains in several processes to keep it so.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from corpus_assets.errors import ModelError
from corpus_assets.shards.tokenizer_file import unicode_of_bytes
from corpus_assets.shards.tokens import END_OF_DOCUMENT, PAD, one_thread
from corpus_assets.step import Settings

VERSION = 2

RESERVED = "<|reserved_"

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

SPECIAL_NAME = r"^<\|[A-Za-z0-9_.:-]*[A-Za-z0-9][A-Za-z0-9_.:-]*\|>$"
SpecialToken = Annotated[str, Field(pattern=SPECIAL_NAME)]
"""The shape that the split pattern always cuts apart, so that no merge can ever rebuild it."""


class TokenizerSettings(Settings):
    """How the tokenizer is trained."""

    vocab_size: int = Field(default=128_000, ge=256, le=1_000_000)
    """Upper bound, bytes and special slots included; a small sample may not fill it."""
    split_pattern: str = SPLIT_PATTERN
    special_tokens: tuple[SpecialToken, ...] = (END_OF_DOCUMENT, PAD)
    special_slots: int = Field(default=256, ge=2, le=4096)
    """Ids kept for special tokens: 0 up to this. A slot that `special_tokens` does not name is
    `<|reserved_ID|>`; a name added at the end of the list takes the next slot and moves no id."""
    min_frequency: int = Field(default=2, ge=1)

    @model_validator(mode="after")
    def _room_for_all(self) -> "TokenizerSettings":
        names = self.special_tokens
        if len(set(names)) != len(names):
            raise ValueError("special_tokens repeats a token")
        if any(name.startswith(RESERVED) for name in names):
            raise ValueError(f"special_tokens names a reserved slot ({RESERVED}...)")
        if len(names) > self.special_slots:
            raise ValueError(
                f"special_tokens has {len(names)} names, special_slots is {self.special_slots}; "
                "raise special_slots"
            )
        if self.vocab_size < 256 + self.special_slots:
            raise ValueError(
                f"vocab_size {self.vocab_size} has no room for 256 bytes and "
                f"{self.special_slots} special slots; raise it to {256 + self.special_slots} or "
                "more, or lower special_slots"
            )
        return self

    def all_special_tokens(self) -> list[str]:
        """What every slot is called: ids 0, 1, 2 ... in this order."""
        named = len(self.special_tokens)
        return [*self.special_tokens, *map(reserved_slot, range(named, self.special_slots))]


def reserved_slot(number: int) -> str:
    """The token of a slot that nobody has named yet; its number is its id."""
    return f"{RESERVED}{number}|>"


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


def name_slots(tokenizer_json: bytes, names: Sequence[str]) -> bytes:
    """A trained tokenizer with its next reserved slots named; no id moves, no merge changes.

    The same bytes as training with these names at the end of `special_tokens`.
    """
    definition = json.loads(tokenizer_json)
    added = {token["id"]: token for token in definition["added_tokens"]}
    free = [number for number in sorted(added) if added[number]["content"] == reserved_slot(number)]
    taken = {token["content"] for token in added.values()} | set(definition["model"]["vocab"])
    if len(names) > len(free):
        raise ModelError(
            f"the tokenizer has {len(free)} reserved slots, {len(names)} names need one each; "
            "train it with more special_slots"
        )
    for name, number in zip(names, free, strict=False):
        if not re.fullmatch(SPECIAL_NAME, name) or name.startswith(RESERVED) or name in taken:
            raise ModelError(
                f"{name!r} cannot be a special token: write it like <|name|>, and no name twice"
            )
        taken.add(name)
        del definition["model"]["vocab"][added[number]["content"]]
        definition["model"]["vocab"][name] = number
        added[number]["content"] = name
    return Tokenizer.from_str(json.dumps(definition)).to_str().encode("utf-8")


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
