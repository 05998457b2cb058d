"""What thresholds would keep at other values is what the rules, evaluated there, keep."""

import json

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.select.columns import Columns, failures
from corpus_assets.select.rules import Rule, SelectionSettings
from corpus_assets.versions.thresholds import (
    MOST_BOUNDS,
    Sample,
    Threshold,
    _counted,
    _most,
    thresholds,
)
from corpus_assets_tests.cli.test_commands import said
from corpus_assets_tests.conftest import VERSION, Place

RULES = (
    {"name": "short", "signal": "words", "min": 40, "max": 160},
    {"name": "repeats", "signal": "share", "max": 0.2, "exclusive": True},
    {"name": "score", "signal": "score", "min": 0.35, "exclusive": True, "domains": ["web"]},
    {"name": "marks", "signal": "score", "max": 0.9, "only_languages": ["en"]},
    {
        "name": "long",
        "signal": "n_chars",
        "min": 1000,
        "max": 8000,
        "languages": {"de": {"min": 700}, "fr": {"min": 4000, "max": 7000}, "it": {"min": 5}},
    },
)


def drawn(seed: int) -> pa.Table:
    """Signals with ties at the thresholds, and some that are absent."""
    draw, n = np.random.default_rng(seed), 400
    share = draw.choice(np.array([0.1, 0.2, 0.3, 0.05], np.float32), n)
    score = draw.integers(0, 101, n) / 100
    score[draw.random(n) < 0.05] = np.nan
    return pa.table(
        {
            "n_chars": pa.array(draw.integers(1, 9000, n)),
            "words": pa.array(draw.integers(1, 201, n)),
            "share": pa.array(share),
            "score": pa.array(score, from_pandas=True),
            "domain": pa.array(draw.choice(["web", "books"], n)),
            "language": pa.array(draw.choice(["en", "de", "fr"], n)),
        }
    )


@pytest.mark.parametrize("seed", range(3))
def test_every_place_of_every_threshold_counts_what_the_rules_keep_there(seed: int) -> None:
    settings = SelectionSettings.model_validate({"rules": RULES})
    columns = Columns(drawn(seed))
    chars = columns.numbers("n_chars").astype(np.int64)
    failed = failures(columns, settings, {})
    names = np.array([rule.name for rule in settings.rules])
    alone = [str(names[row][0]) if row.sum() == 1 else None for row in failed.T]
    kept = ~failed.any(axis=0)
    sample = Sample(columns, chars, kept, pa.array(alone, pa.string()), columns.n)
    moved = [(k, one) for k, rule in enumerate(settings.rules) for one in thresholds(rule)]
    assert len(moved) == 5 + 6
    nobody = [one for _, one in moved if not _counted(sample, one, sample.held_to(one))]
    assert [one.language for one in nobody] == ["it"]
    for k, one in moved:
        for counted in _counted(sample, one, sample.held_to(one)):
            assert counted["values"][counted["now"]] == one.now
            assert counted["documents"][counted["now"]] == kept.sum()
            for at, value in enumerate(counted["values"]):
                other = moved_to(one, value)
                rules = [*settings.rules[:k], other, *settings.rules[k + 1 :]]
                changed = settings.model_copy(update={"rules": tuple(rules)})
                passing = ~failures(columns, changed, {}).any(axis=0)
                assert counted["documents"][at] == passing.sum(), (one, value)
                assert counted["chars"][at] == chars[passing].sum(), (one, value)


def moved_to(one: Threshold, value: float) -> Rule:
    """Return the rule with one of its thresholds at another place."""
    if one.language is None:
        return one.rule.model_copy(update={one.end: value})
    own = one.rule.languages[one.language].model_copy(update={one.end: value})
    return one.rule.model_copy(update={"languages": {**one.rule.languages, one.language: own}})


def test_of_many_bounds_those_are_counted_that_most_documents_are_held_to() -> None:
    spoken = [f"l{k:02d}" for k in range(20)]
    rule = {"name": "short", "signal": "n_chars", "min": 5,
            "languages": {name: {"min": 3} for name in spoken}}  # fmt: skip
    settings = SelectionSettings.model_validate({"rules": [rule]})
    language = [name for k, name in enumerate(spoken) for _ in range(k + 1)]
    n = len(language)
    columns = Columns(
        pa.table({"n_chars": pa.array([9] * n), "domain": ["web"] * n, "language": language})
    )
    kept = np.ones(n, np.bool_)
    sample = Sample(columns, np.full(n, 9), kept, pa.nulls(n, pa.string()), n)
    counted = _most(sample, settings.rules[0])
    assert [one["language"] for one in counted] == spoken[-MOST_BOUNDS:]


def test_a_published_version_has_the_counts_that_whatif_gives(
    small_build: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = json.loads((small_build.store / f"versions/{VERSION}/thresholds.json").read_bytes())
    assert stored["other_rules"] == ["language", "few_words"]
    for one in stored["thresholds"]:
        at = len(one["values"]) // 2
        change = f"selection.rules.{one['rule']}.{one['end']}={one['values'][at]}"
        command = ("whatif", str(small_build.recipe), "--home", str(small_build.home), "--json")
        answer = json.loads(said(capsys, *command, "--pin-cutoffs", "--set", change))
        assert answer["selection"]["documents"]["after"] == one["documents"][at]
