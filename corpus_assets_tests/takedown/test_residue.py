"""The search for what was taken out, in stored texts and in tokens."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.formats.token_order import MARKER_NAMES
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.store import LocalStore, Output, sha256_hex
from corpus_assets.ingest.document_names import make_text_id
from corpus_assets.lineage.text_digests import gram_digests
from corpus_assets.shards.fill_in_the_middle import encode_cut
from corpus_assets.shards.format import build_shard
from corpus_assets.shards.settings import END_OF_DOCUMENT, PAD, FillInTheMiddle, PackSettings
from corpus_assets.shards.tokens import Encoder
from corpus_assets.takedown.scan import (
    Findings,
    Part,
    Piece,
    Scanner,
    Shard,
    Sought,
    Spelling,
    look_through,
)
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer
from corpus_assets_tests.small_corpus import prose
from corpus_loader.manifest import FileRef, Group, Manifest, RecipeRef, ShardRef, TokenizerRef

REMOVED, OTHER = prose("removed"), prose("other")
CLOSE = REMOVED.replace("the", "a", 1)


def _table(store: LocalStore, path: str, texts: list[str]) -> str:
    ids = [bytes([number]) * 16 for number in range(len(texts))]
    table = pa.table({"doc_id": pa.array(ids, DOC_ID), "text": pa.array(texts, pa.large_string())})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    store.write(path, sink.getvalue().to_pybytes())
    return path


def _version(
    store: LocalStore, texts: list[str], specials: tuple[str, str], twins: bool = False
) -> Manifest:
    """One shard of the texts, with a tokenizer that names its special tokens in its own way; where
    they have our names, all texts are for filling in the middle."""
    slots = (END_OF_DOCUMENT, PAD, *MARKER_NAMES)
    settings = TokenizerSettings(vocab_size=400, special_slots=5, special_tokens=slots)
    tokenizer = train_tokenizer([REMOVED, OTHER], settings)
    for ours, theirs in zip((END_OF_DOCUMENT, PAD), specials, strict=True):
        tokenizer = tokenizer.replace(ours.encode(), theirs.encode())
    encoder = Encoder(tokenizer, eod_token=specials[0], pad_token=specials[1])
    is_cut = specials == (END_OF_DOCUMENT, PAD)
    ids = [bytes([number // 2 if twins else number]) * 16 for number in range(len(texts))]
    shard = build_shard(
        "S/web/all",
        0,
        ids,
        encode_cut(encoder, ids, texts, FillInTheMiddle(rate=1), seed=1)
        if is_cut
        else encoder.encode_batch(texts),
        seed=1,
        settings=PackSettings(seq_len=64),
        tokenizer=encoder.info,
    )
    store.write("tokenizer.json", tokenizer)
    files = {}
    for name, data in shard.files.items():
        store.write(f"shard/{name}", data)
        kind = name.split(".")[1]
        files[kind] = FileRef(path=f"shard/{name}", sha256=sha256_hex(data), bytes=len(data))
    header = shard.header
    counts = {"samples": header.samples, "tokens": header.tokens, "documents": header.documents}
    ref = ShardRef(name="shard_00000", **files, **counts)
    group = Group(id="S/web/all", snapshot="S", domain="web", tier="all", shards=(ref,), **counts)
    return Manifest(
        version="v",
        recipe=RecipeRef(name="r", digest="0"),
        lock_digest="0",
        seed=1,
        seq_len=64,
        tokenizer=TokenizerRef(
            path="tokenizer.json",
            sha256=encoder.sha256,
            vocab_size=encoder.vocab_size,
            eod_id=encoder.eod_id,
            pad_id=encoder.pad_id,
        ),
        block_samples=1,
        groups=(group,),
        phases=(),
    )


def _sought(removed: dict[str, str]) -> Sought:
    text_ids = {doc_id: make_text_id(text) for doc_id, text in removed.items()}
    return Sought(text_ids, dict(zip(removed, gram_digests(list(removed.values())), strict=True)))


def _search(
    store: LocalStore,
    removed: dict[str, str],
    tables: Sequence[str],
    manifest: Manifest | None,
    doc_ids: tuple[str, ...] | None = None,
) -> "_Counts":
    scanner = Scanner(_sought(removed))
    texts = tuple(Output(path, "", 0, 0) for path in tables)
    look_through(store, scanner, Piece("S", (Part(texts),)))
    if manifest is not None:
        shards = tuple(Shard.of(shard) for group in manifest.groups for shard in group.shards)
        look_through(store, scanner, Piece("S", (), shards, Spelling.of(manifest), doc_ids))
    found = Findings.from_json(json.loads(json.dumps(scanner.found.to_json())))
    assert found == scanner.found
    similar = sum(bool(seen.shares) for seen in found.seen.values())
    return _Counts(found.texts, found.unread, found.tokens, found.exact.total(), similar)


class _Counts(NamedTuple):
    texts: int
    unread: int
    tokens: int
    exact: int
    similar: int


def test_an_exact_copy_and_a_close_one_are_told_apart_in_stored_texts(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    path = _table(store, "texts.parquet", [OTHER, REMOVED, CLOSE])
    found = _search(store, {"aa": REMOVED}, [path], None)
    assert (found.texts, found.exact, found.similar) == (3, 1, 2)


@pytest.mark.parametrize("specials", [(END_OF_DOCUMENT, PAD), ("<|eot|>", "<|fill|>")])
def test_tokens_are_decoded_whatever_the_special_tokens_are_called(
    tmp_path: Path, specials: tuple[str, str]
) -> None:
    store = LocalStore(tmp_path)
    manifest = _version(store, [OTHER, REMOVED], specials)
    found = _search(store, {"aa": REMOVED}, (), manifest)
    assert (found.texts, found.exact) == (2, 1)
    assert found.tokens == manifest.groups[0].tokens


def test_nothing_is_found_where_nothing_is_left(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    path = _table(store, "texts.parquet", [OTHER])
    found = _search(store, {"aa": REMOVED}, [path], None)
    assert (found.exact, found.similar) == (0, 0)


def test_tokens_that_spell_a_scanned_text_count_where_it_was_close(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    path = _table(store, "texts.parquet", [OTHER, CLOSE])
    manifest = _version(store, [OTHER, CLOSE, REMOVED], (END_OF_DOCUMENT, PAD))
    found = _search(store, {"aa": REMOVED}, [path], manifest)
    assert (found.texts, found.exact, found.similar) == (5, 1, 2)


def test_two_documents_of_one_id_are_decoded_apart(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    manifest = _version(store, [REMOVED, REMOVED, OTHER], (END_OF_DOCUMENT, PAD), twins=True)
    found = _search(store, {"aa": REMOVED}, [], manifest)
    assert (found.texts, found.exact) == (3, 2)


def test_shards_are_decoded_where_a_document_in_them_is_asked_for(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    manifest = _version(store, [OTHER, REMOVED], (END_OF_DOCUMENT, PAD))
    there, elsewhere = (b"\1" * 16).hex(), (b"\7" * 16).hex()
    counted = [_search(store, {"aa": REMOVED}, (), manifest, (one,)) for one in (there, elsewhere)]
    assert [(c.texts, c.unread, c.exact) for c in counted] == [(2, 0, 1), (2, 2, 0)]
    assert counted[0].tokens == counted[1].tokens
