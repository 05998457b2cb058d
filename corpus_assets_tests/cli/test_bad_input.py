"""Bad input, bad disks, bad luck: one line that says what to do, and then a build that is right.

Each test breaks something, reads what `corpus` says, repairs it as the message asks, and
compares the version of a later build, file by file, with one that never met the trouble.
"""

import gzip
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from catalog.cli.commands import main as catalog
from corpus_assets.build import build
from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets.graph.checks import check_version
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.session import open_session
from corpus_assets.shards.route import read_slice, slice_bytes
from corpus_assets.shards.tokens import TokenBatch
from corpus_assets.versions.version import make_version
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.demo_build import corpus_command, environment
from corpus_assets_tests.ingest.warc_bytes import member
from corpus_assets_tests.small_corpus import SNAPSHOTS, second_crawl
from corpus_assets_tests.small_disk import remount, small_disk

Captured = pytest.CaptureFixture[str]


def refusal(place: Place, capfd: Captured, *arguments: str, version: str = VERSION) -> str:
    """What a build that fails says on stderr: progress, then one line, and never a trace."""
    capfd.readouterr()
    code = place.build(*arguments, version=version)
    said = capfd.readouterr()
    assert code == 1, said.out + said.err
    assert "Traceback" not in said.err + said.out
    *progress, last = said.err.strip().splitlines()
    assert last.startswith("corpus: error: ")
    assert not [line for line in progress if "error" in line.lower()]
    return last.removeprefix("corpus: error: ")


def build_is_clean(place: Place, clean: Place, *arguments: str) -> None:
    assert place.build(*arguments) == 0
    assert place.files() == clean.files()


def build_without_dagster(place: Place) -> None:
    """The same build; Dagster's records cost most of a small build's time."""
    with open_session(str(place.recipe), Home.resolve(str(place.home))) as session:
        build(session, VERSION)


def fates(place: Place) -> Counter[tuple[str, str]]:
    """(snapshot, reason) of every dropped record of the only build in a home."""
    counted: Counter[tuple[str, str]] = Counter()
    for file in place.artifacts("clean_text", "decisions.parquet"):
        for row in pq.read_table(file, columns=["snapshot", "reason"]).to_pylist():
            if row["reason"] is not None:
                counted[row["snapshot"], row["reason"]] += 1
    return counted


def verified(place: Place) -> int:
    """The exit code of `catalog verify`, which re-hashes and re-counts everything."""
    with pytest.raises(SystemExit) as done:
        catalog(["verify", VERSION, "--home", str(place.home)])
    return int(done.value.code or 0)


def conserving(pipeline: Pipeline) -> bool:
    return check_version(pipeline, make_version(pipeline, VERSION).manifest).passed


class TestDamagedFiles:
    """Damage inside a file is counted with a reason; it never stops a build."""

    @pytest.fixture
    def damaged(self, small_build: Place, tmp_path: Path) -> Place:
        """A truncated WARC, a corrupt gzip member and a broken JSON line, in an empty home."""
        shutil.copytree(small_build.folder / "corpus", tmp_path / "corpus")
        place = Place(tmp_path)
        truncated = place.source("web/crawl-1/part-00000.warc.gz")
        truncated.write_bytes(truncated.read_bytes()[:-200])
        corrupt = [member(record) for record in second_crawl()[12:]]
        corrupt[2] = corrupt[2][:40] + bytes(20) + corrupt[2][60:]
        place.source("web/crawl-2/part-00001.warc.gz").write_bytes(b"".join(corrupt))
        books = place.source("books/books-1.jsonl")
        lines = books.read_bytes().splitlines(keepends=True)
        lines[3] = b'{"id": "b-3", "text": "cut o\n'
        books.write_bytes(b"".join(lines))
        return place

    def test_damage_is_counted_with_a_reason_and_whole_files_are_another_delivery(
        self, damaged: Place, small_build: Place
    ) -> None:
        build_without_dagster(damaged)
        assert verified(damaged) == 0
        before, after = fates(small_build), fates(damaged)
        for snapshot in SNAPSHOTS:
            assert after[snapshot, "damaged_record"] == 1
            assert before[snapshot, "damaged_record"] == 0
        assert after["crawl-2", "content_type"] == before["crawl-2", "content_type"]
        with open_session(str(damaged.recipe), Home.resolve(str(damaged.home))) as session:
            assert conserving(session.pipeline)
            ingested = [
                result.counts["documents_in"]
                for snapshot in SNAPSHOTS
                for result in session.pipeline.results("documents", snapshot)
            ]
        assert ingested == [13, 13, 12, 12, 8]
        # A delivery is frozen: whole files later are other files.
        shutil.rmtree(damaged.folder / "corpus")
        shutil.copytree(small_build.folder / "corpus", damaged.folder / "corpus")
        assert damaged.build() == 1


