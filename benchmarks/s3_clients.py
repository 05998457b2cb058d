"""The store on S3 beside the clients that it could be made of: obstore and boto3.

    python benchmarks/s3_clients.py

A SeaweedFS server of the tests holds the objects. Each client does what the store does: small
objects written, created only where there is none, asked for and read, ranges of a large one, a large
one read and written whole, a listing of many. Wall and CPU time of the client, the smallest of the
rounds, in which the clients take turns; the server works on the same cores. The store never uploads
in parts: those of an upload that was killed would stay, unlisted. Then each client meets the same
trouble, and what it raises is printed.
"""

import argparse
import io
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from unittest.mock import patch

import boto3
import botocore.config
import obstore
from machine import machine

from corpus_assets.core.store_s3 import S3Store
from corpus_assets_tests.s3_server import BUCKET, WRITER, CannotStart, S3Server, environment

MIB = 1 << 20
SMALL = 4 << 10
RANGE = 64 << 10
BLOCK = os.urandom(MIB)


class Client(Protocol):
    """What the store asks of a server."""

    def write(self, key: str, data: bytes) -> object: ...
    def create(self, key: str, data: bytes) -> object: ...
    def exists(self, key: str) -> object: ...
    def read(self, key: str) -> bytes: ...
    def read_range(self, key: str, offset: int, length: int) -> bytes: ...
    def list(self, prefix: str) -> list[str]: ...


