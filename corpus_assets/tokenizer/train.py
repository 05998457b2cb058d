"""Train and pin the tokenizer: byte-level BPE over a sample of the corpus.

The tokenizer is a calibration: trained once, pinned by digest in the lock, never retrained by a
takedown. So no token may spell what only a few documents hold: merges that occur in fewer than
`min_documents` texts of the sample are taken out again, and so are those of long tokens. Letters of
scripts that the sample is not written in are never merged.

Training is deterministic: pair counts do not depend on the order in which words are counted and
the library breaks ties by token id; a test trains in several processes to keep it so.
"""

import hashlib
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from corpus_assets.core.errors import ModelError
from corpus_assets.shards import Encoder, one_thread, unicode_of_bytes
from corpus_assets.text.unicode import ALPHANUMERIC, SCRIPTS, class_table
from corpus_assets.tokenizer.scripts import pieces_in
from corpus_assets.tokenizer.settings import (
    MAX_RUN_CHARS,
    MIN_FREQUENCY,
    RESERVED,
    SPECIAL_NAME,
    TokenizerSettings,
    reserved_slot,
)
from corpus_assets.tokenizer.upsample import with_copies

VERSION = 4

MORE_MERGES = 8
"""An eighth more merges are learned than asked for, to take the place of those taken out."""

EXAMPLES, RARE_SHARE = 100, 0.2
"""A vocabulary whose size is left open is the largest of which most merged tokens have 100 examples
or more to be learned from (Gowda and May 2020, "Finding the Optimal Vocabulary Size for Neural
Machine Translation", who ask it of 95%). A fifth may have fewer, as the audit allows: steps on the
way to longer tokens are a tenth of some vocabularies, and hardly occur by themselves."""

TEXTS_AT_ONCE = 256


def train_tokenizer(
    texts: Iterable[str],
    settings: TokenizerSettings,
    scripts: Collection[str] = SCRIPTS,
    sampled: Fraction = Fraction(1),
) -> bytes:
    """Train on `texts`, which are read two or three times, and return the `tokenizer.json`.

    1. Count pieces of the split pattern, long ones cut, and merge pairs, most frequent first.
       Characters of other scripts than `scripts` are left out. Lines that `upsample` names count
       several times, here alone.
    2. Encode the texts, and take out merges that fewer than `min_documents` of them use, and those
       of tokens that are too long.
    3. Where `vocab_size` is open, keep the first merges, as many as the corpus has examples of;
       the texts are the share `sampled` of it.

    Cost: about 0.6 s of CPU per MB of text at 8k merges; memory follows the distinct words.
    """
    split = pre_tokenizers.Split(Regex(settings.split_pattern), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    cut = pre_tokenizers.FixedLength(MAX_RUN_CHARS)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, cut, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=settings.max_ids + settings.max_ids // MORE_MERGES,
        min_frequency=MIN_FREQUENCY,
        special_tokens=settings.all_special_tokens(),
        initial_alphabet=sorted(unicode_of_bytes()),
        show_progress=False,
    )
    counted = (part for text in texts for part in with_copies(text, settings.upsample))
    pieces = (piece for part in counted for piece in pieces_in(part, scripts))
    with one_thread():
        interruptible(lambda: tokenizer.train_from_iterator(pieces, trainer=trainer))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    definition = json.loads(tokenizer.to_str())
    _keep_merges(definition, _documents_of_merges(definition, texts, settings), settings)
    if settings.vocab_size is None:
        enough = max(1, math.ceil(EXAMPLES * sampled))
        counts = _token_counts(definition, texts, settings)
        _keep_first(definition, learnable(definition, counts, enough))
    return Tokenizer.from_str(json.dumps(definition)).to_str().encode("utf-8")


