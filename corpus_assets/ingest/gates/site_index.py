"""Which rules hold for a page: a file that is mapped into memory and looked up, never loaded.

Layout (Arrow IPC, uncompressed): one batch with an answer a row, sorted by `file` (uint64: hash of
kind, host and path) and `since` (int64: when it was given), with `rules` (int32: number of the
rule set; below 0 a redirect, -1 - the place of the first answer of its target), and, as schema
metadata, the agents; a second file holds the distinct rule sets. 20 bytes an answer, and answers
that repeat the one before are not there, so that tens of millions of hosts are a few hundred
megabytes of address space, of which a part touches what it asks for. Rule sets are kept decoded
while a part is read.

A host is the authority of an address: `www.` and ports count (RFC 9309, section 2.3), schemes do
not. A file that is not known of a host is asked for again with or without its `www.`, each file by
itself: an ai.txt of example.org says nothing about the robots.txt of www.example.org.
"""

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.core.urls import Address, address_of
from corpus_assets.ingest.gates.site_rules import PATHS, SiteRules, from_bytes

KEPT_DECODED = 4096
AGENTS = b"agents"
MAX_REDIRECTS = 5
LATEST = 2**63 - 1
NOTHING = SiteRules(None)


def site_of(url: str, address: Address | None = None) -> str | None:
    """Return the authority of a web address in one spelling, `www.` kept; None when it is none."""
    address = address or address_of(url)
    if address is None:
        return None
    site = address.canonical[7:].partition("/")[0]
    start = url.find("//") + 2
    host = url[start : start + 512].partition("/")[0].rpartition("@")[2].lower()
    return f"www.{site}" if host.startswith("www.") and not site.startswith("www.") else site


def twin(site: str) -> str:
    """Return the same host with `www.`, or without."""
    return site[4:] if site.startswith("www.") else f"www.{site}"


def file_hash(kind: str, site: str, path: str) -> int:
    name = f"{kind} {site}{path}".encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")


def moment(fetched_at: str) -> int:
    """`2024-03-01T12:00:00.5Z` as 20240301120000500; 0 when it is no such time."""
    digits = "".join(filter(str.isdigit, fetched_at[:23]))
    return int(digits.ljust(17, "0")) if len(digits) >= 14 else 0


def write_index(
    files: npt.NDArray[np.uint64],
    since: npt.NDArray[np.int64],
    numbers: npt.NDArray[np.int32],
    rule_sets: Sequence[bytes],
    agents: Sequence[str],
) -> tuple[bytes, bytes]:
    """Return the two files, from sorted answers; equal content gives equal bytes."""
    metadata = {AGENTS: json.dumps(list(agents)).encode()}
    columns = [("file", pa.uint64()), ("since", pa.int64()), ("rules", pa.int32())]
    arrays = [pa.array(files), pa.array(since), pa.array(numbers)]
    answers = pa.record_batch(arrays, schema=pa.schema(columns, metadata=metadata))
    bodies = pa.record_batch([pa.array(rule_sets, pa.large_binary())], names=["body"])
    return _ipc(answers), _ipc(bodies)


class SiteIndex:
    """Rules by host and time, from the two files of an index."""

    def __init__(self, sites: Path, rules: Path) -> None:
        answers, bodies = _mapped(sites), _mapped(rules)
        self.agents: tuple[str, ...] = tuple(json.loads(answers.schema.metadata[AGENTS]))
        self._files, self._since, self._numbers = (
            memoryview(answers.column(name).to_numpy(zero_copy_only=True))
            for name in ("file", "since", "rules")
        )  # bisect is quicker in those than in arrays
        self._bodies = bodies.column("body")
        self._decoded: OrderedDict[int, SiteRules] = OrderedDict()

    def __len__(self) -> int:
        return len(self._files)

    def find(self, site: str, fetched_at: str = "") -> SiteRules | None:
        """Return the rules of a host for a page of that time, file by file those of its twin where
        it has none; None when no file of either was seen.

        Of each file the last answer that is no later than the page counts; where there is none,
        the first; for a page of unknown time the last.
        """
        at = moment(fetched_at) or LATEST
        found = [
            self._answer(file_hash(kind, site, path), at)
            or self._answer(file_hash(kind, twin(site), path), at)
            for path, kind in PATHS.items()
        ]
        if not any(found):
            return None
        robots, ai_txt, tdmrep = (rules or NOTHING for rules in found)
        return robots._replace(ai_txt=ai_txt.ai_txt, tdmrep=tdmrep.tdmrep)

    def _answer(self, file: int, at: int) -> SiteRules | None:
        """Return the rules of a file at a time, past redirects."""
        place = bisect_left(self._files, file)
        if place == len(self._files) or self._files[place] != file:
            return None
        for _ in range(MAX_REDIRECTS + 1):
            end = bisect_right(self._files, self._files[place], place)
            later = bisect_right(self._since, at, place, end)
            number = self._numbers[max(later - 1, place)]
            if number >= 0:
                return self._rules(number)
            place = -1 - number
        return None

    def _rules(self, number: int) -> SiteRules:
        rules = self._decoded.get(number)
        if rules is None:
            rules = from_bytes(self._bodies[number].as_py(), self.agents)
            self._decoded[number] = rules
            if len(self._decoded) > KEPT_DECODED:
                self._decoded.popitem(last=False)
        return rules


def _ipc(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _mapped(path: Path) -> pa.RecordBatch:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except (pa.ArrowException, OSError) as error:
        raise CorruptArtifact(f"{path} is not a readable index of site rules: {error}") from error
