"""Make the pictures of the pages again: `python docs/make_pictures.py HOME`.

HOME is one with the demo built. The pages are opened in Chromium, on a copy in which a takedown
is carried out; `CHROMIUM` names the program where it is not `chromium`.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PICTURES = Path(__file__).parent / "pictures"
BIN = Path(sys.executable).parent
GROUPS = ("ingest", "filter", "deduplicate", "decontaminate", "write", "release")  # unfolded
GRAPH = (555, 112, 1620, 790)  # where Dagster draws it in a window of 2200 by 1100
CORNERS = "0 0,100% 0,100% 80%,98% 80%,98% 100%,0 100%"  # without the bar that zooms
QUERY = (  # a page that stands for copies
    "SELECT kept_doc_id AS doc_id FROM cluster_members WHERE kept_doc_id <> doc_id "
    "GROUP BY kept_doc_id ORDER BY count(*) DESC, kept_doc_id LIMIT 1"
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        shutil.copytree(sys.argv[1], home)
        environment = os.environ | {"CORPUS_HOME": str(home), "DAGSTER_HOME": str(home / "dagster")}
        report = home / "store" / "versions" / "demo-1" / "report.html"
        picture("report", report.as_uri(), folder)
        ((found,),) = json.loads(catalog(environment, "sql", QUERY, "--json"))["rows"]
        port = str(free_port())
        with running(environment, "catalog", "serve", "--port", port):
            picture("document", f"http://127.0.0.1:{port}/documents/{found}", folder)
        port = str(free_port())
        where = ("-m", "corpus_assets.definitions", "-p", port)
        with running(environment, "dagster-webserver", *where):
            unfolded = ",".join(f"global@global:{name}" for name in GROUPS)
            address = f"http://127.0.0.1:{port}/asset-groups?expanded={unfolded}"
            whole = Path(folder) / "graph.png"
            shoot(whole, address, folder, (2200, 1100))
            left, top, *size = GRAPH
            cut = Path(folder) / "graph.html"
            style = f"position:fixed;inset:0;background:url({whole.as_uri()}) -{left}px -{top}px"
            cut.write_text(f"<body><div style='{style};clip-path:polygon({CORNERS})'></div>")
            picture("graph", cut.as_uri(), folder, (size[0], size[1]))
        catalog(environment, "takedown", "request", "--doc-id", found, "--reason", "erasure asked")
        catalog(environment, "takedown", "run")
        certificate = home / "store" / "certificates" / "00000001.html"
        picture("certificate", certificate.as_uri(), folder)


def catalog(environment: dict[str, str], *arguments: str) -> str:
    command = [str(BIN / "catalog"), *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


@contextlib.contextmanager
def running(environment: dict[str, str], *command: str, patience_s: float = 120) -> Iterator[None]:
    """Run a server until what is inside is done."""
    port = int(command[-1])
    server = subprocess.Popen([str(BIN / command[0]), *command[1:]], env=environment)
    try:
        end = time.monotonic() + patience_s
        while not is_open(port):
            if server.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{command[0]} did not start")
            time.sleep(0.2)
        yield
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def is_open(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def picture(name: str, address: str, folder: str, window: tuple[int, int] = (1200, 800)) -> None:
    shoot(PICTURES / f"{name}.png", address, folder, window)


def shoot(path: Path, address: str, folder: str, window: tuple[int, int]) -> None:
    """Write what a browser shows of an address in a window of a size."""
    subprocess.run(
        [
            os.environ.get("CHROMIUM", "chromium"),
            *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *("--no-first-run", f"--user-data-dir={folder}/chromium"),
            f"--window-size={window[0]},{window[1]}",
            *("--virtual-time-budget=20000", f"--screenshot={path}", address),
        ],
        check=True,
        stderr=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()
