"""A look at a page's words before it is extracted: wrong language, or hardly any text.

Extraction is most of what ingest costs, and a recipe for some languages throws most pages away
after it. This gate strips the markup roughly (`markup.rough_text`) and identifies the language
of what is left, menus and all; together that takes a tenth of an extraction.

It can be wrong: a page that draws its text from a script has none here. So a share of the refused
pages, chosen by their ids, is extracted all the same, and the record's detail says what would
have become of it: `de/sampled`, or `de/false_drop` where the text is what the recipe wants. The
page stays refused: what happens to a document depends on that document only.
"""

from pathlib import Path

import numpy as np

from corpus_assets.core.errors import ModelError
from corpus_assets.core.sample import Sample
from corpus_assets.ingest.gates.settings import LanguageGateSettings
from corpus_assets.ingest.records import Refusal
from corpus_assets.models import likely_languages, load_model
from pageblocks import rough_text

MAX_ROUGH_BYTES = 1 << 16
SAMPLED, FALSE_DROP = "sampled", "false_drop"
NO_LANGUAGE = "none"
_SAMPLE = Sample(b"language gate sample")


class LanguageGate:
    """The gate of one part. `model` is the language identifier's file."""

    def __init__(self, settings: LanguageGateSettings, model: Path | None) -> None:
        self._settings = settings
        self._wanted = frozenset(settings.languages)
        if self._wanted and model is None:
            raise ModelError("the language gate needs the language model: give its path")
        self._model = load_model(model) if self._wanted and model is not None else None

    def refuse(self, markup: bytes) -> Refusal | None:
        """Judge a page by its markup in UTF-8."""
        text, chars = rough_text(markup, MAX_ROUGH_BYTES)
        if chars < self._settings.min_chars:
            return Refusal("gate_too_short", str(chars))
        likely = self._likely(text)
        least = self._settings.min_score
        if self._model is None or any(
            label in self._wanted and score >= least for label, score in likely
        ):
            return None
        return Refusal("gate_language", likely[0][0] if likely else NO_LANGUAGE)

    def is_sampled(self, doc_id: bytes) -> bool:
        """Whether a refused page is extracted all the same."""
        return _SAMPLE.holds(doc_id, self._settings.sample_share)

    def is_wanted(self, text: str) -> bool:
        """Whether extracted text is long enough and, most likely, in a language asked for."""
        if len("".join(text.split())) < self._settings.min_chars or not text.strip():
            return False
        if self._model is None:
            return True
        likely = self._likely(text.encode("utf-8", "replace"))
        return bool(likely) and likely[0][0] in self._wanted

    def _likely(self, text: bytes) -> list[tuple[str, float]]:
        if self._model is None or not text:
            return []
        data = np.frombuffer(text, dtype=np.uint8)
        offsets = np.array([0, len(data)], dtype=np.int64)
        names, labels, scores = likely_languages(self._model, data, offsets)
        return [
            (names[label], float(score))
            for label, score in zip(labels[0].tolist(), scores[0].tolist(), strict=True)
            if label >= 0
        ]


def with_sample(refusal: Refusal, is_false_drop: bool) -> Refusal:
    """Return the refusal with what the sample found."""
    found = FALSE_DROP if is_false_drop else SAMPLED
    return Refusal(refusal.reason, f"{refusal.detail}/{found}")


def sample_counts(details: list[str | None]) -> dict[str, int]:
    """How many refused pages were extracted, and how many of them should not have been refused."""
    found = [detail.rpartition("/")[2] for detail in details if detail is not None]
    drops = found.count(FALSE_DROP)
    return {"gate_sampled": found.count(SAMPLED) + drops, "gate_false_drops": drops}
