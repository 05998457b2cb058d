"""`catalog serve`: the catalog in a browser."""

import ipaddress
import socket
from pathlib import Path

import click

from catalog.cli.options import Place, placed
from catalog.cli.terminal import print_line
from catalog.errors import CatalogError

MIN_TOKEN = 16


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the access token; required unless only this machine can connect.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    help="Additional host name to accept in requests.",
)
@click.option(
    "--metrics", "with_metrics", is_flag=True, help="Serve Prometheus metrics at /metrics."
)
@click.option(
    "--review",
    "with_review",
    is_flag=True,
    help="Let readers record judgements of decisions; requires --token-file.",
)
@placed
def serve(
    place: Place,
    host: str,
    port: int,
    token_file: Path | None,
    names: tuple[str, ...],
    with_metrics: bool,
    with_review: bool,
) -> None:
    """Browse the catalog in a web browser.

    Shows documents, versions, tokens and takedowns. Pages are read-only, except that --review records
    judgements. Without a token they are served to this machine only. They contain text of the
    corpus: use TLS on a network.
    """
    import uvicorn

    from catalog.serve import LOOPBACK, make_app

    token = _token(token_file)
    if token is None and not _is_loopback(host):
        raise CatalogError(
            f"{host} is reachable from other machines: pass --token-file FILE with a token of "
            f"{MIN_TOKEN} characters or more, or listen on 127.0.0.1"
        )
    if token is None and with_review:
        raise CatalogError(
            "--review writes to the catalog and needs a token: pass --token-file FILE"
        )
    place.registry.versions()  # an absent or older catalog fails here, before the browser asks
    hosts = (*LOOPBACK, host, *names)
    app = make_app(place.registry, place.store, token, hosts, with_metrics, with_review)
    config = uvicorn.Config(app, log_level="warning", server_header=False, access_log=False)
    with _listening(host, port) as listening:
        shown = f"[{host}]" if ":" in host else host
        port = listening.getsockname()[1]
        print_line(f"The catalog is at http://{shown}:{port}/ (press Ctrl-C to stop)")
        try:
            uvicorn.Server(config).run([listening])
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; the pages are no longer served") from None


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise CatalogError(f"{host}:{port} is in use or not an address of this machine") from error


def _token(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise CatalogError(f"the token file {file} cannot be read: {error}") from error
    if len(token) < MIN_TOKEN:
        raise CatalogError(f"the token in {file} is short: use {MIN_TOKEN} characters or more")
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
