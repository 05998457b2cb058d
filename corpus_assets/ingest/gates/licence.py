"""Licences: SPDX expressions, what pages and texts declare, and what LICENSE files hold."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from corpus_assets.ingest.kernels.landmarks import find_landmarks

# SPDX licence expressions: `MIT OR (Apache-2.0 WITH LLVM-exception AND CC-BY-4.0)`.
#
# Read by SPDX 2.3, annex D: `WITH` binds tighter than `AND`, `AND` tighter than `OR`; identifiers
# are compared without regard to case, operators are in capitals or in small letters. Old names
# (`GPL-2.0`, `GPL-2.0+`) are read as the current ones.

MAX_EXPRESSION_CHARS = 1000
MAX_DEPTH = 32

_TOKEN = re.compile(r"\s*([()]|[A-Za-z0-9.:+-]{1,100})\s*")
_GNU = re.compile(r"((?:a|l)?gpl-\d\.\d|gfdl-\d\.\d)(\+?)", re.IGNORECASE)
_PORT = re.compile(r"(cc-(?:by|by-sa|by-nd|by-nc|by-nc-sa|by-nc-nd)-\d\.\d)-[a-z]{2,3}")


class Term(NamedTuple):
    """A licence (`names` is one identifier), or terms joined by AND or OR."""

    operator: Literal["AND", "OR"] | None
    names: tuple[str, ...]  # identifier, and the exception after WITH where there is one
    terms: tuple["Term", ...] = ()


class _Malformed(Exception):
    """Not an expression."""


@lru_cache(maxsize=4096)
def parse_spdx(expression: str) -> Term | None:
    """Return the expression as a tree; None when it is not one."""
    try:
        tokens = _tokens(expression)
        term, end = _alternatives(tokens, 0, 0)
    except _Malformed:
        return None
    return term if end == len(tokens) else None


def allows(expression: str, allowed: Iterable[str]) -> bool:
    """Whether what is allowed covers an expression: any side of an OR, both sides of an AND.

    A licence WITH an exception is covered by the licence alone: exceptions only permit more. A
    ported Creative Commons licence (`CC-BY-3.0-DE`) is covered by the one it is a port of.
    """
    names = frozenset(current_name(name) for name in allowed)
    term = parse_spdx(expression)
    return current_name(expression) in names if term is None else _allows(term, names)


def current_name(name: str) -> str:
    """An identifier in lower case, old names of the GNU licences by their current ones."""
    name = " ".join(name.split()).lower()
    old = _GNU.fullmatch(name)
    if old is not None:
        return f"{old[1]}-or-later" if old[2] else f"{old[1]}-only"
    return name


def _allows(term: Term, names: frozenset[str]) -> bool:
    if term.operator == "OR":
        return any(_allows(each, names) for each in term.terms)
    if term.operator == "AND":
        return all(_allows(each, names) for each in term.terms)
    name = current_name(term.names[0])
    if len(term.names) > 1 and f"{name} with {term.names[1].lower()}" in names:
        return True
    ported = _PORT.fullmatch(name)
    return name in names or (ported is not None and ported[1] in names)


def _tokens(expression: str) -> list[str]:
    if not expression.strip() or len(expression) > MAX_EXPRESSION_CHARS:
        raise _Malformed
    tokens, at = [], 0
    while at < len(expression):
        found = _TOKEN.match(expression, at)
        if found is None:
            raise _Malformed
        tokens.append(found[1])
        at = found.end()
    return tokens


def _alternatives(tokens: list[str], at: int, depth: int) -> tuple[Term, int]:
    return _joined(tokens, at, depth, "OR")


def _joined(
    tokens: list[str], at: int, depth: int, operator: Literal["AND", "OR"]
) -> tuple[Term, int]:
    terms = []
    while True:
        if operator == "OR":
            term, at = _joined(tokens, at, depth, "AND")
        else:
            term, at = _licence(tokens, at, depth)
        terms.append(term)
        if at >= len(tokens) or tokens[at] not in (operator, operator.lower()):
            return (terms[0] if len(terms) == 1 else Term(operator, (), tuple(terms))), at
        at += 1


def _licence(tokens: list[str], at: int, depth: int) -> tuple[Term, int]:
    name = _at(tokens, at)
    if name == "(":
        if depth >= MAX_DEPTH:
            raise _Malformed
        term, at = _alternatives(tokens, at + 1, depth + 1)
        if _at(tokens, at) != ")":
            raise _Malformed
        return term, at + 1
    if name == ")" or _is_operator(name):
        raise _Malformed
    if at + 1 < len(tokens) and tokens[at + 1] in ("WITH", "with"):
        exception = _at(tokens, at + 2)
        if exception in "()" or _is_operator(exception):
            raise _Malformed
        return Term(None, (name, exception)), at + 3
    return Term(None, (name,)), at + 1


def _at(tokens: list[str], at: int) -> str:
    if at >= len(tokens):
        raise _Malformed
    return tokens[at]


def _is_operator(token: str) -> bool:
    return token.upper() in ("AND", "OR", "WITH")


# Licences that documents state themselves, as SPDX identifiers or expressions.
#
# A page under Creative Commons says so by the address of the licence's deed. Those marked as the
# page's own (`rel="license"`, `property="cc:license"`, a `<meta>` or JSON-LD `license`) speak for
# the page: it is under all of them, `CC-BY-4.0 AND CC-BY-NC-4.0`. Plain links count only where no
# link is marked and all of them name the same licence, since pages also link to the licences of
# single pictures, or list licences.

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


# Which licence a LICENSE file holds, by short phrases that only that licence has.
#
# A licence is found when all its phrases stand in the text, letters and digits alone compared, and
# none of the phrases of a licence that quotes it. A file that holds several licences is under all
# of them (`A AND B`). Nothing is guessed: a text that no fingerprint fits has no licence here.

MAX_CHARS = 400_000
MAX_LICENCE_BYTES = 1 << 20

_NAME = re.compile(
    r"(?:licen[cs]es?|copying|unlicense)(?:[-_.](?!py$|js$|ts$|go$|c$|h$|rs$|java$|html?$)"
    r"[a-z0-9._+-]{1,40})?|(?:mit|apache|apache2|bsd|gpl|lgpl|mpl)[-_.]?licen[cs]e(?:\.(?:txt|md|rst))?",
    re.IGNORECASE,
)
_OWN_NAME = re.compile(
    r"(?:licen[cs]e|copying)[-_.](?!third|txt$|md$|rst$)[a-z0-9._+-]{2,40}", re.IGNORECASE
)
_NOT_ALNUM = re.compile(r"[^a-z0-9]+")


class Fingerprint(NamedTuple):
    spdx: str
    phrases: tuple[str, ...]  # all must be there
    unless: tuple[str, ...] = ()  # none may be


_MIT_GRANT = "permission is hereby granted free of charge to any person obtaining a copy of"
_BSD_GRANT = (
    "redistribution and use in source and binary forms with or without modification are permitted"
)
_BSD_BINARY = "redistributions in binary form must reproduce the above copyright notice"
_BSD_NAMES = (
    "endorse or promote products derived from",
    "may not be used to endorse",
    "be used to endorse or promote",
)
_ISC_GRANT = "permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted"
_ISC_GRANT_OLD = "permission to use copy modify and distribute this software for any purpose with or without fee is hereby granted"
_ISC_NOTICE = (
    "provided that the above copyright notice and this permission notice appear in all copies"
)

FINGERPRINTS = (
    Fingerprint(
        "MIT",
        (_MIT_GRANT, "the above copyright notice and this permission notice", "shall be included"),
        ("except as contained in this notice the name", "boost software license", "font software"),
    ),
    Fingerprint(
        "MIT-0",
        (_MIT_GRANT, "to deal in the software without restriction"),
        ("shall be included", "shall remain", "provided that", "font software", "unicode"),
    ),
    Fingerprint(
        "BSD-2-Clause",
        (_BSD_GRANT, _BSD_BINARY),
        (*_BSD_NAMES, "all advertising materials", "neither the name"),
    ),
    Fingerprint(
        "BSD-3-Clause", (_BSD_GRANT, _BSD_BINARY, _BSD_NAMES[0]), ("all advertising materials",)
    ),
    Fingerprint("BSD-4-Clause", (_BSD_GRANT, _BSD_BINARY, "all advertising materials mentioning")),
    Fingerprint("ISC", (_ISC_GRANT, _ISC_NOTICE)),
    Fingerprint("ISC", (_ISC_GRANT_OLD, _ISC_NOTICE)),
    Fingerprint("0BSD", (_ISC_GRANT, "the software is provided as is"), (_ISC_NOTICE,)),
    Fingerprint(
        "Apache-2.0",
        ("apache license version 2 0 january 2004", "grant of patent license", "redistribution"),
    ),
    Fingerprint(
        "Apache-2.0",
        (
            "licensed under the apache license version 2 0",
            "you may not use this file except in compliance with the license",
        ),
    ),
    Fingerprint(
        "GPL-2.0-only",
        ("gnu general public license version 2 june 1991", "the precise terms and conditions"),
        ("gnu lesser general public license version", "gnu library general public license version"),
    ),
    Fingerprint(
        "GPL-3.0-only",
        ("gnu general public license version 3 29 june 2007", "basic permissions", "conveying"),
        ("gnu affero general public license version 3 19 november 2007",),
    ),
    Fingerprint("LGPL-2.0-only", ("gnu library general public license version 2 june 1991",)),
    Fingerprint("LGPL-2.1-only", ("gnu lesser general public license version 2 1 february 1999",)),
    Fingerprint("LGPL-3.0-only", ("gnu lesser general public license version 3 29 june 2007",)),
    Fingerprint(
        "AGPL-3.0-only", ("gnu affero general public license version 3 19 november 2007",)
    ),
    Fingerprint("GFDL-1.3-only", ("gnu free documentation license version 1 3 3 november 2008",)),
    Fingerprint("MPL-1.1", ("mozilla public license version 1 1", "initial developer")),
    Fingerprint("MPL-2.0", ("mozilla public license version 2 0", "secondary license", "larger work")),
    Fingerprint(
        "MPL-2.0",
        ("subject to the terms of the mozilla public license v 2 0", "a copy of the mpl was not"),
    ),
    Fingerprint("EPL-1.0", ("eclipse public license v 1 0", "recipient s acceptance of this agreement")),
    Fingerprint("EPL-2.0", ("eclipse public license v 2 0", "secondary licenses")),
    Fingerprint("BSL-1.0", ("boost software license version 1 0", "permission is hereby granted")),
    Fingerprint(
        "Zlib",
        (
            "this software is provided as is without any express or implied warranty",
            "altered source versions must be plainly marked as such",
        ),
    ),
    Fingerprint(
        "Unlicense", ("this is free and unencumbered software released into the public domain",)
    ),
    Fingerprint("WTFPL", ("do what the fuck you want to public license", "you just do what")),
    Fingerprint("CC0-1.0", ("cc0 1 0 universal", "affirmer")),
    Fingerprint(
        "CC-BY-4.0",
        ("attribution 4 0 international", "creative commons", "adapted material"),
        ("noncommercial", "sharealike", "noderivatives"),
    ),
    Fingerprint(
        "CC-BY-SA-4.0",
        ("attribution sharealike 4 0 international", "adapter s license"),
        ("attribution noncommercial sharealike 4 0 international",),
    ),
    Fingerprint("CC-BY-NC-4.0", ("attribution noncommercial 4 0 international", "licensed material")),
    Fingerprint(
        "CC-BY-NC-SA-4.0",
        ("attribution noncommercial sharealike 4 0 international", "licensed material"),
    ),
    Fingerprint("Artistic-2.0", ("the artistic license 2 0", "standard version")),
    Fingerprint("PSF-2.0", ("psf license agreement", "python software foundation license version 2")),
    Fingerprint("PSF-2.0", ("python software foundation license version 2", "python alone or in any")),
    Fingerprint("OFL-1.1", ("sil open font license version 1 1", "reserved font name")),
    Fingerprint("UPL-1.0", ("universal permissive license", "the larger works")),
)  # fmt: skip


def is_licence_file(path: str) -> bool:
    """Whether a file's name is one that licences are kept under."""
    return _NAME.fullmatch(path.rpartition("/")[2]) is not None


