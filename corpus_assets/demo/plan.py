"""The plan of the demo: what is planted, how much, where, and the expected decision.

The numbers are per web snapshot of `RECORDS` captures; ordinary articles fill the rest. A
phenomenon that needs an earlier snapshot (a recrawl) is left out of the first one.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

RECORDS = 700
FILES = 4

Expect = tuple[str, str | None] | None
"""Stage and reason that should drop a document; reason None: any; None: it should survive."""


@dataclass(frozen=True)
class Snapshot:
    """One delivery of the crawl, and the days in which it was fetched."""

    name: str
    first: datetime
    days: int

    def moment(self, share: float) -> datetime:
        """Return the second that lies at this share of the crawl's time."""
        return self.first + timedelta(seconds=int(self.days * 86_400 * share))


SNAPSHOTS = (
    Snapshot("CC-DEMO-2024-10", datetime(2024, 2, 20, 22, 11, 5, tzinfo=UTC), 13),
    Snapshot("CC-DEMO-2024-18", datetime(2024, 4, 12, 6, 40, 31, tzinfo=UTC), 12),
    Snapshot("CC-DEMO-2024-26", datetime(2024, 6, 12, 14, 2, 58, tzinfo=UTC), 14),
)

COUNTS: dict[str, int] = {
    "recrawl_unchanged": 100,
    "recrawl_changed": 40,
    "mirror": 24,
    "near_duplicate": 36,
    "same_capture_twice": 8,
    "templated_spam": 40,
    "thin": 24,
    "wrong_language": 42,
    "broken_html": 24,
    "broken_encoding": 15,
    "legacy_charset": 15,
    "personal_data": 24,
    "eval_quote": 20,
    "eval_near_miss": 12,
    "optout_meta": 10,
    "optout_header": 8,
    "blocked_host": 10,
    "error_status": 14,
    "redirect": 12,
    "not_html": 12,
    "too_large": 1,
}

TRUNCATED_AT = (1, 3)  # snapshot, file: its last record is cut
CORRUPT_AT = (2, 1)  # snapshot, file: a member in its middle cannot be inflated

LANGUAGE_RECORDS = {"en": 525, "de": 56, "fr": 42, "es": 35}
"""Captures per snapshot by language; wrong languages are the rest (6%)."""

HAND_WRITTEN_PERCENT = 12  # of fresh captures take a hand-written article, while there are any

DUPLICATE: Expect = ("clusters", "duplicate")

EXPECT: dict[str, Expect] = {
    "recrawl_unchanged": DUPLICATE,
    "recrawl_changed": DUPLICATE,
    "mirror": DUPLICATE,
    "near_duplicate": DUPLICATE,
    "same_capture_twice": DUPLICATE,
    "code_duplicate": DUPLICATE,
    "templated_spam": ("selection", None),
    "thin": ("selection", None),
    "generated_code": ("selection", None),
    "wrong_language": ("selection", "language"),
    "broken_html": None,
    "broken_encoding": None,
    "legacy_charset": None,
    "personal_data": None,
    "eval_quote": ("contamination", "contaminated"),
    "eval_near_miss": None,
    "optout_meta": ("documents", "opted_out"),
    "optout_header": ("documents", "opted_out"),
    "blocked_host": ("documents", "blocked_host"),
    "error_status": ("documents", "http_status"),
    "redirect": ("documents", "http_status"),
    "not_html": ("documents", "content_type"),
    "too_large": ("documents", "too_large"),
    "truncated_record": ("documents", "damaged_record"),
    "corrupt_member": ("documents", "damaged_record"),
    "boilerplate_lines": None,
    "licence_cc": None,
    "proprietary_licence": ("documents", "licence_not_allowed"),
    "synthetic": None,
}

CODE_SNAPSHOT = "code-2024-03"
BOOKS_SNAPSHOT = "books-2024-01"
SYNTHETIC_SNAPSHOT = "synthetic-2024-06"
MATH_SNAPSHOT = "math-2024-04"

CODE_FILES = 250
CODE_EXACT_COPIES = 24
CODE_NEAR_COPIES = 16
CODE_PROPRIETARY = 14
CODE_GENERATED = 12
CODE_EVAL_QUOTES = 8
BOOK_COPIES = 4
BOOK_PROPRIETARY = 3
SYNTHETIC_TEXTS = 120
QUALITY_TEXTS = 300


@dataclass
class Entry:
    """One line of the manifest: a record or document, and what was planted in it.

    Of a `group` one member should outlive deduplication. `expect` names the later ones as
    losers, which is right where a recipe keeps the earliest; another policy may keep another.
    """

    snapshot: str
    file: str
    key: str
    lang: str
    domain: str
    planted: list[str]
    of: str | None = None
    group: str | None = None
    eval_items: list[str] | None = None
    emails: int = 0
    ips: int = 0
    expect: Expect = None
    note: str = ""

    def as_json(self) -> dict[str, object]:
        """Return the line's fields, plain values."""
        expect = None
        if self.expect is not None:
            expect = {"stage": self.expect[0], "reason": self.expect[1]}
        return {
            "snapshot": self.snapshot,
            "file": self.file,
            "key": self.key,
            "lang": self.lang,
            "domain": self.domain,
            "planted": sorted(self.planted),
            "of": self.of,
            "group": self.group,
            "eval_items": list(self.eval_items or []),
            "emails": self.emails,
            "ips": self.ips,
            "text_file": None,
            "expect": expect,
            "note": self.note,
        }
