"""The site of these pages: `make docs` writes it to docs/_site, with navigation and search."""

import re
import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
README = re.compile(r"\]\((?:\.\./)+(?:packages/)?(\w+)/README\.md")
PRODUCT = re.compile(r"\]\((?:\.\./)+README\.md")

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
    app.connect("source-read", lambda _app, _page, source: link_readmes(source))
    app.connect("include-read", lambda _app, _path, _page, source: link_readmes(source))


def link_readmes(source: list[str]) -> None:
    """Let links to the README of the benchmarks or of a package lead to its copy on the site."""
    source[0] = PRODUCT.sub("](/index.md", README.sub(r"](/reference/\1.md", source[0]))
