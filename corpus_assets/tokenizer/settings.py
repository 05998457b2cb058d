"""What a recipe says of its tokenizer: how it is trained or which is pinned, and what its audit asks."""

from collections.abc import Mapping, Set
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from corpus_assets.core.identity import Settings, is_absent
from corpus_assets.core.model_choice import Model
from corpus_assets.shards import END_OF_DOCUMENT, PAD

Share = Annotated[float, Field(ge=0, le=1)]
RareText = Literal["mathematics", "cjk", "code"]


class TokenizerSample(Settings):
    """Documents the tokenizer is trained on, drawn by keyed hash of their id."""

    language_shares: dict[str, Share] = Field(
        default={}, description="share of documents to use, by language; default 1"
    )
    languages: tuple[str, ...] | None = None
    proportions: Literal["mixture", "corpus"] | dict[str, Annotated[float, Field(ge=0)]] = Field(
        default="mixture",
        description="how `max_chars` is divided among domains: like `mixture.shares.domain`, by "
        "size (`corpus`), or by these numbers",
    )
    max_chars: int = Field(
        default=200_000_000, ge=1, description="characters to train on, over all domains"
    )

    def weights(self, mixture: Mapping[str, float]) -> dict[str, float]:
        """Return the proportions of domains; empty: as they have characters."""
        if isinstance(self.proportions, dict):
            return self.proportions
        return dict(mixture) if self.proportions == "mixture" else {}

    def check_domains(self, domains: Set[str]) -> None:
        """Refuse names of domains that no source has, and proportions that leave one out."""
        own = self.weights({})
        unknown = sorted(set(own) - domains)
        if unknown:
            raise ValueError(
                f"tokenizer.sample.proportions.{unknown[0]}: no source has this domain; "
                f"known: {', '.join(sorted(domains))}"
            )
        missing = sorted(domains - set(own)) if own else []
        if missing:
            raise ValueError(
                f"tokenizer.sample.proportions: domain {missing[0]} has a source and no "
                "proportion; give it one, 0 leaves it out"
            )


MAX_RUN_CHARS = 128
"""Longer pieces of the split pattern are cut before training, whose cost grows with the square of
the longest piece. As long as the longest tokens in use, runs of spaces and of punctuation; what
holds a letter is bounded by `max_token_chars`."""

MIN_FREQUENCY = 2  # a pair seen less often is not merged
MIN_SCRIPT_SHARE = 0.01
"""The sample is written in a script that has this share of the letters in half of its texts of a
domain and language, or in which this share of these texts mostly is."""

LARGEST_OPEN = 128_000  # of a vocabulary whose size is left open

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


def known_script(name: str) -> str:
    from corpus_assets.text.unicode import SCRIPTS  # loads numpy

    if name not in SCRIPTS:
        raise ValueError(f"no script is named {name!r}; known are {', '.join(SCRIPTS)}")
    return name


class TokenizerSettings(Settings):
    """How the tokenizer is trained."""

    vocab_size: int | None = Field(default=None, ge=256, le=1_000_000)
    """Upper bound, with bytes and special slots. Null: as many as the corpus supports, at most
    128,000."""
    split_pattern: str = SPLIT_PATTERN
    special_tokens: tuple[SpecialToken, ...] = (END_OF_DOCUMENT, PAD)
    special_slots: int = Field(default=256, ge=2, le=4096)
    """Ids reserved for special tokens, from 0; unnamed slots are `<|reserved_ID|>`."""
    min_documents: int = Field(default=5, ge=1)
    """Sample texts that a token of more than one byte must occur in."""
    max_token_chars: int = Field(default=16, ge=1, le=MAX_RUN_CHARS)
    """Longest token with a letter or digit, in characters with a leading space; others may have 128."""
    scripts: tuple[Annotated[str, AfterValidator(known_script)], ...] | None = None
    """Scripts whose letters are merged; others stay bytes. Null: those that the sample is
    written in."""
    upsample: dict[RareText, Annotated[int, Field(ge=1, le=100)]] = Field(
        default={},
        exclude_if=is_absent,
        description="how often rare lines count when merges are learned: `mathematics` (signs, "
        "LaTeX commands), `cjk` (Chinese, Japanese, Korean), `code` (operators, "
        "line ends)",
    )

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
        if self.max_ids < 256 + self.special_slots:
            raise ValueError(
                f"vocab_size {self.max_ids} has no room for 256 bytes and "
                f"{self.special_slots} special slots; raise it to {256 + self.special_slots} or "
                "more, or lower special_slots"
            )
        return self

    @property
    def max_ids(self) -> int:
        """The most ids that the vocabulary may have."""
        return self.vocab_size or LARGEST_OPEN

    def all_special_tokens(self) -> list[str]:
        """List the names of all slots: ids 0, 1, 2 ... in this order."""
        named = len(self.special_tokens)
        return [*self.special_tokens, *map(reserved_slot, range(named, self.special_slots))]


def reserved_slot(number: int) -> str:
    """Return the token of an unnamed slot; its number is its id."""
    return f"{RESERVED}{number}|>"


class AuditSettings(Settings):
    """What a tokenizer must be besides exact. It judges and changes no byte: no part of an
    identity."""

    max_unused_share: Share = Field(
        default=0.2,
        description="share of a trained tokenizer's merged tokens that neither sample nor "
        "held-out text uses",
    )
    one_token: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(), description="strings that must be a single token"
    )
    on_failure: Literal["stop", "warn"] = Field(
        default="stop",
        description="`stop`: the build ends before any token is written, unless only unused "
        "tokens fail",
    )


class TokenizerEntry(Settings):
    """Train a tokenizer, or pin a `tokenizer.json` by path and digest."""

    train: TokenizerSettings | None = None
    sample: TokenizerSample = TokenizerSample()
    pinned: Model | None = Field(
        default=None, description="an existing `tokenizer.json`; excludes `train`"
    )
    end_of_document: str | None = Field(
        default=None, description="special token that ends a document, if not the usual one"
    )
    pad: str | None = Field(
        default=None, description="special token that fills a sample, if not the usual one"
    )
    audit: AuditSettings = Field(
        default=AuditSettings(),
        description="what fails the audit",
    )

    @model_validator(mode="after")
    def _one_way(self) -> "TokenizerEntry":
        if (self.train is None) == (self.pinned is None):
            raise ValueError("set either `train` or `pinned`")
        eod, pad = self.special_names().values()
        if eod == pad:
            raise ValueError(f"{eod} cannot both end a document and fill a sample; name another")
        named = self.train.special_tokens if self.train is not None else (eod, pad)
        for needed in (eod, pad):
            if needed not in named:
                raise ValueError(
                    f"train.special_tokens must hold {needed}: the shards are built on it"
                )
        return self

    def identity(self) -> dict[str, Any]:
        """Return what can change a byte: neither the audit, which judges, nor where a file lies."""
        body = super().identity() | {"pinned": self.pinned and self.pinned.identity()}
        del body["audit"]
        return body

    def special_names(self) -> dict[str, str]:
        """Names of the tokens that end a document and fill a sample."""
        return {"eod": self.end_of_document or END_OF_DOCUMENT, "pad": self.pad or PAD}
