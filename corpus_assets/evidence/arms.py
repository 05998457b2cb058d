"""What a version gives a small model: documents chosen by hash, laid into samples, in an order.

1. Documents lie on a circle by a keyed hash of their ids, copies of a text together. Each seed begins
   at a place of its own, the places evenly spaced, and takes documents from there until there are
   enough tokens. So every group shrinks alike, and a run over them repeats each group, and each text
   that the version has many times, as a long run over the whole version would; arms that were made
   from one pool are given the same part of it by the same seed; and seeds have no document in common
   where the version is large enough, so that their spread holds the chance of which documents were
   drawn.
2. Documents of a group lie end to end in samples, as packing `concat` lays them.
3. The order is that of the loader (`corpus_loader.Order`): the groups' shares of all phases of the
   version, its epochs, a seed. So `Order.positions_of` says when a run saw a document.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corpus_assets.core.errors import EvidenceError
from corpus_assets.core.sample import CIRCLE, Sample
from corpus_assets.shards import Encoder
from corpus_loader import Loader, Order
from corpus_loader.manifest import Manifest, Phase

SAMPLE = Sample(b"corpus-assets/evidence/sample")
BLOCK_SAMPLES = 256
SHINGLE = 5  # tokens
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, of no pattern: Fibonacci hashing
_KEYS = (np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344))

Tokens = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Document:
    """A document of a version: its tokens with the end-of-document token."""

    doc_id: bytes
    group: str
    tokens: Tokens
    drawn_with: bytes = b""  # the least id of its copies in the version; empty: it has none

    @property
    def place(self) -> int:
        """Where on the circle it lies."""
        return SAMPLE.place(self.drawn_with or self.doc_id)


@dataclass(frozen=True)
class Arm:
    """What one arm trains on."""

    documents: Sequence[Document]  # in the order they are laid, group by group
    samples: Mapping[str, int]  # by group
    weights: Mapping[str, float]  # shares of the run, by group

    def order(self, positions: int, seed: int) -> Order:
        """Return the order of a run of so many positions.

        Blocks divide the run where they can, so that it ends with a whole one and samples of a
        group are seen equally often, but for one time.
        """
        most = max(BLOCK_SAMPLES, 4 * len(self.samples))
        block = next(d for d in range(min(most, positions), 0, -1) if positions % d == 0)
        block = block if block >= len(self.samples) else most
        counts = apportion(block, self.weights)
        phase = Phase(name="proxy", blocks=-(-positions // block), counts=counts)
        return Order(dict(self.samples), [phase], block, seed)

    def sample_numbers(self, positions: int, seed: int) -> npt.NDArray[np.int64]:
        """Return the arm's sample at each position; groups count on in the order of their names."""
        order = self.order(positions, seed)
        sizes = np.array([self.samples[group] for group in order.group_ids])
        draws = order.locate(np.arange(positions))
        found: npt.NDArray[np.int64] = (np.cumsum(sizes) - sizes)[draws.group] + draws.sample
        return found

    @property
    def tokens(self) -> int:
        """Tokens of its documents."""
        return sum(len(document.tokens) for document in self.documents)


def make_arm(
    documents: Sequence[Document], weights: Mapping[str, float], samples: int, sequence: int
) -> Arm:
    """Lay documents into exactly so many samples; `weights` are shares of the run by group.

    Each group has at least one sample, filled up with padding where its documents do not fill it.
    """
    tokens: dict[str, int] = {}
    for document in documents:
        tokens[document.group] = tokens.get(document.group, 0) + len(document.tokens)
    if not documents or samples < len(tokens):
        raise EvidenceError(
            f"{samples} samples cannot hold {len(tokens)} groups of documents; plan more unique "
            "tokens, or compare versions that have documents"
        )
    absent = [group for group in tokens if weights.get(group, 0) <= 0]
    if absent:
        raise EvidenceError(f"group {absent[0]} has documents and no share of the run")
    own = {group: weights[group] for group in sorted(tokens)}
    return Arm(
        sorted(documents, key=lambda one: (one.group, SAMPLE.place(one.doc_id), one.doc_id)),
        apportion(samples, tokens),
        own,
    )


def start_of(seed: int, seeds: Sequence[int]) -> int:
    """Return where on the circle a seed begins: hashes are 64 bits."""
    return CIRCLE * list(seeds).index(seed) // len(seeds)


def choose(
    documents: Sequence[Document], start: int, tokens: int | None, reach: int | None
) -> list[Document]:
    """Take documents from a place on the circle on: the first that have so many tokens, or those at
    most `reach` away."""
    chosen, total = [], 0
    for document in sorted(documents, key=lambda one: (_ahead(one, start), one.doc_id)):
        if (tokens is not None and total >= tokens) or (
            reach is not None and _ahead(document, start) > reach
        ):
            break
        chosen.append(document)
        total += len(document.tokens)
    if tokens is not None and total < tokens:
        raise EvidenceError(
            f"there are {total} tokens and {tokens} were planned as unique_tokens; plan fewer"
        )
    return chosen


def reach_of(documents: Sequence[Document], start: int) -> int:
    """Return how far the last of these documents is from a place: the `reach` that chooses them."""
    return max(_ahead(document, start) for document in documents)


