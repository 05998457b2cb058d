"""JSON-LD as pages hold it: whole, wrapped, damaged, and made to stop a parser."""

import time

import pytest

from pageblocks.json_ld import MAX_BYTES, MAX_DEPTH, json_ld
from pageblocks.kernels.blocks import MAX_JSON_LD

OPEN = '<script type="application/ld+json">'


def of_script(content: str) -> list[object]:
    return json_ld(f"<p>a{OPEN}{content}</script><p>b".encode())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"a": "b"}', [{"a": "b"}]),
        ('[{"a": 1.50}, true, null]', [[{"a": "1.50"}, True, None]]),
        ('<!-- {"a": "b"} -->', [{"a": "b"}]),
        ('//<![CDATA[\n{"a": "b"}\n//]]>', [{"a": "b"}]),
        ('/*<![CDATA[*/ ["b"] /*]]>*/', [["b"]]),
        ('{"a": "line\nend\tand tab"}', [{"a": "line\nend\tand tab"}]),
        ('{"a": ["b", "c, ]",\n],}', [{"a": ["b", "c, ]"]}]),
        ('{"a": "b"};', [{"a": "b"}]),
        ('{"a": "b"}\n{"c": "d"}', [{"a": "b"}, {"c": "d"}]),
        ('{"a": "b"}, {"c": ', [{"a": "b"}]),
        ("{&quot;a&quot;: &quot;b&quot;}", [{"a": "b"}]),
        (r'{"a": "<\/p>\u00e9"}', [{"a": "</p>é"}]),
        ('{"a": "é 猫"}', [{"a": "é 猫"}]),
        ("{a: b}", []),
        ('{"a": "b"', []),
        ("", []),
    ],
)
def test_values_are_read_as_they_are_and_with_the_usual_damage(
    content: str, expected: list[object]
) -> None:
    assert of_script(content) == expected


@pytest.mark.parametrize(
    "tag",
    [
        "<script type=application/ld+json>",
        "<SCRIPT class='yoast' TYPE='application/ld+json' data-x=1>",
        '<script id="ld+json" type="application/ld+json; charset=utf-8">',
    ],
)
def test_scripts_are_known_by_their_type_however_it_is_written(tag: str) -> None:
    assert json_ld(f'{tag}["a"]</SCRIPT>'.encode()) == [["a"]]


def test_other_scripts_hold_none_and_the_last_needs_no_end() -> None:
    assert json_ld(b'<script>"application/ld+json"; ["a"]</script>') == []
    assert json_ld(f'<!-- {OPEN}["a"]</script> -->'.encode()) == []
    assert json_ld(b'<div data-type="application/ld+json">["a"]</div> ld+json') == []
    assert json_ld(f'{OPEN}["a"]</script><script>x</script>{OPEN}["b"]'.encode()) == [["a"], ["b"]]


def test_what_nests_too_deep_is_left_out_and_brackets_in_strings_do_not_nest() -> None:
    for depth, is_read in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False), (100_000, False)):
        assert bool(of_script("[" * depth + "]" * depth)) is is_read
    assert of_script('["' + "[" * 5000 + r'\"{"]') == [["[" * 5000 + '"{']]
    assert len(of_script("[" + "[]," * 5000 + "[]]")[0]) == 5001  # type: ignore[arg-type]


def test_so_many_scripts_and_bytes_are_read_and_no_more() -> None:
    assert len(json_ld(f"{OPEN}[]</script>".encode() * (MAX_JSON_LD + 5))) == MAX_JSON_LD
    big = f'{OPEN}["{"x" * (MAX_BYTES // 2)}"]</script>'.encode()
    assert len(json_ld(big * 3)) == 1


@pytest.mark.parametrize(
    "bait",
    [
        b"ld+json",
        OPEN.encode(),
        b"<script type=application/ld+json",
        b"<script type=" * 3 + b"ld+json",
        OPEN.encode() + b"</",
        OPEN.encode() + b'{"a":',
        OPEN.encode() + rb'["\"\"\",',
        OPEN.encode() + b", , ,",
        OPEN.encode() + b"<!--//",
        OPEN.encode() + b"9",
        OPEN.encode() + b"&quot;",
    ],
)
def test_time_follows_the_size_of_the_page(bait: bytes) -> None:
    """Half a megabyte; what is quadratic in it takes minutes."""
    head = bait[: len(OPEN)] if bait.startswith(OPEN.encode()) else b""
    rest = bait[len(head) :] or bait
    began = time.process_time()
    json_ld(head + rest * (500_000 // len(rest)))
    assert time.process_time() - began < 5
