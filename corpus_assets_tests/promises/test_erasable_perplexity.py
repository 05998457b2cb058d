"""P4 with a language model: it is pinned, so erasing a document changes no one else's perplexity."""

import pytest

from corpus_assets_tests.promises.erasure.case import Erasure, Kit
from corpus_assets_tests.promises.test_erasable_random import kit  # noqa: F401, a fixture

PIN = "perplexity_models"


def _with_a_model(shared: Kit) -> Erasure:
    """The first random corpus whose recipe has one."""
    for seed in range(200_000, 200_100):
        case = Erasure(seed, shared)
        if case.corpus.recipes[0].perplexity:
            return case
    raise AssertionError("no recipe has a language model")


@pytest.mark.slow
def test_erasing_under_a_pinned_model_equals_never_having_read(kit: Kit) -> None:  # noqa: F811
    """`run` compares each takedown with a build from scratch under the same lock, file by file."""
    case = _with_a_model(kit)
    seen = []
    carry_out = case.carry_out

    def watched(number: int, asked: list) -> None:  # type: ignore[type-arg]
        carry_out(number, asked)
        line = case.lines[0]
        pins = line.now.version.lock.calibrations
        seen.append((pins[PIN].sha256, line.now.pipeline.tasks("perplexity_model")))

    case.carry_out = watched  # type: ignore[method-assign]
    counts = case.run(batches=3)
    assert counts["cases"] >= 3
    assert len({pin for pin, _ in seen}) == 1, "the model stays the lock's"
    assert not any(tasks for _, tasks in seen), "and is not trained again"
