"""The `catalog` command: what is in a version, where it came from, and whether it is whole."""

import sys
from dataclasses import asdict
from getpass import getuser
from pathlib import Path
from typing import IO

import click

from catalog.cli import views
from catalog.cli.options import BROKEN_EXIT, OneLineErrors, Place, placed, version_option
from catalog.cli.serve import serve
from catalog.cli.takedown import takedown
from catalog.cli.terminal import print_json, print_line, print_table, progress_line
from catalog.errors import CatalogError


@click.group(cls=OneLineErrors, invoke_without_command=True)
@click.pass_context
def main(context: click.Context) -> None:
    """Where every token came from, and where every document went."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


main.add_command(takedown)
main.add_command(serve)


@main.command()
@placed
def upgrade(place: Place, as_json: bool) -> None:
    """Create the catalog's tables, or bring them to this package's schema."""
    before, after = place.unchecked.upgrade()
    if as_json:
        print_json({"before": before, "after": after})
    elif before == after:
        print_line(f"The catalog at {place.unchecked.database} is up to date (schema {after}).")
    else:
        print_line(
            f"The catalog at {place.unchecked.database} went from schema "
            f"{before or 'none'} to {after}."
        )


@main.command()
@placed
def versions(place: Place, as_json: bool) -> None:
    """List the published versions: candidates, released ones, revoked ones."""
    rows = [asdict(row) | {"state": row.state} for row in place.registry.versions()]
    print_json(rows) if as_json else views.show_versions(rows)


@main.command()
@click.argument("version")
@placed
def resolve(place: Place, as_json: bool, version: str) -> None:
    """Show what a version is made of: recipe, lock, manifest, inputs, groups, shards, gates.

    VERSION is a name, or `latest`: the newest released version, or before any is released the
    newest candidate.
    """
    from catalog.ask.versions import resolve as resolve_version

    answer = resolve_version(place.registry, place.store, place.asked(version))
    print_json(answer) if as_json else views.show_resolved(answer)


@main.command()
@click.argument("version")
@click.option("--override", metavar="REASON", help="Release it whatever its gates say.")
@click.option("--by", default=getuser, help="Who releases it [your user name].")
@placed
def release(place: Place, as_json: bool, version: str, override: str | None, by: str) -> None:
    """Make a candidate a released version, if all its gates have passed.

    `latest` and commands without a version name mean released ones, once there is one. Who released
    it, when and why is recorded in the catalog.
    """
    from catalog.takedown.book import expect_book

    expect_book(place.registry, place.store)
    reason = "its gates passed" if override is None else f"override: {override}"
    place.registry.release_version(version, by, reason, override is not None)
    answer = place.registry.version(version)
    if as_json:
        print_json(asdict(answer) | {"state": answer.state})
    else:
        print_line(
            f"{version} is released since {answer.released_at} by {answer.released_by}: "
            f"{answer.release_reason}"
        )


@main.command()
@placed
def copies(place: Place, as_json: bool) -> None:
    """List what commands wrote beside the store's results: exports, packs, pages, records, weights.

    Takedowns delete those of the home, exports excepted, and name the others.
    """
    from catalog.copies import listed

    answer = listed(place.registry, place.store, place.home)
    print_json(answer) if as_json else views.show_copies(answer)


@main.command()
@version_option
@click.option("--list", "listed", is_flag=True, help="List every judgement with its words.")
@placed
def judgements(place: Place, as_json: bool, version: str | None, listed: bool) -> None:
    """Sum up what people said of a version's decisions, by reason, with 95% intervals.

    Judgements are recorded on the pages of `catalog serve --review`.
    """
    from catalog.ask.review import summary, told

    with place.lineage(version) as tables:
        row = tables.version
        answer = {"version": row.name, "state": row.state, "reasons": summary(tables)}
        if listed:
            answer["judgements"] = told(tables)
    print_json(answer) if as_json else views.show_judgements(answer)


@main.command()
@click.argument("doc_id")
@version_option
@placed
def lineage(place: Place, as_json: bool, doc_id: str, version: str | None) -> None:
    """Tell a document's story: source, fate, cluster, scores, edits, shards.

    DOC_ID is in hex; its beginning is enough where only one document begins so.
    """
    from catalog.ask.documents import history, resolve_doc_id

    with place.lineage(version) as tables:
        answer = history(tables, resolve_doc_id(tables, doc_id))
    print_json(answer) if as_json else views.show_history(answer)


@main.command()
@click.argument("doc_id")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True)
@version_option
@placed
def cluster(place: Place, as_json: bool, doc_id: str, limit: int, version: str | None) -> None:
    """Show a document's copies: how alike they are, which one is kept, and why."""
    from catalog.ask.documents import cluster_story, resolve_doc_id

    with place.lineage(version) as tables:
        answer = cluster_story(tables, resolve_doc_id(tables, doc_id), limit)
    print_json(answer) if as_json else views.show_cluster(answer)


@main.command()
@click.argument("doc_id")
@click.option(
    "--out", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write it there."
)
@click.option("--stored", is_flag=True, help="As it lies in the file (gzip), not inflated.")
@click.option("--capture", type=click.IntRange(0), default=0, help="Which, if it has several.")
@version_option
@placed
def raw(
    place: Place,
    as_json: bool,
    doc_id: str,
    out: Path | None,
    stored: bool,
    capture: int,
    version: str | None,
) -> None:
    """Fetch a document's original record again, from the file that it came from.

    Writes a WARC record, a line of JSON lines, a Parquet row as JSON, or a file. With --json,
    where it came from is printed, and the record in base64 unless --out takes it.
    """
    from catalog.ask.documents import resolve_doc_id
    from catalog.ask.raw import fetch_original
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
    if as_json:
        print_json(found.described(data, with_record=out is None))
    elif out is None:
        sys.stdout.buffer.write(data)


