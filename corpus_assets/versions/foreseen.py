"""Foresee whether a mixture can be met: as soon as selection is done, before a token is computed.

Tokens are estimated from the characters of selected documents. What deduplication,
decontamination and cleaning still take away is not known yet, so there will rather be fewer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from corpus_assets.core import files
from corpus_assets.core.errors import CorpusError, MissingInput
from corpus_assets.core.schemas import LABELS
from corpus_assets.core.task import read_table
from corpus_assets.graph import Pipeline
from corpus_assets.shards import MixedGroup, mix_of
from corpus_assets.versions.version import shard_groups
from corpus_loader.manifest import group_id, split_labels

CHARS_PER_TOKEN = 4.0
"""Assumed where no held-out text says better: about that of English web text."""
PARTS_READ = 32
"""Parts of a snapshot whose columns are read; the others count by their documents."""


@dataclass(frozen=True)
class Foreseen:
    """A mixture over groups that are there, or estimated."""

    is_estimate: bool
    is_assumed: bool  # the characters of a token, in an estimate
    tokens: int
    problem: str | None  # why it cannot be met, with the ways out

    def line(self) -> str | None:
        """Tell what is wrong with it."""
        if self.problem is None:
            return None
        assumed = f" of {CHARS_PER_TOKEN:g} characters" if self.is_assumed else ""
        how = f"by an estimate of {self.tokens:,} tokens{assumed}, " if self.is_estimate else ""
        return f"mixture: {how}it cannot be met: {self.problem}"


def foresee(pipeline: Pipeline) -> Foreseen | None:
    """Lay the mixture on the groups of the shards, or on estimated ones; None where selection is
    not done."""
    recipe = pipeline.recipe
    is_estimate = is_assumed = False
    try:
        groups = recipe.mixed_groups(shard_groups(pipeline))
    except MissingInput:
        is_estimate = True
        try:
            measured = chars_per_token(pipeline)
            groups = estimated_groups(pipeline, measured)
            is_assumed = any(group.domain not in measured for group in groups)
        except MissingInput:
            return None
    mix = mix_of(groups, recipe.mixture, recipe.shards.pack.seq_len)
    without = [share.line() for share in mix.shares if share.has_no_text and share.is_foreseeable]
    problem = mix.problem or "; ".join(without) or None
    return Foreseen(is_estimate, is_assumed, sum(group.tokens for group in groups), problem)


def estimated_groups(pipeline: Pipeline, measured: Mapping[str, float]) -> list[MixedGroup]:
    """Return the groups that selected documents would make, at the characters per token measured
    in each domain; MissingInput before selection."""
    recipe = pipeline.recipe
    seq_len = recipe.shards.pack.seq_len
    groups = []
    for snapshot in recipe.snapshots:
        source = recipe.source_of(snapshot)
        for (tier, labels), chars in sorted(_selected_chars(pipeline, snapshot).items()):
            tokens = round(chars / measured.get(source.domain, CHARS_PER_TOKEN))
            groups.append(
                MixedGroup(
                    id=group_id(snapshot, source.domain, tier, labels),
                    source=source.name,
                    domain=source.domain,
                    tier=tier,
                    samples=-(-tokens // seq_len),
                    tokens=tokens,
                    labels=split_labels(labels),
                )
            )
    return groups


def _selected_chars(pipeline: Pipeline, snapshot: str) -> dict[tuple[str, str], float]:
    """Return the characters of kept documents by tier and labels. Labels that later stages give
    (copies, what is held back) are not known yet."""
    selection = pipeline.results(files.SELECTION.stage, snapshot)
    signals = pipeline.parts(files.SIGNALS, snapshot)
    chosen: Sequence[int] = range(0, len(selection), -(-len(selection) // PARTS_READ) or 1)
    found: dict[tuple[str, str], float] = {}
    read = 0
    names = ["tier", *([LABELS.name] if pipeline.recipe.shards.group_by else [])]
    for part in chosen:
        kept = read_table(pipeline.store, selection[part].outputs[files.SELECTION], names)
        table = kept.append_column(
            "chars", read_table(pipeline.store, signals[part], ["n_chars"])["n_chars"]
        ).filter(pc.field("tier").is_valid())
        read += table.num_rows
        for row in table.group_by(names).aggregate([("chars", "sum")]).to_pylist():
            key = (row["tier"], row.get(LABELS.name, ""))
            found[key] = found.get(key, 0.0) + row["chars_sum"]
    there = sum(result.counts["documents_out"] for result in selection)
    return {key: chars * there / read for key, chars in found.items()}


def chars_per_token(pipeline: Pipeline) -> dict[str, float]:
    """Return what the tokenizer's audit measured on held-out text, by domain; nothing where the
    tokenizer is not made yet, or came from elsewhere."""
    pin = pipeline.pin_of(files.TOKENIZER.stage)
    try:
        (result,) = pipeline.with_pins({}).results(files.TOKENIZER.stage)
    except CorpusError:  # under a lock, what it was made from may be gone: the estimate is coarser
        return {}
    if pin is not None and pin.sha256 != result.outputs[files.TOKENIZER].sha256:
        return {}
    tallies = result.notes["audit"]["held_out"]["by_domain"]
    return {
        domain: drawn["held_out_chars"] / tallies[domain]["tokens"]
        for domain, drawn in result.notes["sample"].items()
        if domain in tallies and tallies[domain]["tokens"]
    }


def warning_before_tokens(pipeline: Pipeline) -> str | None:
    """Say before shards are written that the mixture cannot be met; None where they are there, as
    the version will tell."""
    found = foresee(pipeline)
    return found.line() if found is not None and found.is_estimate else None
