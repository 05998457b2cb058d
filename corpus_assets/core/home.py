"""Where things live: home, store and catalog, from the command line or the environment.

None of it is part of any identity: the same recipe gives the same bytes in every home.
"""

import math
import os
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.core.errors import CorpusError

DEFAULT_HOME = ".corpus"


@dataclass(frozen=True)
class Home:
    root: Path
    store_url: str
    catalog_url: str
    catalog_busy_s: float = 30.0  # how long a write to the catalog waits for its turn
    keep_unpublished_days: float = 7.0  # how long a collection leaves what no version has yet

    @classmethod
    def resolve(cls, home: str | None = None) -> "Home":
        """`home` wins over CORPUS_HOME; the URLs, unless set, are places inside it."""
        root = Path(home or os.environ.get("CORPUS_HOME") or DEFAULT_HOME).expanduser().resolve()
        store = os.environ.get("CORPUS_STORE_URL")
        catalog = os.environ.get("CORPUS_CATALOG_URL")
        return cls(
            root,
            store or str(root / "store"),
            catalog or f"sqlite:///{root}/catalog.db",
            seconds("CORPUS_CATALOG_BUSY_S", cls.catalog_busy_s),
            number("CORPUS_KEEP_UNPUBLISHED_DAYS", cls.keep_unpublished_days, "days"),
        )

    @property
    def demo_sources(self) -> Path:
        return self.root / "demo-sources"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def dagster(self) -> Path:
        return self.root / "dagster"


def seconds(name: str, default: float) -> float:
    """Return a number of seconds from the environment."""
    return number(name, default, "seconds")


def number(name: str, default: float, unit: str) -> float:
    """Return a number from the environment, 0 or more; `unit` is what it counts."""
    text = os.environ.get(name, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise CorpusError(f"{name} is {text!r}; expected a number of {unit}, for example 30")
    return value
