"""`catalog takedown`: ask for a removal, see what it touches, follow it to its certificate."""

import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, Any

import click

from catalog.cli import takedown_views as views
from catalog.cli.options import BROKEN_EXIT, Place, placed
from catalog.cli.terminal import print_json, print_line, printable
from catalog.db.rows import TAKEDOWN_STATES
from catalog.errors import CatalogError, TakedownTooWide
from catalog.figures import counted

BAD_LINES_IN_JSON = 10_000


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
def request(
    place: Place,
    as_json: bool,
    reason: str,
    requester: str,
    reference: str,
    near_duplicates: bool,
    dry_run: bool,
    yes: bool,
    **asked: Any,
) -> None:
    """File a takedown and show what it affects.

    Give exactly one of --url, --url-prefix, --domain, --doc-id, --text-file, --text-sha256. A
    request that matches nothing is kept as a suppression for later snapshots. Filing the same
    request twice is a no-op. A very large request, or a domain with many owners (co.uk), needs
    --yes or, at a terminal, a confirmation.
    """
    from catalog.takedown.requests import request as file_request

    target = _target(place, near_duplicates, **asked)

    def filed(confirmed: bool) -> dict[str, Any]:
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
        answer = filed(yes)
    except TakedownTooWide as error:
        if as_json or not sys.stdin.isatty():
            raise
        click.confirm(f"{printable(str(error))}. File it now?", abort=True, err=True)
        answer = filed(True)
    print_json(answer) if as_json else views.show_request(answer)


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
    from catalog.takedown import target as targets
    from catalog.takedown.requests import find_doc_id

    given = (url, url_prefix, domain, doc_id, text_file, text_sha256)
    if sum(value is not None for value in given) != 1:
        raise click.UsageError(
            "give exactly one of --url, --url-prefix, --domain, --doc-id, --text-file, "
            "--text-sha256"
        )
    if url is not None or url_prefix is not None:
        sources = {source.name for source in place.registry.sources()}
        if url is not None:
            return targets.url_target(url, sources)
        return targets.url_prefix_target(url_prefix or "", sources)
    if domain is not None:
        return targets.domain_target(domain)
    if doc_id is not None:
        return find_doc_id(place.registry, place.store, doc_id)
    if text_file is not None:
        try:
            text = text_file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise CatalogError(f"the text file is not UTF-8: {error.reason}") from None
        target = targets.text_target(text)
        return targets.with_near_copies(target, text) if near_duplicates else target
    return targets.text_sha256_target(text_sha256 or "")


@takedown.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--reason", default="", help="Reason for lines without one.")
@click.option("--dry-run", is_flag=True, help="Only show what it would affect.")
@placed
def import_(place: Place, as_json: bool, file: Path, reason: str, dry_run: bool) -> int:
    """File the requests in a .csv or .jsonl file.

    Columns: kind and value, or one of url, url_prefix, domain, doc_id, text_id, text_sha256;
    reason, requester, reference, near_duplicates. Bad lines are reported and skipped; exits with
    1 if there were any.
    """
    from catalog.takedown.import_file import import_takedowns

    bad: list[dict[str, Any]] = []

    def tell(number: int, why: str) -> None:
        if not as_json:
            print_line(f"line {number}: {printable(why)}")
        elif len(bad) < BAD_LINES_IN_JSON:
            bad.append({"line": number, "reason": why})

    answer = import_takedowns(
        place.registry, place.store, file, tell, reason=reason, dry_run=dry_run
    )
    print_json(answer | {"bad_lines": bad}) if as_json else views.show_imported(answer)
    return BROKEN_EXIT if answer["bad"] else 0


@takedown.command("list")
@click.option(
    "--status",
    type=click.Choice([*TAKEDOWN_STATES, "failed"]),
    help="Only requests with this status.",
)
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True)
@placed
def list_(place: Place, as_json: bool, status: str | None, limit: int) -> None:
    """List takedown requests.

    `failed` are pending requests whose last attempt failed.
    """
    rows = [asdict(row) for row in place.registry.takedowns(status, limit + 1)]
    print_json(rows[:limit]) if as_json else views.show_list(rows[:limit])
    if len(rows) > limit:
        click.echo(f"catalog: output cut to {counted(limit, 'request')} (see --limit)", err=True)


