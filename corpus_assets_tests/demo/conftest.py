"""The demo sources, generated once for all tests of this folder, and what was planned for them."""

import json
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.demo.capture import Capture
from corpus_assets.demo.generate import generate_demo
from corpus_assets.demo.library import Library, read_library
from corpus_assets.demo.web import build_snapshots
from corpus_assets_tests.demo.tiny_library import write_tiny_library

Entries = list[dict[str, Any]]


@pytest.fixture(scope="session")
def library() -> Library:
    return read_library()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_library(tmp_path_factory.mktemp("tiny") / "library")


@pytest.fixture(scope="session")
def tiny_sources(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate_demo(tmp_path_factory.mktemp("tiny_sources") / "sources", tiny)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate_demo(tmp_path_factory.mktemp("demo") / "sources")


@pytest.fixture(scope="session")
def entries(demo: Path) -> Entries:
    lines = (demo / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def captures(library: Library) -> list[Capture]:
    return [each for parts in build_snapshots(library) for part in parts for each in part]
