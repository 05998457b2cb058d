"""Groups of shards in a build: who is in which, what a mixture draws of them, what goes with a
takedown."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from catalog.cli.commands import main as catalog
from corpus_assets.build import build
from corpus_assets.cli.main import main
from corpus_assets.core.errors import ShardError
from corpus_assets.core.home import Home
from corpus_assets.graph import check_shares
from corpus_assets.session import open_session
from corpus_assets.shards.format import token_dtype
from corpus_assets.versions.foreseen import estimated_groups
from corpus_assets_tests.shards.three_sources import TEXTS, write
from corpus_assets_tests.small_corpus import GERMAN
from corpus_loader import Loader, LoaderError, Manifest
from corpus_loader.index import dump_index, parse_index


def built(folder: Path, texts: dict[str, dict[str, str]] = TEXTS, **changes: Any) -> Manifest:
    recipe = write(folder / "in", changes, texts)
    with open_session(str(recipe), Home.resolve(str(folder / "home")), workers=1) as session:
        return build(session, "v").manifest


def counts(manifest: Manifest) -> dict[str, int]:
    return {group.id: group.documents for group in manifest.groups}


@pytest.mark.parametrize("tier", ["low", {"news-1": "low"}])
def test_the_documents_of_a_source_are_in_the_tier_that_it_names(
    tmp_path: Path, tier: object
) -> None:
    made = counts(built(tmp_path, **{"sources.1.tier": tier, "sources.2.tier": "high"}))
    assert made == {
        "forum-1/web/high": 6,
        "forum-1/web/low": 6,
        "library-1/books/high": 12,
        "news-1/web/low": 12,
    }


GERMAN_TEXTS = {
    name: {
        key: text if i % 3 else f"{GERMAN} {i} {GERMAN}"
        for i, (key, text) in enumerate(some.items())
    }
    for name, some in TEXTS.items()
}
BY_LANGUAGE: dict[str, Any] = {
    "signals.families": [{"family": "gopher_quality"}, {"family": "language"}],
    "clusters": {"min_similarity": None},
    "shards.group_by": {"language": ["en"]},
    "selection.tiers": None,
    "mixture.weights": {},
}


def test_languages_divide_groups_and_the_mixture_weighs_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every third text is German, which the recipe does not list: 4 of the 12 of each source."""
    weights = {"mixture.weights.language": {"other": 3}, "mixture.block_samples": 300}
    made = built(tmp_path, GERMAN_TEXTS, **BY_LANGUAGE, **weights)
    assert made.format == "corpus-assets/manifest/2"
    assert counts(made) == {
        f"{name}-1/{domain}/all/language={language}": n
        for name, domain in (("forum", "web"), ("news", "web"), ("library", "books"))
        for language, n in (("en", 8), ("other", 4))
    }
    assert {group.labels["language"] for group in made.groups} == {"en", "other"}
    seen: dict[str, set[float]] = {"en": set(), "other": set()}
    for group in made.groups:
        if group.domain == "web":
            drawn = sum(phase.counts[group.id] * phase.blocks for phase in made.phases)
            seen[group.labels["language"]].add(drawn / group.samples)
    assert min(seen["other"]) / max(seen["en"]) == pytest.approx(3, rel=0.1)
    home = ("--home", str(tmp_path / "home"))
    assert main(["mix", "v", "--by", "language", *home, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["group"] for row in rows] == [
        f"{domain}/language={language}"
        for domain in ("books", "web")
        for language in ("en", "other")
    ]
    assert main(["mix", "v", "--by", "topic", *home]) == 1
    assert "use group, source, tier, domain, language" in capsys.readouterr().err
    query = "SELECT labels, sum(documents)::int n FROM version_shards GROUP BY ALL ORDER BY ALL"
    asked = CliRunner().invoke(catalog, ["sql", query, *home, "--json"])
    assert json.loads(asked.output)["rows"] == [["language=en", 24], ["language=other", 12]]
    assert CliRunner().invoke(catalog, ["verify", "v", *home]).exit_code == 0


def test_the_groups_that_labels_make_are_foreseen_after_selection(tmp_path: Path) -> None:
    recipe = write(tmp_path / "in", BY_LANGUAGE, GERMAN_TEXTS)
    with open_session(str(recipe), Home.resolve(str(tmp_path / "home")), workers=1) as session:
        made = build(session, "v").manifest
        foreseen = {group.id: group.labels for group in estimated_groups(session.pipeline, {})}
    assert foreseen == {group.id: group.labels for group in made.groups}


def test_a_change_of_the_divisions_trains_nothing_and_computes_no_signal(tmp_path: Path) -> None:
    recipe = write(tmp_path / "in", BY_LANGUAGE, GERMAN_TEXTS)
    home = Home.resolve(str(tmp_path / "home"))
    with open_session(str(recipe), home, workers=1) as session:
        build(session, "v")
    other = {"shards.group_by": {"language": {"germanic": ["de", "nl"]}}}
    with open_session(str(recipe), home, workers=1, overrides=other) as session:
        again = build(session, "w").manifest
        made = set(session.reused.changed)
    assert {name.partition("/")[0] for name in made} == {"shard_counts"}
    assert {group.labels["language"] for group in again.groups} == {"germanic", "other"}
    for stage in ("documents", "signals", "signatures"):
        assert len(list((tmp_path / "home/store/artifacts" / stage).iterdir())) == 3, stage


def test_a_document_is_in_the_group_of_the_copies_that_there_are(tmp_path: Path) -> None:
    texts = {name: dict(some) for name, some in TEXTS.items()}
    texts["news"] |= {f"copy-{i}": TEXTS["news"]["news-0"] for i in range(2)}
    changes = {
        "clean_text.tiers_by_copies": [2, 3],
        "clusters": {"min_similarity": None},
        "mixture.weights.copies": {2: 2, 3: 5},
    }
    first = counts(built(tmp_path / "a", texts, **changes))
    del texts["news"]["copy-1"]
    second = counts(built(tmp_path / "b", texts, **changes))
    assert [(name.partition("/copies")[2], n) for name, n in first.items() if "=" in name] == [
        ("=3", 1)
    ]
    assert [(name.partition("/copies")[2], n) for name, n in second.items() if "=" in name] == [
        ("=2", 1)
    ]


def test_buckets_of_a_score_are_drawn_by_a_curve(tmp_path: Path) -> None:
    changes = {
        "selection.tiers": {
            "signal": "n_words", "buckets": 3, "default": "q1", "min_documents": 1,
        },
        "mixture.curve": {"buckets": 3, "points": [[0, 0], [1, 6]]},
        "mixture.weights": {},
        "mixture.shares.domain": {"web": 0.5, "books": 0.5},
        "mixture.block_samples": 600,
    }  # fmt: skip
    made = built(tmp_path, **changes)
    found: dict[str, int] = {}
    for group in made.groups:
        found[group.tier] = found.get(group.tier, 0) + group.documents
    assert set(found) == {"q1", "q2", "q3"}
    assert all(9 <= n <= 15 for n in found.values()), "equal shares, up to ties"
    seen = {g.id: made.phases[0].counts[g.id] / g.samples for g in made.groups if g.samples}
    web = {name.split("/")[2]: rate for name, rate in seen.items() if "forum" in name}
    assert web["q3"] / web["q1"] == pytest.approx(5, rel=0.15)
    assert web["q2"] / web["q1"] == pytest.approx(3, rel=0.15)


def traced(folder: Path, place: tuple[str, int, int]) -> dict[str, Any]:
    return answered("trace", "v", *(str(part) for part in place), folder=folder)


def test_tokens_of_two_bytes_are_the_same_tokens_in_half_the_room(tmp_path: Path) -> None:
    wide, narrow = tmp_path / "wide", tmp_path / "narrow"
    before, after = built(wide), built(narrow, **{"shards.dtype": "auto"})
    assert (before.format, before.dtype) == ("corpus-assets/manifest/1", "int32")
    assert (after.format, after.dtype) == ("corpus-assets/manifest/2", "uint16")
    assert after.phases == before.phases
    for old, new in zip(before.groups, after.groups, strict=True):
        for one, other in zip(old.shards, new.shards, strict=True):
            assert one.bin.bytes == 2 * other.bin.bytes > 0
            assert one.spans.sha256 == other.spans.sha256
    runs = [
        Loader.open(folder / "home/store/versions/v/manifest.json", global_batch=8, check="hashes")
        for folder in (wide, narrow)
    ]
    for left, right in zip(*runs, strict=True):
        assert right.tokens.dtype == np.int32
        assert np.array_equal(left.tokens, right.tokens)
    assert runs[1].views(0)[0].dtype == np.uint16
    assert np.array_equal(runs[1].views(0)[0], runs[0].views(0)[0])
    assert np.array_equal(
        runs[1].segments(runs[1].at(3)).cu_seqlens, runs[0].segments(runs[0].at(3)).cu_seqlens
    )
    group = after.groups[0]
    for token in (0, 17, 63):
        place = (f"{group.id}/{group.shards[0].name}", 1, token)
        assert traced(wide, place) == traced(narrow, place)
    home = ("--home", str(narrow / "home"))
    assert CliRunner().invoke(catalog, ["verify", "v", *home]).exit_code == 0
    for folder in (wide, narrow):
        to = ("--format", "megatron", "--out", str(folder / "out"), "--home", str(folder / "home"))
        assert main(["export", "v", *to]) == 0
    exported = [(folder / "out" / "corpus.bin").read_bytes() for folder in (wide, narrow)]
    assert exported[0] == exported[1]


def test_an_index_that_says_another_type_of_tokens_is_found(tmp_path: Path) -> None:
    made = built(tmp_path, **{"shards.dtype": "uint16"})
    path = tmp_path / "home/store" / made.groups[0].shards[0].idx.path
    index = parse_index(path.read_bytes(), path.name)
    path.write_bytes(dump_index(index.lengths.astype(np.int64), index.pointers, index.documents))
    asked = CliRunner().invoke(catalog, ["verify", "v", "--home", str(tmp_path / "home")])
    assert asked.exit_code == 1
    with pytest.raises(LoaderError, match="type 4"):
        Loader.open(tmp_path / "home/store/versions/v/manifest.json", global_batch=8)


def test_a_vocabulary_that_does_not_fit_two_bytes_is_refused() -> None:
    assert token_dtype("auto", 65_536) == token_dtype("uint16", 65_536) == "uint16"
    assert token_dtype("auto", 65_537) == token_dtype("int32", 300) == "int32"
    with pytest.raises(ShardError, match="use int32 or auto"):
        token_dtype("uint16", 65_537)


LEAK = TEXTS["news"]["news-4"].partition("\n")[0]


def test_documents_with_items_of_a_training_split_are_kept_and_left_out_of_the_named_phases(
    tmp_path: Path,
) -> None:
    """One page holds an item of a training split, another one an item of a test split."""
    rows = {
        "train": {"id": "t-1", "text": LEAK},
        "test": {"id": "t-1", "text": TEXTS["news"]["news-7"].partition("\n")[0]},
    }
    for name, row in rows.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row), encoding="utf-8")
    changes = {
        "eval_suites": [
            {
                "files": str(tmp_path / f"{name}.jsonl"),
                "benchmark": f"lamps-{name}",
                "split": name,
                "fields": {"answer": None},
            }
            for name in rows
        ],
        "mixture.phases": [
            {"name": "main", "share": 0.8},
            {"name": "cooldown", "share": 0.2, "weights": {"held_back": {True: 0}}},
        ],
        "sources.1.tier": "low",
        "mixture.block_samples": 500,
    }
    made = built(tmp_path, **changes)
    found = counts(made)
    assert found["news-1/web/low"] == 10
    assert found["news-1/web/low/held_back=true"] == 1
    main_phase, cooldown = made.phases
    assert main_phase.counts["news-1/web/low/held_back=true"] > 0
    assert cooldown.counts["news-1/web/low"] > 0
    assert "news-1/web/low/held_back=true" not in cooldown.counts
    home = ("--home", str(tmp_path / "home"), "--json")
    query = (
        "SELECT h.verdict, d.kept, d.reason FROM benchmark_hits h "
        "JOIN decisions d USING (doc_id) ORDER BY ALL"
    )
    asked = json.loads(CliRunner().invoke(catalog, ["sql", query, *home]).output)
    assert asked["rows"] == [["drop", False, "contains_eval_item"], ["held_back", True, None]]
    before = len(list((tmp_path / "home/store/artifacts").glob("*/*")))
    with open_session(
        str(tmp_path / "in/recipe.yaml"),
        Home.resolve(str(tmp_path / "home")),
        workers=1,
        overrides={"mixture.phases.main.weights.held_back": {True: 0}},
    ) as session:
        other = build(session, "w").manifest
    assert all("held_back" not in name for phase in other.phases for name in phase.counts)
    assert len(list((tmp_path / "home/store/artifacts").glob("*/*"))) == before, (
        "nothing recomputed"
    )


