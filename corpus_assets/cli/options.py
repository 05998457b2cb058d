"""Options that several groups of the `corpus` command share."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
import yaml

from corpus_assets.core.errors import CorpusError

USE_FALLBACKS = "use_fallbacks"  # a key of recipes

Command = TypeVar("Command", bound=Callable[..., Any])

HOME_OPTION = click.option(
    "--home", metavar="DIR", help="Home folder: store and catalog [env CORPUS_HOME; .corpus]."
)


def _remember(context: click.Context, _: click.Parameter, is_given: bool) -> None:
    context.meta[USE_FALLBACKS] = is_given


def recipe_options(command: Command) -> Command:
    """Let a command override recipe keys, and use fallbacks for models."""
    command = click.option(
        "--fallbacks",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="Use the recipe's fallbacks instead of published models.",
    )(command)
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Override a recipe key; repeatable.",
    )(command)


def engine_options(command: Command) -> Command:
    """Let a command choose where tasks run."""
    for option in reversed(
        (
            click.option(
                "--workers",
                type=click.IntRange(1),
                help="Worker processes [one per core]; on Ray, concurrent calls [two per CPU].",
            ),
            click.option(
                "--engine",
                type=click.Choice(["local", "ray"]),
                help="Where tasks run [env CORPUS_ENGINE; local].",
            ),
            click.option(
                "--ray-address",
                metavar="ADDRESS",
                help="The Ray cluster, HOST:PORT [env CORPUS_RAY_ADDRESS; one on this machine].",
            ),
        )
    ):
        command = option(command)
    return command


def overrides_of(settings: Sequence[str]) -> dict[str, Any]:
    """Parse `--set` options as dotted keys and YAML values; `--fallbacks` is one of them."""
    overrides: dict[str, Any] = {}
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.get(USE_FALLBACKS):
        overrides[USE_FALLBACKS] = ["all"]
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise CorpusError(f"--set {setting}: expected KEY=VALUE, for example seed=7")
        try:
            overrides[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise CorpusError(f"--set {setting}: the value is not valid YAML") from error
    return overrides
