"""Lists of words in files."""

import gzip
from pathlib import Path

from corpus_assets.core.errors import ModelError

_GZIP = b"\x1f\x8b"


def read_word_list(path: Path) -> list[str]:
    """Entries of a file, stripped, without blank and comment lines."""
    stripped = (line.strip() for line in read_lines(path))
    return [line for line in stripped if line and not line.startswith("#")]


def read_lines(path: Path) -> list[str]:
    """Lines of a file as they are, which may be compressed by gzip."""
    try:
        content = path.read_bytes()
        if content.startswith(_GZIP):
            content = gzip.decompress(content)
        return content.decode("utf-8").splitlines()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is not a readable UTF-8 word list: {error}") from error
