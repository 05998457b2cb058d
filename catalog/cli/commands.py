"""The `catalog` command: what is in a version, where it came from, and whether it is whole."""

from dataclasses import asdict, dataclass
from getpass import getuser
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from catalog.answers import Rows
from catalog.cli import views
from catalog.cli.answering import answers
from catalog.cli.options import OneLineErrors, Place, placed, version_option
from catalog.cli.serve import serve
from catalog.cli.takedown import takedown
from catalog.cli.terminal import progress_line
from catalog.db import VersionRow
from catalog.errors import CatalogError

if TYPE_CHECKING:
    from catalog.ask import (
        ClusterStory,
        Exposure,
        FetchedRecord,
        FoundRecords,
        History,
        Padding,
        QueryAnswer,
        Resolved,
        Status,
        Traced,
        VersionDifference,
    )
    from catalog.copies import CopyState
    from catalog.review import Judgements
    from catalog.verify import Verified


@click.group(cls=OneLineErrors, invoke_without_command=True)
@click.pass_context
def main(context: click.Context) -> None:
    """Query the lineage of a corpus: trace tokens, find and remove documents."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


main.add_command(takedown)
main.add_command(serve)


@dataclass(frozen=True)
class Upgraded:
    """The schemas of a catalog before and after; None where there was none."""

    catalog: str
    before: str | None
    after: str

    def __str__(self) -> str:
        if self.before == self.after:
            return f"The catalog at {self.catalog} is up to date (schema {self.after})."
        return (
            f"The catalog at {self.catalog} was migrated from schema {self.before or 'none'} to "
            f"{self.after}."
        )


@main.command()
@placed
@answers
def upgrade(place: Place) -> Upgraded:
    """Create or migrate the catalog's tables."""
    before, after = place.unchecked.upgrade()
    return Upgraded(str(place.unchecked.database), before, after)


@main.command()
@placed
@answers
def versions(place: Place) -> Rows[VersionRow]:
    """List published versions and their status."""
    columns = ("name", "state", "created_at", "documents", "tokens", "samples", "manifest_sha256")
    return Rows(place.registry.versions(), columns, "No version is published yet.")


@main.command()
@placed
@answers
def status(place: Place) -> "Status":
    """Show versions, snapshots and storage used by stage."""
    from catalog.ask import home_status

    return home_status(place.home, place.registry, place.store)


@main.command()
@click.argument("version")
@placed
@answers
def resolve(place: Place, version: str) -> "Resolved":
    """Show what a version is made of.

    Shows recipe, lock, manifest, inputs, groups, shards and gates. VERSION is a name, or `latest`: the
    newest released version or, if there is none, the newest candidate.
    """
    from catalog.ask import resolve_version

    return resolve_version(place.registry, place.store, place.asked(version))


@dataclass(frozen=True, slots=True)
class Released(VersionRow):
    """A version that was released now."""

    def __str__(self) -> str:
        message = f"{self.name} was released on {self.released_at} by {self.released_by}"
        return f"{message}: {self.release_reason}"


@main.command()
@click.argument("version")
@click.option("--override", metavar="REASON", help="Release it even if gates have not passed.")
@click.option("--by", default=getuser, help="Name to record [your user name].")
@placed
@answers
def release(place: Place, version: str, override: str | None, by: str) -> Released:
    """Release a candidate whose gates have all passed.

    Once a version is released, `latest` and commands without a version name refer to released
    versions. The catalog records who released it, when and why.
    """
    from catalog.takedown import expect_book

    expect_book(place.registry, place.store)
    reason = "its gates passed" if override is None else f"override: {override}"
    place.registry.release_version(version, by, reason, override is not None)
    return Released(**asdict(place.registry.version(version)))


@main.command()
@placed
@answers
def copies(place: Place) -> "Rows[CopyState]":
    """List exports and other copies of documents.

    Lists exports, packs, pages, records and model weights that commands have written. Takedowns delete
    those in the home, except exports, and list the others.
    """
    from catalog.copies import listed

    columns = ("place", "kind", "versions", "how_many", "created_at", "where")
    found = listed(place.registry, place.store, place.home)
    return Rows(found, columns, "No command has written a copy yet.")


