"""The demo corpus, built for tests through the command line, as a user would."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

VERSION = "demo-1"


def corpus_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "corpus_assets.cli.main", *arguments]


def environment(home: Path) -> dict[str, str]:
    """The test's own environment, pointed at `home` and at nothing else of the user's."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CORPUS_", "DAGSTER_"))}
    for name in ("CORPUS_MODELS", "CORPUS_SHARED_DATA"):
        if name in os.environ:
            kept[name] = os.environ[name]
    return kept | {"CORPUS_HOME": str(home), "XDG_CONFIG_HOME": str(home.parent / "config")}


def run_corpus(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `corpus` to its end; a failure shows what it printed."""
    done = subprocess.run(
        corpus_command(*arguments), env=environment(home), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def build_demo(home: Path, workers: int, *extra: str) -> None:
    run_corpus(home, "build", "demo", "--version", VERSION, "--workers", str(workers), *extra)


def hashes(folder: Path) -> dict[str, str]:
    """Every file of a folder by its relative name."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def version_files(home: Path, version: str = VERSION) -> dict[str, str]:
    """Every file of a version: its folder, and each shard file its manifest names."""
    store = home / "store"
    manifest = json.loads((store / "versions" / version / "manifest.json").read_bytes())
    found = hashes(store / "versions" / version)
    for group in manifest["groups"]:
        for shard in group["shards"]:
            for kind in ("bin", "idx", "spans", "header"):
                path = store / shard[kind]["path"]
                found[shard[kind]["path"]] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def planted(home: Path) -> list[dict[str, Any]]:
    """The generator's own account of what it planted where."""
    lines = (home / "demo-sources" / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
