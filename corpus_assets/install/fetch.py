"""A public model or list, from its place to the folder of models.

1. The place is the one of the table, or its mirror. A place on the hub is read at one commit.
2. Each file is fetched by ranges that go on where they broke, in this run or an earlier one.
3. An archive is unpacked, a folder is put together; the digest is taken of what is installed.
4. It must be the digest of the table, else the one of `models.json`. Where neither has one, it is
   written into `models.json`, and every later machine must agree.
"""

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote

from catalog.figures import counted
from corpus_assets.core.errors import ModelError
from corpus_assets.core.home import Home
from corpus_assets.ingest import Fetcher, fetcher_for, is_remote, shown_url
from corpus_assets.install.archive import unpack_archive
from corpus_assets.install.contents import MAX_FILES, Wanted, checked_name, chosen
from corpus_assets.install.hub import HUB, HubPlace, files_of, hub, tokens
from corpus_assets.install.mirrors import mirrored
from corpus_assets.install.pinned import ModelPin, ModelPins
from corpus_assets.install.transfer import alone, fetch_file, forget
from corpus_assets.models import (
    InstalledModel,
    PublicModel,
    add_model,
    copy_model,
    default_folder,
    fetch_lid176,
    how_to_get,
    installed_models,
    model_digest,
    public_models,
)

MAX_BYTES = 64 << 30
LANGUAGE_IDENTIFIER = "lid.176"
ASSEMBLED = "assembled"

Log = Callable[[str], None]


@dataclass(frozen=True)
class Fetched:
    """A model that is installed now. `is_pinned`: its digest was written down for the first time."""

    model: InstalledModel
    is_new: bool
    is_pinned: bool = False


@dataclass(frozen=True)
class Way:
    """How one model comes here."""

    home: Home
    folder: Path  # for what arrives
    allow_local: bool

    def fetcher(self, place: str, asked: str) -> Fetcher:
        """Return what fetches from a place; `asked` is the place before mirrors, which may lie on
        the local network."""
        is_public = place == asked and not self.allow_local
        return fetcher_for(
            self.home.root, place, is_public, allow_http=self.allow_local, tokens=tokens()
        )


def fetch_model(
    name: str,
    home: Home,
    pins: ModelPins,
    sha256: str | None = None,
    allow_local: bool = False,
    log: Log = lambda line: None,
) -> Fetched:
    """Install a public model of the table. One that is installed is compared with the digest that it
    must have."""
    if name == LANGUAGE_IDENTIFIER:
        return _language_identifier(home)
    known = public_models().get(name)
    if known is None and (own := _installed(name, home)) is not None:
        return Fetched(own, False)
    if known is None:
        raise ModelError(f"no public model is known as {name}: {how_to_get(name, home)}")
    expected = expected_digest(name, pins)
    if sha256 and expected and sha256 != expected:
        raise ModelError(
            f"{name} has SHA-256 {expected}, not {sha256}: leave --sha256 out, or give another "
            "model another name with `corpus models add`"
        )
    expected = expected or (sha256 or "")
    with alone(default_folder(home), name) as folder:
        model = _installed(name, home)
        if model is not None:
            refuse_other(model, expected)
            return Fetched(model, False, pinned(pins, model))
        log(f"fetching {name} from {shown_url(mirrored(known.url))}")
        pin = pins.all().get(name)
        model, revision = _arrived(Way(home, folder, allow_local), known, pin, expected, log)
    return Fetched(model, True, pinned(pins, model, revision))


def expected_digest(name: str, pins: ModelPins) -> str:
    """Return the SHA-256 that a model must have: that of the table, else the pinned one, else none."""
    known, pin = public_models().get(name), pins.all().get(name)
    return (known.sha256 if known else "") or (pin.sha256 if pin else "")


def refuse_other(model: InstalledModel, expected: str) -> None:
    """Refuse an installed model that has another digest than the expected one."""
    if expected and model.sha256 != expected:
        raise ModelError(
            f"model {model.name} is installed with SHA-256 {model.sha256}, not {expected}: remove "
            f"{model.path.parent} and run the same command again"
        )


def pinned(pins: ModelPins, model: InstalledModel, revision: str = "") -> bool:
    """Pin the digest of a public model that no publisher states; return whether this was the first
    time."""
    known = public_models().get(model.name)
    if known is None or known.sha256 or model.name in pins.all():
        return False
    inside = model.path.rglob("*") if model.path.is_dir() else [model.path]
    n_bytes = sum(path.stat().st_size for path in inside if path.is_file())
    pins.add(model.name, ModelPin(model.sha256, n_bytes, known.url, revision))
    return True


def fetch_url(
    name: str, url: str, sha256: str, home: Home, allow_local: bool = False
) -> tuple[InstalledModel, bool]:
    """Install a file from a public https:// address under a name of one's own."""
    if not url.startswith(("https://", "http://") if allow_local else "https://"):
        raise ModelError(f"{shown_url(url)} is not an https:// address; use one")
    wanted = Wanted("model", url, sha256=sha256)
    with alone(default_folder(home), name) as folder:

        def fill(target: Path) -> None:
            with Way(home, folder, allow_local).fetcher(url, url) as fetcher:
                fetch_file(fetcher, wanted, folder, MAX_BYTES).rename(target)
            forget(folder, wanted)

        return add_model(name, sha256, fill, shown_url(url), home)


