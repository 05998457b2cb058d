"""Places that move with a home: what lies inside it is written down relative to it.

A home may be copied, moved, renamed or mounted elsewhere. An absolute path into it would then lead
to the old place, or nowhere, so records name such files as `home:demo-sources/a.warc.gz`.
"""

import os
from pathlib import Path

SCHEME = "home:"


def portable(uri: str, home: Path | None) -> str:
    """Return how to record a place: `home:...` where it is inside the home, else as it is.

    A link inside the home counts as inside, wherever it leads.
    """
    path = uri.removeprefix("file://")
    if home is None or "://" in path or path.startswith(SCHEME):
        return uri
    for whole in (os.path.abspath(path), os.path.realpath(path)):
        for root in (os.path.abspath(home), os.path.realpath(home)):
            if whole == root or whole.startswith(root.rstrip("/") + "/"):
                return SCHEME + os.path.relpath(whole, root)
    return uri


def located(uri: str, home: Path | None) -> str:
    """Return where a recorded place is now: below this home, or as it was recorded."""
    if home is None or not uri.startswith(SCHEME):
        return uri
    return os.path.normpath(os.path.join(os.path.abspath(home), uri.removeprefix(SCHEME)))
