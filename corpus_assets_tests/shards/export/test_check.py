"""What an export can be told after a takedown: which of its samples must go."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from corpus_assets.cli.main import main
from corpus_assets.core.errors import ShardError
from corpus_assets.shards.export.check import check_export
from corpus_assets_tests.shards.export.published import empty_home, publish
from corpus_assets_tests.shards.export.small_export import GROUPS, PHASES, export_to
from corpus_assets_tests.shards.small_corpus import make_store
from corpus_loader import Loader, LoaderError, Manifest

VICTIM_GROUP = "S2/code/mid"


class Scene:
    """Version v1 and, once `take_down` was called, v1.td1 without one document."""

    def __init__(self, root: Path) -> None:
        self.home, self.registry = empty_home(root)
        self.store = Path(self.home.store_url)
        self.old = make_store(self.store / "old", GROUPS, PHASES)
        self.old = _moved(self.old, "old")
        publish(self.home, self.registry, self.old)
        self.victim = sorted(GROUPS[VICTIM_GROUP])[3]

    def take_down(self, keep_old: bool) -> Manifest:
        rest = {doc: ids for doc, ids in GROUPS[VICTIM_GROUP].items() if doc != self.victim}
        made = make_store(self.store / "new", GROUPS | {VICTIM_GROUP: rest}, PHASES)
        new = replace(_moved(made, "new"), version="v1.td1")
        publish(self.home, self.registry, new, revokes=("v1",))
        if not keep_old:
            for path in sorted((self.store / "old").rglob("*")):
                if path.is_file():
                    path.unlink()
        return new

    def rows_with_victim(self, seed: int | None = None) -> list[int]:
        """By replay of the whole run."""
        loader = Loader(self.old, self.store, seed, global_batch=1)
        found = []
        for step in range(len(loader)):
            batch = loader.at(step)
            spans = loader.shard(int(batch.shards[0])).spans(int(batch.samples[0]))
            if any(span.doc_id == self.victim for span in spans):
                found.append(step)
        return found


def _moved(manifest: Manifest, folder: str) -> Manifest:
    """The manifest with its files inside a folder of the store."""
    raw = json.loads(manifest.dump())
    for group in raw["groups"]:
        for shard in group["shards"]:
            for kind in ("bin", "idx", "spans", "header"):
                shard[kind]["path"] = f"{folder}/{shard[kind]['path']}"
    return Manifest.parse(json.dumps(raw).encode())


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "home")


def test_an_export_of_a_live_version_is_whole(tmp_path: Path, scene: Scene) -> None:
    export_to(tmp_path / "out", scene.old, scene.store, "mds")
    answer = check_export(scene.home, tmp_path / "out", hashes=True)
    assert answer.ok
    assert (answer.status, answer.samples, answer.damaged) == ("live", [], [])


@pytest.mark.parametrize("layout", ["megatron", "hf-parquet"])
@pytest.mark.parametrize("has_lineage", [True, False])
def test_samples_with_a_removed_document_are_found_exactly_where_lineage_is_left(
    tmp_path: Path, scene: Scene, layout: str, has_lineage: bool
) -> None:
    export_to(tmp_path / "out", scene.old, scene.store, layout, seed=5, has_lineage=has_lineage)
    expected = scene.rows_with_victim(seed=5)
    assert expected
    scene.take_down(keep_old=not has_lineage)
    answer = check_export(scene.home, tmp_path / "out")
    assert not answer.ok
    assert (answer.status, answer.replaced_by) == ("revoked", "v1.td1")
    assert answer.samples == expected
    assert answer.samples_are_exact
    assert answer.documents == [scene.victim.hex()]


def test_without_any_lineage_the_samples_of_the_changed_shard_are_named(
    tmp_path: Path, scene: Scene
) -> None:
    export_to(tmp_path / "out", scene.old, scene.store, "mds")
    expected = scene.rows_with_victim()
    loader = Loader(scene.old, scene.store, global_batch=1)
    holder = {int(loader.at(step).shards[0]) for step in expected}
    assert len(holder) == 1
    same_shard = [step for step in range(len(loader)) if int(loader.at(step).shards[0]) in holder]
    scene.take_down(keep_old=False)
    answer = check_export(scene.home, tmp_path / "out")
    assert not answer.samples_are_exact
    assert answer.samples == same_shard
    assert len(answer.changed_shards) == 1
    assert any("may contain removed documents" in line for line in answer.lines)


def test_an_export_that_left_the_document_out_needs_nothing(tmp_path: Path, scene: Scene) -> None:
    first = scene.rows_with_victim()[0]
    assert first > 0
    export_to(tmp_path / "out", scene.old, scene.store, "mds", tokens=64 * first, has_lineage=True)
    scene.take_down(keep_old=False)
    answer = check_export(scene.home, tmp_path / "out")
    assert answer.ok
    assert answer.status == "revoked"


def test_passes_under_several_seeds_are_all_searched(tmp_path: Path, scene: Scene) -> None:
    export_to(tmp_path / "out", scene.old, scene.store, "mds", epochs=2.0, has_lineage=True)
    run = len(Loader(scene.old, scene.store, global_batch=1))
    expected = scene.rows_with_victim(7) + [run + step for step in scene.rows_with_victim(8)]
    scene.take_down(keep_old=False)
    assert check_export(scene.home, tmp_path / "out").samples == expected


def test_damage_is_found_by_size_and_one_flipped_bit_by_hash(tmp_path: Path, scene: Scene) -> None:
    out = tmp_path / "out"
    export_to(out, scene.old, scene.store, "mds")
    shard = out / "shard.00001.mds"
    content = bytearray(shard.read_bytes())
    content[-7] ^= 1
    shard.write_bytes(bytes(content))
    assert check_export(scene.home, out).ok
    answer = check_export(scene.home, out, hashes=True)
    assert answer.damaged == ["the bytes of shard.00001.mds changed"]
    shard.write_bytes(bytes(content[:-1]))
    assert "shard.00001.mds has" in check_export(scene.home, out).damaged[0]
    shard.unlink()
    assert check_export(scene.home, out).damaged == ["shard.00001.mds is missing"]


def test_a_folder_that_is_no_export_is_refused(tmp_path: Path, scene: Scene) -> None:
    (tmp_path / "other").mkdir()
    with pytest.raises(LoaderError, match=r"manifest\.json"):
        check_export(scene.home, tmp_path / "other")
    with pytest.raises(ShardError, match=r"export\.json"):
        check_export(scene.home, tmp_path / "nowhere")


def test_the_command_says_what_to_do_and_fails(
    tmp_path: Path, scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    export_to(tmp_path / "out", scene.old, scene.store, "mds", has_lineage=True)
    home = ["--home", str(scene.home.root)]
    assert main(["check-export", str(tmp_path / "out"), *home]) == 0
    assert "version v1 is live" in capsys.readouterr().out
    scene.take_down(keep_old=False)
    assert main(["check-export", str(tmp_path / "out"), *home]) == 1
    said = capsys.readouterr().out
    assert "replaced by v1.td1" in said
    assert scene.victim.hex() in said
    assert main(["check-export", str(tmp_path / "out"), "--json", *home]) == 1
    assert json.loads(capsys.readouterr().out)["documents"] == [scene.victim.hex()]
