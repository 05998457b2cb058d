"""Licences that documents state themselves, as SPDX identifiers or expressions.

A page under Creative Commons says so by the address of the licence's deed. Those marked as the
page's own (`rel="license"`, `property="cc:license"`, a `<meta>` or JSON-LD `license`) speak for
the page: it is under all of them, `CC-BY-4.0 AND CC-BY-NC-4.0`. Plain links count only where no
link is marked and all of them name the same licence, since pages also link to the licences of
single pictures, or list licences.
"""

import re
from collections.abc import Sequence

from corpus_assets.ingest.gates.spdx import parse_spdx
from corpus_assets.ingest.kernels.landmarks import find_landmarks

UNKNOWN_LICENCE = "unknown"
SPDX_SCAN_CHARS = 4096
TAG_BYTES = 1024

_DEED = re.compile(
    rb"creativecommons\.org/(?:licenses/([a-z+-]{2,15})/(\d\.\d)(?:/([a-z]{2,3})\b)?|"
    rb"publicdomain/(zero|mark)/(\d\.\d)|licenses/(publicdomain)\b)"
)
_SLASH = re.compile(rb"\\/|&#x2f;|&#47;|&sol;")
_UP_TO_HOST = re.compile(rb"(?:[\"']|//)(?:[a-z0-9-]{1,63}\.){0,3}\Z")
_UP_TO_HOST_BYTES = 128
_ELEMENT = re.compile(rb"<([a-z]+)")
_OWN = re.compile(
    rb"\b(?:rel|property|itemprop|name)\s*=\s*[\"']?[^\"'>]{0,64}\b(?:license|licence|rights)\b"
)
_OWN_ANYWHERE = re.compile(
    rb"\b(?:rel|property|itemprop)\s*=\s*[\"']?[^\"'>]{0,64}\b(?:license|licence)\b"
)
_JSON_KEY = re.compile(rb"\"license\"\s*:\s*\{?[^{}]{0,64}\"\Z")
_LINKS = (b"a", b"link", b"area")
_KINDS = frozenset(["by", "by-sa", "by-nd", "by-nc", "by-nc-sa", "by-nc-nd", "sa"])
_OLD_ORDER = {"by-nd-nc": "by-nc-nd", "by-sa-nc": "by-nc-sa"}
_NOT_IN_SPDX = {
    "nc": "NC", "nd": "ND", "nc-sa": "NC-SA", "nd-nc": "ND-NC", "sampling": "Sampling",
    "sampling+": "Sampling-Plus", "nc-sampling+": "NC-Sampling-Plus", "devnations": "DevNations",
}  # fmt: skip
"""Retired licences that SPDX has no id for. By a name of their own they are no allowed licence,
where by none they would be unknown."""
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
    """Return the Creative Commons licences a page declares, as SPDX expression; None where it does
    not.

    `hosts` are the places where the licences' host stands, where they are known; so many of them
    are looked at as `find_landmarks` gives, a kilobyte to each side.
    """
    declared: set[str] = set()
    linked: set[str] = set()
    for place in find_landmarks(markup).hosts if hosts is None else hosts:
        after = _SLASH.sub(b"/", markup[place : place + TAG_BYTES].lower())
        deed = _DEED.match(after)
        spdx = _deed_spdx(deed) if deed else None
        if spdx is None:
            continue
        before = _SLASH.sub(b"/", markup[max(0, place - TAG_BYTES) : place].lower())
        if not _UP_TO_HOST.search(before, max(0, len(before) - _UP_TO_HOST_BYTES)):
            continue  # the end of another host's name, or a part of its address
        tag = before[max(0, before.rfind(b"<")) :] + after.partition(b">")[0]
        element = _ELEMENT.match(tag)
        name = element[1] if element else b""
        if _is_own(tag, name) or _in_json(before):
            declared.add(spdx)
        elif name in _LINKS:
            linked.add(spdx)
    if declared:
        return " AND ".join(sorted(declared))
    return linked.pop() if len(linked) == 1 else None


def text_licence(text: str) -> str | None:
    """Return the expression of an `SPDX-License-Identifier` line near the top of a text; None where
    there is none, or where it is no expression."""
    found = _SPDX.search(text, 0, SPDX_SCAN_CHARS)
    if found is None:
        return None
    expression = " ".join(_AFTER_SPDX.split(found[1], maxsplit=1)[0].split())
    return expression if parse_spdx(expression) is not None else None


def _is_own(tag: bytes, name: bytes) -> bool:
    """Whether a tag, given up to the end of the address in or after it, marks it as the page's."""
    if name in _LINKS or name == b"meta":
        return _OWN.search(tag) is not None
    return name != b"" and _OWN_ANYWHERE.search(tag.partition(b">")[0]) is not None


def _in_json(before: bytes) -> bool:
    """Whether an address is the value of a JSON-LD `license`, or the `@id` or `url` in it."""
    before = before[-160:]
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
    if kind in _NOT_IN_SPDX:
        return f"LicenseRef-CC-{_NOT_IN_SPDX[kind]}-{version}"
    kind = _OLD_ORDER.get(kind, kind)
    if kind not in _KINDS:
        return None
    name = f"CC-{kind.upper()}-{version}"
    ported = f"{name}-{port.upper()}"
    return ported if ported in _PORTED else name
