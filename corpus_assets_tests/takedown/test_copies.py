"""Whatever a command writes beside the store's results is registered, and takedowns find it."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from catalog.cli.commands import main as catalog_main
from catalog.copies import writing
from catalog.db.registry import Registry
from catalog.db.rows import CopyRow
from catalog.errors import VersionRevoked
from catalog.formats.store import FileStore as CatalogStore
from catalog.lineage.tables import Lineage
from catalog.review.records import new_judgement
from catalog.takedown.certificates import verify_takedown
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.cli.main import main
from corpus_assets.core.errors import EvidenceError
from corpus_assets.core.home import Home
from corpus_assets.core.scratch import SCRATCH, abandoned
from corpus_assets.core.store import Store
from corpus_assets.evidence.home import import_runs, pack_plan, plan_comparison
from corpus_assets.evidence.pack import find_pack
from corpus_assets.evidence.plan import Plan
from corpus_assets.session import open_home
from corpus_assets.takedown.run import takedown_command
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.evidence.test_home import fake_results, write_settings
from corpus_assets_tests.evidence.tiny import texts
from corpus_assets_tests.registry_states import revoke
from corpus_assets_tests.small_corpus import prose

URL, TEXT = "http://site-3.example.org/article", prose("first", 3)


@dataclass
class Bench:
    """A copy of the small corpus in which copies are made."""

    home: Home
    store: Store
    registry: Registry
    folder: Path  # outside of the home

    @property
    def root(self) -> Path:
        return self.home.root

    @property
    def catalog(self) -> CatalogStore:
        return CatalogStore(self.home.store_url)

    def plan(self) -> Plan:
        return plan_comparison(
            self.store, self.registry, write_settings(self.folder, texts(4, 5), tokens=16_384)
        )

    def pack(self, folder: Path) -> Plan:
        plan = self.plan()
        pack_plan(self.home, self.store, self.registry, plan, folder)
        return plan

    def corpus(self, *arguments: object) -> None:
        assert main([*map(str, arguments), "--home", str(self.root)]) == 0

    def ask(self, *arguments: object) -> int:
        with pytest.raises(SystemExit) as ended:
            catalog_main([*map(str, arguments), "--home", str(self.root)])
        return int(ended.value.code or 0)

    def export(self, out: Path) -> None:
        self.corpus("export", "small-1", "--format", "megatron", "--out", out)

    def doc_id(self) -> str:
        with Lineage(self.registry, self.catalog, "small-1") as lineage:
            scan = lineage.scan("records")
            (row,) = lineage.query(f"SELECT doc_id FROM {scan} WHERE url = ?", [URL])
        return bytes(row["doc_id"]).hex()

    def take_down(self) -> int:
        request_takedown(self.registry, self.catalog, url_target(URL), "asked")
        return takedown_command(str(self.root))

    def certificate(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.store.read(self.registry.certificates(1)[-1].path))
        return body


@pytest.fixture
def bench(place: Place, tmp_path: Path) -> Bench:
    home = Home.resolve(str(place.home))
    store, registry = open_home(home)
    (tmp_path / "elsewhere").mkdir()
    return Bench(home, store, registry, tmp_path / "elsewhere")


def test_copies_of_the_home_go_with_a_takedown_and_those_elsewhere_keep_it_open(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    doc_id = bench.doc_id()
    inside = {"extras/pack": "pack", "pages/look.html": "page", "raw.warc": "record"}
    (bench.root / "pages").mkdir()
    bench.pack(bench.root / "extras" / "pack")
    found = find_pack(bench.root / "extras" / "pack")
    assert found is not None
    assert found.doc_ids is not None
    assert doc_id in found.doc_ids
    page = ("sample-page", "small-1", "--per-reason", 50, "--out")
    bench.corpus(*page, bench.root / "pages" / "look.html")
    assert bench.ask("raw", doc_id, "-o", bench.root / "raw.warc") == 0
    bench.pack(bench.folder / "pack")
    bench.corpus(*page, bench.folder / "look.html")
    bench.export(bench.folder / "flat")
    bench.export(bench.root / "exports" / "flat")
    capsys.readouterr()
    assert bench.ask("copies", "--json") == 0
    listed = {row["place"]: row for row in json.loads(capsys.readouterr().out)}
    outside = {str(bench.folder / name) for name in ("pack", "look.html", "flat")}
    assert listed.keys() == {*inside, *outside, "exports/flat"}
    assert {row["state"] for row in listed.values()} == {"there"}
    assert {place: listed[place]["kind"] for place in inside} == inside
    assert listed["raw.warc"]["documents"] == 1
    assert listed["exports/flat"]["documents"] is None
    assert bench.ask("copies") == 0
    assert "extras/pack" in capsys.readouterr().out

    assert bench.take_down() == 1
    told = capsys.readouterr()
    assert not any((bench.root / place).exists() for place in inside)
    assert all(f"deleted {place}" in told.out for place in inside)
    assert all(Path(place).exists() for place in outside)
    body = bench.certificate()
    assert body["files"]["copies"] == sorted(inside)
    left = {*outside, "exports/flat"}
    assert {one["file"] for one in body["search"]["holding"]} == left
    assert all(f"  {place} is " in told.err for place in left)
    assert f"{bench.folder / 'flat'} is an export of small-1 and" in told.err
    assert "delete it, and export small-1.td1 instead" in told.err
    row = bench.registry.takedown(1)
    assert row.status == "pending"
    assert "4 files still hold removed documents: " in (row.error or "")
    assert bench.ask("takedown", "list", "--status", "failed") == 0
    assert "4 files still hold" in capsys.readouterr().out
    assert bench.ask("takedown", "show", 1, "--json") == 0
    assert {one["file"] for one in json.loads(capsys.readouterr().out)["open_files"]} == left
    proof = verify_takedown(bench.registry, bench.catalog, 1, home=bench.root)
    assert not proof.whole

    for place in left:
        subprocess.run(["rm", "-r", bench.root / place], check=True)
    assert takedown_command(str(bench.root)) == 0
    assert bench.registry.takedown(1).status == "done"
    assert bench.certificate()["search"]["holding"] == []
    assert len(bench.registry.certificates(1)) == 2
    assert verify_takedown(bench.registry, bench.catalog, 1, home=bench.root).whole
    capsys.readouterr()
    assert bench.ask("takedown", "show", 1, "--json") == 0
    assert json.loads(capsys.readouterr().out)["open_files"] == []


@pytest.mark.slow
def test_what_cannot_be_seen_from_here_and_what_is_no_part_of_the_corpus_is_named_and_keeps_nothing_open(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.registry.put_copy(CopyRow("/data/flat", "export", {"small-1": None}, "other-machine"))
    (bench.root / "picture.png").write_bytes(b"\x89PNG" + os.urandom(400))
    pins = bench.root / "store" / "pins"  # a lock's calibrations: what they may hold is said
    pins.mkdir(exist_ok=True)
    (pins / ("0" * 64)).write_bytes(os.urandom(400))
    assert bench.take_down() == 0
    told = capsys.readouterr().err
    assert "/data/flat was not searched: a copy (export) on other-machine" in told
    assert "picture.png was not searched: a PNG image" in told
    assert bench.registry.takedown(1).status == "done"
    not_searched = dict(bench.certificate()["search"]["not_searched"])
    assert not_searched.keys() == {"/data/flat", "picture.png"}
    proof = verify_takedown(bench.registry, bench.catalog, 1, home=bench.root)
    assert proof.whole
    assert not_searched.keys() == dict(proof.search["not_searched"]).keys()


@pytest.mark.slow
def test_a_note_that_quotes_the_text_is_named_by_its_row_and_nobody_is_told_to_delete_the_registry(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    place: dict[str, str] = {}

    def judge(version: str, why: str) -> None:
        with Lineage(bench.registry, bench.catalog, version) as lineage:
            scan = lineage.scan("records")
            (row,) = lineage.query(
                f'SELECT doc_id, snapshot, part, "offset" FROM {scan} WHERE url = ?',
                ["http://site-1.example.org/article"],
            )
            place.update({k: str(row[k]) for k in ("snapshot", "part", "offset")})
            place["doc_id"] = row["doc_id"].hex()
            bench.registry.judge(new_judgement(lineage, place, True, why, "ann"))

    judge("small-1", f"compare: {TEXT[:1500]}")
    assert bench.take_down() == 1
    told = capsys.readouterr().err
    (line,) = [line for line in told.splitlines() if line.startswith("  catalog.db")]
    assert "delete it" not in line
    assert f"a note of ann on document {place['doc_id']} of small-1.td1" in line
    assert "table judgements, row " in line
    assert TEXT[:40] not in told
    judge("small-1.td1", "nothing of note")
    assert takedown_command(str(bench.root)) == 0
    assert bench.registry.takedown(1).status == "done"


def test_results_of_a_version_that_was_revoked_meanwhile_are_refused_and_nothing_is_stored(
    bench: Bench,
) -> None:
    folder = bench.folder / "pack"
    plan = bench.pack(folder)
    fake_results(folder, plan)
    (result,) = (folder / "runs").glob("*seed1.json")
    (folder / "runs" / f"{result.stem}.weights.npz").write_bytes(b"weights")
    revoke(bench.registry, "small-1")
    before = set(bench.store.list("evidence"))
    with pytest.raises(EvidenceError, match="small-1, which a takedown has revoked: nothing was"):
        import_runs(bench.home, bench.store, bench.registry, folder)
    assert set(bench.store.list("evidence")) == before
    assert bench.registry.metrics(version="small-1") == []
    with pytest.raises(EvidenceError, match="revoked by a takedown; plan the comparison again"):
        pack_plan(bench.home, bench.store, bench.registry, plan, bench.folder / "again")


def test_weights_that_are_imported_are_registered(bench: Bench) -> None:
    folder = bench.folder / "pack"
    plan = bench.pack(folder)
    fake_results(folder, plan)
    (result,) = (folder / "runs").glob("*seed1.json")
    (folder / "runs" / f"{result.stem}.weights.npz").write_bytes(b"weights")
    import_runs(bench.home, bench.store, bench.registry, folder)
    place = f"store/evidence/weights/small-1/{plan.digest()}"
    rows = {row.place: row for row in bench.registry.copies()}
    assert (rows[place].kind, rows[place].holds) == ("weights", {"small-1": None})
    assert (bench.root / place).is_dir()


KILLED = """
import sys, time
from corpus_assets.core.home import Home
from corpus_assets.evidence import home as evidence
from corpus_assets.session import open_home

