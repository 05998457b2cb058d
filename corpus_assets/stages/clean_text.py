"""The last text step: boilerplate lines out, personal data replaced, every edit recorded.

Where the recipe has families that rewrite text (`c4_lines`), what they leave is what is cleaned.
All edits are recorded in the extracted text's own coordinates, so a place in the final text maps
back to its place in the extracted text, and through the record to the source.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pydantic import Field

from corpus_assets.documents import FINAL_TEXT
from corpus_assets.signals import TextStep
from corpus_assets.stages.boilerplate import BoilerplateSettings, line_key, lines_with_ends
from corpus_assets.stages.scrub import ScrubSettings, find_personal_data
from corpus_assets.stages.text_steps import Edit, edits_of_extracted, rewrite_documents
from corpus_assets.step import Settings

VERSION = 3

TOO_SHORT = "too_short_after_cleaning"


class CleanTextSettings(Settings):
    boilerplate: BoilerplateSettings = BoilerplateSettings()
    scrub: ScrubSettings = ScrubSettings()
    min_chars: int = Field(default=100, ge=1)


@dataclass(frozen=True)
class Cleaned:
    text: str
    edits: list[Edit]
    boilerplate_lines: int
    emails: int
    ip_addresses: int


def clean(
    text: str, host: str, is_boilerplate: Callable[[int], bool] | None, settings: CleanTextSettings
) -> Cleaned:
    """Clean one text. `is_boilerplate` answers for line keys; None leaves all lines."""
    edits: list[Edit] = []
    lines = 0
    if is_boilerplate is not None:
        for start, end, line in lines_with_ends(text):
            if len(line.strip()) >= settings.boilerplate.min_chars and is_boilerplate(
                line_key(host, line)
            ):
                edits.append(Edit(start, end, ""))
                lines += 1
    starts = [edit.start for edit in edits]
    ends = [edit.end for edit in edits]
    emails = ips = 0
    for finding in find_personal_data(text, settings.scrub):
        before = bisect_right(starts, finding.start) - 1
        if before >= 0 and finding.start < ends[before]:
            continue  # it went with its line
        is_email = finding.kind == "email"
        emails += is_email
        ips += not is_email
        holder = settings.scrub.email_placeholder if is_email else settings.scrub.ip_placeholder
        edits.append(Edit(finding.start, finding.end, holder))
    edits.sort(key=lambda edit: edit.start)
    return Cleaned(apply_edits(text, edits), edits, lines, emails, ips)


def apply_edits(text: str, edits: list[Edit]) -> str:
    """The text after sorted, non-overlapping edits."""
    pieces: list[str] = []
    place = 0
    for edit in edits:
        pieces += (text[place : edit.start], edit.replacement)
        place = edit.end
    pieces.append(text[place:])
    return "".join(pieces)


def clean_documents(
    documents: pa.Table,
    tiers: pa.ChunkedArray,
    languages: pa.ChunkedArray,
    boilerplate: frozenset[int],
    settings: CleanTextSettings,
    steps: Sequence[TextStep] = (),
) -> tuple[pa.Table, list[bool]]:
    """Final text of the given documents, and for each whether it survived cleaning.

    `steps` are the families that rewrite text, in the recipe's order.
    """
    rows: list[dict[str, object]] = []
    survived: list[bool] = []
    columns = [documents[name].to_pylist() for name in ("doc_id", "domain", "host", "text")]
    rewritten = rewrite_documents(columns[3], columns[1], steps)
    for doc_id, domain, host, text, tier, language, left in zip(
        *columns, tiers.to_pylist(), languages.to_pylist(), rewritten, strict=True
    ):
        lookup = boilerplate.__contains__ if domain in settings.boilerplate.domains else None
        cleaned = clean(text if left is None else left.text, host or "", lookup, settings)
        if left is not None:
            edits = edits_of_extracted(len(text), left.kept, cleaned.edits)
            cleaned = replace(cleaned, edits=edits)
        survived.append(len(cleaned.text.strip()) >= settings.min_chars)
        if survived[-1]:
            rows.append(
                {
                    "doc_id": doc_id,
                    "domain": domain,
                    "tier": tier,
                    "language": language,
                    "boilerplate_lines": cleaned.boilerplate_lines,
                    "emails": cleaned.emails,
                    "ip_addresses": cleaned.ip_addresses,
                    "edits": [
                        {"start": e.start, "end": e.end, "new_length": len(e.replacement)}
                        for e in cleaned.edits
                    ],
                    "text": cleaned.text,
                }
            )
    return pa.Table.from_pylist(rows, schema=FINAL_TEXT), survived
