"""Installed models and lists in one file, for machines without a network.

A bundle is a plain tar. `bundle.json` comes first and says what follows: for each model its SHA-256,
where it came from, and its files with their lengths, in the order in which they lie. Nothing else
may be in it. What a bundle says of itself is not believed: each model must have the digest of the
table of public models, or of `models.json`, as if it were fetched.
"""

import io
import json
import re
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from catalog.figures import counted, size
from corpus_assets.core.errors import ModelError
from corpus_assets.core.home import Home
from corpus_assets.install.contents import MAX_FILES, checked_name
from corpus_assets.install.fetch import (
    LANGUAGE_IDENTIFIER,
    Fetched,
    expected_digest,
    pinned,
    refuse_other,
)
from corpus_assets.install.pinned import ModelPins
from corpus_assets.models import (
    InstalledModel,
    add_model,
    default_folder,
    installed_models,
    model_at,
    model_digest,
    put_lid176,
)

INDEX = "bundle.json"
FORMAT = "corpus-assets/bundle/1"
MAX_INDEX_BYTES = 16 << 20
PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class PackedFile:
    """A file of a model, relative to it; the name of a model that is one file is empty."""

    name: str
    bytes: int


@dataclass(frozen=True)
class PackedModel:
    name: str
    sha256: str
    origin: str
    files: tuple[PackedFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


def pack_models(names: Sequence[str], target: Path, home: Home) -> list[PackedModel]:
    """Write a bundle of installed models, each as its digest has it; an equal choice gives equal
    bytes."""
    models = [model_at(name, home) for name in sorted(set(names))]
    packed = []
    for model in models:
        if model_digest(model.path) != model.sha256:
            raise ModelError(f"model {model.name} was changed since it was installed: remove it")
        files = [PackedFile(name, path.stat().st_size) for name, path in _files(model)]
        packed.append(PackedModel(model.name, model.sha256, model.origin, tuple(files)))
    index = {"format": FORMAT, "models": [asdict(each) for each in packed]}
    partial = target.with_name(f"{target.name}.partial")
    try:
        with tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as bundle:
            content = json.dumps(index, indent=1, sort_keys=True).encode()
            bundle.addfile(_member(INDEX, len(content)), io.BytesIO(content))
            for model in models:
                for name, path in _files(model):
                    with open(path, "rb") as stream:
                        member = _member(_path(model.name, name), path.stat().st_size)
                        bundle.addfile(member, stream)
        partial.replace(target)
    except OSError as error:
        raise ModelError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
    return packed


def unpack_models(
    bundle: Path, home: Home, pins: ModelPins, names: Sequence[str] | None = None
) -> list[Fetched]:
    """Install the models of a bundle, or those of `names`."""
    with _opened(bundle) as members:
        packed = _index(bundle, members)
        absent = sorted(set(names or ()) - {each.name for each in packed})
        if absent:
            raise ModelError(
                f"{bundle} does not have {', '.join(absent)}: make it again with `corpus models pack` "
                "where they are installed"
            )
        return [
            _installed(bundle, members, each, home, pins)
            for each in packed
            if _is_wanted(each, names) or _passed_over(bundle, members, each)
        ]


def _installed(
    bundle: Path, members: "_Members", packed: PackedModel, home: Home, pins: ModelPins
) -> Fetched:
    expected = expected_digest(packed.name, pins)
    if expected and packed.sha256 != expected:
        raise ModelError(
            f"{packed.name} in {bundle} has SHA-256 {packed.sha256}, not {expected}; it was not "
            "installed: make the bundle where the expected bytes are"
        )
    present = next((each for each in installed_models(home) if each.name == packed.name), None)
    if present is not None:
        refuse_other(present, packed.sha256)
        _passed_over(bundle, members, packed)
        return Fetched(present, False, pinned(pins, present))
    folder = default_folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if packed.bytes > free:
        raise ModelError(f"{packed.name} needs {size(packed.bytes)}, {folder} has {size(free)}")

    def fill(target: Path) -> None:
        for file in packed.files:
            path = target / file.name if file.name else target
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "xb") as copy:
                shutil.copyfileobj(members.next(packed, file), copy, PIECE_BYTES)

    if packed.name == LANGUAGE_IDENTIFIER:
        put_lid176(folder, members.next(packed, packed.files[0]).read())
        return Fetched(model_at(packed.name, home), True)
    model, _ = add_model(packed.name, packed.sha256, fill, packed.origin, home)
    return Fetched(model, True, pinned(pins, model))


