"""Licences that documents state themselves, as SPDX identifiers.

A page under Creative Commons says so by a link to the licence's deed. Links marked
`rel="license"` speak for the page; plain links count only where all of them name the same
licence, since pages also link to the licences of single pictures.
"""

import re

UNKNOWN = "unknown"
SPDX_SCAN_CHARS = 4096
MAX_LINK_TAGS = 256

_MARK = b"creativecommons.org/"
_DEED = re.compile(
    rb"href\s*=\s*[\"']?(?:https?:)?//(?:www\.)?creativecommons\.org/"
    rb"(?:licenses/([a-z+-]{2,15})/(\d\.\d)(?:/([a-z]{2,3}))?|publicdomain/(zero|mark)/(\d\.\d))"
)
_REL = re.compile(rb"\brel\s*=\s*[\"']?[^\"'>]{0,64}\blicense\b")
_KINDS = frozenset(["by", "by-sa", "by-nd", "by-nc", "by-nc-sa", "by-nc-nd", "sa", "nd", "nc"])
_SPDX = re.compile(r"SPDX-License-Identifier:\s*\(?([A-Za-z0-9.+-]{1,64})(\s+(?:OR|AND|WITH)\s)?")


def page_licence(markup: bytes) -> str | None:
    """SPDX id of the Creative Commons licence a page declares; None where it does not.

    `markup` is in lower case. Pages without the words cost one search.
    """
    if _MARK not in markup:
        return None
    declared: set[str] = set()
    linked: set[str] = set()
    at = markup.find(_MARK)
    for _ in range(MAX_LINK_TAGS):
        if at < 0:
            break
        start = markup.rfind(b"<", max(0, at - 1024), at)
        end = markup.find(b">", at, at + 1024)
        if start >= 0 and markup[start : start + 5].split(None, 1)[0] in (b"<a", b"<link"):
            tag = markup[start : end if end >= 0 else at + 1024]
            deed = _DEED.search(tag)
            spdx = _spdx(deed) if deed else None
            if spdx is not None:
                (declared if _REL.search(tag) else linked).add(spdx)
        at = markup.find(_MARK, at + len(_MARK))
    named = declared or linked
    return next(iter(named)) if len(named) == 1 else None


def text_licence(text: str) -> str | None:
    """The one identifier of an `SPDX-License-Identifier` line near the top of a text.

    Compound expressions are left alone: they are not one licence.
    """
    found = _SPDX.search(text, 0, SPDX_SCAN_CHARS)
    return found[1] if found and not found[2] else None


def _spdx(deed: re.Match[bytes]) -> str | None:
    kind, version, _, public, public_version = (
        group.decode("ascii") if group else "" for group in deed.groups()
    )
    if public == "zero":
        return f"CC0-{public_version}"
    if public == "mark":
        return "CC-PDM-1.0" if public_version == "1.0" else None
    return f"CC-{kind.upper()}-{version}" if kind in _KINDS else None
