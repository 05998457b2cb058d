"""From one token of one shard back to its document, its text and its source file."""

# ruff: noqa: S608 - FROM parts are written by Lineage.scan alone; values are always bound

from typing import Any

import numpy as np

from catalog.errors import CatalogError, LineageBroken
from catalog.history import cluster
from catalog.lineage import Lineage
from catalog.manifest import load_manifest
from catalog.text import TokenBytes, char_range, context, extracted_range

TOKEN_BYTES = 4


def trace(lineage: Lineage, shard_name: str, sample: int, token: int) -> dict[str, Any]:
    """Trace the token at place `token` of sample `sample`.

    1. The span that covers it names the document, and its place in the document's tokens.
    2. The document's tokens, all in this shard, give bytes; their lengths add up to a byte
       range, and that is a range of whole characters of the final text.
    3. The edits recorded with the final text lead back to the extracted text.
    Costs one read of the document's tokens and look-ups by id; no scan of the shard.
    """
    shard = lineage.registry.version_shard(lineage.version.name, shard_name)
    manifest = load_manifest(lineage.store, lineage.version)
    if not 0 <= sample < shard.samples:
        raise CatalogError(f"{shard.full_name} has samples 0 to {shard.samples - 1}, not {sample}")
    if not 0 <= token < manifest.seq_len:
        raise CatalogError(f"a sample has tokens 0 to {manifest.seq_len - 1}, not {token}")
    place = {
        "version": lineage.version.name,
        "shard": shard.full_name,
        "sample": sample,
        "token": token,
    }
    scan = lineage.scan("spans", shard.snapshot, shards=[shard.full_name])
    covering = lineage.query(
        f'SELECT doc_id, "offset", doc_token_offset FROM {scan} '
        'WHERE sample = ? AND "offset" <= ? AND "offset" + length > ?',
        [sample, token, token],
    )
    at = sample * manifest.seq_len + token
    token_id = int(_tokens(lineage, shard.bin_path, at, 1)[0])
    if not covering:
        return place | {"token_id": token_id, "padding": True, "doc_id": None}
    if len(covering) > 1:
        raise LineageBroken(
            f"{len(covering)} documents claim token {token} of sample {sample} in "
            f"{shard.full_name}: run `catalog verify {lineage.version.name}`"
        )
    doc_id = bytes(covering[0]["doc_id"])
    position = covering[0]["doc_token_offset"] + token - covering[0]["offset"]
    pieces = lineage.query(
        f'SELECT sample, "offset", length FROM {scan} WHERE doc_id = ? ORDER BY doc_token_offset',
        [doc_id],
    )
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
    names = TokenBytes(
        lineage.store.read_verified(manifest.tokenizer_path, manifest.tokenizer_sha256).decode()
    )
    ends_document = position == len(tokens) - 1 and token_id == manifest.eod_id
    return (
        place
        | {
            "token_id": token_id,
            "padding": False,
            "token_text": names.of(token_id).decode("utf-8", "replace"),
            "ends_document": ends_document,
            "doc_id": doc_id.hex(),
            "doc_token": position,
            "doc_tokens": len(tokens),
        }
        | _origin(lineage, shard.snapshot, doc_id)
        | _text_place(lineage, names, shard.snapshot, doc_id, tokens, position, manifest.eod_id)
        | {"cluster": _short_cluster(lineage, doc_id)}
    )


def _tokens(lineage: Lineage, path: str, start: int, count: int) -> "np.ndarray[Any, Any]":
    with lineage.store.open(path) as handle:
        handle.seek(start * TOKEN_BYTES)
        data = handle.read(count * TOKEN_BYTES)
    if len(data) != count * TOKEN_BYTES:
        raise LineageBroken(
            f"{path} ends before token {start + count}: run `catalog verify {lineage.version.name}`"
        )
    return np.frombuffer(data, "<i4")


def _origin(lineage: Lineage, snapshot: str, doc_id: bytes) -> dict[str, Any]:
    """The record that was kept, of all with this id."""
    found = lineage.query(
        'SELECT r.source, r.snapshot, r.part, r.url, r.url_key, r.file, r."offset", r.length, '
        "r.fetched_at, r.licence "
        f"FROM {lineage.scan('documents', snapshot)} AS r "
        f'JOIN {lineage.scan("decisions", snapshot)} AS d USING (doc_id, part, "offset") '
        "WHERE r.doc_id = ? AND d.doc_id = ? AND d.kept",
        [doc_id, doc_id],
    )
    if len(found) != 1:
        raise LineageBroken(
            f"document {doc_id.hex()} is in a shard and has {len(found)} kept records: "
            f"run `catalog verify {lineage.version.name}`"
        )
    return {"record": found[0]}


def _text_place(
    lineage: Lineage,
    names: TokenBytes,
    snapshot: str,
    doc_id: bytes,
    tokens: "np.ndarray[Any, Any]",
    position: int,
    eod_id: int,
) -> dict[str, Any]:
    final = lineage.query(
        f"SELECT text, edits, part FROM {lineage.scan('final_text', snapshot)} WHERE doc_id = ?",
        [doc_id],
    )
    if len(final) != 1:
        raise LineageBroken(
            f"document {doc_id.hex()} has {len(final)} final texts: "
            f"run `catalog verify {lineage.version.name}`"
        )
    text = final[0]["text"]
    spoken = tokens[:-1] if len(tokens) and tokens[-1] == eod_id else tokens
    lengths, data = names.lengths_and_text(spoken.tolist())
    if data != text.encode("utf-8"):
        return {
            "final_text": None,
            "extracted_text": None,
            "note": "the document's tokens do not spell its final text byte by byte (the "
            "tokenizer rewrites text), so no character range can be given",
        }
    first = sum(lengths[:position])
    start, end = char_range(data, first, first + sum(lengths[position : position + 1]))
    edits = [(edit["start"], edit["end"], edit["new_length"]) for edit in final[0]["edits"] or ()]
    old_start, old_end = extracted_range(edits, start, end)
    extracted = lineage.query(
        f"SELECT text FROM {lineage.scan('texts', snapshot, [final[0]['part']])} "
        "WHERE doc_id = ? LIMIT 1",
        [doc_id],
    )
    before: dict[str, Any] = {"start": old_start, "end": old_end}
    if extracted:
        before |= context(extracted[0]["text"], old_start, old_end)
    return {
        "final_text": {"start": start, "end": end} | context(text, start, end),
        "extracted_text": before,
        "note": None,
    }


def _short_cluster(lineage: Lineage, doc_id: bytes) -> dict[str, Any] | None:
    found = cluster(lineage, doc_id)
    return None if found is None else {k: v for k, v in found.items() if k != "members"}
