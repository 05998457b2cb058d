"""`catalog takedown`: ask for a removal, see what it touches, follow it to its certificate."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from catalog.answers import Rows
from catalog.cli import takedown_views as views
from catalog.cli.answering import answers
from catalog.cli.options import Place, placed
from catalog.cli.terminal import printable
from catalog.db import TAKEDOWN_STATES, TakedownRow
from catalog.errors import CatalogError, TakedownTooWide
from catalog.figures import counted

if TYPE_CHECKING:
    from catalog.takedown import (
        CheckedCopy,
        CheckedProof,
        ImportedRequests,
        Key,
        Ran,
        Requested,
        Restored,
        ShownTakedown,
        Withdrawn,
    )


@click.group()
def takedown() -> None:
    """Remove documents and prove it.

    Every command has --json; none prints document text.
    """


@takedown.command()
@click.option("--url", help="URL of a page in any spelling, or SOURCE:KEY of a record.")
@click.option("--url-prefix", help="All pages whose canonical URL starts with this.")
@click.option("--domain", help="A host and all its subdomains; www.X: only that host.")
@click.option("--doc-id", help="A document id or an unambiguous prefix of it.")
@click.option("--text-file", type=click.File("rb"), help="A text, from a UTF-8 file ('-': stdin).")
@click.option("--text-sha256", help="A text, by the SHA-256 of its NFC form in UTF-8.")
@click.option("--near-duplicates", is_flag=True, help="Also remove exact and near duplicates.")
@click.option("--reason", required=True, help="Reason; quoted in the certificate.")
@click.option("--requester", default="", help="Who requested it.")
@click.option("--reference", default="", help="Case, letter or ticket number.")
@click.option("--dry-run", is_flag=True, help="Only show what it would affect.")
@click.option("--yes", is_flag=True, help="Skip the confirmation for large requests.")
@placed
@answers(view=views.show_request)
def request(
    place: Place,
    reason: str,
    requester: str,
    reference: str,
    near_duplicates: bool,
    dry_run: bool,
    yes: bool,
    **asked: Any,
) -> "Requested":
    """File a takedown and show what it affects.

    Give exactly one of --url, --url-prefix, --domain, --doc-id, --text-file, --text-sha256. A
    request that matches nothing is kept as a suppression for later snapshots. Filing the same
    request twice is a no-op. A very large request, or a domain with many owners (co.uk), needs
    --yes or, at a terminal, a confirmation.
    """
    from catalog.takedown import request_takedown as file_request

    target = _target(place, near_duplicates, **asked)

    def filed(confirmed: bool) -> "Requested":
        return file_request(
            place.registry,
            place.store,
            target,
            reason,
            near_duplicates=near_duplicates,
            requester=requester,
            reference=reference,
            dry_run=dry_run,
            confirmed=confirmed,
        )

    try:
        return filed(yes)
    except TakedownTooWide as error:
        if not sys.stdin.isatty():
            raise
        click.confirm(f"{printable(str(error))}. File it now?", abort=True, err=True)
        return filed(True)


def _target(
    place: Place,
    near_duplicates: bool,
    url: str | None,
    url_prefix: str | None,
    domain: str | None,
    doc_id: str | None,
    text_file: IO[bytes] | None,
    text_sha256: str | None,
) -> Any:
    from catalog.takedown import (
        domain_target,
        find_doc_id,
        text_sha256_target,
        text_target,
        url_prefix_target,
        url_target,
        with_near_copies,
    )

    given = (url, url_prefix, domain, doc_id, text_file, text_sha256)
    if sum(value is not None for value in given) != 1:
        raise click.UsageError(
            "give exactly one of --url, --url-prefix, --domain, --doc-id, --text-file, "
            "--text-sha256"
        )
    if url is not None or url_prefix is not None:
        sources = {source.name for source in place.registry.sources()}
        if url is not None:
            return url_target(url, sources)
        return url_prefix_target(url_prefix or "", sources)
    if domain is not None:
        return domain_target(domain)
    if doc_id is not None:
        return find_doc_id(place.registry, place.store, doc_id)
    if text_file is not None:
        try:
            text = text_file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise CatalogError(f"the text file is not UTF-8: {error.reason}") from None
        target = text_target(text)
        return with_near_copies(target, text) if near_duplicates else target
    return text_sha256_target(text_sha256 or "")


@takedown.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--reason", default="", help="Reason for lines without one.")
@click.option("--dry-run", is_flag=True, help="Only show what it would affect.")
@placed
@answers
def import_(place: Place, file: Path, reason: str, dry_run: bool) -> "ImportedRequests":
    """File the requests in a .csv or .jsonl file.

    Columns: kind and value, or one of url, url_prefix, domain, doc_id, text_id, text_sha256;
    reason, requester, reference, near_duplicates. Bad lines are reported and skipped; exits with
    1 if there were any.
    """
    from catalog.takedown import import_takedowns

    return import_takedowns(place.registry, place.store, file, reason=reason, dry_run=dry_run)


@takedown.command("list")
@click.option(
    "--status",
    type=click.Choice([*TAKEDOWN_STATES, "failed"]),
    help="Only requests with this status.",
)
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True)
@placed
@answers
def list_(place: Place, status: str | None, limit: int) -> Rows[TakedownRow]:
    """List takedown requests.

    `failed` are pending requests whose last attempt failed.
    """
    rows = place.registry.takedowns(status, limit + 1)
    cut = (f"output cut to {counted(limit, 'request')} (see --limit)",) * (len(rows) > limit)
    columns = ("id", "status", "created_at", "scope", "value", "how_many", "reference", "error")
    return Rows(rows[:limit], columns, "No takedowns found.", cut)


@takedown.command()
@click.argument("request_id", metavar="ID", type=int)
@placed
@answers
def show(place: Place, request_id: int) -> "ShownTakedown":
    """Show a request, its results and certificates.

    Also shows what keeps it open.
    """
    from catalog.takedown import open_files
    from catalog.takedown import show_takedown as show_request

    found = show_request(place.registry, request_id)
    return replace(found, open_files=open_files(place.registry, place.store, request_id))


@takedown.command()
@click.argument("request_id", metavar="ID", type=int)
@placed
@answers
def withdraw(place: Place, request_id: int) -> "Withdrawn":
    """Withdraw a pending request.

    Its suppressions end, except those of other requests.
    """
    from catalog.takedown import withdraw_takedown as withdraw_request

    return withdraw_request(place.registry, place.store, request_id)


@takedown.command()
@click.argument("what", metavar="ID|FILE")
@click.option(
    "--public-key",
    "public_keys",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    help="The operator's public key; repeat it if the key was rotated.",
)
@click.option("--record", is_flag=True, help="Store the result of the search with the certificate.")
@placed
@answers(view=views.show_verified)
def verify(
    place: Place, what: str, public_keys: tuple[Path, ...], record: bool
) -> "CheckedProof | CheckedCopy":
    """Verify a takedown or a certificate file.

    With ID, re-checks its certificate, the store and all live versions. With FILE, a copy of a
    certificate (.json), and its page if it is next to it, are checked against the public key;
    neither catalog nor store is needed.
    """
    from catalog.takedown import (
        Trust,
        load_public_key,
        record_search,
        verify_copy,
        verify_takedown,
    )

    if what.isascii() and what.isdigit():
        trust = Trust.given(public_keys)
        tell = partial(click.echo, err=True)
        proof = verify_takedown(place.registry, place.store, int(what), trust, place.home, tell)
        return record_search(place.store, place.registry, proof) if record else proof
    if record:
        raise click.UsageError("--record is for the ID of a takedown")
    return verify_copy(Path(what), [load_public_key(path) for path in public_keys])


@takedown.command()
@placed
@answers
def restore(place: Place) -> "Restored":
    """Restore catalog and store from the order book.

    For use after one of them was lost. The catalog gets the requests, suppressions and certificates
    of the store's order book, and versions that takedowns revoked are revoked again. Missing
    entries are rewritten to the store, and deleted or edited rows restored.
    """
    from catalog.takedown import restore_catalog as restore_book

    place.unchecked.upgrade()
    return restore_book(place.registry, place.store)


@takedown.command()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Private key file [env CORPUS_SIGNING_KEY; in ~/.config].",
)
@placed
@answers
def keygen(place: Place, out: Path | None) -> "Key":
    """Create the key that signs certificates.

    Prints the public key: publish it where requesters can find it. The private key and the head
    record next to it must be outside home and store, and unreadable to anyone who can write to the
    catalog or the store.
    """
    from catalog.takedown import Key, key_path, make_key

    path = out or key_path()
    return Key.of(path, make_key(path, [place.home, *place.local_store]))


@takedown.command()
@click.option("--home", envvar="CORPUS_HOME", help="Home folder: catalog.db and store.")
@click.option("--workers", type=click.IntRange(1), help="Worker processes [1].")
@click.option("--engine", metavar="NAME", help="Where tasks run: local, ray [env CORPUS_ENGINE].")
@click.option("--ray-address", metavar="ADDRESS", help="The Ray cluster [env CORPUS_RAY_ADDRESS].")
@answers(view=views.show_nothing)
def run(home: str | None, **options: str | int | None) -> "Ran":
    """Run pending takedowns: purge, rebuild, certify.

    The work is done by the installed runner (part of corpus-assets), which finds catalog and
    store by --home and the CORPUS_* variables.
    """
    from catalog.takedown import run_takedowns as run_pending

    given = {name: value for name, value in options.items() if value is not None}
    return run_pending(home, **given)
