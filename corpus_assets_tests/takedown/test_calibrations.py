"""What pinned files may hold of a removed document."""

import pytest

from corpus_assets.core.lock import Lock, PinnedFile
from corpus_assets.stages import STAGES
from corpus_assets.takedown.run import may_hold


def lock(recipe: dict[str, object], *names: str) -> Lock:
    pins = {name: PinnedFile(name=name, bytes=1, sha256="ab") for name in names}
    return Lock(recipe=recipe, recipe_digest="cd", inputs={}, models={}, calibrations=pins)


BOUNDED = {
    "classifiers": {"a": {"train": {"min_documents": 5}}},
    "tokenizer": {"train": {"min_documents": 5}},
}


def test_a_sentence_stands_for_every_calibration_by_its_name_in_the_lock() -> None:
    names = [f"{node}/a" if node == "classifiers" else node for node in STAGES.calibrations]
    said = may_hold(lock(BOUNDED, *names, "boilerplate/crawl-1"))
    assert set(said) == {*names, "boilerplate/crawl-1"}
    assert all(said.values())


@pytest.mark.parametrize("name", ["classifiers/a", "tokenizer"])
def test_the_bound_is_that_of_the_lock(name: str) -> None:
    assert "5 or more" in may_hold(lock(BOUNDED, name))[name]


def test_a_tokenizer_from_elsewhere_holds_nothing_of_the_corpus() -> None:
    recipe = {"tokenizer": {"train": None, "sha256": "ef"}}
    assert may_hold(lock(recipe, "tokenizer"))["tokenizer"].startswith("no text of this corpus")
