"""Families that rewrite text: what later signals see, what final text is, and the way back."""

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from catalog.formats.token_text import extracted_range
from corpus_assets.clean.clean_text import clean_documents
from corpus_assets.clean.edits import Edit, apply_edits
from corpus_assets.clean.pinned_lines import Boilerplate
from corpus_assets.clean.rewriting import Left, compose, edits_of_extracted, rewrite_documents
from corpus_assets.clean.settings import CleanTextSettings
from corpus_assets.signals.published.c4_lines import C4Lines
from corpus_assets.signals.stages.settings import SignalSettings
from corpus_assets.signals.stages.signals import compute_signals
from corpus_assets.signals.text_step import Rewriting, TextStep, cut
from corpus_assets.text.batch import TextBatch
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_line_ends, random_pages
from corpus_assets_tests.signals.test_signals import documents

NO_LINES = Boilerplate(np.empty(0, np.uint64))
MENU = "Home | About | Contact"
BODY = "The ferry left at noon, as it did on every day[1] of that year."
LAST = "Nobody on the pier had expected to see it come back so early!"
PAGE = f"{MENU}\n{BODY}\n\n  {LAST}  \nRead more"
KEPT = f"{BODY.replace('[1]', '')}\n{LAST}"


class EveryOther(TextStep):
    """Keeps every other character: a second step with many pieces."""

    version: ClassVar[int] = 1
    family: Literal["every_other"] = "every_other"

    def columns(self) -> dict[str, pa.DataType]:
        return {}

    def rewrite(self, batch: TextBatch) -> Rewriting:
        pieces: list[tuple[int, int]] = []
        rows = [0]
        for d, text in enumerate(batch.texts.to_pylist()):
            at = int(batch.offsets[d])
            for number, character in enumerate(text):
                width = len(character.encode())
                if number % 2 == 0:
                    pieces.append((at, at + width))
                at += width
            rows.append(len(pieces))
        table = np.array(pieces, dtype=np.int64).reshape(-1, 2)
        places = np.array(rows, dtype=np.int64)
        return Rewriting(cut(batch, table, places), table, places, self.record_batch({}))


def families(*entries: dict[str, Any]) -> SignalSettings:
    return SignalSettings.model_validate({"families": entries})


def test_later_families_see_what_a_step_leaves_and_earlier_ones_do_not() -> None:
    settings = families({"family": "gopher_quality"}, {"family": "c4_lines"}, {"family": "fineweb"})
    row = compute_signals(documents([PAGE]), settings, {}).to_pylist()[0]
    assert row["n_words"] == len(PAGE.split())
    assert (row["c4_lines"], row["c4_kept_lines"], row["c4_unfinished_lines"]) == (4, 2, 2)
    assert row["terminal_line_share"] == 1.0
    assert row["n_chars"] == len(PAGE)


def test_a_step_leaves_other_domains_alone_and_its_signals_null() -> None:
    settings = families({"family": "c4_lines", "domains": ["web"]}, {"family": "gopher_quality"})
    table = documents([PAGE, PAGE, PAGE])
    table = table.set_column(1, "domain", pa.array(["code", "web", "code"]))
    rows = compute_signals(table, settings, {}).to_pylist()
    assert [row["c4_kept_lines"] for row in rows] == [None, 2, None]
    assert [row["n_words"] for row in rows] == [len(text.split()) for text in (PAGE, KEPT, PAGE)]


def test_a_step_for_no_domain_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        families({"family": "c4_lines", "domains": []})


def clean(text: str, steps: Sequence[TextStep], min_chars: int = 1) -> dict[str, Any] | None:
    table = pa.table({"doc_id": [b"x" * 16], "domain": ["web"], "host": ["a.org"], "text": [text]})
    tiers = languages = pa.chunked_array([["all"]])
    final, reasons, *_ = clean_documents(
        table, tiers, languages, NO_LINES, CleanTextSettings(min_chars=min_chars), steps
    )
    row: dict[str, Any] | None = final.to_pylist()[0] if reasons[0] is None else None
    return row


