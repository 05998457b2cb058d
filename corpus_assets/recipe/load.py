"""Finding and reading recipes: a YAML file, what `--set` and fallbacks change in it, and its mistakes.

A mistake gives one line that names the file, the key and what is expected there.
"""

import re
from collections.abc import Callable
from copy import deepcopy
from difflib import get_close_matches
from functools import cache
from importlib import resources
from itertools import takewhile
from pathlib import Path
from textwrap import shorten
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Settings
from corpus_assets.recipe.recipe import ALL, USE_FALLBACKS, Recipe
from corpus_assets.select import check_columns, read_language_tables


class _OneOfEachKey:
    """YAML takes the last of two equal keys and says nothing; a recipe must not."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"duplicate key {key.value!r}", key.start_mark
                    )
                seen.add(key.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)  # type: ignore[misc]
        return mapping


class _Loader(_OneOfEachKey, yaml.SafeLoader):
    """Slow, and says best what is wrong."""


class _FastLoader(_OneOfEachKey, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads what is right ten times as fast, where PyYAML was built with its parser in C."""


def _read_yaml(text: str) -> Any:
    try:
        return yaml.load(text, _FastLoader)  # noqa: S506, a safe one
    except yaml.YAMLError:
        return yaml.load(text, _Loader)  # noqa: S506, a safe one


def load_recipe(
    path: Path,
    overrides: dict[str, Any] | None = None,
    complete: Callable[[dict[str, Any]], None] | None = None,
) -> Recipe:
    """Read a recipe file; `overrides` maps dotted keys to values (`--set a.b=1`).

    `complete` may add what is known elsewhere (snapshots) before the recipe is frozen.
    """
    try:
        raw = _read_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RecipeError(f"{path}: no such recipe file") from error
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: not a text file in UTF-8 ({error.reason})") from error
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" at line {where.line + 1}" if where else ""
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise RecipeError(f"{path}: not valid YAML{line}: {problem}") from error
    if not isinstance(raw, dict):
        raise RecipeError(f"{path}: expected a mapping of recipe keys at the top level")
    changes = dict(overrides or {})
    _put_fallbacks(raw, changes.pop(USE_FALLBACKS, raw.get(USE_FALLBACKS)), path)
    for key, value in changes.items():
        _override(raw, key, value, path)
    if complete is not None:
        complete(raw)
    try:
        read_language_tables(raw, path.parent)
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}") from error
    return parse_recipe(raw, str(path))


def _put_fallbacks(raw: dict[str, Any], asked: Any, path: Path) -> None:
    """Make the changes of the fallbacks that are asked for; what `--set` says comes after them."""
    known = raw.get("fallbacks")
    if not asked or not isinstance(known, dict):
        return
    names = list(known) if asked == [ALL] else asked
    for name in names if isinstance(names, list) else ():
        changes = known[name].get("changes") if isinstance(known.get(name), dict) else None
        for key, value in changes.items() if isinstance(changes, dict) else ():
            _override(raw, key, deepcopy(value), path)
    raw[USE_FALLBACKS] = names


def changed_recipe(recipe: Recipe, overrides: dict[str, Any], where: str) -> Recipe:
    """Change some dotted keys of a recipe that was read before."""
    raw = recipe.model_dump(mode="json")
    for key, value in overrides.items():
        _override(raw, key, value, Path(where))
    return parse_recipe(raw, where)


def value_at(recipe: Recipe, key: str) -> Any:
    """Return what a recipe has at a dotted key, as `--set` names it; None where there is nothing."""
    node: Any = recipe.model_dump(mode="json")
    for name in key.split("."):
        if isinstance(node, list):
            node = node[_index(node, name, key, Path(recipe.name))]
        elif isinstance(node, dict):
            node = node.get(name)
        else:
            return None
    return node


def parse_recipe(raw: dict[str, Any], where: str) -> Recipe:
    try:
        recipe = Recipe.model_validate(raw)
        recipe.selection.check(recipe.signals.columns())
        check_columns(recipe.shards.group_by, recipe.signals.columns())
    except ValidationError as error:
        raise RecipeError(_one_line(error, where)) from error
    except RecipeError as error:
        raise RecipeError(f"{where}: {error}") from error
    return recipe