def apportion(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Split a number by weights, one at least for each: by largest remainder."""
    spare = total - len(weights)
    whole = sum((Fraction(weight) for weight in weights.values()), Fraction(0))
    if spare < 0 or whole <= 0:
        raise EvidenceError(f"{total} cannot be split over {len(weights)} groups")
    asked = {name: Fraction(weight) / whole * spare for name, weight in weights.items()}
    shares = {name: 1 + int(value) for name, value in asked.items()}
    order = sorted(asked, key=lambda name: (int(asked[name]) - asked[name], name))
    for name in order[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def run_shares(manifest: Manifest) -> dict[str, float]:
    """Return how many samples of its whole run a version draws from each group."""
    drawn: dict[str, float] = {}
    for phase in manifest.phases:
        for group, count in phase.counts.items():
            drawn[group] = drawn.get(group, 0) + count * phase.blocks
    return drawn


def version_documents(
    loader: Loader,
    tokens: int | None,
    encoder: Encoder,
    own: Encoder,
    starts: Sequence[int] = (0,),
) -> list[Document]:
    """Read the documents of a version from its shards.

    Given `tokens`, only those that can be among the first so many from one of the places on; tokens
    of the others are read once and not held. `own` is the version's tokenizer; where the plan has
    another, `encoder`, tokens are decoded and encoded again.
    """
    listed = list(_list_documents(loader))
    first_of: dict[int, bytes] = {}
    keys = [copies_key(one.tokens(loader)) for one in listed]
    for key, one in zip(keys, listed, strict=True):
        first_of[key] = min(one.doc_id, first_of.get(key, one.doc_id))
    drawn_with = {one.doc_id: first_of[key] for key, one in zip(keys, listed, strict=True)}
    listed.sort(key=lambda one: (SAMPLE.place(drawn_with[one.doc_id]), one.doc_id))
    if tokens is not None and encoder.sha256 == own.sha256:
        sizes = np.array([one.size for one in listed], np.int64)
        places = SAMPLE.places(drawn_with[one.doc_id] for one in listed)
        wanted = np.zeros(len(listed), np.bool_)
        for start in starts:
            order = np.roll(np.arange(len(listed)), -int(np.searchsorted(places, np.uint64(start))))
            wanted[order[: int(np.searchsorted(np.cumsum(sizes[order]), tokens)) + 1]] = True
        listed = [one for one, is_wanted in zip(listed, wanted.tolist(), strict=True) if is_wanted]
    documents = [
        Document(one.doc_id, one.group, one.tokens(loader), drawn_with[one.doc_id])
        for one in listed
    ]
    return documents if encoder.sha256 == own.sha256 else _recoded(documents, encoder, own)


class _Listed(NamedTuple):
    """Where the tokens of a document are: sample, offset and length of its pieces, in order."""

    doc_id: bytes
    group: str
    shard: int
    pieces: Sequence[tuple[int, int, int]]

    @property
    def size(self) -> int:
        return sum(length for *_, length in self.pieces)

    def tokens(self, loader: Loader) -> Tokens:
        samples = loader.shard(self.shard).samples
        flat = [samples[s, offset : offset + length] for s, offset, length in self.pieces]
        tokens = np.concatenate(flat).astype(np.int32)
        # Of a file too that another one of its repository follows.
        tokens[-1] = loader.manifest.tokenizer.eod_id
        return tokens


def _list_documents(loader: Loader) -> Iterator[_Listed]:
    """The documents of the groups that the version's run draws from."""
    drawn = run_shares(loader.manifest)
    groups = [group.id for group in loader.groups for _ in group.shards]
    for number, group in enumerate(groups):
        if drawn.get(group, 0) <= 0:
            continue
        table = loader.shard(number).spans_table()
        spans: dict[bytes, list[tuple[int, int, int, int]]] = {}
        columns = (
            table[name].to_pylist()
            for name in ("doc_id", "doc_token_offset", "sample", "offset", "length")
        )
        for doc_id, within, sample, offset, length in zip(*columns, strict=True):
            spans.setdefault(doc_id, []).append((within, sample, offset, length))
        for doc_id, pieces in spans.items():
            yield _Listed(doc_id, group, number, [span[1:] for span in sorted(pieces)])


def _recoded(documents: Sequence[Document], encoder: Encoder, own: Encoder) -> list[Document]:
    ordered = [own.in_text_order(one.tokens) for one in documents]
    texts = [own.decode_bytes(tokens).decode("utf-8", "replace") for tokens in ordered]
    batch = encoder.encode_batch(texts)
    return [replace(one, tokens=batch[i]) for i, one in enumerate(documents)]


def copies_key(tokens: Tokens) -> int:
    """Return a number that equal texts have in common, and near copies with the chance J*J, J being
    the Jaccard similarity of their 5-grams of tokens: two minima of hashes over these. `tokens` end
    with the end of the document."""
    ids = tokens[:-1].astype(np.uint64)
    grams = np.zeros(max(len(ids) - SHINGLE + 1, 1), np.uint64)
    for part in (ids[k : k + len(grams)] for k in range(min(SHINGLE, len(ids)))):
        grams = grams * _FACTOR + part
    minima = []
    for key in _KEYS:
        mixed = (grams ^ key) * _FACTOR
        minima.append(int(((mixed ^ (mixed >> np.uint64(29))) * _FACTOR).min()))
    return minima[0] << 64 | minima[1]


def tokens_digest(tokens: Tokens) -> str:
    """Return SHA-256 of a document's tokens."""
    return hashlib.sha256(np.ascontiguousarray(tokens, "<i4").tobytes()).hexdigest()


def _ahead(document: Document, start: int) -> int:
    return (document.place - start) % CIRCLE
