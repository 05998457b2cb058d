"""Truth sets, made-up pages, models trained on them, programs that are asked."""

import gzip
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_pages import texts

from pageblocks import TruthError
from pageblocks.model import BlockModel, read_model
from pageblocks.training import (
    LabelLimits,
    Truth,
    cross_validate,
    make_pages,
    measures,
    read_texts,
    read_truth,
    train,
    training,
)
from pageblocks.training.documentation_templates import main_content
from pageblocks.training.labels import run_extractor
from pageblocks.training.pages import TYPES
from pageblocks.training.truth import block_labels, block_texts, f1_of, site_of


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


def test_sites_are_told_apart_by_their_registered_part() -> None:
    assert site_of("https://a.b.example.com/x") == "example.com"
    assert site_of("https://www.bbc.co.uk/") == "bbc.co.uk"
    assert site_of("made-7") == "made-7"


def test_a_model_needs_pages_of_several_sites() -> None:
    with pytest.raises(TruthError, match="several sites"):
        train([Truth(b"<p>a b c", "a b c", "other", "en", "one")], n_trees=1)


def test_measures_are_of_all_and_of_each_type_and_language() -> None:
    rows = [Truth(b"", "", "forum", "en", "a"), Truth(b"", "", "article", "en", "b")]
    found = measures(rows, [1.0, 0.4])
    assert found["all"] == (0.7, 0.5, 2)
    assert found["type forum"] == (1.0, 0.0, 1)
    assert found["lang en"].pages == 2


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
    with pytest.raises(TruthError, match=rf"{name} cannot be read .*JSON lines"):
        read_truth([file])
    with pytest.raises(TruthError, match=name):
        read_texts([file])


def test_texts_that_no_page_can_be_made_around_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text('{"lang": "en"}')
    with pytest.raises(TruthError, match="without `text`"):
        read_texts([file])
    file.write_text('{"text": "Too short."}')
    with pytest.raises(TruthError, match="give more texts"):
        list(make_pages(read_texts([file]), 1, 1))


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
