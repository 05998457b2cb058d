"""Every file of a home is searched, whatever it is called and however it is packed."""

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import zipfile
from collections.abc import Callable, Collection
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from corpus_assets.ingest.document_names import make_text_id
from corpus_assets.lineage.text_digests import DigestIndex, gram_digests
from corpus_assets.shards.tokens import Encoder
from corpus_assets.takedown.contents import CHUNK, OVERLAP
from corpus_assets.takedown.home_search import HomeSearch
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer
from corpus_assets_tests.ingest.warc_bytes import response
from corpus_assets_tests.small_corpus import html, prose

REMOVED, OTHER = prose("removed"), prose("other")


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    settings = TokenizerSettings(vocab_size=400, special_slots=2)
    return Encoder(train_tokenizer([REMOVED, OTHER], settings))


def _search(
    folder: Path,
    encoder: Encoder | None = None,
    text: str = REMOVED,
    recorded: Collection[str] = (),
    registries: Collection[str] = (),
) -> HomeSearch:
    index = DigestIndex({"aa": gram_digests([text])[0]}, 0.3)
    search = HomeSearch({"aa": make_text_id(text)}, index, [encoder] if encoder else [])
    search.note_recorded(recorded)
    search.note_registries(registries)
    search.folder(folder, folder)
    return search


def _holding(search: HomeSearch) -> dict[str, int]:
    return {held.file: held.share_percent for held in search.holders_of({"aa"})}


def _parquet(text: str) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"a": [1, 2], "nested": [[{"x": OTHER}], [{"x": text}]]})
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def _arrow(text: str) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"t": pa.array([OTHER, text]).dictionary_encode()})
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _numpy(text: str) -> bytes:
    sink = io.BytesIO()
    np.save(sink, np.array([OTHER, text]))
    return sink.getvalue()


def _zip(text: str) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("inner.txt.gz", gzip.compress(text.encode()))
    return sink.getvalue()


PACKED: dict[str, Callable[[str], bytes]] = {
    ".documents.parquet.0a1b.tmp": _parquet,
    "strange": _arrow,
    "words.npy": _numpy,
    "copy.zip": _zip,
    "plain.log": lambda text: f"note: {text}".encode(),
    "events.jsonl": lambda text: json.dumps({"n": 1, "quoted": f"ä {text}"}).encode(),
    "crawl.warc.gz": lambda text: gzip.compress(response("http://a.example/", html(text))),
    "two.gz": lambda text: gzip.compress(b"first") + gzip.compress(text.encode()),
    "a.zst": lambda text: zstandard.compress(b"x") + zstandard.compress(text.encode()),
    "a.bz2": lambda text: bz2.compress(text.encode()),
    "a.xz": lambda text: lzma.compress(text.encode()),
    "packed.json.gz": lambda text: gzip.compress(json.dumps([text]).encode()),
    "late": lambda text: b"\n" * (CHUNK - 300) + text.encode(),
}


@pytest.mark.parametrize("name", PACKED)
def test_a_text_is_found_however_it_is_packed(tmp_path: Path, name: str) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / name).write_bytes(PACKED[name](REMOVED))
    (tmp_path / name).write_bytes(PACKED[name](OTHER))
    search = _search(tmp_path)
    assert search.not_searched == []
    assert search.files == 2
    held = _holding(search)
    assert set(held) == {f"there/{name}"}
    assert held[f"there/{name}"] > 80


@pytest.mark.parametrize("dtype", ["<i4", "<u2"])
def test_tokens_are_spelled_with_the_tokenizers_of_live_versions(
    tmp_path: Path, encoder: Encoder, dtype: str
) -> None:
    (tokens,) = encoder.encode_batch([REMOVED])
    data = np.asarray(tokens, dtype).tobytes()
    (tmp_path / "shard_00000.bin").write_bytes(data)
    (tmp_path / "shard.00000.mds").write_bytes(b"\x07" + data)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"input_ids": [list(map(int, tokens))]}), sink)
    (tmp_path / "train.parquet").write_bytes(sink.getvalue().to_pybytes())
    held = _holding(_search(tmp_path, encoder))
    assert set(held) == {"shard_00000.bin", "shard.00000.mds", "train.parquet"}


def test_passages_of_many_documents_do_not_add_up_in_a_file_between_stages(
    tmp_path: Path, encoder: Encoder
) -> None:
    words = REMOVED.split()
    quoting = [f"{OTHER} {' '.join(words[n : n + 30])} {OTHER}" for n in range(0, len(words), 30)]
    for folder, texts in {"quoting": quoting, "whole": [OTHER, REMOVED]}.items():
        tokens = [list(map(int, one)) for one in encoder.encode_batch(texts)]
        pack = io.BytesIO()
        with zipfile.ZipFile(pack, "w") as members:
            for name, column in {"tokens": tokens, "texts": texts}.items():
                sink = pa.BufferOutputStream()
                pq.write_table(pa.table({name: column}), sink)
                members.writestr(f"{name}.parquet", sink.getvalue().to_pybytes())
        for name in ("tokens.zip", "other.zip"):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / name).write_bytes(pack.getvalue())
    recorded = ["quoting/tokens.zip", "whole/tokens.zip"]
    held = _holding(_search(tmp_path, encoder, recorded=recorded))
    assert set(held) == {"whole/tokens.zip", "whole/other.zip", "quoting/other.zip"}
    assert held["whole/tokens.zip"] == 100