@runtime_checkable
class InParts(Protocol):
    """What the store does not do."""

    def write_in_parts(self, key: str, data: bytes) -> object: ...


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--objects", type=int, default=3000)
    parser.add_argument("--calls", type=int, default=300, help="of each kind, on small objects")
    parser.add_argument("--large-mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        server = S3Server(Path(folder))
        try:
            server.start()
            with patch.dict(os.environ, environment(server.endpoint)):
                compare(server, options)
        except CannotStart as reason:
            raise SystemExit(str(reason)) from reason
        finally:
            server.stop()


def compare(server: S3Server, options: argparse.Namespace) -> None:
    clients: dict[str, Client] = {
        "store": S3Store(f"s3://{BUCKET}/many", retries=0),
        f"obstore {obstore.__version__}": Obstore(server.endpoint, WRITER),
        f"boto3 {boto3.__version__}": Boto3(server.endpoint, WRITER),
    }
    first = next(iter(clients.values()))
    for number in range(options.objects):
        first.write(f"listed/{number:06}", b"")
    large = BLOCK * options.large_mib
    first.write("large", large)
    print(f"| wall ms (CPU ms) a call | {' | '.join(clients)} |")
    print("|---" * (len(clients) + 1) + "|", flush=True)
    small: dict[str, Callable[[Client, str], object]] = {
        "write 4 KiB": lambda c, key: c.write(key, BLOCK[:SMALL]),
        "create 4 KiB": lambda c, key: c.create(f"new/{key}", BLOCK[:SMALL]),
        "is it there": lambda c, key: expect(bool(c.exists(key))),
        "read 4 KiB": lambda c, key: expect(c.read(key) == BLOCK[:SMALL]),
        "range of 64 KiB": lambda c, key: expect(
            c.read_range("large", SMALL, RANGE) == BLOCK[SMALL:][:RANGE]
        ),
    }
    whole: dict[str, Callable[[Client, str], object]] = {
        f"read {options.large_mib} MiB": lambda c, key: expect(len(c.read("large")) == len(large)),
        f"write {options.large_mib} MiB": lambda c, key: c.write("large", large),
        f"write {options.large_mib} MiB in parts": lambda c, key: (
            isinstance(c, InParts) and c.write_in_parts("large", large)
        ),
        f"list {options.objects:,}": lambda c, key: expect(
            len(c.list("listed")) == options.objects
        ),
    }
    for what, do in (small | whole).items():
        count = options.calls if what in small else 1
        best: dict[str, tuple[float, float]] = {}
        for turn in range(options.rounds):
            for name, client in clients.items():
                if "parts" in what and not isinstance(client, InParts):
                    continue
                keys = [f"{name.split()[0]}/{turn}/{number}" for number in range(count)]
                wall, cpu = timed(do, client, keys)
                before = best.get(name, (wall, cpu))
                best[name] = min(wall, before[0]), min(cpu, before[1])
        cells = [
            "{:.2f} ({:.2f})".format(*best[name]) if name in best else "never" for name in clients
        ]
        print(f"| {what} | {' | '.join(cells)} |", flush=True)
    print()
    show_errors(server, clients)


def timed(
    do: Callable[[Client, str], object], client: Client, keys: list[str]
) -> tuple[float, float]:
    """Milliseconds a call: wall and CPU time."""
    wall, cpu = time.perf_counter(), time.process_time()
    for key in keys:
        do(client, key)
    return (
        1000 * (time.perf_counter() - wall) / len(keys),
        1000 * (time.process_time() - cpu) / len(keys),
    )


def show_errors(server: S3Server, clients: dict[str, Client]) -> None:
    """Print what each client raises where something is wrong."""
    print(f"| error | {' | '.join(clients)} |")
    print("|---" * (len(clients) + 1) + "|")
    wrong = WRITER | {"secret": "not-the-secret"}

    def row(what: str, of: list[Client], do: Callable[[Client], object]) -> None:
        print(f"| {what} | {' | '.join(raised(do, client) for client in of)} |")

    usual = list(clients.values())
    row("no such object", usual, lambda c: c.read("absent"))
    row("range behind the end", usual, lambda c: c.read_range("large", 1 << 40, 5))
    row("created twice", usual, lambda c: c.create("listed/000000", b"x"))
    with patch.dict(os.environ, environment(server.endpoint, wrong)):
        store = S3Store(f"s3://{BUCKET}/many", retries=0)
    row("wrong secret", [store, Obstore(server.endpoint, wrong), Boto3(server.endpoint, wrong)],
        lambda c: c.read("large"))  # fmt: skip
    server.stop()
    row("no server", usual, lambda c: c.read("large"))


def raised(do: Callable[[Client], object], client: Client) -> str:
    try:
        return f"returns {do(client)!r}"
    except Exception as error:
        return type(error).__name__


def expect(holds: bool) -> None:
    if not holds:
        raise SystemExit("a client gave a wrong answer: the numbers would mean nothing")


class Obstore:
    """obstore by itself, without a word of ours about errors."""

    def __init__(self, endpoint: str, user: dict[str, str]) -> None:
        self.client: Any = obstore.store.S3Store(
            BUCKET,
            prefix="many",
            config={
                "endpoint": endpoint,
                "access_key_id": user["key"],
                "secret_access_key": user["secret"],
                "region": "us-east-1",
            },
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    def write(self, key: str, data: bytes) -> object:
        return self.client.put(key, data, use_multipart=False)

    def write_in_parts(self, key: str, data: bytes) -> object:
        return self.client.put(key, data, use_multipart=True)

    def create(self, key: str, data: bytes) -> object:
        return self.client.put(key, data, mode="create", use_multipart=False)

    def exists(self, key: str) -> object:
        return self.client.head(key)

    def read(self, key: str) -> bytes:
        return bytes(self.client.get(key).bytes())

    def read_range(self, key: str, offset: int, length: int) -> bytes:
        return bytes(self.client.get_range(key, start=offset, length=length))

    def list(self, prefix: str) -> list[str]:
        return [each["path"] for page in self.client.list(prefix) for each in page]


class Boto3:
    """boto3, which is installed for profiles."""

    def __init__(self, endpoint: str, user: dict[str, str]) -> None:
        self.client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            aws_access_key_id=user["key"],
            aws_secret_access_key=user["secret"],
            region_name="us-east-1",
            config=botocore.config.Config(retries={"total_max_attempts": 1}),
        )

    def write(self, key: str, data: bytes) -> object:
        return self.client.put_object(Bucket=BUCKET, Key=f"many/{key}", Body=data)

    def write_in_parts(self, key: str, data: bytes) -> object:
        return self.client.upload_fileobj(io.BytesIO(data), BUCKET, f"many/{key}")

    def create(self, key: str, data: bytes) -> object:
        return self.client.put_object(
            Bucket=BUCKET, Key=f"many/{key}", Body=data, IfNoneMatch="*"
        )  # fmt: skip

    def exists(self, key: str) -> object:
        return self.client.head_object(Bucket=BUCKET, Key=f"many/{key}")

    def read(self, key: str) -> bytes:
        data: bytes = self.client.get_object(Bucket=BUCKET, Key=f"many/{key}")["Body"].read()
        return data

    def read_range(self, key: str, offset: int, length: int) -> bytes:
        asked = f"bytes={offset}-{offset + length - 1}"
        found = self.client.get_object(Bucket=BUCKET, Key=f"many/{key}", Range=asked)
        data: bytes = found["Body"].read()
        return data

    def list(self, prefix: str) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2")
        answers = pages.paginate(Bucket=BUCKET, Prefix=f"many/{prefix}/")
        return [each["Key"] for page in answers for each in page.get("Contents", ())]


if __name__ == "__main__":
    main()
