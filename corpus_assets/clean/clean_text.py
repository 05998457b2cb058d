"""The last text step: boilerplate lines out, personal data replaced, every edit recorded.

Where the recipe has families that rewrite text (`c4_lines`), what they leave is what is cleaned.
All edits are recorded in the extracted text's own coordinates, so a place in the final text maps
back to its place in the extracted text, and through the record to the source.

Documents are looked at a batch at a time by kernels; only those with something to change become
Python strings.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from corpus_assets.clean.cut_lines import (
    LineOutcomes,
    kinds_with_places,
    line_outcomes,
    outside_of_protected,
)
from corpus_assets.clean.edits import (
    Edit,
    Stretch,
    apply_edits,
    remainder,
    stretches_of_left,
    union,
)
from corpus_assets.clean.encoding_repair import in_unrepaired, repairs_of
from corpus_assets.clean.pinned_lines import Boilerplate, PinnedLine, pinned_lines
from corpus_assets.clean.rewriting import Left, compose, edits_of_extracted, rewrite_documents
from corpus_assets.clean.settings import (
    BoilerplateSettings,
    CleanTextSettings,
)
from corpus_assets.core.schemas import FINAL_TEXT
from corpus_assets.scrub import (
    DROP,
    LISTED,
    TOO_MUCH,
    Finding,
    HashList,
    Recognizer,
    ScrubSettings,
    drop_reason,
    personal_data,
)
from corpus_assets.signals import TextStep, sentences_of
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.line_kinds import (
    COLUMNS_OF_LINES,
    KINDS_OF_TEXT,
    OF_BLANK,
    Place,
    kept_places,
    kinds_after,
    kinds_column,
)
from corpus_assets.text.pieces import count_chars, stripped

VERSION = 11

TOO_SHORT = "too_short_after_cleaning"
FEW_SENTENCES = "too_few_sentences_after_cleaning"

BOILERPLATE_LINE, REPEATED_SPAN, BENCHMARK_ITEM = CUTS = (
    "boilerplate_line",
    "repeated_span",
    "benchmark_item",
)
"""Kinds of edits that cut, the first first: where two meet, the place is the first one's."""

LOSSES = (BOILERPLATE_LINE, REPEATED_SPAN)
"""Those that cut what stands elsewhere too."""

SENTENCE = "sentence:"
"""Begins the kinds of cuts of sentences; the name of a classifier follows. They come last."""

Cuts = Mapping[str, Sequence[Stretch]]
"""Sorted stretches to cut, by kind."""


@dataclass
class Cleaned:
    """What became of a document: its final text, None where nothing was changed."""

    text: str | None = None
    edits: list[Edit] = field(default_factory=list)
    boilerplate_lines: int = 0
    scrubbed: Counter[str] = field(default_factory=Counter)
    reason: str | None = None

    @property
    def lost(self) -> int:
        """Characters that went because they stand elsewhere too."""
        return sum(edit.end - edit.start for edit in self.edits if edit.kind in LOSSES)


UNCHANGED = Cleaned()
NO_CUTS: Cuts = {}


