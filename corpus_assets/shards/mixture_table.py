"""Tabulate a mix: what is there, what a run draws, how often, what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from corpus_assets.core.errors import RecipeError
from corpus_assets.shards.mixture import phases_from, requested_mix
from corpus_assets.shards.mixture_check import ShareMet, shares_met
from corpus_assets.shards.mixture_settings import MixedGroup, MixtureSettings
from corpus_loader.manifest import Phase, join_labels

OWN = ("group", "source", "tier", "domain")
"""What rows can be gathered by, besides the labels of their groups."""


@dataclass(frozen=True)
class DrawnGroup:
    """A group: what is there, and what a run draws."""

    group: str
    domain: str
    source: str
    tier: str
    labels: dict[str, str]
    samples: int
    tokens: int
    drawn_samples: int
    drawn_tokens: int
    share: float
    epochs: float


@dataclass(frozen=True, kw_only=True)
class MixRow(DrawnGroup):
    """A group, or several as one, with the epochs allowed and its shares of the phases."""

    allowed: float
    limit: str
    phases: dict[str, float]


@dataclass(frozen=True)
class MixPhase:
    """A phase of a run."""

    name: str
    blocks: int
    tokens: int


@dataclass(frozen=True)
class Mix:
    """A recipe's mix over the groups there are. Where it is refused, `problem` says why, the
    rows are what was asked for, and there are no phases to draw from."""

    rows: tuple[MixRow, ...]
    phases: tuple[MixPhase, ...]
    problem: str | None
    run_tokens: int
    longest_run: int | None
    """Tokens of the longest run with these weights inside all limits."""
    shares: tuple[ShareMet, ...]  # asked and got; none where the mix is refused
    unseen: tuple[str, ...]  # groups too small for one sample in a block
    block_samples: int
    block_samples_for_all: int  # a block in which every group has a sample


def mixture_rows(groups: Sequence[MixedGroup], phases: Sequence[Phase]) -> list[DrawnGroup]:
    """Return one row a group, for display: what is there, what the run draws, and how often."""
    draws = {
        group.id: Fraction(sum(phase.blocks * phase.counts.get(group.id, 0) for phase in phases))
        for group in groups
    }
    return _rows(groups, draws)


def mix_of(groups: Sequence[MixedGroup], settings: MixtureSettings, seq_len: int) -> Mix:
    """Compute what a run over a corpus would see; costs milliseconds, reads nothing."""
    requested = requested_mix(groups, settings, seq_len)
    problem: str | None = None
    met: tuple[ShareMet, ...] = ()
    counts: list[dict[str, Fraction]] = list(requested.ideals)
    try:
        made = phases_from(groups, settings, seq_len)
        counts = [{name: Fraction(n) for name, n in phase.counts.items()} for phase in made]
        met = shares_met(groups, settings, seq_len, made)
    except RecipeError as error:
        problem = str(error)
    draws = {group.id: Fraction(0) for group in groups}
    by_phase: dict[str, dict[str, Fraction]] = {}
    for name, blocks, count in zip(requested.phases, requested.blocks, counts, strict=True):
        by_phase[name] = {group.id: blocks * count.get(group.id, Fraction(0)) for group in groups}
        for group in groups:
            draws[group.id] += by_phase[name][group.id]
    rows = _rows(groups, draws)
    shares = {
        name: {row.group: row.share for row in _rows(groups, drawn)}
        for name, drawn in by_phase.items()
    }
    limits = {group.id: settings.limit(group) for group in groups}
    wanted = [value for ideal in requested.ideals for value in ideal.values() if value]
    asked = {group.id for group in requested.groups if requested.draws(group)}
    return Mix(
        rows=tuple(
            MixRow(
                **vars(row),
                allowed=limits[row.group][0],
                limit=limits[row.group][1],
                phases={name: share[row.group] for name, share in shares.items()},
            )
            for row in rows
        ),
        phases=tuple(
            _phase(groups, name, blocks, by_phase[name])
            for name, blocks in zip(requested.phases, requested.blocks, strict=True)
        ),
        problem=problem,
        run_tokens=requested.run_tokens,
        longest_run=requested.longest_run(settings),
        shares=met,
        unseen=tuple(sorted(name for name in asked if not draws[name])),
        block_samples=settings.block_samples,
        block_samples_for_all=-(-settings.block_samples // min(wanted)) if wanted else 1,
    )


def gathered_rows(rows: Sequence[MixRow], by: str) -> list[MixRow]:
    """Rows of `mix_of`, those of one domain, or one tier, source or label of it as one row."""
    if by == "group":
        return list(rows)
    known = (*OWN, *sorted({name for row in rows for name in row.labels}))
    if by not in known:
        raise RecipeError(
            f"groups cannot be gathered by {by!r}; use {', '.join(known)}, or divide them by it "
            "in shards.group_by"
        )
    found: dict[str, list[MixRow]] = {}
    for row in rows:
        own = {"source": row.source, "tier": row.tier, "domain": row.domain}
        value = own[by] if by in own else join_labels({by: row.labels.get(by, "none")})
        name = value if by == "domain" else f"{row.domain}/{value}"
        found.setdefault(name, []).append(row)
    return [_gathered(name, members) for name, members in sorted(found.items())]


def _gathered(name: str, members: Sequence[MixRow]) -> MixRow:
    tokens, drawn = sum(one.tokens for one in members), sum(one.drawn_tokens for one in members)
    tightest = min(members, key=lambda one: (one.allowed, one.limit))
    return replace(
        tightest,
        group=name,
        source=members[0].source,
        tier=members[0].tier,
        labels={},
        samples=sum(one.samples for one in members),
        tokens=tokens,
        drawn_samples=sum(one.drawn_samples for one in members),
        drawn_tokens=drawn,
        share=sum(one.share for one in members),
        epochs=drawn / tokens if tokens else 0.0,
        phases={name: sum(one.phases[name] for one in members) for name in tightest.phases},
    )


def _rows(groups: Sequence[MixedGroup], draws: dict[str, Fraction]) -> list[DrawnGroup]:
    drawn = {
        group.id: draws[group.id] * group.tokens / group.samples if group.samples else Fraction(0)
        for group in groups
    }
    total = sum(drawn.values(), Fraction(0))
    return [
        DrawnGroup(
            group=group.id,
            domain=group.domain,
            source=group.source,
            tier=group.tier,
            labels=dict(group.labels),
            samples=group.samples,
            tokens=group.tokens,
            drawn_samples=round(draws[group.id]),
            drawn_tokens=round(drawn[group.id]),
            share=float(drawn[group.id] / total) if total else 0.0,
            epochs=float(draws[group.id] / group.samples) if group.samples else 0.0,
        )
        for group in sorted(groups, key=lambda group: group.id)
    ]


def _phase(
    groups: Sequence[MixedGroup], name: str, blocks: int, draws: dict[str, Fraction]
) -> MixPhase:
    return MixPhase(name, blocks, sum(row.drawn_tokens for row in _rows(groups, draws)))