class TestSources:
    def test_a_missing_source_file_is_one_line(self, place: Place, small_build: Place) -> None:
        """Through a process of its own, as a shell sees it."""
        books = place.source("books/books-1.jsonl")
        kept = books.read_bytes()
        books.unlink()
        done = subprocess.run(
            corpus_command("build", str(place.recipe), "--workers", "1"),
            env=environment(place.home),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert done.stdout == ""
        planning, error = done.stderr.splitlines()
        assert planning == f"planning {place.recipe}"
        assert error.startswith("corpus: error: snapshot books-1 of books: no file matches ")
        assert error.endswith("correct the location in the recipe or fetch the files")
        books.write_bytes(kept)
        build_is_clean(place, small_build)

    def test_a_part_that_is_gone_is_a_changed_delivery(
        self, place: Place, small_build: Place, capfd: Captured
    ) -> None:
        part = place.source("web/crawl-1/part-00001.warc.gz")
        kept = part.read_bytes()
        part.unlink()
        assert "crawl-1" in refusal(place, capfd)
        part.write_bytes(kept)
        build_is_clean(place, small_build)

    def test_a_changed_file_is_a_changed_delivery_and_the_old_pins_stay(
        self, place: Place, small_build: Place, capfd: Captured
    ) -> None:
        part = place.source("web/crawl-1/part-00001.warc.gz")
        kept = part.read_bytes()
        part.write_bytes(kept + gzip.compress(b"more", mtime=0))
        pins = (place.store / "sources/crawl-1.json").read_bytes()
        assert "crawl-1" in refusal(place, capfd)
        assert (place.store / "sources/crawl-1.json").read_bytes() == pins
        part.write_bytes(kept)
        build_is_clean(place, small_build)

    def test_a_file_changed_under_the_same_name_and_size_is_refused_when_it_is_read(
        self, place: Place, small_build: Place, capfd: Captured
    ) -> None:
        assert place.build() == 0  # pins the copy's own location
        [documents] = [
            file.parent
            for file in place.artifacts("documents", "records.parquet")
            if (first := pq.read_table(file).slice(0, 1).to_pylist()[0])["snapshot"] == "crawl-1"
            and first["part"] == 1
        ]
        shutil.rmtree(documents)
        part = place.source("web/crawl-1/part-00001.warc.gz")
        kept = part.read_bytes()
        part.write_bytes(bytes([*kept[:-1], kept[-1] ^ 1]))
        message = refusal(place, capfd)
        assert "part-00001.warc.gz: pinned as" in message
        assert "restore the file" in message
        part.write_bytes(kept)
        assert main(["parts", "retry", "--home", str(place.home)]) == 0
        build_is_clean(place, small_build)

    def test_a_missing_list_is_named_by_its_key(
        self, place: Place, small_build: Place, capfd: Captured
    ) -> None:
        suite = place.source("evals/lamps.jsonl")
        kept = suite.read_bytes()
        suite.unlink()
        message = refusal(place, capfd)
        assert message == ("eval_suites: no file at evals/*.jsonl; correct the path in the recipe")
        suite.write_bytes(kept)
        build_is_clean(place, small_build)

    def test_bad_training_texts_are_one_line(
        self, place: Place, small_build: Place, capfd: Captured
    ) -> None:
        texts = place.source("quality/positives.jsonl")
        kept = texts.read_bytes()
        texts.write_bytes(b'{"text": "good"}\n{"txet": "bad"}\n')
        message = refusal(place, capfd)
        assert message == f"{texts} line 2: expected a JSON object with `text`"
        texts.write_bytes(kept)
        build_is_clean(place, small_build)


class TestRecipes:
    def test_an_unknown_snapshot_is_one_line_with_the_known_ones(
        self, place: Place, small_build: Place, capfd: Captured
    ) -> None:
        message = refusal(place, capfd, "--set", "calibrate_on=[crawl-7]")
        assert message == (
            f"{place.recipe}: calibrate_on names the unknown snapshot crawl-7; "
            "known: crawl-1, crawl-2, books-1"
        )
        build_is_clean(place, small_build)

    @pytest.mark.parametrize(
        ("setting", "expected"),
        [
            ("seed", "--set seed: expected KEY=VALUE, for example seed=7"),
            ("=7", "--set =7: expected KEY=VALUE"),
            ("seed=[1", "--set seed=[1: the value is not valid YAML"),
        ],
    )
    def test_a_setting_that_is_none_is_one_line(
        self, place: Place, capfd: Captured, setting: str, expected: str
    ) -> None:
        assert refusal(place, capfd, "--set", setting).startswith(expected)

    def test_a_recipe_that_is_not_there_is_one_line(self, tmp_path: Path, capfd: Captured) -> None:
        assert main(["build", "nope", "--home", str(tmp_path / "home")]) == 1
        err = capfd.readouterr().err
        assert err == (
            "planning nope\n"
            "corpus: error: nope: neither a recipe file nor a recipe that ships with "
            "corpus-assets; `corpus recipes` lists those\n"
        )
        assert not (tmp_path / "home").exists()


class TestModels:
    def test_a_language_model_that_is_garbage_is_one_line(
        self, place: Place, small_build: Place, capfd: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        models = place.folder / "models"
        models.mkdir()
        (models / "lid.176.ftz").write_bytes(b"garbage")
        with monkeypatch.context() as patch:
            patch.setenv("CORPUS_MODELS", str(models))
            message = refusal(place, capfd)
        assert "lid.176" in message
        assert "run `corpus models fetch`" in message
        build_is_clean(place, small_build)

    def test_a_pinned_tokenizer_with_another_digest_is_one_line(
        self, place: Place, small_build: Place, capfd: Captured
    ) -> None:
        trained = place.artifacts("tokenizer", "tokenizer.json")[0].read_bytes()
        pinned = place.source("tokenizer.json")
        pinned.write_bytes(trained[:-100])
        sha256 = hashlib.sha256(trained).hexdigest()
        entry = {"pinned": {"path": "tokenizer.json", "sha256": sha256}}
        arguments = ("--set", f"tokenizer={json.dumps(entry)}")
        message = refusal(place, capfd, *arguments, version="pinned")
        assert message.startswith("tokenizer.pinned: model tokenizer.json at ")
        assert f"expected {sha256}: fetch it again, or correct the recipe" in message
        pinned.write_bytes(trained)
        assert place.build(*arguments, version="pinned") == 0
        shards = {k: v for k, v in place.files("pinned").items() if k.startswith("artifacts/")}
        assert shards
        assert shards.items() <= small_build.files().items()

    def test_a_pinned_tokenizer_that_is_no_tokenizer_is_one_line(
        self, place: Place, capfd: Captured
    ) -> None:
        place.source("tokenizer.json").write_bytes(b"{not json")
        sha256 = hashlib.sha256(b"{not json").hexdigest()
        entry = {"pinned": {"path": "tokenizer.json", "sha256": sha256}}
        message = refusal(place, capfd, "--set", f"tokenizer={json.dumps(entry)}", version="pinned")
        assert message.startswith("tokenizer.json is not JSON")


class TestCatalog:
    def test_a_locked_catalog_is_one_line_and_changes_nothing(
        self, place: Place, small_build: Place, capfd: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = sqlite3.connect(place.home / "catalog.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with monkeypatch.context() as patch:
            patch.setenv("CORPUS_CATALOG_BUSY_S", "0.1")
            message = refusal(place, capfd)
        other.rollback()
        other.close()
        assert "catalog.db was locked by another process for 0.1 s" in message
        assert "then try again" in message
        build_is_clean(place, small_build)

    def test_a_catalog_that_is_no_database_is_one_line(
        self, place: Place, small_build: Place, capfd: Captured
    ) -> None:
        for file in place.home.glob("catalog.db*"):
            file.unlink()
        (place.home / "catalog.db").write_bytes(b"this is not a database" * 100)
        assert "catalog.db" in refusal(place, capfd)
        (place.home / "catalog.db").unlink()
        build_without_dagster(place)
        assert place.files() == small_build.files()
        assert verified(place) == 0


class TestHomeAndStore:
    def test_a_home_that_is_a_file_is_one_line(self, place: Place, capfd: Captured) -> None:
        shutil.rmtree(place.home)
        place.home.write_bytes(b"")
        message = refusal(place, capfd)
        assert message == (
            f"cannot make the home {place.home}: File exists; choose another with --home"
        )

    def test_a_full_store_is_one_line_and_a_later_build_goes_on(
        self, place: Place, small_build: Place, capfd: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for stage in ("tokens", "shards"):
            shutil.rmtree(place.store / "artifacts" / stage)
        shutil.rmtree(place.store / "versions")
        size = sum(-(-f.stat().st_size // 4096) * 4 for f in place.store.rglob("*") if f.is_file())
        with small_disk(place.folder / "disk", size_kib=size + 24) as disk:
            shutil.copytree(place.store, disk, dirs_exist_ok=True)
            shutil.rmtree(place.store)
            place.store.symlink_to(disk)
            message = refusal(place, capfd)
            assert message.startswith(f"the disk of the store {disk} is full (while writing art")
            assert message.endswith("run the same command again: finished parts are kept")
            assert [p for p in disk.rglob("*") if p.name.endswith(".tmp")] == []
            remount(disk, "size=64m")
            build_is_clean(place, small_build)

    def test_a_read_only_store_is_one_line(
        self, place: Place, small_build: Place, capfd: Captured
    ) -> None:
        shutil.rmtree(place.artifacts("shards", "result.json")[0].parent)
        with small_disk(place.folder / "disk", size_kib=65536) as disk:
            shutil.copytree(place.store, disk, dirs_exist_ok=True)
            shutil.rmtree(place.store)
            place.store.symlink_to(disk)
            remount(disk, "ro")
            message = refusal(place, capfd)
            assert message.startswith("cannot write ")
            assert "Read-only file system" in message
            remount(disk, "rw")
            build_is_clean(place, small_build)


def flip_last_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def change_one_range(path: Path) -> None:
    """An archive that opens without complaint and does not have what was written."""
    with zipfile.ZipFile(path) as archive:
        members = {info: archive.read(info) for info in archive.infolist()}
    first = next(iter(members))
    ids, batch = read_slice(members[first])
    members[first] = slice_bytes(ids, TokenBatch(batch.flat + 1, batch.offsets))
    with zipfile.ZipFile(path, "w") as archive:
        for info, data in members.items():
            archive.writestr(info, data)


class TestDamagedArtifacts:
    @pytest.mark.parametrize(
        ("stage", "file", "reader", "damage"),
        [
            ("clean_text", "final.parquet", "tokens", flip_last_byte),
            ("tokens", "tokens.zip", "shards", change_one_range),
            ("tokens", "tokens.zip", "shards", Path.unlink),
        ],
    )
    def test_a_damaged_table_is_named_and_made_anew_when_its_folder_is_deleted(
        self,
        place: Place,
        small_build: Place,
        capfd: Captured,
        stage: str,
        file: str,
        reader: str,
        damage: Callable[[Path], None],
    ) -> None:
        victim = place.artifacts(stage, file)[0]
        damage(victim)
        shutil.rmtree(place.store / "artifacts" / reader)
        message = refusal(place, capfd)
        assert victim.relative_to(place.store).as_posix() in message
        assert "delete" in message
        assert "build" in message
        shutil.rmtree(victim.parent)
        build_without_dagster(place)
        assert place.files() == small_build.files()

    def test_a_damaged_result_is_named(self, place: Place, capfd: Captured) -> None:
        victim = place.artifacts("selection", "result.json")[0]
        victim.write_bytes(victim.read_bytes()[:-1])
        message = refusal(place, capfd)
        assert victim.relative_to(place.store).as_posix() in message
        assert message.endswith("is damaged; delete its folder and build again")

    def test_a_damaged_list_of_pinned_files_is_named(self, place: Place, capfd: Captured) -> None:
        (place.store / "sources/crawl-2.json").write_bytes(b"{}")
        message = refusal(place, capfd)
        assert message.startswith("sources/crawl-2.json in the store ")
        assert "it is damaged; delete it and run `corpus build`" in message

    def test_verify_finds_a_damaged_shard(self, place: Place, capfd: Captured) -> None:
        victim = place.artifacts("shards", "*.bin")[0]
        flip_last_byte(victim)
        assert verified(place) != 0
        assert victim.name in capfd.readouterr().out


class TestVersions:
    def test_a_name_taken_by_other_contents_is_one_line_and_the_version_stays(
        self, place: Place, small_build: Place, capfd: Captured
    ) -> None:
        message = refusal(place, capfd, "--set", "mixture.change.domain.web=0.7")
        assert message == (
            f"version {VERSION} exists with other contents; choose another name with --version, in "
            "the Dagster UI another partition of corpus_version"
        )
        assert place.files() == small_build.files()
        build_is_clean(place, small_build)

    @pytest.mark.parametrize("name", ["../escape", "a/b", "", ".hidden", "a b", "x" * 101])
    def test_a_name_that_is_no_name_is_refused(
        self, place: Place, capfd: Captured, name: str
    ) -> None:
        before = sorted(os.listdir(place.store / "versions"))
        message = refusal(place, capfd, version=name)
        assert "is not a valid name for a version: use letters" in message
        assert sorted(os.listdir(place.store / "versions")) == before


class TestLocks:
    def test_a_build_under_its_own_lock_gives_the_same_version(
        self, place: Place, small_build: Place
    ) -> None:
        shutil.copytree(place.store / "versions" / VERSION, place.folder / "locked")
        shutil.rmtree(place.store / "versions")
        for stage in ("boilerplate", "line_counts", "tokenizer_sample", "tokenizer", "eval_index"):
            shutil.rmtree(place.store / "artifacts" / stage)
        build_is_clean(place, small_build, "--lock", str(place.folder / "locked/lock.json"))
        assert not (place.store / "artifacts/tokenizer").exists()

    def test_a_lock_without_its_calibrations_is_one_line(
        self, place: Place, capfd: Captured
    ) -> None:
        lock = place.folder / "lock.json"
        shutil.copy(place.store / "versions" / VERSION / "lock.json", lock)
        message = refusal(place, capfd, "--lock", str(lock))
        assert message.startswith("the lock pins ")
        assert message.endswith("copy the lock's whole folder, calibrations included")

    def test_a_lock_that_is_none_is_one_line(self, place: Place, capfd: Captured) -> None:
        assert "not a lock of this project" in refusal(place, capfd, "--lock", str(place.recipe))
