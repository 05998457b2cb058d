r"""Rewrite the sample outputs of the pages, and the figures in their sentences, from a real run.

    python docs/make_examples.py [PAGE ...]

Builds the demo corpus in a temporary folder, gives each page's commands in their order, and puts
what they print into the page. A line `...` stands for lines that were left out and stays where it
is. Inside a line `...` is what differs from one run to the next: the folder, the time at which a
version was made, and the digests of locks and manifests, which change with the code; others may be
put there by hand and stay too. A command whose output has a line `error:` has to fail so.

A figure in a sentence names where it comes from, in a comment that readers do not see:

    Its 704<!-- token 100 of (\d+) --> tokens are in one sample.

The pattern is looked for in what the commands above the sentence printed, the last of them first. A
command in a comment of its own, `<!-- $ catalog status -->`, is given without being shown.
`corpus_assets_tests/test_examples.py` holds the pages against a run, and finds figures of the
examples that are repeated in a sentence without a pattern.
"""

import contextlib
import difflib
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from catalog.cli.commands import main as catalog
from catalog.db.registry import Registry
from corpus_assets.cli.main import main as corpus

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    ROOT / "README.md",
    ROOT / "packages/corpus_loader/README.md",
    ROOT / "docs/tutorial/first-corpus.md",
    *(
        ROOT / f"docs/how-to/{n}.md"
        for n in ("remove-documents", "export-shards", "free-disk-space")
    ),
)
LEFT_OUT = "..."
BUILD = "corpus build demo --version demo-1"
IN_A_SHELL = {"make demo": BUILD, ". .venv/bin/activate": None}

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"^<!-- \$ (.+?) -->$", re.MULTILINE)
FIGURE = re.compile(r"(?P<value>\d[\d,.]*|\w+)<!-- (?P<pattern>[^$\n][^\n]*?) -->")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*\d{2}(?![\w-])(?!<!--)")
FILE_NAME = re.compile(r"`(\w+\.py)`")


@dataclass(frozen=True)
class Example:
    """A command as a page shows it, and the lines of output below it."""

    command: str
    shown: tuple[str, ...]
    printed: tuple[str, ...]
    at: int = 0  # where the page has it

    @property
    def holds(self) -> bool:
        """Whether the page shows what was printed; a command shown without output is only run."""
        return not self.shown or _matches(list(self.shown), list(self.printed))


@dataclass(frozen=True)
class Figure:
    """A figure in a sentence, and what the examples above it say; None where none says it."""

    start: int
    end: int
    value: str
    pattern: str
    found: str | None


def run_page(page: Path, folder: Path) -> list[Example]:
    """Give a page's commands in `folder`, whose home is `.corpus`, one after the other."""
    text = page.read_text(encoding="utf-8")
    examples = []
    places = [*BLOCK.finditer(text), *HIDDEN.finditer(text)]
    for block in sorted(places, key=lambda found: found.start()):
        if block.re is HIDDEN:
            printed = _steady(_printed(block[1], folder), folder)
            examples.append(Example(block[1], (), tuple(printed), block.start()))
        elif block[1] == "python":
            named = FILE_NAME.findall(
                text[: block.start()].rpartition("\n\n")[0].rpartition("\n")[2]
            )
            if named:
                (folder / named[-1]).write_text(block[2], encoding="utf-8")
        elif not block[1] and block[2].startswith("$ "):
            for command, shown in commands(block[2]):
                printed = _steady(_printed(command, folder, _is_error(shown)), folder)
                examples.append(Example(command, tuple(shown), tuple(printed), block.start()))
    return examples


def _is_error(shown: list[str]) -> bool:
    return any(re.match(r"(\w+: )?error:", line) for line in shown)


