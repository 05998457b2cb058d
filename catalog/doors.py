"""What a room exports is declared once, and a module is imported when one of its names is asked for.

A room's `__init__` imports its exports under `if TYPE_CHECKING:`, where editors, mypy and the import
linter read them, and takes `__getattr__` from here, which reads the same lines. So a recipe that
names the settings of a room does not import its kernels.
"""

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_exports(package: str, file: str) -> Callable[[str], Any]:
    """`__getattr__` of `package`: finds each name that `file` imports for type checkers."""

    @cache
    def modules() -> dict[str, str]:
        return exported(ast.parse(Path(file).read_text(encoding="utf-8")))

    def find(name: str) -> Any:
        if name.startswith("__") or name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules()[name]), name)

    return find


def exported(tree: ast.Module) -> dict[str, str]:
    """The module of each name that is imported under `if TYPE_CHECKING:`."""
    return {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        and isinstance(block.test, ast.Name)
        and block.test.id == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
