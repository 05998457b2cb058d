"""Other places for public files, as an operator configures them.

`CORPUS_MIRRORS` holds pairs `PREFIX=PLACE` with white space between them. A place that begins with
a prefix is looked for at the other place, with the rest of its name; the longest prefix counts:

    hf://=file:///srv/hub/ https://dl.fbaipublicfiles.com/=https://mirror.example/facebook/

What comes from a mirror must have the same digest. A mirror may lie on the local network: whoever
may set the environment has decided that.
"""

import os

from corpus_assets.core.errors import ModelError

MIRRORS = "CORPUS_MIRRORS"
FORMS = ("https://", "http://", "file:///", "s3://", "hf://")


def mirrored(place: str) -> str:
    """Return where a public place is looked for: at a mirror, or as it is."""
    prefixes = [prefix for prefix in _mirrors() if place.startswith(prefix)]
    if not prefixes:
        return place
    prefix = max(prefixes, key=len)
    return _mirrors()[prefix] + place.removeprefix(prefix)


def _mirrors() -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in os.environ.get(MIRRORS, "").split():
        prefix, _, place = pair.partition("=")
        if not prefix.startswith(FORMS) or not place.startswith(FORMS):
            raise ModelError(
                f"{MIRRORS} has {pair!r}: write PREFIX=PLACE, both of the form https://, file:///, "
                "s3:// or hf://, for example hf://=file:///srv/hub/"
            )
        found[prefix] = place
    return found
