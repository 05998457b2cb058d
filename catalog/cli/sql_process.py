"""The query of `catalog sql`, in a process of its own, which can be stopped whatever it does.

DuckDB heeds its memory limit and `interrupt()` between chunks of rows, and not inside a function:
`repeat('a', 2000000000)` takes what it takes, and so does a long list on its way into Python. The
system stops such a process: by a limit on its data, and by its end when its time is over or this
one is told to stop.

Question and answer travel as JSON by pipes: the address of a database may hold a password.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from catalog.cli.terminal import plain
from catalog.db import process_name
from catalog.errors import CatalogError, QueryRefused
from catalog.lineage import SPILL, QueryLimits

if TYPE_CHECKING:
    from sqlalchemy import URL

    from catalog.ask import QueryAnswer

COMMAND = (sys.executable, "-m", "catalog.cli.sql_process")
OUT_OF_MEMORY = 3
FATAL = (-signal.SIGABRT, -signal.SIGKILL, -signal.SIGSEGV)
"""How a process ends whose C++ libraries get no memory, or that the system kills for it."""


def ask(url: "URL", store_url: str, version: str | None, sql: str, limit: int) -> "QueryAnswer":
    """Return what `run_query` does, its values as JSON has them, within the limits of the
    environment."""
    from catalog.ask import QueryAnswer

    limits = QueryLimits.of_environment()
    question = {
        "url": url.render_as_string(hide_password=False),
        "store_url": store_url,
        "version": version,
        "sql": sql,
        "limit": limit,
        "limits": asdict(limits),
    }
    with tempfile.TemporaryDirectory(prefix=f"{SPILL}{process_name()}:") as spill:
        child = None
        try:
            child = subprocess.Popen(
                COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | {"TMPDIR": spill},
                start_new_session=True,  # Ctrl-C is for us alone
            )
            output, _ = child.communicate(json.dumps(question).encode(), limits.time_s)
        except subprocess.TimeoutExpired:
            raise limits.out_of_time() from None
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the query was stopped") from None
        finally:
            if child is not None:
                child.kill()
                child.wait()
    if child.returncode in (OUT_OF_MEMORY, *FATAL):
        raise limits.out_of_memory()
    if child.returncode != 0:
        raise QueryRefused(f"the query's process ended with exit code {child.returncode}")
    answer: dict[str, Any] = json.loads(output)
    if "error" in answer:
        raise QueryRefused(answer["error"])
    return QueryAnswer(**answer)


def main() -> None:
    """Answer the question on the input."""
    from catalog.ask import run_query
    from catalog.db import Registry
    from catalog.formats.store import FileStore

    try:
        question = json.load(sys.stdin)
    except ValueError:  # the asking process was stopped while it started this one
        return
    limits = QueryLimits(**question["limits"])
    signal.alarm(int(limits.time_s) + 5)  # should who asks have been killed
    registry, store = Registry(question["url"]), FileStore(question["store_url"])
    _limit_data(limits.memory_bytes)
    try:
        answer = run_query(
            registry, store, question["version"], question["sql"], question["limit"], limits
        )
        json.dump(plain(answer), sys.stdout)
    except CatalogError as error:
        json.dump({"error": str(error)}, sys.stdout)
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)


def _limit_data(more: int) -> None:
    """Let this process take so many bytes more than it has; only Linux can."""
    try:
        with open("/proc/self/status") as status:
            has = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
    except OSError:
        return
    resource.setrlimit(resource.RLIMIT_DATA, (has + more, has + more))


if __name__ == "__main__":
    main()
