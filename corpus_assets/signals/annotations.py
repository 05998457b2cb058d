"""Read released annotations (Parquet, JSONL or CSV) for `corpus signals import`.

DuckDB reads and casts; addresses that every rule of `catalog.formats.urls` leaves as they are, most
there are, become keys there too. Only the others go through Python, one by one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core.errors import SourceError
from corpus_assets.core.urls import address_of

READERS = {
    ".parquet": "read_parquet(?)",
    ".csv": "read_csv(?, header = true)",
    ".tsv": "read_csv(?, header = true, delim = '\t')",
    ".jsonl": "read_json(?, format = 'newline_delimited')",
    ".ndjson": "read_json(?, format = 'newline_delimited')",
}
PACKED = (".gz", ".zst")

KEYS_OF_PLAIN = r"""
WITH parts AS (
  SELECT regexp_extract(
    k, '^https?://(?:www\.)?([a-z0-9.-]+)(/[A-Za-z0-9!$&''*+,./:=@_~-]*)$', ['host', 'path']
  ) AS p FROM keys
)
SELECT CASE
  WHEN regexp_matches(p.host, '^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z]+$')
   AND length(p.host) < 64 AND length(p.host) - length(replace(p.host, '.', '')) <= 3
   AND NOT starts_with(p.host, 'www.') AND NOT contains(p.path, '/.') AND length(p.path) <= 2000
  THEN array_to_string(list_reverse(string_split(p.host, '.')), ',') || ')' || p.path
END AS key FROM parts
"""
"""Keys of plain addresses, null for others: as in `core.urls`, in short expressions, which DuckDB
matches twenty times as fast as bounded repetitions."""


def read_annotations(
    path: Path, key: str, key_column: str, columns: Mapping[str, str]
) -> tuple[pa.Array, dict[str, pa.Array]]:
    """Return keys as imports have them, null where a row has none, and the columns asked for:
    text, numbers (float64), or structs of these. `columns` is name -> column of the file."""
    import duckdb  # only the command needs it

    suffixes = [s.lower() for s in path.suffixes]
    while suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    reader = READERS.get(suffixes[-1] if suffixes else "")
    if reader is None:
        raise SourceError(f"{path.name}: expected a file of {', '.join(READERS)}, packed or not")
    if not path.is_file():
        raise SourceError(f"{path}: there is no such file")
    chosen = ", ".join(f"{_quoted(old)} AS {_quoted(new)}" for new, old in columns.items())
    with duckdb.connect() as connection:
        try:
            read = f"SELECT {_quoted(key_column)} AS k, {chosen} FROM {reader}"  # noqa: S608, quoted
            table: Any = connection.sql(read, params=[str(path)]).to_arrow_table()
        except duckdb.Error as error:
            lines = str(error).strip().splitlines()
            raise SourceError(
                f"{path.name} cannot be read: {lines[0] if lines else error}"
            ) from error
        found = {name: _plain_type(table[name].combine_chunks(), name) for name in columns}
        if key != "url":
            return _ids(table["k"].combine_chunks(), key_column, key), found
        keys = table.select(["k"]).cast(pa.schema([("k", pa.string())]))
        connection.register("keys", keys)
        made: Any = connection.sql(KEYS_OF_PLAIN).to_arrow_table()
    return _with_the_rest(keys["k"].combine_chunks(), made["key"].combine_chunks()), found


def _with_the_rest(urls: pa.Array, keys: pa.Array) -> pa.Array:
    """Fill in the keys of addresses that need every rule."""
    hard = pc.and_(pc.is_null(keys), pc.is_valid(urls))
    made = [_key(url) for url in urls.filter(hard).to_pylist()]
    return pc.replace_with_mask(keys, hard, pa.array(made, keys.type))


def _key(url: str) -> str | None:
    address = address_of(url.strip())
    return None if address is None else address.key


def _ids(column: pa.Array, name: str, kind: str) -> pa.Array:
    """Return ids as 32 hexadecimal digits; of a SHA-256 of a text its first half names it."""
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        texts = pa.array([None if raw is None else raw.hex() for raw in column.to_pylist()])
    else:
        texts = pc.utf8_lower(column.cast(pa.string()))
    wanted = pc.match_substring_regex(texts, r"^[0-9a-f]{32}([0-9a-f]{32})?$")
    if pc.any(pc.invert(wanted.fill_null(True))).as_py():
        raise SourceError(
            f"column {name!r}: a {kind} has 32 hexadecimal digits (or the 64 of a text's SHA-256)"
        )
    return pc.utf8_slice_codeunits(texts, 0, 32)


def _plain_type(column: pa.Array, name: str) -> pa.Array:
    """Return a column as a label, a number, or a struct of these."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain_type(column.dictionary_decode(), name)
    if pa.types.is_struct(kind):
        members = {
            member.name: _plain_type(pc.struct_field(column, member.name), f"{name}.{member.name}")
            for member in kind
        }
        return pa.StructArray.from_arrays(
            list(members.values()), list(members), mask=column.is_null()
        )
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.string())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.float64())
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64())
    raise SourceError(
        f"column {name!r} holds {kind}: an import takes text, numbers and structs of these; leave "
        "it out, or make a column of one of these kinds"
    )


def _quoted(name: str) -> Any:
    return '"' + name.replace('"', '""') + '"'
