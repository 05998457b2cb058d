"""The site of these pages: `make docs` writes it to docs/_site, with navigation and search."""

import re
import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
BENCHMARKS = re.compile(r"\]\((\.\./)+benchmarks/README\.md")

project = "corpus-assets"
author = copyright = "the corpus-assets authors"
extensions = ["myst_parser"]
release = tomllib.loads(PYPROJECT.read_text())["project"]["version"]
html_theme = "furo"
html_title = f"corpus-assets {release}"
html_copy_source = False
myst_heading_anchors = 4
exclude_patterns = ["_site"]
suppress_warnings = ["misc.highlighting_failure"]  # what commands print is no program


def setup(app: Any) -> None:
    app.connect("source-read", link_benchmarks)


def link_benchmarks(_app: object, _page: str, source: list[str]) -> None:
    """Let links to the page beside the benchmarks lead to its copy on the site."""
    source[0] = BENCHMARKS.sub("](/reference/benchmarks.md", source[0])
