"""The side of datatrove in benchmarks/signals.py; runs in a virtual environment of its own.

    python signals_peer.py TEXTS.jsonl OUT.json as_shipped|white_space [--words]

Runs its Gopher quality, Gopher repetition, C4 and FineWeb filters with their default settings
over every text and writes CPU seconds and decisions. `white_space` puts `str.split` in the place
of its word tokenizer. `--words` writes the places of its words too, and measures nothing.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from datatrove.data import Document
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
    fineweb_quality_filter,
    gopher_quality_filter,
    gopher_repetition_filter,
)
from datatrove.utils.text import split_into_words


def main() -> None:
    source, target, mode = sys.argv[1:4]
    lines = Path(source).read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line) for line in lines]
    out: dict[str, Any] = {}
    if mode == "white_space":
        for module in (gopher_quality_filter, gopher_repetition_filter, fineweb_quality_filter):
            module.split_into_words = lambda text, language: text.split()
    filters = {
        "gopher_quality": GopherQualityFilter(),
        "gopher_repetition": GopherRepetitionFilter(),
        "c4": C4QualityFilter(),
        "fineweb": FineWebQualityFilter(),
    }
    run(filters, texts[:3])
    if "--words" in sys.argv:
        out["words"] = [places(text) for text in texts]
    start = time.process_time()
    out["decisions"] = run(filters, texts)
    out["cpu_seconds"] = time.process_time() - start
    Path(target).write_text(json.dumps(out), encoding="utf-8")


def run(filters: dict[str, Any], texts: list[str]) -> dict[str, list[str | None]]:
    """The reason of each filter for each text, None where it keeps it.

    A document goes through all filters before the next one comes, so that the words it caches
    are split once.
    """
    out: dict[str, list[str | None]] = {name: [] for name in filters}
    for number, text in enumerate(texts):
        for name, one in filters.items():
            found = one.filter(Document(text, str(number)))
            out[name].append(None if found is True else found[1])
    return out


def places(text: str) -> list[tuple[int, int]]:
    """(start, end) of its words, in characters."""
    found = []
    at = 0
    for word in split_into_words(text):
        at = text.index(word, at)
        found.append((at, at + len(word)))
        at += len(word)
    return found


if __name__ == "__main__":
    main()
