"""From one token of one shard back to its document, text and source file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from catalog.ask.documents import cluster
from catalog.db import ShardRow
from catalog.errors import CatalogError, LineageBroken
from catalog.figures import counted
from catalog.formats.token_order import TokenOrder, text_places, token_order
from catalog.formats.token_text import TokenBytes, char_range, context, extracted_range
from catalog.lineage import SPAN, Lineage, records_of, spans_of
from corpus_loader.index import numpy_type

ORIGIN = (
    "source",
    "snapshot",
    "part",
    "url",
    "url_key",
    "file",
    "offset",
    "length",
    "fetched_at",
    "licence",
)


@dataclass(frozen=True)
class Padding:
    """A token that is part of no document."""

    version: str
    state: str
    shard: str
    sample: int
    token: int
    token_id: int
    padding: Literal[True] = True
    doc_id: None = None

    def __str__(self) -> str:
        place = f"{self.shard}, sample {self.sample}, token {self.token}"
        return f"{place}: padding (token {self.token_id}), part of no document."


@dataclass(frozen=True)
class ShortCluster:
    """A duplicate cluster without its members."""

    cluster_id: str
    size: int
    kept_doc_id: str
    kind: str
    similarity: float


@dataclass(frozen=True)
class Traced:
    """A token with its document, and its place in the text: `start` and `end` of characters, with
    what stands around it; None where the tokens do not spell the text. `token_order`: of a document
    for fill-in-the-middle, whose markers have no characters."""

    version: str
    state: str
    shard: str
    sample: int
    token: int
    token_id: int
    padding: Literal[False]
    token_text: str
    ends_document: bool
    doc_id: str
    doc_token: int
    doc_tokens: int
    token_order: TokenOrder | None
    record: Mapping[str, Any]
    final_text: Mapping[str, Any] | None
    extracted_text: Mapping[str, Any] | None
    note: str | None
    cluster: ShortCluster | None


def trace_token(lineage: Lineage, shard_name: str, sample: int, token: int) -> Traced | Padding:
    """Trace the token at place `token` of sample `sample`.

    1. The span that covers it names the document, and its place in the document's tokens.
    2. The document's tokens, all in this shard, give bytes, in the order of the text;
       their lengths add up to a byte range, and that is a range of whole characters of the final text.
    3. The edits recorded with the final text lead back to the extracted text.
    Costs one read of the document's tokens and look-ups by id; no scan of the shard.
    """
    shard, manifest = _shard_with(lineage, shard_name, sample), lineage.manifest
    if not 0 <= token < manifest.seq_len:
        raise CatalogError(f"a sample has tokens 0 to {manifest.seq_len - 1}, not {token}")
    version = lineage.version
    place = (version.name, version.state, shard.full_name, sample, token)
    covering = [
        span
        for span in lineage.rows.where(shard.spans_path, "sample", [sample], ("doc_id", *SPAN))
        if span["offset"] <= token < span["offset"] + span["length"]
    ]
    at = sample * manifest.seq_len + token
    token_id = int(_tokens(lineage, shard.bin_path, at, 1)[0])
    if not covering:
        return Padding(*place, token_id)
    if len(covering) > 1:
        raise LineageBroken(
            f"{counted(len(covering), 'document')} claim token {token} of sample {sample} in "
            f"{shard.full_name}: run `catalog verify {lineage.version.name}`"
        )
    doc_id = bytes(covering[0]["doc_id"])
    position = covering[0]["doc_token_offset"] + token - covering[0]["offset"]
    spans = spans_of(lineage, [doc_id], shard.snapshot)[doc_id]
    pieces = [span for span in spans if span["shard"] == shard.full_name]
    tokens = np.concatenate(
        [
            _tokens(
                lineage,
                shard.bin_path,
                piece["sample"] * manifest.seq_len + piece["offset"],
                piece["length"],
            )
            for piece in pieces
        ]
    )
    names = lineage.token_bytes
    origin, parts = _origin(lineage, shard.snapshot, doc_id)
    closing = (manifest.tokenizer.eod_id, names.file_separator)
    ends_document = position == len(tokens) - 1 and token_id in closing
    final, extracted, note = _text_place(
        lineage, names, shard.snapshot, parts, doc_id, tokens, position
    )
    return Traced(
        *place,
        token_id,
        padding=False,
        token_text=names.of(token_id).decode("utf-8", "replace"),
        ends_document=ends_document,
        doc_id=doc_id.hex(),
        doc_token=position,
        doc_tokens=len(tokens),
        token_order=token_order(tokens, names.markers),
        record=origin,
        final_text=final,
        extracted_text=extracted,
        note=note,
        cluster=_short_cluster(lineage, doc_id),
    )


@dataclass(frozen=True)
class Piece:
    """Tokens of one document in a sample, from `offset` on; padding is of no document."""

    doc_id: str | None
    offset: int
    tokens: list[str]


@dataclass(frozen=True)
class SampleTokens:
    """A sample's tokens as text, in the pieces of documents that it was packed from."""

    version: str
    state: str
    shard: str
    sample: int
    samples: int  # of the shard
    pieces: list[Piece]


