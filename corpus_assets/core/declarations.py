"""Files that are found by being there: which module declares a name.

Their text is looked at, and a module is imported when its name is asked for: a recipe with one
signal does not import all signals.
"""

import re
from collections.abc import Iterable
from pathlib import Path


def modules_by_name(pattern: str, package: str, folders: Iterable[str]) -> dict[str, str]:
    """Modules of a package by the names that they declare; `pattern` finds a declaration."""
    found: dict[str, str] = {}
    for folder in folders:
        for file in sorted(Path(folder).glob("*.py")):
            for name in re.findall(pattern, file.read_text(encoding="utf-8"), re.MULTILINE):
                module = f"{package}.{file.stem}"
                if found.setdefault(name, module) != module:
                    raise ValueError(f"{module}: there is a {name!r} already, in {found[name]}")
    return found
