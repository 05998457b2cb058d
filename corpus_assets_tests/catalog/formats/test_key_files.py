"""Key files: what is written is found again, by any way of reading, and damage is noticed."""

import random
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pytest

from catalog.errors import StoreFileError
from catalog.formats.key_files import (
    HOSTS,
    SPAN_IDS,
    encode_hashes,
    encode_hosts,
    id_key,
    id_keys,
    parse_header,
    surt_hosts,
    url_hash,
    url_hashes,
)
from catalog.formats.store import FileStore
from catalog.formats.urls import host_key, url_key
from catalog.lineage.rows import KeyFile, domain_ranges, prefix_ranges

MOST = (1 << 64) - 1


def opened(folder: Path, data: bytes, remote: bool = False) -> KeyFile:
    (folder / "x.keys").write_bytes(data)
    if not remote:
        return KeyFile(FileStore(folder), "x.keys")
    memory = fsspec.filesystem("memory")
    memory.pipe(f"{folder}/x.keys", data)
    return KeyFile(FileStore(f"memory:/{folder}"), "x.keys")


def hashes(keys: list[int], rows: int | None = None) -> bytes:
    units = [(0, len(keys) if rows is None else rows)]
    return encode_hashes(SPAN_IDS, units, np.array(keys, np.uint64), np.arange(len(keys)))


