"""Every command on every page exists with its options, and those that a demo home can run are run.

The README and the tutorial are run by `test_examples.py`, which compares what they print as well.
"""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.cli.commands import main as catalog_group
from corpus_assets.cli.main import cli as corpus_group
from corpus_assets_tests.demo_build import corpus_command, environment
from corpus_assets_tests.homes import copy_home
from corpus_assets_tests.test_examples import EXAMPLES

ROOT = Path(__file__).resolve().parent.parent
GROUPS = {"corpus": corpus_group, "catalog": catalog_group}
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "deploy/**/*.md", "benchmarks/**/*.md")
    for page in ROOT.glob(pattern)
    if page.name != "CHANGELOG.md"
)
FENCED = re.compile(r"^```[a-z]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A command on a page: a line of a block, or words inside of a sentence."""

    page: str
    words: tuple[str, ...]
    in_block: bool

    def __str__(self) -> str:
        return f"{self.page}: {shlex.join(self.words)}"


def words_of(line: str) -> tuple[str, ...]:
    """The words of a line's first command, without comment, pipe and variables before it."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;<>&")
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in lexer:
            if re.fullmatch(r"[|;<>&]+", word):
                break
            words.append(word)
    except ValueError:  # a quotation of something else
        return ()
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words.pop(0)
    return tuple(words)


def commands(page: Path) -> Iterator[Command]:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT).as_posix()
    for block in FENCED.findall(text):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            yield Command(name, words_of(line.strip().removeprefix("$ ")), True)
    for line in re.findall(r"`([^`\n]+)`", FENCED.sub("", text)):
        yield Command(name, words_of(line), False)


ALL = [command for page in PAGES for command in commands(page) if command.words]
OURS = [command for command in ALL if command.words[0] in GROUPS and len(command.words) > 1]


def parse(command: Command, folder: Path) -> None:
    """Parse a command as a shell would hand it over; words in capitals stand for a value."""
    name, *arguments = command.words
    found: click.Command = GROUPS[name]
    while isinstance(found, click.Group) and arguments and arguments[0] in found.commands:
        found = found.commands[arguments.pop(0)]
    if not command.in_block and not arguments:
        return  # it is only named
    is_whole = not isinstance(found, click.Group) or found.invoke_without_command
    if not is_whole and arguments[:1] != ["--help"]:
        raise click.UsageError(f"{found.name} has no command {' '.join(arguments[:1])}")
    for word in arguments:
        if re.fullmatch(r"[\w-]+\.\w+(\.\w+)?", word):
            (folder / word).touch()
    arguments = ["1" if re.fullmatch(r"[A-Z_]+", word) else word for word in arguments]
    try:
        found.make_context(name, arguments)
    except click.exceptions.Exit:  # --help
        return
    except click.MissingParameter:
        if command.in_block:  # in a sentence the rest may be left out
            raise
    except click.BadOptionUsage as error:
        if command.in_block or "requires an argument" not in str(error):
            raise


@pytest.mark.parametrize("page", sorted({command.page for command in OURS}))
def test_every_command_of_a_page_is_one_that_the_program_takes(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = []
    for command in OURS:
        if command.page == page:
            try:
                parse(command, tmp_path)
            except click.ClickException as error:
                wrong.append(f"{command}: {error.format_message()}")
    assert wrong == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("corpus", "biuld", "demo"), "no command biuld"),
        (("corpus", "build", "demo", "--wrokers", "2"), "No such option"),
        (("catalog", "find", "--limit", "many"), "not a valid integer"),
        (("catalog", "takedown", "reqest"), "no command reqest"),
        (("catalog", "verify"), "Missing argument"),
    ],
)
def test_a_wrong_command_is_found(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with pytest.raises(click.ClickException) as raised:
        parse(Command("page", words, in_block=True), tmp_path)
    assert said in raised.value.format_message()


def test_every_make_target_and_script_of_a_page_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {word for c in ALL if c.words[0] == "make" for word in c.words[1:2] if c.in_block}
    named -= {word for word in named if not re.fullmatch(r"[a-z-]+", word)}
    assert named <= targets
    scripts = {
        w for c in ALL for w in c.words if re.fullmatch(r"(docs|benchmarks|deploy)/\S+\.py", w)
    }
    assert {name for name in scripts if "*" not in name and not (ROOT / name).exists()} == set()


# Commands that run on the demo, page by page and in order.

OUTSIDE = (
    *("corpus snapshots", "corpus models fetch", "corpus models add", "corpus evidence"),
    *("catalog serve", "corpus estimate", "corpus tokenizer sweep", "corpus parts skip"),
    *("corpus parts unskip", "corpus contamination judge", "corpus build commoncrawl"),
    *("catalog takedown verify", "corpus extraction"),
)
"""They need the network, a GPU, a browser, a crawl, or something that the demo does not have."""
MEANT = {
    "VERSION": "demo-1",
    "RECIPE": "demo",
    "my.yaml": "my/my.yaml",
    "mine.yaml": "my/my.yaml",
    "stricter.yaml": "my/my.yaml",
    "mine-1": "demo-1",
    "300B": "1M",  # of which the demo has enough
}
RUN = [page for page in PAGES if page not in EXAMPLES.PAGES and page.parent.name != "adr"]


def to_run(page: Path) -> list[tuple[str, ...]]:
    return [
        tuple(MEANT.get(word, word) for word in command.words)
        for command in commands(page)
        if command.in_block
        and command.words[:1] in (("corpus",), ("catalog",))
        and not shlex.join(command.words).startswith(OUTSIDE)
        and "--ray-address" not in command.words
    ]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", [page for page in RUN if to_run(page)], ids=lambda page: page.name)
def test_commands_of_a_page_run_on_the_demo(page: Path, demo_home: Path, tmp_path: Path) -> None:
    home = tmp_path / ".corpus"
    copy_home(demo_home, home)
    shutil.copytree(ROOT / "recipes", tmp_path / "my", ignore=shutil.ignore_patterns("sources"))
    (tmp_path / "my/demo.yaml").rename(tmp_path / "my/my.yaml")
    version = json.loads((home / "store/versions/demo-1/manifest.json").read_bytes())
    tokenizer = home / "store" / version["tokenizer"]["path"]
    for name in ("tokenizer.json", "other.json", "third.json"):
        shutil.copy(tokenizer, tmp_path / name)
    (tmp_path / "notes.txt").write_text("A few words of a text.\n")
    (tmp_path / "pages.jsonl").write_text('{"text": "And a page."}\n')
    labels = pa.table(
        {"url": ["http://a.example/"], "topic": ["law"], "web_level": [1], "edu": [2.0]}
    )
    pq.write_table(labels, tmp_path / "taxonomy.parquet")
    wrong = []
    for words in to_run(page):
        module = {"corpus": corpus_command(), "catalog": [*corpus_command()[:1], "-m", "catalog"]}
        command = [*module[words[0]], *words[1:]]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(home), capture_output=True, text=True
        )
        if done.returncode:
            wrong.append(f"{shlex.join(words)}: {done.stderr.strip().splitlines()[-1:]}")
    assert wrong == []
