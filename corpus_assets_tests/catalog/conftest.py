"""A registry on each kind of database, and a small whole corpus for everything above it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.db.registry import Registry
from catalog.lineage.tables import Lineage
from corpus_assets_tests.catalog.corpus import Corpus, build


@pytest.fixture
def registry(empty_url: str) -> Registry:
    """An upgraded, empty registry, on SQLite and on PostgreSQL."""
    registry = Registry(empty_url)
    registry.upgrade()
    return registry


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A published version that no test changes."""
    return build(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def own_corpus(tmp_path: Path) -> Corpus:
    """A published version that the test may damage."""
    return build(tmp_path / "own")


@pytest.fixture
def lineage(corpus: Corpus) -> Iterator[Lineage]:
    with Lineage(corpus.registry, corpus.store, "v1") as tables:
        yield tables