def lists(found: tuple[Any, Any]) -> list[tuple[int, int]]:
    return list(zip(found[0].tolist(), found[1].tolist(), strict=True))


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("size", [0, 1, 2, 255, 256, 257, 5000, 40_000])
def test_every_range_of_keys_gives_its_places(tmp_path: Path, size: int, remote: bool) -> None:
    chance = random.Random(size)
    keys = [chance.getrandbits(64) >> chance.choice((0, 0, 0, 40)) for _ in range(size)]
    keys += keys[: size // 10] + [0, MOST] * (size > 2)
    by_key = sorted((key, place) for place, key in enumerate(keys))
    file = opened(tmp_path, hashes(keys), remote)
    for _ in range(40):
        low = chance.choice([*keys[:50], chance.getrandbits(64)])
        high = chance.choice([low, low, min(MOST, low + (1 << 50)), MOST])
        assert lists(file.places(low, high)) == [e for e in by_key if low <= e[0] <= high]
    assert lists(file.places(0, MOST)) == by_key


def test_keys_that_are_all_the_same_are_all_found(tmp_path: Path) -> None:
    file = opened(tmp_path, hashes([7] * 3000))
    assert lists(file.places(7, 7)) == [(7, place) for place in range(3000)]
    assert lists(file.places(6, 6)) == lists(file.places(8, MOST)) == []


def test_places_beyond_32_bits_are_kept(tmp_path: Path) -> None:
    far = np.array([1 << 33], np.int64)
    data = encode_hashes(SPAN_IDS, [(0, 1 << 34)], np.array([5], np.uint64), far)
    assert lists(opened(tmp_path, data).places(5, 5)) == [(5, 1 << 33)]


def test_keys_of_columns_are_those_of_their_values() -> None:
    chance = random.Random(3)
    ids = [chance.randbytes(16) for _ in range(70)]
    column = pa.chunked_array(
        [pa.array(ids[:30], pa.binary(16)), pa.array(ids[30:], pa.binary(16))]
    )
    assert id_keys(column).tolist() == [id_key(one) for one in ids]
    assert id_keys(column.slice(7, 40)).tolist() == [id_key(one) for one in ids[7:47]]
    assert id_keys(column.slice(0, 0)).tolist() == []
    assert sorted(ids) == sorted(ids, key=lambda one: (id_key(one), one))
    urls = ["com,example)/", "", "de,größe)/ß", "books:a)b"]
    assert url_hashes(pa.chunked_array([urls])).tolist() == [url_hash(url) for url in urls]


HOST_NAMES = [
    "http://example.com/",
    "http://www.example.com/a",
    "http://sub.example.com/",
    "http://a.sub.example.com/",
    "http://example.com:8080/",
    "http://sub.example.com:81/x",
    "http://example-two.com/",
    "http://example.co/",
    "http://example.community/",
    "http://example2.com/",
    "http://com/",
    "http://192.168.0.1/",
    "http://192.168.0.12:99/",
    "http://[2001:db8::1]/",
    "http://xn--bcher-kva.com/",
]


@pytest.mark.parametrize("remote", [False, True])
def test_a_domain_is_its_host_its_ports_and_its_subdomains(tmp_path: Path, remote: bool) -> None:
    table = pa.table(
        {
            "url_key": [url_key(url) for url in HOST_NAMES] + ["books:com,example)/x", "com:1"],
            "host": pa.array(["h"] * len(HOST_NAMES) + [None, None], pa.string()),
        }
    )
    hosts = surt_hosts(table)
    places = np.flatnonzero(hosts.is_valid().to_numpy(zero_copy_only=False))
    units = [(0, table.num_rows)]
    file = opened(tmp_path, encode_hosts(units, hosts.drop_null(), places), remote)
    for asked in ("example.com", "com", "sub.example.com", "192.168.0.1", "example", "zz.com"):
        key = host_key(asked)
        expected = {
            number
            for number, url in enumerate(HOST_NAMES)
            if url_key(url).startswith((f"{key})", f"{key}:", f"{key},"))
        }
        found = [n for p in file.host_places(domain_ranges(key)) for n in p.tolist()]
        assert sorted(found) == sorted(expected), asked
    for prefix in ("com,exam", "com,example)/", "com,example)/a", "", "com,example:"):
        expected = {n for n, url in enumerate(HOST_NAMES) if url_key(url).startswith(prefix)}
        found = [n for p in file.host_places(prefix_ranges(prefix)) for n in p.tolist()]
        assert set(found) >= expected, prefix


def test_the_header_says_what_is_in_the_file() -> None:
    units = [("S/web/high/shard_00000", 3), ("S/web/high/shard_00001", 0)]
    data = encode_hashes(SPAN_IDS, units, np.array([3, 1, 2], np.uint64), np.arange(3), [4, 0])
    header = parse_header(data, "x")
    assert (header.kind, header.units, header.derived) == (SPAN_IDS, tuple(units), (4, 0))
    assert header.entries == 3
    assert header.size == len(data)
    assert all(at % 64 == 0 for _, at, _ in header.arrays.values())


@pytest.mark.parametrize("wrong", [b"", b"PAR1", b"CORPKEYS" + bytes(8), b"x" * 500])
def test_what_is_no_key_file_is_refused(tmp_path: Path, wrong: bytes) -> None:
    with pytest.raises(StoreFileError, match="not a key file"):
        opened(tmp_path, wrong)


def test_a_file_cut_short_is_refused(tmp_path: Path) -> None:
    short = hashes(list(range(40_000)))[:-64]
    with pytest.raises(StoreFileError, match="is truncated"):
        opened(tmp_path, short)
    with pytest.raises(StoreFileError, match="is truncated"):
        opened(tmp_path, short, remote=True).places(0, MOST)


@pytest.mark.parametrize(("old", "new"), [(b'"<u4"', b'"|O8"'), (b"keys/1", b"keys/9")])
def test_a_header_of_another_kind_is_refused(tmp_path: Path, old: bytes, new: bytes) -> None:
    with pytest.raises(StoreFileError, match="key file|use the corpus-assets"):
        opened(tmp_path, hashes([1, 2, 3]).replace(old, new.ljust(len(old)), 1))


def test_a_fanout_that_points_outside_is_refused(tmp_path: Path) -> None:
    data = bytearray(hashes([1, 2, 3]))
    at = parse_header(bytes(data), "x").arrays["fanout"][1]
    data[at + 8 : at + 16] = (1 << 40).to_bytes(8, "little")
    with pytest.raises(StoreFileError, match="points outside"):
        opened(tmp_path, bytes(data)).places(1, 3)


def test_hosts_without_rows_make_an_empty_file(tmp_path: Path) -> None:
    data = encode_hosts([(0, 5)], pa.array([], pa.string()), np.empty(0, np.int64))
    assert parse_header(data, "x").kind == HOSTS
    assert opened(tmp_path, data).host_places([(b"", b"\xff")]) == []
