"""One-way digests of a text's 13-grams, so that it can be looked for when it is gone.

Of the 13-grams of a text, those are taken whose hash, mixed once more, lies in the lowest
eighth of the range: the same ones in any text that holds them, about one in eight. At most the
512 lowest are kept, each as BLAKE2b-64 of its hash. What is kept tells whether a text at hand
holds the gram. It cannot give the text back: a digest has no way back, and between two grams
that were taken lie eight words on average, too many to guess one after the other.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.kernels.characters import char_tables, nfkc
from corpus_assets.kernels.ngrams import ngram_hashes
from corpus_assets.kernels.unicode_text import text_buffers

NGRAM = 13
ONE_IN = 8
MAX_DIGESTS = 512
MIN_DIGESTS = 4
"""Fewer say nothing: such a text is looked for whole, by its id."""

_TEXTS_AT_ONCE = 1_024

Hashes = npt.NDArray[np.uint64]


def gram_digests(texts: Sequence[str]) -> list[list[str]]:
    """For each text, the digests of its 13-grams that are taken, in hex, sorted."""
    found = []
    for hashes, firsts in _hashes(pa.array(texts, pa.large_string())):
        for start, stop in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
            grams = np.unique(hashes[start:stop])
            mixed = _mixed(grams)
            lowest = np.argsort(mixed, kind="stable")[:MAX_DIGESTS]
            taken = grams[lowest[_is_taken(mixed[lowest])]]
            found.append(sorted(_digest(gram) for gram in taken.tolist()))
    return found


class DigestIndex:
    """Finds texts that hold a good share of the digests of documents that are gone."""

    def __init__(self, digests: Mapping[str, Sequence[str]], min_share: float) -> None:
        self._holders: dict[str, list[str]] = {}
        self._needed: dict[str, int] = {}
        self._listed = {doc_id: len(listed) for doc_id, listed in digests.items()}
        for doc_id, listed in digests.items():
            if len(listed) >= MIN_DIGESTS:
                self._needed[doc_id] = max(1, round(min_share * len(listed)))
                for digest in listed:
                    self._holders.setdefault(digest, []).append(doc_id)

    def scan(self, texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[int, str, float]]:
        """(row, document, share) for each text that holds a good share of a document's 13-grams.

        Costs one BLAKE2b for one 13-gram in eight: about 0.1 ms a web page.
        """
        for row, found in enumerate(self.digests_in(texts)):
            for doc_id, digests in found.items():
                share = self.share(doc_id, len(digests))
                if share:
                    yield row, doc_id, share

    def digests_in(self, texts: pa.Array | pa.ChunkedArray) -> Iterator[dict[str, set[str]]]:
        """For each text, the digests of each document that it holds."""
        if not self._holders:
            return
        for hashes, firsts in _hashes(texts):
            for start, stop in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
                grams = hashes[start:stop]
                found: dict[str, set[str]] = {}
                for gram in np.unique(grams[_is_taken(_mixed(grams))]).tolist():
                    digest = _digest(gram)
                    for doc_id in self._holders.get(digest, ()):
                        found.setdefault(doc_id, set()).add(digest)
                yield found

    def share(self, doc_id: str, count: int) -> float:
        """How much of a document so many of its digests are; 0 where it is not worth naming."""
        return count / self._listed[doc_id] if count >= self._needed[doc_id] else 0.0


def _hashes(texts: pa.Array | pa.ChunkedArray) -> Iterator[tuple[Hashes, npt.NDArray[np.int64]]]:
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    for chunk in chunks:
        for start in range(0, len(chunk), _TEXTS_AT_ONCE):
            data, offsets = text_buffers(nfkc(chunk.slice(start, _TEXTS_AT_ONCE)))
            yield ngram_hashes(data, offsets, char_tables(), NGRAM)


def _mixed(hashes: Hashes) -> Hashes:
    """splitmix64's finalizer: which grams are taken does not follow the words' own hashes."""
    mixed = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    out: Hashes = mixed ^ (mixed >> np.uint64(31))
    return out


def _is_taken(mixed: Hashes) -> npt.NDArray[np.bool_]:
    return mixed < np.uint64(2**64 // ONE_IN)


def _digest(gram: int) -> str:
    return blake2b(gram.to_bytes(8, "little"), digest_size=8, person=b"takedown").hexdigest()
