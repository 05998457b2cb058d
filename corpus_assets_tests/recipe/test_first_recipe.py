from pathlib import Path

import pytest

from corpus_assets.ingest import FolderSource
from corpus_assets.recipe import load_recipe, recipe_name, sample_share, write_recipe

JANUARY = 1_704_067_200.0  # 2024-01-01


def source(format: str, *locations: str, folder: str = "", **others: object) -> FolderSource:
    known = {
        "files": len(locations),
        "bytes": 1000,
        "records": 10,
        "changed": JANUARY,
        "fields": {},
    }
    return FolderSource(folder, format, locations, **(known | others))  # type: ignore[arg-type]


def read(tmp_path: Path, *sources: FolderSource) -> "load_recipe":  # type: ignore[valid-type]
    target = tmp_path / "mine.yaml"
    target.write_text(write_recipe("mine", tmp_path / "data", sources, target))
    return load_recipe(target)


def test_the_recipe_of_each_format_can_be_loaded(tmp_path: Path) -> None:
    table = {"text": "body", "key": "id", "licence": "license"}
    recipe = read(
        tmp_path,
        source("warc", "crawl/**/*.warc.gz", folder="crawl"),
        source("wet", "crawl/**/*.wet.gz", folder="crawl"),
        source("jsonl", "papers/a.jsonl", folder="papers", fields=table),
        source("parquet", "table.parquet", fields={"messages": "turns"}),
        source("text", "*.md", "*.txt", files=9),
        source("code", "tool/", folder="tool"),
    )
    sources = {each.name: each for each in recipe.sources}
    assert list(sources) == ["papers", "table", "text", "tool", "crawl", "crawl-warc"]
    assert [each.domain for each in recipe.sources] == [
        "papers", "table", "text", "code", "web", "web",
    ]  # fmt: skip
    assert sources["papers"].fields.key == "id"
    assert recipe.snapshots[:2] == ("papers-2024-01", "table-2024-01") or list(recipe.snapshots)[
        :2
    ] == ["papers-2024-01", "table-2024-01"]
    assert "<|user|>" in recipe.tokenizer.train.special_tokens
    rules = {rule.name: rule.domains for rule in recipe.selection.rules}
    assert "code" not in rules["word_count"]
    assert rules["generated_code"] == ("code",)


@pytest.mark.parametrize(
    "name", ["a: b", "#1", "it's", '"quoted"', "tab\there", "null", "1e3", "ü"]
)
def test_odd_names_of_files_and_columns_come_back_whole(tmp_path: Path, name: str) -> None:
    recipe = read(tmp_path, source("jsonl", f"{name}.jsonl", fields={"text": name}))
    (entry,) = recipe.sources
    assert entry.fields.text == name
    (location,) = entry.snapshots.values()
    assert str(location).endswith(f"data/{name}.jsonl")


def test_folders_with_equal_names_are_sources_of_their_own(tmp_path: Path) -> None:
    recipe = read(
        tmp_path,
        source("text", "My Notes/", folder="My Notes"),
        source("text", "my_notes/", folder="my_notes"),
        source("jsonl", "my.notes/a.jsonl", folder="my.notes", fields={"text": "text"}),
    )
    assert [each.name for each in recipe.sources] == ["my-notes", "my-notes-text", "my-notes-2"]


def test_a_sample_is_taken_of_many_records_only() -> None:
    assert sample_share([source("text", "a/", records=4000)]) is None
    assert sample_share([source("text", "a/", records=150_000), source("wet", "b")]) == 0.01


def test_a_recipe_is_named_after_its_folder(tmp_path: Path) -> None:
    assert recipe_name(tmp_path / "My Data (old)") == "my-data-old"
    assert recipe_name(Path("/")) == "corpus"