def _is_wanted(packed: PackedModel, names: Sequence[str] | None) -> bool:
    return names is None or packed.name in names


def _passed_over(bundle: Path, members: "_Members", packed: PackedModel) -> bool:
    """Go over the files of a model; False, so that it is left out."""
    for file in packed.files:
        members.next(packed, file)
    return False


class _Members:
    """The members of a bundle, which must be those of its index, one after the other."""

    def __init__(self, bundle: Path, archive: tarfile.TarFile) -> None:
        self._bundle = bundle
        self._archive = archive

    def next(self, packed: PackedModel, file: PackedFile) -> Any:
        return self.read(_path(packed.name, file.name), file.bytes)

    def read(self, name: str, n_bytes: int | None = None) -> Any:
        member = self._archive.next()
        if member is None:
            raise ModelError(f"{self._bundle} ends before {name}: copy it again")
        is_other = member.name != name or n_bytes not in (None, member.size)
        if is_other or not member.isreg() or member.issparse():
            raise ModelError(
                f"{self._bundle} has {member.name[:100]!r} where its index has {name!r}; it is refused"
            )
        return self._archive.extractfile(member)


@contextmanager
def _opened(bundle: Path) -> Iterator[_Members]:
    try:
        with tarfile.open(bundle, "r|") as archive:
            yield _Members(bundle, archive)
    except FileNotFoundError as error:
        raise ModelError(f"{bundle}: no such file") from error
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ModelError(f"{bundle} is not a whole bundle ({error}): copy it again") from error


def _index(bundle: Path, members: _Members) -> list[PackedModel]:
    content = members.read(INDEX).read(MAX_INDEX_BYTES + 1)
    try:
        raw = json.loads(content)
        if raw["format"] != FORMAT or len(content) > MAX_INDEX_BYTES:
            raise ValueError(f"format {raw['format']!r}")
        packed = [_packed(each) for each in raw["models"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{bundle}: {INDEX} cannot be read ({error}): make it again") from error
    n_files = sum(len(each.files) for each in packed)
    if n_files > MAX_FILES or len({each.name for each in packed}) != len(packed):
        raise ModelError(
            f"{bundle}: {INDEX} lists {counted(n_files, 'file')}, or a model twice; it is refused"
        )
    return packed


def _packed(raw: dict[str, Any]) -> PackedModel:
    name, sha256 = str(raw["name"]), str(raw["sha256"])
    files = tuple(PackedFile(str(each["name"]), int(each["bytes"])) for each in raw["files"])
    checked_name(name, INDEX)
    for file in files:
        if file.name or len(files) > 1:
            checked_name(file.name, INDEX)
        if file.bytes < 0:
            raise ValueError(f"{file.bytes} bytes")
    if "/" in name or not files or re.fullmatch("[0-9a-f]{64}", sha256) is None:
        raise ValueError(name)
    return PackedModel(name, sha256, str(raw["origin"]), files)


def _files(model: InstalledModel) -> list[tuple[str, Path]]:
    if not model.path.is_dir():
        return [("", model.path)]
    inside = sorted(path for path in model.path.rglob("*") if path.is_file())
    return [(path.relative_to(model.path).as_posix(), path) for path in inside]


def _path(model: str, name: str) -> str:
    return f"{model}/model/{name}" if name else f"{model}/model"


def _member(name: str, n_bytes: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = n_bytes, 0o644, 0
    return member
