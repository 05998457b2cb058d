"""The demo corpus is built once for all tests that look at it; they must not change it."""

from pathlib import Path

import pytest

from corpus_assets_tests.demo_build import build_demo


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the demo version `demo-t`, built by two workers."""
    home = tmp_path_factory.mktemp("demo") / "home"
    build_demo(home, workers=2)
    return home