@main.command()
@version_option
@click.option("--list", "listed", is_flag=True, help="List every judgement.")
@placed
@answers
def judgements(place: Place, version: str | None, listed: bool) -> "Judgements":
    """Summarise reviewers' judgements of a version.

    Groups them by reason, with 95% intervals. Reviewers record them in `catalog serve --review`.
    """
    from catalog.review import list_judgements as all_judgements

    with place.lineage(version) as tables:
        return all_judgements(tables, listed)


@main.command()
@click.argument("doc_id")
@version_option
@placed
@answers(view=views.show_history)
def lineage(place: Place, doc_id: str, version: str | None) -> "History":
    """Show a document's lineage.

    Shows source, outcome, duplicate cluster, signals, edits and shards. DOC_ID is a document id in hex or
    an unambiguous prefix of it.
    """
    from catalog.ask import document_history, resolve_doc_id

    with place.lineage(version) as tables:
        return document_history(tables, resolve_doc_id(tables, doc_id))


@main.command()
@click.argument("doc_id")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True)
@version_option
@placed
@answers
def cluster(place: Place, doc_id: str, limit: int, version: str | None) -> "ClusterStory":
    """Show a document's duplicate cluster.

    Shows how similar its members are, which one is kept, and why.
    """
    from catalog.ask import cluster_story, resolve_doc_id

    with place.lineage(version) as tables:
        return cluster_story(tables, resolve_doc_id(tables, doc_id), limit)


@main.command()
@click.argument("doc_id")
@click.option("--out", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Output file.")
@click.option("--stored", is_flag=True, help="Write it as stored (gzip), not decompressed.")
@click.option(
    "--capture",
    type=click.IntRange(0),
    default=0,
    help="Number of the capture, from 0, if there are several.",
)
@version_option
@placed
@answers(view=views.write_record)
def raw(
    place: Place,
    doc_id: str,
    out: Path | None,
    stored: bool,
    capture: int,
    version: str | None,
) -> "FetchedRecord":
    """Fetch a document's original record from its source.

    Writes a WARC record, a JSON line, a Parquet row as JSON, or a file. --json prints where it came
    from, and the record in base64 unless --out is given.
    """
    from catalog.ask import fetch_original, resolve_doc_id
    from catalog.copies import writing

    with place.lineage(version) as tables:
        named, name = resolve_doc_id(tables, doc_id), tables.version.name
        found = fetch_original(tables, named, capture)
    data = found.stored if stored else found.data
    if out is not None:
        holds = {name: [named.hex()]}
        try:
            with writing(place.registry, place.home, out, "record", holds):
                out.write_bytes(data)
        except OSError as error:
            raise CatalogError(f"cannot write {out}: {error.strerror}") from error
    return found.described(data, with_record=out is None)


@main.command()
@click.option("--url", help="URL of a page, in any spelling.")
@click.option("--host", "--domain", "host", help="A host and all its subdomains.")
@click.option("--text", help="A document's text, or a passage of it.")
@click.option(
    "--text-file", type=click.File("rb"), help="The same, from a UTF-8 file ('-': stdin)."
)
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True)
@version_option
@placed
@answers
def find(
    place: Place,
    url: str | None,
    host: str | None,
    text: str | None,
    text_file: IO[bytes] | None,
    limit: int,
    version: str | None,
) -> "FoundRecords":
    """Find documents by URL, host or text.

    Shows what happened to each.
    """
    from catalog.ask import find_host, find_text, find_url

    if sum(given is not None for given in (url, host, text, text_file)) != 1:
        raise click.UsageError("give exactly one of --url, --host, --text, --text-file")
    if text_file is not None:
        try:
            text = text_file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise CatalogError(f"the text file is not UTF-8: {error.reason}") from error
    with place.lineage(version) as tables:
        if url is not None:
            return find_url(tables, url, limit)
        if host is not None:
            return find_host(tables, host, limit)
        return find_text(tables, text or "", limit)