def figures(page: Path, examples: list[Example]) -> list[Figure]:
    """The figures in the page's sentences, each with what the examples above it printed."""
    found = []
    for figure in FIGURE.finditer(page.read_text(encoding="utf-8")):
        above = [example for example in examples if example.at < figure.start()]
        said = None
        for example in reversed(above):
            match = re.search(figure["pattern"], "\n".join(example.printed))
            if match is not None:
                said = match[1]
                break
        start, end = figure.span("value")
        found.append(Figure(start, end, figure["value"], figure["pattern"], said))
    return found


def unmarked(page: Path, examples: list[Example]) -> list[str]:
    """Numbers of three digits and more that examples of the page print, and a sentence repeats
    without saying where they come from."""
    printed = {
        number
        for example in examples
        for line in example.printed
        for number in NUMBER.findall(line)
    }
    sentences = CODE.sub(" ", HIDDEN.sub(" ", page.read_text(encoding="utf-8")))
    plain = {number.replace(",", "") for number in printed}
    return [n for n in NUMBER.findall(sentences) if n.replace(",", "") in plain]


def commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a block, each with the lines below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.rstrip("\n").replace("\\\n", "").split("\n")
        while lines and not lines[-1]:
            lines.pop()
        yield command, lines


def rewritten(page: Path, examples: list[Example]) -> str:
    """The page with what was printed in place of what it shows."""
    text = page.read_text(encoding="utf-8")
    for figure in reversed(figures(page, examples)):
        if figure.found is None:
            raise SystemExit(f"{page.name}: no command above prints `{figure.pattern}`")
        text = text[: figure.start] + figure.found + text[figure.end :]
    waiting = iter([example for example in examples if f"<!-- $ {example.command} -->" not in text])

    def block(found: re.Match[str]) -> str:
        if found[1] or not found[2].startswith("$ "):
            return found[0]
        parts = []
        for part in re.split(r"^(?=\$ )", found[2], flags=re.MULTILINE)[1:]:
            example = next(waiting)
            if example.holds:
                parts.append(part)
                continue
            head = re.match(r"(?:.*\\\n)*.*\n", part)
            lines = _refreshed(list(example.shown), list(example.printed))
            ending = "\n" if part.endswith("\n\n") else ""
            parts.append((head[0] if head else part) + "\n".join(lines) + "\n" + ending)
        return f"```\n{''.join(parts)}```"

    return BLOCK.sub(block, text)


def _printed(line: str, folder: Path, fails: bool = False) -> str:
    """Run commands in this process; gives their standard output, or the error of one that fails."""
    known = IN_A_SHELL.get(line, line)
    if known is None:
        return ""
    out, errors = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors) if fails else contextlib.nullcontext(),
    ):
        for command in known.split("; "):
            code = _run(*shlex.split(command)) or code
    if bool(code) != fails:
        raise SystemExit(f"`{line}` ended with {code}")
    return errors.getvalue() if fails else out.getvalue()


def _run(name: str, *arguments: str) -> object:
    try:
        if name == "corpus":
            workers = ["--workers", "1"] if arguments[0] == "build" else []
            return corpus([*arguments, *workers])
        if name == "catalog":
            catalog(list(arguments))
        elif name == "python":
            runpy.run_path(arguments[0], run_name="__main__")
        elif name in ("rm", "cp"):
            subprocess.run([name, *arguments], check=True)
        else:
            raise SystemExit(f"{name}: not a command of this project")
    except SystemExit as left:
        return left.code
    return 0


def _steady(printed: str, folder: Path) -> list[str]:
    """Lines with `...` for what differs from run to run, in columns as wide as that."""
    changing = [str(folder)]
    for version in Registry(f"sqlite:///{folder}/.corpus/catalog.db").versions():
        digests = (version.lock_digest, version.manifest_sha256)
        changing += [version.created_at, *digests, *(digest[:12] for digest in digests)]
    for value in changing:
        printed = printed.replace(f"{value}  ", f"{LEFT_OUT.ljust(len(value))}  ")
        printed = printed.replace(value, LEFT_OUT)
    return [line.rstrip() for line in printed.strip("\n").splitlines()]


