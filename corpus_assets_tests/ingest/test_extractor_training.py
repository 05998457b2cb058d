import gzip
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from corpus_assets.cli.extraction import extraction
from corpus_assets.core.errors import CorpusError, SourceError
from corpus_assets.ingest.extractor_training import (
    Truth,
    cross_validate,
    make_pages,
    measures,
    read_texts,
    read_truth,
    train,
    training,
)
from corpus_assets.ingest.extractor_training.documentation_templates import main_content
from corpus_assets.ingest.extractor_training.labels import LabelLimits, run_extractor
from corpus_assets.ingest.extractor_training.pages import TYPES
from corpus_assets.ingest.extractor_training.truth import block_labels, block_texts, f1_of, site_of
from corpus_assets.ingest.extractors.blocks import BlockModel, read_model
from corpus_assets_tests.ingest.extract.test_blocks_engine import texts
from corpus_assets_tests.ingest.warc_bytes import member, members, response


def test_labels_follow_runs_of_words_over_the_borders_of_blocks() -> None:
    blocks = ["Home", "The cat", "sat on the mat and slept", "Related: on the mat", "the mat", ""]
    labels = block_labels(blocks, "The cat sat on the mat and slept.")
    assert labels.tolist() == [0, 1, 1, 0, 0, 0]


def test_of_two_copies_one_is_too_many() -> None:
    text = "one two three four five"
    assert block_labels([text, "nothing here at all", text], text).tolist() == [0.5, 0, 0.5]


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    labels = block_labels(["猫が座った。", "首页新闻体育"], "猫が座った")
    assert labels.tolist() == [1, 0]


def test_short_main_content_is_found_too() -> None:
    assert block_labels(["A b", "c"], "a b").tolist() == [1, 0]


def test_f1_counts_words_as_often_as_they_stand() -> None:
    assert f1_of("a b b", "A b c") == pytest.approx(2 / 3)
    assert f1_of("", "a") == f1_of("", "") == 0


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ('<div class="related" role="navigation">n</div><div role="main"><h1>a<a class="headerlink">#</a></h1>b</div>', "a b"),
        ('<meta name="generator" content="DocBook XSL"><div class="navheader">n</div><p>a</p><div class="navfooter">n</div>', "a"),
        ('<meta name="generator" content="Doxygen 1.9"><div id="top">n</div><div class="contents"><p>a</p><p>b</p></div>', "a b"),
        ('<div class="n">n</div><div id="DisplayArea">a<p class="embedded">b</p><p class="howtoget">n</p><script>n</script></div>', "a b"),
        ("<p>a page of nobody knows what</p>", None),
        ("", None),
    ],
)  # fmt: skip
def test_generators_of_documentation_say_where_the_main_content_is(
    page: str, text: str | None
) -> None:
    found = main_content(page.encode())
    assert (found if found is None else " ".join(found.split())) == text


def test_made_up_pages_are_the_same_for_the_same_seed_and_of_all_types() -> None:
    pages = list(make_pages(texts(), 60, 1))
    assert pages == list(make_pages(texts(), 60, 1))
    assert pages[0] != next(iter(make_pages(texts(), 1, 2)))
    assert {page.type for page in pages} == set(TYPES)
    for page in pages:
        assert page.main_content
        assert page.page.startswith(b"<!DOCTYPE html>")


def test_truth_is_read_from_json_lines_and_records(tmp_path: Path) -> None:
    rows = [
        {"record_id": "<urn:uuid:1>", "main_content": "<p>a b</p>", "url": "https://www.x.co.uk/1"},
        {
            "html": "<p>c",
            "main_content": "c",
            "type": "forum",
            "lang": "de",
            "url": "https://a.b.org/",
        },
        {"html": "<p>d"},
        {"record_id": "urn:uuid:9", "main_content": "not there"},
    ]
    truth = tmp_path / "truth.jsonl.gz"
    truth.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    more = tmp_path / "types.jsonl"
    more.write_text(json.dumps({"record_id": "urn:uuid:1", "page_type": "article"}))
    pages = tmp_path / "pages.warc.gz"
    pages.write_bytes(
        member(response("https://www.x.co.uk/1", b"<p>a b", record_id="<urn:uuid:1>"))
    )
    assert read_truth([truth, more], [pages]) == [
        Truth(b"<p>a b", " a b ", "article", "unknown", "x.co.uk"),
        Truth(b"<p>c", "c", "forum", "de", "b.org"),
    ]


