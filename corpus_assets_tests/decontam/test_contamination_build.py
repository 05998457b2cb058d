"""Decontamination in a whole build: cutting, common items, excluded places, report and command."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.cli.main import main
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.small_corpus import EVAL_TEXT, FOOTER

SUITES = """\
eval_suites:
  - evals/*.jsonl
  - files: more/extra.jsonl
    benchmark: extra
    fields: {id: n, question: q, choices: c, answer: null}
    exclude: {addresses: [site-1.example.org], repositories: [page-3/none]}
contamination: {drop_share: 0.8, action: cut, common_documents: 5}
"""
EDITED = EVAL_TEXT.replace("lighthouse", "tower").replace("eighteen", "twenty")


@pytest.fixture
def cut_build(place: Place) -> Place:
    rows = [{"n": 1, "q": FOOTER, "c": []}, {"n": 2, "q": EDITED, "c": []}]
    extra = place.source("more/extra.jsonl")
    extra.parent.mkdir()
    extra.write_text("".join(json.dumps(row) + "\n" for row in rows))
    recipe = place.recipe.read_text()
    start, end = recipe.index("eval_suites:"), recipe.index("clean_text:")
    place.recipe.write_text(recipe[:start] + SUITES + recipe[end:])
    assert place.build(version="cut") == 0
    return place


def rows(place: Place, name: str) -> list[dict[str, object]]:
    """Rows of the newest results of cleaning: those that have cut something out are new."""
    newest = sorted(place.artifacts("clean_text", name), key=lambda path: path.stat().st_mtime)
    return [row for path in newest[-5:] for row in pa.Table.to_pylist(pq.read_table(path))]


def test_items_are_cut_listed_and_shown(
    cut_build: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    decided = rows(cut_build, "decisions.parquet")
    reasons = {row["reason"]: row["detail"] for row in decided if row["stage"] == "contamination"}
    assert reasons == {"holds_benchmark": "extra: site-1.example.org"}

    hits = rows(cut_build, "benchmark_hits.parquet")
    told = sorted((str(h["benchmark"]), str(h["item_id"]), str(h["verdict"])) for h in hits)
    assert ("extra", "2", "near_miss") in told
    acted = [row for row in told if row[2] != "near_miss"]  # made-up sentences are like each other
    assert acted == [("extra", "1", "common")] * 8 + [("lamps", "q-1", "cut")]
    (cut,) = [hit for hit in hits if hit["verdict"] == "cut"]
    finals = {row["doc_id"]: row for row in rows(cut_build, "final.parquet")}
    final = finals[cut["doc_id"]]
    assert "lighthouse lamp" not in str(final["text"])
    spans = [(edit["start"], edit["end"]) for edit in final["edits"]]  # type: ignore[attr-defined]
    assert [(p["start"], p["end"]) for p in cut["places"]] == spans  # type: ignore[attr-defined]

    report = (cut_build.store / "versions/cut/report.html").read_text()
    assert "Common items" in report
    assert "extra: site-1.example.org" in report
    lock = json.loads((cut_build.store / "versions/cut/lock.json").read_text())
    assert "common_items" in lock["calibrations"]
    assert [pin["name"] for pin in lock["inputs"]["eval_suites"]] == ["lamps.jsonl", "extra.jsonl"]
    for pin in lock["inputs"]["eval_suites"]:
        assert pin["sha256"] in report

    capsys.readouterr()
    _command(cut_build, "--json", "--text")
    answer = json.loads(capsys.readouterr().out)
    assert answer["benchmarks"][1]["items_seen"] == 1
    (shown,) = answer["hits"]
    assert shown["verdict"] == "cut"
    assert shown["text"] == [EVAL_TEXT.rstrip("?")]
    _command(cut_build, "--near-misses", "--benchmark", "extra", "--text")
    told_near = capsys.readouterr().out
    assert "near_miss: extra/2 by text" in told_near
    assert "A lighthouse lamp turns once" in told_near
    _command(cut_build, "--common", "--limit", "3")
    assert "8 hits; the closest 3 (see --limit):" in capsys.readouterr().out


def test_a_judged_near_miss_goes_for_its_reason_and_its_judgement_is_pinned(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    _command(place, "--near-misses", "--json")
    near = json.loads(capsys.readouterr().out)["hits"]
    shown = next(
        hit for hit in near if hit["verdict"] == "near_miss" and hit["snapshot"] == "books-1"
    )
    item = f"{shown['benchmark']}/{shown['item_id']}"
    listed = place.source("lists/judgements.jsonl")
    judge = ["contamination", "judge", shown["doc_id"], item, "drop", "--out", str(listed)]
    assert main([*judge, "--by", "Ada", "--home", str(place.home)]) == 0
    assert main([*judge[:3], "lamps/absent", *judge[4:], "--home", str(place.home)]) != 0
    assert place.build(version="judged") == 0
    wanted = [
        row for row in rows(place, "decisions.parquet") if row["reason"] == "resembles_eval_item"
    ]
    assert [(row["stage"], row["detail"]) for row in wanted] == [("contamination", item)]
    assert wanted[0]["doc_id"].hex() == shown["doc_id"]  # type: ignore[attr-defined]
    lock = json.loads((place.store / "versions/judged/lock.json").read_text())
    (pin,) = lock["inputs"]["judgements"]
    assert (place.store / "sources/files" / pin["sha256"]).read_bytes() == listed.read_bytes()


def test_a_pending_takedown_hides_the_text(
    cut_build: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    from catalog.cli.commands import main as catalog

    with pytest.raises(SystemExit) as left:
        catalog(
            ["takedown", "request", "--url", "http://quiz.example.com/answers", "--reason", "asked",
             "--home", str(cut_build.home)]
        )  # fmt: skip
    assert left.value.code == 0
    capsys.readouterr()
    _command(cut_build, "--text")
    told = capsys.readouterr().out
    assert "(suppressed)" in told
    assert "lighthouse" not in told


def test_without_suites_the_command_says_that_nothing_was_found(
    place: Place, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _command(place, "--benchmark", "unheard of")
    assert "No benchmark item was found" in capsys.readouterr().out


def _command(place: Place, *arguments: str) -> None:
    assert main(["contamination", "--home", str(place.home), *arguments]) == 0
