"""Answers about takedowns whose text is laid out by hand: ids, counts and addresses, never text of a
document."""

from typing import TYPE_CHECKING

from catalog.cli.answering import show_table
from catalog.cli.terminal import print_fields, print_line, printable
from catalog.figures import counted
from catalog.formats.sketches import NEAR_TEXT

if TYPE_CHECKING:
    from catalog.takedown import CheckedCopy, CheckedProof, Ran, Requested

HOSTS_SHOWN = 20
ROLE_WORDS = {
    "matched": "named by the request",
    "near_duplicate": "near duplicates",
    "descendant": "derived from them",
}


def show_nothing(answer: "Ran") -> None:
    """`catalog takedown run`: the runner has printed what it did."""


def show_request(answer: "Requested") -> None:
    """`catalog takedown request`"""
    from catalog.takedown import state_of

    row = answer.request
    if row is None:
        print_line("Dry run: nothing was filed.")
    elif answer.outcome == "filed":
        print_line(f"Takedown {row.id} filed, pending.")
    elif answer.outcome == "reopened":
        print_line(f"Takedown {row.id} reopened, pending again.")
    elif answer.outcome == "already_there":
        note = f"Already filed as takedown {row.id} ({printable(state_of(row))})"
        print_line(f"{note}; nothing new was filed.")
    else:
        print_line(f"Dry run: already filed as takedown {row.id} ({printable(state_of(row))}).")
    asked = [("asked for", f"{answer.kind} {answer.value}")]
    print_fields([*asked, ("covers", answer.scope)] if answer.scope else asked)
    if answer.outcome == "dry_run" and answer.needs_yes:
        print_line("Filing it needs --yes: " + printable(answer.needs_yes))
    if answer.standing:
        print_line(_standing(answer))
        for line in _near_copies(answer):
            print_line(line)
        if answer.nearest:
            print_line()
            show_table(answer.nearest)
        return
    _show_impact(answer)
    if answer.hosts and answer.kind in ("domain", "url_prefix"):
        print_line()
        shown = answer.hosts[:HOSTS_SHOWN]
        show_table(shown)
        if len(answer.hosts) > len(shown):
            print_line(f"The {len(shown)} hosts with the most documents; --json lists more.")
    if answer.near_duplicates:
        print_line()
    for line in _near_copies(answer):
        print_line(line)
    if answer.outcome in ("filed", "reopened"):
        print_line()
        print_line("`catalog takedown run` or the takedown sensor rebuilds the affected versions.")


def _standing(answer: "Requested") -> str:
    message = (
        "No document of a live version matches. The suppression applies to every later snapshot "
        "and build."
    )
    if answer.kind.startswith("text"):
        message += (
            " A text must be given exactly as it was extracted: `catalog find --text-file` searches "
            "inside final texts."
        )
    return message


def _near_copies(answer: "Requested") -> list[str]:
    """Return what holds for copies that come in later, under URLs that are not known yet."""
    if not answer.near_duplicates:
        return []
    held = sum(kind == NEAR_TEXT for kind, _ in answer.suppressions)
    short = answer.texts_too_short
    lines = []
    if held:
        lines.append(
            f"Near duplicates of {counted(held, 'text')} are suppressed too, under any URL."
        )
    if short:
        lines.append(
            f"Only exact copies of {counted(short, 'text')} are suppressed: too short to match near "
            "duplicates reliably."
        )
    if not held and not short:
        lines.append(
            "Near duplicates under other URLs cannot be found until the text is known: file it with "
            "--text-file and --near-duplicates if you have it."
            if answer.kind not in ("text_id", "text_sha256")
            else "Only exact copies are suppressed: the text is not known, or too short to match near "
            "duplicates reliably."
        )
    return lines


def _show_impact(answer: "Requested") -> None:
    from catalog.takedown import EFFECTS

    roles = answer.documents_by_role
    parts = [f"{roles[role]} {words}" for role, words in ROLE_WORDS.items() if roles.get(role)]
    print_fields(
        [
            ("documents", f"{answer.documents}" + (f" ({', '.join(parts)})" if parts else "")),
            ("in shards", answer.documents_in_shards),
            ("shards", answer.shards),
            ("samples", answer.samples),
            ("tokens", answer.tokens),
            ("clusters", answer.clusters),
        ]
    )
    if answer.versions:
        print_line()
        show_table(answer.versions)
    if answer.cluster_effects:
        print_line()
        show_table(answer.cluster_effects)
    if answer.cluster_effects_truncated:
        counts = ", ".join(
            f"{count} {EFFECTS[name]}" for name, count in answer.cluster_outcomes.items()
        )
        print_line(f"The first {len(answer.cluster_effects)}; of all clusters: {counts}.")


