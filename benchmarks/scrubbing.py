"""Personal data: what is found, what is missed, and at what cost beside `re` and datatrove.

    python -m venv PEER && PEER/bin/pip install -r benchmarks/requirements-scrubbing.txt
    python benchmarks/scrubbing.py --labelled PII.jsonl.gz --texts TEXTS.jsonl.gz ... \\
        --demo FOLDER --peer-python PEER/bin/python

`--labelled`: lines of {text, spans: [{type, start, end}]}; a span counts as found where a finding
of its kind touches it. `--texts`: lines with a `text` or `main_content`. `--demo`: a folder for
the demo sources, made where it is empty; what was planted there is compared with what is found.

"plain re" scans every text with the same expressions from left to right, and must find the same.
CPU time of one process, by turns, the smaller of two rounds.
"""

import argparse
import gzip
import hashlib
import json
import random
import re
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import phonenumbers
import pyarrow as pa
import trafilatura
from fastwarc.warc import ArchiveIterator, WarcRecordType
from machine import machine
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from corpus_assets.clean.clean_text import clean, clean_documents
from corpus_assets.clean.pinned_lines import Boilerplate
from corpus_assets.clean.settings import CleanTextSettings
from corpus_assets.demo.generate import generate_demo
from corpus_assets.scrub.find import Found, find_in_batch, strongest, table_of
from corpus_assets.scrub.findings import Finding, find_by_rules
from corpus_assets.scrub.kernels.digits import fold_digits
from corpus_assets.scrub.settings import ScrubSettings
from corpus_assets.text.batch import TextBatch

