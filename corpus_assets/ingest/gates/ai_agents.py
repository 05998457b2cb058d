"""Who trains on what it fetches: a list of product tokens with their purpose, pinned by digest.

`ai_agents.csv` comes with the program: what operators say of their crawlers, with the page where
it stands (`published`). A recipe can name a file of its own. It is read when the recipe is, and
from then on digest and names are part of the recipe: identity, lock and published recipe hold
them, so the file is needed only once, and a newer list changes nothing that was built before.
"""

import csv
import hashlib
import re
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator

from corpus_assets.core.errors import RecipeError
from corpus_assets.core.identity import Settings

PURPOSES = ("training", "search", "user-fetch")
KEY = "documents.gates.optout.ai_agents"

_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


def checked_token(agent: str) -> str:
    """Return an agent's product token (RFC 9309, section 2.2.1, and digits); ValueError for
    another."""
    if _TOKEN.fullmatch(agent) is None:
        raise ValueError(f"agent {agent!r}: write the product token, such as GPTBot")
    return agent


class AiAgents(Settings):
    """Agents whose own directives count as refusals of training."""

    file: str | None = Field(
        default=None,
        description="a CSV file with the columns `name` and `purpose` (`training`, `search` or "
        "`user-fetch`), instead of the built-in list",
    )
    sha256: str = Field(default="", description="of that list; filled in when it is read")
    training: tuple[str, ...] = Field(
        default=(), description="its agents that train; filled in when it is read"
    )

    @field_validator("training")
    @classmethod
    def _tokens(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(checked_token(agent) for agent in value)

    @model_validator(mode="after")
    def _is_read(self) -> "AiAgents":
        if self.file is not None:
            raise ValueError("`file` is read with the recipe's file; load the recipe from there")
        return self


@lru_cache(maxsize=1)
def usual_agents() -> AiAgents:
    """Return the list that comes with the program."""
    return _parsed(files("corpus_assets.ingest.gates").joinpath("ai_agents.csv").read_bytes(), "")


def read_ai_agents(recipe: dict[str, Any], folder: Path) -> None:
    """Replace the `file` of a raw recipe's list of agents by what it says; paths start at `folder`.

    What is not shaped like settings is left for the settings' own check to refuse.
    """
    node: Any = recipe
    for name in KEY.split("."):
        node = node.get(name) if isinstance(node, dict) else None
    if not isinstance(node, dict) or not isinstance(node.get("file"), str):
        return
    path = folder / Path(node.pop("file")).expanduser()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecipeError(f"{KEY}: {path} cannot be read: {error.strerror}") from error
    node.update(_parsed(data, f"{KEY}: {path.name}").model_dump(mode="json", exclude={"file"}))


def _parsed(data: bytes, where: str) -> AiAgents:
    training: dict[str, str] = {}
    try:
        rows = csv.DictReader(data.decode("utf-8-sig").splitlines())
        for row in rows:
            name = checked_token((row.get("name") or "").strip())
            purpose = (row.get("purpose") or "").strip()
            if purpose not in PURPOSES:
                raise ValueError(f"{name}: purpose {purpose!r} is none of {', '.join(PURPOSES)}")
            if purpose == "training":
                training[name.lower()] = name
    except (ValueError, csv.Error) as error:
        raise RecipeError(f"{where}: {error}; write a CSV with name and purpose") from error
    names = tuple(training[key] for key in sorted(training))
    return AiAgents(sha256=hashlib.sha256(data).hexdigest(), training=names)
