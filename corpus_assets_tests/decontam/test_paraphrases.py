"""Items said in other words are found; pages on the same subject are not."""

import itertools
import json
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.decontam import embedders
from corpus_assets.decontam.contamination import scan_contamination
from corpus_assets.decontam.embedders import (
    PLUG_INS,
    StaticVectors,
    load_embedder,
    similarity,
    unit_vectors,
)
from corpus_assets.decontam.eval_index import (
    EvalIndex,
    EvalItem,
    build_eval_index,
    parse_eval_index,
)
from corpus_assets.decontam.paraphrases import Paraphrases, sentence_bounds
from corpus_assets.decontam.settings import (
    ContaminationSettings,
    EvalIndexSettings,
    ParaphraseScan,
    ParaphraseVerdict,
    ScanSettings,
    VerdictSettings,
)
from corpus_assets.decontam.stage import paraphrase_model
from corpus_assets.decontam.verdicts import count_items, cuts, dropped, judge
from corpus_assets_tests.decontam.support.static_model import write_static_model

TINY = EntryPoint("tiny", "corpus_assets_tests.decontam.support.tiny_embedder:TinyEmbedder", PLUG_INS)  # fmt: skip

BAKER = (
    "A baker in Lisbon sells 48 custard tarts every morning and half as many rolls. "
    "How many pieces of pastry does the baker sell in 7 days?"
)
BAKER_AGAIN = (
    "Every morning 48 custard tarts leave the shop of a Lisbon baker, together with rolls, of "
    "which there are half as many. Over 7 days, what is the number of pastry pieces sold?"
)
CELLS = (
    "Which organelle of a plant cell captures the energy of sunlight and stores it as sugar, and "
    "which pigment makes that organelle look green?"
)
CELLS_AGAIN = (
    "Name the organelle in which plants capture sunlight so that its energy is stored as sugar, "
    "and the pigment because of which such organelles are green in every plant cell."
)
JAPANESE = "日本の首都である東京には、毎年多くの観光客が浅草の寺院と市場を見るために訪れる。"
JAPANESE_AGAIN = "東京は日本の首都であり、毎年多くの観光客が訪れて浅草の寺院や市場を見ている。"
FILLER = "The committee met on Tuesday and agreed on very little. Nobody was surprised by that."
SAME_SUBJECT = {
    "another bakery": "Bakers of Lisbon have sold custard tarts and rolls for a century. A baker "
    "there makes pastry every morning, and visitors buy many pieces of it on holiday.",
    "other numbers": BAKER_AGAIN.replace("48", "60").replace("7 days", "9 days"),
    "photosynthesis": "Leaves are green because of chlorophyll. In the chloroplasts of a plant, light "
    "splits water, carbon dioxide becomes sugar, and roots and fruit live on what is left of it.",
}
TEXTBOOK = (
    "Every plant cell has a nucleus that stores its genes, and mitochondria that release energy. "
    "Leaves look green in sunlight, and sugar feeds the roots."
)
OTHERS = [  # so that words which every question has are known as such
    "Which of the rivers that flow into the North Sea is the longest, and where does it rise?",
    "A train leaves at noon and another leaves an hour later. When does it catch up with the first?",
    "Why is it that the sky looks blue at noon and red in the evening, as many have asked?",
    "What did the treaty that ended the war say, and which of the states did not sign it?",
    "If a rope is cut in half and each half is cut again, how many pieces are there in all?",
    "Who wrote the novel in which a captain hunts a whale, and in which year did it appear?",
]
MEANINGS = """baker bakers bakery shop
lisbon
tarts tart rolls pastry custard
sells sold sell leave
morning days
organelle organelles cell cells plant plants
capture captures stores stored
energy sunlight sugar
pigment green
日本の首都である東京には毎年多くの観光客が浅草の寺院と市場を見るために訪れる 東京は日本の首都であり毎年多くの観光客が訪れて浅草の寺院や市場を見ている
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(embedders, "entry_points", lambda group: [TINY])
    load_embedder.cache_clear()
    (tmp_path / "meanings.txt").write_text(MEANINGS, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def index() -> EvalIndex:
    texts = {"baker": BAKER, "cells": CELLS, "tokyo": JAPANESE}
    texts |= {f"other {number}": text for number, text in enumerate(OTHERS)}
    items = [EvalItem(name, "bench", text) for name, text in texts.items()]
    return parse_eval_index(build_eval_index(items, EvalIndexSettings()))


def documents(texts: list[str], chunk_rows: int = 100) -> pa.Table:
    chunks = [texts[i : i + chunk_rows] for i in range(0, len(texts), chunk_rows)]
    ids = pa.array([n.to_bytes(16, "big") for n in range(len(texts))], pa.binary(16))
    column = pa.chunked_array([pa.array(chunk, pa.large_string()) for chunk in chunks])
    return pa.table({"doc_id": ids, "text": column})


def found(index: EvalIndex, folder: Path, texts: list[str], chunk_rows: int = 100) -> pa.Table:
    settings = ParaphraseScan(engine="tiny", report_similarity=0.5)
    search = Paraphrases(index, load_embedder("tiny", folder), settings)
    whole = ScanSettings(near_misses=None, paraphrases=settings)
    return scan_contamination(documents(texts, chunk_rows), index, whole, search)


def test_paraphrased_items_are_found_with_their_places(index: EvalIndex, folder: Path) -> None:
    pages = [
        f"{FILLER}\n{again}\n{FILLER} {FILLER}"
        for again in (BAKER_AGAIN, CELLS_AGAIN, JAPANESE_AGAIN)
    ]
    hits = found(index, folder, pages)
    assert [(h["row"], h["item_id"], h["kind"]) for h in hits.to_pylist()] == [
        (0, "baker", "paraphrase"),
        (1, "cells", "paraphrase"),
        (2, "tokyo", "paraphrase"),
    ]
    assert min(hits["similarity"].to_pylist()) > 0.8
    assert not any(hits["confirmed"].to_pylist())  # its words were not compared as n-grams
    for page, places, again in zip(
        pages,
        hits["places"].to_pylist(),
        (BAKER_AGAIN, CELLS_AGAIN, JAPANESE_AGAIN),
        strict=True,
    ):
        shown = " ".join(page[place["start"] : place["end"]] for place in places)
        assert again in shown
        assert len(shown) < 2 * len(again)


def test_pages_on_the_same_subject_are_not(index: EvalIndex, folder: Path) -> None:
    pages = [f"{FILLER} {text} {FILLER}" for text in SAME_SUBJECT.values()]
    assert found(index, folder, [*pages, FILLER, "", "?!", "東京"]).num_rows == 0


def test_a_textbook_s_passage_with_most_of_the_words_and_the_meaning_is_one_to_look_at(
    index: EvalIndex, folder: Path
) -> None:
    assert found(index, folder, [TEXTBOOK])["item_id"].to_pylist() == ["cells"]
    strict = ParaphraseScan(engine="tiny", min_shared=0.8)
    search = Paraphrases(index, load_embedder("tiny", folder), strict)
    assert search.find(pa.array([TEXTBOOK])) == []
    assert len(search.find(pa.array([CELLS_AGAIN]))) == 1


def test_the_words_alone_and_the_meaning_alone_are_not_enough(
    index: EvalIndex, folder: Path
) -> None:
    vector = unit_vectors(
        load_embedder("tiny", folder), [BAKER.lower(), SAME_SUBJECT["another bakery"].lower()]
    )
    assert similarity(*vector) > 0.8  # near by its vector
    (folder / "meanings.txt").write_text("nothing\n", encoding="utf-8")
    load_embedder.cache_clear()
    shuffled = " ".join(sorted(BAKER.lower().rstrip("?").split()))
    settings = ParaphraseScan(engine="tiny", report_similarity=0.5)

    class Far:
        def embed(self, texts: list[str]) -> list[list[float]]:
            return [[1.0, 0.0] if "how many pieces" in text else [0.0, 1.0] for text in texts]

    search = Paraphrases(index, Far(), settings)
    assert search.find(pa.array([BAKER])) != []
    assert search.find(pa.array([shuffled])) == []


def test_a_long_page_is_searched_to_its_end_and_batches_change_nothing(
    index: EvalIndex, folder: Path
) -> None:
    long = f"{FILLER} " * 100
    texts = [long + BAKER_AGAIN + " " + long, CELLS_AGAIN, FILLER, JAPANESE_AGAIN, "a " * 5000]
    hits = found(index, folder, texts)
    assert hits["item_id"].to_pylist() == ["baker", "cells", "tokyo"]
    for rows in (1, 2, 3):
        assert found(index, folder, texts, rows).equals(hits)
    (alone,) = found(index, folder, [texts[0]]).to_pylist()
    assert alone | {"doc_id": b""} == hits.to_pylist()[0] | {"doc_id": b""}


class Same:
    """All texts mean the same."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0]] * len(texts)


