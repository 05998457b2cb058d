"""What other rules would do, held against what a build with them does."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from catalog.db.registry import Registry
from catalog.formats.store import FileStore as CatalogStore
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets_tests.cli.test_commands import said
from corpus_assets_tests.conftest import VERSION, Place

Captured = pytest.CaptureFixture[str]

LOOSER = (
    "selection.rules.gopher_word_count.min=5",
    "selection.rules.low_quality.min=0",
    "selection.rules.language.in=[en, de]",
    "selection.cutoffs.words.among=survivors",
    "selection.cutoffs.words.drop_share=0",
)
MIXED = (
    *LOOSER[:4],
    "selection.cutoffs.words.drop_share=0.4",
    "selection.rules.few_words.where={signal: language, in: [en]}",
)


def whatif(place: Place, capsys: Captured, *changes: str, more: tuple[str, ...] = ()) -> Any:
    settings = [word for change in changes for word in ("--set", change)]
    command = ("whatif", str(place.recipe), "--home", str(place.home), "--json")
    return json.loads(said(capsys, *command, *settings, *more))


def decided(place: Place, version: str) -> dict[str, Counter[str]]:
    """What selection really did in a version: by reason, by language, by tier."""
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    found = {name: Counter[str]() for name in ("reason", "language", "tier", "first", "only")}
    for file in registry.lineage_files(version, "decisions"):
        rows = pq.read_table(place.store / file.path).to_pylist()
        for row in rows:
            if row["stage"] == "documents":
                continue
            passed = row["stage"] != "selection"
            found["reason"]["kept" if passed else row["reason"]] += 1
            found["only"].update(row["failed_rules"] if len(row["failed_rules"]) == 1 else ())
            found["first"].update(row["failed_rules"][:1])
            if passed:
                found["language"][row["language"]] += 1
                found["tier"][row["tier"]] += 1
    return found


def test_it_says_what_a_build_with_the_change_then_selects(place: Place, capsys: Captured) -> None:
    answer = whatif(place, capsys, *MIXED)
    settings = [word for change in MIXED for word in ("--set", change)]
    assert place.build(*settings, version="changed") == 0
    before, after = decided(place, VERSION), decided(place, "changed")
    assert before["reason"] != after["reason"]
    for side, real in (("before", before), ("after", after)):
        said_of = {row["reason"]: row[side] for row in answer["reasons"] if row[side]}
        assert said_of == dict(real["reason"])
        for group, key in (("by_language", "language"), ("by_tier", "tier")):
            kept = {row["name"]: row["documents"][side] for row in answer[group]}
            assert {name: n for name, n in kept.items() if n} == dict(real[key])
        for rule in answer["rules"]:
            assert rule[side]["first"]["documents"] == real["first"][rule["rule"]]
            assert rule[side]["only"]["documents"] == real["only"][rule["rule"]]
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    old, new = registry.version(VERSION), registry.version("changed")
    assert answer["version"]["tokens"]["before"] == old.tokens
    assert answer["version"]["documents"]["before"] == old.documents
    # Later stages can only take away from what selection lets through.
    assert new.documents <= answer["version"]["documents"]["after_at_most"]
    flows = {(flow["from"], flow["to"]): flow["documents"] for flow in answer["flows"]}
    assert sum(n for (a, b), n in flows.items() if b == "kept") - sum(
        n for (a, b), n in flows.items() if a == "kept"
    ) == (after["reason"]["kept"] - before["reason"]["kept"])


def test_who_goes_leaves_the_place_to_a_copy_that_stays(place: Place, capsys: Captured) -> None:
    """The longer of two near copies is kept; a bound between their lengths lets the other in."""
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    words = {}
    for file in registry.lineage_files(VERSION, "signals"):
        for row in pq.read_table(
            place.store / file.path, columns=["doc_id", "n_words"]
        ).to_pylist():
            words[row["doc_id"]] = row["n_words"]
    near = [
        row
        for file in registry.lineage_files(VERSION, "cluster_members")
        for row in pq.read_table(place.store / file.path).to_pylist()
        if row["kind"] == "near" and not row["kept"]
    ]
    assert len(near) == 1
    longer, shorter = words[near[0]["kept_doc_id"]], words[near[0]["doc_id"]]
    assert shorter < longer
    answer = whatif(place, capsys, f"selection.rules.gopher_word_count.max={shorter}")
    assert answer["version"]["promoted_copies"]["documents"] == 1
    assert answer["version"]["promoted_copies"]["tokens"] > 0


def test_nothing_changes_where_nothing_is_changed(small_build: Place, capsys: Captured) -> None:
    answer = whatif(small_build, capsys)
    assert answer["changes"] == answer["cutoffs"] == answer["flows"] == []
    assert answer["would_go"] == answer["would_stay"] == []
    tokens = answer["version"]["tokens"]
    assert tokens["before"] == tokens["after_at_most"] == tokens["after_expected"]


def test_a_condition_spares_those_who_do_not_meet_it_and_is_told(
    small_build: Place, capsys: Captured
) -> None:
    long_pages = "selection.rules.language.where={signal: n_words, min: 1000000}"
    answer = whatif(small_build, capsys, *LOOSER[:2], *LOOSER[3:], long_pages)
    assert "http://de.example.com/seite" in {one["url"] for one in answer["would_stay"]}
    strict = "selection.rules.gopher_word_count={signal: n_words, min: 100000"
    condition = "where: {signal: language, in: [en]}}"
    gone = whatif(small_build, capsys, f"{strict}, name: gopher_word_count, {condition}")
    assert {one["asks"] for one in gone["would_go"]} == {
        "at least 100000, where language is one of en"
    }


def test_pinned_cutoffs_stay_and_others_are_resolved_again(
    small_build: Place, capsys: Captured
) -> None:
    same_cutoffs = whatif(small_build, capsys, LOOSER[0])["cutoffs"]
    assert same_cutoffs == [], "they stay where only a threshold differs, as in a build"
    moved = whatif(small_build, capsys, *LOOSER)["cutoffs"]
    assert {change["key"] for change in moved} == {"words.*", "tier:high.*"}
    assert whatif(small_build, capsys, *LOOSER, more=("--pin-cutoffs",))["cutoffs"] == []


def test_samples_name_documents_and_show_text_only_when_asked(
    small_build: Place, capsys: Captured
) -> None:
    plain = whatif(small_build, capsys, *LOOSER)
    assert {one["rule"] for one in plain["would_stay"]} >= {"language", "low_quality"}
    assert all(one["text"] is None for one in plain["would_stay"])
    shown = whatif(small_build, capsys, *LOOSER, more=("--text",))
    texts = {one["url"]: one["text"] for one in shown["would_stay"]}
    assert texts["http://de.example.com/seite"].startswith("Der Leuchtturm\nDer alte")
    few = whatif(small_build, capsys, *LOOSER, more=("--sample", "2"))["would_stay"]
    assert few == plain["would_stay"][:2], "a smaller sample is the beginning of a larger one"


def test_without_a_version_the_recipe_itself_is_compared_in_characters(
    place: Place, capsys: Captured
) -> None:
    (place.home / "catalog.db").unlink()
    Registry(f"sqlite:///{place.home}/catalog.db").upgrade()
    answer = whatif(place, capsys, *LOOSER)
    assert answer["of"] == "recipe small"
    assert answer["version"] is None
    assert answer["selection"]["documents"]["after"] > answer["selection"]["documents"]["before"]
    assert all(row["tokens"] is None for row in answer["by_language"])


def test_the_screen_says_what_is_exact_and_what_is_not(
    small_build: Place, capsys: Captured
) -> None:
    settings = [word for change in LOOSER for word in ("--set", change)]
    text = said(
        capsys, "whatif", str(small_build.recipe), "--home", str(small_build.home), *settings
    )
    assert "selection.rules.gopher_word_count.min: 30 -> 5" in text
    assert "tokens, at most" in text
    assert "Duplicates, benchmarks and cleaning are not re-evaluated" in text
    assert "http://de.example.com/seite" in text
    assert "no longer removed by language: language is de, asked for: one of en" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("documents.gates.max_bytes=5", "`corpus whatif` is about selection"),
        ("selection.rules.nobody.max=5", "there is no entry 'nobody'"),
        ("selection.rules.language.signal=n_wrods", "no configured signal family gives"),
    ],
)
def test_questions_it_cannot_answer_are_refused(
    small_build: Place, capsys: Captured, change: str, message: str
) -> None:
    command = ("whatif", str(small_build.recipe), "--home", str(small_build.home))
    assert message in said(capsys, *command, "--set", change, code=1)


def test_a_signal_that_the_version_never_computed_is_refused(
    place: Place, capsys: Captured
) -> None:
    text = place.recipe.read_text()
    text = text.replace(
        "    - {family: repetition}", "    - {family: repetition}\n    - {family: fineweb}"
    )
    rule = "    - {name: unfinished, signal: terminal_line_share, min: 0.1}\n  cutoffs:"
    place.recipe.write_text(text.replace("  cutoffs:", rule, 1))
    command = ("whatif", str(place.recipe), "--home", str(place.home))
    message = said(capsys, *command, code=1)
    assert f"version {VERSION} has no signal 'terminal_line_share'" in message


def test_a_document_that_somebody_asked_to_remove_is_not_shown(
    place: Place, capsys: Captured
) -> None:
    home = Home.resolve(str(place.home))
    target = url_target("http://de.example.com/seite")
    request_takedown(Registry(home.catalog_url), CatalogStore(home.store_url), target, "asked")
    shown = whatif(place, capsys, *LOOSER, more=("--text",))
    hidden = [one for one in shown["would_stay"] if one["suppressed"]]
    assert [(one["url"], one["text"]) for one in hidden] == [(None, None)]
    assert "Leuchtturm" not in json.dumps(shown, ensure_ascii=False)
    path = Path(place.folder / "sample_page.html")
    assert main(["sample-page", VERSION, "--home", str(place.home), "--out", str(path)]) == 0
    assert "Leuchtturm" not in path.read_text()
    assert "de.example.com" not in path.read_text()