@main.command()
@click.option("--url", help="A page's address, in any spelling.")
@click.option("--host", "--domain", "host", help="A host, with all its subdomains.")
@click.option("--text", help="A document's text, or a passage of it.")
@click.option(
    "--text-file", type=click.File("rb"), help="The same, from a UTF-8 file ('-': stdin)."
)
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True)
@version_option
@placed
def find(
    place: Place,
    as_json: bool,
    url: str | None,
    host: str | None,
    text: str | None,
    text_file: IO[bytes] | None,
    limit: int,
    version: str | None,
) -> None:
    """Find documents by address, host or text, and say what became of them."""
    from catalog.ask import documents as lookups

    if sum(given is not None for given in (url, host, text, text_file)) != 1:
        raise click.UsageError("give exactly one of --url, --host, --text, --text-file")
    if text_file is not None:
        try:
            text = text_file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise CatalogError(f"the text file is not UTF-8: {error.reason}") from error
    with place.lineage(version) as tables:
        if url is not None:
            answer = lookups.find_url(tables, url, limit)
        elif host is not None:
            answer = lookups.find_host(tables, host, limit)
        else:
            answer = lookups.find_text(tables, text or "", limit)
    print_json(answer) if as_json else views.show_found(answer)


@main.command()
@click.argument("version")
@click.argument("shard")
@click.argument("sample", type=int)
@click.argument("token", type=int)
@placed
def trace(place: Place, as_json: bool, version: str, shard: str, sample: int, token: int) -> None:
    """Lead a token back to its document, text and source file.

    SHARD is GROUP/shard_00000, or the bare name where only one group has it. SAMPLE and TOKEN
    count from 0.
    """
    from catalog.ask.tokens import trace as trace_token

    with place.lineage(version) as tables:
        answer = trace_token(tables, shard, sample, token)
    print_json(answer) if as_json else views.show_trace(answer)


@main.command()
@click.argument("doc_id")
@click.option("--seed", type=int, help="The run's seed; the manifest's own if none.")
@click.option("--steps", type=click.IntRange(0), required=True, help="Steps the run made.")
@click.option("--global-batch", type=click.IntRange(1), required=True, help="Samples in a step.")
@version_option
@placed
def exposure(
    place: Place,
    as_json: bool,
    doc_id: str,
    seed: int | None,
    steps: int,
    global_batch: int,
    version: str | None,
) -> None:
    """List the training steps at which a run saw a document.

    A run is a version, a seed, a number of steps and a global batch. The steps are computed from
    the order's formula, for all ranks together; nothing is replayed. Steps count from 0.
    """
    from catalog.ask.tokens import exposure as seen

    with place.lineage(version) as tables:
        answer = seen(tables, doc_id, seed, steps, global_batch)
    print_json(answer) if as_json else views.show_exposure(answer)


@main.command()
@click.argument("before")
@click.argument("after")
@placed
def diff(place: Place, as_json: bool, before: str, after: str) -> None:
    """Compare two versions: settings, shards, documents, tokens."""
    from catalog.ask.versions import diff as compare

    answer = compare(place.registry, place.store, place.asked(before), place.asked(after))
    print_json(answer) if as_json else views.show_diff(answer)


@main.command()
@click.argument("version")
@click.option("--jobs", type=click.IntRange(1), default=4, show_default=True, help="Hash threads.")
@placed
def verify(place: Place, as_json: bool, version: str, jobs: int) -> int:
    """Prove that a version is whole: re-hash its files, re-count its documents.

    Exits with 1 and a list when anything is not as recorded.
    """
    from catalog.verify.version import verify as check

    with progress_line("checking") as tell:
        answer = check(
            place.registry,
            place.store,
            place.asked(version),
            jobs,
            lambda what, done, total: tell(f"{what}: {done} of {total}"),
        )
    print_json(answer) if as_json else views.show_verified(answer)
    return 0 if answer["ok"] else BROKEN_EXIT


@main.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True)
@version_option
@placed
def sql(place: Place, as_json: bool, query: str, limit: int, version: str | None) -> None:
    """Ask a version's lineage and the registry in SQL (DuckDB), for reading only.

    `catalog sql "SHOW TABLES"` lists the tables. The key of a document is doc_id: 32 hex digits in
    `documents`, `decisions`, `cluster_members` and the other lineage tables, which join on it. In
    `raw.documents` and its like it is 16 bytes, which is much faster to look up; raw tables join
    raw tables, and unhex(...) or lower(hex(...)) lead from one to the other. In cluster_members
    kept_doc_id is the doc_id that stands for doc_id. Snapshots are named `snapshot` in lineage and
    `name` in the registry's `snapshots`. The column "offset" needs its quotes.

    \b
    catalog sql "SELECT d.url, k.url AS kept_url FROM cluster_members m
      JOIN documents d ON d.doc_id = m.doc_id
      JOIN documents k ON k.doc_id = m.kept_doc_id WHERE NOT m.kept"
    catalog sql "SELECT url FROM raw.documents WHERE doc_id = unhex('3f0c...')"

    A query may take 2 GiB of memory (CORPUS_SQL_MEMORY_GIB) and 300 s (CORPUS_SQL_TIME_S).
    """
    from catalog.cli.sql_process import ask

    answer = ask(place.registry.database.url, place.store.url, place.asked(version), query, limit)
    if as_json:
        print_json(answer)
        return
    print_table(answer["columns"], answer["rows"])
    if answer["truncated"]:
        click.echo(f"catalog: only the first {limit} rows are shown (see --limit)", err=True)
