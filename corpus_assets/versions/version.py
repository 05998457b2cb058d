"""Make a version: the manifest that mixes the shards, and the lock it was built from.

Everything in `versions/<name>/` is a pure function of the lock and the shards; the manifest is
written last. Nothing in it holds a time or a path, so two builds give the same files.
"""

from dataclasses import dataclass
from typing import Any

from catalog.db import GateRow
from catalog.formats.names import check_name
from corpus_assets.core import files
from corpus_assets.core.lock import Lock, PinnedFile, calibration_path
from corpus_assets.core.store import Output, Result, read_output
from corpus_assets.decontam import paraphrase_model
from corpus_assets.graph import Pipeline
from corpus_assets.ingest import EXTRACTION_MODEL, extraction_model
from corpus_assets.recipe import Recipe
from corpus_assets.shards import encoder_of, plan_mixture, shares_met, token_dtype
from corpus_assets.signals import MODEL, installed_folders, outside_classifiers, outside_models
from corpus_loader.header import ShardHeader
from corpus_loader.manifest import (
    FileRef,
    Group,
    Manifest,
    RecipeRef,
    ShardRef,
    TokenizerRef,
    split_labels,
)


@dataclass(frozen=True)
class Version:
    name: str
    manifest: Manifest
    manifest_bytes: bytes
    lock: Lock
    gave_way: tuple[str, ...] = ()  # what of the mixture could not be held

    @property
    def is_empty(self) -> bool:
        """Whether no document is left in it."""
        return not any(group.documents for group in self.manifest.groups)


def default_version_name(pipeline: Pipeline) -> str:
    return f"{pipeline.recipe.name[:91]}-{pipeline.recipe.digest[:8]}"


def make_lock(pipeline: Pipeline) -> Lock:
    """Pin everything: the recipe, what went in, and what was resolved from it."""
    return Lock(
        recipe=locked_recipe(pipeline.recipe),
        recipe_digest=pipeline.recipe.digest,
        inputs=pipeline.inputs(),
        models=models_from_outside(pipeline),
        calibrations={
            name: PinnedFile(name=name, bytes=out.bytes, sha256=out.sha256)
            for name, out in sorted(pipeline.calibrations().items())
        },
    )


def models_from_outside(pipeline: Pipeline) -> dict[str, str]:
    """Digests of all models that are not trained here, by their names in a lock."""
    paraphrases = paraphrase_model(pipeline)
    named = {} if paraphrases is None else {f"{MODEL}{paraphrases[0]}": paraphrases[2]}
    if (extraction := extraction_model(pipeline)) is not None:
        named[EXTRACTION_MODEL] = extraction[1]
    return {
        "language": pipeline.language_model()[1],
        **outside_models(pipeline),
        **{name: sha256 for name, (_, sha256) in outside_classifiers(pipeline).items()},
        **installed_folders(pipeline),
        **named,
    }


def locked_recipe(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as a lock holds it: what it says, not where files lie."""
    body = recipe.identity()
    for source in body["sources"]:
        source["snapshots"] = list(source["snapshots"])
    del body["blocklists"]
    return body


def shard_groups(pipeline: Pipeline) -> list[Group]:
    groups: dict[str, list[ShardRef]] = {}
    for result in pipeline.all_results("shards"):
        header_name = next(name for name in result.outputs if name.endswith(".header.json"))
        content = read_output(pipeline.store, result.outputs[header_name])
        header = ShardHeader.parse(content, header_name)
        groups.setdefault(header.group, []).append(_shard_entry(result))
    return [_group(name, shards) for name, shards in sorted(groups.items())]


def _shard_entry(result: Result) -> ShardRef:
    by_ending = {name.partition(".")[2]: out for name, out in result.outputs.items()}
    return ShardRef(
        name=next(iter(result.outputs)).partition(".")[0],
        bin=_stored(by_ending["bin"]),
        idx=_stored(by_ending["idx"]),
        spans=_stored(by_ending["spans.parquet"]),
        header=_stored(by_ending["header.json"]),
        samples=result.counts["samples"],
        tokens=result.counts["tokens"],
        documents=result.counts["documents"],
    )


def _stored(output: Output) -> FileRef:
    return FileRef(path=output.path, sha256=output.sha256, bytes=output.bytes)


def _group(name: str, shards: list[ShardRef]) -> Group:
    snapshot, domain, tier, *labels = name.split("/", 3)
    shards = sorted(shards, key=lambda shard: shard.name)
    return Group(
        id=name,
        snapshot=snapshot,
        domain=domain,
        tier=tier,
        labels=split_labels("".join(labels)),
        samples=sum(shard.samples for shard in shards),
        tokens=sum(shard.tokens for shard in shards),
        documents=sum(shard.documents for shard in shards),
        shards=tuple(shards),
    )


def make_version(pipeline: Pipeline, name: str) -> Version:
    """Make the manifest and lock of a version; needs all shards, writes nothing."""
    check_name("version", name)
    recipe = pipeline.recipe
    lock = make_lock(pipeline)
    groups = shard_groups(pipeline)
    tokenizer = pipeline.calibration(files.TOKENIZER)
    special = recipe.tokenizer.special_names()
    encoder = encoder_of(read_output(pipeline.store, tokenizer), special["eod"], special["pad"])
    seq_len = recipe.shards.pack.seq_len
    mixed = recipe.mixed_groups(groups)
    phases, problem = plan_mixture(mixed, recipe.mixture, seq_len)
    shares = shares_met(mixed, recipe.mixture, seq_len, phases)
    gave_way = [problem] if problem is not None else []
    gave_way += [share.line() for share in shares if share.problem is not None]
    pin = lock.calibrations["tokenizer"]
    dtype = token_dtype(recipe.shards.dtype, encoder.vocab_size)
    manifest = Manifest(
        version=name,
        recipe=RecipeRef(
            name=recipe.name,
            digest=recipe.digest,
            fallbacks=recipe.fallbacks_in_use(),
            evidence=GateRow.NO_EVIDENCE if recipe.evidence is None else recipe.evidence.baseline,
        ),
        lock_digest=lock.digest,
        seed=recipe.seed,
        seq_len=seq_len,
        dtype=dtype,
        tokenizer=TokenizerRef(
            path=calibration_path(f"versions/{name}", pin),
            sha256=pin.sha256,
            vocab_size=encoder.vocab_size,
            eod_id=encoder.eod_id,
            pad_id=encoder.pad_id,
        ),
        block_samples=recipe.mixture.block_samples,
        groups=tuple(groups),
        phases=tuple(phases),
    )
    return Version(name, manifest, manifest.dump(), lock, tuple(gave_way))
