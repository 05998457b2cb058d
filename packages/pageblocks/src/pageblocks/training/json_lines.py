"""Files of JSON lines, gzipped or not."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pageblocks.errors import TruthError


def json_rows(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of JSON lines, gzipped or not."""
    opened = gzip.open if file.suffix == ".gz" else open
    number = 0
    try:
        with opened(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):  # noqa: B007 - the error tells it
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError("it is not an object")
                yield row
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise TruthError(
            f"{file} cannot be read at or after line {max(number, 1)} ({error}): it should be JSON "
            "lines in UTF-8, an object each, gzipped where its name ends in .gz"
        ) from error
