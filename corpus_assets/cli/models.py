"""`corpus models`: public models by name, and models of your own, pinned by digest."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from catalog.answers import JSON_ONLY, Named
from catalog.cli import answers
from catalog.figures import size
from corpus_assets.cli.options import HOME_OPTION
from corpus_assets.core.errors import CorpusError, ModelError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.install import ModelPins
    from corpus_assets.models import InstalledModel

LANGUAGE_IDENTIFIER = "lid.176"
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


@dataclass(frozen=True)
class FetchedModels:
    """Models that are installed now, and why others are not."""

    models: list[Installed]
    failed: dict[str, str]
    pinned: list[str]
    pins: str

    def __str__(self) -> str:
        lines = [str(model) for model in self.models]
        if self.pinned:
            lines.append(
                f"No publisher states the SHA-256 of {', '.join(self.pinned)}. What was fetched is "
                f"pinned in {self.pins}: keep it with the recipe; other machines must get the same."
            )
        return "\n".join(lines)

    @property
    def notes(self) -> list[str]:
        return [f"{name}: {why}" for name, why in self.failed.items()]

    @property
    def ok(self) -> bool:
        return not self.failed


@dataclass(frozen=True)
class PackedModels:
    """A bundle that was written."""

    file: str
    bytes: int
    models: list[str]

    def __str__(self) -> str:
        return f"{', '.join(self.models)} written to {self.file} ({size(self.bytes)})"


@models.command()
@click.argument("names", nargs=-1)
@click.option("--recipe", help="Fetch everything that this recipe names.")
@click.option("--bundle", type=click.Path(path_type=Path), help="Take them from this file.")
@click.option("--sha256", metavar="DIGEST", help="Expected digest of a single model.")
@LOCAL_OPTION
@HOME_OPTION
@answers
def fetch(
    names: tuple[str, ...],
    recipe: str | None,
    bundle: Path | None,
    sha256: str | None,
    allow_local: bool,
    home: str | None,
) -> FetchedModels:
    """Download public models and lists.

    They come from where their authors publish them, or from a bundle (`corpus models pack`).

    NAMES default to the language identifier lid.176; `corpus models list` lists the others. A
    transfer that broke is continued by the same command. Where no publisher states a digest, the
    first fetch pins it in `models.json` beside the recipe's lock, and other machines must get the
    same bytes.
    """
    place = Home.resolve(home)
    asked, pins = _asked(names, recipe, place)
    if sha256 is not None and (len(asked) != 1 or bundle is not None):
        raise ModelError("--sha256 is the digest of a single model that is downloaded; name one")
    if bundle is not None:
        return _unpack(bundle, asked or None, pins, place)
    return _fetch_all(asked or [LANGUAGE_IDENTIFIER], pins, sha256, allow_local, place)


@models.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("names", nargs=-1)
@click.option("--recipe", help="Pack everything that this recipe names.")
@HOME_OPTION
@answers
def pack(file: Path, names: tuple[str, ...], recipe: str | None, home: str | None) -> PackedModels:
    """Write a bundle for machines without a network.

    FILE gets the installed models and lists of a recipe, or those of NAMES. There `corpus models
    fetch --bundle FILE` installs them and compares their digests as if it had downloaded them.
    """
    from corpus_assets.install import pack_models

    place = Home.resolve(home)
    asked, _ = _asked(names, recipe, place)
    if not asked:
        raise ModelError("give names or --recipe")
    packed = pack_models(asked, file, place)
    return PackedModels(str(file), file.stat().st_size, [each.name for each in packed])


def _asked(names: tuple[str, ...], recipe: str | None, home: Home) -> tuple[list[str], "ModelPins"]:
    """Return the models that are named, or those of a recipe, and where digests are pinned."""
    from corpus_assets.install import ModelPins
    from corpus_assets.recipe import find_recipe, load_recipe
    from corpus_assets.versions import lock_folder

    if recipe is None:
        return list(names), ModelPins(home.root / "locks")
    if names:
        raise ModelError("give either names or --recipe")
    path = find_recipe(recipe)
    named = load_recipe(path).named_models()
    return list(dict.fromkeys(name for _, name in named)), ModelPins(lock_folder(path, home))


def _fetch_all(
    names: list[str], pins: "ModelPins", sha256: str | None, allow_local: bool, home: Home
) -> FetchedModels:
    """Fetch one after the other. One that fails stops no other, and is an error where it is alone."""
    from corpus_assets.install import fetch_model

    answer = FetchedModels([], {}, [], str(pins.path))
    for name in names:
        try:
            found = fetch_model(name, home, pins, sha256, allow_local, _tell)
        except CorpusError as error:
            if len(names) == 1:
                raise
            answer.failed[name] = str(error)
            continue
        answer.models.append(_installed(found.model, found.is_new))
        if found.is_pinned:
            answer.pinned.append(name)
    return answer


def _unpack(bundle: Path, names: list[str] | None, pins: "ModelPins", home: Home) -> FetchedModels:
    from corpus_assets.install import unpack_models

    found = unpack_models(bundle, home, pins, names)
    return FetchedModels(
        [_installed(each.model, each.is_new) for each in found],
        {},
        [each.model.name for each in found if each.is_pinned],
        str(pins.path),
    )


def _tell(line: str) -> None:
    click.echo(line, err=True)


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
        from corpus_assets.install import fetch_url

        return _installed(*fetch_url(name, url, sha256, Home.resolve(home), allow_local))
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
    files: Annotated[str | None, JSON_ONLY] = None
    licence: str | None = None
    bytes: Annotated[int | None, JSON_ONLY] = None
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


@dataclass(frozen=True)
class WrittenLanguages:
    """A table that was written, and configurations that are not in it."""

    file: str
    languages: list[str]
    left_out: dict[str, str]
    filtered: list[str] | None

    def __str__(self) -> str:
        lines = [f"{len(self.languages):,} languages written to {self.file}"]
        if self.filtered is None:
            lines.append(
                "without what the precision filter reads: run `corpus models fetch "
                "fineweb2-wordlists` first, if it is wanted"
            )
        else:
            lines.append(f"{len(self.filtered):,} of them with what the precision filter reads")
        why: dict[str, list[str]] = {}
        for label, reason in self.left_out.items():
            why.setdefault(reason, []).append(label)
        lines += [f"left out: {', '.join(labels)}: {reason}" for reason, labels in why.items()]
        return "\n".join(lines)


@models.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--only", multiple=True, metavar="LANGUAGE", help="Only this language; repeatable.")
@HOME_OPTION
@answers
def languages(file: Path, only: tuple[str, ...], home: str | None) -> WrittenLanguages:
    """Write FineWeb2's languages as a table for recipes.

    FILE gets the thresholds and stop words of the configurations that `corpus models fetch
    fineweb2-configs` installed, and where `corpus models fetch fineweb2-wordlists` was run too, what
    the precision filter reads. A recipe names it as `languages_from`; `recipes/fineweb2.yaml` does.
    Languages whose words cannot be split here as they are there are left out and named.
    """
    from corpus_assets.core.errors import ModelError
    from corpus_assets.models import model_at
    from corpus_assets.select import CONFIGS, WORD_LISTS, read_configurations

    where = Home.resolve(home)
    installed = model_at(CONFIGS, where)
    try:
        lists = model_at(WORD_LISTS, where).path
    except ModelError:
        lists = None
    found = read_configurations(installed.path, only, lists)
    found.write(file)
    filtered = None if lists is None else [c for c, row in found.rows.items() if row["own_words"]]
    return WrittenLanguages(str(file), list(found.rows), dict(found.left_out), filtered)


def _installed(model: "InstalledModel", is_new: bool) -> Installed:
    return Installed(model.name, str(model.path), model.sha256, is_new)