def test_final_text_is_what_the_steps_leave_with_edits_of_the_extracted_text() -> None:
    row = clean(PAGE, [C4Lines()])
    assert row is not None
    assert row["text"] == KEPT
    cuts = [Edit(edit["start"], edit["end"], "", edit["kind"]) for edit in row["edits"]]
    assert apply_edits(PAGE, cuts) == KEPT
    edits = [(edit["start"], edit["end"], edit["new_length"]) for edit in row["edits"]]
    start = KEPT.index("Nobody")
    low, high = extracted_range(edits, start, start + 6)
    assert PAGE[low:high] == "Nobody"


def test_a_text_of_which_nothing_is_left_is_dropped() -> None:
    assert clean(f"{MENU}\nRead more", [C4Lines()]) is None


def test_personal_data_that_a_cut_joins_is_found() -> None:
    text = "Write to the old keeper at anna[1]@example.org before the first of May."
    row = clean(text, [C4Lines()])
    assert row is not None
    assert row["text"] == "Write to the old keeper at <email> before the first of May."
    assert row["scrubbed"] == [("email", 1)]
    (edit,) = row["edits"]
    assert text[edit["start"] : edit["end"]] == "anna[1]@example.org"


def test_every_text_is_cut_the_same_way_for_signals_and_for_final_text() -> None:
    texts = [*ADVERSARIAL[:12], *ADVERSARIAL[15:], *random_pages(seed=11, n=400)]
    texts += random_line_ends(seed=11, n=200)
    step = C4Lines(end_marks="", min_words=1)
    left = rewrite_documents(texts, ["web"] * len(texts), [step])
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    assert [item.text for item in left if item] == step.rewrite(batch).left.texts.to_pylist()
    for text, item in zip(texts, left, strict=True):
        assert item is not None
        whole = apply_edits(text, edits_of_extracted(len(text), item, []))
        assert item.text == whole
        assert len(item.text) == sum(b - a for a, b in item.kept)


def test_steps_after_each_other_lead_back_to_the_first_text() -> None:
    texts = [text for text in ADVERSARIAL if len(text) < 2_000] + random_pages(seed=12, n=200)
    texts += random_line_ends(seed=12, n=50)
    steps = [C4Lines(end_marks="", min_words=1), EveryOther(), EveryOther()]
    for text, item in zip(
        texts, rewrite_documents(texts, ["web"] * len(texts), steps), strict=True
    ):
        assert item is not None
        once = rewrite_documents([text], ["web"], steps[:1])[0]
        assert once is not None
        assert item.text == once.text[::2][::2]
        assert item.text == apply_edits(text, edits_of_extracted(len(text), item, []))


def stretches_of(draw: random.Random, n: int) -> list[tuple[int, int]]:
    places = sorted(draw.sample(range(n + 1), 2 * draw.randrange(n // 2 + 1)))
    return [(a, b) for a, b in zip(places[::2], places[1::2], strict=True) if a < b]


@given(st.integers(0, 10**9))
def test_edits_of_what_is_left_are_edits_of_the_whole(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choices("abcdefgh", k=draw.randrange(40)))
    kept = stretches_of(draw, len(text))
    left = "".join(text[a:b] for a, b in kept)
    edits = [Edit(a, b, draw.choice(["", "<x>"]), "x") for a, b in stretches_of(draw, len(left))]
    feeds = [at for a, b in kept for at in range(a, b) if draw.random() < 0.3]
    left = "".join("\n" if at in feeds else text[at] for a, b in kept for at in range(a, b))
    found = edits_of_extracted(len(text), Left(left, kept, feeds), edits)
    assert apply_edits(text, found) == apply_edits(left, edits)
    assert all(one.end <= other.start for one, other in pairwise(found))


@given(st.integers(0, 10**9))
def test_stretches_compose(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choices("abcdefgh", k=draw.randrange(40)))
    first = stretches_of(draw, len(text))
    once = "".join(text[a:b] for a, b in first)
    second = stretches_of(draw, len(once))
    both = compose(first, second)
    assert "".join(text[a:b] for a, b in both) == "".join(once[a:b] for a, b in second)
