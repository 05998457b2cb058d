"""An export is there whole or not at all, and a killed one goes on."""

import os
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from corpus_assets.core.errors import StoreError
from corpus_assets.shards.export import run
from corpus_assets.shards.export.files import ExportFolder
from corpus_assets.shards.export.plan import FORMATS
from corpus_assets_tests.demo_build import hashes
from corpus_assets_tests.shards.export.small_export import export_to, plan_of, store_at
from corpus_loader import LoaderError, Manifest

ROOT = Path(__file__).parents[3]

EXPORT_AND_DIE = """
import os, signal, sys
from pathlib import Path
from corpus_assets.shards.export import run
from corpus_assets_tests.shards.export.small_export import export_to
from corpus_loader import Manifest

store, out, layout, parts = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
write, written = run._write_part, []

def write_until(*arguments):
    written.append(1)
    if len(written) > parts:
        folder = arguments[0].path
        (folder / ".half.tmp").write_bytes(b"left by a killed process")
        os.kill(os.getpid(), signal.SIGKILL)
    return write(*arguments)

run._write_part = write_until
export_to(out, Manifest.load(store / "manifest.json"), store, layout, has_lineage=True)
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def manifest(root: Path) -> Manifest:
    made = store_at(root)
    (root / "manifest.json").write_bytes(made.dump())
    return made


@pytest.mark.parametrize("layout", FORMATS)
def test_a_killed_export_goes_on_after_its_finished_parts(
    tmp_path: Path,
    manifest: Manifest,
    root: Path,
    layout: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    arguments = [sys.executable, "-c", EXPORT_AND_DIE, str(root), str(out), layout, "3"]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not out.exists()
    assert (tmp_path / "out.partial").is_dir()
    written: list[int] = []
    write = run._write_part

    def counted(*given: object) -> object:
        written.append(1)
        return write(*given)

    monkeypatch.setattr(run, "_write_part", counted)
    export_to(out, manifest, root, layout, has_lineage=True)
    parts = plan_of(manifest, layout).parts
    assert parts > 4
    assert len(written) == parts - 3
    monkeypatch.undo()
    export_to(tmp_path / "whole", manifest, root, layout, has_lineage=True)
    assert hashes(out) == hashes(tmp_path / "whole")
    assert not (tmp_path / "out.partial").exists()


def test_another_plan_starts_over_in_the_folder_a_killed_export_left(
    tmp_path: Path, manifest: Manifest, root: Path
) -> None:
    plan = plan_of(manifest, "mds", seed=1)
    with ExportFolder(tmp_path / "out", plan).claimed() as folder:
        (folder.path / "shard.00000.mds").write_bytes(b"of another export")
        (folder.path / "stray").mkdir()
    export_to(tmp_path / "out", manifest, root, "mds", seed=2)
    export_to(tmp_path / "plain", manifest, root, "mds", seed=2)
    assert hashes(tmp_path / "out") == hashes(tmp_path / "plain")


def test_a_part_whose_file_was_cut_is_written_again(
    tmp_path: Path, manifest: Manifest, root: Path
) -> None:
    plan = plan_of(manifest, "mds")
    stream = run.RunStream(manifest, root, plan)
    layout = run.layout_of(plan, manifest)
    with ExportFolder(tmp_path / "out", plan).claimed() as folder:
        run._write_parts(folder, stream, layout, None, {}, 1, lambda *_: None)
        os.truncate(folder.path / "shard.00002.mds", 50)
        assert sorted(folder.finished()) == [0, 1, 3, 4, 5]
    export_to(tmp_path / "out", manifest, root, "mds")
    export_to(tmp_path / "plain", manifest, root, "mds")
    assert hashes(tmp_path / "out") == hashes(tmp_path / "plain")


def test_nothing_that_is_there_is_overwritten(
    tmp_path: Path, manifest: Manifest, root: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("precious")
    with pytest.raises(StoreError, match="already exists"):
        export_to(tmp_path / "out", manifest, root, "mds")
    (tmp_path / "new.partial").mkdir()
    (tmp_path / "new.partial" / "mine").write_text("precious")
    with pytest.raises(StoreError, match="not made by an export"):
        export_to(tmp_path / "new", manifest, root, "mds")
    assert (tmp_path / "new.partial" / "mine").read_text() == "precious"
    (tmp_path / "empty").mkdir()
    export_to(tmp_path / "empty", manifest, root, "mds")
    assert (tmp_path / "empty" / "index.json").is_file()


def test_two_exports_do_not_write_one_folder(
    tmp_path: Path, manifest: Manifest, root: Path
) -> None:
    plan = plan_of(manifest, "mds")
    with (
        ExportFolder(tmp_path / "out", plan).claimed(),
        pytest.raises(StoreError, match="another export is writing"),
    ):
        export_to(tmp_path / "out", manifest, root, "mds")


def test_a_full_disk_is_foreseen(
    tmp_path: Path, manifest: Manifest, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(run.shutil, "disk_usage", lambda _: usage(100, 99, 1))
    with pytest.raises(StoreError, match="needs about"):
        export_to(tmp_path / "out", manifest, root, "mds")


def test_a_folder_that_cannot_be_made_is_explained(
    tmp_path: Path, manifest: Manifest, root: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write the export"):
        export_to(tmp_path / "file" / "out", manifest, root, "mds")


@pytest.mark.parametrize("layout", FORMATS)
def test_one_flipped_bit_in_a_shard_is_never_copied_on(tmp_path: Path, layout: str) -> None:
    store = tmp_path / "store"
    made = store_at(store)
    path = store / made.groups[1].shards[0].bin.path
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(LoaderError, match=r"shard_00000\.bin"):
        export_to(tmp_path / "out", made, store, layout)
    assert not (tmp_path / "out").exists()
