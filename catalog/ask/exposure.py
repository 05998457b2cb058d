"""Which steps of a training run saw a document: by formula, not by replay."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from catalog.answers import Shown
from catalog.ask.documents import outcome_of, resolve_doc_id
from catalog.errors import StoreFileError, UnknownName
from catalog.figures import counted
from catalog.lineage import Lineage, places_of, spans_of
from catalog.takedown import ID_DIGITS, doc_id_target
from corpus_loader import LoaderError
from corpus_loader.order import Order, Sightings


@dataclass(frozen=True)
class HoldingSample:
    """A sample that holds tokens of the document."""

    shard: str
    sample: int
    tokens: int


@dataclass(frozen=True)
class SeenAt:
    """One time that a run saw the document."""

    step: int
    position: int
    epoch: int
    shard: str
    sample: int
    tokens: int


@dataclass(frozen=True)
class Exposure:
    """When a run saw a document. The run ends after `steps`, however many were asked for."""

    doc_id: Annotated[str, Shown("document")]
    version: str
    state: str
    status: str
    seed: int
    global_batch: int
    steps_asked: int
    steps: int
    samples: list[HoldingSample]
    times_seen: int
    tokens_seen: int
    steps_seen: list[int]
    seen: list[SeenAt]
    note: str | None

    shows: ClassVar = ("doc_id", "version", "state", "run", "samples_with_it", "times_seen",
                       "tokens_seen", "seen")  # fmt: skip

    @property
    def run(self) -> str:
        return f"seed {self.seed}, {counted(self.steps, 'step')} of {self.global_batch}"

    @property
    def samples_with_it(self) -> int:
        return len(self.samples)

    @property
    def conclusion(self) -> str | None:
        return self.note


def training_exposure(
    lineage: Lineage, written: str, seed: int | None, steps: int, global_batch: int
) -> Exposure:
    """Return every step, position and sample at which the run saw the document, on all ranks
    together.

    Step s holds positions [s * global_batch, (s + 1) * global_batch) of the run's order. A run
    that asks for more steps than the manifest holds ends with the last full one. The spans tell
    the document's samples; the order, run backwards, tells when each was drawn.
    """
    doc_id = _doc_id(lineage, written)
    manifest = lineage.manifest
    chosen = manifest.seed if seed is None else seed
    order = Order.of(manifest, chosen)
    made = min(steps, len(order) // global_batch)
    held: dict[tuple[str, int], int] = {}
    for span in spans_of(lineage, [doc_id])[doc_id]:
        place = (span["shard"], span["sample"])
        held[place] = held.get(place, 0) + span["length"]
    seen: list[SeenAt] = []
    for shard in sorted({shard for shard, _ in held}):
        samples = sorted(sample for name, sample in held if name == shard)
        found = _sightings(lineage, order, shard, samples, made * global_batch)
        for row, position, epoch in zip(*(column.tolist() for column in found), strict=True):
            tokens = held[shard, samples[row]]
            step = position // global_batch
            seen.append(SeenAt(step, position, epoch, shard, samples[row], tokens))
    seen.sort(key=lambda one: one.position)
    return Exposure(
        doc_id=doc_id.hex(),
        version=lineage.version.name,
        state=lineage.version.state,
        status=lineage.version.status,
        seed=chosen,
        global_batch=global_batch,
        steps_asked=steps,
        steps=made,
        samples=[HoldingSample(*place, tokens) for place, tokens in sorted(held.items())],
        times_seen=len(seen),
        tokens_seen=sum(one.tokens for one in seen),
        steps_seen=sorted({one.step for one in seen}),
        seen=seen,
        note=_note(lineage, doc_id, bool(held), bool(seen), steps, made),
    )


def _doc_id(lineage: Lineage, written: str) -> bytes:
    """Return the id that is meant; a whole one need not be known, its record may have been purged."""
    if len(written.strip()) == ID_DIGITS:
        return bytes.fromhex(doc_id_target(written).value)
    return resolve_doc_id(lineage, written)


def _sightings(
    lineage: Lineage, order: Order, shard: str, samples: list[int], end: int
) -> Sightings:
    """Return every sight of some samples of a shard before a position."""
    group, _, name = shard.rpartition("/")
    try:
        numbers = [lineage.manifest.sample_in_group(group, name, sample) for sample in samples]
        return order.sightings(group, numbers, end)
    except LoaderError as error:
        version = lineage.version.name
        raise StoreFileError(
            f"spans of version {version} are of samples that its manifest does not have ({error}): "
            f"run `catalog verify {version}`"
        ) from error


def _note(
    lineage: Lineage, doc_id: bytes, in_shards: bool, seen: bool, asked: int, made: int
) -> str | None:
    notes = []
    if asked > made:
        notes.append(f"The run of this manifest ends after {made} steps; {asked} were requested.")
    if not in_shards:
        notes.append(_absence(lineage, doc_id))
    elif not seen:
        notes.append("No step of this run drew a sample with the document.")
    return " ".join(notes) or None


def _absence(lineage: Lineage, doc_id: bytes) -> str:
    """Return why a document is in no shard; an id that was never heard of is refused."""
    decisions = [
        row
        for snapshot, part in places_of(lineage, doc_id)
        for row in lineage.documents_in("decisions", [doc_id], snapshot, [part])
    ]
    decisions.sort(key=lambda row: not row["kept"])
    if not decisions:
        raise UnknownName(
            f"version {lineage.version.name} has no document {doc_id.hex()}: it was never "
            "ingested for this version (try another --version)"
        )
    return f"The document is in no shard of this version: {outcome_of(decisions[0])}."