def test_sites_are_told_apart_by_their_registered_part() -> None:
    assert site_of("https://a.b.example.com/x") == "example.com"
    assert site_of("https://www.bbc.co.uk/") == "bbc.co.uk"
    assert site_of("made-7") == "made-7"


def test_a_model_needs_pages_of_several_sites() -> None:
    with pytest.raises(CorpusError, match="several sites"):
        train([Truth(b"<p>a b c", "a b c", "other", "en", "one")], n_trees=1)


def test_measures_are_of_all_and_of_each_type_and_language() -> None:
    rows = [Truth(b"", "", "forum", "en", "a"), Truth(b"", "", "article", "en", "b")]
    found = measures(rows, [1.0, 0.4])
    assert found["all"] == (0.7, 0.5, 2)
    assert found["type forum"] == (1.0, 0.0, 1)
    assert found["lang en"].pages == 2


@pytest.mark.slow
def test_a_model_learns_from_pages_and_keeps_those_of_other_sites(tmp_path: Path) -> None:
    rows = list(make_pages(texts(), 150, 3))
    scores = cross_validate(rows, 3, n_trees=15)
    assert np.mean(scores) > 0.75


def test_no_model_is_measured_on_a_site_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[set[str]] = []

    def note(examples: Any, seed: int, n_trees: int) -> BlockModel:
        trained.append({block_texts(one.page)[0].split()[0] for one in examples})
        return read_model()

    def page(site: str) -> Truth:
        text = f"{site} has a text of some words."
        return Truth(f"<p>{text}</p>".encode(), text, "article", "en", site)

    monkeypatch.setattr(training, "_train", note)
    sites = [f"site{n}.example" for n in range(12)]
    scores = cross_validate([page(site) for site in sites[:8]], 3, also=[*map(page, sites[4:])])
    assert len(scores) == 8
    assert len(trained) == 3
    assert set().union(*trained) == set(sites), "pages of `also` are learnt from"
    for site in sites[:8]:
        assert sum(site not in seen for seen in trained) == 1, "none in the fold that measures it"


def test_pages_to_train_on_need_folds(tmp_path: Path) -> None:
    truth = tmp_path / "truth.jsonl"
    row = {"html": "<p>A text.</p>", "main_content": "A text.", "url": "https://a.example/"}
    truth.write_text(json.dumps(row))
    done = CliRunner().invoke(extraction, ["eval", "--truth", str(truth), "--made", "5"])
    assert isinstance(done.exception, CorpusError)
    assert "--cross-validate" in str(done.exception)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", b"{broken\n"),
        ("a.jsonl", b"[1]\n"),
        ("a.jsonl", b'{"text": "\xff"}\n'),
        ("a.jsonl.gz", gzip.compress(b"{}\n" * 900)[:-9]),
        ("a.jsonl.gz", b"{}\n"),
    ],
    ids=["no JSON", "no object", "no UTF-8", "cut off", "no gzip"],
)
def test_a_broken_file_of_rows_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(SourceError, match=rf"{name} cannot be read .*JSON lines"):
        read_truth([file], [])
    with pytest.raises(SourceError, match=name):
        read_texts([file])


def test_texts_that_no_page_can_be_made_around_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text('{"lang": "en"}')
    with pytest.raises(SourceError, match="without `text`"):
        read_texts([file])
    file.write_text('{"text": "Too short."}')
    with pytest.raises(SourceError, match="give more texts"):
        list(make_pages(read_texts([file]), 1, 1))


