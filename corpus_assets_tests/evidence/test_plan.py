"""Plans and arms: what is hashed before the first run, and how documents become samples."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence.arms import (
    Document,
    apportion,
    choose,
    copies_key,
    make_arm,
    reach_of,
    start_of,
)
from corpus_assets.evidence.compare import even_overlap, even_places, overlap
from corpus_assets.evidence.heldout import make_heldout
from corpus_assets.evidence.plan import Plan, parse_plan
from corpus_assets.evidence.run import wanted_runs
from corpus_assets_tests.evidence.tiny import heldout_rows, tiny_encoder, tiny_plan


@pytest.fixture(scope="module")
def plan() -> Plan:
    return tiny_plan(("clean", "other"), make_heldout(heldout_rows()), tiny_encoder())


def test_a_plan_has_one_form_and_every_change_of_it_another_digest(plan: Plan) -> None:
    assert parse_plan(plan.dump()) == plan
    changes: list[dict[str, Any]] = [
        {"seeds": (1, 2, 3)}, {"learning_rates": (2e-3,)}, {"heldout": "1" * 64},
        {"code": "1" * 64}, {"budgets": (512,)}, {"rule": plan.rule.model_copy(update={"margin": 0.1})},
    ]  # fmt: skip
    digests = {plan.model_copy(update=change).digest() for change in changes}
    assert len(digests | {plan.digest()}) == len(changes) + 1


def test_a_plan_whose_steps_are_not_whole_is_refused(plan: Plan) -> None:
    body = plan.identity()
    for change, said in (
        ({"proxy": body["proxy"] | {"tokens": 2049}}, "must be a? ?multiples? of batch_tokens"),
        ({"budgets": [100]}, "must be a? ?multiples? of batch_tokens"),
        ({"baseline": "nobody"}, "not one of the arms"),
        ({"seeds": [1, 1]}, "named twice"),
        ({"speed": 1}, "speed"),
    ):
        with pytest.raises(EvidenceError, match=said):
            parse_plan(body | change)


def test_runs_of_a_seed_stand_together_and_the_baseline_has_its_budgets(plan: Plan) -> None:
    more = plan.model_copy(update={"learning_rates": (1e-3, 1e-4), "budgets": (512, 1024)})
    runs = [
        (run.seed, run.arm, run.learning_rate, run.tokens) for run in wanted_runs(more.identity())
    ]
    assert runs[:4] == [(1, "clean", 1e-3, 2048), (1, "other", 1e-3, 2048),
                        (1, "clean", 1e-4, 2048), (1, "other", 1e-4, 2048)]  # fmt: skip
    assert runs[4:6] == [(1, "clean", 1e-3, 512), (1, "clean", 1e-3, 1024)]
    assert len(runs) == len(set(runs)) == 12


def some(count: int, group: str = "s/text/all", size: int = 10) -> list[Document]:
    return [Document(bytes([i]) * 16, group, np.full(size, i, np.int32)) for i in range(count)]


def test_documents_are_chosen_by_their_ids_alone_and_a_filtered_pool_keeps_its_part() -> None:
    pool = some(200)
    for start in (0, start_of(9, (7, 8, 9))):
        chosen = choose(pool, start, 500, None)
        assert len(chosen) == 50
        assert choose(pool[::-1], start, 500, None) == chosen
        filtered = [document for document in pool if document.doc_id[0] % 2]
        kept = choose(filtered, start, None, reach_of(chosen, start))
        assert {d.doc_id for d in kept} == {d.doc_id for d in chosen if d.doc_id[0] % 2}
    with pytest.raises(EvidenceError, match="plan fewer"):
        choose(pool, 0, 2001, None)


def test_copies_of_a_text_are_drawn_together() -> None:
    rng = np.random.default_rng(4)
    texts = [rng.integers(0, 500, 200).astype(np.int32) for _ in range(120)]
    near = [np.where(rng.random(200) < 0.01, 7, text).astype(np.int32) for text in texts]
    pool = []
    for number, pair in enumerate(zip(texts, near, strict=True)):
        for copy in range(10):  # every text has five copies and five near ones
            pool.append(Document(rng.bytes(16), str(number), pair[copy % 2]))
    least: dict[int, bytes] = {}
    for one in pool:
        key = copies_key(one.tokens)
        least[key] = min(one.doc_id, least.get(key, one.doc_id))
    together = [replace(one, drawn_with=least[copies_key(one.tokens)]) for one in pool]

    seeds, size = (1, 2, 3, 4, 5, 6, 7, 8), sum(len(text) for text in texts)
    for documents, low, high in ((pool, 1.0, 2.5), (together, 7.5, 10.0)):
        copies = []
        for seed in seeds:
            chosen = choose(documents, start_of(seed, seeds), size, None)
            copies.append(len(chosen) / len({one.group for one in chosen}))
        assert low < sum(copies) / len(copies) <= high


def test_seeds_have_documents_of_their_own_as_long_as_there_are_enough() -> None:
    pool = some(200)
    seeds = (5, 6, 7, 8)
    for tokens, most in ((400, 0.1), (1000, 0.4), (1500, 0.75)):
        drawn = [
            {d.doc_id for d in choose(pool, start_of(seed, seeds), tokens, None)} for seed in seeds
        ]
        common = [len(a & b) / len(a) for a, b in itertools.combinations(drawn, 2)]
        assert sum(common) / 6 <= most
        planned = overlap(even_places(4), tokens / 2000)
        assert planned == pytest.approx(even_overlap(4, tokens / 2000))
        assert sum(common) / 6 == pytest.approx(planned, abs=0.1)


def test_an_arm_has_exactly_its_samples_and_the_shares_of_its_groups() -> None:
    found = some(60, "a/web/high") + some(20, "b/code/all")
    arm = make_arm(found, {"a/web/high": 0.5, "b/code/all": 0.5}, 100, 8)
    assert arm.samples == {"a/web/high": 75, "b/code/all": 25}
    drawn = arm.sample_numbers(1024, seed=3)
    is_code = drawn >= 75
    assert is_code.sum() == 512  # half of the run, from a quarter of the samples
    counts = np.bincount(drawn, minlength=100)
    assert counts[75:].max() - counts[75:].min() <= 1
    order = arm.order(1024, 3)
    at = order.positions_of("b/code/all", 4)  # and the formula says when a sample was seen
    assert (drawn[at] == 75 + 4).all()
    assert len(at) == counts[79]
    assert (arm.sample_numbers(1024, seed=4) != drawn).any()


def test_numbers_are_split_by_weight_with_one_at_least() -> None:
    assert apportion(10, {"a": 0.999, "b": 0.001}) == {"a": 9, "b": 1}
    assert sum(apportion(257, {str(i): i + 1 for i in range(9)}).values()) == 257
    with pytest.raises(EvidenceError):
        apportion(1, {"a": 1, "b": 1})
