"""Tokens wanted, tokens there, tokens missing."""

import pytest

from corpus_assets.inspect.mix import MixSource
from corpus_assets.inspect.token_plan import plan_demand, wanted, worth
from corpus_assets.shards.mixture_settings import MixtureSettings
from corpus_assets_tests.shards.test_mixture import SEQ_LEN, WEB_AND_CODE, mix


def source(settings: MixtureSettings) -> MixSource:
    return MixSource("version v1", tuple(WEB_AND_CODE), settings, SEQ_LEN)


def test_the_published_ratios_give_the_published_runs() -> None:
    chinchilla = wanted(70e9, "chinchilla")
    assert chinchilla.tokens_wanted == 1_400_000_000_000  # Chinchilla itself
    llama = wanted(8e9, "overtrain")
    assert llama.tokens_wanted == 15_000_000_000_000
    assert llama.flops == pytest.approx(7.2e23)


def test_a_corpus_that_is_large_enough_misses_nothing() -> None:
    answer = plan_demand(wanted(40_000, "chinchilla"), source(mix()))
    assert answer.tokens_wanted == 800_000 == answer.tokens_there
    assert answer.epochs == 1
    assert answer.missing_tokens == answer.fresh_tokens == 0


def test_what_is_missing_is_counted_after_the_epochs_allowed() -> None:
    setting = mix(max_epochs={"default": 2, "domain": {"code": 1}})
    answer = plan_demand(wanted(160_000, "chinchilla"), source(setting))
    rows = {row.group: row for row in answer.groups}
    code = rows["code/mid"]
    assert code.asked_tokens == 800_000  # a quarter of 3.2 million
    assert code.epochs == 4.0
    assert code.missing_tokens == code.fresh_tokens == 600_000
    high = rows["web/high"]
    assert high.missing_tokens == 1_600_000 - 2 * 200_000
    assert high.fresh_tokens == high.missing_tokens // 2
    assert answer.missing_tokens == sum(row.missing_tokens for row in answer.groups)
    assert answer.longest_run is not None
    assert answer.longest_run < answer.tokens_wanted


def test_repeated_tokens_fade_slowly_up_to_four_epochs_and_fast_beyond() -> None:
    assert worth(100, 0.5) == 50
    assert worth(100, 1) == 100
    assert worth(100, 4) > 0.9 * 400
    assert worth(100, 16) < 0.75 * 1600
    assert worth(100, 1000) == pytest.approx(100 * 16.387756, rel=1e-6)


def test_bands_lay_the_stock_against_the_budget() -> None:
    """800,000 tokens there; a quarter is code, of 200,000 tokens, and may be seen four times."""
    answer = plan_demand(wanted(40_000, "chinchilla"), source(mix()))
    assert answer.overtraining == 1
    assert [(band.tokens_per_param, band.tokens_wanted, band.epochs) for band in answer.bands] == [
        (20, 800_000, 1), (640, 25_600_000, 32), (1875, 75_000_000, 93.75),
    ]  # fmt: skip
    assert answer.longest_run is not None
    assert [band.largest_params for band in answer.bands] == [
        int(answer.longest_run / ratio) for ratio in (20, 640, 1875)
    ]
    assert wanted(8e9, "overtrain").overtraining == 93.75