def clean_documents(
    documents: pa.Table,
    tiers: pa.ChunkedArray,
    languages: pa.ChunkedArray,
    boilerplate: Boilerplate,
    settings: CleanTextSettings,
    steps: Sequence[TextStep] = (),
    cuts: Sequence[Cuts] = (),
    hashes: Sequence[HashList] = (),
    recognizers: Sequence[Recognizer] = (),
) -> tuple[pa.Table, list[str | None], list[str | None], pa.Table]:
    """Return final text of the documents that are left; for each given one why it is dropped, and
    the detail of that; and, row by row of the final text, what became of repeated lines (schema
    CUT_LINES).

    `steps` are the families that rewrite text, in the recipe's order. `cuts` has one entry a
    document, or none at all: stretches [start, end) of the extracted text, in characters, that go
    whatever they hold. Personal data that reaches out of a cut is replaced beside it.
    `hashes` are lists of texts that must not be there; `recognizers` those that the settings name.
    """
    extracted = TextBatch.from_arrow(documents["text"])
    domains: list[str] = documents["domain"].to_pylist()
    listed = {row for one in hashes for row in one.rows_of(extracted.texts)}
    batch, left = rewritten(documents, steps)
    lines = pinned_lines(batch, documents, boilerplate, settings.boilerplate, settings.min_chars)
    repairs = _repairs(batch) if settings.repair_encoding else {}
    shown = _repaired(batch, repairs)
    found = personal_data(shown, domains, languages.to_pylist(), settings.scrub, recognizers)
    found = {**found} | {
        row: in_unrepaired(found[row], repairs[row]) for row in found.keys() & repairs
    }
    chars = count_chars(extracted.data, extracted.offsets).tolist() if steps else []
    results = [UNCHANGED] * len(batch)
    outcomes: dict[int, LineOutcomes] = {}
    for row in sorted({*lines, *found, *repairs, *(r for r, one in enumerate(left) if one is not None),
                       *(r for r, one in enumerate(cuts) if one)}):  # fmt: skip
        going = cuts[row] if cuts else {}
        item = left[row] if left else None
        if item is not None:
            going = {k: stretches_of_left(item.kept, union(some)) for k, some in going.items()}
        text, pinned = batch.texts[row].as_py(), lines.get(row, [])
        passages = going.get(REPEATED_SPAN, ())
        kinds = kinds_with_places(batch, row) if pinned or passages else []
        if passages and sum(end - start for start, end in passages) < len(text):
            going = {**going, REPEATED_SPAN: outside_of_protected(kinds, passages)}
        mine, mended = found.get(row, ()), repairs.get(row, ())
        goes = going_lines(pinned)
        cleaned = clean(text, goes, mine, settings.scrub, domains[row], going, mended)
        if (
            cleaned.lost
            and len((cleaned.text or "").strip()) < settings.min_chars
            and (settings.boilerplate.is_frame or any(not line.goes for line in pinned))
        ):  # what stands elsewhere too never takes a document along, nor one that keeps lines
            pinned = [line._replace(goes=False) for line in pinned]
            own = {kind: some for kind, some in going.items() if kind not in LOSSES}
            cleaned = clean(text, (), mine, settings.scrub, domains[row], own, mended)
        results[row] = cleaned
        if pinned or going.get(REPEATED_SPAN):
            outcomes[row] = line_outcomes(text, kinds, pinned, cleaned.edits)
        if item is not None:
            cleaned.edits = edits_of_extracted(chars[row], item, cleaned.edits)
    lengths = stripped(batch.data, batch.offsets).tolist()
    reasons = _reasons(lengths, results, listed, settings)
    if settings.min_sentences is not None:
        for row in _with_fewer_sentences(settings.min_sentences, batch, results):
            reasons[row] = reasons[row] or FEW_SENTENCES
    details = [
        emptied_detail(min(lost, length), length)
        if reason == TOO_SHORT and length >= settings.min_chars and (lost := one.lost)
        else None
        for one, reason, length in zip(results, reasons, lengths, strict=True)
    ]
    left_rows = [row for row, reason in enumerate(reasons) if reason is None]
    cut_lines = LineOutcomes.table([outcomes.get(row) for row in left_rows])
    return _table(documents, tiers, languages, batch, results, reasons), reasons, details, cut_lines


def _repairs(batch: TextBatch) -> dict[int, list[Edit]]:
    """What repairs the texts of a batch that need it, by row."""
    found = ((row, repairs_of(text)) for row, text in enumerate(batch.texts.to_pylist()))
    return {row: edits for row, edits in found if edits}


def _repaired(batch: TextBatch, repairs: Mapping[int, list[Edit]]) -> TextBatch:
    if not repairs:
        return batch
    texts = batch.texts.to_pylist()
    for row, edits in repairs.items():
        texts[row] = apply_edits(texts[row], edits)
    return TextBatch.from_arrow(pa.array(texts, pa.large_string()))


def going_lines(pinned: Sequence[PinnedLine]) -> list[Stretch]:
    """Where the lines stand that go."""
    return [(line.start, line.end) for line in pinned if line.goes]


