"""Recipes: what is refused, in one line that names the file, the key and the expectation."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from corpus_assets.core.errors import RecipeError
from corpus_assets.recipe.load import load_recipe, parse_recipe
from corpus_assets_tests.small_corpus import RECIPE, SNAPSHOTS

FILE = "my-recipe.yaml"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    recipe = tmp_path / FILE
    recipe.write_text(RECIPE, encoding="utf-8")
    return recipe


def refused(path: Path, overrides: dict[str, Any] | None = None) -> str:
    """The message of a recipe that is refused: one line that begins with its file."""
    with pytest.raises(RecipeError) as caught:
        load_recipe(path, overrides)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_the_small_recipe_is_whole(path: Path) -> None:
    recipe = load_recipe(path)
    assert recipe.snapshots == SNAPSHOTS
    assert recipe.calibration_snapshots == ("crawl-1", "books-1")
    assert recipe.source_of("books-1").domain == "books"


def test_the_demo_recipe_is_whole() -> None:
    shipped = Path(__file__).parents[2] / "recipes" / "demo.yaml"
    assert load_recipe(shipped).name == "demo"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("sede", 7, "sede: unknown key; remove it or correct its spelling"),
        ("shards.seqlen", 64, "shards.seqlen: unknown key"),
        ("selection.rules.language.mni", 1, "selection.rules.0.mni: unknown key"),
        ("seed", "seven", "seed: Input should be a valid integer"),
        ("seed", -1, "seed: Input should be greater than or equal to 0, got -1"),
        (
            "sources.web.domain",
            "..",
            "sources.0.domain: '..' is not a valid name for a domain: use",
        ),
        (
            "sources.web.snapshots",
            {"a\x1b": "x"},
            "sources.0.snapshots: 'a\\x1b' is not a valid name for",
        ),
        ("name", "My Corpus", "name: 'My Corpus' is not a valid name for a recipe or source"),
        ("sources", "web", "sources: Input should be a valid tuple"),
        ("sources", [], "sources: Tuple should have at least 1 item"),
        ("sources.web.snapshots", {}, "sources.0: source web: `snapshots` must name at least one"),
        (
            "sources.web.snapshots",
            {"a,b": "x"},
            "sources.0.snapshots: 'a,b' is not a valid name for a snap",
        ),
        ("sources.web.format", "pdf", "sources.0.format: Input should be 'code', 'jsonl'"),
        ("shards.seq_len", 1.5, "shards.seq_len: Input should be a valid integer"),
        ("shards.tokens_per_shard", 1, "shards.tokens_per_shard: Input should be greater than"),
        ("clusters.scope", "everything", "clusters.scope: Input should be 'per_snapshot' or 'all'"),
        ("clusters.min_similarity", 7, "clusters.min_similarity: Input should be less than"),
        (
            "mixture.shares.domain.web",
            "a lot",
            "mixture.shares.domain.web: Input should be a valid",
        ),
        ("mixture.shares.domain.web", -0.5, "mixture.shares.domain.web: Input should be greater"),
        (
            "mixture.shares.domain.web",
            80,
            "mixture.shares.domain.web: Input should be less than or",
        ),
        ("mixture.shares.domain.web", 1, "mixture: shares of domain sum to 1.2, more than 1; to"),
        ("mixture.weights.tier.low", float("inf"), "mixture.weights.tier.low: Input should be a f"),
        ("mixture.weights.tier.low", float("nan"), "mixture.weights.tier.low: Input should be a f"),
        ("mixture.change.domain.wbe", 0.1, "mixture.change.domain names 'wbe', which is unknown; "),
        ("mixture.shares.domain", {"web": 1}, "mixture.shares.domain: nothing is left for books;"),
        ("mixture.weights.source", {"wbe": 2}, "mixture.weights.source names 'wbe', which is unk"),
        ("mixture.max_epochs", {"source": {"wbe": 2}}, "mixture.max_epochs.source names 'wbe'"),
        ("mixture.phases.main.only", {"source": ["wbe"]}, "mixture.phases.main.only.source names"),
        ("mixture.temperature.language", 2, "mixture: shares, change, temperature and inside name"),
        ("mixture.phases.main.share", 0.5, "shares of mixture.phases sum to 0.6"),
        ("mixture.weights.tier", {"mid": 1}, "mixture.weights.tier names 'mid', which is unknown;"),
        ("shards.group_by", {"topic": ["math"]}, "shards.group_by.topic: no signal family gives a"),
        ("shards.group_by", {"n_words": ["1"]}, "shards.group_by.n_words: no signal family gives"),
        ("shards.group_by", {"tier": ["x"]}, "shards.group_by: groups have a tier of their own"),
        ("shards.group_by", {"language": ["other"]}, "shards.group_by: language: 'other' is what"),
        ("shards.group_by", {"language": {"a": ["en"], "b": ["en"]}}, "shards.group_by: language"),
        ("shards.dtype", "uint32", "shards.dtype: Input should be 'int32', 'uint16' or 'auto'"),
        (
            "mixture.phases.main.weights.held_back",
            {True: 0},
            "mixture: `weights.held_back` is for nothing: no suite",
        ),
        (
            "eval_suites",
            [{"files": "a.jsonl", "benchmark": "a", "split": "train"}],
            "mixture: a suite of eval_suites has `split: train`, and no phase handles it",
        ),
        (
            "eval_suites",
            [{"files": "a.jsonl", "benchmark": "a", "spilt": "train"}],
            "eval_suites.0.spilt: unknown key; remove it",
        ),
        ("eval_suites", ["a.jsonl", 7], "eval_suites.1: Input should be a valid string, got 7"),
        ("mixture.weights.language", {"en": 2}, "mixture.weights.language: groups are not divided"),
        ("sources.web.tier", {"crawl-9": "low"}, "sources.0: tier names crawl-9, which is not"),
        ("calibrate_on", ["crawl-9"], "calibrate_on names the unknown snapshot crawl-9; known: cr"),
        ("calibrate_on", [], "calibrate_on is empty; name a snapshot, or leave it out"),
        ("classifiers", {}, "classifiers.quality: a signal family or a cut of sentences needs it"),
        ("classifiers.quality.positives", [], "classifiers.quality: set `positives` and `negat"),
        (
            "classifiers.quality.model",
            "m.bin",
            "classifiers.quality: set either `model`, or `positives`",
        ),
        (
            "classifiers.quality",
            {"model": {"path": "m"}},
            "classifiers.quality.model: a model by path",
        ),
        (
            "classifiers.other",
            {"positives": ["a.jsonl"], "negatives": ["b.jsonl"]},
            "classifiers.other: no signal family reads it",
        ),
        (
            "classifiers.quality.negatives",
            [{"snapshots": ["crawl-9"]}],
            "classifiers.quality.negatives: the recipe has no snapshot crawl-9; known: crawl-1",
        ),
        ("language_model", {"path": "lid.bin"}, "language_model: a model by path needs its"),
        (
            "tokenizer.sample.language_shares",
            {"en": 2},
            "tokenizer.sample.language_shares.en: Input should be less",
        ),
        ("tokenizer.pinned", "t.json", "tokenizer: set either `train` or `pinned`"),
        (
            "tokenizer.end_of_document",
            "<|eot|>",
            "tokenizer: train.special_tokens must hold <|eot|>",
        ),
        ("tokenizer.pad", "<|end_of_document|>", "tokenizer: <|end_of_document|> cannot both"),
        (
            "tokenizer.train.special_tokens",
            ["<|pad|>"],
            "tokenizer: train.special_tokens must hold",
        ),
        (
            "tokenizer",
            {"pinned": {"path": "t"}},
            "tokenizer.pinned: a model by path needs its `sha256`",
        ),
        (
            "shards.fill_in_the_middle",
            {},
            "shards.fill_in_the_middle: tokenizer.train.special_tokens lacks <|fim_prefix|>, ",
        ),
        (
            "shards.fill_in_the_middle",
            {"domains": ["cod"]},
            "shards.fill_in_the_middle: no source has domain 'cod'; known: ",
        ),
        ("survival", {"documnets": {}}, "survival.documnets: Input should be 'documents', 'sel"),
        (
            "survival",
            {"documents": {"min": 2}},
            "survival: documents: 2 is not a share; write one from",
        ),
        ("survival", {"documents": {"min": 0.9, "max": 0.1}}, "survival.documents: min 0.9 is abo"),
        ("selection.rules.few_words.cutoff", "x", "selection: rule 'few_words': cutoff 'x' is not"),
        (
            "selection.rules.language.signal",
            "lang",
            "selection.rules[0] (language).signal: no conf",
        ),
        ("selection.tiers.shares", [0.5, 0.6], "selection.tiers: shares add up to 1.1, expected 1"),
    ],
)
def test_a_mistake_is_one_line(path: Path, key: str, value: object, expected: str) -> None:
    assert refused(path, {key: value}).startswith(expected)


def test_a_missing_key_is_named(path: Path) -> None:
    path.write_text(RECIPE.replace("seed: 7\n", ""), encoding="utf-8")
    assert refused(path) == "seed: Field required"


def test_the_first_of_several_mistakes_is_shown_and_the_others_counted(path: Path) -> None:
    message = refused(path, {"seed": "x", "shards.seq_len": "y", "nonsense": 1})
    assert message.startswith("seed: ")
    assert message.endswith("(and 2 more)")


def test_two_snapshots_of_one_name_in_two_sources_are_refused(path: Path) -> None:
    overrides = {"sources.books.snapshots": {"crawl-1": "books/books-1.jsonl"}}
    assert "duplicate snapshot crawl-1" in refused(path, overrides)


def test_two_snapshots_of_one_name_in_one_source_are_refused(path: Path) -> None:
    text = RECIPE.replace("crawl-2: web/crawl-2", "crawl-1: web/crawl-2")
    path.write_text(text, encoding="utf-8")
    line = text.splitlines().index("      crawl-1: web/crawl-2/*.warc.gz") + 1
    assert refused(path) == f"not valid YAML at line {line}: duplicate key 'crawl-1'"


def test_two_sources_of_one_name_are_refused(path: Path) -> None:
    assert "duplicate source web" in refused(path, {"sources.1.name": "web"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: small\nseed: [1, 2\n", "not valid YAML at line 3: expected ',' or ']'"),
        ("name: small\n\tseed: 7\n", "not valid YAML at line 2: found character"),
        ("name: *nobody\n", "not valid YAML at line 1: found undefined alias"),
        ("name: !!python/name:os.system x\n", "not valid YAML at line 1: could not determine"),
        ("- a\n- b\n", "expected a mapping of recipe keys at the top level"),
        ("", "expected a mapping of recipe keys at the top level"),
        ("just words", "expected a mapping of recipe keys at the top level"),
    ],
)
def test_what_is_not_a_yaml_mapping_is_one_line(path: Path, text: str, expected: str) -> None:
    path.write_text(text, encoding="utf-8")
    assert refused(path).startswith(expected)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.yaml") == "no such recipe file"


def test_a_folder_is_no_recipe(tmp_path: Path) -> None:
    assert refused(tmp_path) == "cannot be read: Is a directory"


def test_bytes_that_are_no_text_are_refused(path: Path) -> None:
    path.write_bytes(b"name: \xff\xfe\n")
    assert refused(path).startswith("not a text file in UTF-8")


class TestOverrides:
    def test_a_plain_key(self, path: Path) -> None:
        assert load_recipe(path, {"seed": 8}).seed == 8

    def test_a_key_that_the_file_does_not_mention(self, path: Path) -> None:
        recipe = load_recipe(path, {"signatures.bands": 7, "clean_text.scrub.replace": ["ip"]})
        assert recipe.signatures.bands == 7
        assert recipe.clean_text.scrub.replace == ("ip",)

    def test_an_entry_of_a_list_by_its_place(self, path: Path) -> None:
        recipe = load_recipe(path, {"selection.rules.1.min": 40})
        assert recipe.selection.rules[1].min == 40

    def test_an_entry_of_a_list_by_its_name(self, path: Path) -> None:
        recipe = load_recipe(path, {"selection.rules.gopher_word_count.min": 50})
        assert recipe.selection.rules[1].min == 50
        assert [rule.name for rule in recipe.selection.rules][1] == "gopher_word_count"

    def test_a_whole_entry(self, path: Path) -> None:
        rule = {"name": "long", "signal": "n_words", "max": 500}
        recipe = load_recipe(path, {"selection.rules.0": rule})
        assert recipe.selection.rules[0].name == "long"

    @pytest.mark.parametrize(
        ("key", "expected"),
        [
            ("selection.rules.9.min", "--set selection.rules.9.min: there is no entry '9'"),
            ("selection.rules.-1.min", "--set selection.rules.-1.min: there is no entry '-1'"),
            ("selection.rules.nope.min", "--set selection.rules.nope.min: there is no entry"),
            ("selection.rules.nope", "--set selection.rules.nope: there is no entry 'nope'"),
            ("seed.more", "--set seed.more: seed is not a mapping"),
            ("seed.more.still", "--set seed.more.still: more is not inside a mapping"),
        ],
    )
    def test_a_place_that_is_not_there_is_named(self, path: Path, key: str, expected: str) -> None:
        assert refused(path, {key: 1}).startswith(expected)


class TestDigest:
    def test_where_files_lie_is_no_identity(self, path: Path) -> None:
        moved = load_recipe(
            path,
            {
                "sources.web.snapshots.crawl-1": "/elsewhere/*.warc.gz",
                "blocklists": ["/elsewhere/blocklist.txt"],
                "eval_suites": ["/elsewhere/*.jsonl"],
                "classifiers.quality.negatives": ["/elsewhere/negatives.jsonl"],
            },
        )
        assert moved.digest == load_recipe(path).digest

    def test_where_a_pinned_tokenizer_lies_is_no_identity_but_what_it_is(self, path: Path) -> None:
        here = {"tokenizer": {"pinned": {"path": "t.json", "sha256": "aa"}}}
        there = {"tokenizer": {"pinned": {"path": "/elsewhere/t.json", "sha256": "aa"}}}
        other = {"tokenizer": {"pinned": {"path": "t.json", "sha256": "bb"}}}
        digests = [load_recipe(path, entry).digest for entry in (here, there, other)]
        assert digests[0] == digests[1] != digests[2]

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("seed", 8),
            ("mixture.change.domain.web", 0.7),
            ("selection.rules.language.in", ["en", "de"]),
            ("sources.web.snapshots", {"crawl-2": "x", "crawl-1": "y"}),
        ],
    )
    def test_what_can_change_bytes_is_identity(self, path: Path, key: str, value: object) -> None:
        assert load_recipe(path, {key: value}).digest != load_recipe(path).digest

    def test_a_default_said_aloud_changes_nothing(self, path: Path) -> None:
        spelled = load_recipe(path, {"signatures.bands": 14})
        assert spelled.digest == load_recipe(path).digest


def test_an_unknown_snapshot_is_answered_with_the_known_ones(path: Path) -> None:
    with pytest.raises(
        RecipeError, match="no snapshot 'crawl-3'; known: crawl-1, crawl-2, books-1"
    ):
        load_recipe(path).source_of("crawl-3")


def test_merge_keys_of_yaml_still_work(path: Path) -> None:
    text = RECIPE.replace(
        "clusters: {scope: all, keep: longest, min_similarity: 0.7}",
        "clusters: {<<: {scope: per_snapshot, keep: earliest}, scope: all}",
    )
    path.write_text(text, encoding="utf-8")
    clusters = load_recipe(path).clusters
    assert (clusters.scope, clusters.keep) == ("all", "earliest")


def test_a_recipe_from_a_mapping_names_its_origin() -> None:
    raw = yaml.safe_load(RECIPE) | {"seed": "x"}
    with pytest.raises(RecipeError, match="^run config: seed: "):
        parse_recipe(raw, "run config")


def test_a_rule_can_ask_for_no_tier_that_nobody_is_in(path: Path) -> None:
    by_value = {"selection.tiers.shares": None, "selection.tiers.bounds": [0.5]}
    known = by_value | {"selection.rules.language.where": {"tier": ["low"]}}
    assert load_recipe(path, known).selection.asks_for_tiers
    said = refused(path, by_value | {"selection.rules.language.where": {"tier": ["lo"]}})
    assert said == "selection.rules.language.where: no tier is named 'lo'; they are high, low"


def test_the_tier_of_a_source_or_snapshot_is_its_own(path: Path) -> None:
    recipe = load_recipe(path, {"sources.web.tier": {"crawl-1": "low"}})
    web, books = recipe.sources
    assert [web.tier_of(name) for name in ("crawl-1", "crawl-2")] == ["low", None]
    assert books.tier_of("books-1") is None
    assert "tier" not in books.identity(), "a source without one is what it was"


def test_grades_that_no_source_needs_are_refused(path: Path) -> None:
    said = refused(path, {"sources.web.tier": "low", "sources.books.tier": "high"})
    assert said == "selection.tiers grades nothing: every source says its `tier` itself"
    all_given = {"sources.web.tier": "low", "sources.books.tier": "high", "selection.tiers": None}
    load_recipe(path, all_given)


def test_keys_that_say_nothing_are_no_part_of_what_a_recipe_is(path: Path) -> None:
    """Results and locks from before these keys were there stay known."""
    body = load_recipe(path).identity()
    later = {"change", "temperature", "only", "curve", "inside", "run_epochs"}
    assert not later & set(body["mixture"])
    assert not any(later & set(phase) for phase in body["mixture"]["phases"])
    assert not {"group_by", "dtype"} & set(body["shards"])
    assert "buckets" not in body["selection"]["tiers"]
    assert "split" not in body["eval_suites"][0]
    said = load_recipe(path, {"shards.group_by": {"language": ["en"]}, "shards.dtype": "auto"})
    assert said.identity()["shards"].items() >= {"dtype": "auto"}.items()
    assert said.digest != load_recipe(path).digest


def test_the_recommended_recipe_of_common_crawl_records_page_types_and_cuts_frames() -> None:
    recipe = load_recipe(Path(__file__).parents[2] / "recipes" / "commoncrawl.yaml")
    assert recipe.documents.extraction.engine == "blocks"
    assert recipe.documents.extraction.page_type
    assert recipe.clean_text.boilerplate.domains == ("web",)