def _matches(shown: list[str], printed: list[str]) -> bool:
    """Whether lines fit, `...` standing for any lines, or any characters inside a line."""
    at = 0
    runs = _runs(shown)
    for number, run in enumerate(runs):
        last = len(printed) - len(run)
        places = range(at, last + 1)
        if number == 0:
            places = range(min(1, last + 1))
        if number == len(runs) - 1:
            places = range(last, last + 1) if last in places else range(0)
        found = next((p for p in places if all(map(_fits, run, printed[p:]))), None)
        if found is None:
            return False
        at = found + len(run)
    return True


def _runs(shown: list[str]) -> list[list[str]]:
    runs: list[list[str]] = [[]]
    for line in shown:
        if line.strip() == LEFT_OUT:
            runs.append([])
        else:
            runs[-1].append(line)
    return runs


def _fits(shown: str, printed: str) -> bool:
    pattern = ".*".join(map(re.escape, shown.rstrip().split(LEFT_OUT)))
    return re.fullmatch(pattern, printed) is not None


def _refreshed(shown: list[str], printed: list[str]) -> list[str]:
    """The printed lines, without those that the page leaves out: shown lines are found again by
    likeness, in order, and what stands between two of them goes where the page has `...`. A line
    that still fits stays as it is shown."""
    runs = _runs(shown)
    lines = [line for run in runs for line in run]
    pairs = dict(_aligned(lines, printed))
    printed = list(printed)
    for number, place in pairs.items():
        if _fits(lines[number], printed[place]):
            printed[place] = lines[number]
    if len(runs) == 1:
        return printed
    kept: list[str] = []
    at, place = 0, 0
    for number, run in enumerate(runs):
        places = [pairs[n] for n in range(place, place + len(run)) if n in pairs]
        place += len(run)
        start = places[0] if places and number else at
        end = places[-1] + 1 if places else at
        if number == len(runs) - 1 and run:
            end = len(printed)
        kept += [LEFT_OUT] * (number > 0) + printed[start:end]
        at = end
    return kept


def _aligned(shown: list[str], printed: list[str]) -> list[tuple[int, int]]:
    """Pairs of places, ascending, that are most alike in all."""

    def likeness(one: str, other: str) -> float:
        plain = [re.sub(r"[0-9a-f]{12,}|[\d,.]+", "0", text) for text in (one, other)]
        alike = [difflib.SequenceMatcher(None, *two).ratio() for two in (plain, (one, other))]
        return alike[0] + alike[1] / 100 - 0.6

    best = [[0.0] * (len(printed) + 1) for _ in range(len(shown) + 1)]
    scores = [[likeness(one, other) for other in printed] for one in shown]
    for i in range(len(shown) - 1, -1, -1):
        for j in range(len(printed) - 1, -1, -1):
            taken = scores[i][j] + best[i + 1][j + 1]
            best[i][j] = max(best[i + 1][j], best[i][j + 1], taken)
    pairs, i, j = [], 0, 0
    while i < len(shown) and j < len(printed):
        if scores[i][j] > 0 and best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def main() -> None:
    for name in [name for name in os.environ if name.startswith(("CORPUS_", "DAGSTER_"))]:
        if name not in ("CORPUS_MODELS", "CORPUS_SHARED_DATA"):
            del os.environ[name]
    wanted = [Path(name).resolve() for name in sys.argv[1:]] or PAGES
    with tempfile.TemporaryDirectory() as place:
        built = Path(place).resolve() / "built"
        built.mkdir()
        _printed(BUILD, built)
        for page in wanted:
            folder = built.with_name("-".join(page.relative_to(ROOT).parts))
            os.environ["XDG_CONFIG_HOME"] = str(folder / "config")  # no key of the user's
            shutil.copytree(built, folder)
            page.write_text(rewritten(page, run_page(page, folder)), encoding="utf-8")
            sys.stdout.write(f"{page.name} rewritten\n")


if __name__ == "__main__":
    main()
