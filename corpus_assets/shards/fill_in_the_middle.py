"""Fill-in-the-middle: documents whose tokens are in another order than their text.

After Bavarian et al. 2022 ("Efficient training of language models to fill in the middle") and
StarCoder (Li et al. 2023): whole documents, before packing, cut at two places between characters,
each equally likely. What is cut, where and into which order are keyed hashes of the document's id,
so that every build of a seed, with or without other documents, makes the same of it.
`catalog.formats.token_order` says how such tokens are read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from corpus_assets.core.errors import ModelError
from corpus_assets.core.sample import CIRCLE, Sample
from corpus_assets.shards.settings import FillInTheMiddle
from corpus_assets.shards.tokens import Encoder, TokenBatch


@dataclass(frozen=True, slots=True)
class Cut:
    """A text as prefix, middle and suffix: it is cut before characters `first` and `second`."""

    first: int
    second: int
    is_spm: bool

    def pieces(self, text: str) -> tuple[str, str, str]:
        return text[: self.first], text[self.first : self.second], text[self.second :]


def cut_of(settings: FillInTheMiddle, seed: int, doc_id: bytes, text: str) -> Cut | None:
    """Return how a document is cut; None for one that stays as it is."""
    drawn, order, one, other = (
        Sample(f"corpus-assets/fill-in-the-middle/{what}/{seed}".encode())
        for what in ("document", "order", "first", "second")
    )
    if not drawn.holds(doc_id, settings.rate):
        return None
    first, second = sorted((len(text) + 1) * each.place(doc_id) // CIRCLE for each in (one, other))
    return Cut(first, second, order.holds(doc_id, settings.spm))


def encode_cut(
    encoder: Encoder,
    doc_ids: Sequence[bytes],
    texts: Sequence[str],
    settings: FillInTheMiddle,
    seed: int,
    encode: Callable[[Sequence[str]], TokenBatch] | None = None,
) -> TokenBatch:
    """Encode documents (by `encode`), those that are drawn as three pieces between markers."""
    markers = encoder.markers
    if markers is None:
        raise ModelError(
            "shards.fill_in_the_middle: the tokenizer lacks the special tokens <|fim_prefix|>, "
            "<|fim_suffix|> and <|fim_middle|>; add them to tokenizer.train.special_tokens, or pin "
            'a tokenizer that has them as special tokens (`"special": true` in tokenizer.json)'
        )
    cuts = [cut_of(settings, seed, *each) for each in zip(doc_ids, texts, strict=True)]
    pieces: list[str] = []
    for cut, text in zip(cuts, texts, strict=True):
        pieces += [text] if cut is None else cut.pieces(text)
    encoded = (encode or encoder.encode_batch)(pieces)
    prefix, suffix, middle = (
        np.array([marker], np.int32) for marker in (markers.prefix, markers.suffix, markers.middle)
    )
    documents = []
    at = 0
    for cut in cuts:
        if cut is None:
            documents.append(encoded[at])
            at += 1
            continue
        a, b, c = encoded[at][:-1], encoded[at + 1], encoded[at + 2][:-1]  # b keeps the end mark
        laid = (
            (prefix, suffix, c, middle, a, b) if cut.is_spm else (prefix, a, suffix, c, middle, b)
        )
        documents.append(np.concatenate(laid))
        at += 3
    return TokenBatch.of(documents)
