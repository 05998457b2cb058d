"""How many tokens a model wants, and how far a corpus goes.

- Compute-optimal: about 20 tokens a parameter (Hoffmann et al. 2022, "Training Compute-Optimal
  Large Language Models").
- Overtrained, for a model that is cheap to run: 1,875 tokens a parameter, as Llama 3 8B on 15
  trillion tokens (Grattafiori et al. 2024, "The Llama 3 Herd of Models").
- Between them, scaling laws were measured up to 32 times compute-optimal (Gadre et al. 2024,
  "Language models scale reliably with over-training and on downstream tasks").
- Training takes about 6 x parameters x tokens FLOPs (Kaplan et al. 2020, section 2.1).
- What repeated tokens are worth: Muennighoff et al. 2023, "Scaling Data-Constrained Language
  Models": up to four epochs are nearly as good as fresh text, later ones fade.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from catalog.answers import JSON_ONLY, Count, Shown
from catalog.figures import amount, short
from corpus_assets.core.home import Home
from corpus_assets.inspect.mix import MixSource, mix_source, newest_version
from corpus_assets.shards import MixRow, gathered_rows, mix_of

TOKENS_PER_PARAM: Mapping[str, float] = {"chinchilla": 20.0, "overtrain": 1875.0}
BANDS: Mapping[str, float] = {
    "compute-optimal": TOKENS_PER_PARAM["chinchilla"],
    "overtrained, as far as scaling laws were measured": 32 * TOKENS_PER_PARAM["chinchilla"],
    "overtrained, as Llama 3 8B": TOKENS_PER_PARAM["overtrain"],
}
FLOPS_PER_PARAM_AND_TOKEN = 6
REPEATS_WORTH = 15.387756
"""R*_D of Muennighoff et al.: after so many repeats, 1 - 1/e of what repeating can give is had."""


@dataclass(frozen=True)
class TokensWanted:
    """What a model wants, and by which rule."""

    regime: Annotated[str | None, JSON_ONLY]
    why: Annotated[str, JSON_ONLY]
    params: Annotated[float, Shown("parameters", amount)]
    tokens_per_param: Annotated[float, Shown("tokens per parameter", short)]
    overtraining: Annotated[float, Shown("times compute-optimal", short)]
    tokens_wanted: Count
    flops: Annotated[float, Shown("FLOPs (6 x parameters x tokens)", "{:.3g}".format)]

    @property
    def conclusion(self) -> str:
        return "There is no version yet; `corpus build` makes one to compare this with."


@dataclass(frozen=True)
class GroupPlan:
    """What a run asks of a group."""

    group: str
    tokens: Count
    share: Annotated[float, Shown(form="{:.2%}".format)]
    asked_tokens: Annotated[int, Shown("asked", amount)]
    epochs: Annotated[float, Shown(form="{:,.2f}".format)]
    allowed: float
    limit: Annotated[str, JSON_ONLY]
    worth_tokens: Annotated[int, Shown("worth", amount)]
    missing_tokens: Annotated[int, Shown("missing", amount)]
    fresh_tokens: Annotated[int, JSON_ONLY]


@dataclass(frozen=True)
class Band:
    """How far a model is trained beyond the compute-optimal, and what the stock is for it."""

    band: str
    tokens_per_param: Annotated[float, Shown("tokens per parameter", short)]
    tokens_wanted: Annotated[int, Shown("tokens wanted", amount)]
    epochs: Annotated[float | None, Shown(form="{:,.2f}".format)]
    largest_params: Annotated[int | None, Shown("largest model", amount)]
    """Parameters of the largest model that the longest run is enough for."""


@dataclass(frozen=True)
class TokenPlan(TokensWanted):
    """The demand on a corpus."""

    of: Annotated[str, Shown("compared with")]
    by: Annotated[str, JSON_ONLY]
    tokens_there: Count
    epochs: Annotated[float | None, Shown("epochs implied", "{:,.2f}".format)]
    worth_tokens: Annotated[int, JSON_ONLY]
    longest_run: Annotated[int | None, JSON_ONLY]
    missing_tokens: Annotated[int, JSON_ONLY]
    fresh_tokens: Annotated[int, JSON_ONLY]
    bands: tuple[Band, ...]
    groups: tuple[GroupPlan, ...]

    @property
    def conclusion(self) -> str:
        lines = ["Nothing is missing: the corpus covers this run within the allowed epochs."]
        if self.missing_tokens:
            lines = [
                f"Missing: {self.missing_tokens:,} tokens, with every group repeated as often as "
                f"the recipe allows. {self.fresh_tokens:,} new ones, repeated as often, would suffice.",
                f"The longest run with these weights is {self.longest_run:,} tokens; `corpus mix` "
                "tries others.",
            ]
        worth = (
            f"`worth`: what the repeated tokens are as good as, {amount(self.worth_tokens)} fresh "
            "ones in all (Muennighoff et al. 2023; about four epochs are nearly as good as fresh)."
        )
        return "\n".join([*lines, worth])


def wanted(params: float, regime: str, tokens_per_param: float | None = None) -> TokensWanted:
    """Return what a model of so many parameters wants, by a regime or by a ratio in its place."""
    ratio = tokens_per_param or TOKENS_PER_PARAM[regime]
    tokens = round(params * ratio)
    return TokensWanted(
        regime=None if tokens_per_param else regime,
        why=f"{ratio:,g} tokens per parameter" + ("" if tokens_per_param else f", regime {regime}"),
        params=params,
        tokens_per_param=ratio,
        overtraining=ratio / TOKENS_PER_PARAM["chinchilla"],
        tokens_wanted=tokens,
        flops=FLOPS_PER_PARAM_AND_TOKEN * params * tokens,
    )


def plan_tokens(
    home: Home,
    params: float,
    regime: str,
    tokens_per_param: float | None = None,
    version: str | None = None,
    by: str = "tier",
) -> TokensWanted:
    """Lay what a model wants on a version or recipe, by default on the newest version."""
    demand = wanted(params, regime, tokens_per_param)
    name = version or newest_version(home)
    return demand if name is None else plan_demand(demand, mix_source(home, name, {}), by)


def plan_demand(demand: TokensWanted, source: MixSource, by: str = "tier") -> TokenPlan:
    """Lay the demand on a corpus by the recipe's weights: epochs, and what is missing.

    `missing_tokens` of a group is what the run would draw beyond the epochs allowed;
    `fresh_tokens` how many new ones would do, each of them repeated as often as allowed.
    """
    settings = source.mixture.model_copy(update={"run_tokens": demand.tokens_wanted})
    mix = mix_of(source.groups, settings, source.seq_len)
    rows = tuple(_planned(row) for row in gathered_rows(mix.rows, by))
    there = sum(row.tokens for row in rows)
    return TokenPlan(
        **vars(demand),
        of=source.title,
        by=by,
        tokens_there=there,
        epochs=demand.tokens_wanted / there if there else None,
        worth_tokens=sum(row.worth_tokens for row in rows),
        longest_run=mix.longest_run,
        missing_tokens=sum(row.missing_tokens for row in rows),
        fresh_tokens=sum(row.fresh_tokens for row in rows),
        bands=_bands(demand.params, there, mix.longest_run),
        groups=rows,
    )


def _bands(params: float, there: int, longest_run: int | None) -> tuple[Band, ...]:
    return tuple(
        Band(
            band=name,
            tokens_per_param=ratio,
            tokens_wanted=round(params * ratio),
            epochs=params * ratio / there if there else None,
            largest_params=None if longest_run is None else int(longest_run / ratio),
        )
        for name, ratio in BANDS.items()
    )


def worth(tokens: float, epochs: float) -> float:
    """Return how many fresh tokens `epochs` passes over `tokens` are worth."""
    if epochs <= 1:
        return tokens * epochs
    repeats = epochs - 1
    return tokens * (1 + REPEATS_WORTH * (1 - math.exp(-repeats / REPEATS_WORTH)))


def _planned(row: MixRow) -> GroupPlan:
    missing = max(0, round(row.drawn_tokens - row.allowed * row.tokens))
    return GroupPlan(
        group=row.group,
        tokens=row.tokens,
        share=row.share,
        asked_tokens=row.drawn_tokens,
        epochs=row.epochs,
        allowed=row.allowed,
        limit=row.limit,
        worth_tokens=round(worth(row.tokens, row.epochs)),
        missing_tokens=missing,
        fresh_tokens=math.ceil(missing / row.allowed),
    )
