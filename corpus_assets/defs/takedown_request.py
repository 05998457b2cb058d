"""Filing a takedown from the UI: the job `file_takedown`, with its fields in the launchpad."""

from enum import Enum

import dagster as dg
from pydantic import Field

from catalog.db.rows import TAKEDOWN_KINDS
from catalog.errors import CatalogError
from catalog.formats.store import Store
from catalog.takedown.requests import request
from catalog.takedown.target import target_of
from corpus_assets.core.home import Home
from corpus_assets.defs.links import takedown_link
from corpus_assets.defs.resources import CorpusResource, takedown_tags
from corpus_assets.session import open_home

Kind = Enum("Kind", {kind: kind for kind in TAKEDOWN_KINDS})  # type: ignore[misc]


class TakedownConfig(dg.Config):
    """What to take out, and why."""

    kind: Kind = Field(description="What the value names.")
    value: str = Field(
        description="A page's address, the start of addresses, a host with all below it, the id of "
        "a document or of a text, or a text's SHA-256; as in `catalog takedown request`."
    )
    reason: str = Field(description="Why; the certificate quotes it.")
    requester: str = Field(default="", description="Who asked.")
    reference: str = Field(default="", description="Number of the case, letter or ticket.")
    near_duplicates: bool = Field(default=False, description="Its exact and near copies as well.")
    dry_run: bool = Field(default=True, description="Only say what it would touch.")
    however_much: bool = Field(default=False, description="File it even if it takes very much.")


@dg.op
def file_request(
    context: dg.OpExecutionContext, config: TakedownConfig, corpus: CorpusResource
) -> None:
    """File a takedown, or try it; the sensor `pending_takedowns` has it carried out."""
    home = Home.resolve(corpus.home or None)
    _, registry = open_home(home)
    sources = {source.name for source in registry.sources()}
    try:
        answer = request(
            registry,
            Store(home.store_url),
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
    filed = answer["request"]
    if filed is not None:
        context.instance.add_run_tags(context.run_id, takedown_tags([filed["id"]]))
    context.add_output_metadata(
        {
            "outcome": answer["outcome"],
            "request": "none: this was a dry run" if filed is None else takedown_link(filed["id"]),
            "documents": answer["documents"],
            "standing_order": answer["standing"],
            "asks_for_however_much": answer["needs_yes"] or "no",
            "versions": [each["version"] for each in answer["versions"]],
            "hosts": [each["host"] for each in answer["hosts"]],
        }
    )


@dg.job(executor_def=dg.in_process_executor)
def file_takedown() -> None:
    """File a takedown request, or see what it would touch (a dry run, unless you say otherwise)."""
    file_request()
