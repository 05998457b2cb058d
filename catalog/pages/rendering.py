"""Templates: the one environment that all pages are made in.

A template knows the macros and charts that are shared, by `{% import "macros.html" as m %}` and as
`charts`, and those beside it. What it writes is escaped, always. It cannot reach the interpreter
through the values that it is given (Jinja's sandbox), since a template may come with a recipe.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from catalog.errors import CatalogError
from catalog.figures import counted, size, written
from catalog.pages import charts
from catalog.pages.values import anchor, cell, share, shown, text

SHARED = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading; it is left out where its body is empty."""

    title: str
    body: Markup


def stylesheet() -> Markup:
    """Return the look of all pages."""
    return charts.css("charts.css") + charts.css("style.css")


def environment(folder: Path) -> ImmutableSandboxedEnvironment:
    """Return an environment of the templates of a folder and of those that all pages share."""
    made = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader([folder, SHARED]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "anchor": anchor,
        "cell": cell,
        "count": counted,
        "number": lambda value: f"{value:,}",
        "share": share,
        "size": size,
        "text": text,
        "written": written,
    }
    made.globals |= {"charts": charts.ALL, "stylesheet": stylesheet}
    return made


_environment = cache(environment)


def render(template: Path, **values: Any) -> Markup:
    """Return what a template makes of its values."""
    page = _environment(template.parent).get_template(template.name)
    return Markup(page.render(values))  # noqa: S704 - what a template writes is escaped


# Finished pages.


def put_first(page: str, sections: Sequence[Section]) -> str:
    """Put more sections in front of those that a page has, and of its contents."""
    for place, template in (("links", "links.html"), ("sections", "sections.html")):
        page = _put(page, place, render(SHARED / template, sections=sections))
    return page


def put_header(page: str, header: str) -> str:
    """Put a header over a page that was written without one."""
    return _put(page, "header", header)


def _put(page: str, place: str, markup: str) -> str:
    """Put markup at a comment that the templates write; no value can, which are escaped."""
    before, found, after = page.partition(f"<!--{place}-->")
    if not found:
        raise CatalogError(f"this page has no place for {place}: another release wrote it")
    return f"{before}{found}{markup}{after}"