def naive(index: EvalIndex, text: str, min_shared: float) -> list[tuple[int, int, int, int]]:
    """(item, weight shared, start, end), from every passage of every item."""
    items = [set(item.split()) for item in index.texts.to_pylist()]
    counts = Counter(word for item in items for word in item)
    weights = {word: (len(items) // n).bit_length() for word, n in counts.items()
               if n <= max(2, len(items) // 16) or word.isdigit()}  # fmt: skip
    bounds = sentence_bounds(text)
    sentences = [re.findall("[a-z0-9]+", text[start:end]) for start, end in bounds]
    lengths = [len(" ".join(words)) + 1 for words in sentences]
    found = []
    for number, item in enumerate(items):
        content = item & weights.keys()
        length = len(index.texts[number].as_py())
        size = next(math.isqrt(1 << c) for c in range(60) if length**4 < 2 ** (2 * c + 1))
        best = (0, 0, 0)
        for first in range(len(bounds)):
            sums = list(itertools.accumulate(lengths[first:]))
            below = [first + k for k, length in enumerate(sums, 1) if length < size]
            above = [first + k for k, length in enumerate(sums, 1) if length >= size]
            for last in [*below[-1:], *above[:1]]:
                words = {word for own in sentences[first:last] for word in own}
                is_near = size / 2 <= sums[last - first - 1] <= 2 * size
                has_numbers = all(word in words for word in content if word.isdigit())
                shared = sum(weights[word] for word in content & words)
                if is_near and has_numbers and shared > best[0]:
                    best = (shared, bounds[first][0], bounds[last - 1][1])
        total = sum(weights[word] for word in content)
        if len(content) >= 5 and best[0] and best[0] >= total * min_shared:
            found.append((number, *best))
    return found


def test_the_passage_that_shares_most_is_that_of_a_naive_search() -> None:
    draw = random.Random(3)
    rare = [f"{a}{b}{c}{d}" for a in "bcdfg" for b in "aeiou" for c in "klmnp" for d in "aeiou"]
    rare += ["17", "40", "8"]

    def sentences(most: int) -> list[list[str]]:
        return [draw.choices(rare, k=draw.randint(1, 14)) for _ in range(draw.randint(1, most))]

    def joined(own: list[list[str]]) -> str:
        return " ".join(" ".join(words) + "." for words in own)

    n_found = 0
    for _ in range(3):
        made = [sentences(draw.choice([2, 6, 60])) for _ in range(12)]
        items = [EvalItem(f"{n:03d}", "b", joined(own)) for n, own in enumerate(made)]
        index = parse_eval_index(build_eval_index(items, EvalIndexSettings()))
        parts = [joined(sentences(30)) for _ in range(4)]
        for own in made:
            left = [draw.sample(words, max(1, len(words) - draw.randint(0, 2))) for words in own]
            parts.append(joined(draw.sample(left, len(left))))
        page = " ".join(draw.sample(parts, len(parts)))
        share = draw.choice([0.3, 0.6, 0.9])
        search = Paraphrases(index, Same(), ParaphraseScan(min_shared=share))
        told = [(p.item, p.matched, p.start, p.end) for p in search.find(pa.array([page]))]
        assert told == naive(index, page, share)
        n_found += len(told)
    assert n_found > 10


def test_sentences_end_at_marks_of_any_script_and_cover_the_text() -> None:
    text = "Mr 3.5 said so. Did he?\n「はい。」そうです！終わり " + "x" * 1500 + " y" * 900
    pieces = [text[start:end] for start, end in sentence_bounds(text)]
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert pieces[:4] == ["Mr 3.5 said so.", " Did he?", "「はい。」", "そうです！"]
    assert max(map(len, pieces)) <= 1000
    assert sentence_bounds("") == []


# What follows.


def verdicts(hits: pa.Table, **settings: object) -> list[tuple[int, str, str]]:
    judged = judge(hits, VerdictSettings(paraphrases=ParaphraseVerdict(**settings)))  # type: ignore[arg-type]
    return [(h["row"], h["kind"], h["verdict"]) for h in judged.to_pylist()]


def test_a_paraphrase_is_for_review_or_dropped_for_its_own_reason(
    index: EvalIndex, folder: Path
) -> None:
    hits = found(index, folder, [BAKER_AGAIN, BAKER, f"{BAKER} {FILLER} {CELLS_AGAIN}"])
    kinds = [(h["row"], h["kind"]) for h in hits.to_pylist()]
    assert kinds == [
        (0, "paraphrase"), (1, "paraphrase"), (1, "text"),
        (2, "paraphrase"), (2, "paraphrase"), (2, "text"),
    ]  # fmt: skip
    assert verdicts(hits) == [
        (0, "paraphrase", "near_miss"),
        (1, "text", "drop"),  # the item stands there: nothing is said of it in other words
        (2, "paraphrase", "near_miss"),
        (2, "text", "drop"),
    ]
    settings = VerdictSettings(paraphrases=ParaphraseVerdict(action="drop"))
    reasons = {row["row"]: row["reason"] for row in dropped(judge(hits, settings), settings).to_pylist()}  # fmt: skip
    assert reasons == {0: "paraphrases_eval_item", 1: "contains_eval_item", 2: "contains_eval_item"}
    cut = judge(hits, VerdictSettings(paraphrases=ParaphraseVerdict(action="cut")))
    assert sorted(cuts(cut)) == [0, 2]
    ids = [bytes([row]) * 16 for row in range(3)]
    said = {(ids[0], "bench", "baker"): "keep", (ids[2], "bench", "cells"): "drop"}
    told = judge(hits, settings, judgements=said, text_ids=ids)
    assert told.filter(pa.compute.equal(told["kind"], "paraphrase"))["verdict"].to_pylist() == [
        "keep",
        "drop",
    ]
    held = judge(hits, settings, training=("bench",))
    assert held["verdict"].to_pylist() == ["held_back"] * 4
    texts = pa.chunked_array([pa.array(ids, pa.binary(16))])
    assert count_items(hits, texts, VerdictSettings()).num_rows == 2  # quotations alone


def test_another_similarity_is_asked_of_the_same_rows(index: EvalIndex, folder: Path) -> None:
    hits = found(index, folder, [BAKER_AGAIN, CELLS_AGAIN])
    low, high = sorted(hits["similarity"].to_pylist())
    assert len(verdicts(hits, min_similarity=round(low, 4))) == 2  # as it was rounded, included
    assert len(verdicts(hits, min_similarity=round(high, 4))) == 1
    assert verdicts(hits, min_similarity=1.0) == []
    assert judge(hits, VerdictSettings()).num_rows == 0
    one, other = (
        ContaminationSettings.model_validate({"paraphrases": {"model": "m", **more}})
        for more in ({}, {"min_similarity": 0.9, "action": "drop"})
    )
    assert one.scan.identity() == other.scan.identity()
    assert one.verdict.identity() != other.verdict.identity()
    with pytest.raises(ValueError, match="min_similarity\n.*greater than or equal to 0.6"):
        ContaminationSettings.model_validate({"paraphrases": {"model": "m", "min_similarity": 0.1}})


def test_settings_without_it_are_what_they_were() -> None:
    plain = ContaminationSettings()
    for part in (plain, plain.scan, plain.verdict, plain.common):
        assert "paraphrases" not in json.dumps(part.identity())


# Vectors.


WORDS = {"sun": [1, 0.25], "star": [0.9, 0.3], "tax": [-0.2, 1]}


@pytest.mark.parametrize("dtype", ["<f2", "<f4"])
def test_static_vectors_are_means_of_known_tokens(tmp_path: Path, dtype: str) -> None:
    write_static_model(tmp_path, WORDS, dtype)
    vectors = unit_vectors(StaticVectors(tmp_path), ["sun unheard star", "star sun", "tax", ""])
    assert similarity(vectors[0], vectors[1]) == 1.0
    mean = np.array([1.9, 0.55])
    tax = np.array([-0.2, 1.0])
    cosine = mean @ tax / np.linalg.norm(mean) / np.linalg.norm(tax)
    assert similarity(vectors[0], vectors[2]) == pytest.approx(cosine, abs=2e-3)
    assert similarity(vectors[0], vectors[3]) == 0.0


def test_similarities_are_those_of_floating_point_to_three_decimals() -> None:
    given = np.random.default_rng(5).normal(size=(40, 300))
    given[20:] = given[:20] + given[20:] / 3

    class Given:
        def embed(self, texts: list[str]) -> np.ndarray:
            return given

    vectors = unit_vectors(Given(), [""] * 40)
    norms = np.linalg.norm(given, axis=1)
    for i in range(20):
        plain = given[i] @ given[i + 20] / norms[i] / norms[i + 20]
        assert similarity(vectors[i], vectors[i + 20]) == pytest.approx(plain, abs=1e-3)


def test_a_model_that_cannot_be_used_says_what_it_must_be(folder: Path) -> None:
    with pytest.raises(ModelError, match="is not a static embedding model"):
        load_embedder("static", folder)
    write_static_model(folder, WORDS, "<i4")
    with pytest.raises(ModelError, match="not one matrix of floating point numbers"):
        load_embedder("static", folder)
    write_static_model(folder, WORDS, mapping={"shape": [4], "dtype": "I64"})
    with pytest.raises(ModelError, match="holds embeddings, mapping, not one matrix"):
        load_embedder("static", folder)
    write_static_model(folder, WORDS | {"sun": [float("inf"), 0]})
    with pytest.raises(ModelError, match="numbers that are not finite"):
        load_embedder("static", folder)
    few = (folder / "tokenizer.json").read_bytes()
    write_static_model(folder, {"sun": [1, 0]})
    (folder / "tokenizer.json").write_bytes(few)
    with pytest.raises(ModelError, match="it has 2 rows, fewer than tokens"):
        load_embedder("static", folder)
    with pytest.raises(ModelError, match="no plug-in runs the engine 'gone'; known: static, tiny"):
        load_embedder("gone", folder)

    class Wrong:
        def embed(self, texts: list[str]) -> list[list[float]]:
            return [[float("nan")]] * len(texts)

    with pytest.raises(ModelError, match="a row of finite numbers for each"):
        unit_vectors(Wrong(), ["one"])


def test_a_model_of_one_file_is_refused(tmp_path: Path) -> None:
    class Graph:
        """As much of a pipeline as naming the model takes."""

        recipe = SimpleNamespace(
            suites=("one",),
            contamination=ContaminationSettings.model_validate({"paraphrases": {"model": "m"}}),
        )

        def model(self, *named: object) -> tuple[Path, str]:
            return tmp_path / "model.bin", "0" * 64

    pipeline: Any = Graph()
    with pytest.raises(ModelError, match="model m is a file: install the folder"):
        paraphrase_model(pipeline)
    pipeline.recipe = SimpleNamespace(suites=(), contamination=pipeline.recipe.contamination)
    assert paraphrase_model(pipeline) is None
