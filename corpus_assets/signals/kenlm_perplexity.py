"""Perplexity by KenLM models, as CCNet computes it (Wenzek et al. 2020, arXiv:1911.00359).

With a SentencePiece model a document is normalised as a whole, cut into pieces and scored as one
sentence; without one each line is normalised and scored, blank ones too. Both are what cc_net
does. `kenlm` and `sentencepiece` are the extra `kenlm`; nothing here is imported before a recipe
asks for it.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from corpus_assets.core.errors import MissingExtra, ModelError
from corpus_assets.models import Doubles, perplexity_of
from textkernels.normal_forms import nfd

INSTALL = "install the extra: pip install 'corpus-assets[kenlm]'"

_DIGIT = re.compile(r"\d")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")

# What cc_net writes for punctuation of other scripts and typesetters.
_PUNCTUATION: Final = str.maketrans(
    dict.fromkeys("„”“«»」「《》", '"')
    | dict.fromkeys("，、", ",")
    | dict.fromkeys("´’", "'")
    | dict.fromkeys("∶：", ":")
    | dict.fromkeys("–━►", "-")
    | dict(zip("。？！（）；～〈〉【】％", ".?!();~<>[]%", strict=True))
    | {"—": " - ", "．": ". ", "…": "..."}
)


def ccnet_normalised(line: str) -> str:
    """Small letters, no accents, every digit 0, plain punctuation, no control characters."""
    line = line.strip().lower()
    plain = "".join(c for c in nfd(line) if unicodedata.category(c) != "Mn")
    return _CONTROL.sub("", _DIGIT.sub("0", plain).translate(_PUNCTUATION))


def kenlm_perplexities(texts: Sequence[str], model: Path, pieces: Path | None) -> Doubles:
    """float64[n]; NaN for a text without words."""
    language_model = _load(model)
    cut = _load_pieces(pieces) if pieces is not None else None
    logs, lengths = np.zeros(len(texts)), np.zeros(len(texts), dtype=np.int64)
    for row, text in enumerate(texts):
        if not text.strip():
            continue
        if cut is None:
            lines = [ccnet_normalised(line) for line in text.split("\n")]
        else:
            lines = [" ".join(cut.encode_as_pieces(ccnet_normalised(text)))]
        logs[row] = sum(language_model.score(line) for line in lines)
        lengths[row] = sum(len(line.split()) + 1 for line in lines)
    return perplexity_of(logs, lengths)


def _load(path: Path) -> Any:
    stat = _stat(path)
    return _load_kenlm(str(path), stat.st_mtime_ns, stat.st_size)


def _load_pieces(path: Path) -> Any:
    stat = _stat(path)
    return _load_sentencepiece(str(path), stat.st_mtime_ns, stat.st_size)


def _stat(path: Path) -> Any:
    try:
        return path.stat()
    except OSError as error:
        raise ModelError(f"model file {path} cannot be read ({error.strerror})") from error


@lru_cache(maxsize=8)
def _load_kenlm(path: str, mtime_ns: int, n_bytes: int) -> Any:
    try:
        kenlm: Any = import_module("kenlm")
    except ImportError as error:
        raise MissingExtra(
            f"perplexity: {Path(path).name} is a KenLM model, and `kenlm` is not installed: "
            f"{INSTALL}, or train a model in the graph"
        ) from error
    try:
        return kenlm.Model(path)
    except (OSError, RuntimeError) as error:
        lines = str(error).strip().splitlines()
        raise ModelError(
            f"perplexity: {Path(path).name} is neither a model that KenLM can read nor one "
            f"trained by this package ({lines[0][:200] if lines else 'no reason given'})"
        ) from error


@lru_cache(maxsize=8)
def _load_sentencepiece(path: str, mtime_ns: int, n_bytes: int) -> Any:
    try:
        sentencepiece: Any = import_module("sentencepiece")
    except ImportError as error:
        raise MissingExtra(
            f"perplexity: {Path(path).name} needs `sentencepiece`, which is not installed: "
            f"{INSTALL}"
        ) from error
    try:
        return sentencepiece.SentencePieceProcessor(model_file=path)
    except (OSError, RuntimeError) as error:
        raise ModelError(f"perplexity: {Path(path).name} is not a SentencePiece model") from error
