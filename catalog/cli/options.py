"""How every command of `catalog` is called: usual options, where things are, one-line errors."""

import functools
import os
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from catalog.answers import BROKEN_EXIT
from catalog.cli.process import STOPPED, command_process, explained
from catalog.db import LATEST
from catalog.errors import CatalogError
from catalog.formats.store import FileStore
from catalog.stopping import stoppable

if TYPE_CHECKING:
    from catalog.db import Registry
    from catalog.lineage import Lineage

ERROR_EXIT = 2


class OneLineErrors(click.Group):
    """A group whose errors are one line on stderr, `catalog: error: ...`, and exit code 2."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run a command and leave the process with its exit code."""
        extra |= {"standalone_mode": False, "prog_name": "catalog"}
        with stoppable() as stopped, command_process():
            try:
                code = super().main(*args, **extra)
                sys.stdout.flush()
            except click.ClickException as error:
                context = getattr(error, "ctx", None)
                hint = f" (see `{context.command_path} --help`)" if context is not None else ""
                _fail(error.format_message() + hint)
            except BrokenPipeError:  # the reader of our output has seen enough
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                sys.exit(BROKEN_EXIT)
            except (Exception, KeyboardInterrupt) as error:
                if isinstance(error, click.Abort | KeyboardInterrupt) or stopped.exit_code():
                    cause = error.__cause__ if isinstance(error, click.Abort) else error
                    message = str(cause) if isinstance(cause, KeyboardInterrupt) else ""
                    click.echo(f"catalog: {message or STOPPED}", err=True)
                    sys.exit(stopped.exit_code() or 130)
                line = str(error) if isinstance(error, CatalogError) else explained(error)
                if line is None:
                    raise
                _fail(line)
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> NoReturn:
    click.echo("catalog: error: " + " ".join(message.split()), err=True)
    sys.exit(ERROR_EXIT)


class Place:
    """Where catalog and store are, from options, environment or the home folder."""

    def __init__(self, home: str, catalog_url: str | None, store_url: str | None) -> None:
        self.home = Path(home)
        self._catalog_url = catalog_url
        self._store_url = store_url or str(Path(home) / "store")

    @cached_property
    def unchecked(self) -> "Registry":
        """The catalog, whatever its tables are of; SQLAlchemy is imported for it, not for help."""
        from sqlalchemy import URL

        from catalog.db import Registry

        file = URL.create("sqlite", database=str(self.home / "catalog.db"))
        return Registry(self._catalog_url or file, home=self.home)

    @cached_property
    def registry(self) -> "Registry":
        """The catalog; refused, at the first use, when its tables are not of this version."""
        self.unchecked.check_schema()
        return self.unchecked

    @property
    def local_store(self) -> list[Path]:
        """The store's folder, where it is one."""
        url = self._store_url.removeprefix("file://")
        return [] if "://" in url else [Path(url)]

    @property
    def store(self) -> FileStore:
        """The store; opened only by commands that read it."""
        return FileStore(self._store_url)

    def asked(self, version: str | None) -> str:
        """Return the name of the version that a question is about, with a note where it is a
        candidate that was not named."""
        is_named = version not in (None, LATEST)
        row = self.registry.version(version if is_named else None)
        if not is_named and row.released_at is None:
            click.echo(
                f"catalog: version {row.name} is a candidate: no version is released yet "
                f"(`catalog resolve {row.name}` shows its gates)",
                err=True,
            )
        return row.name

    def lineage(self, version: str | None) -> "Lineage":
        """Open the lineage of the version that a question is about."""
        from catalog.lineage import Lineage

        return Lineage(self.registry, self.store, self.asked(version))


Command = Callable[..., Any]


def placed(command: Command) -> Command:
    """Give a command its `place`, from the usual options."""

    @functools.wraps(command)
    def run(home: str, catalog_url: str | None, store_url: str | None, **rest: Any) -> Any:
        return command(place=Place(home, catalog_url, store_url), **rest)

    for option in (
        click.option(
            "--home",
            envvar="CORPUS_HOME",
            default=".corpus",
            show_default=True,
            help="Home folder: catalog.db and store.",
        ),
        click.option(
            "--store-url", envvar="CORPUS_STORE_URL", help="URL of the store [HOME/store]."
        ),
        click.option(
            "--catalog-url",
            envvar="CORPUS_CATALOG_URL",
            help="URL of the database [HOME/catalog.db].",
        ),
    ):
        run = option(run)
    return run


version_option = click.option(
    "--version",
    help="Version [the newest released one or, if there is none, the newest candidate].",
)