@main.command()
@click.argument("version")
@click.argument("shard")
@click.argument("sample", type=int)
@click.argument("token", type=int)
@placed
@answers(view=views.show_trace)
def trace(place: Place, version: str, shard: str, sample: int, token: int) -> "Traced | Padding":
    """Trace a token to its source document.

    SHARD is GROUP/shard_00000, or the bare name if it is unique. SAMPLE and TOKEN
    count from 0.
    """
    from catalog.ask import trace_token

    with place.lineage(version) as tables:
        return trace_token(tables, shard, sample, token)


@main.command()
@click.argument("doc_id")
@click.option("--seed", type=int, help="Seed of the run [the manifest's].")
@click.option("--steps", type=click.IntRange(0), required=True, help="Number of steps in the run.")
@click.option("--global-batch", type=click.IntRange(1), required=True, help="Samples per step.")
@version_option
@placed
@answers
def exposure(
    place: Place,
    doc_id: str,
    seed: int | None,
    steps: int,
    global_batch: int,
    version: str | None,
) -> "Exposure":
    """List the training steps that saw a document.

    A run is a version, a seed, a number of steps and a global batch. The steps are computed from
    the order's formula, for all ranks together, without replaying the run. Steps count from 0.
    """
    from catalog.ask import training_exposure as seen

    with place.lineage(version) as tables:
        return seen(tables, doc_id, seed, steps, global_batch)


@main.command()
@click.argument("before")
@click.argument("after")
@placed
@answers(view=views.show_diff)
def diff(place: Place, before: str, after: str) -> "VersionDifference":
    """Compare two versions.

    Compares settings, shards, documents and tokens.
    """
    from catalog.ask import diff_versions as compare

    return compare(place.registry, place.store, place.asked(before), place.asked(after))


@main.command()
@click.argument("version")
@click.option("--jobs", type=click.IntRange(1), default=4, show_default=True, help="Hash threads.")
@placed
@answers
def verify(place: Place, version: str, jobs: int) -> "Verified":
    """Re-hash a version's files and recount its documents.

    Exits with 1 and lists the problems if anything differs from what was recorded.
    """
    from catalog.verify import verify as check

    with progress_line("checking") as tell:
        return check(
            place.registry,
            place.store,
            place.asked(version),
            jobs,
            lambda what, done, total: tell(f"{what}: {done} of {total}"),
        )


@main.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True)
@version_option
@placed
@answers(view=views.show_query)
def sql(place: Place, query: str, limit: int, version: str | None) -> "QueryAnswer":
    """Query lineage and registry in SQL (DuckDB).

    Read-only; `catalog sql "SHOW TABLES"` lists the tables. The key of a document is doc_id: 32 hex
    digits in `records`, `decisions`, `cluster_members` and the other lineage tables, which join on it. In
    `raw.records` and the other raw tables it is 16 bytes, which is much faster to look up; raw tables join
    raw tables, and unhex(...) and lower(hex(...)) convert between them. In cluster_members
    kept_doc_id is the doc_id that was kept for doc_id. Snapshots are named `snapshot` in lineage and
    `name` in the registry's `snapshots`. The column "offset" needs its quotes.

    \b
    catalog sql "SELECT d.url, k.url AS kept_url FROM cluster_members m
      JOIN records d ON d.doc_id = m.doc_id
      JOIN records k ON k.doc_id = m.kept_doc_id WHERE NOT m.kept"
    catalog sql "SELECT url FROM raw.records WHERE doc_id = unhex('3f0c...')"

    A query may take 2 GiB of memory (CORPUS_SQL_MEMORY_GIB) and 300 s (CORPUS_SQL_TIME_S).
    """
    from catalog.cli.sql_process import ask

    return ask(place.registry.database.url, place.store.url, place.asked(version), query, limit)
