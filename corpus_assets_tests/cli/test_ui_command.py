"""`corpus ui`: the Dagster UI of a home, wherever the command is run."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

QUESTION = json.dumps({"query": "{ repositoriesOrError { ... on RepositoryConnection { nodes { name "
                       "location { name } } } } }"}).encode()  # fmt: skip
PATIENCE_S = 300.0


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def ask(port: int) -> object:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/graphql", QUESTION, {"Content-Type": "application/json"}
    )
    return json.load(urllib.request.urlopen(request, timeout=60))


@pytest.mark.slow
def test_the_ui_of_an_empty_home_starts_from_any_folder(tmp_path: Path) -> None:
    home, port = tmp_path / "home", free_port()
    (tmp_path / "elsewhere").mkdir()
    said = tmp_path / "said.txt"
    with open(said, "wb") as output:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "corpus_assets.cli.main", "ui"),
                *("--home", str(home), "--port", str(port)),
            ],
            cwd=tmp_path / "elsewhere",
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                answer = ask(port)
                break
            except OSError:
                assert process.poll() is None, said.read_text()[-3000:]
                assert time.monotonic() < end, said.read_text()[-3000:]
                time.sleep(0.5)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
    assert answer == {
        "data": {
            "repositoriesOrError": {
                "nodes": [{"name": "__repository__", "location": {"name": "corpus_assets"}}]
            }
        }
    }
    assert (home / "dagster" / "dagster.yaml").is_file()
    assert not list((tmp_path / "elsewhere").iterdir())
