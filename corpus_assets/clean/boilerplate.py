"""Lines that a site repeats on page after page: found once per snapshot, pinned by hash.

Counted is what the corpus keeps: documents that no stage before cleaning drops, so copies count
once, whatever files they lie in. A line goes when at least `min_documents` kept documents of its
bucket hold it, and `min_share` of them.

With the bucket `host` that is the frame of a site, and a line counts where it stands: at its place in
the tree of the page, among the documents of the site that have a line there, which are those of one
template; or where the tree is not known, at its place from the head or the foot of the text. Which of
them go from a text is in `pinned_lines`. A document never goes: where too little would be left, it
stays as it is. With the bucket `snapshot` a line counts and goes wherever it stands, as some
publications have it.

In both, no line loses its last copy: one document keeps it, the one that was fetched first, of those
the one with the fewest such lines (a list repeats many articles, an article itself). Its copies in its
cluster may keep the line too: one of them replaces it when it is taken down (ADR 81).

1. `line_keys`: the keys of each document's lines. The only pass that reads text; it does not look
   at the selection, so that another threshold does not run it again.
2. `count_lines`, `common_lines`: lines that are repeated.
3. `find_candidates`, `choose_keepers`: who keeps which.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.clean.kernels.last_copies import keep_last_copies
from corpus_assets.clean.keyed_lines import find_lines, lines_of, template_key
from corpus_assets.clean.repeated_spans import fetch_order, id_halves
from corpus_assets.clean.settings import BoilerplateSettings
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.text.batch import TextBatch
from corpus_assets.text.split import CHARS, Hashes, Ints

VERSION = 5

LINE = pa.struct([("key", pa.uint64()), ("chars", pa.int32()), ("template", pa.uint64())])
"""A line of a document, its characters wherever it stands there, and what it is counted against."""

LINE_KEYS = pa.schema(
    [
        ("bucket", pa.uint64()),
        ("fetched_at", pa.string()),
        ("chars", pa.int64()),
        ("lines", pa.list_(LINE)),
        ("templates", pa.list_(pa.uint64())),
    ]
)
"""Row-aligned with DOCUMENTS: key of the bucket, characters in all lines, the lines that count, and what
they are counted against: the bucket, and the documents of it with a line at the same place."""

LINE_COUNTS = pa.schema(
    [
        ("line_key", pa.uint64()),
        ("template", pa.uint64()),
        ("bucket", pa.uint64()),
        ("documents", pa.int32()),
    ]
)
TEMPLATE_COUNTS = pa.schema(
    [("template", pa.uint64()), ("bucket", pa.uint64()), ("documents", pa.int32())]
)
COMMON_LINES = pa.schema([("line_key", pa.uint64())])

CANDIDATES = pa.schema(
    [
        ("bucket", pa.uint64()),
        ("doc_id", DOC_ID),
        ("stands_for", DOC_ID),  # the kept document of its cluster; itself where it is kept
        ("fetched_at", pa.string()),
        ("chars", pa.int64()),
        ("lines", pa.list_(LINE)),  # that are common
    ]
)
"""Documents with common lines."""

BOILERPLATE = pa.schema([("line_key", pa.uint64()), ("keeper", DOC_ID)])
"""Lines to cut, each once for every document that keeps it."""


def line_keys(batch: TextBatch, documents: pa.Table, settings: BoilerplateSettings) -> pa.Table:
    """Return schema LINE_KEYS of documents (domain, host, fetched_at) whose texts are in `batch`."""
    wanted = [domain in settings.domains for domain in documents["domain"].to_pylist()]
    buckets = settings.buckets(documents["host"].to_pylist())
    found = find_lines(batch, lines_of(batch, settings), buckets, wanted, settings)
    order = np.lexsort((found.keys, found.document))
    keys, document = found.keys[order], found.document[order]
    firsts = _firsts(document, keys)  # a key once a document
    sizes = batch.lines.spans[found.of[order], CHARS]
    chars = np.add.reduceat(sizes, firsts) if len(firsts) else firsts
    lines = pa.StructArray.from_arrays(
        [
            pa.array(keys[firsts]),
            pa.array(chars.astype(np.int32)),
            pa.array(found.templates[order][firsts]),
        ],
        fields=list(LINE),
    )
    named = {bucket: template_key(bucket) for bucket in set(buckets)}
    own = np.array([named[bucket] for bucket in buckets], np.uint64)
    columns = [
        pa.array(own),
        documents["fetched_at"].combine_chunks(),
        pa.array(batch.lines.chars),
        _listed(lines, document[firsts], len(batch)),
        _templates(own, found.document, found.templates),
    ]
    return pa.table(columns, schema=LINE_KEYS)


def _templates(buckets: Hashes, document: Ints, templates: Hashes) -> pa.ListArray:
    """Return each template of a document once, and its bucket."""
    n = len(buckets)
    document, templates = np.append(document, np.arange(n)), np.append(templates, buckets)
    order = np.lexsort((templates, document))
    document, templates = document[order], templates[order]
    firsts = _firsts(document, templates)
    return _listed(pa.array(templates[firsts]), document[firsts], n)


def _firsts(document: Ints, values: Hashes) -> Ints:
    """Where sorted values of sorted documents are new."""
    is_new = np.ones(len(values), dtype=np.bool_)
    is_new[1:] = (values[1:] != values[:-1]) | (document[1:] != document[:-1])
    return np.flatnonzero(is_new)


def _listed(items: pa.Array, document: Ints, n: int) -> pa.ListArray:
    ends = np.searchsorted(document, np.arange(n + 1))
    return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), items)


def count_lines(keys: pa.Table, kept: Sequence[int]) -> tuple[pa.Table, pa.Table]:
    """LINE_COUNTS and TEMPLATE_COUNTS of the kept rows of a part (schema LINE_KEYS)."""
    some = keys.take(pa.array(kept, pa.int64()))
    buckets = some["bucket"].combine_chunks()
    lines, document = _flat(some["lines"])
    ones = pa.array(np.ones(len(lines), np.int32))
    columns = [lines.field("key"), lines.field("template"), buckets.take(document), ones]
    counted = pa.table(columns, schema=LINE_COUNTS)
    templates, document = _flat(some["templates"])
    ones = pa.array(np.ones(len(templates), np.int32))
    totals = pa.table([templates, buckets.take(document), ones], schema=TEMPLATE_COUNTS)
    return _grouped(counted, LINE_COUNTS), _grouped(totals, TEMPLATE_COUNTS)


def merge_counts(tables: Iterable[pa.Table], schema: pa.Schema) -> pa.Table:
    """Sum LINE_COUNTS or TEMPLATE_COUNTS of several parts."""
    return _grouped(pa.concat_tables([schema.empty_table(), *tables]), schema)


def common_lines(
    lines: Iterable[pa.Table], templates: Iterable[pa.Table], settings: BoilerplateSettings
) -> pa.Table:
    """Return schema COMMON_LINES, by key: lines of enough documents, from the counts of all parts."""
    counted, totals = merge_counts(lines, LINE_COUNTS), merge_counts(templates, TEMPLATE_COUNTS)
    if not counted.num_rows:
        return COMMON_LINES.empty_table()
    place = np.searchsorted(totals["template"].to_numpy(), counted["template"].to_numpy())
    documents = counted["documents"].to_numpy()
    share = documents / totals["documents"].to_numpy()[place]
    mask = (documents >= settings.min_documents) & (share >= settings.min_share)
    return pa.table([counted["line_key"].to_numpy()[mask]], schema=COMMON_LINES)


def find_candidates(
    doc_ids: pa.ChunkedArray, stand_for: pa.ChunkedArray, keys: pa.Table, common: pa.Table
) -> pa.Table:
    """Return schema CANDIDATES of a part: row-aligned ids, those of the kept documents that stand
    for them (null where selection dropped a document), and line keys."""
    known = pc.is_valid(stand_for)
    some = keys.filter(known)
    lines, document = _flat(some["lines"])
    is_common = pc.is_in(lines.field("key"), common["line_key"].combine_chunks())
    owners = document.filter(is_common).to_numpy()
    rows = np.unique(owners)
    ends = np.append(np.searchsorted(owners, rows), len(owners)).astype(np.int32)
    index = pa.array(rows)
    return pa.table(
        [
            some["bucket"].take(index).combine_chunks(),
            doc_ids.filter(known).take(index).combine_chunks(),
            stand_for.filter(known).take(index).combine_chunks(),
            some["fetched_at"].take(index).combine_chunks(),
            some["chars"].take(index).combine_chunks(),
            pa.ListArray.from_arrays(pa.array(ends), lines.filter(is_common)),
        ],
        schema=CANDIDATES,
    )


def choose_keepers(parts: Iterable[pa.Table], common: pa.Table, min_chars: int) -> pa.Table:
    """Return schema BOILERPLATE, sorted, from the candidates of all parts.

    Who was fetched first keeps. A document that cleaning would leave with fewer than `min_chars`
    keeps nothing; a line that no longer one holds is not cut at all.
    """
    found = pa.concat_tables([CANDIDATES.empty_table(), *parts])
    ids, stand_for = found["doc_id"].to_pylist(), found["stands_for"].to_pylist()
    n_lines = pc.list_value_length(found["lines"]).to_numpy()
    chars = found["chars"].to_numpy()
    halves = id_halves(found["doc_id"])
    order = np.lexsort((halves[:, 1], halves[:, 0], n_lines, fetch_order(found["fetched_at"])))
    order = np.array([row for row in order if ids[row] == stand_for[row]], np.int64)
    lines, _ = _flat(found["lines"].take(pa.array(order)))
    rows = np.concatenate(([0], np.cumsum(n_lines[order])))
    keys = common["line_key"].to_numpy()
    numbers = np.searchsorted(keys, lines.field("key").to_numpy())
    sizes = lines.field("chars").to_numpy().astype(np.int64)
    keeps = keep_last_copies(rows, numbers, sizes, chars[order], len(keys), min_chars) == 1
    keeper = np.repeat(np.arange(len(order)), n_lines[order])
    held = keeper[keeps] * len(keys) + numbers[keeps]

    place = {ids[row]: k for k, row in enumerate(order.tolist())}
    stands_for = np.array([place.get(one, -1) for one in stand_for], np.int64)
    lines, document = _flat(found["lines"])
    owner = stands_for[document.to_numpy()]
    number = np.searchsorted(keys, lines.field("key").to_numpy())
    mask = (owner >= 0) & np.isin(owner * len(keys) + number, held)
    pairs = {
        (int(keys[k]), ids[row])
        for k, row in zip(number[mask].tolist(), document.to_numpy()[mask].tolist(), strict=True)
    }
    listed = sorted(pairs)
    return pa.table([[k for k, _ in listed], [d for _, d in listed]], schema=BOILERPLATE)


def _flat(lists: pa.ChunkedArray) -> tuple[pa.StructArray, pa.Array]:
    """Return the items of lists, and the row that each stands in."""
    whole = pa.concat_arrays([pa.array([], lists.type), *lists.chunks])
    return whole.flatten(), pc.list_parent_indices(whole)


def _grouped(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """One row a value of the first column, in order: documents summed, the rest as it is."""
    key, *others = schema.names
    how = [(name, "sum" if name == "documents" else "min") for name in others]
    summed = table.group_by(key, use_threads=False).aggregate(how)
    columns = [summed[key], *(summed[f"{name}_{way}"] for name, way in how)]
    return pa.table(columns, names=schema.names).sort_by(key).cast(schema).combine_chunks()
