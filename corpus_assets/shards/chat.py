"""Tokens of conversations: each marker of the text is one special token."""

from collections.abc import Sequence

import numpy as np

from catalog.formats.chat_markers import MARKER_CHARS, RESERVED_CHARS
from corpus_assets.core.errors import ModelError
from corpus_assets.shards.tokens import Encoder, TokenBatch


def encode_chat(encoder: Encoder, texts: Sequence[str]) -> TokenBatch:
    """Encode texts whose reserved characters are markers; all else in them is text."""
    cut = [RESERVED_CHARS.split(text) for text in texts]  # text, marker, text, ... text
    encoded = encoder.encode_batch([piece for pieces in cut for piece in pieces[::2]])
    ids = {char: np.array([number], np.int32) for number, char in encoder.chat_markers.items()}
    absent = {marker for pieces in cut for marker in pieces[1::2]} - ids.keys()
    if absent:
        names = sorted(name for name, char in MARKER_CHARS.items() if char in absent)
        raise ModelError(
            f"fields.messages: the tokenizer lacks the special tokens {', '.join(names)}; add them "
            "to tokenizer.train.special_tokens, or pin a tokenizer that has them as special tokens"
        )
    documents = []
    at = 0
    for pieces in cut:
        parts = []
        for marker in pieces[1::2]:
            parts += [encoded[at][:-1], ids[marker]]
            at += 1
        documents.append(np.concatenate([*parts, encoded[at]]))  # the last has the end mark
        at += 1
    return TokenBatch.of(documents)
