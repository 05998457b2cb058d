"""JSON to dataclasses and back, strictly: every field of its type, none missing, none unknown.

What a field's values may be beyond their type is the dataclass's own affair, in `__post_init__`. A
field that has a default is left out of the JSON where it has that value.
"""

import functools
import json
import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from corpus_loader.errors import FieldError

Kind = TypeVar("Kind")
Reader = Callable[[Any], Any]


def from_json(kind: type[Kind], value: Any) -> Kind:
    """Return a dataclass from what `json.loads` gave; `FieldError` says where it is wrong."""
    whole: Any = kind  # mypy takes no class for hashable
    found: Kind = _reader(whole)(value)
    return found


def to_json(value: Any) -> Any:
    """Return what `json.dumps` takes, of a dataclass and of all that its fields hold."""
    if hasattr(value, "__dataclass_fields__"):
        return {
            name: to_json(held)
            for name, default in _defaults(value.__class__).items()
            if (held := getattr(value, name)) != default
        }
    if isinstance(value, tuple):
        return [to_json(each) for each in value]
    return value


def at_least(part: Any, least: int, *names: str) -> None:
    """Refuse a number below `least` in any of some fields."""
    for name in names:
        value = getattr(part, name)
        if value < least:
            raise FieldError(f"{value} is below {least}", name)


@functools.cache
def _defaults(kind: Any) -> dict[str, Any]:
    """Return each field's default, by name; `MISSING` where it has none."""
    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(kind)
    }


@functools.cache
def _reader(kind: Any) -> Reader:
    if is_dataclass(kind):
        return _object_reader(kind)
    if get_origin(kind) is Literal:
        return _choice_reader(get_args(kind))
    if get_origin(kind) is tuple:
        return _list_reader(_reader(get_args(kind)[0]))
    if get_origin(kind) is dict:
        return _mapping_reader(_reader(get_args(kind)[1]))
    if kind is float:
        return _number_reader
    return _plain_reader(kind, {int: "a whole number", str: "text"}[kind])


def _object_reader(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    readers = {name: _reader(hints[name]) for name in _defaults(kind)}
    needed = [name for name, default in _defaults(kind).items() if default is MISSING]

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise FieldError(f"{_short(value)} is not an object")
        for name in needed:
            if name not in value:
                raise FieldError("it is missing", name)
        held = {}
        for name, inner in value.items():
            if name not in readers:
                raise FieldError("this format has no such field", name)
            try:
                held[name] = readers[name](inner)
            except FieldError as error:
                raise error.within(name) from None
        return kind(**held)

    return read


def _choice_reader(choices: tuple[Any, ...]) -> Reader:
    def read(value: Any) -> Any:
        if value not in choices:
            raise FieldError(f"{_short(value)} is none of {', '.join(map(str, choices))}")
        return value

    return read


def _list_reader(of_one: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise FieldError(f"{_short(value)} is not a list")
        held = []
        for number, inner in enumerate(value):
            try:
                held.append(of_one(inner))
            except FieldError as error:
                raise error.within(str(number)) from None
        return tuple(held)

    return read


def _mapping_reader(of_one: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise FieldError(f"{_short(value)} is not an object")
        held = {}
        for name, inner in value.items():
            try:
                held[name] = of_one(inner)
            except FieldError as error:
                raise error.within(name) from None
        return held

    return read


def _plain_reader(kind: type, called: str) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:  # True is no number
            raise FieldError(f"{_short(value)} is not {called}")
        return value

    return read


def _number_reader(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):  # True is no number
        raise FieldError(f"{_short(value)} is not a number")
    return float(value)


def _short(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False)
    return written if len(written) <= 40 else f"{written[:37]}..."
