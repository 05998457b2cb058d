"""Lists of pages by address: which documents of a snapshot a reference list names.

One entry a line, `#` begins a comment: an address (`https://example.org/a`), the begin of
addresses (`https://example.org/docs/*`), or a host with its subdomains (`example.org`). Plain,
.gz or .zst. A line that is none of these is passed over and counted. Lists such as the pages that
an encyclopedia cites have millions of lines: about 200 bytes of memory each.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.errors import SourceError
from corpus_assets.core.urls import Blocklist, address_of, canonical_host, has_prefix, prefix_free


@dataclass(frozen=True)
class PageList:
    """Pages by key, by the begin of their key and by host."""

    keys: frozenset[str]
    prefixes: tuple[str, ...]  # sorted, none begins with another
    hosts: Blocklist
    passed_over: int

    def match(self, url_keys: pa.ChunkedArray, hosts: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
        """Which documents are listed. Each host is looked up once."""
        listed = {host for host in hosts.unique().to_pylist() if self.hosts.match(host or "")}
        keys, of_hosts = url_keys.to_pylist(), hosts.to_pylist()
        return np.array(
            [
                host in listed or key in self.keys or has_prefix(key, self.prefixes)
                for key, host in zip(keys, of_hosts, strict=True)
            ],
            dtype=np.bool_,
        )


def read_page_list(paths: Iterable[Path]) -> PageList:
    found: dict[str, list[str]] = {"url_key": [], "url_prefix": [], "host": []}
    passed_over = 0
    for path in paths:
        for line in _lines(path):
            entry = line.partition("#")[0].strip()
            row = _row(entry) if entry else None
            if row is not None:
                found[row[0]].append(row[1])
            elif entry:
                passed_over += 1
    return PageList(
        keys=frozenset(found["url_key"]),
        prefixes=prefix_free(found["url_prefix"]),
        hosts=Blocklist(found["host"]),
        passed_over=passed_over,
    )


def _row(entry: str) -> tuple[str, str] | None:
    if "/" not in entry:
        try:
            return "host", canonical_host(entry.removeprefix("*.").removeprefix("."))
        except ValueError:
            return None
    address = address_of(entry.removesuffix("*"))
    if address is None:
        return None
    return ("url_prefix" if entry.endswith("*") else "url_key"), address.key


def _lines(path: Path) -> Iterator[str]:
    try:
        with pa.input_stream(path) as stream:  # inflated by what its name ends in
            raw = stream.read()
    except OSError as error:
        raise SourceError(f"{path}: the list of pages cannot be read: {error}") from error
    for line in raw.split(b"\n"):
        yield line.decode("utf-8", "replace")