PEER = Path(__file__).with_name("scrubbing_peer.py")
TYPES = {
    "EMAIL_ADDRESS": "email", "IP_ADDRESS": "ip", "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "credit_card", "IBAN_CODE": "iban", "US_SSN": "national_id",
}  # fmt: skip
OTHERS = {
    "dates": "{y:04d}-{m:02d}-{d:02d} and {d:02d}.{m:02d}.{y:04d}",
    "dates and times": "{d:02d}/{m:02d}/{y:04d} 1#:2#:3#", "timestamps": "{y:04d}{m:02d}{d:02d}123###",
    "days of short years": "{d:02d}/{m:02d}/## {d:02d}/{m:02d}/##", "years": "{y:04d}-{y:04d}",
    "prices": "$1,###,###.## or 1.###.###,## or 1 ### ### ###", "ISBN-13": "978-#-##-######-#",
    "ISBN-10": "0-###-#####-#", "articles": "4############", "versions": "10.#.1####.1###",
    "coordinates": "4#.####### -7#.#######", "scores": "2#-1# 2#-1# 1#-2#", "hosts": "10.1##.1##.1##",
    "parts": "AB-###-###-####", "ids": "###-###-###", "plain ids": "1#########",
    "orders": "order no. ###-###-####", "rows": "### ### #### ### ### ####", "pages": "1###-1###",
    "decimals": "0.######### 1.##########", "cards": "9### #### #### ####",
}  # fmt: skip
PARTS = ("labelled", "made", "demo", "two", "all", "stage", "hostile")
TWO = frozenset({"email", "ip"})
SETTINGS = ScrubSettings()
ALL = frozenset(SETTINGS.actions("web"))
HOSTILE = {
    "a million @": "@" * 1_000_000,
    "a@a@a@ ...": "a@" * 500_000,
    "one number of a million digits": "1" * 1_000_000,
    "digits and gaps": "1 (1)-" * 170_000,
    "card after card": "4111 1111 1111 1111 " * 50_000,
    "telephone after telephone": "tel 1234567 fax " * 62_500,
    "right to left": "הטלפון 03-1234567 " * 40_000,
    "digits of another script": "هاتف ٠٣-١٢٣٤٥٦٧ " * 35_000,
    "shouted addresses": "a AT b DOT " * 90_000,
    "lone surrogates": "\ud800@1" * 200_000,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labelled", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="+", required=True)
    parser.add_argument("--demo", type=Path, required=True)
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--plain-mb", type=float, default=3.0, help="text for `re` with all rules")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="default: all")
    options = parser.parse_args()
    print(f"{machine()}\n")
    if "labelled" in options.parts:
        labelled(options.labelled)
    if "made" in options.parts:
        made()
    if "demo" in options.parts:
        demo(options.demo)
    texts = [text for path in options.texts for text in texts_of(path)]
    n_bytes = sum(len(text.encode()) for text in texts)
    print(f"\n{len(texts):,} texts, {n_bytes / 1e6:.1f} MB\n")
    if "two" in options.parts:
        two_kinds(texts, n_bytes, options.peer_python)
    if "all" in options.parts:
        all_kinds(texts[:: max(1, round(n_bytes / 1e6 / options.plain_mb))])
    if "stage" in options.parts:
        whole_stage(texts, n_bytes)
    if "hostile" in options.parts:
        hostile()


def found_in(text: str) -> list[Finding]:
    """What the rules find in one text."""
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    offsets = np.array([0, len(data)], dtype=np.int64)
    return find_by_rules(data, offsets, ALL, SETTINGS.regions(None)).get(0, [])


def texts_of(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            text = row.get("text") or row.get("main_content")
            if isinstance(text, str):
                yield text


def labelled(path: Path) -> None:
    """All sentences, and those of templates that nobody looks at while working on the rules."""
    every, held_out = Tally(), Tally()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            wanted = [
                Finding(span["start"], span["end"], TYPES[span["type"]])
                for span in row["spans"]
                if span["type"] in TYPES
            ]
            found = found_in(row["text"])
            every.add(found, wanted)
            if is_held_out(row.get("template_id", row["text"])):
                held_out.add(found, wanted)
    print(f"{path.name}\n\n| kind | labelled | recall | precision |", end="")
    print(" held out | recall | precision |\n|---|---|---|---|---|---|---|")
    for kind in sorted(every.kinds()):
        print(f"| {kind} | {every.of(kind)} | {held_out.of(kind)} |")


def is_held_out(template: int | str) -> bool:
    """Whole templates: sentences of one template share the words around what is labelled."""
    return hashlib.sha256(str(template).encode()).digest()[0] % 2 == 0


class Tally:
    """What is found, missed and found without reason, by kind."""

    def __init__(self) -> None:
        self.right: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()

    def add(self, found: list[Finding], wanted: list[Finding]) -> None:
        for one in wanted:
            is_found = any(touch(one, other) for other in found)
            (self.right if is_found else self.missed)[one.kind] += 1
        for one in found:
            self.wrong[one.kind] += not any(touch(one, other) for other in wanted)

    def kinds(self) -> set[str]:
        return {*self.right, *self.missed, *self.wrong}

    def of(self, kind: str) -> str:
        total = self.right[kind] + self.missed[kind]
        found = self.right[kind] + self.wrong[kind]
        recall = f"{self.right[kind] / total:.3f}" if total else ""
        precision = f"{self.right[kind] / found:.3f}" if found else ""
        return f"{total} | {recall} | {precision}"


def made() -> None:
    """Telephone numbers of every region, as libphonenumber writes its examples, and what is none."""
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        kinds = (PhoneNumberType.FIXED_LINE, PhoneNumberType.MOBILE)
        for number in (phonenumbers.example_number_for_type(region, kind) for kind in kinds):
            if number is None:
                continue
            national, abroad, plain = (
                phonenumbers.format_number(number, form)
                for form in (PhoneNumberFormat.NATIONAL, PhoneNumberFormat.INTERNATIONAL,
                             PhoneNumberFormat.E164)
            )  # fmt: skip
            for name, text in {
                "with + and groups": f"Maria {abroad} Lagos",
                "with + and no groups": f"Maria {plain} Lagos",
                "national, after a word": f"Phone: {national}",
                "national, in a sentence with a word": f"Please call Maria on {national} today",
                "national, no word": f"Maria {national} Lagos",
            }.items():
                counts[name][bool(phones_in(text))] += 1
    print("\n| examples of all regions | numbers | found |\n|---|---|---|")
    for name, n in counts.items():
        print(f"| {name} | {n.total()} | {n[True] / n.total():.3f} |")
    draw = random.Random(7)
    print("\n| numbers that are no telephones | made | found |\n|---|---|---|")
    for name, shape in OTHERS.items():
        texts = [f"on {drawn(shape, draw)} there" for _ in range(500)]
        print(f"| {name} | 500 | {sum(bool(phones_in(text)) for text in texts) / 500:.3f} |")


def drawn(shape: str, draw: random.Random) -> str:
    """The shape with its date filled in and a random digit for each #."""
    dated = shape.format(d=draw.randint(1, 28), m=draw.randint(1, 12), y=draw.randint(1950, 2029))
    return re.sub("#", lambda _: str(draw.randint(0, 9)), dated)


def phones_in(text: str) -> list[Finding]:
    return [one for one in found_in(text) if one.kind == "phone"]


def touch(one: Finding, other: Finding) -> bool:
    return one.kind == other.kind and one.start < other.end and other.start < one.end


def demo(folder: Path) -> None:
    """Pages of the demo crawls: planted addresses, counted by page."""
    source = generate_demo(folder)
    planted = {}
    for line in (source / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "personal_data" in row["planted"] and row["key"].startswith("http"):
            planted[row["snapshot"], row["key"]] = Counter(email=row["emails"], ip=row["ips"])
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    pages = 0
    for path in sorted(source.glob("web/*/*.warc.gz")):
        for url, body in pages_of(path):
            text = trafilatura.extract(body, fast=True) or ""
            found = Counter(one.kind for one in found_in(text))
            expected = planted.get((path.parent.name, url), {})
            pages += 1
            for kind in set(found) | set(expected):
                both = min(found[kind], expected.get(kind, 0))
                counts[kind].update(
                    right=both, missed=expected.get(kind, 0) - both, wrong=found[kind] - both
                )
    print(f"\ndemo crawls, {pages:,} pages\n\n| kind | planted | recall | precision |")
    print("|---|---|---|---|")
    for kind, n in sorted(counts.items()):
        total = n["right"] + n["missed"]
        precision = n["right"] / max(1, n["right"] + n["wrong"])
        print(f"| {kind} | {total} | {n['right'] / max(1, total):.3f} | {precision:.3f} |")


def pages_of(path: Path) -> Iterator[tuple[str, bytes]]:
    """Pages of a crawl file; what follows a damaged member (the demo plants some) is left out."""
    with path.open("rb") as stream:
        try:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                yield record.headers["WARC-Target-URI"], record.reader.read()
        except OSError:
            print(f"{path.name}: damaged, the rest of it is left out")


def plain_scan(texts: list[str], kinds: frozenset[str]) -> dict[int, list[Found]]:
    """Every expression over every text."""
    table = table_of(kinds)
    out = {}
    for row, text in enumerate(texts):
        data = np.frombuffer(text.encode(), dtype=np.uint8)
        folded = fold_digits(data, np.array([0, len(data)], dtype=np.int64))
        doc = data.tobytes() if folded is None else folded.data.tobytes()
        found: dict[str, list[Found]] = {kind: [] for kind in table.kinds}
        for rule in table.rules:
            at = 0
            while match := rule.pattern.search(doc, at):
                span = rule.check(doc, match)
                at = match.start() + 1
                if span is not None:
                    low, high = map(folded.unfold, span) if folded else span
                    found[rule.kind].append((low, high, rule.kind))
                    at = max(at, span[1])
        if spans := strongest(found.values()):
            out[row] = spans
    return out


def ours(texts: list[str], kinds: frozenset[str]) -> dict[int, list[Found]]:
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    return find_in_batch(batch.data, batch.offsets, kinds)


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    answer = function()
    return time.process_time() - start, answer


def two_kinds(texts: list[str], n_bytes: int, peer_python: Path | None) -> None:
    ours(texts[:3], TWO)
    seconds: dict[str, float] = {}
    for _ in range(2):
        fast, found = timed(lambda: ours(texts, TWO))
        slow, expected = timed(lambda: plain_scan(texts, TWO))
        assert found == expected
        for name, spent in (("ours", fast), ("plain re", slow)):
            seconds[name] = min(spent, seconds.get(name, spent))
    if peer_python is not None:
        with tempfile.TemporaryDirectory() as scratch:
            source, target = Path(scratch) / "texts.jsonl", Path(scratch) / "out.json"
            source.write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
            for _ in range(2):
                subprocess.run([peer_python, PEER, source, target], check=True)
                spent = json.loads(target.read_text(encoding="utf-8"))["cpu_seconds"]
                name = "datatrove PIIFormatter (no IPv6)"
                seconds[name] = min(spent, seconds.get(name, spent))
    report("e-mail and IP addresses", seconds, n_bytes)


def all_kinds(texts: list[str]) -> None:
    n_bytes = sum(len(text.encode()) for text in texts)
    ours(texts[:3], ALL)
    fast, found = timed(lambda: ours(texts, ALL))
    slow, expected = timed(lambda: plain_scan(texts, ALL))
    assert found == expected
    report(
        f"all {len(ALL)} kinds, {n_bytes / 1e6:.1f} MB", {"ours": fast, "plain re": slow}, n_bytes
    )


def whole_stage(texts: list[str], n_bytes: int) -> None:
    """Cleaning as the stage does it where no lines are cut, beside a loop over findings."""
    table = pa.table(
        {
            "doc_id": pa.array([row.to_bytes(16, "big") for row in range(len(texts))], pa.binary(16)),
            "domain": pa.array(["web"] * len(texts)),
            "host": pa.array([f"{row % 40}.example.org" for row in range(len(texts))]),
            "text_id": pa.array([row.to_bytes(16, "big") for row in range(len(texts))], pa.binary(16)),
            "text": pa.array(texts, pa.large_string()),
        }
    )  # fmt: skip
    scrub = ScrubSettings(replace=("email", "ip"))
    settings = CleanTextSettings(min_chars=1, scrub=scrub)
    lines = Boilerplate(np.empty(0, np.uint64))
    labels = pa.chunked_array([["all"] * len(texts)])
    seconds = {}
    seconds["ours"], (final, *_) = timed(
        lambda: clean_documents(table, labels, labels, lines, settings)
    )
    seconds["a loop with re"], plain = timed(lambda: plain_clean(texts, settings))
    assert final["text"].to_pylist() == [text for text in plain if text.strip()]
    report("the cleaning stage, e-mail and IP addresses", seconds, n_bytes)


def plain_clean(texts: list[str], settings: CleanTextSettings) -> list[str]:
    out = []
    found = plain_scan(texts, TWO)
    for row, text in enumerate(texts):
        doc = text.encode()
        findings = [
            Finding(len(doc[:low].decode()), len(doc[:high].decode()), kind)
            for low, high, kind in found.get(row, ())
        ]
        out.append(clean(text, (), findings, settings.scrub).text or "")
    return out


def hostile() -> None:
    print("\n| hostile text | MB | CPU s | CPU s of half of it |\n|---|---|---|---|")
    for name, text in HOSTILE.items():
        whole, _ = timed(lambda text=text: found_in(text))
        half, _ = timed(lambda text=text: found_in(text[: len(text) // 2]))
        n_bytes = len(text.encode("utf-8", "surrogatepass"))
        print(f"| {name} | {n_bytes / 1e6:.1f} | {whole:.2f} | {half:.2f} |")
    long = ("The harbour keeps a notebook of tides, 12 pages a year. " * 900_000)[:50_000_000]
    spent, _ = timed(lambda: found_in(long + " jane@example.org"))
    print(f"| prose, one document | 50.0 | {spent:.2f} | |")


def report(title: str, seconds: dict[str, float], n_bytes: int) -> None:
    print(f"| {title} | CPU s | MB a CPU second | ratio |\n|---|---|---|---|")
    for name, spent in seconds.items():
        rate, ratio = n_bytes / 1e6 / spent, spent / seconds["ours"]
        print(f"| {name} | {spent:.3f} | {rate:.1f} | {ratio:.1f} |")
    print()


if __name__ == "__main__":
    main()
