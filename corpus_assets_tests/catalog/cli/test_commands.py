"""The `catalog` command as people and scripts meet it."""

import gc
import json
import os
import shlex
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from catalog.cli.commands import main
from catalog.cli.process import command_process
from catalog.cli.terminal import printable
from catalog.db import schema
from catalog.db.rows import GateRow
from corpus_assets_tests.catalog.corpus import PREFERENCE, Corpus, Doc, build

SHARD = "WEB-2024-10/web/high/shard_00001"


def run(corpus: Corpus, *arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, [*arguments, "--home", str(corpus.home)], input=stdin)


def run_json(corpus: Corpus, *arguments: str) -> Any:
    result = run(corpus, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_upgrade_creates_the_catalog_and_then_says_it_is_up_to_date(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    first = CliRunner().invoke(main, ["upgrade", "--home", home])
    again = CliRunner().invoke(main, ["upgrade", "--home", home])
    assert f"from schema none to {schema.newest()}" in first.stdout
    assert f"up to date (schema {schema.newest()})" in again.stdout
    empty = CliRunner().invoke(main, ["versions"], env={"CORPUS_HOME": home})
    assert empty.stdout == "No version is published yet.\n"
    status = CliRunner().invoke(main, ["status", "--home", home]).stdout
    assert status.startswith(f"home   {home}\nstore  ")
    assert status.endswith("\n\nThe home is empty; `corpus build demo` fills it.\n")


def test_addresses_come_from_the_environment_too(corpus: Corpus) -> None:
    environment = {
        "CORPUS_CATALOG_URL": f"sqlite:///{corpus.home / 'catalog.db'}",
        "CORPUS_STORE_URL": str(corpus.home / "store"),
        "CORPUS_HOME": "/nowhere",
    }
    result = CliRunner().invoke(main, ["resolve", "v1"], env=environment)
    assert result.exit_code == 0, result.output


def test_the_status_of_a_home_has_its_versions_and_bytes_by_stage(corpus: Corpus) -> None:
    body = run_json(corpus, "status")
    assert [version["name"] for version in body["versions"]] == ["v1"]
    artifacts = corpus.registry.artifacts()
    assert sum(stage["tasks"] for stage in body["stages"].values()) == len(artifacts)
    assert "\nv1       released" in run(corpus, "status").stdout


def test_versions_are_listed(corpus: Corpus) -> None:
    assert "v1       released" in run(corpus, "versions").stdout
    assert run_json(corpus, "versions")[0]["documents"] == len(corpus.kept())


@pytest.mark.parametrize(
    "question",
    [
        "lineage DOC",
        "cluster DOC",
        "find --url URL",
        "exposure DOC --steps 9 --global-batch 2",
        "judgements",
        "sql 'SELECT 1'",
        "resolve latest",
        f"trace latest {SHARD} 0 0",
        "verify latest",
    ],
)
def test_the_only_version_is_asked_while_it_is_a_candidate_and_the_answer_says_so(
    own_corpus: Corpus, question: str
) -> None:
    with own_corpus.registry.database.write() as connection:
        connection.exec_driver_sql("UPDATE versions SET released_at = NULL")
    doc = own_corpus.kept()[0]
    arguments = [
        {"DOC": doc.doc_id.hex(), "URL": doc.url}.get(word, word) for word in shlex.split(question)
    ]
    told = run(own_corpus, *arguments)
    assert told.exit_code == 0, told.output
    assert "version v1 is a candidate: no version is released yet" in told.stderr
    assert run_json(own_corpus, *arguments)["state"] == "candidate"
    named = run(own_corpus, *(word.replace("latest", "v1") for word in arguments))
    assert ("candidate: no version" in named.stderr) == ("latest" not in question)


def test_a_candidate_is_released_by_command_with_who_and_why(tmp_path: Path) -> None:
    corpus = build(tmp_path / "home")
    row = corpus.registry.version("v1")
    closed = GateRow("v2", "drift", False, detail={"message": "quality fell"})
    candidate = replace(row, name="v2", released_at=None, released_by=None, release_reason=None)
    corpus.registry.publish_version(candidate, [], [], gates=[closed])
    assert [v["state"] for v in run_json(corpus, "versions")] == ["released", "candidate"]
    assert run_json(corpus, "resolve", "latest")["name"] == "v1"
    refused = run(corpus, "release", "v2")
    assert refused.exit_code == 2
    assert "v2 stays a candidate: drift: quality fell" in refused.stderr
    run(corpus, "release", "v2", "--override", "seen by hand", "--by", "ann")
    released = run_json(corpus, "versions")[1]
    assert (released["state"], released["released_by"]) == ("released", "ann")
    assert released["release_reason"] == "override: seen by hand"


def test_resolve_names_everything_a_version_is_made_of(corpus: Corpus) -> None:
    answer = run_json(corpus, "resolve", "v1")
    assert [entry["snapshot"] for entry in answer["inputs"]] == ["WEB-2024-10", "WEB-2024-18"]
    assert len(answer["groups"]) == 4
    assert sum(shard["tokens"] for shard in answer["shards"]) == answer["tokens"]
    text = run(corpus, "resolve", "v1").stdout
    for digest in (answer["manifest_sha256"], answer["lock_digest"], answer["recipe_digest"]):
        assert digest in text


def test_lineage_tells_a_documents_story(corpus: Corpus) -> None:
    removed = next(doc for doc in corpus.docs if doc.reason == "near_duplicate")
    text = run(corpus, "lineage", removed.doc_id.hex()[:9]).stdout
    assert "dropped by clusters: near_duplicate" in text
    assert removed.url in text
    answer = run_json(corpus, "lineage", removed.doc_id.hex(), "--version", "v1")
    assert answer["cluster"]["size"] == 3


def test_what_was_said_about_training_is_shown_and_counted(corpus: Corpus) -> None:
    kept = corpus.kept()[0]
    text = run(corpus, "lineage", kept.doc_id.hex()).stdout
    assert f"allow ({PREFERENCE})" in " ".join(text.split())
    query = "SELECT preference, count(*) AS n FROM records GROUP BY ALL ORDER BY ALL"
    silent = len(corpus.docs) - len(corpus.kept())
    expected = [["allow", len(corpus.kept())], ["unknown", silent]]
    assert run_json(corpus, "sql", query)["rows"] == expected


def test_find_takes_an_address_a_host_a_text_or_a_file(corpus: Corpus, tmp_path: Path) -> None:
    doc = corpus.kept()[-1]
    (tmp_path / "text.txt").write_text(f"{doc.text}\n", encoding="utf-8")
    for arguments in (
        ("--url", doc.url.upper().replace("HTTP://LONG.EXAMPLE", "http://LONG.example")),
        ("--host", "long.example"),
        ("--domain", "long.example"),
        ("--text", doc.text or ""),
        ("--text-file", str(tmp_path / "text.txt")),
    ):
        found = run_json(corpus, "find", *arguments)
        assert doc.doc_id.hex() in {match["doc_id"] for match in found["matches"]}, arguments
    assert doc.doc_id.hex() in run(corpus, "find", "--text-file", "-", stdin=doc.text).stdout
    assert "No match in" in run(corpus, "find", "--url", "http://else.example/").stdout
    assert "first 2 are shown" in run(corpus, "find", "--host", "example", "--limit", "2").stdout
    assert "No document has exactly" in run(corpus, "find", "--text", "Write to <email>").stdout


def test_trace_shows_the_token_in_its_text(corpus: Corpus) -> None:
    answer = run_json(corpus, "trace", "v1", SHARD, "0", "3")
    text = run(corpus, "trace", "v1", SHARD, "0", "3").stdout
    assert f"[{answer['final_text']['text']}]" in text
    assert answer["doc_id"] in text
    samples = corpus.registry.version_shard("v1", SHARD).samples
    places = [(sample, token) for sample in range(samples) for token in range(47, 40, -1)]
    padding = [
        text
        for sample, token in places
        if "padding" in (text := run(corpus, "trace", "v1", SHARD, str(sample), str(token)).stdout)
    ]
    assert padding


def test_diff_of_a_version_with_itself_is_empty(corpus: Corpus) -> None:
    text = run(corpus, "diff", "v1", "v1").stdout
    assert "6 unchanged, 0 changed, 0 added, 0 removed" in text
    assert "0 added, 0 removed" in text
    assert run_json(corpus, "diff", "v1", "v1")["recipe"] == []


def test_verify_succeeds_on_a_whole_version_and_fails_on_a_damaged_one(own_corpus: Corpus) -> None:
    whole = run(own_corpus, "verify", "v1")
    assert (whole.exit_code, "OK:" in whole.stdout) == (0, True)
    path = own_corpus.registry.version_shards("v1")[0].bin_path
    file = own_corpus.home / "store" / path
    file.write_bytes(file.read_bytes()[:-1] + b"\x01")
    damaged = run(own_corpus, "verify", "v1")
    assert damaged.exit_code == 1
    assert "FAILED: 1 problem" in damaged.stdout
    assert path in damaged.stdout
    assert json.loads(run(own_corpus, "verify", "v1", "--json").stdout)["ok"] is False


def test_sql_answers_as_table_and_as_json(corpus: Corpus) -> None:
    query = "SELECT kept, count(*) AS n FROM decisions GROUP BY kept ORDER BY kept"
    assert run(corpus, "sql", query).stdout == "kept  n\nno    8\nyes   20\n"
    assert run_json(corpus, "sql", query)["rows"] == [[False, 8], [True, 20]]
    cut = run(corpus, "sql", "SELECT * FROM records", "--limit", "1")
    assert "output cut to 1 row (see --limit)" in cut.stderr
    raw = run_json(corpus, "sql", "SELECT doc_id, 'nan'::DOUBLE AS x FROM raw.records LIMIT 1")
    assert len(raw["rows"][0][0]) == 32
    assert raw["rows"][0][1] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("resolve", "v9"), "no version 'v9'"),
        (("lineage", "ffff"), "has no document"),
        (("lineage", "zz"), "not a document id"),
        (("trace", "v1", "shard_00000", "0", "0"), "4 shards are named"),
        (("trace", "v1", SHARD, "0", "x"), "'x' is not a valid integer"),
        (("find",), "give exactly one of"),
        (("find", "--url", "a", "--host", "b"), "give exactly one of"),
        (("sql", "COPY documents TO '/tmp/x'"), "only reads"),
        (("versions", "--catalog-url", "mysql://x/y"), "lives in sqlite or postgresql"),
        (("no-such-command",), "No such command"),
    ],
)
def test_errors_are_one_line_on_stderr_with_exit_code_two(
    corpus: Corpus, arguments: tuple[str, ...], said: str
) -> None:
    result = run(corpus, *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("catalog: error: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_text_file_that_is_not_utf8_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    result = run(corpus, "find", "--text-file", str(tmp_path / "x"))
    assert (result.exit_code, "not UTF-8" in result.stderr) == (2, True)


def test_a_missing_catalog_says_how_to_make_one(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["versions", "--home", str(tmp_path)])
    assert (result.exit_code, "run `catalog upgrade`" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", ["versions", "upgrade"])
def test_a_home_of_a_development_tree_is_refused_in_one_line(tmp_path: Path, command: str) -> None:
    home = ["--home", str(tmp_path)]
    assert CliRunner().invoke(main, ["upgrade", *home]).exit_code == 0
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        connection.execute(f"UPDATE {schema.VERSION_TABLE} SET version_num = '0014'")
    connection.close()
    result = CliRunner().invoke(main, [command, *home])
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "has schema 0014" in result.stderr
    assert "begin with a new home" in result.stderr


def test_every_command_has_json_and_help() -> None:
    paths = [[name] for name in main.commands]
    for name, command in main.commands.items():
        if isinstance(command, click.Group):
            paths += [[name, inner] for inner in command.commands]
    for path in paths:
        text = CliRunner().invoke(main, [*path, "--help"])
        assert text.exit_code == 0
        assert ("--json" in text.stdout) == (path != ["serve"]), path
    assert "verify" in CliRunner().invoke(main, []).stdout


def test_a_page_cannot_write_to_the_terminal_of_who_looks_at_it(tmp_path: Path) -> None:
    nasty = Doc("S", 0, 0, "http://a.example/\x1b[2J[red]x[/red]\u202e", "some words of text here")
    result = run(build(tmp_path, docs=[nasty]), "lineage", nasty.doc_id.hex())
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert "\\x1b[2J[red]x[/red]\\u202e" in result.stdout
    assert printable(None) == "-"
    assert printable(b"\x01\xff") == "01ff"


def test_the_command_runs_as_a_process_and_stops_quietly_when_its_reader_does(
    corpus: Corpus,
) -> None:
    command = [sys.executable, "-c", "from catalog.cli.commands import main; main()"]
    asked = [*command, "sql", "SELECT doc_id FROM records", "--home", str(corpus.home)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1 + len(corpus.docs)
    failing = subprocess.run(
        [*command, "resolve", "v9", "--home", str(corpus.home)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert failing.returncode == 2
    assert failing.stderr.startswith("catalog: error: there is no version 'v9'")
    endless = "SELECT doc_id, i FROM records, range(2000) AS t(i)"
    with subprocess.Popen(
        [*command, "sql", endless, "--limit", "50000", "--home", str(corpus.home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None  # noqa: PT018
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


def test_a_terminal_gets_a_drawn_table(corpus: Corpus) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", "from catalog.cli.commands import main; main()", "versions"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(
        [*command, "--home", str(corpus.home)], stdout=theirs, env=environment
    ) as process:
        os.close(theirs)
        seen = b""
        while b"manifest" not in seen or b"v1" not in seen:
            seen += os.read(ours, 4096)
        assert process.wait(timeout=60) == 0
    os.close(ours)
    assert b"\x1b[1m" in seen, "the heading is bold"


def test_json_for_a_terminal_is_safe_and_still_json(tmp_path: Path) -> None:
    url = "http://a.example/\x9b2J\u202e\U000e0001ü"
    nasty = Doc("S", 0, 0, url, "some words of text here")
    result = run(build(tmp_path, docs=[nasty]), "lineage", nasty.doc_id.hex(), "--json")
    assert json.loads(result.stdout)["records"][0]["url"] == url
    assert not {"\x9b", "\u202e", "\U000e0001"} & set(result.stdout)
    assert "ü" in result.stdout


def test_a_home_with_odd_characters_works(tmp_path: Path) -> None:
    home = tmp_path / "a ?b#c%41[d]'e"
    assert CliRunner().invoke(main, ["upgrade", "--home", str(home)]).exit_code == 0
    assert (home / "catalog.db").exists()


def test_the_catalog_imports_neither_dagster_nor_the_pipeline() -> None:
    program = (
        "import sys, pkgutil, importlib, catalog\n"
        "for module in pkgutil.iter_modules(catalog.__path__):\n"
        "    if not module.ispkg and module.name != '__main__': importlib.import_module('catalog.' + module.name)\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('dagster', 'corpus_assets')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_command_line_alone_loads_no_numeric_library() -> None:
    heavy = "{'numpy', 'pyarrow', 'duckdb', 'alembic', 'sqlalchemy', 'pydantic', 'cryptography', 'rich'}"
    code = f"import sys, catalog.cli.commands; print(sorted(set(sys.modules) & {heavy}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_what_a_command_sets_up_for_itself_ends_with_it() -> None:
    umask, thresholds = os.umask(0o022), gc.get_threshold()
    try:
        with command_process():
            assert gc.get_threshold() > thresholds
            assert os.umask(0o077) == 0o077
        assert (os.umask(0o022), gc.get_threshold()) == (0o022, thresholds)
    finally:
        os.umask(umask)