def stop(*_, **__):
    print("packed", flush=True)
    time.sleep(600)

evidence.run_pack = stop
home = Home.resolve(sys.argv[1])
store, registry = open_home(home)
evidence.train_missing(home, store, registry, evidence.stored_plan(store, sys.argv[2]), print)
"""


def test_the_pack_of_a_killed_training_is_registered_in_the_home_and_collected(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = bench.plan()
    (tmp_path / "tmp").mkdir()
    training = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(bench.root), plan.digest()],
        stdout=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(tmp_path / "tmp")},
        text=True,
    )
    assert training.stdout is not None
    assert training.stdout.readline() == "packed\n"
    (row,) = bench.registry.copies()
    assert row.place.startswith(f"{SCRATCH}/proxy-runs-")
    assert (bench.root / row.place / "tokens.xz").exists()
    assert list(abandoned(bench.home)) == []
    bench.corpus("gc")
    assert (bench.root / row.place / "tokens.xz").exists()
    training.send_signal(signal.SIGKILL)
    training.wait()
    training.stdout.close()
    assert list((tmp_path / "tmp").rglob("tokens.xz")) == []
    assert len(list(abandoned(bench.home))) == 1
    bench.corpus("gc")
    assert list((bench.root / SCRATCH).iterdir()) == []


# The register itself.


def test_a_copy_is_registered_before_its_first_byte_and_settled_when_it_is_whole(
    bench: Bench,
) -> None:
    path = bench.root / "page.html"

    def holds() -> list[Any]:
        return [dict(row.holds) for row in bench.registry.copies()]

    with writing(bench.registry, bench.root, path, "page", {"small-1": ["aa"]}):
        assert holds() == [{"small-1": ["aa"]}]
        path.write_text("one")
    with writing(bench.registry, bench.root, path, "page", {"small-1": ["bb"]}):
        assert holds() == [{"small-1": ["aa", "bb"]}]  # the earlier page is still there
        path.write_text("two")
    assert holds() == [{"small-1": ["bb"]}]
    with (
        pytest.raises(KeyError),
        writing(bench.registry, bench.root, path, "page", {"small-1": ["cc"]}),
    ):
        raise KeyError
    assert holds() == [{"small-1": ["bb"]}]  # nothing was written
    foreign = bench.root / "foreign.txt"
    foreign.write_text("not ours")
    with (
        pytest.raises(KeyError),
        writing(bench.registry, bench.root, foreign, "page", {"small-1": ["cc"]}),
    ):
        raise KeyError
    assert [row.place for row in bench.registry.copies()] == ["page.html"]


def _write_while_it_is_revoked(bench: Bench, page: Path) -> None:
    with writing(bench.registry, bench.root, page, "page", {"small-1": None}):
        page.write_text("text")
        revoke(bench.registry, "small-1")


def test_a_copy_whose_version_is_revoked_while_it_is_written_is_deleted_again(
    bench: Bench,
) -> None:
    page, flat = bench.root / "page.html", bench.root / "flat"
    with writing(bench.registry, bench.root, flat, "export", {"small-1": None}):
        flat.mkdir()
        with pytest.raises(VersionRevoked, match="small-1 was revoked"):
            _write_while_it_is_revoked(bench, page)
    assert not page.exists()
    assert flat.exists()
    assert [row.place for row in bench.registry.copies()] == [
        "flat"
    ]  # the user's: named, not deleted
    with (
        pytest.raises(VersionRevoked, match="small-1 was revoked"),
        writing(bench.registry, bench.root, page, "page", {"small-1": None}),
    ):
        pytest.fail("a copy of a revoked version was begun")


def test_places_in_the_home_move_with_it(bench: Bench, tmp_path: Path) -> None:
    bench.corpus("sample-page", "small-1", "--out", bench.root / "page.html")
    bench.root.rename(tmp_path / "moved")
    (row,) = Registry(f"sqlite:///{tmp_path / 'moved' / 'catalog.db'}").copies()
    assert (row.place, row.machine) == ("page.html", "")
    assert len(row.holds["small-1"]) > 5
