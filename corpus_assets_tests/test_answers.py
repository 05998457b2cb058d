"""Every command of both programs answers with a dataclass, and no command is in both."""

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import click
import pytest

from catalog.answers import Rows, parts_of
from catalog.cli.commands import main as catalog
from corpus_assets.cli.main import cli as corpus

SERVE = {"catalog serve", "corpus ui"}
"""They run until they are stopped."""


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if not isinstance(command, click.Group):
            yield f"{path} {name}", command
            continue
        if command.invoke_without_command:
            yield f"{path} {name}", command
        yield from commands(command, f"{path} {name}")


ALL = dict([*commands(catalog, "catalog"), *commands(corpus, "corpus")])
ANSWERING = sorted(ALL.keys() - SERVE)


def layers(callback: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """A command's callback, and what it wraps, to the function that was written."""
    while True:
        yield callback
        if not hasattr(callback, "__wrapped__"):
            return
        callback = callback.__wrapped__


@functools.cache
def named_in(module: str) -> dict[str, Any]:
    """The names of a module, those that it imports for its types alone among them."""
    found: dict[str, Any] = {}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module, "exec"), found)
    return found | vars(sys.modules[module])


def answers_of(command: click.Command) -> list[Any]:
    """The types that a command's function says it returns."""
    assert command.callback is not None
    *_, function = layers(command.callback)
    hint = get_type_hints(function, named_in(function.__module__))["return"]
    some = get_args(hint) if get_origin(hint) not in (Rows, Mapping, dict, list) else (hint,)
    return [one for one in some or (hint,) if one is not NoneType]


def dataclass_of(answer: Any) -> Any:
    """The dataclass of an answer, or of the rows of a list."""
    return get_args(answer)[-1] if get_origin(answer) is not None else answer


@pytest.mark.parametrize("name", ANSWERING)
def test_a_command_returns_a_dataclass_with_its_fields_in_json(name: str) -> None:
    command = ALL[name]
    assert command.callback is not None
    assert any(hasattr(layer, "is_answering") for layer in layers(command.callback))
    assert "--json" in [option for given in command.params for option in given.opts]
    answers = answers_of(command)
    assert answers
    for answer in answers:
        kind = dataclass_of(answer)
        assert is_dataclass(kind), kind
        assert kind.__dataclass_params__.frozen, kind
        in_json = [part.name for part in parts_of(kind)]
        assert in_json[: len(fields(kind))] == [field.name for field in fields(kind)]


def test_what_serves_answers_to_browsers_and_has_no_json() -> None:
    assert ALL.keys() >= SERVE
    for name in SERVE:
        assert "--json" not in [option for given in ALL[name].params for option in given.opts]


def test_no_command_is_in_both_programs() -> None:
    names = {program: {name.partition(" ")[2] for name in ALL if name.startswith(program)}
             for program in ("catalog", "corpus")}  # fmt: skip
    assert len(names["catalog"]) > 20
    assert not names["catalog"] & names["corpus"]
