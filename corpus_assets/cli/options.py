"""Options that several groups of the `corpus` command share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import yaml

from corpus_assets.core.errors import CorpusError

if TYPE_CHECKING:
    from corpus_assets.cli.build_view import LiveBars, PlainLog

HOME_OPTION = click.option(
    "--home", metavar="DIR", help="Where store and catalog live [env CORPUS_HOME; .corpus]."
)
SET_OPTION = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change one key of the recipe."
)
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


def overrides_of(settings: Sequence[str]) -> dict[str, Any]:
    """Parse `--set` options as dotted keys and YAML values."""
    overrides: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise CorpusError(f"--set {setting}: expected KEY=VALUE, for example seed=7")
        try:
            overrides[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise CorpusError(f"--set {setting}: the value is not valid YAML") from error
    return overrides


def display() -> "LiveBars | PlainLog":
    """Return what shows the progress of a build: bars on a terminal, else lines."""
    from rich.console import Console

    from corpus_assets.cli.build_view import LiveBars, PlainLog

    console = Console(stderr=True)
    if console.is_terminal:
        return LiveBars(console)
    return PlainLog(lambda line: click.echo(line, err=True))
