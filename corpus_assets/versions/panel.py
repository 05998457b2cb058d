"""Panels of a report: a query over a version's tables, and how its rows are drawn.

A panel is `NAME.sql`: a title and a sentence as comments at its head, then one SELECT over the
tables that `catalog sql` shows. `NAME.html` beside it draws the rows; without one, a text and a
number a row are bars, and anything else is a table. A column whose name begins with `share` is
written as a percentage. What a panel counts is what `catalog sql` answers to its query.
"""

from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from jinja2 import TemplateError
from markupsafe import Markup

from catalog.ask import check_query
from catalog.errors import LineageBroken, QueryRefused
from catalog.formats.store import FileStore
from catalog.lineage import Row, first_line
from catalog.pages import Percent, Section, environment, render
from corpus_assets.core.errors import RecipeError
from corpus_assets.graph import Pipeline
from corpus_assets.versions.report_tables import EmptyTables, ReportTables

HERE = Path(__file__).parent
SHIPPED = HERE / "panels"
DRAWN = HERE / "templates" / "panel.html"
QUERIES = HERE / "templates" / "queries.html"
SHARE = "share"  # what names of columns with shares begin with
MOST_ROWS = 1_000


@dataclass(frozen=True)
class Panel:
    """A query with its words; `template` draws its rows."""

    name: str
    title: str
    about: str
    sql: str
    template: Path | None = None

    def of(self, **identifiers: str) -> "Panel":
        """Return the panel about another column than the one that it names in capitals."""
        title, sql = self.title, self.sql
        for placeholder, name in identifiers.items():
            title = title.replace(placeholder, name)
            sql = sql.replace(f'"{placeholder}"', f'"{name.replace(chr(34), chr(34) * 2)}"')
        return replace(self, title=title, sql=sql)


def read_panel(path: Path, template: Path | None = None) -> Panel:
    """Read a panel; its query is not looked at."""
    try:
        lines = path.read_text(encoding="utf-8").strip().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"panels: {path.name} cannot be read: {error}") from error
    head = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    title, *about = (line.removeprefix("--").strip() for line in lines[:head]) if head else ("",)
    sql = "\n".join(lines[head:]).strip().rstrip(";")
    if not title:
        raise RecipeError(f"panels: {path.name} begins with `-- Title`, then `-- A sentence.`")
    return Panel(path.stem, title, " ".join(about), sql, template)


def shipped(name: str) -> Panel:
    """Return one of the panels that every report can show."""
    template = SHIPPED / f"{name}.html"
    return read_panel(SHIPPED / f"{name}.sql", template if template.exists() else None)


def panels_of(paths: Iterable[Path]) -> list[Panel]:
    """Return the panels of some files, in the order of the queries; each is one that only reads."""
    files = list(paths)
    if not files:
        return []
    templates = {path.stem: path for path in files if path.suffix == ".html"}
    queries = [path for path in files if path.suffix == ".sql"]
    others = [path for path in files if path.suffix not in (".sql", ".html")]
    alone = sorted(set(templates) - {path.stem for path in queries})
    if others or alone:
        named = others[0].name if others else f"{alone[0]}.html"
        raise RecipeError(
            f"panels: {named} is not a panel: give NAME.sql, and NAME.html to draw its rows"
        )
    panels = [read_panel(path, templates.get(path.stem)) for path in queries]
    with duckdb.connect() as database:
        for panel in panels:
            try:
                check_query(database, panel.sql)
            except QueryRefused as error:
                raise RecipeError(f"panels: {panel.name}.sql: {error}") from error
    return panels


def own_panels(pipeline: Pipeline) -> list[Panel]:
    """Return the panels that the recipe names."""
    return panels_of(pipeline.locations.files(pipeline.recipe.panels, "panels"))


def check_panels(pipeline: Pipeline) -> None:
    """Refuse panels that a report could not show, before anything is built for it."""
    panels = own_panels(pipeline)
    if not panels:
        return
    signals = pipeline.recipe.signals.columns()
    with EmptyTables(FileStore(pipeline.store.url), signals) as tables:
        for panel in panels:
            with _explained(panel):
                tables.ask(panel.sql)
                if panel.template is not None:
                    environment(panel.template.parent).get_template(panel.template.name)


def panel_section(panel: Panel, tables: ReportTables) -> Section:
    """Run a panel's query, and draw its rows."""
    with _explained(panel):
        values = _values(panel, tables.ask(panel.sql, MOST_ROWS + 1))
        body = render(panel.template or DRAWN, **values)
    return Section(panel.title, body + queries_of(tables, panel))


@contextmanager
def _explained(panel: Panel) -> Iterator[None]:
    try:
        yield
    except LineageBroken as error:
        problem = first_line(error.__cause__) if isinstance(error.__cause__, Exception) else error
        raise RecipeError(f"panels: {panel.name}.sql: {problem}; correct the query") from error
    except TemplateError as error:
        raise RecipeError(f"panels: {panel.name}.html: {error}; correct the template") from error


def queries_of(tables: ReportTables, *panels: Panel) -> Markup:
    """Return the queries of some panels, for who wants to count again."""
    return render(QUERIES, panels=panels, tables=tables)


def _values(panel: Panel, found: Sequence[Row]) -> Mapping[str, Any]:
    """Return what a template draws: rows whose values are asked for by place or by column."""
    columns = list(found[0]) if found else []
    row: Any = namedtuple("row", columns, rename=True)  # type: ignore[misc]  # a query names them
    rows: list[Any] = [row(*(_value(*each) for each in one.items())) for one in found[:MOST_ROWS]]
    bars = [
        (one[0], one[1], f"{one[1]:,}")
        for one in rows
        if len(columns) == 2
        and isinstance(one[0], str | None)
        and isinstance(one[1], int | float)
        and not isinstance(one[1], bool | Percent)
    ]
    return {
        "panel": panel,
        "columns": [name.replace("_", " ") for name in columns],
        "rows": rows,
        "bars": bars if bars and len(bars) == len(rows) else None,
        "is_cut": len(found) > MOST_ROWS,
    }


def _value(column: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        value = int(value) if value % 1 == 0 else float(value)
    is_share = column.startswith(SHARE) and isinstance(value, int | float)
    return Percent(value) if is_share else value
