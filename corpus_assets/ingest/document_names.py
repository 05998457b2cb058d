"""What a record is called: its address or key, and the ids that are made from names and content."""

import hashlib
from dataclasses import dataclass

from blake3 import blake3

from corpus_assets.core.urls import Address, address_of
from corpus_assets.ingest.records import RawRecord
from pageblocks import normalise

ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Names:
    """What a record is called."""

    address: Address | None
    key: str  # url_key, or source:key
    host: str | None
    payload_digest: str
    doc_id: bytes
    parents: tuple[str, ...]


def names_of(record: RawRecord, source: str, snapshot: str) -> Names:
    digest = content_digest(record)
    address = address_of(record.url) if record.url else None
    if address is not None:
        name, key = address.canonical, address.key
    else:
        name = normalise(record.key or record.url or digest)
        key = f"{source}:{name}"
    return Names(
        address=address,
        key=key,
        host=address.host if address else None,
        payload_digest=digest,
        doc_id=make_doc_id(source, snapshot, name, digest),
        parents=tuple(_parent_key(parent) for parent in record.derived_from),
    )


def content_digest(record: RawRecord) -> str:
    """Of what the record holds; as its source declares it where it holds nothing."""
    text = record.text if record.raw_text is None else record.raw_text
    content = record.payload if text is None else text.encode("utf-8", "replace")
    if record.payload_digest and not content:
        return record.payload_digest
    return f"blake3:{blake3(content).hexdigest()}"


def make_doc_id(source: str, snapshot: str, name: str, payload_digest: str) -> bytes:
    """BLAKE2b-128 over the length-prefixed parts. Neither file nor place is in it."""
    hasher = hashlib.blake2b(digest_size=ID_BYTES)
    for piece in (source, snapshot, name, payload_digest):
        raw = piece.encode("utf-8", "replace")
        hasher.update(len(raw).to_bytes(8, "little"))
        hasher.update(raw)
    return hasher.digest()


def make_text_id(text: str) -> bytes:
    """Return the first 16 bytes of SHA-256 of text in normal form: whoever has the text or its
    SHA-256 can name it."""
    return text_id_of(text.encode("utf-8"))


def text_id_of(text: bytes | memoryview) -> bytes:
    """Return the same for text in UTF-8, which is not copied."""
    return hashlib.sha256(text).digest()[:ID_BYTES]


def _parent_key(parent: str) -> str:
    """Return a parent given as a URL by its url_key; any other name is a url_key already."""
    address = address_of(parent) if "://" in parent else None
    return address.key if address is not None else normalise(parent)
