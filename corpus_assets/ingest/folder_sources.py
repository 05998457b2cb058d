"""What lies in a folder that can be the sources of a corpus, and what cannot.

1. A file is of the format that takes its name, or source code by its language; a `.json` file that
   has an object a line is JSON lines.
2. Files of one format in a sub-folder of the first level are a source, and so are those beside the
   sub-folders. Tables with other columns are another source. A sub-folder with a `.git` is source
   code as a whole; in others, of text files and source code only the more frequent kind is taken.
3. Numbers of records are estimated from the first records of some files.
"""

import glob
import io
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.core.errors import SourceError
from corpus_assets.ingest.formats import format_of, guess_fields, inflated, read_warc
from corpus_assets.ingest.gates import language_of

ROWS = 200  # of a file, to guess by
COUNTED_BYTES = 1 << 23  # of a file, to estimate by
FILES_LOOKED_AT = 20  # of a format in a sub-folder; the others are taken for like them
MAX_LINE_BYTES = 1 << 24
MAX_PAYLOAD_BYTES = 1 << 24
ARCHIVES, TABLES = ("wet", "warc"), ("jsonl", "parquet")
ADVICE = {
    ".zip": "unpack it",
    ".tar": "unpack it",
    ".tar.gz": "unpack it",
    ".tgz": "unpack it",
    ".7z": "unpack it",
    ".arc": "convert it to WARC (`warcio recompress`)",
    ".arc.gz": "convert it to WARC (`warcio recompress`)",
    ".warc.zst": "unpack it, or compress its records with gzip",
    ".csv": "convert it to Parquet or JSON lines",
    ".tsv": "convert it to Parquet or JSON lines",
    ".json": "write one record per line",
    ".html": "a page needs its URL: fetch it into a WARC file",
    ".htm": "a page needs its URL: fetch it into a WARC file",
    ".pdf": "extract its text",
    ".epub": "extract its text",
    ".docx": "extract its text",
}
UNREADABLE = "unreadable"
NO_TEXT = "table without text"
ADVICE_BY_KIND = ADVICE | {
    UNREADABLE: "damaged, or not what its name says",
    NO_TEXT: "no column holds text; name one in the recipe",
}


@dataclass(frozen=True)
class FolderSource:
    """Files of one format that belong together."""

    folder: str  # the sub-folder; empty: beside the sub-folders
    format: str
    locations: tuple[str, ...]  # in the folder: a sub-folder, patterns or files
    files: int
    bytes: int
    records: int  # estimated
    changed: float  # when the file that changed last did, in seconds since 1970
    fields: Mapping[str, str]
    other_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """Files that are no source."""

    kind: str
    files: int
    advice: str


class _File(NamedTuple):
    path: Path
    name: str  # in the folder
    folder: str
    format: str
    bytes: int
    changed: float


class _Look(NamedTuple):
    """What the beginning of a file shows."""

    records: float  # in the whole file, estimated
    rows: Sequence[Mapping[str, Any]] = ()


def find_sources(folder: Path) -> tuple[list[FolderSource], list[LeftOut]]:
    """Look at a folder: names of all files, and the first records of some."""
    if not folder.is_dir():
        raise SourceError(f"{folder}: not a folder")
    left_out: Counter[str] = Counter()
    groups: dict[tuple[str, str], list[_File]] = {}
    for file in _files(folder, left_out):
        groups.setdefault((file.folder, file.format), []).append(file)
    for within in {name for name, _ in groups}:
        texts, code = groups.get((within, "text"), []), groups.get((within, "code"), [])
        if texts and code:
            fewer = "code" if len(texts) > len(code) else "text"
            left_out[f"{fewer} beside {'text' if fewer == 'code' else 'code'}"] += len(
                groups.pop((within, fewer))
            )
    found: list[FolderSource] = []
    for _, files in sorted(groups.items()):
        found += _tables(files, left_out) if files[0].format in TABLES else [_plain(files)]
    advice = ADVICE_BY_KIND.get
    return found, [
        LeftOut(kind, count, advice(kind, "not a format that is read"))
        for kind, count in sorted(left_out.items())
    ]


def _files(folder: Path, left_out: Counter[str]) -> Iterator[_File]:
    """Yield files with their formats. Links and hidden files are no sources, as in a build."""
    repositories = {
        each.name for each in folder.iterdir() if each.is_dir() and (each / ".git").exists()
    }
    is_repository = (folder / ".git").exists()
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        within = Path(place).relative_to(folder)
        top = "" if is_repository or not within.parts else within.parts[0]
        for name in sorted(names):
            path = Path(place, name)
            if name.startswith(".") or path.is_symlink() or not path.is_file():
                continue
            if is_repository or top in repositories:
                format: str | None = "code"
            else:
                format = _format(path)
            if format is None:
                left_out[_kind(name)] += 1
                continue
            now = path.stat()
            yield _File(path, (within / name).as_posix(), top, format, now.st_size, now.st_mtime)


def _format(path: Path) -> str | None:
    name = path.name.lower()
    if name.endswith((".arc", ".arc.gz", ".warc.zst")):
        return None
    for format in (*ARCHIVES, *TABLES, "text"):
        if name.endswith(format_of(format).suffixes):
            return format
    if name.endswith(".json"):
        return "jsonl" if _has_an_object_a_line(path) else None
    return "code" if language_of(path.name, "") is not None else None


