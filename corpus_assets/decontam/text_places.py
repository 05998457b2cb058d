"""From places in a text as it was searched (bytes, in NFKC) to places in the text itself.

NFKC may join, split and replace characters. It never reaches over the border before a character
that it leaves alone and that cannot compose with what stands before it, so the text is cut at
those borders, and only the few pieces that change are converted by themselves. A place that ends
inside such a piece is widened to the whole of it. Costs a few passes over one text, and is asked
only for texts in which something was found.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.text.characters import char_tables, to_nfkc

Ints = npt.NDArray[np.int64]


def in_chars(text: str, searched: npt.NDArray[np.uint8], starts: Ints, stops: Ints) -> Ints:
    """Places in bytes of the searched text, as [start, end) in characters of `text`; shape (n, 2).

    `searched` is the UTF-8 of `text` or of `nfkc` of it.
    """
    if text.isascii():
        return np.stack([starts, stops], axis=1).astype(np.int64)
    before = np.cumsum((searched & 0xC0) != 0x80)  # characters up to and with each byte
    lead = np.concatenate([np.zeros(1, np.int64), before])
    low, high = lead[starts], lead[stops]
    if not _is_utf8_of(text, searched):
        begins, ends = _pieces(text)
        edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends[:, 1])])
        low = begins[np.searchsorted(edges, low, side="right") - 1]
        last = np.searchsorted(edges, high - 1, side="right") - 1
        high = begins[last] + ends[last, 0]
    return np.stack([low, high], axis=1).astype(np.int64)


def _is_utf8_of(text: str, searched: npt.NDArray[np.uint8]) -> bool:
    return searched.tobytes() == text.encode("utf-8", "replace")


def _pieces(text: str) -> tuple[Ints, Ints]:
    """Where each piece begins, and (its characters, its characters in NFKC)."""
    codes = np.frombuffer(text.encode("utf-32-le", "replace"), "<u4")
    is_border = _begins_piece(codes)
    is_border[0] = True
    begins = np.flatnonzero(is_border).astype(np.int64)
    sizes = np.diff(np.append(begins, codes.size))
    normal = sizes.copy()
    foreign = np.flatnonzero(np.add.reduceat((codes > 0x7F).astype(np.int64), begins) > 0)
    if foreign.size:
        spans = zip(begins[foreign].tolist(), sizes[foreign].tolist(), strict=True)
        pieces = pa.array([text[start : start + size] for start, size in spans], pa.large_string())
        normal[foreign] = pc.utf8_length(to_nfkc(pieces)).to_numpy()
    return begins, np.stack([sizes, normal], axis=1)


def _begins_piece(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Whether nothing before a character can change with it: by itself, or by what it becomes."""
    order = char_tables().order
    is_border: npt.NDArray[np.bool_] = order[codes] == 0
    known, where = np.unique(codes[~is_border], return_inverse=True)
    became = to_nfkc(pa.array([chr(code) for code in known.tolist()], pa.large_string()))
    begins = [bool(text) and order[ord(text[0])] == 0 for text in became.to_pylist()]
    is_border[~is_border] = np.array(begins, np.bool_)[where]
    return is_border
