import pytest

from corpus_assets.ingest.gates.spdx import MAX_EXPRESSION_CHARS, allows, parse_spdx

FREE = ("MIT", "Apache-2.0", "GPL-2.0-only WITH Linux-syscall-note", "CC-BY-4.0")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("mit", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND Apache-2.0", True),
        ("GPL-3.0-only OR MIT AND Apache-2.0", True),
        ("(GPL-3.0-only OR MIT) AND GPL-3.0-only", False),
        ("(GPL-3.0-only or MIT) and Apache-2.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0-only WITH Linux-syscall-note", True),
        ("GPL-2.0-only", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("CC-BY-4.0", True),
        ("LicenseRef-Proprietary", False),
        ("MIT OR", False),
        ("", False),
    ],
)
def test_an_expression_is_allowed_by_its_logic(expression: str, expected: bool) -> None:
    assert allows(expression, FREE) is expected


def test_old_gnu_names_are_read_as_current_ones() -> None:
    assert allows("GPL-2.0", ["GPL-2.0-only"])
    assert allows("GPL-2.0+", ["GPL-2.0-or-later"])
    assert allows("LGPL-2.1-or-later", ["LGPL-2.1+"])
    assert not allows("GPL-2.0+", ["GPL-2.0"])


def test_a_port_is_allowed_by_the_licence_it_is_a_port_of() -> None:
    assert allows("CC-BY-3.0-DE", ["CC-BY-3.0"])
    assert not allows("CC-BY-3.0", ["CC-BY-3.0-DE"])
    assert not allows("CC-BY-NC-3.0-DE", ["CC-BY-3.0"])


def test_a_name_that_is_no_expression_is_allowed_only_as_it_stands() -> None:
    assert allows("see the file", ["See the  file"])
    assert not allows("MIT, see the file", ["MIT"])


@pytest.mark.parametrize(
    "text",
    ["(", "()", "MIT)", "MIT MIT", "AND", "MIT AND AND MIT", "MIT WITH", "MIT WITH (x)", "a b/c",
     "(" * 100 + "MIT" + ")" * 100, "x" * (MAX_EXPRESSION_CHARS + 1)],
)  # fmt: skip
def test_nonsense_is_not_an_expression(text: str) -> None:
    assert parse_spdx(text) is None
