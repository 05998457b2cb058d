"""What a file holds is found however it is encoded, packed and called, and no file raises."""

import base64
import bz2
import gzip
import io
import json
import lzma
import random
import sqlite3
import struct
import tarfile
import textwrap
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brotli
import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
import zstandard

from corpus_assets.ingest.document_names import make_text_id
from corpus_assets.lineage.text_digests import DigestIndex, gram_digests
from corpus_assets.shards.tokens import Encoder
from corpus_assets.takedown import contents
from corpus_assets.takedown.contents import CHUNK, MAX_DEPTH, UNKNOWN
from corpus_assets.takedown.home_search import HomeSearch
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer
from corpus_assets_tests.small_corpus import GERMAN, prose

REMOVED, OTHER = prose("removed"), prose("other")
CYRILLIC = (
    "Старый смотритель маяка каждый вечер записывал в толстую книгу имена кораблей, а когда "
    "приходил туман, звонил в колокол, пока рыбаки не находили дорогу домой. Его дочь считала "
    "чаек на крыше и расспрашивала его о далёких странах, о которых матросы любили рассказывать. "
)
KANJI = (
    "灯台の番人は毎晩、分厚い帳面に船の名前を書き留め、霧が出ると漁師たちが家路を見つけるまで鐘を"
    "鳴らし続けた。娘はその間、屋根の上の鴎を数え、水夫たちが酒場で語る遠い国々のことを父に尋ねた。"
)
TEXTS = {"english": REMOVED, "german": GERMAN * 2, "cyrillic": CYRILLIC, "kanji": KANJI}

Encode = Callable[[str], bytes]
Pack = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    settings = TokenizerSettings(vocab_size=400, special_slots=2)
    return Encoder(train_tokenizer([REMOVED, OTHER], settings))


def _search(folder: Path, text: str = REMOVED, encoder: Encoder | None = None) -> HomeSearch:
    index = DigestIndex({"aa": gram_digests([text])[0]}, 0.3)
    search = HomeSearch({"aa": make_text_id(text)}, index, [encoder] if encoder else [])
    search.folder(folder, folder)
    return search


def _holding(search: HomeSearch) -> dict[str, int]:
    return {held.file: held.share_percent for held in search.holders_of({"aa"})}


def _junk(draw: random.Random, size: int) -> bytes:
    return draw.randbytes(size)


# Characters of more than one byte.

WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


@pytest.mark.parametrize("encoding", [*WIDE, "utf-16", "utf-32"])
@pytest.mark.parametrize("name", TEXTS)
def test_text_of_wide_characters_is_found_wherever_it_begins(
    tmp_path: Path, name: str, encoding: str
) -> None:
    draw, text = random.Random(f"{name}{encoding}"), TEXTS[name]
    (tmp_path / "whole").write_bytes(text.encode(encoding))
    (tmp_path / "other").write_bytes(OTHER.encode(encoding))
    if encoding in WIDE:
        data = _junk(draw, draw.randrange(4000)) + text.encode(encoding) + _junk(draw, 999)
        (tmp_path / "among.bin").write_bytes(data)
        log = f"{OTHER}\n".encode() * 40
        (tmp_path / "log.txt").write_bytes(log + text.encode(encoding) + log)
    held = _holding(_search(tmp_path, text))
    assert set(held) == {path.name for path in tmp_path.iterdir()} - {"other"}
    assert min(held.values()) > 80


# Streams and archives.


def _snappy_frames(data: bytes) -> bytes:
    half = len(data) // 2
    packed = pa.compress(data[:half], codec="snappy", asbytes=True)
    frames = b"\xff\x06\x00\x00sNaPpY"
    for kind, piece in ((b"\0", packed), (b"\x01", data[half:])):
        frames += kind + struct.pack("<I", len(piece) + 4)[:3] + b"crc!" + piece
    return frames