@pytest.mark.parametrize("before", [0, OVERLAP - 300, 3 * OVERLAP + 5])
@pytest.mark.parametrize(
    "spelled",
    [lambda text: text.encode("cp1252"), lambda text: json.dumps(text).encode()],
    ids=["cp1252", "escaped"],
)
def test_a_passage_that_reads_otherwise_than_all_around_it_is_found_whole(
    tmp_path: Path, before: int, spelled: Callable[[str], bytes]
) -> None:
    text = " ".join(word if n % 9 else f"caf\xe9{n}" for n, word in enumerate(REMOVED.split()))
    around = "\u3042 and \xe4 ".encode()
    filler = around * (before // len(around)) + b"." * (before % len(around))
    (tmp_path / "mixed").write_bytes(filler + b" " + spelled(text) + b" " + around * 9000)
    assert _holding(_search(tmp_path, text=text)) == {"mixed": 100}


def test_bytes_of_any_row_are_searched(tmp_path: Path) -> None:
    rows = [OTHER.encode(), b"\xff\x00", REMOVED.encode(), b""] + [b"\x01" * 40] * 300
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"payload": pa.array(rows, pa.binary())}), sink)
    (tmp_path / "x.parquet").write_bytes(sink.getvalue().to_pybytes())
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute("CREATE TABLE events (body BLOB, note TEXT)")
        database.executemany("INSERT INTO events VALUES (?, ?)", [(r, "n") for r in rows[::-1]])
    database.close()
    assert _holding(_search(tmp_path)) == {"x.parquet": 100, "x.db": 100}


@pytest.mark.parametrize("registries", [(), ("notes.db",)], ids=["of others", "of the program"])
def test_rows_that_were_deleted_are_found_in_a_databases_free_pages(
    tmp_path: Path, registries: tuple[str, ...]
) -> None:
    with sqlite3.connect(tmp_path / "notes.db") as database:
        database.execute("CREATE TABLE notes (body TEXT)")
        database.execute("INSERT INTO notes VALUES (?)", [REMOVED])
    database.close()
    assert set(_holding(_search(tmp_path, registries=registries))) == {"notes.db"}
    with sqlite3.connect(tmp_path / "notes.db") as database:
        database.execute("PRAGMA secure_delete = OFF")
        database.execute("DELETE FROM notes")
    database.close()
    assert set(_holding(_search(tmp_path, registries=registries))) == {"notes.db"}
    with sqlite3.connect(tmp_path / "notes.db", isolation_level=None) as database:
        database.execute("PRAGMA secure_delete = ON")
        database.execute("VACUUM")
    database.close()
    assert _holding(_search(tmp_path, registries=registries)) == {}


def test_a_text_too_short_for_digests_is_found_as_a_value(tmp_path: Path) -> None:
    short = "A note of Mary Quillfeather, who lives at the mill."
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": [OTHER, short]}), sink)
    (tmp_path / "x.parquet").write_bytes(sink.getvalue().to_pybytes())
    assert _holding(_search(tmp_path, text=short)) == {"x.parquet": 100}


def test_what_cannot_be_decoded_is_named_and_searched_as_it_lies(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(OTHER.encode())[:-20])
    (tmp_path / "cut.zst").write_bytes(zstandard.compress(OTHER.encode())[:40] + b"\xff" * 99)
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1" + REMOVED.encode())
    search = _search(tmp_path)
    assert dict(search.not_searched).keys() == {"cut.gz", "cut.zst", "damaged.parquet"}
    assert set(_holding(search)) == {"damaged.parquet"}


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text(REMOVED)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "link").symlink_to(tmp_path / "outside")
    search = _search(tmp_path / "home")
    assert search.files == 0


def test_a_file_that_a_calibration_was_trained_on_is_the_operators_original(tmp_path: Path) -> None:
    training = json.dumps({"text": REMOVED}).encode()
    (tmp_path / "positives.jsonl").write_bytes(training)
    (tmp_path / "copy.txt").write_text(REMOVED)
    index = DigestIndex({"aa": gram_digests([REMOVED])[0]}, 0.3)
    search = HomeSearch({"aa": make_text_id(REMOVED)}, index)
    search.inputs = {sha256(training).hexdigest()}
    search.folder(tmp_path, tmp_path)
    found = {held.file: held.is_source for held in search.holders_of({"aa"})}
    assert found == {"positives.jsonl": True, "copy.txt": False}
