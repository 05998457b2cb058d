"""Where recipes are: by path, or with the project."""

from importlib import resources
from pathlib import Path

from corpus_assets.core.errors import RecipeError


def find_recipe(name: str) -> Path:
    """A recipe by path, or by the name of one that ships with the project."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.exists():
        return path.resolve()
    shipped = shipped_file(f"recipes/{name}.yaml")
    if shipped is None:
        raise RecipeError(
            f"{name}: neither a recipe file nor a recipe that ships with corpus-assets"
        )
    return shipped


def shipped_file(relative: str) -> Path | None:
    """A file of the project, from the installed package or from a source checkout."""
    package = Path(str(resources.files("corpus_assets")))
    for base in (package, package.parent):
        if (base / relative).is_file():
            return base / relative
    return None