def _zip(data: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("first.txt", "nothing here")
        members.writestr("inner", data)
    return sink.getvalue()


def _tar(data: bytes) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as members:
        info = tarfile.TarInfo("inner")
        info.size = len(data)
        members.addfile(info, io.BytesIO(data))
    return sink.getvalue()


def _stream(codec: str) -> Pack:
    def pack(data: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as packed:
            packed.write(data)
        return bytes(sink.getvalue().to_pybytes())

    return pack


PACKS: dict[str, Pack] = {
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    "zstd": zstandard.compress,
    "lz4": _stream("lz4"),
    "brotli": brotli.compress,
    "snappy frames": _snappy_frames,
    "snappy": lambda data: bytes(pa.compress(data, codec="snappy", asbytes=True)),
    "lz4 block": lambda data: (
        struct.pack("<I", len(data)) + bytes(pa.compress(data, codec="lz4_raw", asbytes=True))
    ),
    "zip": _zip,
    "tar": _tar,
    "base64": base64.b64encode,
    "base64 for URLs": lambda data: base64.urlsafe_b64encode(data).rstrip(b"="),
    "base64 in lines": lambda data: b"Content: \r\n" + base64.encodebytes(data),
    "base64 in JSON": lambda data: json.dumps(
        {"n": 1, "data": base64.encodebytes(data).decode(), "after": OTHER}
    ).encode(),
    "hex": lambda data: data.hex().encode(),
    "SQLite": lambda data: _database(data),
}


def _database(data: bytes) -> bytes:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE kept (n INTEGER, body BLOB)")
        database.execute("INSERT INTO kept VALUES (1, ?)", [data])
    found = database.serialize()
    database.close()
    return found


@pytest.mark.parametrize("name", PACKS)
def test_a_text_is_found_in_whatever_it_is_packed_and_packed_again(
    tmp_path: Path, name: str
) -> None:
    draw = random.Random(name)
    names = [name, *draw.sample(sorted(PACKS), 3)]
    for number, second in enumerate(names):
        for text, place in ((REMOVED, "there"), (OTHER, "here")):
            (tmp_path / place).mkdir(exist_ok=True)
            data = PACKS[name](text.encode())
            data = PACKS[second](data) if number else data
            (tmp_path / place / f"{second.replace(' ', '')}{number}").write_bytes(data)
    search = _search(tmp_path)
    assert search.not_searched == []
    held = _holding(search)
    assert set(held) == {path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("there/*")}
    assert min(held.values()) > 80


# Token ids.


def _npy(array: Any) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array)
    return sink.getvalue()


def _npz(array: Any) -> bytes:
    sink = io.BytesIO()
    np.savez_compressed(sink, weights=np.zeros(9, np.float32), ids=array)
    return sink.getvalue()


def _parquet(column: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": column}), sink)
    return bytes(sink.getvalue().to_pybytes())


def _ipc(column: Any, is_stream: bool, codec: str | None) -> bytes:
    sink, table = pa.BufferOutputStream(), pa.table({"x": column})
    options = pa.ipc.IpcWriteOptions(compression=codec)
    make = pa.ipc.new_stream if is_stream else pa.ipc.new_file
    with make(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _orc(column: Any) -> bytes:
    sink = io.BytesIO()
    orc.write_table(pa.table({"x": column}), sink)
    return sink.getvalue()


def _in_rows(ids: Any) -> bytes:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE ids (place INTEGER, token INTEGER)")
        database.executemany("INSERT INTO ids VALUES (?, ?)", enumerate(map(int, ids)))
    found = database.serialize()
    database.close()
    return found


def _samples(ids: Any, size: int = 48) -> Any:
    whole = np.concatenate([ids, np.zeros(-len(ids) % size, ids.dtype)])
    return whole.reshape(-1, size)


TOKENS: dict[str, Callable[[Any], bytes]] = {
    "a.npy": lambda ids: _npy(ids.astype("<u2")),
    "b.npy": lambda ids: _npy(_samples(ids).astype(">i8")),
    "c.npy": lambda ids: _npy(np.asfortranarray(_samples(ids))),
    "d.npz": _npz,
    "e.u16": lambda ids: ids.astype("<u2").tobytes(),
    "f": lambda ids: ids.astype("<u4").tobytes(),
    "g.dat": lambda ids: b"\x07" + ids.astype("<i4").tobytes(),
    "h.bin": lambda ids: b"HEADER.." + ids.astype(">u2").tobytes(),
    "i.idx": lambda ids: ids.astype("<i8").tobytes(),
    "j.json": lambda ids: json.dumps({"ids": ids.tolist()}).encode(),
    "k.jsonl": lambda ids: json.dumps([row.tolist() for row in _samples(ids)], indent=1).encode(),
    "l.csv": lambda ids: "\n".join(map(str, ids.tolist())).encode(),
    "tokens.xz": lambda ids: lzma.compress(ids.astype("<u2").tobytes()),
    "m.zst": lambda ids: zstandard.compress(_npy(ids.astype("<u4"))),
    "n.gz": lambda ids: gzip.compress(json.dumps(ids.tolist()).encode()),
    "o.parquet": lambda ids: _parquet(pa.array([ids.tolist()], pa.large_list(pa.int64()))),
    "p.parquet": lambda ids: _parquet(
        pa.FixedSizeListArray.from_arrays(pa.array(_samples(ids).ravel()), 48)
    ),
    "q.parquet": lambda ids: _parquet(pa.array([[[1, 2], ids.tolist()]])),
    "r.parquet": lambda ids: _parquet(pa.array(ids.tolist(), pa.uint16())),
    "s.parquet": lambda ids: _parquet(
        pa.array([[("ids", ids.tolist())]], pa.map_(pa.string(), pa.list_(pa.int32())))
    ),
    "t.parquet": lambda ids: _parquet(pa.array([ids.astype("<u2").tobytes()])),
    "u.db": _in_rows,
    "v.txt": lambda ids: b"ids: " + base64.b64encode(ids.astype("<u2").tobytes()),
}


@pytest.mark.parametrize("name", TOKENS)
def test_numbers_are_tried_as_token_ids_whatever_they_are_called(
    tmp_path: Path, encoder: Encoder, name: str
) -> None:
    for text, place in ((REMOVED, "there"), (OTHER, "here")):
        (tmp_path / place).mkdir()
        (ids,) = encoder.encode_batch([text])
        (tmp_path / place / name).write_bytes(TOKENS[name](np.asarray(ids, np.int64)))
    search = _search(tmp_path, encoder=encoder)
    assert search.not_searched == []
    held = _holding(search)
    assert set(held) == {f"there/{name}"}
    assert held[f"there/{name}"] > 60


def test_tokens_and_texts_are_found_at_any_place_of_a_long_file(
    tmp_path: Path, encoder: Encoder
) -> None:
    draw = random.Random(4)
    (ids,) = encoder.encode_batch([REMOVED])
    pieces = {
        "tokens": np.asarray(ids, "<u2").tobytes(),
        "wide": REMOVED.encode("utf-16-le"),
        "digits": b" [" + ",".join(map(str, ids)).encode() + b"] ",
        "packed": b" " + base64.b64encode(gzip.compress(REMOVED.encode())) + b" ",
    }
    for name, piece in pieces.items():
        at = CHUNK - draw.randrange(len(piece))  # across the end of a chunk
        (tmp_path / name).write_bytes(b"." * at + piece + b"." * 5000)
    held = _holding(_search(tmp_path, encoder=encoder))
    assert set(held) == set(pieces)
    assert min(held.values()) > 80


# Columns of tables.

COLUMNS: dict[str, Callable[[str], Any]] = {
    "map": lambda t: pa.array([[("a", OTHER), ("b", t)]], pa.map_(pa.string(), pa.string())),
    "keys": lambda t: pa.array([[(t, 1)]], pa.map_(pa.string(), pa.int64())),
    "fixed": lambda t: pa.array([[OTHER, t]], pa.list_(pa.string(), 2)),
    "nested": lambda t: pa.array([[[{"x": {"y": t}}]]]),
    "bytes": lambda t: pa.array([t.encode("utf-16-be")]),
    "gzip": lambda t: pa.array([b"x", gzip.compress(t.encode())]),
    "base64": lambda t: pa.array([base64.b64encode(t.encode()).decode()]),
    "fixed bytes": lambda t: pa.array([t.encode()], pa.binary(len(t.encode()))),
}
VIEWS: dict[str, Callable[[str], Any]] = {
    "view": lambda t: pa.array([t], pa.string_view()),
    "list view": lambda t: pa.array([[t]], pa.list_view(pa.string())),
    "runs": lambda t: pa.RunEndEncodedArray.from_arrays(pa.array([3]), pa.array([t])),
    "union": lambda t: pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([t]), pa.array([1])]
    ),
}


@pytest.mark.parametrize("name", [*COLUMNS, *VIEWS])
def test_a_text_is_found_in_columns_of_every_kind(tmp_path: Path, name: str) -> None:
    make = (COLUMNS | VIEWS)[name]
    for text, place in ((REMOVED, "there"), (OTHER, "here")):
        (tmp_path / place).mkdir()
        files = {
            "file": _ipc(make(text), False, "lz4" if name in COLUMNS else None),
            "stream": _ipc(make(text), True, "zstd" if name in COLUMNS else None),
        }
        if name in COLUMNS:
            files |= {"table": _parquet(make(text)), "packed.gz": gzip.compress(files["stream"])}
        if name in ("nested", "map"):
            files["table.orc"] = _orc(make(text))
        for file, data in files.items():
            (tmp_path / place / file).write_bytes(data)
    search = _search(tmp_path)
    assert search.not_searched == []
    wanted = {path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("there/*")}
    assert set(_holding(search)) == wanted


# What cannot be read.


def test_a_damaged_array_and_a_bomb_are_named_and_everything_else_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MIN_UNPACKED_BYTES", 4 << 20)
    header = b"\x93NUMPY\x01\x00"
    body = b"{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999,), }\n"
    (tmp_path / "huge.npy").write_bytes(header + struct.pack("<H", len(body)) + body + b"\1" * 80)
    (tmp_path / "objects.npy").write_bytes(_npy(np.array([{"a": REMOVED}], dtype=object)))
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(gzip.compress(bytes(64 << 20))))
    (tmp_path / "bomb.zip").write_bytes(_zip(bytes(64 << 20)))
    deep = b"deep"
    for _ in range(MAX_DEPTH + 3):
        deep = gzip.compress(deep)
    (tmp_path / "deep.gz").write_bytes(deep)
    (tmp_path / "cut.br").write_bytes(brotli.compress(random.Random(1).randbytes(4000))[:3000])
    (tmp_path / "cut.xz").write_bytes(lzma.compress(OTHER.encode())[:-9])
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + random.Random(2).randbytes(3000))
    (tmp_path / "noise").write_bytes(random.Random(3).randbytes(3000))
    (tmp_path / "found.txt").write_text(REMOVED)
    search = _search(tmp_path)
    unread = dict(search.not_searched)
    assert set(_holding(search)) == {"found.txt", "objects.npy"}
    assert unread.keys() == {path.name for path in tmp_path.iterdir()} - {"found.txt", "huge.npy"}
    assert unread["bomb.gz"].startswith("unpacks to more than")
    assert unread["bomb.zip"].startswith("inner: unpacks to more than")
    assert unread["deep.gz"] == f"packed more than {MAX_DEPTH} times"
    assert unread["picture.png"] == "a PNG image"
    assert unread["noise"] == UNKNOWN


