"""Commands import what they need: a question of seconds must not wait for what builds a corpus."""

import json
import subprocess
import sys

import pytest

QUESTION = (
    "corpus_assets.cli.main",
    "catalog.db.registry",
    "corpus_assets.inspect.version_columns",
    "corpus_assets.inspect.whatif",
    "corpus_assets.recipe.recipe",
    "corpus_assets.cli.inspect",
)


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """Modules in a fresh process after importing the command line, and what `whatif` imports."""
    code = (
        "import json, sys, corpus_assets.cli.main; first = list(sys.modules); "
        f"import {', '.join(QUESTION)}; print(json.dumps([first, list(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    first, then = json.loads(done.stdout)
    return {"cli": set(first), "whatif": set(then)}


def test_the_command_line_alone_loads_no_numeric_library_and_no_database(
    loaded: dict[str, set[str]],
) -> None:
    heavy = {"numpy", "numba", "pyarrow", "sqlalchemy", "alembic", "duckdb", "dagster", "rich"}
    assert not loaded["cli"] & heavy


def test_whatif_loads_nothing_that_migrates_runs_or_builds(loaded: dict[str, set[str]]) -> None:
    heavy = {"dagster", "alembic", "duckdb", "trafilatura"}
    building = {"corpus_assets.graph.pipeline", "corpus_assets.session", "corpus_assets.demo"}
    assert not loaded["whatif"] & (heavy | building)


def test_settings_of_a_room_load_no_kernel_of_it() -> None:
    rooms = ("dedup", "shards", "tokenizer")
    named = ", ".join(f"corpus_assets.{room}.settings" for room in rooms)
    code = f"import json, sys, {named}; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    heavy = {"numba", "scipy", "dagster", "duckdb", "trafilatura", "tokenizers", "pyarrow.dataset"}
    assert not set(json.loads(done.stdout)) & heavy


def test_reading_a_recipe_loads_no_compiler_and_none_of_what_builds_use() -> None:
    code = (
        "import json, sys; from corpus_assets.recipe.load import find_recipe, load_recipe; "
        "load_recipe(find_recipe('fineweb')); print(json.dumps(list(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    heavy = {"numba", "llvmlite", "scipy", "dagster", "duckdb", "trafilatura", "ray", "torch"}
    assert not set(json.loads(done.stdout)) & heavy
