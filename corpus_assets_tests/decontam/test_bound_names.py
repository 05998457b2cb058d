"""Names that a piece of code binds may be renamed, whatever they are called."""

import hashlib

import pyarrow as pa
import pytest

from corpus_assets.decontam.contamination import scan_contamination
from corpus_assets.decontam.eval_index import EvalItem, build_eval_index, parse_eval_index
from corpus_assets.decontam.settings import EvalIndexSettings, ScanSettings

PYTHON = """def {f}({a}, {b}=3, *{c}):
    {d}, {e} = 0, []
    for {g}, {h} in enumerate({a}):
        {d} += {h} * {b} + {g}
        if {d} > max({b}, 1) and {g} not in {c}:
            {e}.append([{i} for {i} in {a} if {i} != {d}])
    with open({e}[0]) as {j}:
        return sorted({j}, key=lambda {k}: {k}[0] - {d}, reverse=True), sum({e})
"""
PLAIN = dict(
    zip(
        "fabcdeghijk",
        ["work", "xs", "y", "rest", "t", "out", "n", "v", "w", "file", "z"],
        strict=True,
    )
)
BUILTIN = dict(
    zip(
        "fabcdeghijk",
        ["filter", "list", "string", "type", "id", "dict", "next", "hash", "map", "input", "str"],
        strict=True,
    )
)

OTHERS = {
    "javascript": """function {f}({a}, {b}) {{
  let {d} = 0, {e} = {{}};
  for (const {g} of {a}) {{ {d} += {g} * {b}; {e}[{g}] = Math.max({d}, 1); }}
  const {{{h}, {i}}} = {e};
  return {a}.map({j} => {j} + {d}).filter(({k}) => {k} > {h} - {i});
}}
""",
    "java": """public static int {f}(List<Integer> {a}, int {b}) {{
    int {d} = 0;
    String {e} = "";
    for (Integer {g} : {a}) {{ {d} += Math.abs({g}) * {b}; {e} = {e} + {g}; }}
    try {{ {d}++; }} catch (RuntimeException {h}) {{ System.out.println({h}); }}
    return {d} + {e}.length();
}}
""",
    "c++": """int {f}(const std::vector<int>& {a}, int {b}) {{
    int {d} = 0, {e} = 1;
    for (int {g} = 0; {g} < {a}.size(); {g}++) {{ {d} += {a}[{g}] * {b}; {e} -= {d}; }}
    auto {h} = [&](int {i}) {{ return {i} * {d}; }};
    return {h}({e});
}}
""",
    "go": """func {f}({a} []int, {b} int) int {{
    {d}, {e} := 0, 1
    for {g}, {h} := range {a} {{ {d} += {h} * {b}; {e} -= {g} }}
    var {i} = append({a}, {d})
    return {d} + {e} + len({i})
}}
""",
    "rust": """fn {f}({a}: &Vec<i32>, {b}: i32) -> i32 {{
    let mut {d} = 0;
    for {g} in {a}.iter() {{ {d} += {g} * {b}; }}
    let {e}: i32 = {a}.iter().map(|{h}| {h} + {d}).sum();
    {d} + {e}
}}
""",
    "ruby": """def {f}({a}, {b} = 2)
  {d} = 0
  {a}.each do |{g}, {h}|
    {d} += {g} * {b} - {h}
  end
  {e} = {a}.map {{ |{i}| {i} + {d} }}
  puts {e}.length, {d}
end
""",
}
NAMES = dict(
    zip("fabdeghijk", ["run", "xs", "y", "t", "out", "n", "v", "w", "p", "q"], strict=True)
)
TAKEN = dict(
    zip("fabdeghijk", ["list", "string", "array", "object", "hash", "format", "vector", "error", "input", "dict"], strict=True)
)  # fmt: skip


def share(item: str, text: str, language: str) -> float:
    known = EvalItem("1", "b", "", code=item, language=language)
    index = parse_eval_index(build_eval_index([known], EvalIndexSettings()))
    name = hashlib.blake2b(b"0", digest_size=16).digest()
    table = pa.table({"doc_id": pa.array([name], pa.binary(16)), "text": pa.array([text])})
    hits = scan_contamination(
        table, index, ScanSettings(report_share=0.01, near_misses=None)
    ).to_pylist()
    return max((hit["matched"] / hit["total"] for hit in hits), default=0.0)


@pytest.mark.parametrize("turned", [False, True], ids=["item has builtins", "copy has builtins"])
def test_bound_names_are_renamed_whatever_they_are_called(turned: bool) -> None:
    item, copy = PYTHON.format(**BUILTIN), PYTHON.format(**PLAIN)
    assert share(*((copy, item) if turned else (item, copy)), "python") == 1.0
    shifted = dict(zip(BUILTIN, [*list(BUILTIN.values())[1:], "list_"], strict=True))
    assert share(item, PYTHON.format(**shifted), "python") == 1.0


@pytest.mark.parametrize("language", OTHERS)
def test_bound_names_are_renamed_in_every_language(language: str) -> None:
    plain, taken = (OTHERS[language].format(**names) for names in (NAMES, TAKEN))
    assert share(taken, plain, language) == 1.0
    assert share(plain, taken, language) == 1.0


def test_what_the_code_around_binds_does_not_matter() -> None:
    item = PYTHON.format(**PLAIN)
    assert share(item, f"def other(max, sum):\n    return max - sum\n\n{item}", "python") == 1.0


@pytest.mark.parametrize(
    ("old", "new"),
    [("max(", "min("), ("sum(", "len("), ("enumerate(", "reversed("), ("sorted(", "helper(")],
)
def test_builtins_that_are_called_and_not_bound_stand_for_themselves(old: str, new: str) -> None:
    item = PYTHON.format(**PLAIN)
    assert share(item, item.replace(old, new), "python") < 1.0


def test_keyword_arguments_bind_nothing() -> None:
    item = PYTHON.format(**PLAIN).replace("reverse=True", "list=int, filter=str")
    assert share(item, item.replace("list=int", "other=int"), "python") < 1.0


def test_a_name_is_never_a_keyword_of_the_language() -> None:
    item = "x = first(a, b)\ny = second(first(x, a), b)\nz = third(second(y, x), first(a, b), y)\n"
    assert share(item, item.replace("second", "other"), "python") == 1.0
    assert share(item, item.replace("second", "not"), "python") < 0.8
