"""How many tokens a model wants, and how far a corpus goes.

- Compute-optimal: about 20 tokens a parameter (Hoffmann et al. 2022, "Training Compute-Optimal
  Large Language Models").
- Overtrained, for a model that is cheap to run: 1,875 tokens a parameter, as Llama 3 8B on 15
  trillion tokens (Grattafiori et al. 2024, "The Llama 3 Herd of Models").
- Training takes about 6 x parameters x tokens FLOPs (Kaplan et al. 2020, section 2.1).
- What repeated tokens are worth: Muennighoff et al. 2023, "Scaling Data-Constrained Language
  Models": up to four epochs are nearly as good as fresh text, later ones fade.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corpus_assets.shards.mixture import MixedGroup, MixtureSettings
from corpus_assets.shards.mixture_table import gathered_rows, mix_of

TOKENS_PER_PARAM: Mapping[str, float] = {"chinchilla": 20.0, "overtrain": 1875.0}
FLOPS_PER_PARAM_AND_TOKEN = 6
REPEATS_WORTH = 15.387756
"""R*_D of Muennighoff et al.: after so many repeats, 1 - 1/e of what repeating can give is had."""


@dataclass(frozen=True)
class Demand:
    """What a model wants."""

    params: float
    tokens_per_param: float

    @property
    def tokens(self) -> int:
        return round(self.params * self.tokens_per_param)

    @property
    def flops(self) -> float:
        return FLOPS_PER_PARAM_AND_TOKEN * self.params * self.tokens


def plan_tokens(
    demand: Demand,
    groups: Sequence[MixedGroup],
    settings: MixtureSettings,
    seq_len: int,
    by: str = "tier",
) -> dict[str, Any]:
    """Lay the demand on a corpus by the recipe's weights: epochs, and what is missing.

    `missing_tokens` of a group is what the run would draw beyond the epochs allowed;
    `fresh_tokens` how many new ones would do, each of them repeated as often as allowed.
    """
    mix = mix_of(groups, settings.model_copy(update={"run_tokens": demand.tokens}), seq_len)
    rows = [_row(row) for row in gathered_rows(mix.rows, by)]
    missing = sum(row["missing_tokens"] for row in rows)
    there = sum(row["tokens"] for row in rows)
    return {
        **wanted(demand),
        "tokens_there": there,
        "epochs": demand.tokens / there if there else None,
        "worth_tokens": sum(row["worth_tokens"] for row in rows),
        "longest_run": mix.longest_run,
        "missing_tokens": missing,
        "fresh_tokens": sum(row["fresh_tokens"] for row in rows),
        "groups": rows,
    }


def wanted(demand: Demand) -> dict[str, Any]:
    """Return the demand alone, as plain data."""
    return {
        "params": demand.params,
        "tokens_per_param": demand.tokens_per_param,
        "tokens_wanted": demand.tokens,
        "flops": demand.flops,
    }


def worth(tokens: float, epochs: float) -> float:
    """Return how many fresh tokens `epochs` passes over `tokens` are worth."""
    if epochs <= 1:
        return tokens * epochs
    repeats = epochs - 1
    return tokens * (1 + REPEATS_WORTH * (1 - math.exp(-repeats / REPEATS_WORTH)))


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    asked, tokens, allowed = row["drawn_tokens"], row["tokens"], row["allowed"]
    missing = max(0, round(asked - allowed * tokens))
    return {
        "group": row["group"],
        "tokens": tokens,
        "share": row["share"],
        "asked_tokens": asked,
        "epochs": row["epochs"],
        "allowed": allowed,
        "limit": row["limit"],
        "worth_tokens": round(worth(tokens, row["epochs"])),
        "missing_tokens": missing,
        "fresh_tokens": math.ceil(missing / allowed),
    }
