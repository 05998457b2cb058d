"""A version is built again from its own copies of the files that its recipe names."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from catalog.cli.commands import main as catalog
from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.formats.store import FileStore as CatalogStore
from catalog.formats.urls import url_key
from catalog.verify.version import Problem, verify
from corpus_assets.build import pin_sources
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.home import Home
from corpus_assets.core.lock import load_lock
from corpus_assets.core.store import open_store
from corpus_assets.decontam import embedders
from corpus_assets.graph.run import pin_snapshot
from corpus_assets.models.files import add_model, copy_model, model_at, model_digest
from corpus_assets.session import Session, open_session, reopen_session
from corpus_assets.signals import embedding_score
from corpus_assets.signals.embedding_score import PLUG_INS
from corpus_assets.takedown.run import run_pending
from corpus_assets.versions.gc import collect_garbage
from corpus_assets.versions.publish import publish_version
from corpus_assets.versions.version import make_version
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.promises.erasure.build import run_all
from corpus_assets_tests.registry_states import add_orders, revoke
from corpus_assets_tests.small_corpus import RECIPE, make_small_corpus
from pageblocks.model import MODEL

URL = "http://site-3.example.org/article"
BASE = "small-1"
AFTER = "small-1.td1"
TINY = EntryPoint("tiny", "corpus_assets_tests.signals.support.tiny_scorer:TinyScorer", PLUG_INS)
VECTORS = EntryPoint(
    "tiny", "corpus_assets_tests.decontam.support.tiny_embedder:TinyEmbedder", embedders.PLUG_INS
)


@pytest.fixture(autouse=True, scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for all of it; models that are installed lie beside the recipe, and are lost and
    altered with it."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CORPUS_MODELS", str(folder / "recipe" / "installed"))
        for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL", "DAGSTER_HOME"):
            patch.delenv(name, raising=False)
        patch.setattr(embedding_score, "entry_points", lambda group: [TINY])
        patch.setattr(embedders, "entry_points", lambda group: [VECTORS])
        yield folder


def _write(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def _install(name: str, source: Path) -> None:
    add_model(name, model_digest(source), lambda target: copy_model(source, target), str(source))


def _make_recipe(data: Path, folder: Path) -> Path:
    """The small recipe, its crawls elsewhere, with files of every kind beside it."""
    recipe: dict[str, Any] = yaml.safe_load(RECIPE)
    for source in recipe["sources"]:
        for places in (source["snapshots"], source.get("site_files", {})):
            places.update({name: str(data / place) for name, place in places.items()})
    for name in ("evals", "quality", "lists"):
        shutil.copytree(data / name, folder / name)
    for name in ("a", "b"):  # equal names, and equal contents
        _write(folder / name / "hosts.txt", b"blocked.example.com\n")
    recipe["blocklists"] = ["*/hosts.txt"]
    _write(folder / "words/rude.txt", b"harbour master\n")
    _write(folder / "hashes/one.txt", f"{'0' * 64}\n".encode())
    _write(folder / "hashes/two.txt", f"{'1' * 64}\n".encode())
    _write(folder / "model/words.txt", b"the because")
    _write(folder / "model/more/notes.txt", b"")
    _write(folder / "vectors/meanings.txt", b"bridge mill clock\nrepaired painted measured\n")
    _install("named-vectors", folder / "vectors")
    recipe["contamination"]["paraphrases"] = {
        "model": "named-vectors",
        "engine": "tiny",
        "min_similarity": 0.6,
    }
    lid = _write(folder / "lid.ftz", model_at("lid.176").path.read_bytes())
    recipe["language_model"] = {"path": "lid.ftz", "sha256": lid}
    extractor = _write(folder / "extractor.json", MODEL.read_bytes() + b"\n")  # one of its own
    recipe.setdefault("documents", {})["extraction"] = {
        "engine": "blocks",
        "model": {"path": "extractor.json", "sha256": extractor},
    }
    recipe["classifiers"]["english"] = {"model": {"path": "lid.ftz", "sha256": lid}}
    _install("named-lid", folder / "lid.ftz")
    _install("named-scorer", folder / "model")
    _install("named-kenlm", folder / "model" / "words.txt")
    recipe["classifiers"]["french"] = {"model": "named-lid"}
    recipe["perplexity"]["named"] = {
        "model": "named-kenlm",
        "pieces": "named-kenlm",
    }
    kenlm = _write(folder / "models/other.bin", b"not read by any family")
    recipe["perplexity"]["other"] = {"model": {"path": "models/other.bin", "sha256": kenlm}}
    recipe["signals"]["families"] += [
        {"family": "bad_words", "word_lists": ["words/rude.txt"]},
        {"family": "classifier", "name": "english", "labels": {"en": 1.0}},
        {
            "family": "embedding_score",
            "engine": "tiny",
            "model": {"path": "model", "sha256": model_digest(folder / "model")},
        },
        {"family": "classifier", "name": "french", "labels": {"fr": 1.0}},
        {"family": "embedding_score", "name": "named", "engine": "tiny", "model": "named-scorer"},
    ]
    rule = {"name": "rude", "signal": "bad_words", "max": 0, "domains": ["web"]}
    recipe["selection"]["rules"].append(rule)
    _write(folder / "panels/kinds.sql", b"-- Kinds of content\nFROM records SELECT content_type, "
           b"count(*) AS records GROUP BY ALL ORDER BY ALL")  # fmt: skip
    _write(folder / "panels/kinds.html", b"<p>{{ rows | length }} kinds</p>")
    recipe["panels"] = ["panels/*"]
    recipe["clean_text"]["text_hashes"] = [
        {"path": "hashes/*.txt"},
        {"path": "hashes/one.txt", "form": "normalized"},
    ]
    _write(folder / "small.yaml", yaml.safe_dump(recipe).encode())
    return folder / "small.yaml"


def _build(session: Session, version: str) -> None:
    for snapshot in session.pipeline.recipe.snapshots if not session.replaces else ():
        pin_snapshot(session.pipeline, session.registry, snapshot)
    run_all(session)
    made = make_version(session.pipeline, version)
    publish_version(session.pipeline, session.registry, made, session.replaces)


@pytest.fixture(scope="module")
def base(kept: Path) -> Path:
    """A folder with crawls, a recipe with its lists, a home that holds a version, and one that
    never saw the page under the version's lock."""
    folder = kept
    make_small_corpus(folder / "data")
    recipe = str(_make_recipe(folder / "data", folder / "recipe"))
    with open_session(recipe, Home.resolve(str(folder / "home"))) as session:
        _build(session, BASE)
    scratch = Home.resolve(str(folder / "scratch"))
    registry = Registry(scratch.catalog_url)
    registry.upgrade()
    add_orders(registry, [SuppressionRow("url_key", url_key(URL))])
    lock = folder / "home" / "store" / "versions" / BASE / "lock.json"
    with open_session(recipe, scratch, lock=str(lock)) as session:
        _build(session, AFTER)
    return folder


