"""A look into a vocabulary: which merges came first and last, which tokens are long or junk."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from corpus_assets.shards import unicode_of_bytes
from corpus_assets.tokenizer.scripts import names_of, scripts_of
from corpus_assets.tokenizer.train import is_too_long

SHOWN = 20

SPACE = "[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
ACROSS_WORDS = re.compile(f"(?!{SPACE}).{SPACE}+(?!{SPACE}).", re.DOTALL)
"""Something, white space, something: a token that no split into words can give."""

_BYTES = {letter: byte for byte, letter in enumerate(unicode_of_bytes())}


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary in figures and examples. The shares are of the merged tokens: those that no
    held-out text needs, and those that the training text does not need either."""

    tokens: int
    by_script: dict[str, int]
    foreign: int
    foreign_examples: list[str]
    too_long: int
    too_long_examples: list[str]
    merges: int
    first_merges: list[str]
    last_merges: list[str]
    longest: list[str]
    across_words: int
    across_words_examples: list[str]
    mean_token_bytes: float
    unused_share: float | None
    never_used_share: float | None = None


def inspect(
    definition: dict[str, Any],
    spelled: Sequence[bytes],
    used: Iterable[int],
    special: set[int],
    scripts: Collection[str],
    max_token_chars: int,
) -> Vocabulary:
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
    return Vocabulary(
        tokens=len(plain),
        by_script=dict(sorted(by_script.items())),
        foreign=len(foreign),
        foreign_examples=foreign[:SHOWN],
        too_long=len(too_long),
        too_long_examples=[_text(spelled[number]) for number in too_long[:SHOWN]],
        merges=len(merges),
        first_merges=merges[:SHOWN],
        last_merges=merges[-SHOWN:],
        longest=[_text(spelled[number]) for number in longest],
        across_words=len(across),
        across_words_examples=[_text(spelled[number]) for number in across[:SHOWN]],
        mean_token_bytes=_mean([len(spelled[number]) for number in plain]),
        unused_share=round(1 - len(needed) / len(plain), 4) if needed else None,
    )


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