def test_topics_times_grades_are_groups_whose_weights_multiply(tmp_path: Path) -> None:
    fields = {"key": "id", "labels": {"topic": "topic"}}
    families = [{"family": "gopher_quality"}, {"family": "source_labels", "labels": ["topic"]}]
    changes = {
        **{f"sources.{i}.fields": fields for i in range(3)},
        "signals.families": families,
        "shards.group_by": {"topic": {"math": ["algebra", "geometry"]}},
        "mixture.shares.domain": {"web": 0.5, "books": 0.5},
        "mixture.weights": {"topic": {"math": 3}, "tier": {"high": 2, "low": 1}},
        "mixture.block_samples": 2000,
    }
    made = built(tmp_path, **changes)
    found: dict[str, int] = {}
    for group in made.groups:
        found[group.labels["topic"]] = found.get(group.labels["topic"], 0) + group.documents
    assert found == {"math": 18, "other": 18}
    [phase] = made.phases
    rates = {
        (group.tier, group.labels["topic"]): phase.counts[group.id] / group.samples
        for group in made.groups
        if group.snapshot == "forum-1"
    }
    least = rates["low", "other"]
    assert {key: rate / least for key, rate in rates.items()} == {
        ("low", "other"): 1,
        ("low", "math"): pytest.approx(3, rel=0.1),
        ("high", "other"): pytest.approx(2, rel=0.1),
        ("high", "math"): pytest.approx(6, rel=0.1),
    }
    nested_shares_by_phase_are_a_manifest_alone(tmp_path)


