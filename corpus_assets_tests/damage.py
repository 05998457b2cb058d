"""Ways to damage a home, what `verify` finds of it, and a takedown run without Dagster."""

import json
from collections.abc import Callable
from pathlib import Path

from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.formats.store import FileStore as CatalogStore
from catalog.verify.version import Problem, verify
from corpus_assets.core.home import Home
from corpus_assets.session import reopen_session
from corpus_assets.versions.publish import publish_version
from corpus_assets.versions.published import check_artifact_rows
from corpus_assets.versions.version import make_version
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.promises.erasure.build import run_all
from corpus_assets_tests.registry_states import add_orders

AFTER = f"{VERSION}.td1"


def home_of(place: Place) -> Home:
    return Home.resolve(str(place.home))


def registry_of(place: Place) -> Registry:
    return Registry(home_of(place).catalog_url)


def problems(place: Place) -> list[Problem]:
    store = CatalogStore(home_of(place).store_url)
    return verify(registry_of(place), store, VERSION).problems


def named(place: Place) -> set[str]:
    return {problem.subject for problem in problems(place)}


def stored(place: Place) -> dict[str, Path]:
    """Every file of the store by its path there."""
    files = (path for path in place.store.rglob("*") if path.is_file())
    return {path.relative_to(place.store).as_posix(): path for path in files}


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def replace(path: Path) -> None:
    """Another file of the same form: a number changed in JSON, else what anyone could write."""
    try:
        body = json.loads(path.read_bytes())
    except ValueError:
        path.write_bytes(b"something else")
    else:
        path.write_bytes(json.dumps({"extra": 1} | body if isinstance(body, dict) else 1).encode())


DAMAGES: tuple[Callable[[Path], None], ...] = (flip, cut, replace, Path.unlink)


def take_out(place: Place) -> None:
    """What a takedown run builds and publishes, without Dagster."""
    check_artifact_rows(registry_of(place))
    with reopen_session(home_of(place), VERSION) as session:
        run_all(session)
        made = make_version(session.pipeline, AFTER)
        publish_version(session.pipeline, session.registry, made, session.replaces)


def order(place: Place, host: str = "site-0.example.org") -> None:
    add_orders(registry_of(place), [SuppressionRow("host", host)])