@pytest.mark.slow
def test_the_command_trains_a_model_and_measures_it(tmp_path: Path) -> None:
    rows = [
        {
            "html": row.page.decode(),
            "main_content": row.main_content,
            "url": f"https://{row.site}.org/",
        }
        for row in make_pages(texts(), 40, 5)
    ]
    truth, model = tmp_path / "truth.jsonl", tmp_path / "model.json"
    truth.write_text("\n".join(map(json.dumps, rows)))
    given = ["--truth", str(truth), "--trees", "5"]
    done = CliRunner().invoke(extraction, ["train", str(model), *given, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["pages"] == 40
    digest = hashlib.sha256(truth.read_bytes()).hexdigest()
    assert json.loads(model.read_bytes())["trained_on"] == {
        "truth": {"truth.jsonl": digest}, "per_host": 60, "made": 0, "seed": 1, "trees": 5,
    }  # fmt: skip
    done = CliRunner().invoke(
        extraction, ["eval", *given, "--model", str(model), "--engine", "blocks", "--engine", "resiliparse", "--cross-validate", "2"]
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "cross-validated" in done.output
    assert "type other" in done.output


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; sys.exit(3)", "failed"),
        ("import time; time.sleep(60)", "timeout"),
        ("import os\nwhile True: os.write(1, b'a' * 65536)", "too_long"),
        ("import os; os.write(1, b'\\xff\\xfe')", "not_text"),
        ("print()", "empty"),
        ("import os, time; os.close(1); time.sleep(60)", "timeout"),
        ("import sys; sys.stdin.close(); print('ok')", None),
    ],
)
def test_a_program_that_misbehaves_gives_a_reason_and_no_text(
    program: str, reason: str | None
) -> None:
    limits = LabelLimits(time_limit_s=3, max_output_bytes=1_000_000)
    text, found = run_extractor([sys.executable, "-c", program], b"<p>a" * 100_000, limits)
    assert found == reason
    assert text.strip() == ("" if reason else "ok")


def test_what_a_program_started_is_ended_with_it(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    program = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', "
        f"'import time; time.sleep(60)']); open({str(noted)!r}, 'w').write(str(child.pid))"
    )
    run_extractor([sys.executable, "-c", program], b"", LabelLimits(time_limit_s=5))
    left = Path("/proc") / noted.read_text() / "stat"
    for _ in range(100):  # it is ended, but may not be cleared away yet
        if not left.exists() or left.read_text().split(") ")[1][0] == "Z":
            return
        time.sleep(0.05)
    os.kill(int(noted.read_text()), 9)
    pytest.fail("a program's child outlived it")


def test_labels_of_a_program_are_a_truth_set(tmp_path: Path) -> None:
    warc, out = tmp_path / "pages.warc.gz", tmp_path / "labels.jsonl.gz"
    records = [
        response(f"https://{n}.org/", body, record_id=f"<urn:uuid:{n}>")
        for n, body in (("a", b"<p>one"), ("b", b"<p> "), ("c", "<p>drei Übel; $(x)".encode()))
    ]
    warc.write_bytes(members(*records))
    program = "import sys; t = sys.stdin.read()[3:]; sys.stdout.write(t.upper())"
    given = ["label", str(out), "--warc", str(warc), "--workers", "2", "--json"]
    done = CliRunner().invoke(extraction, [*given, "--", sys.executable, "-c", program])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == {"truth": str(out), "labelled": 2, "empty": 1}
    assert read_truth([out], [warc]) == [
        Truth(b"<p>one", "ONE", "other", "unknown", "a.org"),
        Truth("<p>drei Übel; $(x)".encode(), "DREI ÜBEL; $(X)", "other", "unknown", "c.org"),
    ]


def test_a_program_that_is_not_there_or_finds_nothing_is_told(tmp_path: Path) -> None:
    warc, out = tmp_path / "pages.warc.gz", tmp_path / "labels.jsonl"
    warc.write_bytes(members(response("https://a.org/", b"<p>one")))
    given = ["label", str(out), "--warc", str(warc), "--"]
    done = CliRunner().invoke(extraction, [*given, "no-such-extractor"])
    assert isinstance(done.exception, CorpusError)
    assert "cannot run no-such-extractor" in str(done.exception)
    assert list(tmp_path.iterdir()) == [warc]
    done = CliRunner().invoke(extraction, [*given, sys.executable, "-c", ""])
    assert isinstance(done.exception, CorpusError)
    assert "none of 1 pages (1 empty)" in str(done.exception)
    assert list(tmp_path.iterdir()) == [warc]


def test_labelling_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warc, out = tmp_path / "pages.warc.gz", tmp_path / "labels.jsonl"
    pages = [response(f"https://a.org/{text}", f"<p>{text}".encode()) for text in ("one", "two")]
    warc.write_bytes(members(*pages))
    given = ["label", str(out), "--warc", str(warc), "--count", "2", "--"]
    echo = [sys.executable, "-c", "import sys; print(sys.stdin.read())"]
    assert "labelling" not in CliRunner().invoke(extraction, [*given, *echo]).stderr
    monkeypatch.setattr("catalog.cli.terminal.PROGRESS_EVERY_S", 0)
    told = CliRunner().invoke(extraction, [*given, *echo]).stderr.splitlines()
    assert told == [
        "labelling 1 of 2 pages: 1 labelled",
        "labelling 2 of 2 pages: 2 labelled",
    ]