def test_a_damaged_member_is_named_and_the_others_are_searched(tmp_path: Path) -> None:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as members:
        members.writestr("bad.gz", gzip.compress(OTHER.encode())[:-12])
        members.writestr("good.txt", REMOVED)
    (tmp_path / "a.zip").write_bytes(sink.getvalue())
    search = _search(tmp_path)
    assert search.not_searched == [("a.zip", "bad.gz: damaged: cannot be decoded to its end")]
    assert set(_holding(search)) == {"a.zip"}


PLAIN = {
    "prose.txt": OTHER,
    "latin.txt": "caf\xe9 und Stra\xdfe, \xfcber alle Ma\xdfen.\n" * 20,
    "orchid.txt": "ORCHIDS grow slowly, and x^2 is no bomb.\n" * 20,
    "x.txt": "x^ marks the place where nothing is packed.\n" * 20,
    "numbers.csv": "\n".join(f"{n},{n * 7919}" for n in range(400)),
    "lines.txt": "\n".join("word" * 12 for _ in range(40)),
}


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_plain_text_is_never_called_unread(tmp_path: Path, encoder: Encoder, encoding: str) -> None:
    for name, text in PLAIN.items():
        (tmp_path / name).write_bytes(text.encode(encoding))
    search = _search(tmp_path, encoder=encoder)
    assert search.not_searched == []
    assert _holding(search) == {}