def _override(raw: dict[str, Any], key: str, value: Any, path: Path) -> None:
    *parents, last = key.split(".")
    node: Any = raw
    for name in parents:
        node = _child(node, name, key, path)
    if isinstance(node, list):
        node[_index(node, last, key, path)] = value
    elif isinstance(node, dict):
        node[last] = value
    else:
        raise RecipeError(f"{path}: --set {key}: {'.'.join(parents)} is not a mapping")


def _child(node: Any, name: str, key: str, path: Path) -> Any:
    if isinstance(node, list):
        return node[_index(node, name, key, path)]
    if isinstance(node, dict):
        return node.setdefault(name, {})
    raise RecipeError(f"{path}: --set {key}: {name} is not inside a mapping")


def _index(node: list[Any], name: str, key: str, path: Path) -> int:
    """Step into a value; a list is entered by position, or by the `name` or `family` of an
    entry."""
    for called in ("name", "family"):
        for i, entry in enumerate(node):
            if isinstance(entry, dict) and entry.get(called) == name:
                return i
    if name.isdigit() and int(name) < len(node):
        return int(name)
    raise RecipeError(f"{path}: --set {key}: there is no entry {name!r}")


def _one_line(error: ValidationError, where: str) -> str:
    """Describe the first problem as `file: key: what is expected`, and how many more there are."""
    found = error.errors(include_url=False)
    problems = [p for p in found if not _is_other_form(p)] or found
    first = problems[0]
    key = ".".join(str(part) for part in first["loc"] if not _is_form(part))
    if first["type"] == "extra_forbidden":
        text = "unknown key; remove it or correct its spelling"
    else:
        text = first["msg"].removeprefix("Value error, ")
        if first["type"] not in ("missing", "value_error") and not isinstance(
            first["input"], dict | list
        ):
            text += f", got {first['input']!r}"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{where}: {key}: {text}{more}" if key else f"{where}: {text}{more}"


def _is_form(part: int | str) -> bool:
    """Whether a step to a problem is none of the recipe's: the name of one of several forms."""
    name = str(part)
    return "[" in name or name in ("str", "int", "float", "bool") or name in _names(Settings)


def _is_other_form(problem: ErrorDetails) -> bool:
    """Whether a problem is only that a value of several forms is not in this one: a mapping is no
    string, and a string no mapping."""
    is_about_form = problem["type"] in ("string_type", "model_type", "dict_type")
    of_several = any(_is_form(part) for part in problem["loc"][1:])
    return is_about_form and of_several and isinstance(problem["input"], str | dict)


@cache
def _names(settings: type[Settings]) -> frozenset[str]:
    below = [_names(each) for each in settings.__subclasses__()]
    return frozenset({settings.__name__}).union(*below)


# Finding a recipe.


def find_recipe(name: str) -> Path:
    """Find a recipe by path, or by the name of one that ships with the project."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.exists():
        return path.resolve()
    shipped = shipped_file(f"recipes/{name}.yaml")
    if shipped is None:
        known = shipped_recipes()
        close = get_close_matches(name, known, n=3, cutoff=0.7)
        hint = f"did you mean {' or '.join(close)}?" if close else "`corpus recipes` lists those"
        raise RecipeError(
            f"{name}: neither a recipe file nor a recipe that ships with corpus-assets; {hint}"
        )
    return shipped


def shipped_recipes() -> dict[str, str]:
    """Return the names of all recipes that ship with the project, and the first sentence of each."""
    demo = shipped_file("recipes/demo.yaml")
    folder = [] if demo is None else sorted(demo.parent.glob("*.yaml"))
    return {path.stem: _first_sentence(path.read_text(encoding="utf-8")) for path in folder}


def _first_sentence(recipe: str) -> str:
    lines = takewhile(lambda line: line.startswith("#"), recipe.splitlines())
    text = " ".join(line.lstrip("# ") for line in lines)
    sentence = re.split(r"(?<!\bal)\.(?= |$)", text, maxsplit=1)[0]
    return shorten(sentence, 100, placeholder=" ...")


def shipped_file(relative: str) -> Path | None:
    """Find a file of the project, in the installed package or in a source checkout."""
    package = Path(str(resources.files("corpus_assets")))
    for base in (package, package.parent):
        if (base / relative).is_file():
            return base / relative
    return None
