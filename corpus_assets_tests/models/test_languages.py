"""Languages have one code under every model; labels of one code count together."""

import re
from pathlib import Path

import fasttext
import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.ingest.gates.language import LanguageGate
from corpus_assets.ingest.gates.settings import LanguageGateSettings
from corpus_assets.models.fasttext_file import load_model
from corpus_assets.models.languages import language_codes, likely_languages
from corpus_assets.signals.language import Language
from corpus_assets.text.batch import TextBatch

WORDS = {
    "eng_Latn": "the and is not a house of water",
    "zho_Hans": "这 是 国 个 们 说 来 学",
    "zho_Hant": "這 是 國 個 們 說 來 學",
    "hin_Latn": "yah hai nahin ek ghar pani aur ka",
    "ace_Latn": "nyoe hana saboh rumoh ie ngon keu di",
}
TEXTS = ["the house and water", "这 个 国 是 是 學 學", "yah ghar hai", "nyoe rumoh", ""]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("glot")
    lines = [
        f"__label__{label} {' '.join(np.roll(words.split(), k))}"
        for label, words in WORDS.items()
        for k in range(40)
    ]
    (folder / "train.txt").write_text("\n".join(lines), encoding="utf-8")
    model = fasttext.train_supervised(
        str(folder / "train.txt"), thread=1, dim=8, epoch=20, lr=0.5, loss="softmax", verbose=0
    )
    model.save_model(str(folder / "glot.bin"))
    return folder / "glot.bin"


def batch_of(texts: list[str]) -> TextBatch:
    return TextBatch.from_arrow(pa.array(texts, pa.large_string()))


def test_rules_see_short_codes_and_what_has_none_keeps_its_label(path: Path) -> None:
    found = Language().compute(batch_of(TEXTS), {"lid": path})["language"].to_pylist()
    assert found == ["en", "zh", "hin_Latn", "ace_Latn", None]


def test_labels_of_one_code_are_as_probable_as_together(path: Path) -> None:
    batch = batch_of(TEXTS[:4])
    names, found, scores = likely_languages(load_model(path), batch.data, batch.offsets)
    reference = fasttext.load_model(str(path))
    for row, text in enumerate(TEXTS[:4]):
        labels, given = reference.predict(text, k=-1)
        expected: dict[str, float] = {}
        for label, score in zip(labels, given, strict=True):
            code = language_codes().get(label.removeprefix("__label__"), label[9:])
            expected[code] = expected.get(code, 0.0) + float(score)
        best = sorted(expected, key=lambda code: -expected[code])[:3]
        assert [names[number] for number in found[row]] == best
        assert np.allclose(scores[row], [expected[code] for code in best], atol=2e-4)
    assert scores[1, 0] > 0.9  # neither script alone reaches that


def test_the_gate_before_extraction_uses_the_same_codes(path: Path) -> None:
    gate = LanguageGate(LanguageGateSettings(languages=("zh",), min_score=0.5), path)
    assert gate.refuse("<p>这 个 國 是 學 學</p>".encode()) is None
    refused = gate.refuse(b"<p>the house and water</p>")
    assert refused is not None
    assert (refused.reason, refused.detail) == ("gate_language", "en")


def test_every_label_has_one_code_and_the_form_of_its_kind() -> None:
    text = Path(likely_languages.__globals__["__file__"]).with_name("language_codes.csv")
    rows = [line.split(",") for line in text.read_text().splitlines()[1:]]
    labels = [label for _, some in rows for label in some.split()]
    assert len(labels) == len(set(labels)) == len(language_codes())
    assert all(re.fullmatch(r"[a-z]{3}_[A-Z][a-z]{3}", label) for label in labels)
    codes = [code for code, _ in rows]
    assert codes == sorted(set(codes))
    assert {"zh": "cmn_Hani", "ja": "jpn_Jpan", "bo": "bod_Tibt"}.items() <= {
        code: some.split()[0] for code, some in rows
    }.items()
