"""The one rule for names of versions, snapshots, sources and domains.

They become folders, keys of a bucket, partition keys and words on a page, and people write them.
"""

import re

from catalog.errors import BadName

MAX_LETTERS = 100
_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]*")
_TAKEDOWN = re.compile(r"\.td\d{1,6}$")


def check_name(what: str, name: str) -> str:
    """Return the name itself; `BadName` says what is wrong with one for a `what`.

    A takedown gives versions an ending (`.td1`): it comes on top of the letters they may have.
    """
    base = _TAKEDOWN.sub("", name) if what == "version" else name
    if not _NAME.fullmatch(name) or len(base) > MAX_LETTERS:
        shown = name if len(name) <= MAX_LETTERS else f"{name[:20]}..."
        raise BadName(
            f"{shown!r} is not a valid name for a {what}: use letters from a to z, digits, '.', '_' and '-', "
            f"a letter or digit first, no two dots in a row, {MAX_LETTERS} letters at most"
        )
    return name
