"""Who must stay out: takedowns' standing orders."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import digest
from corpus_assets.core.urls import (
    Blocklist,
    has_prefix,
    host_of_key,
    one_spelling,
    prefix_free,
)
from corpus_assets.text.sketch import SketchIndex

KINDS = ("url_key", "url_prefix", "host", "doc_id", "text_id", "near_text")
ID_BYTES = 16


@dataclass(frozen=True)
class Suppressions:
    """Takedowns in force, ready for look-up: constant time for each kind but prefixes (log n).
    Addresses are in one spelling, and so is what they are compared with."""

    url_keys: frozenset[str] = frozenset()
    url_prefixes: tuple[str, ...] = ()  # sorted, none begins with another
    hosts: Blocklist = field(default_factory=Blocklist)
    doc_ids: frozenset[bytes] = frozenset()
    text_ids: frozenset[bytes] = frozenset()
    sketches: SketchIndex = field(default_factory=SketchIndex, compare=False)  # near_text
    rows: tuple[tuple[str, str], ...] = ()
    state: str | None = field(default=None, compare=False)  # of the catalog when they were read

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str]]) -> "Suppressions":
        """From (kind, value) pairs; URL values are SURT keys, ids are in hex, sketches as
        `sketch.sketch_text` writes them."""
        kept = tuple(sorted({(kind, one_spelling(value)) for kind, value in rows}))
        by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for kind, value in kept:
            if kind not in by_kind or not value:
                known = ", ".join(KINDS)
                raise RecipeError(f"suppression {kind}={value!r}: expected one of {known}, a value")
            by_kind[kind].append(value)
        return cls(
            url_keys=frozenset(by_kind["url_key"]),
            url_prefixes=prefix_free(by_kind["url_prefix"]),
            hosts=Blocklist(by_kind["host"]),
            doc_ids=frozenset(_id(value) for value in by_kind["doc_id"]),
            text_ids=frozenset(_id(value) for value in by_kind["text_id"]),
            sketches=SketchIndex(by_kind["near_text"]),
            rows=kept,
        )

    @cached_property
    def digest(self) -> str:
        """What makes two sets of orders one."""
        return digest([list(row) for row in self.rows])

    def match_url(self, key: str, host: str) -> str | None:
        """Return the kind of order that covers a page, or None."""
        spelled = one_spelling(key)
        if spelled in self.url_keys:
            return "url_key"
        if has_prefix(spelled, self.url_prefixes):
            return "url_prefix"
        return "host" if host and self.hosts.match(host) else None

    def match_record(self, key: str, host: str, doc_id: bytes) -> bool:
        """Whether an order covers a record, by its address or its id: needs no text."""
        return doc_id in self.doc_ids or self.match_url(key, host) is not None

    def match_text(self, text_id: bytes, parents: Sequence[str]) -> bool:
        """Whether an order covers a text, or a text it was derived from; near copies are looked
        for in `sketches`, many at once."""
        return text_id in self.text_ids or any(
            self.match_url(key, host_of_key(key)) is not None for key in parents
        )


def _id(value: str) -> bytes:
    try:
        raw = bytes.fromhex(value)
    except ValueError as error:
        raise RecipeError(f"id {value!r} is not hexadecimal; copy it from the catalog") from error
    if len(raw) != ID_BYTES:
        raise RecipeError(f"id {value!r} has {len(raw)} bytes, not {ID_BYTES}; copy it whole")
    return raw
