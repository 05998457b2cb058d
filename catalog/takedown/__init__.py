"""Takedowns: what a request means, what it touches, and the proof that it was done."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from catalog.takedown.book import (
        Restored,
        book_problems,
        deliver_book,
        expect_book,
        recorded_in_book,
        restore_catalog,
    )
    from catalog.takedown.certificates import (
        CheckedCopy,
        CheckedProof,
        broken_links,
        certificate_bytes,
        open_files,
        record_search,
        verify_copy,
        verify_takedown,
    )
    from catalog.takedown.impact import EFFECTS
    from catalog.takedown.import_file import ImportedRequests, import_takedowns
    from catalog.takedown.left import documents_left
    from catalog.takedown.requests import (
        Ran,
        Rematched,
        Requested,
        ShownTakedown,
        Withdrawn,
        find_doc_id,
        look_again,
        request_takedown,
        run_takedowns,
        show_takedown,
        state_of,
        withdraw_takedown,
    )
    from catalog.takedown.signing import Key, Signer, Trust, key_path, load_public_key, make_key
    from catalog.takedown.target import (
        ID_DIGITS,
        doc_id_target,
        domain_target,
        target_of,
        text_sha256_target,
        text_target,
        url_prefix_target,
        url_target,
        with_near_copies,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "EFFECTS",
    "ID_DIGITS",
    "CheckedCopy",
    "CheckedProof",
    "ImportedRequests",
    "Key",
    "Ran",
    "Rematched",
    "Requested",
    "Restored",
    "ShownTakedown",
    "Signer",
    "Trust",
    "Withdrawn",
    "book_problems",
    "broken_links",
    "certificate_bytes",
    "deliver_book",
    "doc_id_target",
    "documents_left",
    "domain_target",
    "expect_book",
    "find_doc_id",
    "import_takedowns",
    "key_path",
    "load_public_key",
    "look_again",
    "make_key",
    "open_files",
    "record_search",
    "recorded_in_book",
    "request_takedown",
    "restore_catalog",
    "run_takedowns",
    "show_takedown",
    "state_of",
    "target_of",
    "text_sha256_target",
    "text_target",
    "url_prefix_target",
    "url_target",
    "verify_copy",
    "verify_takedown",
    "with_near_copies",
    "withdraw_takedown",
]