@takedown.command()
@click.argument("request_id", metavar="ID", type=int)
@placed
def show(place: Place, as_json: bool, request_id: int) -> None:
    """Show a request, its results and certificates.

    And what keeps it open.
    """
    from catalog.takedown.certificates import open_files
    from catalog.takedown.requests import show as show_request

    answer = show_request(place.registry, request_id)
    answer["open_files"] = open_files(place.registry, place.store, request_id)
    print_json(answer) if as_json else views.show_takedown(answer)


@takedown.command()
@click.argument("request_id", metavar="ID", type=int)
@placed
def withdraw(place: Place, as_json: bool, request_id: int) -> None:
    """Withdraw a pending request.

    Its suppressions end, except those of other requests.
    """
    from catalog.takedown.requests import withdraw as withdraw_request

    answer = withdraw_request(place.registry, place.store, request_id)
    print_json(answer) if as_json else views.show_withdrawn(answer)


@takedown.command()
@click.argument("what", metavar="ID|FILE")
@click.option(
    "--public-key",
    "public_keys",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    help="The operator's public key; repeat it if the key was rotated.",
)
@placed
def verify(place: Place, as_json: bool, what: str, public_keys: tuple[Path, ...]) -> int:
    """Verify a takedown or a certificate file.

    With ID, re-checks its certificate, the store and all live versions. With FILE, a copy of a
    certificate (.json), and its page if it is next to it, are checked against the public key;
    neither catalog nor store is needed.
    """
    from catalog.takedown.certificates import verify_copy, verify_takedown
    from catalog.takedown.signing import Trust, load_public_key

    if what.isascii() and what.isdigit():
        trust = Trust.given(public_keys)
        tell = partial(click.echo, err=True)
        answer = verify_takedown(place.registry, place.store, int(what), trust, place.home, tell)
        print_json(answer) if as_json else views.show_verified(answer)
    else:
        answer = verify_copy(Path(what), [load_public_key(path) for path in public_keys])
        print_json(answer) if as_json else views.show_verified_copy(answer)
    return 0 if answer["whole"] else BROKEN_EXIT


@takedown.command()
@placed
def restore(place: Place, as_json: bool) -> None:
    """Restore catalog and store from the order book.

    For use after one of them was lost. The catalog gets the requests, suppressions and certificates
    of the store's order book, and versions that takedowns revoked are revoked again. Missing
    entries are rewritten to the store, and deleted or edited rows restored.
    """
    from catalog.takedown.book import restore as restore_book

    place.unchecked.upgrade()
    answer = restore_book(place.registry, place.store)
    print_json(answer) if as_json else views.show_restored(answer)


@takedown.command()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Private key file [env CORPUS_SIGNING_KEY; in ~/.config].",
)
@placed
def keygen(place: Place, as_json: bool, out: Path | None) -> None:
    """Create the key that signs certificates.

    Prints the public key: publish it where requesters can find it. The private key and the head
    record next to it must be outside home and store, and unreadable to anyone who can write to the
    catalog or the store.
    """
    from catalog.takedown.signing import fingerprint, key_path, make_key, pem, public_path

    path = out or key_path()
    key = make_key(path, [place.home, *place.local_store])
    answer = {
        "private_key": str(path),
        "public_key": str(public_path(path)),
        "key_sha256": fingerprint(key),
        "pem": pem(key).decode(),
    }
    print_json(answer) if as_json else views.show_key(answer)


@takedown.command()
@click.option("--home", envvar="CORPUS_HOME", help="Home folder: catalog.db and store.")
@click.option("--workers", type=click.IntRange(1), help="Worker processes [1].")
@click.option("--engine", metavar="NAME", help="Where tasks run: local, ray [env CORPUS_ENGINE].")
@click.option("--ray-address", metavar="ADDRESS", help="The Ray cluster [env CORPUS_RAY_ADDRESS].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def run(home: str | None, as_json: bool, **options: str | int | None) -> int:
    """Run pending takedowns: purge, rebuild, certify.

    The work is done by the installed runner (part of corpus-assets), which finds catalog and
    store by --home and the CORPUS_* variables.
    """
    from catalog.takedown.requests import run as run_pending

    given = {name: value for name, value in options.items() if value is not None}
    if not as_json:
        return run_pending(home, **given)[1]
    with redirect_stdout(sys.stderr):  # what the runner tells on its way is not JSON
        runner, code = run_pending(home, **given)
    print_json({"runner": runner, "exit_code": code})
    return code
