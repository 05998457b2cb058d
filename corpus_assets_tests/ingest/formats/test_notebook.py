"""Notebooks of nbformat 3 and 4 as the text that their readers see."""

import json
import random
import string
import time
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.core.urls import Blocklist
from corpus_assets.ingest.documents import ingest_part
from corpus_assets.ingest.formats.notebook import notebook_text
from corpus_assets.ingest.formats.rows import record_of_row
from corpus_assets.ingest.gates.settings import CodeSettings
from corpus_assets.ingest.listing import list_files
from corpus_assets.ingest.records import Refusal
from corpus_assets.ingest.settings import IngestSettings
from corpus_assets.ingest.source import FieldNames, SourceSpec
from corpus_assets.ingest.suppressions import Suppressions

PYTHON = {"kernelspec": {"name": "python3"}, "language_info": {"name": "python"}}
PNG = "iVBORw0KGgo="


def markdown(*lines: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": list(lines)}


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": 1, "source": source, "outputs": list(outputs)}


def printed(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text.splitlines(keepends=True)}


def value(**data: Any) -> dict[str, Any]:
    forms = {name.replace("_", "/"): form for name, form in data.items()}
    return {"output_type": "execute_result", "data": forms, "execution_count": 1}


def notebook(*cells: dict[str, Any], **more: Any) -> str:
    return json.dumps(
        {"cells": cells, "metadata": PYTHON, "nbformat": 4, "nbformat_minor": 5} | more
    )


def shown(*cells: dict[str, Any], **more: Any) -> str:
    text = notebook_text(notebook(*cells, **more))
    assert isinstance(text, str), text
    return text


def test_cells_come_in_their_order_with_code_and_output_fenced() -> None:
    text = shown(
        markdown("# Tides\n", "\n", "They come *twice* a day."),
        code("heights = [3, 5]\nmax(heights)", value(text_plain=["5"])),
        code("", printed("forgotten\n")),
        {"cell_type": "raw", "source": "as it is"},
        markdown(""),
    )
    assert text == (
        "# Tides\n\nThey come *twice* a day.\n\n"
        "```python\nheights = [3, 5]\nmax(heights)\n```\n\n"
        "```\n5\n```\n\n"
        "```\nforgotten\n```\n\n"
        "as it is\n"
    )


def test_a_notebook_of_nbformat_3_reads_the_same() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Low\n", "water"]},
        {"cell_type": "markdown", "source": "Words."},
        {
            "cell_type": "code", "language": "python", "input": ["x = 1\n", "x"], "prompt_number": 1,
            "outputs": [
                {"output_type": "stream", "stream": "stdout", "text": "a\n"},
                {"output_type": "stream", "stream": "stderr", "text": "warned\n"},
                {"output_type": "pyout", "text": ["1"], "html": ["<b>1</b>"]},
                {"output_type": "display_data", "png": PNG, "text": ["<Figure>"]},
                {"output_type": "pyerr", "ename": "ValueError", "evalue": "no", "traceback": ["x"]},
            ],
        },
    ]  # fmt: skip
    old = {"nbformat": 3, "metadata": {"name": "a"}, "worksheets": [{"cells": cells[:2]}, {"cells": cells[2:]}]}  # fmt: skip
    assert notebook_text(json.dumps(old)) == (
        "## Low water\n\nWords.\n\n```python\nx = 1\nx\n```\n\n```\na\n1\nValueError: no\n```\n"
    )


def test_lines_that_old_notebooks_have_without_their_ends_are_lines() -> None:
    cell = {"cell_type": "code", "language": "python", "input": ["x = 1", "", "x"],
            "outputs": [{"output_type": "pyout", "text": ["1", "2"]}]}  # fmt: skip
    old = {"nbformat": 2, "worksheets": [{"cells": [cell]}]}
    assert notebook_text(json.dumps(old)) == "```python\nx = 1\n\nx\n```\n\n```\n1\n2\n```\n"


@pytest.mark.parametrize(
    ("metadata", "fence"),
    [
        ({"language_info": {"name": "R"}}, "r"),
        ({"kernelspec": {"language": "julia", "name": "x"}}, "julia"),
        ({"kernelspec": {"name": "python3"}}, "python"),
        ({"kernelspec": {"name": "ir"}}, "r"),
        ({"kernelspec": {"name": "irb"}}, ""),
        ({"language_info": {"name": "C++"}}, "c++"),
        ({"language_info": {"name": "no name\n"}, "kernelspec": []}, ""),
        ({"language_info": 3}, ""),
        ([], ""),
    ],
)
def test_code_is_fenced_in_the_language_of_its_kernel(metadata: Any, fence: str) -> None:
    assert shown(code("x"), metadata=metadata) == f"```{fence}\nx\n```\n"


def test_a_fence_is_longer_than_those_in_the_cell() -> None:
    assert shown(code('"""\n````\n"""')).startswith('`````python\n"""\n````\n')


