"""How small models decide about versions: the section `evidence` of a recipe."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from corpus_assets.core.identity import Settings

LEARNING_RATES = (1e-3, 5e-4)
"""The main one first: paired seeds spread a fifth as much at it as at twice it (`benchmarks/evidence.py`).
The other below it: rankings at a reduced rate are those of large models (arXiv 2512.24503)."""

Share = Annotated[float, Field(ge=0, lt=1)]
Rate = Annotated[float, Field(gt=0, lt=1)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]


class Proxy(Settings):
    """The small model that stands for a large one, and what it is given."""

    size: Literal["nano", "5M", "17M", "59M"] = Field(
        default="17M", description="parameters, with a vocabulary of 8,192"
    )
    tokens: int = Field(default=40 * 2**20, ge=1, description="training tokens, with repetitions")
    unique_tokens: int = Field(default=10 * 2**20, ge=1, description="distinct tokens among them")
    sequence: int = Field(default=1024, ge=16, description="tokens per sample")
    batch_tokens: int = Field(default=2**14, ge=16, description="tokens per step")
    protocol: Literal["unique", "pool", "anneal"] = Field(
        default="unique",
        description="`unique`: every arm has this many unique tokens; `pool`: the baseline has, and "
        "other arms have what they keep of the same documents; `anneal`: the baseline has, and other "
        "arms are half of the samples while its model cools down",
    )

    @model_validator(mode="after")
    def _fits(self) -> "Proxy":
        if self.batch_tokens % self.sequence:
            raise ValueError("batch_tokens must be a multiple of sequence")
        if self.tokens % self.batch_tokens:
            raise ValueError("tokens must be a multiple of batch_tokens")
        if self.protocol == "anneal" and self.batch_tokens < 2 * self.sequence:
            raise ValueError("batch_tokens must be two samples or more for the protocol anneal")
        if self.unique_tokens % self.sequence:
            raise ValueError("unique_tokens must be a multiple of sequence")
        return self


class ComparisonRule(Settings):
    """When a comparison with the baseline lets a version be released."""

    margin: Share = Field(
        default=0.005, description="how much worse a domain may be, as a share of bits per byte"
    )
    confidence: float = Field(default=0.95, gt=0.5, lt=1, description="confidence of all intervals")
    must_not_regress: tuple[str, ...] = Field(
        default=("all",), description="domains to guard by the margin; `all`: every one"
    )
    unless: dict[str, Share] = Field(default={}, description="other margins by domain")
    min_signal: float = Field(
        default=20.0,
        ge=0,
        description="least gain of a domain between the baseline's smallest and full budget, in "
        "standard deviations between seeds; domains with less are left out (needs `budgets`; 0: none)",
    )


class Runs(Settings):
    """Which models are trained of every arm."""

    proxy: Proxy = Field(default=Proxy(), description="the model and its tokens")
    learning_rates: tuple[Rate, ...] = Field(
        default=LEARNING_RATES, min_length=1, description="the main one first; a verdict needs two"
    )
    seeds: tuple[Seed, ...] = Field(
        default=(1, 2, 3, 4), min_length=1, description="one model each, the same for every arm"
    )
    budgets: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(), description="tokens of further runs of the baseline, for its curve"
    )


class EvidenceSettings(Runs):
    """Models decide: a version stays a candidate until a comparison with the baseline lets it go."""

    baseline: str = Field(
        default="previous",
        description="the version to compare with; `previous`: the newest released one of the "
        "recipe, and no evidence where there is none yet",
    )
    heldout: str | None = Field(
        default=None,
        description="YAML file of the held-out set, relative to the recipe; enables the asset "
        "`proxy_runs`",
    )
    gate: ComparisonRule = Field(default=ComparisonRule(), description="the decision rule")
