"""How a recipe names a model that is not trained in the graph."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from corpus_assets.core.identity import Settings

LabelEngine = Literal["kernels", "fasttext"]


class ModelChoice(Settings):
    """An installed model by its name, or a file or folder of one's own by path and digest."""

    name: str | None = Field(
        default=None,
        description="an installed model; a bare name instead of these settings means the same",
    )
    path: str | None = Field(
        default=None, description="instead of `name`: your own file or folder; requires `sha256`"
    )
    sha256: str | None = Field(
        default=None,
        description="expected digest; null: that of the installed model",
    )

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        if (self.name is None) == (self.path is None):
            raise ValueError("set either `name` or `path`")
        if self.path is not None and self.sha256 is None:
            raise ValueError("a model by path needs its `sha256`")
        return self

    def identity(self) -> dict[str, Any]:
        """Return what it is: never where it lies."""
        return self.model_dump(mode="json", exclude={"path"}, exclude_none=True)

    def __str__(self) -> str:
        return self.name or str(self.path)


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


Model = Annotated[ModelChoice, BeforeValidator(_named)]
"""A model as a recipe names it; a string is the name of an installed one."""

INSTALLED = "model://"
"""Begins the places of installed lists, where a recipe could name a path."""


def installed_part(location: str) -> tuple[str, str]:
    """Return the name of the installed list that a location names, and the path inside it; the name
    is empty where it names none."""
    if not location.startswith(INSTALLED):
        return "", ""
    name, _, inside = location.removeprefix(INSTALLED).partition("/")
    return name, inside
