"""`corpus models`: public models by name, and models of your own, pinned by digest."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from catalog.answers import JSON_ONLY, Named
from catalog.cli import answers
from corpus_assets.cli.options import HOME_OPTION
from corpus_assets.core.errors import ModelError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.models import InstalledModel

LANGUAGE_IDENTIFIER = "lid.176"
MAX_BYTES = 64 << 30
LOCAL_OPTION = click.option(
    "--allow-local", is_flag=True, help="Allow http:// and servers on the local network."
)


@dataclass(frozen=True)
class Installed:
    """A model that is installed now."""

    name: str
    path: str
    sha256: str
    is_new: bool

    def __str__(self) -> str:
        done = "added" if self.is_new else "is already installed"
        return f"{self.name} {done}: SHA-256 {self.sha256}, {self.path}"


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
@answers
def fetch(name: str, sha256: str | None, allow_local: bool, home: str | None) -> Installed:
    """Download a known public model.

    NAME defaults to the language identifier lid.176; `corpus models list` lists the others. If no
    digest is known for a model, look it up where the model is published and pass --sha256.
    """
    from corpus_assets.models import (
        default_folder,
        fetch_lid176,
        how_to_get,
        installed_models,
        public_models,
    )

    if name == LANGUAGE_IDENTIFIER:
        place = Home.resolve(home)
        before = {model.path for model in installed_models(place)}
        path = fetch_lid176(default_folder(place))
        (model,) = (one for one in installed_models(place) if one.path == path)
        return _installed(model, path not in before)
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
    return _add_url(name, known.url, digest, allow_local, Home.resolve(home))


@models.command()
@click.argument("name")
@click.option("--path", type=click.Path(path_type=Path), help="Local file or folder.")
@click.option("--url", help="URL of a file; requires --sha256.")
@click.option("--sha256", metavar="DIGEST", help="Expected digest [with --path: computed].")
@LOCAL_OPTION
@HOME_OPTION
@answers
def add(
    name: str,
    path: Path | None,
    url: str | None,
    sha256: str | None,
    allow_local: bool,
    home: str | None,
) -> Installed:
    """Install your own model under a name.

    Recipes use it as `model: NAME`. It is copied to the home, or to CORPUS_MODELS if that is set.
    Adding the same bytes again is a no-op; other bytes under the same name are refused.
    """
    from corpus_assets.models import add_model, copy_model, model_digest

    if url is not None and path is None:
        if sha256 is None:
            raise ModelError("a model by --url needs its --sha256: read it where it is published")
        return _add_url(name, url, sha256, allow_local, Home.resolve(home))
    if path is None or url is not None:
        raise ModelError("give either --path FILE_OR_FOLDER or --url URL --sha256 DIGEST")
    if not (path.is_file() or path.is_dir()):
        raise ModelError(f"{path}: no such file or folder; correct --path")
    digest = sha256 or model_digest(path)
    return _installed(
        *add_model(
            name, digest, lambda target: copy_model(path, target), str(path), Home.resolve(home)
        )
    )


@dataclass(frozen=True)
class KnownModel:
    """A model that is public, or installed; `sha256` is that of the installed one, else of the
    public one."""

    name: str
    about: str
    kind: Annotated[str | None, JSON_ONLY] = None
    url: Annotated[str | None, JSON_ONLY] = None
    licence: str | None = None
    sha256: Annotated[str | None, JSON_ONLY] = None
    source: Annotated[str | None, JSON_ONLY] = None
    path: Annotated[str | None, JSON_ONLY] = None

    @property
    def installed(self) -> str | None:
        return self.sha256 if self.path else None


@models.command("list")
@HOME_OPTION
@answers
def list_models(home: str | None) -> Named[KnownModel]:
    """List known public models and installed models."""
    from corpus_assets.models import installed_models, public_models

    known = {name: KnownModel(**vars(model)) for name, model in public_models().items()}
    for model in installed_models(Home.resolve(home)):
        one = known.get(model.name) or KnownModel(model.name, f"from {model.origin}")
        known[model.name] = replace(one, path=str(model.path), sha256=model.sha256)
    return Named(dict(sorted(known.items())), "model", ("installed", "licence", "about"))


def _add_url(name: str, url: str, sha256: str, allow_local: bool, home: Home) -> Installed:
    from corpus_assets.ingest import download, shown_url
    from corpus_assets.models import add_model

    def fill(target: Path) -> None:
        download(url, target, MAX_BYTES, allow_local)

    return _installed(*add_model(name, sha256, fill, shown_url(url), home))


def _installed(model: "InstalledModel", is_new: bool) -> Installed:
    return Installed(model.name, str(model.path), model.sha256, is_new)
