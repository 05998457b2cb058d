"""Licences that documents state themselves, as SPDX identifiers or expressions.

A page under Creative Commons says so by the address of the licence's deed. One marked as the
page's own (`rel="license"`, `property="cc:license"`, a `<meta>` or JSON-LD `license`) speaks for
the page; plain links count only where all of them name the same licence, since pages also link
to the licences of single pictures.
"""

import re
from collections.abc import Sequence

from corpus_assets.kernels.landmarks import find_landmarks
from corpus_assets.sources.spdx import parse

UNKNOWN = "unknown"
SPDX_SCAN_CHARS = 4096
TAG_BYTES = 1024

_DEED = re.compile(
    rb"creativecommons\.org\\?/(?:licenses\\?/([a-z+-]{2,15})\\?/(\d\.\d)(?:\\?/([a-z]{2,3})\b)?|"
    rb"publicdomain\\?/(zero|mark)\\?/(\d\.\d)|licenses\\?/(publicdomain)\b)"
)
_OWN = re.compile(
    rb"\b(?:rel|property|itemprop|name)\s*=\s*[\"']?[^\"'>]{0,64}\b(?:license|licence|rights)\b"
)
_JSON_KEY = re.compile(rb"\"license\"\s*:\s*\{?[^{}]{0,64}\"\Z")
_LINKS = (b"<a", b"<link", b"<area")
_KINDS = frozenset(["by", "by-sa", "by-nd", "by-nc", "by-nc-sa", "by-nc-nd", "sa", "nd", "nc"])
_OLD_ORDER = {"by-nd-nc": "by-nc-nd", "by-sa-nc": "by-nc-sa"}
_PORTED = frozenset(
    [
        "CC-BY-2.5-AU", "CC-BY-3.0-AT", "CC-BY-3.0-AU", "CC-BY-3.0-DE", "CC-BY-3.0-IGO",
        "CC-BY-3.0-NL", "CC-BY-3.0-US", "CC-BY-NC-3.0-DE", "CC-BY-NC-ND-3.0-DE",
        "CC-BY-NC-ND-3.0-IGO", "CC-BY-NC-SA-2.0-DE", "CC-BY-NC-SA-2.0-FR", "CC-BY-NC-SA-2.0-UK",
        "CC-BY-NC-SA-3.0-DE", "CC-BY-NC-SA-3.0-IGO", "CC-BY-ND-3.0-DE", "CC-BY-SA-2.0-UK",
        "CC-BY-SA-2.1-JP", "CC-BY-SA-3.0-AT", "CC-BY-SA-3.0-DE", "CC-BY-SA-3.0-IGO",
    ]
)  # fmt: skip
"""The ports SPDX has a name for; the others go by the name of what they are ports of."""
_SPDX = re.compile(r"SPDX-License-Identifier:[ \t]*([^\r\n]{1,300})")
_AFTER_SPDX = re.compile(r"[ \t]*(?:\*+/|-->|\*\)|#\}|%>|\"|')")


def page_licence(markup: bytes, hosts: Sequence[int] | None = None) -> str | None:
    """SPDX id of the Creative Commons licence a page declares; None where it does not.

    `hosts` are the places where the licences' host stands, where they are known; so many of them
    are looked at as `find_landmarks` gives, a kilobyte to each side.
    """
    declared: set[str] = set()
    linked: set[str] = set()
    for place in find_landmarks(markup).hosts if hosts is None else hosts:
        begin = max(0, place - TAG_BYTES)
        around = markup[begin : place + TAG_BYTES].lower()
        at = place - begin
        deed = _DEED.match(around, at)
        spdx = _deed_spdx(deed) if deed else None
        if spdx is None:
            continue
        start = around.rfind(b"<", 0, at)
        kind = (around[start : start + 6].split(None, 1) or [b""])[0] if start >= 0 else b""
        if kind in _LINKS or kind == b"<meta":
            end = around.find(b">", at)
            if _OWN.search(around[start : end if end >= 0 else len(around)]):
                declared.add(spdx)
            elif kind != b"<meta":
                linked.add(spdx)
        elif _in_json(around, at):
            declared.add(spdx)
    named = declared or linked
    return next(iter(named)) if len(named) == 1 else None


def text_licence(text: str) -> str | None:
    """The expression of an `SPDX-License-Identifier` line near the top of a text; None where
    there is none, or where it is no expression."""
    found = _SPDX.search(text, 0, SPDX_SCAN_CHARS)
    if found is None:
        return None
    expression = " ".join(_AFTER_SPDX.split(found[1], maxsplit=1)[0].split())
    return expression if parse(expression) is not None else None


def _in_json(markup: bytes, at: int) -> bool:
    """Whether an address is the value of a JSON-LD `license`, or the `@id` or `url` in it."""
    before = markup[max(0, at - 160) : at]
    quote = before.rfind(b'"')
    return quote >= 0 and _JSON_KEY.search(before, 0, quote + 1) is not None


def _deed_spdx(deed: re.Match[bytes]) -> str | None:
    kind, version, port, public, public_version, dedication = (
        group.decode("ascii") if group else "" for group in deed.groups()
    )
    if dedication:
        return "CC-PDDC"
    if public:
        names = {"zero": "CC0-1.0", "mark": "CC-PDM-1.0"}
        return names[public] if public_version == "1.0" else None
    kind = _OLD_ORDER.get(kind, kind)
    if kind not in _KINDS:
        return None
    name = f"CC-{kind.upper()}-{version}"
    ported = f"{name}-{port.upper()}"
    return ported if ported in _PORTED else name
