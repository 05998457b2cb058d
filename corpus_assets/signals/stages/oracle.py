"""Hold stored signals of fastText models against fastText, for a sample of a snapshot.

Languages, labels and scores are computed by our kernels, which read model files by themselves.
Here fastText computes the probabilities of all labels of a text, read as the signal reads it (after
the text steps before it, cut, in lower case, taken apart), and the stored values are compared:

1. A score has to be fastText's, within TOLERANCE: fastText adds float32 numbers one by one, which
   on a text of 12,500 equal words puts it off by a third of that, and on prose by a hundredth. A
   weighted sum of labels may be off by that much for each unit of weight.
2. A label has to be the one that fastText puts at its place. Two labels whose probabilities differ
   by no more than TOLERANCE may have changed places.
3. Where a text has no word, or no row in the model, nothing is stored.

Cost: at most 8 parts of a snapshot are read, and 8 texts of each; texts of more than 50,000
characters are not drawn. Of documents under a takedown a part holds no text. fastText reads a model
whole into memory, so one of more than a gigabyte is not compared, and the check says which.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core import files
from corpus_assets.core.parquet_rows import read_rows
from corpus_assets.core.sample import Sample
from corpus_assets.core.store import local_checked
from corpus_assets.core.task import read_table
from corpus_assets.models import LibraryModel, by_language
from corpus_assets.signals.base import ScoredByFastText, SignalFamily
from corpus_assets.signals.classifier import Classifier, Label
from corpus_assets.signals.language import Language
from corpus_assets.signals.stages.planner import SignalsPlanner
from corpus_assets.signals.stages.signal_models import models_of_signals, with_listed_entries
from corpus_assets.signals.text_step import TextStep
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.blank_texts import blank_texts

PARTS, DOCUMENTS = 8, 8
"""Parts of a snapshot, and documents of a part, that are compared."""
MAX_CHARS = 50_000
MAX_MODEL_BYTES = 1 << 30
TOLERANCE = 0.001

_SAMPLE = Sample(b"corpus-assets/fasttext")

Values = npt.NDArray[np.float64]
Rows = npt.NDArray[np.bool_]


@dataclass
class EngineComparison:
    """What was compared, and the documents whose signals are not what they should be."""

    documents: int = 0
    models: list[str] = field(default_factory=list)
    too_large: list[str] = field(default_factory=list)
    differing: dict[str, list[str]] = field(default_factory=dict)  # by model, ids in hex


def compare_with_fasttext(pipeline: SignalsPlanner, snapshot: str) -> EngineComparison:
    """Compare a sample of a snapshot's signals with what fastText says of the texts; see the module."""
    found = EngineComparison()
    families = with_listed_entries(pipeline).families
    models = _model_files(pipeline, families)
    for name, path in sorted(models.items()):
        (found.models if path.stat().st_size <= MAX_MODEL_BYTES else found.too_large).append(name)
    if not found.models:
        return found
    sample = _draw(pipeline, snapshot)
    found.documents = sample.num_rows
    loaded = {name: LibraryModel(models[name]) for name in found.models}
    for domain in sample["domain"].unique().to_pylist():
        chosen = sample.filter(pc.equal(sample["domain"], domain))
        _compare(chosen.combine_chunks(), domain, families, loaded, found)
    return found


def _model_files(pipeline: SignalsPlanner, families: Sequence[SignalFamily]) -> dict[str, Path]:
    """Return the files of fastText models, by the names that families need."""
    needs = sorted({n for f in families if isinstance(f, ScoredByFastText) for n in f.needs()})
    shared, _, params = models_of_signals(pipeline, needs)
    paths = {n: local_checked(pipeline.store, o.path, o.sha256) for n, o in shared.items()}
    paths |= {name: Path(path) for name, path in params.get("files", {}).items()}
    return paths | ({"lid": Path(params["lid"])} if "lid" in params else {})


