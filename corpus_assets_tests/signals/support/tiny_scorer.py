"""An engine of text scores for tests, as a plug-in would bring it."""

from collections.abc import Sequence
from pathlib import Path


class TinyScorer:
    """Counts words of a file in the folder, a point each, and adds a fraction to be rounded."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self._words = frozenset((folder / "words.txt").read_text(encoding="utf-8").split())
        self._max_tokens = max_tokens

    def score(self, texts: Sequence[str]) -> list[float]:
        return [
            sum(word in self._words for word in text.split()[: self._max_tokens]) + 0.00049
            for text in texts
        ]
