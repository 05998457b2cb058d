"""No line of a site is lost by cleaning, whatever the site looks like: recipes, poems, code,
changelogs, forums, wrapped paragraphs, frames."""

import random
import textwrap
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.clean.boilerplate import Boilerplate
from corpus_assets.clean.clean_text import clean_documents
from corpus_assets.clean.settings import BoilerplateSettings, CleanTextSettings
from corpus_assets.core.schemas import DOC_ID
from corpus_assets_tests.clean.test_boilerplate import resolved
from corpus_assets_tests.small_corpus import prose

SHARED = {
    "recipe": ["1 teaspoon salt", "2 cups all-purpose flour", "2 large eggs", "1 cup of milk"],
    "poem": [
        "The tide came in at seven",
        "and went again at nine,",
        "the boats were counted twice;",
    ],
    "code": ["import numpy as np", "from django.db import models", "return render(request, page)"],
    "log": ["Fixed a crash at startup", "Updated all translations", "Version 1.2 of the program"],
    "quiz": ["All of the above", "None of these at all", "The second and third"],
    "forum": ["Does anybody know how the lock opens in winter?", "Posted by the keeper"],
    "wrapped": textwrap.wrap(prose("wrapped", 1, sentences=4), 35),
    "frame": ["The Harbour Gazette", "Subscribe to our newsletter", "All rights reserved by us"],
}


def a_page(draw: random.Random, number: int) -> str:
    """A page of some of it in any order, often with a frame around it."""
    kinds = draw.sample(sorted(SHARED), draw.randint(1, 3))
    lines = [f"Page number {number}"] if draw.random() < 0.7 else []
    for kind in kinds:
        some = SHARED[kind]
        listed = some if draw.random() < 0.5 else draw.sample(some, draw.randint(1, len(some)))
        mark = draw.choice(["", "", "- ", "    ", "| "])
        lines += [mark + line for line in listed]
    if draw.random() < 0.8:
        lines += [prose("own", number % 3 if draw.random() < 0.3 else number, sentences=2)]
    frame = SHARED["frame"]
    if draw.random() < 0.8:
        lines = [*frame[: draw.randint(0, 2)], *lines, *frame[2 - draw.randint(0, 2) :]]
    return "\n".join(lines)


def a_site(seed: int) -> pa.Table:
    draw = random.Random(seed)
    texts = [a_page(draw, i) for i in range(draw.randint(6, 24))]
    return pa.table(
        {
            "doc_id": pa.array([draw.randbytes(16) for _ in texts], DOC_ID),
            "domain": ["web"] * len(texts),
            "host": [draw.choice(["a.org", "a.org", "b.org"]) for _ in texts],
            "fetched_at": [f"2024-03-{draw.randint(1, 28):02d}T00:00:00Z" for _ in texts],
            "text": pa.array(texts, pa.large_string()),
        }
    )


def cleaned(
    table: pa.Table, lines: Boilerplate, own: CleanTextSettings
) -> tuple[pa.Table, pa.Table]:
    labels = pa.chunked_array([pa.array(["x"] * table.num_rows)])
    final, _, _, told = clean_documents(table, labels, labels, lines, own)
    return final, told


def lines_of(texts: pa.ChunkedArray) -> set[str]:
    return {line.strip() for text in texts.to_pylist() for line in text.split("\n") if line.strip()}


RULES: list[Callable[[], BoilerplateSettings]] = [
    lambda: BoilerplateSettings(min_documents=2, min_share=0.2, min_chars=1),
    lambda: BoilerplateSettings(),
    lambda: BoilerplateSettings(min_documents=2, min_share=0, min_chars=1, bucket="snapshot"),
]


@pytest.mark.parametrize("rule", range(len(RULES)), ids=["frame", "default", "anywhere"])
@given(st.integers(0, 10**9))
@settings(max_examples=30, deadline=None)
def test_every_line_of_a_kept_document_is_in_one_after_cleaning(rule: int, seed: int) -> None:
    own = CleanTextSettings(
        boilerplate=RULES[rule](), min_chars=40, scrub={"by_domain": {"web": {"phone": "leave"}}}
    )
    table = a_site(seed)
    long_enough = [len(text.strip()) >= own.min_chars for text in table["text"].to_pylist()]
    table = table.filter(pa.array(long_enough))
    final, told = cleaned(table, resolved([table], settings=own.boilerplate), own)
    if own.boilerplate.is_frame:
        assert final.num_rows == table.num_rows, "none is emptied"
    kept_before = table.filter(pa.compute.is_in(table["doc_id"], final["doc_id"].combine_chunks()))
    assert lines_of(final["text"]) == lines_of(kept_before["text"])
    cut, kept = (set(pa.compute.list_flatten(told[n]).to_pylist()) for n in ("cut", "kept"))
    assert cut <= kept
    taken = np.array(told["lines"].to_pylist()).sum(axis=0)
    assert not taken[3:].any(), "no item, code or row is cut"


@given(st.integers(0, 10**9), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_a_document_that_leaves_changes_no_other(seed: int, which: int) -> None:
    own = CleanTextSettings(boilerplate=RULES[0](), min_chars=40)
    table = a_site(seed)
    lines = resolved([table], settings=own.boilerplate)
    whole, _ = cleaned(table, lines, own)
    gone = table["doc_id"][which % table.num_rows].as_py()
    rest, _ = cleaned(table.filter(pa.compute.not_equal(table["doc_id"], gone)), lines, own)
    assert rest.equals(whole.filter(pa.compute.not_equal(whole["doc_id"], gone)))


def test_sites_of_every_kind_are_among_those_that_are_drawn() -> None:
    texts = [text for seed in range(30) for text in a_site(seed)["text"].to_pylist()]
    for kind, lines in SHARED.items():
        assert any(lines[0] in text for text in texts), kind
