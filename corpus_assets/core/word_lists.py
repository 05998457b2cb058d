"""Lists of words in files."""

from pathlib import Path

from corpus_assets.core.errors import ModelError


def read_word_list(path: Path) -> list[str]:
    """Entries of a file, stripped, without blank and comment lines."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is not a readable UTF-8 word list: {error}") from error
    stripped = (line.strip() for line in lines)
    return [line for line in stripped if line and not line.startswith("#")]
