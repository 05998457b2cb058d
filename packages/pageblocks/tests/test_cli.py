"""The command `pageblocks`."""

import io
import json
import sys
from pathlib import Path

import pytest
from sample_pages import ARTICLE, SENTENCE

from pageblocks import extract
from pageblocks.cli import main


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(ARTICLE)
    return path


def test_the_text_of_a_file_is_written(
    page: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main([str(page)]) == 0
    assert capfdbinary.readouterr().out.decode() == extract(ARTICLE).text + "\n"
    assert main(["--markdown", str(page)]) == 0
    assert capfdbinary.readouterr().out.decode() == extract(ARTICLE, "markdown").text + "\n"


def test_a_page_comes_from_standard_input_and_goes_to_json(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ARTICLE.encode())))
    assert main(["--json", "-"]) == 0
    told = json.loads(capfdbinary.readouterr().out)
    expected = extract(ARTICLE)
    assert (told["title"], told["page_type"]) == ("The flood | Daily", "article")
    assert told["text"] == expected.text
    assert told["lines"] == [line._asdict() for line in expected.lines]
    assert told["lines"][0] == {"kind": "heading_1", "text": "The flood"}
    assert told["blocks"][3] == expected.blocks[3]._asdict()


def test_a_model_is_trained_measured_and_used(
    tmp_path: Path, page: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    truth, model = tmp_path / "truth.jsonl", tmp_path / "model.json"
    rows = [
        {
            "html": f"<nav><a href=/>Home</a> <a href=/{n}>News</a></nav><p>{n} of them. {SENTENCE}",
            "main_content": f"{n} of them. {SENTENCE}",
            "url": f"https://site-{n}.example/",
            "type": "article",
        }
        for n in range(40)
    ]
    truth.write_text("\n".join(map(json.dumps, rows)))
    assert main(["train", str(model), "--truth", str(truth), "--trees", "5"]) == 0
    assert capfdbinary.readouterr().out.decode().endswith(", 40 pages\n")
    assert json.loads(model.read_bytes())["trained_on"]["truth"].keys() == {"truth.jsonl"}
    assert main(["eval", "--truth", str(truth), "--model", str(model)]) == 0
    told = capfdbinary.readouterr().out.decode().splitlines()
    assert told[0].split() == ["all", "40", "pages", "F1", "1.000", "under", ".5:", "0%"]
    assert main(["--model", str(model), str(page)]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such.html"], "No such file"),
        (["train", "out.json"], "no page to train on"),
        (["eval"], "no page to measure on"),
        (["--model", "no-such.json", "-"], "is not a model"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"<p>a")))
    assert main(arguments) == 1
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_documentation_is_trained_on(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    pages, model = tmp_path / "docs.jsonl", tmp_path / "model.json"
    body = "".join(f"<p>{SENTENCE * 3}</p>" for _ in range(3))
    rows = [
        {
            "html": f'<ul><li>n</ul><div role="main"><h1>a</h1>{body}</div>',
            "url": f"https://h{n}.org/",
        }
        for n in range(12)
    ]
    pages.write_text("\n".join(map(json.dumps, rows)))
    assert main(["train", str(model), "--documentation", str(pages), "--trees", "2"]) == 0
    assert capfdbinary.readouterr().out.decode().endswith(", 12 pages\n")


def test_only_documentation_needs_lxml(
    tmp_path: Path, page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "pageblocks.training.documentation_templates", raising=False)
    assert main([str(page)]) == 0
    docs = tmp_path / "docs.jsonl"
    docs.write_text(json.dumps({"html": ARTICLE, "url": "https://a.org/"}))
    assert main(["train", str(tmp_path / "model.json"), "--documentation", str(docs)]) == 1
    assert "pip install 'pageblocks[documentation]'" in capsys.readouterr().err
