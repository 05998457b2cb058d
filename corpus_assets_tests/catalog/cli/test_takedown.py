"""`catalog takedown` and `catalog exposure` as people and scripts meet them."""

import hashlib
import json
import sys
from importlib.metadata import EntryPoint, distributions, entry_points
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from catalog.cli.commands import main
from catalog.db.rows import ActionRow, CertificateRow
from catalog.takedown.near_copies import SKETCH_GROUP
from catalog.takedown.requests import RUNNER_GROUP
from corpus_assets_tests.catalog.corpus import Corpus

LONG = "http://long.example/"


def run(corpus: Corpus, *arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, [*arguments, "--home", str(corpus.home)], input=stdin)


def run_json(corpus: Corpus, *arguments: str) -> Any:
    result = run(corpus, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def sketches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry point that pyproject.toml declares, whether the package is installed or not."""
    point = EntryPoint("corpus_assets", "corpus_assets.text.sketch:sketch_text", SKETCH_GROUP)
    monkeypatch.setattr("catalog.plugins.entry_points", lambda group: [point])


def request(corpus: Corpus, *arguments: str) -> Result:
    return run(corpus, "takedown", "request", *arguments, "--reason", "the author asked")


def test_a_request_says_what_it_touches_and_what_will_happen(own_corpus: Corpus) -> None:
    kept = next(doc for doc in own_corpus.docs if doc.cluster and doc.kept)
    told = request(own_corpus, "--doc-id", kept.doc_id.hex()[:10], "--dry-run").stdout
    assert told.startswith("Dry run: nothing was filed.")
    filed = request(own_corpus, "--doc-id", kept.doc_id.hex()).stdout
    assert "Takedown 1 filed, pending." in filed
    assert "another member will be promoted" in filed
    assert "documents  1 (1 named by the request)" in filed
    again = request(own_corpus, "--doc-id", kept.doc_id.hex()).stdout
    assert "Already filed as takedown 1 (pending); nothing new was filed." in again
    standing = request(own_corpus, "--url", "http://nowhere.example/").stdout
    assert "applies to every later snapshot and build" in standing
    digest = request(own_corpus, "--text-sha256", "ab" * 32).stdout
    assert "applies to every later snapshot and build" in digest


def test_a_wide_request_takes_yes_and_says_which_hosts_it_covers(own_corpus: Corpus) -> None:
    asked = ("takedown", "request", "--domain", "example", "--reason", "why")
    refused = run(own_corpus, *asked)
    assert refused.exit_code == 2
    assert "file it with --yes" in refused.stderr
    told = request(own_corpus, "--domain", "example", "--dry-run").stdout
    assert "Filing it needs --yes: domain example covers" in told
    assert "covers     example and every host below it" in told
    assert "host           documents" in told
    assert run_json(own_corpus, *asked, "--yes")["outcome"] == "filed"


@pytest.mark.usefixtures("sketches")
def test_every_way_to_name_a_document_works(own_corpus: Corpus, tmp_path: Path) -> None:
    doc = own_corpus.doc(LONG)
    text = doc.text or ""
    (tmp_path / "text.txt").write_text(f"{text}\n", encoding="utf-8")
    for arguments in (
        ("--url", "https://www.LONG.example"),
        ("--url-prefix", "long.example"),
        ("--domain", "long.example"),
        ("--doc-id", doc.doc_id.hex()),
        ("--text-file", str(tmp_path / "text.txt")),
        ("--text-sha256", hashlib.sha256(text.encode()).hexdigest()),
    ):
        answer = run_json(
            own_corpus, "takedown", "request", *arguments, "--reason", "why", "--near-duplicates"
        )
        assert doc.doc_id.hex() in {d["doc_id"] for d in answer["documents_listed"]}, arguments
        assert answer["outcome"] == "filed"
    assert len(run_json(own_corpus, "takedown", "list")) == 6


@pytest.mark.usefixtures("sketches")
def test_near_copies_of_a_text_that_no_version_holds_are_refused_from_now_on(
    own_corpus: Corpus, tmp_path: Path
) -> None:
    path = tmp_path / "text.txt"
    path.write_text(" ".join(f"word{n} of the tale" for n in range(40)), encoding="utf-8")
    told = request(own_corpus, "--text-file", str(path), "--near-duplicates").stdout
    assert "No document of a live version matches." in told
    assert "Near duplicates of 1 text are suppressed too, under any URL." in told
    shown = run(own_corpus, "takedown", "show", "1").stdout
    assert "2 exact texts, 1 text with its near duplicates" in shown
    path.write_text("too short to tell", encoding="utf-8")
    short = request(own_corpus, "--text-file", str(path), "--near-duplicates").stdout
    assert "Only exact copies are suppressed" in short
    unknown = request(own_corpus, "--url", "http://nowhere.example/", "--near-duplicates").stdout
    assert "cannot be found until the text is known" in unknown


def test_a_text_cannot_be_sketched_where_nothing_that_does_it_is_installed(
    own_corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("catalog.plugins.entry_points", lambda group: [])
    (tmp_path / "text.txt").write_text("some text", encoding="utf-8")
    asked = ("--text-file", str(tmp_path / "text.txt"))
    refused = request(own_corpus, *asked, "--near-duplicates")
    assert (refused.exit_code, "install corpus-assets here" in refused.stderr) == (2, True)
    assert request(own_corpus, *asked).exit_code == 0


def test_requests_are_listed_shown_and_withdrawn(own_corpus: Corpus) -> None:
    empty = run(own_corpus, "takedown", "list").stdout
    assert empty == "No takedowns found.\n"
    request(own_corpus, "--url", LONG, "--requester", "Ann", "--reference", "case 7")
    request(own_corpus, "--domain", "nowhere.example", "--near-duplicates")
    table = run(own_corpus, "takedown", "list", "--status", "pending").stdout
    assert "example,long)/" in table
    assert "domain and near duplicates" in table
    assert "standing" in table
    shown = run(own_corpus, "takedown", "show", "1").stdout
    for said in ("the author asked", "Ann", "case 7", LONG, own_corpus.doc(LONG).doc_id.hex()):
        assert said in shown
    assert run_json(own_corpus, "takedown", "show", "1")["suppressions"] == [
        {"kind": "url_key", "value": "example,long)/"}
    ]
    gone = run(own_corpus, "takedown", "withdraw", "1").stdout
    assert "Takedown 1 withdrawn; 1 suppression ended with it" in gone
    assert [r["id"] for r in run_json(own_corpus, "takedown", "list", "--status", "withdrawn")] == [
        1
    ]
    cut = run(own_corpus, "takedown", "list", "--limit", "1")
    assert "output cut to 1 request (see --limit)" in cut.stderr


def test_what_was_done_is_shown_and_cannot_be_withdrawn(own_corpus: Corpus) -> None:
    request(own_corpus, "--url", LONG)
    registry = own_corpus.registry
    registry.claim_takedowns([1], "run-1", 60)
    assert "running, by run-1" in run(own_corpus, "takedown", "show", "1").stdout
    registry.fail_takedowns([1], "run-1", "the disk is full")
    failed = run(own_corpus, "takedown", "list", "--status", "failed").stdout
    assert "the disk is full" in failed
    registry.claim_takedowns([1], "run-2", 60)
    registry.finish_takedowns([1], "run-2", [ActionRow(1, "v1", "v1.td1")])
    registry.put_certificates([CertificateRow(1, "certificates/1.json", "a" * 64)])
    shown = run(own_corpus, "takedown", "show", "1").stdout
    assert "v1.td1" in shown
    assert "certificates/1.json" in shown
    refused = run(own_corpus, "takedown", "withdraw", "1")
    assert (refused.exit_code, "is done and cannot be withdrawn" in refused.stderr) == (2, True)


def test_an_import_exits_with_one_when_a_line_was_bad(own_corpus: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text(f"url,reason\n{LONG},why\nnot a page,why\n")
    result = run(own_corpus, "takedown", "import", str(path), "--dry-run")
    assert result.exit_code == 1
    assert "   3  'not a page' is not a web address" in result.stdout
    assert "requests read  2\nbad lines      1\n" in result.stdout
    assert "Dry run: nothing was filed." in result.stdout
    result = run(own_corpus, "takedown", "import", str(path), "--json")
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["filed"], answer["bad_lines"][0]["line"]) == (1, 1, 3)
    path.write_text(f"url\n{LONG}\n")
    good = run(own_corpus, "takedown", "import", str(path), "--reason", "all of them")
    assert (good.exit_code, "already filed  1" in good.stdout) == (0, True)


def test_no_command_prints_text_of_a_document(own_corpus: Corpus, tmp_path: Path) -> None:
    text = own_corpus.doc(LONG).text or ""
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    said = ""
    for form in ((), ("--json",)):
        said += request(own_corpus, "--text-file", str(tmp_path / "text.txt"), *form).output
        said += run(own_corpus, "takedown", "show", "1", *form).output
        said += run(own_corpus, "takedown", "list", *form).output
    assert len(said) > 1000
    assert "harbour" not in said
    assert "orchard" not in said
    (tmp_path / "broken.txt").write_bytes(b"harbour \xff")
    refused = request(own_corpus, "--text-file", str(tmp_path / "broken.txt"))
    assert refused.exit_code == 2
    assert "not UTF-8" in refused.stderr
    assert "harbour" not in refused.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("takedown", "request", "--reason", "x"), "give exactly one of"),
        (("takedown", "request", "--url", "a", "--domain", "b", "--reason", "x"), "exactly one of"),
        (("takedown", "request", "--url", LONG), "Missing option '--reason'"),
        (("takedown", "request", "--url", LONG, "--reason", " "), "needs a reason"),
        (("takedown", "request", "--doc-id", "ffff", "--reason", "x"), "no live version has"),
        (("takedown", "show", "99"), "no takedown 99"),
        (("takedown", "withdraw", "99"), "no takedown 99"),
        (("takedown", "list", "--status", "lost"), "'lost' is not one of"),
        (("takedown", "import", "/nowhere.csv"), "does not exist"),
        (("exposure", "ffff", "--steps", "1", "--global-batch", "1"), "has no document"),
        (("exposure", "ffff", "--steps", "1"), "Missing option '--global-batch'"),
    ],
)
def test_errors_are_one_line_on_stderr_with_exit_code_two(
    corpus: Corpus, arguments: tuple[str, ...], said: str
) -> None:
    result = run(corpus, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("catalog: error: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_exposure_is_told_as_a_table_and_as_json(corpus: Corpus) -> None:
    doc = corpus.doc(LONG)
    options = ("--steps", "100", "--global-batch", "4", "--seed", "5", "--version", "v1")
    answer = run_json(corpus, "exposure", doc.doc_id.hex(), *options)
    assert answer["steps"] == 12
    assert answer["times_seen"] == len(answer["seen"]) > 0
    assert {row["step"] for row in answer["seen"]} <= set(range(12))
    text = run(corpus, "exposure", doc.doc_id.hex()[:8], *options).stdout
    assert f"times seen       {answer['times_seen']}" in text
    assert "The run of this manifest ends after 12 steps" in text


def install_runner(folder: Path, name: str, body: str) -> None:
    """A distribution with an entry point, as pip lays it out."""
    (folder / f"{name}.py").write_text(body)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[catalog.takedown_runner]\n{name} = {name}:run\n")


@pytest.fixture
def only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for distributions. A runner installed elsewhere would really run, so only those of
    this place are seen, and the default home is a folder of the test."""
    folder = tmp_path / "site"
    folder.mkdir()

    def here(group: str) -> list[EntryPoint]:
        found = distributions(path=[str(folder)])
        return [point for one in found for point in one.entry_points if point.group == group]

    monkeypatch.chdir(tmp_path)
    for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr("catalog.plugins.entry_points", here)
    return folder


def test_run_calls_the_installed_runner_with_the_home(only_here: Path) -> None:
    none = CliRunner().invoke(main, ["takedown", "run"])
    assert none.exit_code == 2
    assert "no takedown runner is installed" in none.stderr
    install_runner(
        only_here, "first_runner", "def run(home):\n    print('at', home)\n    return 3\n"
    )
    ran = CliRunner().invoke(main, ["takedown", "run", "--home", "/some/home"])
    assert (ran.exit_code, ran.stdout) == (3, "at /some/home\n")
    asked = CliRunner().invoke(main, ["takedown", "run", "--json"])
    assert json.loads(asked.stdout) == {"runner": "first_runner:run", "exit_code": 3}
    assert asked.stderr == "at None\n"
    install_runner(only_here, "second_runner", "run = None\n")
    several = CliRunner().invoke(main, ["takedown", "run"])
    assert (several.exit_code, "several takedown runners" in several.stderr) == (2, True)
    sys.modules.pop("first_runner", None)


def test_run_hands_on_where_the_work_is_to_be_done(only_here: Path) -> None:
    body = "def run(home, **options):\n    print(sorted(options.items()))\n    return 0\n"
    install_runner(only_here, "placed_runner", body)
    plain = CliRunner().invoke(main, ["takedown", "run"])
    assert plain.stdout == "[]\n", "what was not asked for is the runner's to choose"
    options = ["--workers", "3", "--engine", "ray", "--ray-address", "head:6379"]
    placed = CliRunner().invoke(main, ["takedown", "run", *options])
    assert placed.stdout == "[('engine', 'ray'), ('ray_address', 'head:6379'), ('workers', 3)]\n"
    sys.modules.pop("placed_runner", None)


def test_a_runner_that_cannot_be_loaded_is_named(only_here: Path) -> None:
    install_runner(only_here, "broken_runner", "import no_such_module_anywhere\n")
    result = CliRunner().invoke(main, ["takedown", "run"])
    assert result.exit_code == 2
    assert "broken_runner:run cannot be loaded" in result.stderr


def test_a_runner_is_found_among_what_is_installed() -> None:
    names = {point.value for point in entry_points(group=RUNNER_GROUP)}
    assert len(names) == 1, "corpus-assets brings one runner"