def _draw(pipeline: SignalsPlanner, snapshot: str) -> pa.Table:
    """Draw documents by the keyed hash of their ids: texts and stored signals, side by side."""
    parts = zip(
        pipeline.parts(files.DOCUMENTS, snapshot),
        pipeline.parts(files.SIGNALS, snapshot),
        strict=True,
    )
    drawn = _SAMPLE.ordered(parts, lambda part: part[0].sha256.encode())
    tables = []
    for documents, signals in drawn[:PARTS]:
        stored = read_table(pipeline.store, signals, ["doc_id", *pipeline.recipe.signals.columns()])
        order = _SAMPLE.places(stored["doc_id"].to_pylist())
        short = np.flatnonzero(stored["n_chars"].to_numpy() <= MAX_CHARS)
        rows = np.sort(short[np.argsort(order[short], kind="stable")][:DOCUMENTS]).tolist()
        path = local_checked(pipeline.store, documents.path, documents.sha256)
        texts = read_rows(path, rows, ["domain", "text"])
        table = stored.take(pa.array(rows, pa.int64()))
        for column in texts.column_names:
            table = table.append_column(column, texts[column])
        tables.append(table)
    return pa.concat_tables(tables)


def _compare(
    sample: pa.Table,
    domain: str,
    families: Sequence[SignalFamily],
    models: Mapping[str, LibraryModel],
    found: EngineComparison,
) -> None:
    """Compare documents of one domain, whose texts are rewritten alike."""
    batch = TextBatch.from_arrow(sample["text"])
    ids = [doc_id.hex() for doc_id in sample["doc_id"].to_pylist()]
    for family in families:
        if isinstance(family, TextStep) and family.applies_to(domain):
            batch = family.rewrite(batch).left
        if not isinstance(family, ScoredByFastText) or not set(family.needs()) <= set(models):
            continue
        (name,) = family.needs()
        wrong = np.flatnonzero(_wrong(sample, family, batch, models[name]))
        if wrong.size:
            found.differing.setdefault(name, []).extend(ids[row] for row in wrong.tolist())


def _wrong(sample: pa.Table, family: SignalFamily, batch: TextBatch, model: LibraryModel) -> Rows:
    """bool[n]: where the stored columns of a family are not what fastText says."""
    lines = family.reading.read(batch) if isinstance(family, Classifier | Label) else batch
    blank = blank_texts(lines.data, lines.offsets)
    scores = model.label_scores(lines.data, lines.offsets)
    stored = [sample[name] for name in family.columns()]
    if isinstance(family, Classifier):
        expected = np.where(blank, np.nan, family.weighed(model.labels, scores))
        bound = TOLERANCE * max(1.0, sum(map(abs, family.labels.values())))
        return ~_is_near(_numbers(stored[0]), expected, bound)
    names: Sequence[str] = model.labels
    values: Values = np.nan_to_num(scores).astype(np.float64)
    if isinstance(family, Language):
        names, values = by_language(model.labels, scores)
    values[blank] = 0.0
    ranked = -np.sort(-values, axis=1)
    wrong = np.zeros(len(values), dtype=np.bool_)
    for rank, (labels, numbers) in enumerate(zip(stored[::2], stored[1::2], strict=True)):
        given = np.nan_to_num(_numbers(numbers))
        known = {name: place for place, name in enumerate(names)}
        at_rank = ranked[:, rank] if rank < len(names) else np.zeros(len(values))
        of_label = np.array(
            [
                values[row, known[label]] if label in known else 0.0
                for row, label in enumerate(labels.to_pylist())
            ]
        )
        wrong |= ~(_is_near(given, at_rank, TOLERANCE) & _is_near(given, of_label, TOLERANCE))
    return wrong


def _numbers(column: pa.ChunkedArray) -> Values:
    """float64[n], a null as NaN."""
    values: Values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values


def _is_near(stored: Values, expected: Values, bound: float) -> Rows:
    """bool[n]; nothing is near nothing alone."""
    is_near: Rows = np.abs(stored - expected) <= bound
    return is_near | (np.isnan(stored) & np.isnan(expected))
