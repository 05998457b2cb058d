"""Truth sets over WARC files, and the commands that train, measure and label."""

import gzip
import hashlib
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from corpus_assets.cli.extraction import extraction
from corpus_assets.core.errors import CorpusError
from corpus_assets.ingest.stored_pages import read_stored_pages
from corpus_assets_tests.ingest.extract.article import SENTENCE
from corpus_assets_tests.ingest.warc_bytes import member, members, response
from pageblocks.training import Truth, read_truth


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
    assert read_truth([truth, more], read_stored_pages([pages])) == [
        Truth(b"<p>a b", " a b ", "article", "unknown", "x.co.uk"),
        Truth(b"<p>c", "c", "forum", "de", "b.org"),
    ]


def test_pages_to_train_on_need_folds(tmp_path: Path) -> None:
    truth = tmp_path / "truth.jsonl"
    row = {"html": "<p>A text.</p>", "main_content": "A text.", "url": "https://a.example/"}
    truth.write_text(json.dumps(row))
    done = CliRunner().invoke(extraction, ["eval", "--truth", str(truth), "--made", "5"])
    assert isinstance(done.exception, CorpusError)
    assert "--cross-validate" in str(done.exception)


@pytest.mark.slow
def test_the_command_trains_a_model_and_measures_it(tmp_path: Path) -> None:
    rows = [
        {
            "html": f"<nav><a href=/>Home</a> <a href=/{n}>News</a></nav><p>{n} of them. {SENTENCE}",
            "main_content": f"{n} of them. {SENTENCE}",
            "url": f"https://site-{n}.example/",
        }
        for n in range(40)
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


def test_a_model_is_trained_on_what_a_crawl_declares(tmp_path: Path) -> None:
    pages = [
        response(
            f"https://site-{n}.example/",
            f"<script type=application/ld+json>{json.dumps({'@type': 'Article', 'articleBody': text})}"
            f"</script><nav><a href=/>Home</a></nav><p>{text}</p><div><b>All rights</b></div>".encode(),
        )
        for n in range(20)
        for text in [f"{n} of them. {SENTENCE * 3}"]
    ]
    crawl, out = tmp_path / "crawl", tmp_path / "model.json"
    (crawl / "segment").mkdir(parents=True)
    files = [crawl / "segment/a.warc.gz", crawl / "b.warc.gz"]
    for number, file in enumerate(files):
        file.write_bytes(members(*pages[number::2]))
    given = ["train", str(out), "--from", str(crawl), "--trees", "2", "--json"]
    done = CliRunner().invoke(extraction, given)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["pages"] + answer["held_out_pages"] == 20
    assert answer["held_out_pages"] > 0
    assert min(answer["f1"], answer["shipped_f1"]) > 0.9
    trained_on = json.loads(out.read_bytes())["trained_on"]
    assert (trained_on["pages"], list(trained_on["from"])) == (2000, ["b.warc.gz", "a.warc.gz"])
    assert CliRunner().invoke(extraction, given).stdout == done.stdout
    (empty := tmp_path / "empty").mkdir()
    for place, said in ((empty, "no WARC file"), (nothing_declared(tmp_path), "declares its text")):
        refused = CliRunner().invoke(extraction, ["train", str(out), "--from", str(place)])
        assert isinstance(refused.exception, CorpusError)
        assert said in str(refused.exception)


def nothing_declared(folder: Path) -> Path:
    warc = folder / "pages.warc.gz"
    warc.write_bytes(members(response("https://a.org/", b"<p>one")))
    return warc


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
    counts = {name: n for name, n in json.loads(done.stdout).items() if n is not None}
    assert counts == {"truth": str(out), "labelled": 2, "empty": 1}
    assert read_truth([out], read_stored_pages([warc])) == [
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