NESTED: dict[str, Any] = {
    "shares": {"domain": {"web": 0.6, "books": 0.4}},
    "inside": {"domain": {"web": {"shares": {"topic": {"math": 0.25}}}}},
    "phases": [
        {"share": 0.9, "learning_rate": [{"start": 0.001, "end": 0.001}]},
        {"share": 0.1, "only": {"tier": ["high"]}, "change": {"domain": {"books": 0.55}},
         "learning_rate": [{"start": 0.001, "end": 0, "shape": "sqrt"}]},
    ],
    "block_samples": 200,
    "run_epochs": 60,
    "max_epochs": 1000,
}  # fmt: skip


def nested_shares_by_phase_are_a_manifest_alone(folder: Path) -> None:
    """Another mixture over what is there: exact, traceable, and nothing else is written."""
    store = folder / "home/store"
    before = sorted(store.glob("artifacts/*/*"))
    home = Home.resolve(str(folder / "home"))
    recipe = str(folder / "in/recipe.yaml")
    with open_session(recipe, home, workers=1, overrides={"mixture": NESTED}) as session:
        made = build(session, "nested").manifest
        outcome = check_shares(session.pipeline, made)
    assert sorted(store.glob("artifacts/*/*")) == before
    assert outcome.passed, outcome.message
    assert made.format == "corpus-assets/manifest/3"
    for phase, books in zip(made.phases, (0.4, 0.55), strict=True):
        drawn = Counter[str]()
        for group in made.groups:
            tokens = phase.counts.get(group.id, 0) * group.tokens / group.samples
            drawn[group.domain] += tokens
            drawn[f"{group.domain} {group.labels['topic']}"] += tokens
        assert drawn["books"] / (drawn["web"] + drawn["books"]) == pytest.approx(books, abs=0.005)
        assert drawn["web math"] / drawn["web"] == pytest.approx(0.25, abs=0.01)
    assert {name.split("/")[2] for name in made.phases[1].counts} == {"high"}
    loader = Loader.open(store / "versions/nested/manifest.json", global_batch=8)
    assert [loader.learning_rate(step) for step in (0, len(loader) // 2)] == [0.001, 0.001]
    last = len(loader) - 1
    assert loader.learning_rate(last) == pytest.approx(0, abs=0.0005)
    batch = loader.at(last)
    group = loader.groups[batch.groups[0]]
    shard = f"{group.id}/{loader.shards[batch.shards[0]].name}"
    asked = answered("trace", "nested", shard, str(batch.samples[0]), "0", folder=folder)
    run = ("--steps", str(last + 1), "--global-batch", "8", "--version", "nested")
    seen = answered("exposure", asked["doc_id"], *run, folder=folder)["seen"]
    assert last in {row["step"] for row in seen}


def answered(*words: str, folder: Path) -> dict[str, Any]:
    asked = CliRunner().invoke(catalog, [*words, "--home", str(folder / "home"), "--json"])
    assert asked.exit_code == 0, asked.output
    found: dict[str, Any] = json.loads(asked.output)
    return found
