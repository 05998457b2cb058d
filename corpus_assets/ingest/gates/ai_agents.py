"""Who trains on what it fetches: product tokens of agents, with their purpose.

`ai_agents.csv` comes with the program: what operators say of their crawlers, with the page where
it stands (`published`). A recipe can name agents of its own. The names are part of the recipe's
identity, so a newer list changes nothing that was built before.
"""

import csv
import re
from functools import lru_cache
from importlib.resources import files

_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


def checked_token(agent: str) -> str:
    """Return an agent's product token (RFC 9309, section 2.2.1, and digits); ValueError for
    another."""
    if _TOKEN.fullmatch(agent) is None:
        raise ValueError(f"agent {agent!r}: write the product token, such as GPTBot")
    return agent


@lru_cache(maxsize=1)
def training_agents() -> tuple[str, ...]:
    """Return the names of those that train, in alphabetical order."""
    with files("corpus_assets.ingest.gates").joinpath("ai_agents.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    return tuple(sorted((r["name"] for r in rows if r["purpose"] == "training"), key=str.lower))
