from pathlib import Path

import pytest

from corpus_assets.ingest.gates.licence_texts import (
    detect_licences,
    folder_licence,
    is_licence_file,
)
from corpus_assets_tests.ingest.gates.licence_samples import APACHE, BSD_3, GPL_3, LGPL_3, MIT

DEBIAN = Path("/usr/share/common-licenses")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MIT, ("MIT",)),
        (APACHE, ("Apache-2.0",)),
        (BSD_3, ("BSD-3-Clause",)),
        (GPL_3, ("GPL-3.0-only",)),
        (LGPL_3, ("LGPL-3.0-only",)),
        (MIT + "\nThird parties:\n" + APACHE, ("Apache-2.0", "MIT")),
        ("All rights reserved.", ()),
        ("", ()),
    ],
)
def test_a_licence_is_known_by_its_phrases(text: str, expected: tuple[str, ...]) -> None:
    assert detect_licences(text) == expected
    assert detect_licences(text.upper().replace("\n", "\r\n")) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Apache-2.0", "Apache-2.0"), ("BSD", "BSD-3-Clause"), ("CC0-1.0", "CC0-1.0"),
        ("GPL-2", "GPL-2.0-only"), ("GPL-3", "GPL-3.0-only"), ("LGPL-2.1", "LGPL-2.1-only"),
        ("LGPL-3", "LGPL-3.0-only"), ("MPL-1.1", "MPL-1.1"), ("MPL-2.0", "MPL-2.0"),
    ],
)  # fmt: skip
def test_whole_licences_are_known_by_their_phrases(name: str, expected: str) -> None:
    path = DEBIAN / name
    if not path.is_file():
        pytest.skip("this machine has no folder of licence texts")
    assert detect_licences(path.read_text(errors="replace")) == (expected,)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("LICENSE", True), ("a/b/LICENCE.md", True), ("COPYING.LESSER", True), ("LICENSE-MIT", True),
        ("license.txt", True), ("UNLICENSE", True), ("license.py", False), ("licensing.md", False),
        ("my_license_check.c", False), ("COPYING.html", False),
    ],
)  # fmt: skip
def test_licence_files_are_known_by_name(name: str, expected: bool) -> None:
    assert is_licence_file(name) is expected


def test_a_folder_of_licence_files_is_one_expression() -> None:
    mit, apache, gpl = ("MIT",), ("Apache-2.0",), ("GPL-3.0-only",)
    assert folder_licence([("LICENSE", mit)]) == "MIT"
    assert folder_licence([("LICENSE-MIT", mit), ("LICENSE-APACHE", apache)]) == "Apache-2.0 OR MIT"
    assert (
        folder_licence([("LICENSE", mit), ("LICENSE.third-party", apache)]) == "Apache-2.0 AND MIT"
    )
    assert folder_licence([("COPYING", gpl), ("COPYING.LESSER", ("LGPL-3.0-only",))]) == (
        "LGPL-3.0-only"
    )
    assert folder_licence([("LICENSE", ())]) is None