def _has_an_object_a_line(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            lines = [stream.readline(MAX_LINE_BYTES) for _ in range(2)]
    except OSError:
        return False
    return all(_object(line) is not None for line in lines if line or line is lines[0])


def _kind(name: str) -> str:
    known = [suffix for suffix in ADVICE if name.lower().endswith(suffix)]
    return max(known, key=len) if known else Path(name).suffix.lower() or "no suffix"


def _plain(files: Sequence[_File]) -> FolderSource:
    """Return web archives, text files or source code as a source."""
    first = files[0]
    records = float(len(files))
    if first.format in ARCHIVES:
        some = files[:FILES_LOOKED_AT:7]
        records = sum(_pages(file) for file in some) * len(files) / len(some)
    return _source(files, _locations(files), records)


def _tables(files: Sequence[_File], left_out: Counter[str]) -> Iterator[FolderSource]:
    """Yield tables as sources, one for each way in which their columns are mapped."""
    by_fields: dict[tuple[tuple[str, str], ...], list[tuple[_File, _Look]]] = {}
    for file in files[:FILES_LOOKED_AT]:
        look = _look(file)
        fields = guess_fields(look.rows) if look is not None else {}
        if look is not None and ("text" in fields or "messages" in fields):
            by_fields.setdefault(tuple(sorted(fields.items())), []).append((file, look))
        else:
            left_out[UNREADABLE if look is None else NO_TEXT] += 1
    for mapped, looked_at in by_fields.items():
        own = [file for file, _ in looked_at]
        records = sum(look.records for _, look in looked_at)
        locations = tuple(file.name for file in own)
        if len(own) == min(len(files), FILES_LOOKED_AT):
            records *= len(files) / len(own)
            own, locations = list(files), _locations(files)
        columns = dict.fromkeys(name for _, look in looked_at for row in look.rows for name in row)
        fields = dict(mapped)
        others = tuple(name for name in columns if name not in fields.values())
        yield _source(own, locations, records, fields, others)


def _locations(files: Sequence[_File]) -> tuple[str, ...]:
    """Return where all files of a format in a sub-folder are, or those beside the sub-folders."""
    first = files[0]
    suffixes = dict.fromkeys(_suffix(file) for file in files)
    is_by_suffix = first.format in ARCHIVES or ".json" in suffixes  # WET lies beside WARC
    if len(files) == 1 and first.format != "code":
        return (first.name,)
    if first.folder and not is_by_suffix:
        return (f"{first.folder}/",)
    within = f"{glob.escape(first.folder)}/**/" if first.folder else ""
    if first.format == "code" and not first.folder:
        return (".",)
    return tuple(f"{within}*{suffix}" for suffix in suffixes)


def _suffix(file: _File) -> str:
    """Return what its format knows a file by."""
    name = file.name.rpartition("/")[2]
    known = (*format_of(file.format).suffixes, ".json")
    fits = [suffix for suffix in known if suffix and name.lower().endswith(suffix)]
    return name[-len(max(fits, key=len)) :] if fits else Path(name).suffix or name


def _source(
    files: Sequence[_File],
    locations: tuple[str, ...],
    records: float,
    fields: Mapping[str, str] | None = None,
    other_columns: tuple[str, ...] = (),
) -> FolderSource:
    first = files[0]
    return FolderSource(
        folder=first.folder,
        format=first.format,
        locations=locations,
        files=len(files),
        bytes=sum(file.bytes for file in files),
        records=round(records),
        changed=max(file.changed for file in files),
        fields=fields or {},
        other_columns=other_columns,
    )


def _pages(file: _File) -> float:
    """Estimate the records of a web archive."""
    with file.path.open("rb") as stream:
        records = islice(read_warc(stream, file.name, MAX_PAYLOAD_BYTES), ROWS)
        places = [(record.offset, record.length) for record in records]
    if len(places) < ROWS:
        return len(places)
    offset, length = places[-1]
    return len(places) * file.bytes / max(offset + length, 1)


def _look(file: _File) -> _Look | None:
    """Return the first rows of a table; None if it cannot be read."""
    try:
        return _parquet(file) if file.format == "parquet" else _json_lines(file)
    except (pa.ArrowException, OSError, ValueError):
        return None


def _parquet(file: _File) -> _Look:
    table = pq.ParquetFile(file.path)
    batches = table.iter_batches(ROWS, row_groups=[0], use_threads=False)
    rows = next(batches).to_pylist() if table.num_row_groups else []
    return _Look(table.metadata.num_rows, rows)


def _json_lines(file: _File) -> _Look:
    rows: list[Mapping[str, Any]] = []
    records = seen = 0
    with file.path.open("rb") as stream:
        raw = inflated(stream, file.name)
        lines = io.BufferedReader(raw, 1 << 16)
        while seen < COUNTED_BYTES and (line := lines.readline(MAX_LINE_BYTES)):
            seen += len(line)
            records += bool(line.strip())
            if len(rows) < ROWS and (row := _object(line)) is not None:
                rows.append(row)
        share = stream.tell() / max(file.bytes, 1) if lines.readline(1) else 1
    if not rows and (records or raw.failure):
        raise ValueError(raw.failure or "no line is a JSON object")
    return _Look(records / share, rows)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):  # a damaged record, when it is built
        return None
    return row if isinstance(row, dict) else None