HEADS = (*contents.CLOSED, *contents._CONTAINERS, *contents.RAW, *contents.MARKS, contents.SNAPPY,
         b"\x1f\x8b", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd",
         b"\x04\x22\x4d\x18", b"\x78\x9c", b"\x5d\0\0\x80", b"{", b"[1, 2", b"")  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_no_bytes_under_any_name_raise(tmp_path: Path, encoder: Encoder) -> None:
    draw = random.Random(7)
    whole = [pack(REMOVED.encode()) for pack in PACKS.values()]
    whole += [make(np.arange(300) % 400) for make in TOKENS.values()]
    whole += [_ipc(pa.array([[REMOVED]]), True, "lz4"), _parquet(pa.array([{"a": REMOVED}]))]
    for number in range(400):
        kind = number % 3
        if kind == 0:
            data = draw.choice(HEADS) + draw.randbytes(draw.randrange(3000))
        else:
            data = draw.choice(whole)
            at = draw.randrange(len(data))
            noise = draw.randbytes(draw.randrange(1, 9))
            data = data[:at] if kind == 1 else data[:at] + noise + data[at + len(noise) :]
        ending = draw.choice(
            (".npy", ".npz", ".gz", ".br", ".bin", ".parquet", ".json", "", ".\xe9")
        )
        (tmp_path / f"{number}{ending}").write_bytes(data)
    assert _search(tmp_path, encoder=encoder).files == 400


def test_pipes_sockets_and_vanished_files_are_passed_over(tmp_path: Path) -> None:
    import os
    import socket

    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        search = _search(tmp_path)
        search.path(tmp_path / "vanished", tmp_path)
    assert (search.files, search.not_searched) == (0, [])


def test_wrapped_lines_do_not_hide_what_they_pack(tmp_path: Path) -> None:
    packed = base64.b64encode(zlib.compress(REMOVED.encode())).decode()
    (tmp_path / "mail").write_text("\n".join(textwrap.wrap(packed, 64)))
    assert set(_holding(_search(tmp_path))) == {"mail"}