@pytest.fixture
def home(base: Path, tmp_path: Path) -> Iterator[Home]:
    """A copy of the home; the recipe's folder is put back afterwards."""
    shutil.copytree(base / "home", tmp_path / "home")
    shutil.copytree(base / "recipe", tmp_path / "recipe")
    yield Home.resolve(str(tmp_path / "home"))
    shutil.rmtree(base / "recipe", ignore_errors=True)
    shutil.copytree(tmp_path / "recipe", base / "recipe")


def _alter(folder: Path) -> None:
    """Every list and model says something else, and there are more of them."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(b"news-1.example.org\n" + path.read_bytes())
    _write(folder / "c/hosts.txt", b"news-2.example.org\n")


def _problems(home: Home, version: str) -> list[Problem]:
    store = CatalogStore(home.store_url)
    return verify(Registry(home.catalog_url), store, version).problems


def _copies(home: Home) -> set[str]:
    return {path.name for path in (Path(home.store_url) / "sources/files").glob("*")}


def _named(home: Home, version: str) -> dict[str, list[str]]:
    path = Path(home.store_url) / "versions" / version / "files.json"
    listed = json.loads(path.read_bytes())["files"]
    return {name: [file["sha256"] for file in files] for name, files in listed.items()}


def _read_all_again(home: Home) -> None:
    """Results that lists and models went into are lost, so that a rebuild reads those."""
    for stage in ("category_index", "judgements", "signals", "contamination", "clean_text"):
        for result in (Path(home.store_url) / "artifacts" / stage).glob("*/result.json"):
            result.unlink()


def test_a_takedown_run_does_without_the_recipe_s_folder(base: Path, home: Home) -> None:
    shutil.rmtree(base / "recipe")
    _read_all_again(home)
    asked = ["takedown", "request", "--url", URL, "--reason", "asked", "--home", str(home.root)]
    assert CliRunner().invoke(catalog, asked).exit_code == 0
    run_pending(home)
    assert version_files(home.root, AFTER) == version_files(base / "scratch", AFTER)
    assert _problems(home, AFTER) == []


def test_a_rebuild_does_not_see_what_lists_say_now(base: Path, home: Home) -> None:
    _alter(base / "recipe")
    _read_all_again(home)
    add_orders(Registry(home.catalog_url), [SuppressionRow("url_key", url_key(URL))])
    with reopen_session(home, BASE) as session:
        _build(session, AFTER)
    assert version_files(home.root, AFTER) == version_files(base / "scratch", AFTER)


def test_what_calibrations_were_made_from_is_not_copied(base: Path, home: Home) -> None:
    names = {name: len(files) for name, files in _named(home, BASE).items()}
    assert names == {
        "language_model": 1,
        "documents.extraction.model": 1,
        "blocklists": 2,
        "blocked_categories/gambling": 1,
        "text_hashes/0000": 2,
        "text_hashes/0001": 1,
        "contamination.judgements": 1,
        "file:words/rude.txt": 1,
        "classifier:english": 1,
        "classifier:french": 1,
        "perplexity:other": 1,
        "perplexity:named": 1,
        "perplexity:named.pieces": 1,
        "folder:edu": 2,
        "folder:named": 2,
        "folder:contamination.paraphrases": 1,
        "panels": 2,
    }
    assert _copies(home) == {file for files in _named(home, BASE).values() for file in files}


def test_the_lock_pins_models_by_name_and_a_build_under_it_wants_the_same(
    base: Path, home: Home
) -> None:
    folder = Path(home.store_url) / "versions" / BASE
    pinned = load_lock(folder / "lock.json").models
    lid, scorer = model_at("named-lid").path, model_at("named-scorer").path
    assert pinned["classifier:french"] == model_digest(lid)
    assert pinned["model:named-scorer"] == model_digest(scorer)
    assert pinned["model:named-vectors"] == model_digest(model_at("named-vectors").path)
    assert pinned["perplexity:named"] == model_digest(model_at("named-kenlm").path)
    shutil.rmtree(scorer.parent)
    _write(base / "recipe/model/words.txt", b"another model")
    _install("named-scorer", base / "recipe/model")
    shutil.copytree(folder, base / "recipe" / "locked")
    recipe, lock = str(base / "recipe/small.yaml"), str(base / "recipe/locked/lock.json")
    unlike = f"pins the model model:named-scorer with SHA-256 {pinned['model:named-scorer']}"
    with open_session(recipe, home, lock=lock) as session, pytest.raises(RecipeError, match=unlike):
        pin_sources(session)


def test_versions_of_one_recipe_keep_the_lists_they_were_built_from(base: Path, home: Home) -> None:
    other = _write(base / "recipe/a/hosts.txt", b"news-1.example.org\n")
    with open_session(str(base / "recipe/small.yaml"), home) as session:
        _build(session, "small-2")
    registry, store = Registry(home.catalog_url), open_store(home.store_url)
    assert len({row.recipe_digest for row in registry.versions()}) == 1
    for version in (BASE, "small-2"):
        assert _problems(home, version) == []
        with reopen_session(home, version) as session:
            lists = session.pipeline.locations.files(("any",), "blocklists")
            digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in lists]
        assert digests == _named(home, version)["blocklists"]
        assert [path.name for path in lists] == ["hosts.txt", "hosts.txt"]
        assert not lists[0].exists(), "links are for the time of the session"
    revoke(registry, "small-2")
    collect_garbage(store, registry, keep_revoked=True)
    assert other in _copies(home)
    collect_garbage(store, registry)
    assert _copies(home) == {file for files in _named(home, BASE).values() for file in files}
    assert other not in _copies(home)
    assert _problems(home, BASE) == []
    revoke(registry, BASE)
    collect_garbage(store, registry)
    assert _copies(home) == set()


def test_a_list_that_changes_nothing_changes_no_version(base: Path, home: Home) -> None:
    before = _named(home, BASE)
    _write(base / "recipe/words/rude.txt", b"# a comment\nharbour master\n")
    with open_session(str(base / "recipe/small.yaml"), home) as session:
        _build(session, BASE)
    assert _named(home, BASE) == before
    assert _problems(home, BASE) == []
