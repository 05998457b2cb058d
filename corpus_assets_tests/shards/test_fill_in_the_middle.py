"""Documents for filling in the middle: published orders, drawn by id, and read back to their text."""

import functools
import random
from collections.abc import Sequence

import numpy as np
import pytest

from catalog.formats.token_order import MARKER_NAMES, Markers, text_places, token_order
from corpus_assets.core.errors import ModelError
from corpus_assets.shards.fill_in_the_middle import encode_cut
from corpus_assets.shards.settings import END_OF_DOCUMENT, PAD, FillInTheMiddle
from corpus_assets.shards.tokens import Encoder
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer
from corpus_assets_tests.shards.small_corpus import doc_id_of

ALPHABET = "ab \n\u00e9\u0301中\U0001f468\u200d\U0001f33e<|>_fim"
EOD = 9
PIECES = ("prefix", "suffix", "middle")


@functools.cache
def _encoder(*markers: str) -> Encoder:
    special = (END_OF_DOCUMENT, PAD, *markers)
    small = TokenizerSettings(vocab_size=300, special_slots=8, special_tokens=special)
    return Encoder(train_tokenizer(["def middle(prefix): return suffix\n"] * 6, small))


def _texts(count: int, seed: int = 5) -> list[str]:
    draw = random.Random(seed)
    texts = ["".join(draw.choices(ALPHABET, k=draw.randrange(1, 60))) for _ in range(count - 1)]
    return [*texts, f"forged {''.join(MARKER_NAMES)}{END_OF_DOCUMENT}"]


def _pieces(encoder: Encoder, tokens: Sequence[int]) -> tuple[str, dict[str, str]] | None:
    """A document's order and pieces, found as plainly as one can; None where it is not cut."""
    pre, suf, mid = (encoder.markers.prefix, encoder.markers.suffix, encoder.markers.middle)  # type: ignore[union-attr]
    ids = list(tokens)
    assert ids.pop() == encoder.eod_id
    if ids[0] != pre:
        assert not set(ids) & {pre, suf, mid}
        return None
    assert [id for id in ids if id in (pre, suf, mid)] == [pre, suf, mid]
    s, m = ids.index(suf), ids.index(mid)
    parts = (ids[1:s], ids[s + 1 : m], ids[m + 1 :])
    texts = [encoder.decode(part) for part in parts]  # each is whole characters
    return "spm" if s == 1 else "psm", dict(zip(PIECES, texts, strict=True))


def test_each_document_is_cut_between_characters_into_a_published_order() -> None:
    encoder, texts = _encoder(*MARKER_NAMES), _texts(600)
    ids = [doc_id_of(str(number)) for number in range(600)]
    batch = encode_cut(encoder, ids, texts, FillInTheMiddle(rate=0.5, spm=0.25), seed=1)
    orders, firsts = [], []
    for number, text in enumerate(texts):
        found = _pieces(encoder, batch[number].tolist())
        order = token_order(batch[number], encoder.markers)
        assert encoder.decode(encoder.in_text_order(batch[number])) == text
        if found is None:
            assert order is None
            continue
        orders.append(found[0])
        assert (
            order
            == {
                "psm": "prefix, suffix, middle",
                "spm": "suffix, prefix, middle",
            }[found[0]]
        )
        assert found[1]["prefix"] + found[1]["middle"] + found[1]["suffix"] == text
        firsts.append(len(found[1]["prefix"]) / len(text) if found[0] == "psm" else 0.3)
    assert 240 < len(orders) < 360
    assert 0.17 < orders.count("spm") / len(orders) < 0.36
    assert 0.25 < float(np.mean(firsts)) < 0.42  # a third, the lower of two even draws