def interruptible(work: Callable[[], None]) -> None:
    """Run native code that does not look at signals; Ctrl-C ends the wait for it at once."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if raised:
        raise raised[0]


def _documents_of_merges(
    definition: dict[str, Any], texts: Iterable[str], settings: TokenizerSettings
) -> list[int]:
    """In how many different texts each merge is used; counting ends at `min_documents`.

    A merge is used where its token occurs, or a token that was merged from it.
    """
    model, most = definition["model"], settings.min_documents
    vocabulary, merges = model["vocab"], model["merges"]
    encoder = _encoder(definition, settings)
    first = np.zeros((len(vocabulary), most), dtype=np.int64)  # numbers of texts with each token
    n_first = np.zeros(len(vocabulary), dtype=np.int64)
    left_over, number = _distinct(texts), 0
    while batch := list(islice(left_over, TEXTS_AT_ONCE)):
        tokens = encoder.encode_batch(batch)
        for text in range(len(batch)):
            ids = np.unique(tokens[text])
            ids = ids[n_first[ids] < most]
            first[ids, n_first[ids]] = number
            n_first[ids] += 1
            number += 1
    found = {token: set(first[i, : n_first[i]].tolist()) for token, i in vocabulary.items()}
    for left, right in reversed(merges):
        for part in (left, right):
            if len(found[part]) < most:
                found[part] |= found[left + right]
    return [len(found[left + right]) for left, right in merges]


def _encoder(definition: dict[str, Any], settings: TokenizerSettings) -> Encoder:
    end, *_, pad = settings.all_special_tokens()
    return Encoder(json.dumps(definition).encode(), eod_token=end, pad_token=pad)


def _token_counts(
    definition: dict[str, Any], texts: Iterable[str], settings: TokenizerSettings
) -> list[int]:
    """How often each token occurs in the texts, by id."""
    vocabulary = definition["model"]["vocab"]
    encoder, counts = _encoder(definition, settings), np.zeros(len(vocabulary), dtype=np.int64)
    left_over = iter(texts)
    while batch := list(islice(left_over, TEXTS_AT_ONCE)):
        tokens = encoder.encode_batch(batch)
        for text in range(len(batch)):
            counts += np.bincount(tokens[text], minlength=len(counts))
    return list(counts.tolist())


def learnable(definition: Mapping[str, Any], counts: Sequence[int], enough: int) -> int:
    """Return the largest number of first merges of which all but `RARE_SHARE` make tokens that
    occur `enough` times where no later merge is applied.

    From the last merge back: without it, each of its tokens is the two that it was made of. So one
    pass over the merges gives the counts of every smaller vocabulary.
    """
    model = definition["model"]
    counted = {token: counts[number] for token, number in model["vocab"].items()}
    merges = model["merges"]
    made = Counter(left + right for left, right in merges)  # one token, by several merges perhaps
    rare = sum(counted[token] < enough for token in made)
    for n in range(len(merges), 0, -1):
        if rare <= RARE_SHARE * len(made):
            return n
        left, right = merges[n - 1]
        made[left + right] -= 1
        if made[left + right]:
            continue
        del made[left + right]
        times = counted.pop(left + right)
        rare -= times < enough
        for part in (left, right):
            was_rare = part in made and counted[part] < enough
            counted[part] += times
            rare -= was_rare and counted[part] >= enough
    return 0


def _keep_first(definition: dict[str, Any], n: int) -> None:
    """Leave the first `n` merges and the tokens that they make; ids close up."""
    model = definition["model"]
    gone = {left + right for left, right in model["merges"][n:]}
    gone -= {left + right for left, right in model["merges"][:n]}
    kept = [token for token in sorted(model["vocab"], key=model["vocab"].get) if token not in gone]
    model["vocab"] = {token: number for number, token in enumerate(kept)}
    model["merges"] = model["merges"][:n]


def _distinct(texts: Iterable[str]) -> Iterator[str]:
    seen = set()
    for text in texts:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest not in seen:
            seen.add(digest)
            yield text


def _keep_merges(
    definition: dict[str, Any], documents: list[int], settings: TokenizerSettings
) -> None:
    """Leave the merges of enough documents that are short enough, as many as there is room for; ids
    close up. What a merge that stays is made of stays too: it is no rarer and no longer."""
    model = definition["model"]
    byte_of = {letter: byte for byte, letter in enumerate(unicode_of_bytes())}
    merged = {left + right for left, right in model["merges"]}
    kept = sorted(set(model["vocab"]) - merged, key=model["vocab"].get)
    known = set(kept)
    merges = []
    for (left, right), n_documents in zip(model["merges"], documents, strict=True):
        token = left + right
        if n_documents < settings.min_documents:
            continue
        if is_too_long(bytes(map(byte_of.__getitem__, token)), settings.max_token_chars):
            continue
        if token not in known:
            if len(kept) == settings.max_ids:
                break
            known.add(token)
            kept.append(token)
        merges.append([left, right])
    model["vocab"] = {token: number for number, token in enumerate(kept)}
    model["merges"] = merges


def is_too_long(token: bytes, max_chars: int) -> bool:
    """Whether a token with a letter or digit in it has more than `max_chars` characters.

    Characters are counted where they begin, so that no part of a token has more than the whole.
    """
    if len(token) <= max_chars or sum(byte & 0xC0 != 0x80 for byte in token) <= max_chars:
        return False
    points = map(ord, token.decode("utf-8", errors="ignore"))
    return any(class_table()[point] & ALPHANUMERIC for point in points)


def name_slots(tokenizer_json: bytes, names: Sequence[str]) -> bytes:
    """Name the next reserved slots of a trained tokenizer; no id moves, no merge changes.

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
