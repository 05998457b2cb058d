"""Drift: a snapshot against those of its source before it."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import ValidationError

from corpus_assets.core.home import Home
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.recipe.operations import DriftBounds, DriftSettings
from corpus_assets.session import open_session
from corpus_assets.versions.drift import Shape, drift_checks, drift_lines, shape_of
from corpus_assets_tests.conftest import Place


@contextmanager
def opened(place: Place, **drift: Any) -> Iterator[Pipeline]:
    overrides = {f"drift.{key}": value for key, value in drift.items()}
    with open_session(str(place.recipe), Home.resolve(str(place.home)), 1, overrides) as session:
        yield session.pipeline


def shape(kept: int, **languages: int) -> Shape:
    return Shape(documents=100, kept=kept, languages=Counter(languages))


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        (shape(10, en=10), shape(20, en=20), 0.0),
        (shape(10, en=10), shape(5, de=5), 1.0),
        (shape(10, en=5, de=5), shape(4, en=3, fr=1), 0.5),
        (shape(10, en=9, de=1), shape(10, en=8, de=2), 0.1),
    ],
)
def test_the_distance_of_languages_is_half_the_sum_of_differences(
    one: Shape, other: Shape, distance: float
) -> None:
    assert one.language_distance(other) == pytest.approx(distance)
    assert other.language_distance(one) == pytest.approx(distance)


def test_shapes_of_several_snapshots_add_up(small_build: Place) -> None:
    with opened(small_build) as pipeline:
        first, second = (shape_of(pipeline, n, "quality_score") for n in ("crawl-1", "crawl-2"))
        assert second.documents == 23
        assert second.quality is not None
        both = Shape()
        both.add(first)
        both.add(second)
        assert both.documents == first.documents + second.documents
        assert both.languages == first.languages + second.languages
        assert both.quality == pytest.approx(
            (first.score_sum + second.score_sum) / (first.scored + second.scored)
        )


def test_the_first_snapshot_of_a_source_has_nothing_to_stand_against(small_build: Place) -> None:
    with opened(small_build, min_documents=1) as pipeline:
        for snapshot in ("crawl-1", "books-1"):
            outcomes = drift_checks(pipeline, snapshot)
            assert all(outcome.passed for outcome in outcomes)
            assert outcomes[0].message == "no snapshot of its source before it"


def test_few_documents_say_nothing(small_build: Place) -> None:
    with opened(small_build) as pipeline:
        outcomes = drift_checks(pipeline, "crawl-2")
    *drift, shares = outcomes
    assert {outcome.message for outcome in drift} == {"too few documents to compare"}
    assert shares.name == "shares"
    assert all(outcome.passed for outcome in outcomes)


def test_bounds_decide_between_silence_warning_and_error(small_build: Place) -> None:
    tight = {"survival": {"warn": 0.0}, "languages": {"warn": 0.0, "error": 0.0}}
    with opened(small_build, min_documents=1, **tight, quality={"warn": 0.9}) as pipeline:
        survival, languages, quality, _ = drift_checks(pipeline, "crawl-2")
        assert (survival.passed, survival.is_warning) == (False, True)
        assert "warning above 0" in survival.message
        assert survival.numbers["survival_change"] == pytest.approx(
            survival.numbers["survival"] - survival.numbers["survival_before"], abs=1e-4
        )
        assert quality.passed
        assert set(quality.numbers) == {"mean_quality", "mean_quality_before", "quality_change"}
        assert languages.numbers["language_distance"] == 0  # all that is kept is English
        assert languages.passed
        lines = drift_lines(pipeline)
    assert len(lines) == 1
    assert lines[0].startswith("warning: crawl-2: ")
    with opened(small_build, min_documents=1, survival={"error": 0.0}) as pipeline:
        survival = drift_checks(pipeline, "crawl-2")[0]
        assert (survival.passed, survival.is_warning) == (False, False)


def test_a_signal_that_nobody_computes_is_said_to_be_absent(small_build: Place) -> None:
    with opened(small_build, min_documents=1, quality_signal="no_such") as pipeline:
        quality = drift_checks(pipeline, "crawl-2")[2]
    assert quality.passed
    assert quality.message == "no kept document has a no_such"


def test_bounds_are_no_part_of_the_identity(small_build: Place) -> None:
    with opened(small_build) as loose, opened(small_build, survival={"warn": 0.5}) as strict:
        assert loose.recipe != strict.recipe
        assert loose.recipe.digest == strict.recipe.digest
        tasks = [p.tasks("selection", "crawl-2")[0].fingerprint for p in (loose, strict)]
        assert tasks[0] == tasks[1]


def test_bounds_out_of_order_are_refused() -> None:
    with pytest.raises(ValidationError, match="warn 0.5 is above error 0.2"):
        DriftBounds(warn=0.5, error=0.2)
    assert DriftSettings().survival.error is None
