"""P4 with importance weights: their table is pinned, so erasing a page changes nobody else's."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from catalog.cli.commands import main as catalog
from catalog.db.registry import Registry
from catalog.db.rows import SuppressionRow
from catalog.formats.urls import url_key
from corpus_assets.core.home import Home
from corpus_assets.core.lock import Lock
from corpus_assets.session import open_session
from corpus_assets.takedown.run import may_hold, run_pending
from corpus_assets_tests.demo_build import version_files
from corpus_assets_tests.promises.test_kept_files import AFTER, BASE, URL, _build
from corpus_assets_tests.registry_states import add_orders
from corpus_assets_tests.small_corpus import RECIPE, make_small_corpus


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CORPUS_HOME", "CORPUS_STORE_URL", "CORPUS_CATALOG_URL", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow
def test_erasing_under_a_pinned_table_equals_never_having_read(tmp_path: Path) -> None:
    make_small_corpus(tmp_path)
    recipe = yaml.safe_load(RECIPE)
    (tmp_path / "good.jsonl").write_text(json.dumps({"text": "the old harbour and its lighthouse"}))
    recipe["classifiers"]["harbour"] = {
        "positives": ["good.jsonl"],
        "negatives": [{"snapshots": [recipe["calibrate_on"][0]], "max_documents": 50}],
    }
    recipe["signals"]["families"].append({"family": "importance", "name": "harbour"})
    recipe["selection"]["rules"].append(
        {"name": "unlike", "signal": "harbour_importance_mean", "cutoff": "unlike"}
    )
    recipe["selection"]["cutoffs"]["unlike"] = {
        "signal": "harbour_importance_mean", "drop_share": 0.05, "min_documents": 1,
    }  # fmt: skip
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(recipe))
    home = Home.resolve(str(tmp_path / "home"))
    with open_session(str(tmp_path / "small.yaml"), home) as session:
        _build(session, BASE)
        lock = session.pipeline.store.read(f"versions/{BASE}/lock.json")
    pinned = Lock.model_validate_json(lock)
    assert "classifiers/harbour" in pinned.calibrations
    assert may_hold(pinned)["classifiers/harbour"].endswith("hashed places; no text")
    scratch = Home.resolve(str(tmp_path / "scratch"))
    registry = Registry(scratch.catalog_url)
    registry.upgrade()
    add_orders(registry, [SuppressionRow("url_key", url_key(URL))])
    kept = tmp_path / "home/store/versions" / BASE / "lock.json"
    with open_session(str(tmp_path / "small.yaml"), scratch, lock=str(kept)) as session:
        _build(session, AFTER)
    asked = ["takedown", "request", "--url", URL, "--reason", "asked", "--home", str(home.root)]
    assert CliRunner().invoke(catalog, asked).exit_code == 0
    run_pending(home)
    assert version_files(home.root, AFTER) == version_files(scratch.root, AFTER)
