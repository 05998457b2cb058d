"""A library that is not installed ends a build at once, with its name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from corpus_assets.core.errors import MissingExtra
from corpus_assets.graph.engine.tries import Fault, fault_of
from corpus_assets_tests.small_corpus import make_small_corpus

BROKEN = 'raise ImportError("lxml.html.clean module is now a separate project lxml_html_clean")\n'


@pytest.fixture
def without_trafilatura(tmp_path: Path) -> Path:
    """A folder of modules in which trafilatura cannot be imported."""
    package = tmp_path / "modules" / "trafilatura"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(BROKEN)
    return package.parent


def test_no_further_try_mends_a_missing_library() -> None:
    assert fault_of(ModuleNotFoundError("No module named 'x'")) is Fault.BUILD
    assert fault_of(MissingExtra("a library")) is Fault.BUILD


def test_a_build_without_a_library_ends_at_once_and_names_it(
    without_trafilatura: Path, tmp_path: Path
) -> None:
    recipe = make_small_corpus(tmp_path / "corpus")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "corpus_assets.cli.main", "build", str(recipe)),
            *("--home", str(tmp_path / "home"), "--workers", "1"),
        ],
        env=os.environ | {"PYTHONPATH": str(without_trafilatura)},
        capture_output=True,
        text=True,
    )
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1, done.stderr
    assert "lxml.html.clean module is now a separate project lxml_html_clean" in last
    assert "quarantined" not in done.stderr
    assert "Traceback" not in done.stderr
