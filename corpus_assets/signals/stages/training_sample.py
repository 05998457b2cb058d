"""What models of a recipe learn from: documents drawn from its parts, or files of texts.

Documents are drawn by keyed hash of their ids, with a bound. The `max_documents` with the smallest
hashes are drawn, of each part and then of all parts together: the same documents, however a
snapshot is cut into parts. Only their text is stored. A list of pages may say which count.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpus_assets.core.errors import SourceError
from corpus_assets.core.sample import PLACE, Sample
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.urls import Blocklist, address_of, canonical_host, has_prefix, prefix_free
from corpus_assets.signals.language import Language
from corpus_assets.text.batch import TextBatch

AT_ONCE = 1_000  # documents whose language is looked at together

SAMPLE = pa.schema([("doc_id", DOC_ID), (PLACE, pa.uint64()), ("text", pa.large_string())])


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
    """Read lists of pages, such as those that an encyclopedia cites; about 200 bytes an entry.

    One entry a line, `#` begins a comment: an address (`https://example.org/a`), the begin of
    addresses (`https://example.org/docs/*`), or a host with its subdomains (`example.org`).
    Plain, .gz or .zst. A line that is none of these is passed over and counted.
    """
    found: dict[str, list[str]] = {"url_key": [], "url_prefix": [], "host": []}
    passed_over = 0
    for path in paths:
        for line in _list_lines(path):
            entry = line.partition("#")[0].strip()
            row = _page(entry) if entry else None
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


def _page(entry: str) -> tuple[str, str] | None:
    if "/" not in entry:
        try:
            return "host", canonical_host(entry.removeprefix("*.").removeprefix("."))
        except ValueError:
            return None
    address = address_of(entry.removesuffix("*"))
    if address is None:
        return None
    return ("url_prefix" if entry.endswith("*") else "url_key"), address.key


def _list_lines(path: Path) -> Iterator[str]:
    try:
        with pa.input_stream(path) as stream:  # inflated by what its name ends in
            raw = stream.read()
    except OSError as error:
        raise SourceError(f"{path}: the list of pages cannot be read: {error}") from error
    for line in raw.split(b"\n"):
        yield line.decode("utf-8", "replace")


def documents_sample(seed: int) -> Sample:
    """Return the order in which a recipe's models draw documents, by their ids."""
    return Sample(f"corpus-assets/classifier-sample/{seed}".encode())


def draw_documents(
    documents: pa.Table,
    seed: int,
    max_documents: int,
    pages: PageList | None = None,
    languages: Sequence[str] | None = None,
    lid: Path | None = None,
) -> pa.Table:
    """SAMPLE rows of `documents`, first in the draw first; `pages` and `languages` say of which."""
    place = documents_sample(seed).places(documents["doc_id"].to_pylist())
    order = np.argsort(place, kind="stable")  # rows are sorted by id, so ties are too
    if pages is not None:
        listed = pages.match(documents["url_key"], documents["host"])
        order = order[listed[order]]
    if languages is not None and lid is not None:
        order = _in_languages(documents["text"], order, max_documents, languages, lid)
    rows = pa.array(order[:max_documents])
    columns = [documents["doc_id"].take(rows), pa.array(place).take(rows)]
    return pa.Table.from_arrays([*columns, documents["text"].take(rows)], schema=SAMPLE)


def _in_languages(
    texts: pa.ChunkedArray,
    order: npt.NDArray[np.int64],
    max_documents: int,
    languages: Sequence[str],
    lid: Path,
) -> npt.NDArray[np.int64]:
    """Return the rows of `order` in some languages, until there are enough."""
    found: list[npt.NDArray[np.int64]] = []
    n_found = 0
    for start in range(0, len(order), AT_ONCE):
        rows = order[start : start + AT_ONCE]
        batch = TextBatch.from_arrow(texts.take(pa.array(rows)))
        labels = Language().compute(batch, {"lid": lid}).column("language").to_pylist()
        kept = rows[np.array([label in languages for label in labels], dtype=np.bool_)]
        found.append(kept)
        n_found += len(kept)
        if n_found >= max_documents:
            break
    return np.concatenate(found) if found else order[:0]


def read_texts(
    paths: Sequence[str], where: Mapping[str, str] | None = None, field: str = "text"
) -> list[str]:
    """Read the `text` field (or another) of every line of JSON lines, plain, .gz or .zst.

    A line without one is an error: training data is curated. `where` names fields and the values that a line must have in them; others are left out.
    """
    texts: list[str] = []
    for path in paths:
        number = 0
        try:
            with io.TextIOWrapper(pa.input_stream(path), encoding="utf-8") as handle:
                for number, line in enumerate(handle, 1):
                    row = _row(line, path, number) if line.strip() else None
                    if row is not None and all(row.get(k) == v for k, v in (where or {}).items()):
                        texts.append(_text(row, path, number, field))
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(
                f"{path} line {number + 1}: cannot be read ({error}); fetch the file again or "
                "correct the recipe"
            ) from error
    return texts


def _row(line: str, path: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise SourceError(f"{path} line {number}: expected a JSON object with `text`")
    return row


def _text(row: dict[str, Any], path: str, number: int, field: str) -> str:
    if field not in row:
        raise SourceError(f"{path} line {number}: expected a JSON object with `{field}`")
    text = row[field]
    if not isinstance(text, str):
        raise SourceError(f"{path} line {number}: `{field}` is not a string")
    return text