def detect_licences(text: str) -> tuple[str, ...]:
    """SPDX ids of all licences in a text, sorted; nothing when none is known."""
    words = " " + _NOT_ALNUM.sub(" ", text[:MAX_CHARS].lower()) + " "
    found = {
        print_.spdx
        for print_ in FINGERPRINTS
        if all(f" {phrase} " in words for phrase in print_.phrases)
        and not any(f" {phrase} " in words for phrase in print_.unless)
    }
    if "BSD-3-Clause" in found or "BSD-4-Clause" in found:
        found.discard("BSD-2-Clause")
    return tuple(sorted(found))


def folder_licence(files: Iterable[tuple[str, tuple[str, ...]]]) -> str | None:
    """The expression for a folder, from its licence files' names and what each holds.

    Files named after their licence (LICENSE-MIT beside LICENSE-APACHE) leave the choice; the
    LGPL's own file stands beside the GPL it builds on; everything else holds together.
    """
    known = [(name, ids) for name, ids in files if ids]
    all_ids = {each for _, ids in known for each in ids}
    for lesser in [each for each in all_ids if each.startswith("LGPL-")]:
        all_ids.discard(lesser.removeprefix("L"))
    if not all_ids:
        return None
    choice = len(known) > 1 and all(len(ids) == 1 and _OWN_NAME.fullmatch(n) for n, ids in known)
    return (" OR " if choice else " AND ").join(sorted(all_ids))
