"""How much of what scrubbing finds on real pages is personal data, kind by kind.

    python benchmarks/scrubbing_pages.py FILE.warc.gz ... [--to-judge NEW.tsv] [--judged NEW.tsv]

Every page is read whole, with menus and footers, where most telephone numbers and addresses stand;
each finding counts once, with 40 characters before and 20 behind it. What people said of a finding
is in `scrubbing_judgements.csv` under the SHA-256 of kind, finding and surroundings:

* `right`: it is of this kind and reaches somebody, a person or an office;
* `example`: it has the form and stands for no one (`user@example.com`, a root server);
* `wrong`: it is something else, or of another kind.

Precision is the share of `right` among all that were judged. `--to-judge` writes the findings
that have no judgement, to fill in the first column; `--judged` adds such a file to the judgements.
Pages are in two halves by the hash of their address: rules are made by looking at the first, and
the second is judged when they are made. What stands on pages of both belongs to the first.
"""

import argparse
import csv
import hashlib
import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from machine import machine

from corpus_assets.ingest.stored_pages import read_stored_pages
from corpus_assets.scrub import KINDS, ScrubSettings, find_by_rules
from pageblocks import page_language
from pageblocks.kernels.blocks import find_blocks
from pageblocks.plain_text import text_of

JUDGEMENTS = Path(__file__).with_name("scrubbing_judgements.csv")
VERDICTS = ("right", "example", "wrong")
HALVES = ("pages that rules were made on", "pages held out")
BEFORE, AFTER = 40, 20


class Found(NamedTuple):
    """A finding with what stands around it."""

    kind: str
    before: str
    text: str
    after: str

    @property
    def key(self) -> str:
        return hashlib.sha256("\0".join(self).encode("utf-8", "surrogatepass")).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("warc", type=Path, nargs="+")
    parser.add_argument("--judgements", type=Path, default=JUDGEMENTS, help="default: %(default)s")
    parser.add_argument("--to-judge", type=Path, help="write findings without a judgement")
    parser.add_argument("--judged", type=Path, help="add such a file, its first column filled in")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"{machine()}\n")
    verdicts = read_judgements(options.judgements)
    if options.judged:
        verdicts |= read_answers(options.judged)
        write_judgements(options.judgements, verdicts)
    halves: dict[str, int] = {}
    findings: dict[str, Found] = {}
    n_pages = 0
    for address, text, language in page_texts(options.warc):
        n_pages += 1
        for found in found_in(text, language):
            findings[found.key] = found
            halves[found.key] = min(half_of(address), halves.get(found.key, 1))
    print(f"{n_pages:,} pages")
    for half, name in enumerate(HALVES):
        print(f"\n{name}\n")
        report([findings[key] for key in findings if halves[key] == half], verdicts)
    if options.to_judge:
        write_questions(options.to_judge, findings, halves, verdicts)


def half_of(address: str) -> int:
    return hashlib.sha256(address.encode("utf-8", "surrogatepass")).digest()[0] % 2


def page_texts(warcs: list[Path]) -> Iterator[tuple[str, str, str | None]]:
    """Address, whole text and declared language of every page, each text once."""
    seen = set()
    for page in read_stored_pages(warcs):
        blocks = find_blocks(page.page)
        text = text_of(blocks, np.ones(len(blocks.blocks), dtype=np.bool_)).text
        if text not in seen:
            seen.add(text)
            yield page.url or page.key, text, page_language(page.page.decode("utf-8", "replace"))


def found_in(text: str, language: str | None) -> Iterator[Found]:
    settings = ScrubSettings()
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    offsets = np.array([0, len(data)], dtype=np.int64)
    kinds = frozenset(settings.actions("web"))
    for found in find_by_rules(data, offsets, kinds, settings.regions(language)).get(0, []):
        yield Found(
            found.kind,
            text[max(0, found.start - BEFORE) : found.start],
            text[found.start : found.end],
            text[found.end : found.end + AFTER],
        )


def report(findings: list[Found], verdicts: dict[str, str]) -> None:
    print("| kind | found | judged | right | example | wrong | precision |")
    print("|---|---|---|---|---|---|---|")
    for kind in KINDS:
        some = [found for found in findings if found.kind == kind]
        if some:
            said = Counter(verdicts[found.key] for found in some if found.key in verdicts)
            counts = " | ".join(str(said[verdict]) for verdict in VERDICTS)
            precision = f"{said['right'] / said.total():.3f}" if said else ""
            print(f"| {kind} | {len(some)} | {said.total()} | {counts} | {precision} |")


def read_judgements(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {row["key"]: row["verdict"] for row in csv.DictReader(lines)}


def write_judgements(path: Path, verdicts: dict[str, str]) -> None:
    """Sorted, so that judgements added by two people merge."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("key", "verdict"))
        writer.writerows(sorted(verdicts.items()))


def write_questions(
    path: Path, findings: dict[str, Found], halves: dict[str, int], verdicts: dict[str, str]
) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as out:
        writer = csv.writer(out, dialect="excel-tab", lineterminator="\n")
        writer.writerow(("verdict", "key", "half", "kind", "before", "found", "after"))
        for key, found in findings.items():
            if key not in verdicts:
                around = [" ".join(part.split()) for part in found[1:]]
                writer.writerow(("", key, halves[key], found.kind, *around))


def read_answers(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8", newline="") as lines:
        answers = {
            row["key"]: row["verdict"].strip() for row in csv.DictReader(lines, dialect="excel-tab")
        }
    unknown = sorted({verdict for verdict in answers.values() if verdict} - set(VERDICTS))
    if unknown:
        raise SystemExit(f"{path}: {unknown[0]!r} is no verdict; write {', '.join(VERDICTS)}")
    return {key: verdict for key, verdict in answers.items() if verdict}


if __name__ == "__main__":
    main()
