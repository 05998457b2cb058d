"""Which licence a LICENSE file holds, by short phrases that only that licence has.

A licence is found when all its phrases stand in the text, letters and digits alone compared, and
none of the phrases of a licence that quotes it. A file that holds several licences is under all
of them (`A AND B`). Nothing is guessed: a text that no fingerprint fits has no licence here.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

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
