"""Pages: one environment, one look, one set of charts, for all that a browser shows of a corpus.

A page is a template and a function that makes plain values for it. Templates stand beside the code
that makes their values; macros, base page and stylesheet are here.
"""

from catalog.pages import charts
from catalog.pages.charts import Mark, Pair
from catalog.pages.rendering import (
    Section,
    environment,
    put_first,
    put_header,
    render,
    stylesheet,
)
from catalog.pages.values import Percent

__all__ = [
    "Mark",
    "Pair",
    "Percent",
    "Section",
    "charts",
    "environment",
    "put_first",
    "put_header",
    "render",
    "stylesheet",
]