def rewritten(
    documents: pa.Table, steps: Sequence[TextStep]
) -> tuple[TextBatch, list[Left | None]]:
    """Return what the steps leave of documents (domain, text): as a batch, and the way back."""
    batch = TextBatch.from_arrow(documents["text"])
    of_lines = {name: of_lines_of(documents, name) for name in COLUMNS_OF_LINES}
    if not steps:
        batch.columns.update(of_lines)
        return batch, []
    texts = batch.texts.to_pylist()
    left = rewrite_documents(texts, documents["domain"].to_pylist(), steps)
    whole = zip(texts, left, strict=True)
    shown = [text if item is None else item.text for text, item in whole]
    batch = TextBatch.from_arrow(pa.array(shown, pa.large_string()))
    for name, column in of_lines.items():
        values = (
            own
            if own is None or item is None
            else kinds_after(text, own, item.text, kept_places(item.kept), OF_BLANK[name])
            for text, own, item in zip(texts, column.to_pylist(), left, strict=True)
        )
        batch.columns[name] = kinds_column(values, name)
    return batch, left


def of_lines_of(documents: pa.Table, name: str = KINDS_OF_TEXT) -> pa.Array:
    """Return one of COLUMNS_OF_LINES of documents; nulls where the table has no such column."""
    if name in documents.schema.names:
        return documents[name].combine_chunks()
    return kinds_column([None] * documents.num_rows, name)


def left_by_lines(
    documents: pa.Table,
    boilerplate: Boilerplate,
    settings: BoilerplateSettings,
    min_left: int,
    steps: Sequence[TextStep] = (),
) -> list[Left]:
    """Return what the steps and the cutting of lines leave of each document; `min_left` as in
    `pinned_lines`."""
    batch, left = rewritten(documents, steps)
    found = pinned_lines(batch, documents, boilerplate, settings, min_left)
    lines = {row: cut for row, pinned in found.items() if (cut := going_lines(pinned))}
    out = []
    for row, text in enumerate(batch.texts.to_pylist()):
        item = left[row] if left else None
        kept = [(0, len(text))] if item is None else item.kept
        if row in lines:
            starts = [start for start, _ in lines[row]]
            stays = remainder((0, len(text)), lines[row], starts)
            kept = compose(kept, stays)
            text = "".join(text[start:end] for start, end in stays)
        out.append(Left(text, kept))
    return out


def clean(
    text: str,
    lines: Sequence[Stretch],
    findings: Sequence[Finding],
    settings: ScrubSettings,
    domain: str = "web",
    cuts: Cuts = NO_CUTS,
    repairs: Sequence[Edit] = (),
) -> Cleaned:
    """Clean one text of what was found in it; `lines` and `cuts` go, `findings` are replaced, and
    `repairs` are made where nothing else is done."""
    gone: list[Stretch] = []
    starts: list[int] = []
    edits: list[Edit] = []
    all_cuts = {BOILERPLATE_LINE: lines, **cuts}
    for kind in (*CUTS, *(kind for kind in cuts if kind.startswith(SENTENCE))):
        for stretch in union(all_cuts.get(kind, ())):
            edits += [Edit(*piece, "", kind) for piece in remainder(stretch, gone, starts)]
        gone = sorted((edit.start, edit.end) for edit in edits)
        starts = [start for start, _ in gone]
    counts: Counter[str] = Counter()
    for finding in findings:
        pieces = remainder((finding.start, finding.end), gone, starts)
        if pieces:  # else it went with its line
            counts[finding.kind] += 1
            holder = settings.placeholder(finding.kind)
            edits += [
                Edit(*piece, "" if k else holder, finding.kind) for k, piece in enumerate(pieces)
            ]
    if repairs:
        taken = union([(edit.start, edit.end) for edit in edits])
        begins = [start for start, _ in taken]
        edits += [
            one
            for one in repairs
            if remainder((one.start, one.end), taken, begins) == [(one.start, one.end)]
        ]
    edits.sort(key=lambda edit: edit.start)
    cleaned = Cleaned(apply_edits(text, edits), edits, len(lines), counts)
    actions = settings.actions(domain)
    dropping = [kind for kind, action in actions.items() if action == DROP and counts[kind]]
    if dropping:
        cleaned.reason = drop_reason(dropping[0])
    elif settings.max_findings is not None and counts.total() > settings.max_findings:
        cleaned.reason = TOO_MUCH
    return cleaned


def emptied_detail(lost: int, length: int) -> str:
    """Return what decisions say of a document that repeated text was cut out of until it was too
    short."""
    return f"{lost} of {length} characters cut"


