"""Which rules hold for a host: a file that is mapped into memory and looked up, never loaded.

Layout (Arrow IPC, uncompressed): one batch with `site` (uint64, sorted: hash of the host),
`rules` (int32: number of the rule set), and, as schema metadata, the agents; a second file holds
the distinct rule sets. 12 bytes a host, so that tens of millions of hosts are a few hundred
megabytes of address space, of which a part touches what it asks for. A look-up takes about
10 us, and rule sets are kept decoded while a part is read.

A host is the authority of an address: `www.` and ports count (RFC 9309, section 2.3), schemes do
not. One that is not listed is asked for again with or without its `www.`.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.errors import CorruptArtifact
from corpus_assets.sources.site_rules import SiteRules, from_bytes
from corpus_assets.sources.urls import Address, address_of

KEPT_DECODED = 4096
AGENTS = b"agents"


def site_of(url: str, address: Address | None = None) -> str | None:
    """The authority of a web address in one spelling, `www.` kept; None when it is none."""
    address = address or address_of(url)
    if address is None:
        return None
    site = address.canonical[7:].partition("/")[0]
    start = url.find("//") + 2
    host = url[start : start + 512].partition("/")[0].rpartition("@")[2].lower()
    return f"www.{site}" if host.startswith("www.") and not site.startswith("www.") else site


def twin(site: str) -> str:
    """The same host with `www.`, or without."""
    return site[4:] if site.startswith("www.") else f"www.{site}"


def site_hash(site: str) -> int:
    return int.from_bytes(hashlib.blake2b(site.encode(), digest_size=8).digest(), "little")


def write_index(
    hashes: npt.NDArray[np.uint64],
    numbers: npt.NDArray[np.int32],
    rule_sets: Sequence[bytes],
    agents: Sequence[str],
) -> tuple[bytes, bytes]:
    """The two files, from sorted hashes; equal content gives equal bytes."""
    metadata = {AGENTS: json.dumps(list(agents)).encode()}
    schema = pa.schema([("site", pa.uint64()), ("rules", pa.int32())], metadata=metadata)
    hosts = pa.record_batch([pa.array(hashes), pa.array(numbers)], schema=schema)
    bodies = pa.record_batch([pa.array(rule_sets, pa.large_binary())], names=["body"])
    return _ipc(hosts), _ipc(bodies)


class SiteIndex:
    """Rules by host, from the two files of an index."""

    def __init__(self, sites: Path, rules: Path) -> None:
        hosts, bodies = _mapped(sites), _mapped(rules)
        self.agents: tuple[str, ...] = tuple(json.loads(hosts.schema.metadata[AGENTS]))
        self._hashes: npt.NDArray[np.uint64] = hosts.column("site").to_numpy(zero_copy_only=True)
        self._numbers: npt.NDArray[np.int32] = hosts.column("rules").to_numpy(zero_copy_only=True)
        self._bodies = bodies.column("body")
        self._decoded: OrderedDict[int, SiteRules] = OrderedDict()

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, site: str) -> SiteRules | None:
        """The rules of a host, or of its twin; None when neither was seen."""
        number = self._number(site)
        number = self._number(twin(site)) if number < 0 else number
        return None if number < 0 else self._rules(number)

    def _number(self, site: str) -> int:
        wanted = np.uint64(site_hash(site))
        place = int(np.searchsorted(self._hashes, wanted))
        if place < len(self._hashes) and self._hashes[place] == wanted:
            return int(self._numbers[place])
        return -1

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
