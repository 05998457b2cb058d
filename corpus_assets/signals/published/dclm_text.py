"""DCLM's cutting of addresses and empty lines, before anything is counted (Li et al. 2024)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, field_validator

from corpus_assets.core.column_types import ColumnTypes
from corpus_assets.core.model_choice import INSTALLED
from corpus_assets.signals.base import FILE
from corpus_assets.signals.text_step import Rewriting, TextStep, cut

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from corpus_assets.text.batch import TextBatch

Span = tuple[int, int]

IN_HOST = r"[-a-zA-Z0-9@:%._+~#=]"
IN_PATH = r"[-a-zA-Z0-9()@:%_+.~#?&/=]"
SCHEME = r"(?:https?|ftp)://"
OCTET = r"[0-2]?[0-9]{1,2}"
IP_LIKE = rf"(?:{OCTET}\.){{3}}[0-9]"
IP_ADDRESS = re.compile(rf"\s{{0,10}}\b(?:{SCHEME})?(?:{OCTET}\.){{3}}{OCTET}{IN_PATH}*")
TO_DOT = rf"\s{{0,10}}(?:{SCHEME})?{IN_HOST}{{1,256}}"
BEFORE_DOT = re.compile(rf"{TO_DOT}\Z")
MAX_NEWLINES = 2  # that may follow each other
LONGEST_BEFORE_DOT = 10 + len("https://") + 256


class DCLMText(TextStep):
    """Cuts out addresses of hosts and pages, with white space before them, and surplus empty lines.

    As the code of DCLM has it: addresses of the listed top-level domains go only from a text that
    begins like one of them itself, in whatever case ("In the morning", where `in` is listed), and
    IPv4 addresses from every text.

    * `dclm_cut_addresses`: addresses that were cut out;
    * `dclm_cut_newlines`: line ends that were cut out.
    """

    version: ClassVar[int] = 1

    family: Literal["dclm_text"] = "dclm_text"
    tlds: tuple[str, ...] = Field(
        default=(),
        description="top-level domains of URLs, in lowercase, or `model://NAME` (DCLM: "
        "`model://dclm-tlds`); empty: only IP addresses are cut",
    )

    @field_validator("tlds")
    @classmethod
    def _plain(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for tld in value:
            if tld.startswith(INSTALLED):
                continue
            if not tld or tld != tld.lower().strip(". "):
                raise ValueError(f"{tld!r}: write top-level domains in lowercase without a dot")
        return value

    def needs(self) -> tuple[str, ...]:
        return tuple(FILE + tld for tld in self.tlds if tld.startswith(INSTALLED))

    def with_lists(self, entries: Callable[[str], Iterable[str]]) -> Self:
        found = [tld for tld in self.tlds if not tld.startswith(INSTALLED)]
        for need in self.needs():
            found += [entry.lower() for entry in entries(need.removeprefix(FILE))]
        return type(self).model_validate(self.model_dump() | {"tlds": tuple(dict.fromkeys(found))})

    def columns(self) -> ColumnTypes:
        return {"dclm_cut_addresses": "int64", "dclm_cut_newlines": "int64"}

    def rewrite(self, batch: TextBatch) -> Rewriting:
        import numpy as np

        from corpus_assets.signals.kernels.squeeze import kept_pieces

        gone = np.zeros(batch.data.size, dtype=np.uint8)
        addresses = np.zeros(len(batch), dtype=np.int64)
        for row in self._with_addresses(batch):
            places = np.arange(batch.offsets[row], batch.offsets[row + 1])
            for find in (self._addresses, _ip_addresses):
                text = batch.data[places].tobytes().decode()
                stays = np.ones(len(places), dtype=np.bool_)
                for start, end in _in_bytes(text, find(text)):
                    stays[start:end] = False
                    addresses[row] += 1
                gone[places[~stays]] = 1
                places = places[stays]
        newlines = self._surplus_newlines(batch, gone)
        gone[newlines] = 1
        pieces, rows = kept_pieces(gone, batch.offsets)
        counts = np.diff(np.searchsorted(newlines, batch.offsets))
        columns = {"dclm_cut_addresses": addresses, "dclm_cut_newlines": counts}
        return Rewriting(cut(batch, pieces, rows), pieces, rows, self.record_batch(columns))

    def _with_addresses(self, batch: TextBatch) -> list[int]:
        """Rows of texts that may hold an address."""

        import numpy as np
        import pyarrow.compute as pc

        like = f"{IP_LIKE}|{IN_HOST}[.][^.]" if self.tlds else IP_LIKE
        found = pc.match_substring_regex(batch.texts, like)
        rows: list[int] = np.flatnonzero(found.to_numpy(zero_copy_only=False)).tolist()
        return rows

    def _addresses(self, text: str) -> Iterator[Span]:
        """Addresses of hosts in a text that begins like a top-level domain.

        Looked for from their dots back: a search from the left would try 256 characters at each
        one of a long run of letters.
        """
        begin, dot, whole = _patterns(self.tlds)
        done = 0
        for place in dot.finditer(text) if begin.match(text) else ():
            low, high = max(done, place.start() - LONGEST_BEFORE_DOT), place.start()
            before = BEFORE_DOT.search(text, low, high) if low < high else None
            address = whole.match(text, before.start()) if before is not None else None
            if address is not None:
                done = address.end()
                yield address.span()

    def _surplus_newlines(
        self, batch: TextBatch, gone: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.int64]:
        """Line ends that follow MAX_NEWLINES others in what is left."""

        import numpy as np

        left = np.flatnonzero(gone == 0)
        is_newline = batch.data[left] == ord("\n")
        number = np.arange(len(left))
        before = np.where(is_newline, -1, number)  # the last one that is none
        firsts = np.searchsorted(left, batch.offsets[:-1])
        firsts = firsts[firsts < len(left)]
        before[firsts] = np.maximum(before[firsts], firsts - 1)
        run = number - np.maximum.accumulate(before)
        surplus: npt.NDArray[np.int64] = left[is_newline & (run > MAX_NEWLINES)]
        return surplus


@lru_cache(maxsize=4)
def _patterns(tlds: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return what a text begins like, a dot before a top-level domain, and a whole address."""
    either = f"(?:{'|'.join(map(re.escape, tlds)) or '(?!)'})"
    return (
        re.compile(either, re.IGNORECASE),
        re.compile(rf"\.(?={either}\b)"),
        re.compile(rf"{TO_DOT}\.{either}\b{IN_PATH}*"),
    )


def _ip_addresses(text: str) -> Iterator[Span]:
    return (match.span() for match in IP_ADDRESS.finditer(text))


def _in_bytes(text: str, spans: Iterator[Span]) -> Iterator[Span]:
    """Sorted spans of characters as spans of the text's bytes."""
    place = byte = 0
    for start, end in spans:
        low = byte + len(text[place:start].encode())
        place, byte = end, low + len(text[start:end].encode())
        yield low, byte
