"""A private copy of trafilatura's modules, so that some of their functions can be replaced.

Whoever imports `trafilatura` gets it untouched; the copy is the same source files loaded once
more under another package name. It exists only for releases whose sources were compared page by
page with the replacements (`VERIFIED`): another release, or a changed file, gives None, and the
caller uses the public function.
"""

import hashlib
import importlib
import importlib.util
import logging
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "trafilatura"
COPY = "_corpus_assets_trafilatura"
MODULES = (
    "baseline",
    "core",
    "deduplication",
    "external",
    "htmlprocessing",
    "main_extractor",
    "readability_lxml",
    "settings",
    "utils",
    "xml",
    "xpaths",
)
VERIFIED = frozenset(
    {
        "a002061b53ea6f50294cb177e8ce03f21b2212fa6f15b6cfa725cb27b220a80e",  # 2.3.1
    }
)
"""SHA-256 over the sources in `MODULES` and `settings.cfg` of each release that was compared."""

_LOCK = threading.Lock()


@dataclass(frozen=True)
class TrafilaturaCopy:
    """The modules whose functions are called or replaced."""

    baseline: Any
    core: Any
    external: Any
    htmlprocessing: Any
    main_extractor: Any
    readability_lxml: Any
    settings: Any
    utils: Any
    xml: Any
    xpaths: Any


def sources_digest() -> str | None:
    """Digest of the installed trafilatura's sources; None where they cannot be read."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    hasher = hashlib.sha256()
    for name in (*(f"{module}.py" for module in MODULES), "settings.cfg"):
        try:
            content = (folder / name).read_bytes()
        except OSError:
            return None
        hasher.update(len(content).to_bytes(8, "little"))
        hasher.update(content)
    return hasher.hexdigest()


def load_copy() -> TrafilaturaCopy | None:
    """Return the copy, the same in a whole process; None where the release was never compared."""
    with _LOCK:
        if COPY not in sys.modules:
            if sources_digest() not in VERIFIED:
                return None
            spec = importlib.util.find_spec(PACKAGE)
            if spec is None or spec.origin is None:
                return None
            package = ModuleType(COPY)
            package.__path__ = [str(Path(spec.origin).parent)]
            sys.modules[COPY] = package  # its own __init__ would load downloaders and crawlers
            # it reports every odd page as an error; here each becomes a counted reason instead
            logging.getLogger(COPY).setLevel(logging.CRITICAL)
        names = list(TrafilaturaCopy.__dataclass_fields__)
        return TrafilaturaCopy(
            **{name: importlib.import_module(f"{COPY}.{name}") for name in names}
        )
