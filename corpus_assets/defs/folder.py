"""Where Dagster keeps its records in a home, and how it is configured there."""

from pathlib import Path

from catalog.formats.private_files import make_folder
from corpus_assets.core.home import Home
from corpus_assets.recipe import shipped_file

CODE = """load_from:
  - python_module:
      module_name: corpus_assets.definitions
      location_name: corpus_assets
"""


def prepared_folder(home: Home) -> Path:
    """Return the folder that is DAGSTER_HOME; the shipped dagster.yaml is copied there once."""
    make_folder(home.dagster)
    config, shipped = home.dagster / "dagster.yaml", shipped_file("dagster.yaml")
    if not config.exists() and shipped is not None:
        config.write_bytes(shipped.read_bytes())
    return home.dagster


def workspace_file(home: Home) -> Path:
    """Write the workspace that has this project's code, whatever folder Dagster is started in."""
    path = prepared_folder(home) / "workspace.yaml"
    path.write_text(CODE, encoding="utf-8")
    return path
