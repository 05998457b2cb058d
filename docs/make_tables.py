"""Write docs/reference/tables.md: the tables that `catalog sql` shows, derived from their declarations.

Run `python docs/make_tables.py` after a column changed; a test compares the file with what this
prints.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from catalog.db.models import metadata
from catalog.formats.lineage_tables import LINEAGE_TABLES
from catalog.formats.tables import Column, Table

TARGET = Path(__file__).parent / "reference" / "tables.md"

HEAD = """\
# Lineage and registry tables

What `catalog sql` shows, made by `docs/make_tables.py` from the declarations.

## Lineage tables

A *record* is what a source delivered, a *document* a record that gave text. The ids of both are `doc_id`.

Parquet, zstd. The registry says which files belong to a version. `TABLE` has ids as hex, `raw.TABLE`
as 16 bytes, which are faster to look up. Columns that a file does not have are added by the registry,
from the place where the file is. Row order is (`doc_id`, `offset`). Rows of `documents` and `signals`, and of
the files `selection.parquet` and `signatures.parquet`, belong together by number: row i of a part is the
same document in each. [Ids and keys](ids-and-keys.md) describes `doc_id`, `url_key`, `text_id` and
`sketch`.
"""

CLUSTERS = """
With `scope: all` the kept document can be in an earlier snapshot; `cluster_members` lists it too (kind
`first`), the files (`raw.cluster_members`) do not.
"""

REGISTRY = """\
## Registry tables

The catalog's database. `catalog sql "DESCRIBE versions"` shows the types of one.

| table | columns |
|---|---|"""


def reference() -> str:
    return "\n".join([HEAD, *_lineage(), REGISTRY, *_registry()]) + "\n"


def _lineage() -> Iterator[str]:
    for name, table in LINEAGE_TABLES.items():
        yield f"### {name}\n"
        yield f"{table.about} Files: `{table.file}`.\n"
        yield from _columns(table)
        if name == "cluster_members":
            yield CLUSTERS.rstrip()
        yield ""


def _columns(table: Table) -> Iterator[str]:
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    yield from (_row(column, column.meaning) for column in table.columns)
    yield from (
        _row(column, f"{column.meaning} Not in every version.") for column in table.sometimes
    )
    yield from (_row(column, f"{column.meaning} Added by the registry.") for column in table.placed)


def _row(column: Column, meaning: str) -> str:
    return f"| `{column.name}` | `{column.type}` | {meaning} |"


def _registry() -> Iterator[str]:
    for name, table in sorted(metadata.tables.items()):
        yield f"| `{name}` | {', '.join(f'`{column.name}`' for column in table.columns)} |"


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
    sys.stdout.write(f"{TARGET.name} written\n")