def emptied_numbers(detail: str) -> tuple[int, int]:
    """(lost, length) of `emptied_detail`."""
    lost, _, length, *_ = detail.split()
    return int(lost), int(length)


def _reasons(
    lengths: Sequence[int],
    results: Sequence[Cleaned],
    listed: set[int],
    settings: CleanTextSettings,
) -> list[str | None]:
    """Why each document is dropped, None for those that are left."""
    out: list[str | None] = []
    for row, result in enumerate(results):
        length = lengths[row] if result.text is None else len(result.text.strip())
        short = TOO_SHORT if length < settings.min_chars else None
        out.append(LISTED if row in listed else result.reason or short)
    return out


def _with_fewer_sentences(least: int, batch: TextBatch, results: Sequence[Cleaned]) -> list[int]:
    """Documents whose final text has fewer sentences."""
    whole = zip(batch.texts.to_pylist(), results, strict=True)
    final = [text if one.text is None else one.text for text, one in whole]
    _, rows = sentences_of(TextBatch.from_arrow(pa.array(final, pa.large_string())))
    found: list[int] = np.flatnonzero(np.diff(rows) < least).tolist()
    return found


def _table(
    documents: pa.Table,
    tiers: pa.ChunkedArray,
    languages: pa.ChunkedArray,
    batch: TextBatch,
    results: Sequence[Cleaned],
    reasons: Sequence[str | None],
) -> pa.Table:
    """Return the documents without a reason, in the schema FINAL_TEXT."""
    rows = [row for row, reason in enumerate(reasons) if reason is None]
    kept = [results[row] for row in rows]
    changed = [one.text for one in kept if one.text is not None]
    place = iter(range(len(batch), len(batch) + len(changed)))
    where = [row if one.text is None else next(place) for row, one in zip(rows, kept, strict=True)]
    texts = pa.concat_arrays([batch.texts, pa.array(changed, pa.large_string())])
    index = pa.array(rows, pa.int64())
    columns = {
        "doc_id": documents["doc_id"].take(index),
        "domain": documents["domain"].take(index),
        "tier": tiers.take(index),
        "language": languages.take(index),
        "boilerplate_lines": [one.boilerplate_lines for one in kept],
        "scrubbed": [sorted(one.scrubbed.items()) for one in kept],
        "edits": [
            [
                {"start": e.start, "end": e.end, "new_length": len(e.replacement), "kind": e.kind}
                for e in one.edits
            ]
            for one in kept
        ],
        "text": texts.take(pa.array(where, pa.int64())),
        KINDS_OF_TEXT: _final_kinds(documents, rows, kept, texts, where),
    }
    arrays = [
        value.cast(kind) if isinstance(value, pa.ChunkedArray) else
        value if isinstance(value, pa.Array) else pa.array(value, kind)
        for value, kind in zip(columns.values(), FINAL_TEXT.types, strict=True)
    ]  # fmt: skip
    return pa.table(arrays, schema=FINAL_TEXT)


def _final_kinds(
    documents: pa.Table,
    rows: Sequence[int],
    kept: Sequence[Cleaned],
    texts: pa.Array,
    where: Sequence[int],
) -> pa.Array:
    """Return the kinds of the lines of final texts, which are `texts[where]`; `rows` are theirs."""
    found = of_lines_of(documents).take(pa.array(rows, pa.int64()))
    edited = [k for k, one in enumerate(kept) if one.edits and found[k].is_valid]
    if not edited:
        return found
    out = found.to_pylist()
    for k in edited:
        text, final = documents["text"][rows[k]].as_py(), texts[where[k]].as_py()
        out[k] = kinds_after(text, out[k], final, edited_places(len(text), kept[k].edits))
    return kinds_column(out)


def edited_places(n_chars: int, edits: Sequence[Edit]) -> list[Place]:
    """Return the places of what is left of a text of `n_chars`, and of what replaces the rest."""
    out: list[Place] = []
    new = old = 0
    for edit in edits:
        if old < edit.start:
            out.append((new, old, edit.start))
        new += edit.start - old
        if edit.replacement:
            out.append((new, edit.start, edit.start))
        new, old = new + len(edit.replacement), edit.end
    if old < n_chars:
        out.append((new, old, n_chars))
    return out
