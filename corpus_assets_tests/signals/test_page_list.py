"""Reference lists of pages, and which documents they name."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard

from corpus_assets.core.errors import SourceError
from corpus_assets.core.urls import address_of
from corpus_assets.signals.stages.training_sample import read_page_list

LIST = """# pages that an encyclopedia cites
https://www.Example.org/a?utm_source=x#part
https://example.org/docs/*
news.example.com
*.wiki.example
not a host
"""
NAMED = [
    "http://example.org/a", "https://www.example.org/docs/", "http://example.org/docs/deep/page",
    "http://news.example.com/", "http://a.news.example.com/x", "https://wiki.example/y",
]  # fmt: skip
OTHERS = [
    "http://example.org/ab", "http://example.org/doc", "http://example.com/", "http://b.example/",
]  # fmt: skip


def columns(urls: list[str]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    found = [address_of(url) for url in urls]
    keys = [address.key for address in found if address]
    hosts = [address.host for address in found if address]
    return pa.chunked_array([keys]), pa.chunked_array([hosts])


@pytest.mark.parametrize("name", ["list.txt", "list.txt.gz", "list.txt.zst"])
def test_addresses_prefixes_and_hosts_name_pages(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    packed = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, lambda raw: raw)
    path.write_bytes(packed(LIST.encode()))
    listed = read_page_list([path])
    assert listed.match(*columns([*NAMED, *OTHERS])).tolist() == [True] * 6 + [False] * 4
    assert listed.passed_over == 1


def test_records_without_an_address_are_not_named(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(LIST, encoding="utf-8")
    keys, hosts = pa.chunked_array([["k-1"]]), pa.chunked_array([pa.array([None], pa.string())])
    assert read_page_list([path]).match(keys, hosts).tolist() == [False]


def test_a_list_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.gz").write_bytes(b"no gzip")
    for name in ("bad.gz", "missing.txt"):
        with pytest.raises(SourceError, match=f"{name}: the list of pages cannot be read"):
            read_page_list([tmp_path / name])