def sample_tokens(lineage: Lineage, shard_name: str, sample: int) -> SampleTokens:
    """Return a sample's tokens as text."""
    shard, manifest = _shard_with(lineage, shard_name, sample), lineage.manifest
    length, names = manifest.seq_len, lineage.token_bytes
    ids = _tokens(lineage, shard.bin_path, sample * length, length).tolist()
    texts = [names.of(token).decode("utf-8", "replace") for token in ids]
    spans = lineage.rows.where(shard.spans_path, "sample", [sample], ("doc_id", *SPAN))
    pieces: list[Piece] = []
    at = 0
    for span in sorted(spans, key=lambda span: int(span["offset"])):
        start, end = span["offset"], span["offset"] + span["length"]
        if start > at:
            pieces.append(Piece(None, at, texts[at:start]))
        doc_id = bytes(span["doc_id"]).hex()
        pieces.append(Piece(doc_id, start, texts[start:end]))
        at = end
    if at < length:
        pieces.append(Piece(None, at, texts[at:]))
    return SampleTokens(
        version=lineage.version.name,
        state=lineage.version.state,
        shard=shard.full_name,
        sample=sample,
        samples=shard.samples,
        pieces=pieces,
    )


def _shard_with(lineage: Lineage, name: str, sample: int) -> ShardRow:
    """Return a shard; refused where it has no such sample."""
    shard = lineage.shard(name)
    if not 0 <= sample < shard.samples:
        raise CatalogError(f"{shard.full_name} has samples 0 to {shard.samples - 1}, not {sample}")
    return shard


def _tokens(lineage: Lineage, path: str, start: int, count: int) -> "np.ndarray[Any, Any]":
    kind = numpy_type(lineage.manifest.dtype)
    with lineage.store.open(path) as handle:
        handle.seek(start * kind.itemsize)
        data = handle.read(count * kind.itemsize)
    if len(data) != count * kind.itemsize:
        raise LineageBroken(
            f"{path} ends before token {start + count}: run `catalog verify {lineage.version.name}`"
        )
    return np.frombuffer(data, kind)


def _origin(lineage: Lineage, snapshot: str, doc_id: bytes) -> tuple[Mapping[str, Any], set[int]]:
    """Return the record that was kept, of all with this id, and the parts that have any of them."""
    records = [row for row in records_of(lineage, doc_id) if row["snapshot"] == snapshot]
    parts = {row["part"] for row in records}
    kept = {
        (row["part"], row["offset"])
        for row in lineage.documents_in("decisions", [doc_id], snapshot, parts)
        if row["kept"]
    }
    found = [row for row in records if (row["part"], row["offset"]) in kept]
    if len(found) != 1:
        raise LineageBroken(
            f"document {doc_id.hex()} is in a shard and has {len(found)} kept records: "
            f"run `catalog verify {lineage.version.name}`"
        )
    return {name: found[0][name] for name in ORIGIN}, parts


def _text_place(
    lineage: Lineage,
    names: TokenBytes,
    snapshot: str,
    parts: set[int],
    doc_id: bytes,
    tokens: "np.ndarray[Any, Any]",
    position: int,
) -> tuple[dict[str, Any] | None, dict[str, Any] | None, str | None]:
    """Return where a token is in the final and in the extracted text, or why that is not known."""
    final = lineage.documents_in("final_text", [doc_id], snapshot, parts, ("text", "edits"))
    if len(final) != 1:
        raise LineageBroken(
            f"document {doc_id.hex()} has {len(final)} final texts: "
            f"run `catalog verify {lineage.version.name}`"
        )
    text = final[0]["text"]
    eod_id = lineage.manifest.tokenizer.eod_id
    places = text_places(tokens, names.markers, eod_id)
    spoken = tokens[places]
    if len(spoken) and spoken[-1] == eod_id:
        spoken = spoken[:-1]
    lengths, data = names.lengths_and_text(spoken.tolist())
    if data != text.encode("utf-8"):
        note = (
            "the document's tokens do not spell its final text byte by byte (the tokenizer "
            "rewrites text), so no character range can be given"
        )
        return None, None, note
    rank = int(np.flatnonzero(places == position)[0])
    first = sum(lengths[:rank])
    start, end = char_range(data, first, first + sum(lengths[rank : rank + 1]))
    edits = [(edit["start"], edit["end"], edit["new_length"]) for edit in final[0]["edits"] or ()]
    old_start, old_end = extracted_range(edits, start, end)
    part = [] if final[0]["part"] is None else [final[0]["part"]]
    extracted = lineage.documents_in("documents", [doc_id], snapshot, part, ("text",))
    inside = [
        edit.get("kind")
        for edit in final[0]["edits"] or ()
        if edit["start"] < old_end and old_start < edit["end"]
    ]
    before: dict[str, Any] = {"start": old_start, "end": old_end, "edits": inside}
    if extracted:
        before |= context(extracted[0]["text"], old_start, old_end)
    return {"start": start, "end": end} | context(text, start, end), before, None


def _short_cluster(lineage: Lineage, doc_id: bytes) -> ShortCluster | None:
    found = cluster(lineage, doc_id)
    if found is None:
        return None
    return ShortCluster(**{name: value for name, value in vars(found).items() if name != "members"})
