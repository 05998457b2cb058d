import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpus_assets.core.errors import SourceError
from corpus_assets.demo import generate as generator
from corpus_assets.demo.generate import file_digests, generate_demo, is_complete
from corpus_assets.demo.library import read_library

PROGRAM = """
import sys
from pathlib import Path
from corpus_assets.demo.generate import generate_demo
generate_demo(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
"""


def start(*arguments: str, hash_seed: str = "1") -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], env=environment)


def test_another_process_with_another_hash_seed_writes_the_same_bytes(
    demo: Path, tmp_path: Path
) -> None:
    assert start(str(tmp_path / "again"), hash_seed="4711").wait(timeout=120) == 0
    assert file_digests(tmp_path / "again") == file_digests(demo)
    assert (tmp_path / "again/generator.json").read_bytes() == (
        demo / "generator.json"
    ).read_bytes()


def test_a_complete_folder_is_left_as_it_is(tiny: Path, tiny_sources: Path, tmp_path: Path) -> None:
    out = shutil.copytree(tiny_sources, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    inode = out.stat().st_ino
    generate_demo(out, tiny)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    assert out.stat().st_ino == inode


def test_a_changed_file_is_noticed_and_everything_is_written_anew(
    tiny: Path, tiny_sources: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(tiny_sources, tmp_path / "out")
    good = file_digests(out)
    (out / "blocklist.txt").write_text("changed\n")
    (out / "math/math-2024-04.jsonl").unlink()
    assert not is_complete(out, read_library(tiny).digest)
    generate_demo(out, tiny)
    assert file_digests(out) == good


def test_another_generator_version_is_not_trusted(
    tiny: Path, tiny_sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = shutil.copytree(tiny_sources, tmp_path / "out")
    monkeypatch.setattr(generator, "GENERATOR_VERSION", generator.GENERATOR_VERSION + 1)
    assert not is_complete(out, read_library(tiny).digest)
    generate_demo(out, tiny)
    state = json.loads((out / "generator.json").read_text())
    assert state["generator_version"] == generator.GENERATOR_VERSION


def test_a_folder_with_other_files_is_never_replaced(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(SourceError, match="choose an empty folder"):
        generate_demo(tmp_path, tiny)
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_a_killed_run_leaves_no_result_and_the_next_one_is_whole(
    tiny: Path, tiny_sources: Path, tmp_path: Path
) -> None:
    out = tmp_path / "killed"
    process = start(str(out), str(tiny))
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".killed.*/web/*/*.gz")) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert not out.exists()
    generate_demo(out, tiny)
    assert file_digests(out) == file_digests(tiny_sources)


def test_the_command_prints_what_was_planted(demo: Path) -> None:
    command = [sys.executable, "-m", "corpus_assets.demo", str(demo)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "CC-DEMO-2024-18: 700" in result.stdout
    assert "truncated_record" in result.stdout


def test_the_command_explains_itself_when_it_is_called_wrongly() -> None:
    command = [sys.executable, "-m", "corpus_assets.demo"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 2
    assert result.stderr.startswith("usage:")