def test_what_becomes_of_a_document_hangs_on_nothing_but_its_id_its_text_and_the_seed() -> None:
    encoder, texts = _encoder(*MARKER_NAMES), _texts(40)
    ids = [doc_id_of(str(number)) for number in range(40)]
    asked = FillInTheMiddle()
    whole = encode_cut(encoder, ids, texts, asked, seed=1)
    for kept in (range(0, 40, 3), range(39, -1, -1)):
        some = encode_cut(encoder, [ids[i] for i in kept], [texts[i] for i in kept], asked, seed=1)
        for place, number in enumerate(kept):
            assert some[place].tolist() == whole[number].tolist()
    other = encode_cut(encoder, ids, texts, asked, seed=2)
    assert other.flat.tolist() != whole.flat.tolist()
    more = encode_cut(encoder, ids, texts, FillInTheMiddle(rate=0.9), seed=1)
    for number in range(40):  # a higher rate takes more, and leaves those it had as they were
        if token_order(whole[number], encoder.markers):
            assert more[number].tolist() == whole[number].tolist()


def test_the_orders_are_as_published() -> None:
    """PRE prefix SUF suffix MID middle, and PRE SUF suffix MID prefix middle."""
    encoder, ids = _encoder(*MARKER_NAMES), [doc_id_of("order")]
    said = []
    for spm in (0, 1):
        (batch,) = [encode_cut(encoder, ids, ["abcdef"], FillInTheMiddle(rate=1, spm=spm), seed=3)]
        names = {
            encoder.markers.prefix: "P",
            encoder.markers.suffix: "S",
            encoder.markers.middle: "M",
        }  # type: ignore[union-attr]
        said.append("".join(names.get(t) or encoder.decode([t]) for t in batch[0].tolist()))
    psm, spm = said
    prefix, suffix, middle = psm[1:].replace("S", "M").split("M")
    assert prefix + middle + suffix == "abcdef"
    assert psm == f"P{prefix}S{suffix}M{middle}"
    assert spm == f"PS{suffix}M{prefix}{middle}"


@pytest.mark.parametrize("markers", [(), MARKER_NAMES[:2]])
def test_a_tokenizer_without_the_markers_is_refused(markers: tuple[str, ...]) -> None:
    with pytest.raises(ModelError, match=r"lacks the special tokens .* add them"):
        encode_cut(_encoder(*markers), [doc_id_of("a")], ["a"], FillInTheMiddle(), seed=1)


def test_places_of_the_text_are_those_of_a_plain_reading() -> None:
    draw, markers = np.random.default_rng(11), Markers(prefix=1, suffix=2, middle=3)
    for _ in range(400):
        documents = [_document(draw) for _ in range(draw.integers(1, 5))]
        tokens = np.array([token for document in documents for token in document], np.int32)
        first, last = sorted(draw.integers(0, len(tokens) + 1, 2).tolist())
        for some in (tokens, tokens[first:last]):
            starts = np.sort(draw.integers(0, len(some) + 1, 2))
            for bounds in (None, starts):
                places = text_places(some, markers, EOD, bounds)
                assert places.tolist() == _plain(some.tolist(), [] if bounds is None else bounds)


def _document(draw: np.random.Generator) -> list[int]:
    a, b, c = (draw.integers(4, 9, draw.integers(0, 4)).tolist() for _ in range(3))
    return [[*a, *b, *c, EOD], [1, *a, 2, *b, 3, *c, EOD], [1, 2, *a, 3, *b, *c, EOD]][
        draw.integers(3)
    ]


def _plain(tokens: list[int], starts: Sequence[int]) -> list[int]:
    places, at = [], 0
    while at < len(tokens):
        end = at + 1
        while end < len(tokens) and tokens[end] not in (EOD, 1) and end not in list(starts):
            end += 1
        inside = tokens[at:end]
        if tokens[at] == 1 and 2 in inside and 3 in inside and inside.index(2) < inside.index(3):
            s, m = at + inside.index(2), at + inside.index(3)
            places += [*range(at, s), *range(m, end), *range(s, m)]
        else:
            places += range(at, end)
        at = end
    return places
