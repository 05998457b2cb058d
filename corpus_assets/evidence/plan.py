"""The plan of a comparison: all that decides it, hashed before the first run.

A plan names its arms by the digests of their manifests, the held-out set, tokenizer and code by
theirs, and the rule by which the result will be read. Each run carries the plan's digest; one that
is not in the plan, or that other code made, is listed by `strays`.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from corpus_assets.core.errors import EvidenceError
from corpus_assets.core.identity import Name, Settings, canonical_json, is_absent
from corpus_assets.evidence.results import Run
from corpus_assets.evidence.run import wanted_runs
from corpus_assets.evidence.schedule import annealed_positions
from corpus_assets.recipe import ComparisonRule, Runs

Format = Literal["corpus-evidence-plan/1"]
FORMAT: Format = "corpus-evidence-plan/1"
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ArmRef(Settings):
    """A version by name and content."""

    version: str
    manifest: Digest
    tokens: int | None = Field(
        default=None,
        ge=1,
        exclude_if=is_absent,
        description="of the version, of which every seed draws its own documents; none: every seed "
        "has the same, and what is found holds for these documents alone",
    )


class Choice(Settings):
    """The value of a recipe key that an arm stands for."""

    key: str
    value: Any


class Sweep(Settings):
    """What a plan is for that looks for values of recipe keys (`halving`)."""

    recipe: str
    recipe_digest: Digest
    present: tuple[Choice, ...] = Field(description="of the baseline, one a key")
    choices: dict[Name, Choice] = Field(
        description="of the other arms; else they are as the baseline"
    )
    rounds: tuple[tuple[int, ...], ...] = Field(description="seeds of each round")

    def families(self, baseline: str) -> dict[str, list[str]]:
        """Return the arms of each key, the baseline first."""
        found = {one.key: [baseline] for one in self.present}
        for arm, choice in self.choices.items():
            found[choice.key].append(arm)
        return found


class Plan(Runs):
    """Arms, runs and rule of one comparison."""

    format: Format = FORMAT
    baseline: Name
    arms: dict[Name, ArmRef]
    heldout: Digest
    tokenizer: Digest
    rule: ComparisonRule = ComparisonRule()
    code: Digest
    sweep: Sweep | None = Field(default=None, exclude_if=is_absent)

    @model_validator(mode="after")
    def _fits(self) -> "Plan":
        if self.baseline not in self.arms:
            raise ValueError(f"the baseline {self.baseline} is not one of the arms")
        if any(tokens % self.proxy.batch_tokens for tokens in self.budgets):
            raise ValueError("budgets must be multiples of batch_tokens")
        for what in (self.learning_rates, self.seeds, self.budgets):
            if len(set(what)) != len(what):
                raise ValueError("a learning rate, seed or budget is named twice")
        return self

    def dump(self) -> bytes:
        """Return the one byte string that stands for this plan."""
        return canonical_json(self.identity())

    def digest(self) -> str:
        """Return SHA-256 of `dump()`."""
        return hashlib.sha256(self.dump()).hexdigest()

    @property
    def positions(self) -> int:
        """Samples that the longest run of the plan sees."""
        return max(self.proxy.tokens, *self.budgets, 0) // self.proxy.sequence

    def anneals(self, arm: str) -> bool:
        """Whether an arm is trained from where the baseline's model begins to cool down."""
        return self.proxy.protocol == "anneal" and arm != self.baseline

    def positions_of(self, arm: str) -> int:
        """Samples of its own that an arm's longest run sees."""
        if not self.anneals(arm):
            return self.positions
        proxy = self.proxy
        return annealed_positions(
            proxy.tokens // proxy.batch_tokens, proxy.batch_tokens // proxy.sequence
        )

    def samples_of(self, arm: str) -> int:
        """Distinct samples that each seed of an arm has: one that anneals repeats them as often as
        the baseline does."""
        proxy = self.proxy
        samples = proxy.unique_tokens // proxy.sequence
        own = self.positions_of(arm) * proxy.sequence
        return math.ceil(samples * own / proxy.tokens) if self.anneals(arm) else samples


def parse_plan(data: bytes | Mapping[str, Any], name: str = "plan.json") -> Plan:
    """Read a plan's bytes, or plain values; `name` is for the message when it is none."""
    try:
        if isinstance(data, bytes):
            return Plan.model_validate_json(data)
        return Plan.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(step) for step in first["loc"]) or "plan"
        raise EvidenceError(
            f"{name} is not a plan at {place}: {first['msg']}; correct it"
        ) from error


def strays(plan: Plan, runs: Iterable[Run]) -> Iterator[str]:
    """Yield how results differ from what was planned: one sentence each."""
    wanted = {
        (run.arm, run.learning_rate, run.seed, run.tokens) for run in wanted_runs(plan.identity())
    }
    seen = set()
    for run in runs:
        key = (run.arm, run.learning_rate, run.seed, run.tokens)
        seen.add(key)
        if run.plan != plan.digest():
            yield f"{run.name} was made for another plan, {run.plan[:16]}"
        elif key not in wanted or run.size != plan.proxy.size:
            yield f"{run.name} is not in the plan"
        elif run.code != plan.code:
            yield f"{run.name} was made by different code, {run.code[:16]}"
    if wanted - seen and plan.sweep is None:  # whose rounds say which are run
        yield f"{len(wanted - seen)} of {len(wanted)} planned runs have no result"
