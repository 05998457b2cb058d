"""Language identification and a quality classifier beside fastText's own `predict`: CPU time.

    python benchmarks/learned_filters.py CRAWL.warc.gz ...

Takes the main text of every page (trafilatura, fast). Both sides read the same texts in the same
process, one thread each, and are timed in turn, best of several rounds.

- Languages: lid.176, the three likeliest of each text; the signal family `language` against one
  `predict` a text, as most pipelines call it (line ends replaced first).
- Quality: a classifier that fastText trained on half of the texts (longer ones against shorter
  ones: what it learns does not matter here) with pairs of words, as ours spell no words; the signal family `classifier` against the same
  preparation of texts in Python and one `predict` a text.

What is counted on our side is the whole family: reading the batch, labels, the columns.
"""

import argparse
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fasttext
import pyarrow as pa
import trafilatura
from fastwarc.warc import ArchiveIterator, WarcRecordType
from machine import machine

from corpus_assets.models.fasttext_file import load_model
from corpus_assets.models.files import model_at
from corpus_assets.signals.classifier import Classifier
from corpus_assets.signals.language import Language
from corpus_assets.text.batch import TextBatch

PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
BATCH = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{machine()}\n")
    texts = read_pages(options.files, options.pages)
    characters = sum(map(len, texts))
    print(f"{len(texts)} texts, {characters / len(texts):.0f} characters each on average")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "quality.bin")
        train(texts, path)
        rows = [languages(texts, options.rounds), quality(texts, path, options.rounds)]
    print("| | predict a text, texts/CPU-s | batch, texts/CPU-s | ratio | equal |")
    print("|---|---|---|---|---|")
    for row in rows:
        print(row)


def read_pages(files: list[Path], limit: int) -> list[str]:
    texts: list[str] = []
    for file in files:
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                if len(texts) >= limit:
                    return texts
                text = trafilatura.extract(record.reader.read(), fast=True, include_comments=False)
                if text:
                    texts.append(text)
    return texts


def train(texts: list[str], path: Path) -> None:
    ordered = sorted(texts[::2], key=len)
    half = len(ordered) // 2
    lines = path.with_suffix(".txt")
    with lines.open("w", encoding="utf-8") as file:
        for number, text in enumerate(ordered):
            label = "positive" if number >= half else "negative"
            file.write(f"__label__{label} {spelled(text)}\n")
    fasttext.train_supervised(
        str(lines), wordNgrams=2, bucket=200_000, thread=1, verbose=0
    ).save_model(str(path))


def batches(texts: list[str]) -> list[pa.Array]:
    return [pa.array(texts[i : i + BATCH], pa.large_string()) for i in range(0, len(texts), BATCH)]


def languages(texts: list[str], rounds: int) -> str:
    path = model_at("lid.176").path
    model = fasttext.load_model(str(path))
    given = batches(texts)

    def ours() -> list[Any]:
        load_model(path).words.known[:] = 0  # what earlier rounds knew of these very texts
        found = [Language().compute(TextBatch.from_arrow(b), {"lid": path}) for b in given]
        return [row for batch in found for row in batch.to_pylist()]

    def theirs() -> list[Any]:
        return [model.predict(text.replace("\n", " "), k=3) for text in texts]

    mine, his, rate, base = by_turns(ours, theirs, len(texts), rounds)
    same = sum(
        row["language"] == labels[0].removeprefix("__label__")
        and abs(row["language_score"] - min(float(scores[0]), 1.0)) <= 1e-4
        for row, (labels, scores) in zip(mine, his, strict=True)
    )
    return f"| language | {base:,.0f} | {rate:,.0f} | {rate / base:.1f} | {same} of {len(texts)} |"


def quality(texts: list[str], path: Path, rounds: int) -> str:
    model = fasttext.load_model(str(path))
    given = batches(texts)
    family = Classifier()

    def ours() -> list[Any]:
        load_model(path).words.known[:] = 0
        models = {"classifier:quality": path}
        found = [family.compute(TextBatch.from_arrow(b), models) for b in given]
        return [score for batch in found for score in batch.column(0).to_pylist()]

    def theirs() -> list[Any]:
        return [model.predict(spelled(text), k=2) for text in texts]

    mine, his, rate, base = by_turns(ours, theirs, len(texts), rounds)
    same = 0
    for score, (labels, scores) in zip(mine, his, strict=True):
        expected = dict(zip(labels, scores, strict=True))["__label__positive"]
        same += score is not None and abs(score - min(float(expected), 1.0)) <= 5.1e-5
    return f"| quality | {base:,.0f} | {rate:,.0f} | {rate / base:.1f} | {same} of {len(texts)} |"


def spelled(text: str) -> str:
    return " ".join(PUNCTUATION.sub(r" \1 ", text[:20_000].lower().replace("\0", " ")).split())


def by_turns(
    ours: Callable[[], list[Any]], theirs: Callable[[], list[Any]], n: int, rounds: int
) -> tuple[list[Any], list[Any], float, float]:
    """What both give, and texts for each second of CPU time; the first round is not counted."""
    mine, his = ours(), theirs()
    seconds: list[tuple[float, float]] = []
    for _ in range(rounds):
        started = time.process_time()
        ours()
        between = time.process_time()
        theirs()
        seconds.append((between - started, time.process_time() - between))
    fastest = [n / min(side) for side in zip(*seconds, strict=True)]
    return mine, his, fastest[0], fastest[1]


if __name__ == "__main__":
    main()
