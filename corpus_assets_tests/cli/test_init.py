"""From a folder of files to a first picture of them, by one command."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import corpus_assets.recipe.first_recipe as first_recipe
from catalog.cli.commands import main as catalog
from corpus_assets.cli.main import main
from corpus_assets.recipe import load_recipe

WORDS = ["harbour", "storm", "boat", "rope", "stone", "light", "wave", "tower", "gull", "chart"]

Captured = pytest.CaptureFixture[str]


def story(number: int) -> str:
    return " ".join(
        f"{' '.join(WORDS[(number * step + i) % len(WORDS)] for i in range(9))} {number}."
        for step in range(1, 8)
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(first_recipe, "SAMPLED_RECORDS", 200)
    (tmp_path / "data").mkdir()
    rows = (json.dumps({"id": n, "body": story(n)}) + "\n" for n in range(420))
    (tmp_path / "data" / "stories.jsonl").write_text("".join(rows))
    return tmp_path / "data"


def asked(*arguments: str) -> Any:
    done = CliRunner().invoke(catalog, [*arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_folder_becomes_a_recipe_a_sample_and_its_report(folder: Path, capsys: Captured) -> None:
    home = str(folder.parent / "home")
    assert main(["init", "data", "--yes", "--home", home, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["recipe"] == "data.yaml"
    assert [each["columns"] for each in answer["sources"]] == ["key: id, text: body"]
    assert "stories" in Path(answer["report"]).read_text()
    version = asked("resolve", "data-sample", "--home", home)
    assert version["state"] == "candidate"  # nobody trains on a sample by mistake
    assert {gate["name"] for gate in version["gates"] if not gate["passed"]} == {"sample"}
    reasons = "SELECT reason, count(*) AS n FROM decisions GROUP BY ALL"
    counts = dict(asked("sql", reasons, "--home", home)["rows"])
    assert 150 < counts["not_sampled"] < 300


def test_without_an_answer_a_recipe_is_written_and_nothing_is_built(
    folder: Path, capsys: Captured
) -> None:
    home = folder.parent / "home"
    assert main(["init", "data", "-o", "mine.yaml", "--home", str(home)]) == 0
    assert "corpus build mine.yaml --version mine-1" in capsys.readouterr().out
    assert load_recipe(Path("mine.yaml")).name == "mine"
    assert not home.exists()


def test_a_person_may_say_that_a_guess_is_wrong(folder: Path) -> None:
    ours, theirs = pty.openpty()
    command = "import sys; from corpus_assets.cli.main import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "init", "data", "--home", "home"],
        stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, b"n\n")
    assert process.wait(timeout=120) == 0
    os.close(ours)
    assert Path("data.yaml").exists()
    assert not Path("home").exists()


def test_a_recipe_is_never_overwritten(folder: Path, capsys: Captured) -> None:
    Path("data.yaml").write_text("mine")
    assert main(["init", "data"]) == 1
    assert "data.yaml exists; choose another file with --output" in capsys.readouterr().err
    assert Path("data.yaml").read_text() == "mine"


def test_a_folder_without_documents_is_one_line(folder: Path, capsys: Captured) -> None:
    (folder / "stories.jsonl").unlink()
    (folder / "a.zip").write_bytes(b"PK")
    assert main(["init", "data"]) == 1
    said = capsys.readouterr()
    assert "not read: 1 file (.zip): unpack it" in said.out
    assert "no file of a format that is read" in said.err
    assert not Path("data.yaml").exists()


def test_recipes_that_ship_are_listed_and_typos_get_candidates(capsys: Captured) -> None:
    assert main(["recipes", "--json"]) == 0
    names = {each["name"] for each in json.loads(capsys.readouterr().out)}
    assert {"demo", "fineweb", "commoncrawl"} <= names
    assert main(["plan", "finweb"]) == 1
    assert "did you mean fineweb" in capsys.readouterr().err
