"""From what a recipe writes, and what the environment says, to places on this machine."""

from pathlib import Path

import pytest

from corpus_assets.core.errors import CorpusError, RecipeError, SourceError
from corpus_assets.core.home import Home
from corpus_assets.ingest.locations import Locations


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    (tmp_path / "recipes").mkdir()
    return Locations(tmp_path / "recipes", Home.resolve(str(tmp_path / "home")))


class TestLocations:
    def test_a_relative_path_is_relative_to_the_recipe(self, locations: Locations) -> None:
        assert locations.resolve("a/*.gz") == str(locations.recipe_folder / "a/*.gz")

    def test_an_absolute_path_and_a_file_url_stay(self, locations: Locations) -> None:
        assert locations.resolve("/data/x.gz") == "/data/x.gz"
        assert locations.resolve("file:///data/x.gz") == "/data/x.gz"

    def test_snapshots_may_lie_on_a_server_and_other_files_may_not(
        self, locations: Locations
    ) -> None:
        assert locations.resolve("s3://bucket/x/") == "s3://bucket/x/"
        assert locations.resolve("https://host/x.warc.gz") == "https://host/x.warc.gz"
        with pytest.raises(RecipeError, match="blocklists: https://host/x is not on this machine"):
            locations.files(("https://host/x",), "blocklists")

    def test_other_urls_are_refused_and_secrets_in_them_not_shown(
        self, locations: Locations
    ) -> None:
        with pytest.raises(RecipeError, match=r"^ftp://b/x: only local paths, file://, demo://"):
            locations.resolve("ftp://b/x")
        with pytest.raises(SourceError, match="not an address") as info:
            locations.resolve("https://user:pw@host/x")
        assert "pw" not in str(info.value)

    def test_patterns_name_files_in_their_order_and_each_file_once(
        self, locations: Locations
    ) -> None:
        for name in ("b.txt", "a.txt", "c.log"):
            (locations.recipe_folder / name).touch()
        (locations.recipe_folder / "folder.txt").mkdir()
        found = locations.files(("c.log", "*.txt", "a.txt"), "lists")
        assert [path.name for path in found] == ["c.log", "a.txt", "b.txt"]

    def test_a_pattern_reaches_into_folders(self, locations: Locations) -> None:
        for name in ("x/1.txt", "y/z/2.txt"):
            (locations.recipe_folder / name).parent.mkdir(parents=True)
            (locations.recipe_folder / name).touch()
        assert [p.name for p in locations.files(("*/*.txt",), "lists")] == ["1.txt"]
        assert [p.name for p in locations.files(("**/*.txt",), "lists")] == ["1.txt", "2.txt"]

    @pytest.mark.parametrize("pattern", ["none.txt", "*.none", "folder/none.txt"])
    def test_a_pattern_that_names_nothing_is_an_error(
        self, locations: Locations, pattern: str
    ) -> None:
        with pytest.raises(SourceError) as caught:
            locations.files((pattern,), "blocklists")
        assert str(caught.value) == (
            f"blocklists: no file at {pattern}; correct the path in the recipe"
        )


class TestHome:
    @pytest.fixture(autouse=True)
    def _clean(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HOME", "STORE_URL", "CATALOG_URL", "CATALOG_BUSY_S"):
            monkeypatch.delenv(f"CORPUS_{name}", raising=False)

    def test_everything_lies_in_the_home(self, tmp_path: Path) -> None:
        home = Home.resolve(str(tmp_path))
        assert home.store_url == str(tmp_path / "store")
        assert home.catalog_url == f"sqlite:///{tmp_path}/catalog.db"
        assert home.catalog_busy_s == 30

    def test_the_environment_is_asked_where_nothing_is_said(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CORPUS_HOME", str(tmp_path / "env"))
        monkeypatch.setenv("CORPUS_STORE_URL", "s3://bucket/corpus")
        monkeypatch.setenv("CORPUS_CATALOG_BUSY_S", " 2.5 ")
        home = Home.resolve()
        assert home.root == tmp_path / "env"
        assert home.store_url == "s3://bucket/corpus"
        assert home.catalog_busy_s == 2.5
        assert Home.resolve(str(tmp_path / "said")).root == tmp_path / "said"

    @pytest.mark.parametrize("value", ["soon", "-1", "nan", "inf"])
    def test_a_waiting_time_that_is_none_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        monkeypatch.setenv("CORPUS_CATALOG_BUSY_S", value)
        with pytest.raises(CorpusError, match=f"CORPUS_CATALOG_BUSY_S is '{value}'; expected a"):
            Home.resolve()
