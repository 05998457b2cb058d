"""What a version gives a small model: documents chosen by hash, laid into samples, in an order.

1. Documents lie on a circle by a keyed hash of their ids. Each seed begins at a place of its own,
   the places evenly spaced, and takes documents from there until there are enough tokens. So every
   group shrinks alike, and a run over them repeats each group as a long run over the whole version
   would; arms that were made from one pool are given the same part of it by the same seed; and
   seeds have no document in common where the version is large enough, so that their spread holds
   the chance of which documents were drawn.
2. Documents of a group lie end to end in samples, as packing `concat` lays them.
3. The order is that of the loader (`corpus_loader.Order`): the groups' shares of all phases of the
   version, its epochs, a seed. So `Order.positions_of` says when a run saw a document.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from corpus_assets.core.errors import EvidenceError
from corpus_assets.core.sample import CIRCLE, Sample
from corpus_assets.shards import Encoder
from corpus_loader import Loader, Order
from corpus_loader.manifest import Manifest, Phase

SAMPLE = Sample(b"corpus-assets/evidence/sample")
BLOCK_SAMPLES = 256

Tokens = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Document:
    """A document of a version: its tokens with the end-of-document token."""

    doc_id: bytes
    group: str
    tokens: Tokens


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
    for document in sorted(documents, key=lambda one: (_ahead(one.doc_id, start), one.doc_id)):
        if (tokens is not None and total >= tokens) or (
            reach is not None and _ahead(document.doc_id, start) > reach
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
    return max(_ahead(document.doc_id, start) for document in documents)


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

    Only those are read whole that can be among the first `tokens` from one of the places on. `own`
    is the version's tokenizer; where the plan has another, `encoder`, tokens are decoded and encoded
    again.
    """
    drawn = run_shares(loader.manifest)
    groups = [group.id for group in loader.groups for _ in group.shards]
    found: list[tuple[bytes, str, int, list[tuple[int, int, int]]]] = []
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
        found += [
            (doc_id, group, number, [span[1:] for span in sorted(pieces)])
            for doc_id, pieces in spans.items()
        ]
    found.sort(key=lambda one: (SAMPLE.place(one[0]), one[0]))
    if tokens is not None and encoder.sha256 == own.sha256:
        sizes = np.array([sum(length for *_, length in pieces) for *_, pieces in found], np.int64)
        places = SAMPLE.places(doc_id for doc_id, *_ in found)
        wanted = np.zeros(len(found), np.bool_)
        for start in starts:
            order = np.roll(np.arange(len(found)), -int(np.searchsorted(places, np.uint64(start))))
            wanted[order[: int(np.searchsorted(np.cumsum(sizes[order]), tokens)) + 1]] = True
        found = [one for one, is_wanted in zip(found, wanted.tolist(), strict=True) if is_wanted]
    documents = []
    for doc_id, group, number, pieces in found:
        samples = loader.shard(number).samples
        flat = [samples[s, offset : offset + length] for s, offset, length in pieces]
        documents.append(Document(doc_id, group, np.concatenate(flat).astype(np.int32)))
    return documents if encoder.sha256 == own.sha256 else _recoded(documents, encoder, own)


def _recoded(documents: Sequence[Document], encoder: Encoder, own: Encoder) -> list[Document]:
    texts = [own.decode_bytes(one.tokens).decode("utf-8", "replace") for one in documents]
    batch = encoder.encode_batch(texts)
    return [Document(one.doc_id, one.group, batch[i]) for i, one in enumerate(documents)]


def tokens_digest(tokens: Tokens) -> str:
    """Return SHA-256 of a document's tokens."""
    return hashlib.sha256(np.ascontiguousarray(tokens, "<i4").tobytes()).hexdigest()


def _ahead(doc_id: bytes, start: int) -> int:
    return (SAMPLE.place(doc_id) - start) % CIRCLE
