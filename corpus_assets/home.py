"""Where things live: home, store and catalog, from the command line or the environment.

None of it is part of any identity: the same recipe gives the same bytes in every home.
"""

import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_HOME = ".corpus"


@dataclass(frozen=True)
class Home:
    root: Path
    store_url: str
    catalog_url: str

    @classmethod
    def resolve(cls, home: str | None = None) -> "Home":
        """`home` wins over CORPUS_HOME; the URLs default to places inside it."""
        root = Path(home or os.environ.get("CORPUS_HOME") or DEFAULT_HOME).expanduser().resolve()
        inside = home is None
        store = os.environ.get("CORPUS_STORE_URL") if inside else None
        catalog = os.environ.get("CORPUS_CATALOG_URL") if inside else None
        return cls(root, store or str(root / "store"), catalog or f"sqlite:///{root}/catalog.db")

    @property
    def demo_sources(self) -> Path:
        return self.root / "demo-sources"

    @property
    def dagster(self) -> Path:
        return self.root / "dagster"

    @property
    def models(self) -> Path:
        return self.root / "models"