@pytest.mark.parametrize(
    ("outputs", "kept"),
    [
        ([printed("one\n"), printed("two")], "one\ntwo"),
        ([printed("x" * 1000)], "x" * 1000),
        ([printed("x" * 1001)], None),
        ([printed("a\n" * 20)], "\n".join("a" * 20)),
        ([printed("a\n" * 21)], None),
        ([printed("/home/ann/x.py:3: FutureWarning\n", "stderr")], None),
        ([printed("10%\r 50%\r100%\ndone\r\n")], "100%\ndone"),
        ([printed("\x1b[31mred\x1b[0m\n")], "red"),
        ([value(text_plain="   a\n0  1", text_html="<table>")], "   a\n0  1"),
        ([value(image_png=PNG, text_plain="<Figure size 640x480>")], None),
        ([value(text_html="<b>only</b>")], None),
        ([value(text_html="<b>a</b>", text_plain="<IPython.core.display.HTML object>")], None),
        ([value(text_plain="<matplotlib.axes.Axes at 0x7f3a>")], None),
        ([value(text_plain="[<a.B at 0x7f3a>, 1]")], "[<a.B at 0x7f3a>, 1]"),
        ([value(text_latex="$x^2$")], "$x^2$"),
        ([{"output_type": "error", "ename": "KeyError", "evalue": "'a'", "traceback": ["t"]}], "KeyError: 'a'"),
        ([{"output_type": "display_data", "data": {}}, {}, {"output_type": "stream"}], None),
    ],
)  # fmt: skip
def test_short_output_of_text_stays(outputs: list[dict[str, Any]], kept: str | None) -> None:
    expected = "" if kept is None else f"\n```\n{kept}\n```\n"
    assert shown(code("x", *outputs)) == "```python\nx\n```\n" + expected


def test_images_inside_of_cells_go_and_linked_ones_stay() -> None:
    text = shown(
        markdown(f"a ![plot](data:image/png;base64,{PNG}) b\n![x](attachment:x.png)c\n"),
        markdown(f'<IMG alt="p" src="data:image/png;base64,{PNG}"/>d ![map](map.png)'),
    )
    assert text == "a  b\nc\n\nd ![map](map.png)\n"


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (notebook(code("x"))[:-20], "notebook_not_json"),
        ("version https://git-lfs.github.com/spec/v1\n", "notebook_not_json"),
        ("[" * 100_000, "notebook_not_json"),
        ("{}", "not_a_notebook"),
        ("[]", "not_a_notebook"),
        ('{"cells": {}}', "not_a_notebook"),
        ('{"worksheets": 1}', "not_a_notebook"),
    ],
)
def test_what_is_no_notebook_says_why(raw: str, detail: str) -> None:
    assert notebook_text(raw) == Refusal("damaged_record", detail)


def test_cells_of_any_shape_are_read_past() -> None:
    draw = random.Random(3)
    odd: list[Any] = [None, 1, "", [], {}, [1, "a", None], {"data": 1}, "text\ud800", 1e400, True]
    names = (
        "cell_type",
        "source",
        "input",
        "outputs",
        "level",
        "language",
        "metadata",
        "attachments",
    )
    kinds = ("code", "markdown", "heading", "raw", "html", None)
    for _ in range(500):
        cell = {name: draw.choice(odd) for name in names} | {"cell_type": draw.choice(kinds)}
        cell["outputs"] = [
            {name: draw.choice(odd) for name in ("output_type", "text", "data", "ename", "png")}
            | {"output_type": draw.choice(("stream", "error", "pyout", "display_data", []))}
            for _ in range(draw.randrange(3))
        ]
        assert isinstance(notebook_text(json.dumps({"cells": [cell, draw.choice(odd)]})), str)


def test_time_is_linear_in_what_looks_like_an_image() -> None:
    for piece in ("![", "![a](data:", "<img src=", "<img src=data:", "`" * 3, "\x1b["):
        text = piece * (400_000 // len(piece))
        begun = time.process_time()
        shown(markdown(text), code(text, printed(text)))
        assert time.process_time() - begun < 2, piece


def test_a_source_tree_and_a_folder_of_notes_read_notebooks(tmp_path: Path) -> None:
    words = "".join(draw + " " for draw in string.ascii_lowercase) * 60
    good = notebook(
        markdown("# Tides\n\n" + words),
        code("# SPDX-License-Identifier: GPL-3.0-only\nx = 1", value(image_png=PNG * 900)),
    )
    (tmp_path / "tides.ipynb").write_text(good)
    (tmp_path / "broken.IPYNB").write_text(good[:900])
    (tmp_path / "empty.ipynb").write_text("\n")
    found = {}
    for kind in ("code", "text"):
        spec = SourceSpec(name="n", format=kind, domain="code")
        [part] = list_files(spec, str(tmp_path), "s")
        records, documents = ingest_part(
            spec, "s", 0, part, IngestSettings(), Blocklist(), Suppressions.from_rows([])
        )
        reasons = {row["file"]: (row["reason"], row["detail"]) for row in records.to_pylist()}
        assert reasons["tides.ipynb"] == (None, None)
        assert reasons["empty.ipynb"] == ("no_text", None)
        if kind == "code":
            assert reasons["broken.IPYNB"] == ("damaged_record", "notebook_not_json")
        [found[kind]] = documents.to_pylist()
    assert found["code"]["text"] == found["text"]["text"]
    assert found["code"]["text"].startswith("# Tides\n\na b c")
    assert PNG not in found["code"]["text"]
    assert (found["code"]["licence"], found["code"]["declared_language"]) == (
        "GPL-3.0-only", "Jupyter Notebook",
    )  # fmt: skip
    assert found["text"]["title"] == "Tides"


def test_a_row_of_a_table_is_a_notebook_or_its_text_already() -> None:
    spec = SourceSpec(
        name="stack", format="parquet", code=CodeSettings(), fields=FieldNames(path="path")
    )
    raw = notebook(code("x = 1"))
    rows = [
        record_of_row({"path": "a.ipynb", "text": text}, "f", spec, 0, 0)
        for text in (raw, "<jupyter_start>x = 1", raw[:-9])
    ]
    assert [row.text for row in rows[:2]] == ["```python\nx = 1\n```\n", "<jupyter_start>x = 1"]
    assert [row.raw_text for row in rows] == [raw, "<jupyter_start>x = 1", raw[:-9]]
    assert (rows[2].damage, rows[2].detail) == ("damaged_record", "notebook_not_json")
    assert (rows[2].key, rows[0].language) == ("a.ipynb", "Jupyter Notebook")
