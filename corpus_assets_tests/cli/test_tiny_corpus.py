"""The first minutes of a new user: a dozen pages, built, released, asked; and what empty ones do."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from catalog.cli.commands import main as catalog
from catalog.db.registry import Registry
from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.tiny_corpus import HOST, make_tiny_corpus

TYPED = re.compile(r"^  (?:\S*/)?((?:corpus|catalog) .*)$", re.M)
WAITS = ("serve", "ui")  # until they are stopped


def build(recipe: Path, home: Path, *arguments: str) -> int:
    return main(["build", str(recipe), "--home", str(home), "--workers", "1", *arguments])


def ask(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(catalog, [*arguments, "--home", str(home)])


def states(home: Path) -> dict[str, str]:
    registry = Registry(Home.resolve(str(home)).catalog_url)
    return {row.name: row.state for row in registry.versions()}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny corpus, its home, and what the build printed. Nobody may change it."""
    folder = tmp_path_factory.mktemp("tiny")
    recipe = make_tiny_corpus(folder)
    command = [sys.executable, "-m", "corpus_assets.cli.main", "build", str(recipe)]
    options = ["--home", str(folder / "home"), "--version", "tiny-1", "--workers", "1"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    (folder / "printed.txt").write_text(done.stdout)
    (folder / "told.txt").write_text(done.stderr)
    return folder


@pytest.fixture
def own(tiny: Path, tmp_path: Path) -> Path:
    """A copy of the recipe, the pages and the home, to change."""
    make_tiny_corpus(tmp_path)
    copy_home(tiny / "home", tmp_path / "home")
    return tmp_path


def test_a_dozen_pages_are_built_released_and_found(tiny: Path) -> None:
    assert states(tiny / "home") == {"tiny-1": "released"}
    found = ask(tiny / "home", "find", "--url", f"{HOST}/page-4")
    assert (found.exit_code, found.stderr) == (0, "")
    assert "kept" in found.stdout


def test_every_command_to_try_next_works(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # a report is written here
    typed = [shlex.split(line) for line in TYPED.findall((tiny / "printed.txt").read_text())]
    names = {" ".join(words[:2]) for words in typed}
    assert {"catalog serve", "catalog takedown", "catalog find", "corpus ui"} <= names
    for program, *words in typed:
        if words[0] in WAITS:
            continue
        if program == "corpus" and words[0] != "verify":
            assert main(words) == 0, words
        elif program == "catalog":
            done = CliRunner().invoke(catalog, words)
            assert done.exit_code == 0, (words, done.output)
            assert "No document" not in done.output, words


def test_what_is_tried_next_asks_the_candidate_that_was_built(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside a released version a question without a name is about that one."""
    larger = ("--set", "tokenizer.train.vocab_size=8000", "--version", "tiny-2")
    assert build(own / "tiny.yaml", own / "home", *larger) == 0
    assert states(own / "home") == {"tiny-1": "released", "tiny-2": "candidate"}
    find = next(line for line in TYPED.findall(capsys.readouterr().out) if "find" in line)
    assert "--version tiny-2" in find


def test_a_threshold_that_drops_everything_publishes_nothing_and_says_which(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strict = ("--set", "selection.rules.word_count.min=100000", "--version", "strict-1")
    assert build(own / "tiny.yaml", own / "home", *strict) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert "version strict-1 is not published, nothing is left in it: 12 ingested" in error
    assert "selection dropped 12 (word_count 12)" in error
    assert states(own / "home") == {"tiny-1": "released"}


def test_a_takedown_of_the_last_document_succeeds_and_leaves_an_empty_candidate(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = own / "home"
    asked = ask(home, "takedown", "request", "--domain", HOST, "--reason", "asked")
    assert asked.exit_code == 0, asked.output
    done = ask(home, "takedown", "run")
    assert done.exit_code == 0, done.output
    assert states(home) == {"tiny-1": "revoked", "tiny-1.td1": "candidate"}
    gates = {g.name: g for g in Registry(Home.resolve(str(home)).catalog_url).gates("tiny-1.td1")}
    assert not gates["not_empty"].passed
    assert all(gate.passed for name, gate in gates.items() if name != "not_empty")
    assert ask(home, "verify", "tiny-1.td1").exit_code == 0
    assert ask(home, "takedown", "verify", "1").exit_code == 0
    found = ask(home, "find", "--url", f"{HOST}/page-4", "--json")
    assert json.loads(found.stdout)["state"] == "candidate"
    refused = ask(home, "release", "tiny-1.td1")
    assert "not_empty: takedowns removed its last document" in refused.stderr
    assert build(own / "tiny.yaml", home, "--version", "tiny-2") == 1
    assert "documents dropped 12 (suppressed 12)" in capsys.readouterr().err


def test_a_build_says_at_once_what_it_does_and_that_kernels_are_compiled(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    compiling = "compiling kernels as they are first used: about a minute of CPU time, once"
    for is_cached in (False, True):
        monkeypatch.setattr("corpus_assets.build.cache_folder", lambda _: own / "kernels")
        assert build(own / "tiny.yaml", own / "home", "--version", "tiny-1") == 0
        told = capsys.readouterr().err.splitlines()
        assert told[0] == f"planning {own / 'tiny.yaml'}"
        assert (compiling in told) is not is_cached
        (own / "kernels").mkdir(exist_ok=True)
        (own / "kernels" / "words.nbi").touch()
