"""The model against KenLM: an ARPA file of the same n-grams gives the same probabilities."""

import importlib
import importlib.util
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.models.ngram_file import NgramModel, parse_models
from corpus_assets.models.ngram_perplexity import perplexities
from corpus_assets.models.ngram_score import BOUNDARY, FIRST_WORD, UNKNOWN, next_probability
from corpus_assets.models.ngram_settings import NgramSettings
from corpus_assets.models.ngram_training import train_ngram_model
from corpus_assets.text.split import hash_spans
from corpus_assets_tests.models.lm_reference import units
from corpus_assets_tests.models.test_ngram_models import folded, sample_texts

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("kenlm") is None, reason="kenlm is not installed"
)


def spelled_words(model: NgramModel, texts: list[str]) -> list[str]:
    """The words of the model by number, found among those of some texts."""
    known = sorted({unit for text in texts for unit in units(folded(text)) if unit != "\n"})
    data = np.frombuffer("".join(known).encode(), dtype=np.uint8)
    ends = np.cumsum([len(word.encode()) for word in known])
    spans = np.stack([ends - [len(w.encode()) for w in known], ends, ends], axis=1)
    of = dict(zip(hash_spans(data, spans.astype(np.int64)).tolist(), known, strict=True))
    return ["<unk>", "</s>", *(of[value] for value in model.vocabulary.tolist())]


def arpa(model: NgramModel, words: list[str]) -> str:
    """All n-grams with their whole probabilities, and the weights of the orders below."""
    arrays = (model.order, model.word, model.prob, model.gamma, model.first)
    starts = np.cumsum([0, *model.sizes])
    parents = np.full(sum(model.sizes), -1)
    for node in range(len(model.gamma)):
        parents[model.first[node] : model.first[node + 1]] = node
    sections: list[list[str]] = [[] for _ in model.sizes]
    for node in range(starts[-1]):
        gram = [node]
        while parents[gram[0]] >= 0:
            gram.insert(0, int(parents[gram[0]]))
        ids = [int(model.word[g]) for g in gram]
        state = np.full(model.order, -1, dtype=np.int64)
        for word in ids[:-1]:
            next_probability(state, word, *arrays)
        p = math.log10(next_probability(state, ids[-1], *arrays))
        names = [words[i] for i in ids]
        if len(ids) > 1 and ids[0] == BOUNDARY:
            names[0] = "<s>"
        back = f"\t{math.log10(model.gamma[node])}" if node < len(model.gamma) else ""
        if ids == [BOUNDARY]:
            sections[0].append(f"0\t<s>{back}")
            back = ""
        sections[len(ids) - 1].append(f"{p}\t{' '.join(names)}{back}")
    counts = "\n".join(f"ngram {k}={len(rows)}" for k, rows in enumerate(sections, 1))
    body = "\n".join(
        f"\\{k}-grams:\n" + "\n".join(rows) + "\n" for k, rows in enumerate(sections, 1)
    )
    return f"\\data\\\n{counts}\n\n{body}\n\\end\\\n"


def test_kenlm_gives_the_same_perplexity(tmp_path: Path) -> None:
    texts = sample_texts(11, 80)
    made = train_ngram_model("m", texts, NgramSettings(order=4, min_word_count=2))
    model = parse_models(made.model, "m")["m"]
    path = tmp_path / "m.arpa"
    path.write_text(arpa(model, spelled_words(model, texts)), encoding="utf-8")
    kenlm = importlib.import_module("kenlm").Model(str(path))
    asked = [
        text
        for text in sample_texts(12, 60)
        if text.strip() and "rare" not in text  # unknown words are spelled here, and not there
    ]
    ours = perplexities(model, pa.array(asked, pa.large_string()))
    assert len(asked) > 20
    assert model.prob[UNKNOWN] > 0
    assert model.sizes[0] > FIRST_WORD
    for text, value in zip(asked, ours, strict=True):
        lines = " ".join(units(folded(text))).split("\n")
        lines = [line.strip() for line in lines if line.strip()]
        score = sum(kenlm.score(line) for line in lines)
        length = sum(len(line.split()) + 1 for line in lines)
        assert value == pytest.approx(10 ** (-score / length), rel=1e-3)
