"""Published archives (`.tar.gz`), unpacked as if they were hostile.

Only regular files are written, with names that stay inside; links, devices and everything else in
the archive is passed over. The bytes and files that come out are bounded, and the archive must be
whole: a gzip stream that ends early is refused.
"""

import gzip
import shutil
import tarfile
import zlib
from pathlib import Path

from catalog.figures import counted, size
from corpus_assets.core.errors import ModelError
from corpus_assets.install.contents import MAX_FILES, checked_name, chosen

PIECE_BYTES = 1 << 20


def unpack_archive(archive: Path, target: Path, patterns: str, max_bytes: int, name: str) -> None:
    """Write the files of an archive that the patterns fit to the new folder `target`. A folder that
    holds all of them is left out of their names."""
    target.mkdir()
    try:
        with gzip.open(archive, "rb") as plain:
            _unpack(plain, target, max_bytes, name)
            while plain.read(PIECE_BYTES):
                pass  # to its end, where the length and checksum are
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ModelError(
            f"{name}: the archive cannot be unpacked ({error}); nothing was installed: run the same "
            "command again"
        ) from error
    _hoist(target)
    names = [path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()]
    kept = set(chosen(names, patterns))
    for each in names:
        if each not in kept:
            (target / each).unlink()
    if not kept:
        raise ModelError(f"{name}: the archive has none of the files {patterns or 'of the list'}")


def _unpack(plain: gzip.GzipFile, target: Path, max_bytes: int, name: str) -> None:
    left, files = max_bytes, 0
    with tarfile.open(fileobj=plain, mode="r|") as members:
        for member in members:
            if not member.isreg():
                continue
            path = target / checked_name(member.name.removeprefix("./"), name)
            files, left = files + 1, left - member.size
            if files > MAX_FILES or left < 0:
                raise ModelError(
                    f"{name}: the archive holds more than {counted(MAX_FILES, 'file')} or "
                    f"{size(max_bytes)}; it is refused"
                )
            source = members.extractfile(member)
            if source is None or path.exists():
                raise ModelError(f"{name}: the archive holds {member.name[:100]!r} twice")
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "xb") as copy:
                shutil.copyfileobj(source, copy, PIECE_BYTES)
            if path.stat().st_size != member.size:
                raise EOFError("a file in it ends early")


def _hoist(target: Path) -> None:
    """Take the files out of a folder that is alone."""
    inside = list(target.iterdir())
    if len(inside) == 1 and inside[0].is_dir():
        moved = inside[0].rename(target.with_name(target.name + ".inside"))
        target.rmdir()
        moved.rename(target)
