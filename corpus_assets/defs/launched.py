"""Jobs that people launch, with their fields in the launchpad: releasing a version, removing a
snapshot, retrying or skipping quarantined parts, and filing a takedown."""

from enum import Enum

import dagster as dg
from pydantic import Field

from catalog.db import TAKEDOWN_KINDS
from catalog.errors import CatalogError
from catalog.formats.store import FileStore
from catalog.takedown import request_takedown, target_of
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home
from corpus_assets.core.known_errors import KNOWN_ERRORS
from corpus_assets.defs.links import takedown_link
from corpus_assets.defs.partitions import SNAPSHOTS, VERSIONS
from corpus_assets.defs.resources import VERSION_TAG, CorpusResource, takedown_tags
from corpus_assets.defs.version_assets import gate_events
from corpus_assets.inspect import remove_whole, skip_failed
from corpus_assets.session import open_home


class ReleaseConfig(dg.Config):
    """Which version, who releases it, and why in spite of its gates."""

    version: str = Field(description="Name of the candidate.")
    by: str = Field(description="Who releases it; the catalog keeps the name.")
    override: str = Field(
        default="",
        description="Why it is released although gates have not passed; the catalog keeps the reason. "
        "Empty: it is released if all gates have passed.",
    )


@dg.op
def release(context: dg.OpExecutionContext, config: ReleaseConfig, corpus: CorpusResource) -> None:
    """Make a candidate a released version, as `catalog release` does."""
    _, registry = open_home(Home.resolve(corpus.home or None))
    reason = f"override: {config.override}" if config.override else "its gates passed"
    try:
        registry.release_version(config.version, config.by, reason, bool(config.override))
    except CatalogError as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    row = registry.version(config.version)
    context.instance.add_dynamic_partitions(VERSIONS.name or "", [config.version])
    context.instance.add_run_tags(context.run_id, {VERSION_TAG: config.version})
    for event in gate_events(registry, config.version, f"released: {row.release_reason}"):
        context.log_event(event)  # type: ignore[arg-type]  # it takes checks too
    context.add_output_metadata(
        {
            "version": row.name,
            "released_by": row.released_by or "",
            "reason": row.release_reason or "",
        }
    )


@dg.job(executor_def=dg.in_process_executor)
def release_version() -> None:
    """Release a candidate whose gates have passed, or any one with a reason."""
    release()


class RemoveConfig(dg.Config):
    """Which snapshot."""

    snapshot: str = Field(description="Name of a snapshot that a schedule or a command added.")
    list_only: bool = Field(
        default=False, description="Remove it even if live versions have documents of it."
    )


@dg.op
def remove(context: dg.OpExecutionContext, config: RemoveConfig, corpus: CorpusResource) -> None:
    """Take a snapshot that was added out of the recipe again, as `corpus snapshots remove` does."""
    home = Home.resolve(corpus.home or None)
    try:
        removed = remove_whole(
            corpus.chosen_recipe,
            home,
            corpus.overrides,
            config.snapshot,
            config.list_only,
            context.log.info,
        )
    except KNOWN_ERRORS as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    if not removed.held_by:
        context.instance.delete_dynamic_partition(SNAPSHOTS.name or "", config.snapshot)
    context.add_output_metadata(
        {"source": removed.source, "versions_that_hold_it": removed.held_by}
    )


@dg.job(executor_def=dg.in_process_executor)
def remove_snapshot() -> None:
    """Take a snapshot that was added, a broken crawl for instance, out of the recipe again."""
    remove()


class Remedy(Enum):
    """What to do with quarantined parts."""

    retry = "retry"
    skip = "skip"


class PartsConfig(dg.Config):
    """Which parts, and what to do with them."""

    remedy: Remedy = Field(
        description="`retry`: the next build retries them. `skip`: the recipe is built without "
        "their files."
    )
    stage: str = Field(default="", description="Only parts of this stage. Empty: of all.")
    snapshot: str = Field(default="", description="Only parts of this snapshot. Empty: of all.")


@dg.op
def remedy_parts(
    context: dg.OpExecutionContext, config: PartsConfig, corpus: CorpusResource
) -> None:
    """Retry quarantined parts, or build without their files."""
    home = Home.resolve(corpus.home or None)
    chosen = (config.stage or None, config.snapshot or None)
    if config.remedy is Remedy.skip:
        try:
            skipped = skip_failed(corpus.chosen_recipe, home, *chosen)
        except CorpusError as error:
            raise dg.Failure(str(error), allow_retries=False) from None
        context.add_output_metadata({"skipped": skipped})
        return
    _, registry = open_home(home)
    context.add_output_metadata({"tried_again": registry.forget_failed_parts(*chosen)})


@dg.job(executor_def=dg.in_process_executor)
def quarantined_parts() -> None:
    """Have parts that failed tried again, or leave their files out; then build again."""
    remedy_parts()


Kind = Enum("Kind", {kind: kind for kind in TAKEDOWN_KINDS})  # type: ignore[misc]


class TakedownConfig(dg.Config):
    """What to take out, and why."""

    kind: Kind = Field(description="What the value is.")
    value: str = Field(
        description="A page's address, the start of addresses, a host with all below it, the id of "
        "a document or of a text, or a text's SHA-256; as in `catalog takedown request`."
    )
    reason: str = Field(description="Reason; quoted in the certificate.")
    requester: str = Field(default="", description="Who asked.")
    reference: str = Field(default="", description="Case, letter or ticket number.")
    near_duplicates: bool = Field(
        default=False, description="Also remove exact and near duplicates."
    )
    dry_run: bool = Field(default=True, description="Only show what it would affect.")
    however_much: bool = Field(
        default=False, description="Skip the confirmation for large requests."
    )


@dg.op
def file_request(
    context: dg.OpExecutionContext, config: TakedownConfig, corpus: CorpusResource
) -> None:
    """File a takedown, or try it; the sensor `pending_takedowns` has it carried out."""
    home = Home.resolve(corpus.home or None)
    _, registry = open_home(home)
    sources = {source.name for source in registry.sources()}
    try:
        answer = request_takedown(
            registry,
            FileStore(home.store_url),
            target_of(config.kind.value, config.value, sources),
            config.reason,
            near_duplicates=config.near_duplicates,
            requester=config.requester,
            reference=config.reference,
            dry_run=config.dry_run,
            confirmed=config.however_much,
        )
    except CatalogError as error:
        raise dg.Failure(str(error), allow_retries=False) from None
    filed = answer.request
    if filed is not None:
        context.instance.add_run_tags(context.run_id, takedown_tags([filed.id]))
    context.add_output_metadata(
        {
            "outcome": answer.outcome,
            "request": "none: this was a dry run" if filed is None else takedown_link(filed.id),
            "documents": answer.documents,
            "standing_order": answer.standing,
            "asks_for_however_much": answer.needs_yes or "no",
            "versions": [each.version for each in answer.versions],
            "hosts": [each.host for each in answer.hosts],
        }
    )


@dg.job(executor_def=dg.in_process_executor)
def file_takedown() -> None:
    """File a takedown request, or see what it would touch (a dry run, unless you say otherwise)."""
    file_request()
