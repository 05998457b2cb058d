"""`corpus models`: public models by name, and models of your own, pinned by digest."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corpus_assets.cli.options import HOME_OPTION, JSON_OPTION
from corpus_assets.core.errors import ModelError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.models.files import InstalledModel

LANGUAGE_IDENTIFIER = "lid.176"
MAX_BYTES = 64 << 30
LOCAL_OPTION = click.option(
    "--allow-local", is_flag=True, help="Accept http:// and servers of the local network."
)


@click.group()
def models() -> None:
    """Models from outside, pinned by digest: a recipe names them, none is shipped."""


@models.command()
@click.argument("name", default=LANGUAGE_IDENTIFIER)
@click.option("--sha256", metavar="DIGEST", help="What it must be, where no digest is known.")
@LOCAL_OPTION
@HOME_OPTION
def fetch(name: str, sha256: str | None, allow_local: bool, home: str | None) -> None:
    """Fetch a public model by its name [the language identifier lid.176] into the home.

    `corpus models list` shows which there are. Where the table has no digest, because none could
    be read at a source, read it where the model is published and give it with --sha256.
    """
    from corpus_assets.models.files import default_folder, fetch_lid176, how_to_get, public_models

    if name == LANGUAGE_IDENTIFIER:
        click.echo(f"language identifier: {fetch_lid176(default_folder(Home.resolve(home)))}")
        return
    known = public_models().get(name)
    if known is None or known.kind == "folder":
        what = f"no public model is known as {name}" if known is None else f"{name} is a folder"
        raise ModelError(f"{what}: {how_to_get(name)}")
    if known.sha256 and sha256 not in (None, known.sha256):
        raise ModelError(
            f"{name} has SHA-256 {known.sha256}, not {sha256}: leave --sha256 out, or give another "
            "model another name with `corpus models add`"
        )
    digest = sha256 or known.sha256
    if not digest:
        raise ModelError(
            f"no digest of {name} could be verified at a source: read it where the model is "
            f"published ({known.url}), then run `corpus models fetch {name} --sha256 DIGEST`"
        )
    _add_url(name, known.url, digest, allow_local, Home.resolve(home))


@models.command()
@click.argument("name")
@click.option("--path", type=click.Path(path_type=Path), help="A file or folder on this machine.")
@click.option("--url", help="A file on a server; --sha256 must be given.")
@click.option("--sha256", metavar="DIGEST", help="What it must be [of --path: what it is].")
@LOCAL_OPTION
@HOME_OPTION
def add(
    name: str,
    path: Path | None,
    url: str | None,
    sha256: str | None,
    allow_local: bool,
    home: str | None,
) -> None:
    """Put a model of yours under a name that recipes can use (`model: NAME`).

    It is copied to the home, or to CORPUS_MODELS where that is set. The same bytes under the same name change nothing; other
    bytes are refused.
    """
    from corpus_assets.models.files import add_model, copy_model, model_digest

    if (path is None) == (url is None):
        raise ModelError("say either --path FILE_OR_FOLDER or --url URL --sha256 DIGEST")
    if url is not None:
        if sha256 is None:
            raise ModelError("a model by --url needs its --sha256: read it where it is published")
        _add_url(name, url, sha256, allow_local, Home.resolve(home))
    elif path is not None:
        if not (path.is_file() or path.is_dir()):
            raise ModelError(f"{path}: no such file or folder; correct --path")
        digest = sha256 or model_digest(path)
        _tell(
            *add_model(
                name,
                digest,
                lambda target: copy_model(path, target),
                str(path),
                Home.resolve(home),
            )
        )


@models.command("list")
@HOME_OPTION
@JSON_OPTION
def list_models(home: str | None, as_json: bool) -> None:
    """Show the public models that are known by name, and those that are here."""
    from corpus_assets.models.files import installed_models, public_models

    here = {model.name: model for model in installed_models(Home.resolve(home))}
    rows = {name: vars(model) for name, model in public_models().items()}
    for name in here.keys() - rows.keys():
        rows[name] = {"name": name, "about": f"from {here[name].origin}"}
    if as_json:
        for name, model in here.items():
            rows[name] = {**rows[name], "path": str(model.path), "sha256": model.sha256}
        click.echo(json.dumps(rows, indent=1, sort_keys=True))
        return
    width = max(map(len, rows))
    for name in sorted(rows):
        state = here[name].sha256[:12] if name in here else "-"
        licence = rows[name].get("licence")
        about = f"{rows[name]['about']}{f' [{licence}]' if licence else ''}"
        click.echo(f"{name:<{width}}  {state:<12}  {about}")


def _add_url(name: str, url: str, sha256: str, allow_local: bool, home: Home) -> None:
    from corpus_assets.ingest.fetch import download, shown
    from corpus_assets.models.files import add_model

    def fill(target: Path) -> None:
        download(url, target, MAX_BYTES, allow_local)

    _tell(*add_model(name, sha256, fill, shown(url), home))


def _tell(model: "InstalledModel", is_new: bool) -> None:
    done = "added" if is_new else "was here already"
    click.echo(f"{model.name} {done}: SHA-256 {model.sha256}, {model.path}")
