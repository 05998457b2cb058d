"""Likely languages of texts under the short codes that rules use, whatever a model calls them.

lid.176 says `en`; GlotLID and OpenLID name a language by ISO 639-3 and its script by ISO 15924,
`eng_Latn`. `language_codes.csv` has the code of each such label: that of ISO 639-1, or of lid.176
where that has none. A label that it does not have stays as it is, and so does a language in another
script than its usual ones (`hin_Latn`), which rules about it would not fit.
"""

import csv
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from corpus_assets.models.fasttext_file import Bytes, Floats, Offsets
from corpus_assets.models.fasttext_labels import AnyModel, identify, label_scores


@lru_cache(maxsize=1)
def language_codes() -> Mapping[str, str]:
    """Return the code of each label that has one."""
    lines = files("corpus_assets.models").joinpath("language_codes.csv").read_text().splitlines()
    return {label: row["code"] for row in csv.DictReader(lines) for label in row["labels"].split()}


def likely_languages(
    model: AnyModel, data: Bytes, offsets: Offsets, k: int = 3
) -> tuple[list[str], npt.NDArray[np.int32], Floats]:
    """Return names of languages, and for each text the numbers of the `k` likeliest, best first,
    with their probabilities: int32[n, k], -1 where there are fewer, and float32[n, k].

    Labels that share a code are one language, as probable as all of them together.
    """
    codes = _codes(model.labels)
    if len(set(codes)) == len(codes):
        return codes, *identify(model, data, offsets, k)
    names, scores = by_language(model.labels, label_scores(model, data, offsets))
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    found = np.full((len(scores), k), -1, dtype=np.int32)
    likely = np.zeros((len(scores), k), dtype=np.float32)
    found[:, : best.shape[1]] = best
    likely[:, : best.shape[1]] = np.take_along_axis(scores, best, axis=1)
    found[likely == 0] = -1
    return names, found, likely


def by_language(labels: Sequence[str], scores: Floats) -> tuple[list[str], npt.NDArray[np.float64]]:
    """Return names of languages, and of each text their probabilities, float64[n, languages], from
    those of a model's labels; 0 for a text without a row."""
    codes = _codes(labels)
    names = list(dict.fromkeys(codes))
    owner = np.array([names.index(code) for code in codes])
    order = np.argsort(owner, kind="stable")
    first = np.flatnonzero(np.diff(owner[order], prepend=-1))
    given = np.nan_to_num(scores)
    return names, np.add.reduceat(given[:, order].astype(np.float64), first, axis=1)


def _codes(labels: Sequence[str]) -> list[str]:
    return [language_codes().get(label, label) for label in labels]
