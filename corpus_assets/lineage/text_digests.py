"""One-way digests of the 13-grams of texts, by which a text that was removed is recognised.

Of the 13-grams of a text, those are taken whose hash, mixed once more, lies in the lowest
eighth of the range: the same ones in any text that holds them, about one in eight. At most the
512 lowest are kept, each as BLAKE2b-64 of its hash. A digest tells whether a text at hand holds the
gram. It cannot give the text back: a digest cannot be inverted, and between two grams that were
taken lie eight words on average, too many to guess one after the other.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.text.blake2b import hash_numbers
from corpus_assets.text.characters import char_tables, nfkc
from corpus_assets.text.codepoints import text_buffers
from corpus_assets.text.ngrams import ngram_hashes
from textkernels.hashing import mix_all

GRAM_WORDS = 13
KEPT_ONE_IN = 8
MAX_DIGESTS = 512
MIN_DIGESTS = 4
"""With fewer, a text is searched for as a whole, by its id."""

_TEXTS_AT_ONCE = 1_024
_NEWLINE = pa.scalar("\n", pa.large_string())
_PERSON = np.frombuffer(b"takedown".ljust(16, b"\0"), "<u8")

Hashes = npt.NDArray[np.uint64]


def gram_digests(texts: Sequence[str]) -> list[list[str]]:
    """Return the digests of each text's 13-grams, in hex, sorted."""
    found = []
    for hashes, firsts in _hashes(pa.array(texts, pa.large_string())):
        for start, stop in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
            grams = np.unique(hashes[start:stop])
            mixed = _mixed(grams)
            lowest = np.argsort(mixed, kind="stable")[:MAX_DIGESTS]
            taken = grams[lowest[_is_taken(mixed[lowest])]]
            found.append(sorted(map(_spelled, hash_numbers(taken, _PERSON).tolist())))
    return found


def taken_digests(texts: pa.Array | pa.ChunkedArray) -> Hashes:
    """Return the digests of all 13-grams of these texts that are taken: those that `gram_digests`
    gives of each, and what it leaves out beyond the limit."""
    found = [np.empty(0, np.uint64)]
    for hashes, _ in _hashes(texts):
        found.append(np.unique(hashes[_is_taken(_mixed(hashes))]))
    digests: Hashes = hash_numbers(np.unique(np.concatenate(found)), _PERSON)
    return digests


class DigestIndex:
    """Find texts that hold a good share of a removed document's digests."""

    def __init__(self, digests: Mapping[str, Sequence[str]], min_share: float) -> None:
        self._holders: dict[str, list[str]] = {}
        self._needed: dict[str, int] = {}
        self._listed = {doc_id: len(listed) for doc_id, listed in digests.items()}
        for doc_id, listed in digests.items():
            if len(listed) >= MIN_DIGESTS:
                self._needed[doc_id] = max(1, round(min_share * len(listed)))
                for digest in listed:
                    self._holders.setdefault(digest, []).append(doc_id)
        self._numbers = np.sort(np.fromiter(map(_number, self._holders), np.uint64))
        listed_of = [list(map(_number, digests[doc_id])) for doc_id in self._needed]
        self._digests = np.array([one for listed in listed_of for one in listed], np.uint64)
        self._owners = np.repeat(np.arange(len(listed_of)), [len(listed) for listed in listed_of])

    def scan(self, texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[int, str, float]]:
        """Yield (row, document, share) for each text with a good share of a document's 13-grams.

        Costs one BLAKE2b for one 13-gram in eight.
        """
        for row, found in enumerate(self.digests_in(texts)):
            for doc_id, digests in found.items():
                share = self.share(doc_id, len(digests))
                if share:
                    yield row, doc_id, share

    def digests_in(self, texts: pa.Array | pa.ChunkedArray) -> Iterator[dict[str, set[str]]]:
        """Yield, for each text, the digests it holds of each document."""
        if not self._holders:
            yield from ({} for _ in range(len(texts)))
            return
        for hashes, firsts in _hashes(texts):
            taken = np.flatnonzero(_is_taken(_mixed(hashes)))
            digests = hash_numbers(hashes[taken], _PERSON)
            places = np.minimum(np.searchsorted(self._numbers, digests), self._numbers.size - 1)
            hits = np.flatnonzero(self._numbers[places] == digests)
            rows = np.searchsorted(firsts, taken[hits], side="right") - 1
            found: list[dict[str, set[str]]] = [{} for _ in firsts[1:]]
            for row, number in zip(rows.tolist(), digests[hits].tolist(), strict=True):
                digest = _spelled(number)
                for doc_id in self._holders[digest]:
                    found[row].setdefault(doc_id, set()).add(digest)
            yield from found

    def may_share(self, grams: npt.NDArray[np.uint32]) -> bool:
        """Say whether texts with these upper halves of digests, sorted, may hold a good share of a
        document together."""
        if not grams.size or not self._needed:
            return False
        halves = (self._digests >> np.uint64(32)).astype(np.uint32)
        places = np.minimum(np.searchsorted(grams, halves), grams.size - 1)
        counts = np.bincount(self._owners[grams[places] == halves], minlength=len(self._needed))
        return bool((counts >= np.fromiter(self._needed.values(), np.int64)).any())

    def share(self, doc_id: str, count: int) -> float:
        """Return the share that `count` digests are of a document's; 0 below the least share."""
        return count / self._listed[doc_id] if count >= self._needed[doc_id] else 0.0


def _hashes(texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[Hashes, npt.NDArray[np.int64]]]:
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    for chunk in chunks:
        for start in range(0, len(chunk), _TEXTS_AT_ONCE):
            # Line by line: one character that NFKC changes would convert a whole file otherwise.
            lines = pc.split_pattern(chunk.slice(start, _TEXTS_AT_ONCE), "\n")
            fixed = pa.ListArray.from_arrays(lines.offsets, nfkc(lines.values))
            data, offsets = text_buffers(pc.binary_join(fixed, _NEWLINE))
            yield ngram_hashes(data, offsets, char_tables(), GRAM_WORDS)


def _mixed(hashes: Hashes) -> Hashes:
    """Apply splitmix64's finalizer, so that the choice of grams is independent of their hashes."""
    out: Hashes = mix_all(hashes)
    return out


def _is_taken(mixed: Hashes) -> npt.NDArray[np.bool_]:
    return mixed < np.uint64(2**64 // KEPT_ONE_IN)


def _number(digest: str) -> int:
    return int.from_bytes(bytes.fromhex(digest), "little")


def _spelled(digest: int) -> str:
    return digest.to_bytes(8, "little").hex()
