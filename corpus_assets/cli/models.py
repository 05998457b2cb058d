"""`corpus models`: public models by name, and models of your own, pinned by digest."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corpus_assets.cli.options import HOME_OPTION, JSON_OPTION
from corpus_assets.core.errors import ModelError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.models import InstalledModel

LANGUAGE_IDENTIFIER = "lid.176"
MAX_BYTES = 64 << 30
LOCAL_OPTION = click.option(
    "--allow-local", is_flag=True, help="Allow http:// and servers on the local network."
)


@click.group()
def models() -> None:
    """Install external models, pinned by digest.

    Recipes refer to them by name; none is shipped.
    """


@models.command()
@click.argument("name", default=LANGUAGE_IDENTIFIER)
@click.option("--sha256", metavar="DIGEST", help="Expected digest, if none is known.")
@LOCAL_OPTION
@HOME_OPTION
def fetch(name: str, sha256: str | None, allow_local: bool, home: str | None) -> None:
    """Download a known public model.

    NAME defaults to the language identifier lid.176; `corpus models list` lists the others. If no
    digest is known for a model, look it up where the model is published and pass --sha256.
    """
    from corpus_assets.models import default_folder, fetch_lid176, how_to_get, public_models

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
@click.option("--path", type=click.Path(path_type=Path), help="Local file or folder.")
@click.option("--url", help="URL of a file; requires --sha256.")
@click.option("--sha256", metavar="DIGEST", help="Expected digest [with --path: computed].")
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
    """Install your own model under a name.

    Recipes use it as `model: NAME`. It is copied to the home, or to CORPUS_MODELS if that is set.
    Adding the same bytes again is a no-op; other bytes under the same name are refused.
    """
    from corpus_assets.models import add_model, copy_model, model_digest

    if (path is None) == (url is None):
        raise ModelError("give either --path FILE_OR_FOLDER or --url URL --sha256 DIGEST")
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
    """List known public models and installed models."""
    from corpus_assets.models import installed_models, public_models

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
    from corpus_assets.ingest import download, shown_url
    from corpus_assets.models import add_model

    def fill(target: Path) -> None:
        download(url, target, MAX_BYTES, allow_local)

    _tell(*add_model(name, sha256, fill, shown_url(url), home))


def _tell(model: "InstalledModel", is_new: bool) -> None:
    done = "added" if is_new else "is already installed"
    click.echo(f"{model.name} {done}: SHA-256 {model.sha256}, {model.path}")