def _language_identifier(home: Home) -> Fetched:
    before = _installed(LANGUAGE_IDENTIFIER, home)
    fetch_lid176(default_folder(home))
    now = _installed(LANGUAGE_IDENTIFIER, home)
    if now is None:
        raise ModelError(f"{LANGUAGE_IDENTIFIER} is not installed; run the same command again")
    return Fetched(now, before is None or before.path != now.path)


def _arrived(
    way: Way, known: PublicModel, pin: ModelPin | None, expected: str, log: Log
) -> tuple[InstalledModel, str]:
    """Fetch, put together, compare, install; return the model and the commit it came from."""
    place = mirrored(known.url)
    assembled = way.folder / ASSEMBLED
    _remove(assembled)
    try:
        revision, wanted = _fetched(way, known, place, pin, expected, assembled, log)
        found = model_digest(assembled)
        for each in wanted:
            forget(way.folder, each)
        if expected and found != expected:
            raise ModelError(
                f"{known.name} from {shown_url(place)} has SHA-256 {found}, not {expected}; nothing "
                "was installed: use a bundle or mirror with the expected bytes"
            )

        def fill(target: Path) -> None:
            assembled.rename(target)

        return add_model(known.name, found, fill, shown_url(place), way.home)[0], revision
    finally:
        _remove(assembled)


def _fetched(
    way: Way,
    known: PublicModel,
    place: str,
    pin: ModelPin | None,
    expected: str,
    target: Path,
    log: Log,
) -> tuple[str, list[Wanted]]:
    """Fetch every file to its place below `target`; return the commit and the files."""
    with _opened(way, known, place) as fetcher:
        revision, wanted = _contents(known, place, pin, fetcher)
        if known.kind == "file" and expected:
            wanted = [replace(each, sha256=expected) for each in wanted]
        arrived: list[tuple[Wanted, Path]] = []
        for number, each in enumerate(wanted):
            if len(wanted) > 1:
                log(f"  {each.name} ({number + 1} of {len(wanted)})")
            is_here = each.url.startswith("file://")
            path = _local(each) if is_here else fetch_file(fetcher, each, way.folder, MAX_BYTES)
            arrived.append((each, path))
    for each, path in arrived:
        if known.kind == "archive":
            try:
                unpack_archive(path, target, known.files, MAX_BYTES, known.name)
            except ModelError:
                forget(way.folder, each)
                raise
            continue
        to = target / each.name if known.kind == "folder" else target
        to.parent.mkdir(parents=True, exist_ok=True)
        if each.url.startswith("file://"):
            copy_model(path, to)
        else:
            path.rename(to)
    return revision, wanted


def _opened(way: Way, known: PublicModel, place: str) -> Fetcher:
    if place.startswith("hf://"):
        return way.fetcher(hub(), HUB)
    return way.fetcher(place if is_remote(place) else HUB, known.url)


def _contents(
    known: PublicModel, place: str, pin: ModelPin | None, fetcher: Fetcher
) -> tuple[str, list[Wanted]]:
    """Return the commit, and the files that belong to a model."""
    is_one = known.kind != "folder"
    if place.startswith("hf://"):
        at = HubPlace.parse(place)
        if pin is not None and pin.revision and not at.is_commit:
            at = replace(at, revision=pin.revision)
        revision, files = files_of(at, fetcher)
        return revision, files if is_one else _of_folder(files, known)
    if is_one:
        return "", [Wanted(known.name, place, known.bytes)]
    if place.startswith("file://"):
        folder = _local(Wanted(known.name, place))
        names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    elif place.startswith("s3://"):
        names = [checked_name(name, known.name) for name, _ in fetcher.listed(place)]
    else:
        raise ModelError(
            f"{known.name} is a folder, and {shown_url(place)} cannot be listed: use a place of the "
            "form hf://, s3:// or file:///"
        )
    spelled = {name: quote(name) if place.startswith("file://") else name for name in names}
    files = [Wanted(name, f"{place.rstrip('/')}/{spelled[name]}") for name in names]
    return "", _of_folder(files, known)


def _of_folder(files: list[Wanted], known: PublicModel) -> list[Wanted]:
    names = set(chosen([each.name for each in files], known.files))
    if not names or len(names) > MAX_FILES:
        raise ModelError(
            f"{known.name}: its place has {counted(len(names), 'file')} of it; check the place"
        )
    return [each for each in files if each.name in names]


def _local(wanted: Wanted) -> Path:
    path = Path(unquote(wanted.url.removeprefix("file://")))
    if not path.exists():
        raise ModelError(f"{wanted.url}: nothing is there; correct the mirror")
    return path


def _installed(name: str, home: Home) -> InstalledModel | None:
    return next((each for each in installed_models(home) if each.name == name), None)


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink()
