"""`corpus signals import`: annotations that others released, as signals of a recipe."""

from dataclasses import dataclass
from pathlib import Path

import click

from catalog.cli import answers
from catalog.figures import counted
from corpus_assets.cli.options import HOME_OPTION
from corpus_assets.core.errors import SourceError
from corpus_assets.core.home import Home


@dataclass(frozen=True)
class ImportedSignals:
    """An import, and the entry of `signals.families` that pins it."""

    sha256: str
    rows: int
    removed: int
    rows_without_key: int
    rows_with_a_key_seen_before: int
    family: dict[str, object]

    def __str__(self) -> str:
        removed = f", {self.removed} are covered by takedowns and left out" if self.removed else ""
        return (
            f"{counted(self.rows, 'row')}; {self.rows_without_key} more have no "
            f"{self.family['key']}, {self.rows_with_a_key_seen_before} repeat one{removed}\n"
            f"add to signals.families:\n  - {_flow(self.family)}"
        )


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Name of the import in recipes and reports.")
@click.option(
    "--key",
    type=click.Choice(["url", "text_id", "doc_id"]),
    default="url",
    show_default=True,
    help="What rows are keyed by: URL, text (SHA-256) or document.",
)
@click.option("--key-column", metavar="COLUMN", help="Key column [same as --key].")
@click.option(
    "--columns",
    required=True,
    metavar="A,B=COLUMN",
    help="Columns to import; NAME=COLUMN renames one.",
)
@HOME_OPTION
@answers
def import_signals(
    file: Path,
    name: str,
    key: str,
    key_column: str | None,
    columns: str,
    home: str | None,
) -> ImportedSignals:
    """Import published annotations as signals.

    FILE is Parquet, JSONL or CSV with one row per page or text. URLs match pages in any spelling; of
    rows with the same key the first is used. Prints the line to add to `signals.families` of a
    recipe, which pins the import by digest. Rows covered by a takedown are left out, now and with
    every later takedown.
    """
    import pyarrow.compute as pc

    from corpus_assets.ingest import Suppressions, covered_keys
    from corpus_assets.session import open_home
    from corpus_assets.signals import Imported, keep_import, kind_of, read_annotations, sorted_table

    place = Home.resolve(home)
    taken = dict(_renamed(column.strip()) for column in columns.split(",") if column.strip())
    if not taken:
        raise SourceError("--columns is empty")
    keys, found = read_annotations(file, key, key_column or key, taken)
    has_key = pc.is_valid(keys)
    table = sorted_table(
        keys.filter(has_key), {name: column.filter(has_key) for name, column in found.items()}
    )
    kinds = {name: kind_of(column.type) for name, column in found.items()}
    store, registry = open_home(place)
    orders = Suppressions.from_rows((row.kind, row.value) for row in registry.suppressions())
    checked = Imported.model_validate(
        {"name": name, "sha256": "0" * 64, "key": key, "columns": kinds}
    )
    kept = keep_import(
        store,
        table,
        name,
        key,
        lambda kind, some: covered_keys(kind, some, orders),
    )
    family = checked.model_copy(update={"sha256": kept.sha256}).model_dump(mode="json")
    with_key = pc.sum(has_key).as_py() or 0
    return ImportedSignals(
        sha256=kept.sha256,
        rows=kept.rows,
        removed=kept.removed,
        rows_without_key=len(keys) - with_key,
        rows_with_a_key_seen_before=with_key - kept.rows,
        family=family,
    )


def _renamed(column: str) -> tuple[str, str]:
    name, _, old = column.partition("=")
    return name, old or name


def _flow(value: object) -> str:
    """Write plain values as one line of YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(entry)}" for key, entry in value.items()) + "}"
    return str(value)
