"""Reading a recipe loads settings, and nothing that computes: counted in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from corpus_assets.signals.base import SignalFamily
from corpus_assets.signals.families import FAMILIES
from corpus_assets_tests.distributions import ROOT

MOST_OF_OURS = 85
"""Modules of the product; each costs half a millisecond or more."""

LOADED = """
import json, sys
from pathlib import Path
from corpus_assets.recipe import load_recipe
load_recipe(Path(sys.argv[1]))
print(json.dumps(sorted(sys.modules)))
"""

RECIPES = {path.stem: path for path in (ROOT / "recipes").glob("*.yaml")}
LARGEST = max(RECIPES, key=lambda name: RECIPES[name].stat().st_size)


def loaded(path: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, path], capture_output=True, text=True, check=True
    )
    modules: list[str] = json.loads(done.stdout)
    return modules


def outside(modules: list[str]) -> set[str]:
    """Libraries among some modules: what is neither the product nor Python's own."""
    names = {name.partition(".")[0] for name in modules}
    ours = {"corpus_assets", "catalog"}
    own = {name for name in names if name.startswith("_")} | set(sys.stdlib_module_names)
    return names - ours - own


@pytest.mark.parametrize("name", ["demo", LARGEST])
def test_reading_a_recipe_loads_settings_alone(name: str) -> None:
    modules = loaded(RECIPES[name])
    assert outside(modules) <= {
        "annotated_types",
        "cython_runtime",  # of PyYAML, where its parser is in C
        "pydantic",
        "pydantic_core",
        "typing_extensions",
        "typing_inspection",
        "yaml",
    }
    ours = [name for name in modules if name.startswith(("corpus_assets", "catalog"))]
    assert len(ours) <= MOST_OF_OURS, ours
    assert not [name for name in ours if ".kernels" in name]


def test_a_family_that_is_not_named_is_not_loaded() -> None:
    modules = loaded(RECIPES["gopher"])
    assert "corpus_assets.signals.published.gopher" in modules
    assert "corpus_assets.signals.published.c4" not in modules


def test_every_family_is_found_by_its_declaration() -> None:
    for family in FAMILIES.values():
        assert issubclass(family, SignalFamily)
    written = {
        item.model_fields["family"].default
        for item in _derived(SignalFamily)
        if item.__module__.startswith("corpus_assets.")
        and "family" in vars(item)["__annotations__"]
    }
    assert written == set(FAMILIES) | {SignalFamily.model_fields["family"].default}


def _derived(family: type[SignalFamily]) -> list[type[SignalFamily]]:
    return [family, *(each for below in family.__subclasses__() for each in _derived(below))]
