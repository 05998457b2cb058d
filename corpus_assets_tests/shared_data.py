"""Real material for tests that stays outside the project."""

import os
from pathlib import Path

import pytest


def shared_data(relative: str) -> Path:
    """A file of the shared test data; the test is skipped where the data is not there."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("CORPUS_SHARED_DATA", default)) / relative
    if not path.exists():
        pytest.skip(f"shared test data is absent: {relative} (set CORPUS_SHARED_DATA)")
    return path
