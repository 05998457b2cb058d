"""`corpus ui`: Dagster's own pages and daemon, on a home."""

import os
import sys

import click

from corpus_assets.cli.options import HOME_OPTION
from corpus_assets.core.home import Home


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True)
@HOME_OPTION
def ui(host: str, port: int, home: str | None) -> None:
    """Start the Dagster UI and daemon for this home.

    There is no password: keep it on this machine, or put a proxy with authentication in front.
    """
    from corpus_assets.defs import workspace_file

    place = Home.resolve(home)
    workspace = workspace_file(place)
    os.environ |= {"CORPUS_HOME": str(place.root), "DAGSTER_HOME": str(place.dagster)}
    arguments = ["dev", "--workspace", str(workspace), "--host", host, "--port", str(port)]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "dagster", *arguments])  # noqa: S606
