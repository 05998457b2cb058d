"""Paragraphs that go because most of their n-grams stand in what is kept before them."""

from typing import Any

import numpy as np

from textkernels.compiled import kernel


@kernel
def paragraph_offsets(data: Any, offsets: Any) -> tuple[Any, Any]:
    """Where each line of each text begins, and last where all end; and the first line of each text,
    and last how many there are. int64. A line ends behind its line feed; an empty text has one."""
    n_lines = offsets.size - 1
    for text in range(offsets.size - 1):
        for i in range(offsets[text], offsets[text + 1] - 1):
            n_lines += data[i] == 10
    starts, firsts = np.empty(n_lines + 1, np.int64), np.empty(offsets.size, np.int64)
    line = 0
    for text in range(offsets.size - 1):
        firsts[text] = line
        starts[line] = offsets[text]
        line += 1
        for i in range(offsets[text], offsets[text + 1] - 1):
            if data[i] == 10:
                starts[line] = i + 1
                line += 1
    firsts[offsets.size - 1] = line
    starts[line] = offsets[offsets.size - 1]
    return starts, firsts


@kernel
def going_paragraphs(
    grams: Any,
    places: Any,
    rows: Any,
    totals: Any,
    firsts: Any,
    document_totals: Any,
    ranks: Any,
    kept_by: Any,
    share: float,
    learns: bool,
) -> Any:
    """uint8[p]: 1 for each paragraph that goes.

    Document d, whose rank is `ranks[d]`, has the paragraphs `firsts[d]:firsts[d + 1]`; paragraph p
    has the grams numbered `grams[rows[p]:rows[p + 1]]`, each `places` times, of `totals[p]` in all,
    and the document `document_totals[d]`. `kept_by` is the rank of the document that keeps a gram.

    1. Of a document with more than `share` of its grams kept by documents of lower rank, all goes.
    2. Of any other, each paragraph goes that has more than `share` of its grams kept by documents
       of lower rank, or in a paragraph of its own that stays.
    3. With `learns`, what stays keeps its grams, where no document of lower rank does; documents
       come in the order of their ranks then. int64 throughout.
    """
    goes = np.zeros(totals.size, np.uint8)
    kept_in = np.full(kept_by.size, -1, np.int64)  # the document that was last seen to keep a gram
    for d in range(ranks.size):
        seen = 0
        for k in range(rows[firsts[d]], rows[firsts[d + 1]]):
            if kept_by[grams[k]] < ranks[d]:
                seen += places[k]
        if seen > share * document_totals[d]:
            goes[firsts[d] : firsts[d + 1]] = 1
            continue
        for p in range(firsts[d], firsts[d + 1]):
            seen = 0
            for k in range(rows[p], rows[p + 1]):
                if kept_by[grams[k]] < ranks[d] or kept_in[grams[k]] == d:
                    seen += places[k]
            if seen > share * totals[p]:
                goes[p] = 1
                continue
            for k in range(rows[p], rows[p + 1]):
                kept_in[grams[k]] = d
                if learns and kept_by[grams[k]] > ranks[d]:
                    kept_by[grams[k]] = ranks[d]
    return goes
