"""Compare the shares that a recipe asks with those that the phases of a manifest give."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from corpus_assets.shards.curve import exact
from corpus_assets.shards.mixture import RequestedMix, requested_mix
from corpus_assets.shards.mixture_settings import HELD_BACK, MixedGroup, MixtureSettings
from corpus_assets.shards.mixture_tree import AskedShare
from corpus_loader.manifest import Phase


@dataclass(frozen=True)
class ShareMet:
    """A share that was asked for, of a phase or of the run, and the one there is."""

    phase: str
    key: str
    asked: float
    got: float
    missing_tokens: int
    problem: str | None  # None where it is met, up to whole samples and blocks
    has_no_text: bool = False

    @property
    def is_foreseeable(self) -> bool:
        """Whether it asks for nothing that only later stages than selection give."""
        return not {"copies", HELD_BACK} & set(self.key.split("."))

    def line(self) -> str:
        """Tell what is wrong with it."""
        if not self.asked:
            return f"{self.key} gets nothing: {self.problem}"
        fewer = f" ({self.missing_tokens:,} tokens fewer)" if self.missing_tokens > 0 else ""
        return f"{self.key} gets {self.got:.2%} instead of {self.asked:.2%}{fewer}: {self.problem}"


def shares_met(
    groups: Sequence[MixedGroup], settings: MixtureSettings, seq_len: int, phases: Sequence[Phase]
) -> tuple[ShareMet, ...]:
    """Compare every share of every phase, and the phases' shares of the run."""
    requested = requested_mix(groups, settings, seq_len)
    fills = {g.id: Fraction(g.tokens, g.samples) for g in requested.groups}
    made = {phase.name: phase for phase in phases}
    blocks = {name: _tokens(phase.counts, fills) for name, phase in made.items()}
    run = sum((phase.blocks * blocks[phase.name] for phase in phases), Fraction(0))
    if not run:
        return ()
    found = list(_phase_shares(settings, made, blocks, run))
    for place, name in enumerate(requested.phases):
        if name in made:
            for share in requested.shares[place]:
                found.append(
                    _met(requested, place, made[name], blocks[name], share, fills, seq_len)
                )
    return tuple(found)


def _tokens(counts: Mapping[str, int], fills: Mapping[str, Fraction]) -> Fraction:
    return sum((count * fills[name] for name, count in counts.items()), Fraction(0))


def _phase_shares(
    settings: MixtureSettings,
    made: Mapping[str, Phase],
    blocks: Mapping[str, Fraction],
    run: Fraction,
) -> Iterator[ShareMet]:
    for phase in settings.phases:
        asked = exact(phase.share)
        is_there = phase.name in made
        got = made[phase.name].blocks * blocks[phase.name] / run if is_there else Fraction(0)
        problem = None
        if not is_there:
            problem = "there is no text of what it draws"
        elif asked * run < blocks[phase.name] / 2:
            problem = (
                f"it has {made[phase.name].blocks} whole blocks of "
                f"{sum(each.blocks for each in made.values())}; lower block_samples"
            )
        missing = round((asked - got) * run)
        key = f"phases.{phase.name}.share"
        yield ShareMet(phase.name, key, float(asked), float(got), missing, problem)


def _met(
    requested: RequestedMix,
    place: int,
    phase: Phase,
    block: Fraction,
    share: AskedShare,
    fills: Mapping[str, Fraction],
    seq_len: int,
) -> ShareMet:
    counts = {name: phase.counts.get(name, 0) for name in share.groups}
    got = _tokens(counts, fills) / block
    ideal = requested.ideals[place]
    wanted = sum((ideal[name] for name in share.groups), Fraction(0))
    levels = share.key.count("shares") + share.key.count("inside")
    problem = None
    if not share.share:
        problem = "the other shares sum to 1; give it one, 0 leaves it out"
    elif not share.groups:
        problem = "there is no text of it, and the others get its share"
    elif not wanted:
        problem = "tiers, weights or shares inside leave out all that there is of it"
    elif wanted < 1 and not any(counts.values()):
        enough = ceil(sum(phase.counts.values()) / wanted)
        problem = f"less than a sample in a block; raise block_samples to {enough:,}"
    elif (share.share - got) * block > levels * seq_len:
        problem = "its groups may not be seen more often; raise max_epochs, or shorten the run"
    key = ".".join((f"phases.{phase.name}", *share.key))
    missing = round((share.share - got) * block * phase.blocks)
    is_empty = not share.groups
    return ShareMet(phase.name, key, float(share.share), float(got), missing, problem, is_empty)
