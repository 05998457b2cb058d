"""What thresholds would keep at other values is what the rules, evaluated there, keep."""

import json

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.select.columns import Columns, failures
from corpus_assets.select.rules import SelectionSettings
from corpus_assets.versions.thresholds import Sample, _counted
from corpus_assets_tests.cli.test_commands import said
from corpus_assets_tests.conftest import VERSION, Place

RULES = (
    {"name": "short", "signal": "words", "min": 40, "max": 160},
    {"name": "repeats", "signal": "share", "max": 0.2, "exclusive": True},
    {"name": "score", "signal": "score", "min": 0.35, "exclusive": True, "domains": ["web"]},
    {"name": "marks", "signal": "score", "max": 0.9, "only_languages": ["en"]},
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
            "language": pa.array(draw.choice(["en", "de"], n)),
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
    ends = [(k, end) for k, rule in enumerate(RULES) for end in ("min", "max") if end in rule]
    assert len(ends) == 5
    for k, end in ends:
        rule = settings.rules[k]
        (counted,) = _counted(sample, rule, end)
        assert counted["values"][counted["now"]] == RULES[k][end]
        assert counted["documents"][counted["now"]] == kept.sum()
        for at, value in enumerate(counted["values"]):
            other = rule.model_copy(update={end: value})
            rules = [*settings.rules[:k], other, *settings.rules[k + 1 :]]
            changed = settings.model_copy(update={"rules": tuple(rules)})
            passing = ~failures(columns, changed, {}).any(axis=0)
            assert counted["documents"][at] == passing.sum(), (rule.name, end, value)
            assert counted["chars"][at] == chars[passing].sum(), (rule.name, end, value)


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
