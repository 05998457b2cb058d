"""A command returns a dataclass; JSON, text, notes and exit code derive from it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click
import pytest
from click.testing import CliRunner, Result

from catalog.answers import JSON_ONLY, Count, Named, Rows, Shown, in_json
from catalog.cli.answering import answers


@dataclass(frozen=True)
class Shard:
    name: str
    tokens: Annotated[Count, Shown("tokens in it")]
    digest: Annotated[bytes, JSON_ONLY] = b"\x01\xff"
    note: str | None = None

    @property
    @in_json
    def is_large(self) -> bool:
        return self.tokens > 1000

    @property
    def size(self) -> Annotated[str, Shown("how large")]:
        return "large" if self.is_large else "small"


@dataclass(frozen=True)
class Checked:
    version: str
    is_whole: bool
    origin: Annotated[str, Shown(key="from")]
    where: Path
    labels: list[str]
    shards: Annotated[list[Shard], Shown(columns=("name", "size"))]
    parts: Annotated[Mapping[str, Shard], Shown("part")]
    problems: list[str]
    ok: Annotated[bool, JSON_ONLY] = True

    @property
    def conclusion(self) -> str:
        return "All is well." if self.ok else "It is broken."

    @property
    def notes(self) -> tuple[str, ...]:
        return ("that was all",)


CHECKED = Checked(
    version="v1",
    is_whole=True,
    origin="lock",
    where=Path("a/b"),
    labels=["x", "y"],
    shards=[Shard("one", 12), Shard("two", 1200)],
    parts={"p0": Shard("three", 3000)},
    problems=[],
)


def ask(answer: object, *arguments: str) -> Result:
    @click.command()
    @answers
    def command() -> object:
        click.echo("on its way")
        return answer

    return CliRunner().invoke(command, arguments, prog_name="shop")


def test_text_is_fields_in_blocks_and_tables_and_a_conclusion() -> None:
    assert ask(CHECKED).stdout.splitlines() == [
        "on its way",
        "version   v1",
        "is whole  yes",
        "origin    lock",
        "where     a/b",
        "labels    x, y",
        "",
        "name  how large",
        "one   small",
        "two   large",
        "",
        "part  name   tokens in it",
        "p0    three         3,000",
        "",
        "All is well.",
    ]


def test_json_has_all_fields_and_what_is_told_and_nothing_else_on_stdout() -> None:
    done = ask(CHECKED, "--json")
    answer = json.loads(done.stdout)
    shard = {"name": "one", "tokens": 12, "digest": "01ff", "note": None, "is_large": False}
    assert answer["shards"][0] == shard
    assert (answer["from"], answer["where"], answer["parts"]["p0"]["tokens"]) == (
        "lock",
        "a/b",
        3000,
    )
    assert list(answer) == ["version", "is_whole", "from", "where", "labels", "shards", "parts",
                            "problems", "ok"]  # fmt: skip
    assert done.stderr.splitlines() == ["on its way", "shop: that was all"]


def test_a_list_is_a_json_list_and_a_table_or_a_sentence() -> None:
    rows = Rows([Shard("one", 1)], empty="No shard.", notes=("cut to 1",))
    assert ask(rows).stdout.splitlines()[1:] == ["name  tokens in it", "one              1"]
    assert ask(rows).stderr == "shop: cut to 1\n"
    assert [row["name"] for row in json.loads(ask(rows, "--json").stdout)] == ["one"]
    assert ask(Rows([], empty="No shard.")).stdout.splitlines()[1:] == ["No shard."]
    assert json.loads(ask(Rows([]), "--json").stdout) == []


def test_a_mapping_is_a_json_object_and_a_table_with_its_names() -> None:
    named = Named({"p0": Shard("one", 1200)}, "part", ("tokens",), conclusion="That is all.")
    lines = ["part  tokens in it", "p0           1,200", "", "That is all."]
    assert ask(named).stdout.splitlines()[1:] == lines
    assert json.loads(ask(named, "--json").stdout)["p0"]["tokens"] == 1200
    assert ask(Named({}, "part", empty="No part.")).stdout.splitlines()[1:] == ["No part."]


@dataclass(frozen=True)
class Said:
    code: int

    def __str__(self) -> str:
        return f"It ended with {self.code}."

    @property
    def exit_code(self) -> int:
        return self.code


@dataclass(frozen=True)
class Held:
    ok: bool


@pytest.mark.parametrize(
    ("answer", "code"), [(Held(True), 0), (Held(False), 1), (Said(0), 0), (Said(7), 7)]
)
def test_the_exit_code_is_the_answers(answer: object, code: int) -> None:
    assert ask(answer).exit_code == ask(answer, "--json").exit_code == code


def test_an_answer_that_is_a_sentence_is_printed_as_it() -> None:
    assert ask(Said(0)).stdout.splitlines()[1:] == ["It ended with 0."]


def test_a_view_prints_an_answer_in_its_own_way() -> None:
    def draw(answer: Said) -> None:
        click.echo("*" * answer.code)

    decorate: Callable[[Callable[[], Said]], Callable[..., None]] = answers(view=draw)
    command = click.command()(decorate(lambda: Said(3)))
    assert CliRunner().invoke(command, []).stdout == "***\n"
    assert json.loads(CliRunner().invoke(command, ["--json"]).stdout) == {"code": 3}