def show_verified(answer: "CheckedProof | CheckedCopy") -> None:
    """`catalog takedown verify`"""
    from catalog.takedown import CheckedCopy

    if isinstance(answer, CheckedCopy):
        _show_copy(answer)
    else:
        _show_proof(answer)


def _show_proof(answer: "CheckedProof") -> None:
    """The outcome of looking at a takedown's proof again."""
    print_line(
        f"takedown {answer.request}: checked "
        f"{counted(answer.certificates_checked, 'certificate')} and "
        f"{counted(len(answer.versions_searched), 'live version')}"
    )
    for problem in answer.broken_certificates:
        print_line(f"  {problem}")
    for problem in answer.orders_missing:
        print_line(f"  {problem}")
    for found in answer.documents_found:
        print_line(f"  {found.doc_id} is in {found.version} ({found.table})")
    for path in answer.files_left:
        print_line(f"  {path} is still in the store")
    if answer.files_kept:
        print_line(
            f"  {counted(answer.files_kept, 'file')} of revoked versions kept, as configured in the recipe; "
            "`corpus gc` deletes them"
        )
    if answer.copies_under_other_addresses:
        print_line(
            f"  {counted(answer.copies_under_other_addresses, 'copy', 'copies')} under other URLs, "
            "not covered by the request"
        )
    _show_signature(answer)
    if answer.signed_by and not answer.head_checked:
        print_line(
            "  The end of the order book was not checked: that needs the head record next to the "
            "signing key."
        )
    search = answer.search
    if search is None:
        print_line(
            "  Ids and digests were checked. Texts and tokens were not searched for the removed text: "
            "that needs corpus-assets, installed where this catalog's store can be read."
        )
    else:
        print_line(
            f"  searched {counted(search['texts'], 'text')} and {counted(search['tokens'], 'token')}: "
            f"{counted(search['exact'], 'exact copy', 'exact copies')}, "
            f"{counted(search['similar'], 'near duplicate')}"
        )
        print_line(f"  searched {counted(search['files'], 'other file')} in the home")
        for held in search["holding"]:
            print_line(f"  {held['file']} {held['statement']}: {held['to_do']}")
        for name, why in search["not_searched"]:
            print_line(f"  {name} was not searched: {why}")
    if answer.recorded is not None:
        print_line(f"  recorded in {answer.recorded}")
    if not answer.documents_removed:
        print_line(
            "Nothing was removed for this request: the certificate lists no document, so there is "
            "nothing to verify."
        )
    elif not answer.versions_searched:
        print_line(
            "There is no live version to search; versions that the catalog does not know were not "
            "checked."
        )
    else:
        print_line("Verified." if answer.whole else "Verification failed.")


def _show_signature(answer: "CheckedProof") -> None:
    if answer.signed_by is None:
        print_line(
            "  It is not signed: digests detect damage, and changes by anyone who cannot write to both "
            "catalog and store."
        )
    elif not answer.signature_checked:
        print_line("  It is signed, but the signature was not checked: pass --public-key.")
    else:
        print_line(f"  signed with the key {answer.signed_by}")


def _show_copy(answer: "CheckedCopy") -> None:
    """A copy of a certificate, checked by itself."""
    print_line(
        f"{answer.certificate}: takedown {answer.request}, certificate number "
        f"{answer.number} of {answer.issued_at}"
    )
    print_fields(
        [
            ("documents removed", answer.documents_removed),
            ("files not deleted", len(answer.files_left)),
            ("copies that remain", answer.copies_left),
            ("signed with", answer.signed_by or "nothing"),
            ("page", "matches" if answer.page_checked else "not found next to it"),
        ]
    )
    for problem in answer.problems:
        print_line(f"  {problem}")
    if not answer.problems:
        print_line("  The operator signed exactly this. Catalog and store were not checked.")
    if not answer.documents_removed:
        print_line("Nothing was removed: the certificate lists no document.")
    elif answer.whole:
        print_line("The certificate is genuine.")
    else:
        print_line("The certificate is not valid.")
