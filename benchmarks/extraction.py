"""From a web archive to extracted text: our ingest beside datatrove's, on the same file.

    python benchmarks/extraction.py FILE.warc.gz --peer-python PATH [--pages 400] [--rounds 2]
        [--truth extraction-truth.jsonl.gz]

Cuts the file to its first pages and runs datatrove (WarcReader and its Trafilatura step, same
trafilatura, same settings, no deduplication) and our documents stage (reading, gates, extraction,
tables) in five ways. A machine's speed may change by half from one minute to the next, so in each
round everything takes turns: our ways for `--turn-seconds` of CPU time each, `TURNS` times
over, and datatrove before, in the middle and after. Prints CPU milliseconds a page, the mean of a
round, all processes counted and start not; the ratio to datatrove in the same round; and what of
it is reading and gates, by turns with the rest: the same part run with every page refused where its
extraction would begin, so everything that a page costs before (reading, inflating, digest, names,
all gates, charset, its row in the ledger). Ids and ledger are the part of that which is SHA-256 of
the payload, the document's id and the tables. Of all rounds the median is printed.
A second table says where the time of `blocks` goes, beside what no extractor can do without:
inflating the file and one pass over its bytes.
`--truth` is JSON lines with `record_id`
and `main_content`; F1 is over words, the mean of all pages that have a truth, a page without text
counting 0, and of those with text.
PATH is a Python with `requirements-extraction.txt` and the same trafilatura installed.
"""

import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from machine import machine

from corpus_assets.core.errors import MissingExtra
from corpus_assets.core.urls import Blocklist
from corpus_assets.ingest import document_names, documents
from corpus_assets.ingest.documents import ingest_part
from corpus_assets.ingest.extract import read_page
from corpus_assets.ingest.extract.extractor import Extractor
from corpus_assets.ingest.extract.page_worker import PageResult
from corpus_assets.ingest.extract.settings import ExtractionSettings
from corpus_assets.ingest.extractors.engines import engine_version
from corpus_assets.ingest.formats.warc import read_warc
from corpus_assets.ingest.gates.settings import GateSettings, LanguageGateSettings
from corpus_assets.ingest.records import SourceFile, file_sha256
from corpus_assets.ingest.settings import IngestSettings
from corpus_assets.ingest.source import SourceSpec
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.models.files import model_at
from pageblocks import PageText
from pageblocks.kernels.block_features import block_features
from pageblocks.kernels.block_pruning import prune
from pageblocks.kernels.block_trees import keep
from pageblocks.kernels.blocks import find_blocks
from pageblocks.model import judge, read_model
from pageblocks.plain_text import text_of

PEER = Path(__file__).with_name("extraction_peer.py")
WEB = SourceSpec(name="web", format="warc")
MAX_BYTES = 20_000_000
TURNS = 4
GATES = GateSettings(max_bytes=MAX_BYTES)

OURS: dict[str, IngestSettings] = {
    "precision": IngestSettings(gates=GATES, extraction=ExtractionSettings(mode="precision")),
    "fast": IngestSettings(gates=GATES, extraction=ExtractionSettings(mode="fast")),
    "fast, English gate": IngestSettings(
        gates=GateSettings(
            max_bytes=MAX_BYTES, language_gate=LanguageGateSettings(languages=("en",))
        ),
        extraction=ExtractionSettings(mode="fast"),
    ),
    "resiliparse": IngestSettings(gates=GATES, extraction=ExtractionSettings(engine="resiliparse")),
    "blocks": IngestSettings(gates=GATES, extraction=ExtractionSettings(engine="blocks")),
}
Texts = dict[str, str]
Seconds = dict[str, float]
Round = tuple[Seconds, Seconds, Seconds]  # of each way, of what comes before, of ids and ledger
IDS_AND_LEDGER = (
    (document_names, "content_digest"),
    (document_names, "make_doc_id"),
    (documents, "_table"),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--turn-seconds", type=float, default=2.0, help="of CPU time")
    parser.add_argument("--truth", type=Path)
    options = parser.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        file, keys = cut(options.file, folder / "pages.warc.gz", options.pages)
        run(file, keys, options, folder)


def run(file: Path, keys: dict[int, str], options: Any, folder: Path) -> None:
    ours = {name: settings for name, settings in OURS.items() if is_installed(settings)}
    small, small_keys = cut(file, folder / "warm.warc.gz", 3)
    for settings in ours.values():
        ingest(small, small_keys, settings)
    rounds: list[Round] = []
    texts: dict[str, Texts] = {}
    for number in range(options.rounds):
        rounds.append(one_round(file, keys, options, folder, ours, texts))
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    truth = read_truth(options.truth) if options.truth else {}
    truth = {key: text for key, text in truth.items() if key in set(keys.values())}
    report(len(keys), rounds, texts, truth)
    if "blocks" in ours:
        report_parts(file)


def report_parts(file: Path) -> None:
    """Where the time of `blocks` goes, beside the bound: inflating, and one pass over the bytes."""
    with file.open("rb") as stream:
        records = [each for each in read_warc(stream, file.name, MAX_BYTES) if each.http_status]
    model = read_model()
    spent: dict[str, list[float]] = {}

    def timed_part(name: str, do: Callable[[Any], Any], given: Sequence[Any]) -> list[Any]:
        began = time.process_time()
        done = [do(each) for each in given]
        spent.setdefault(name, []).append((time.process_time() - began) / len(records))
        return done

    members = list(members_of(file.read_bytes()))
    for _ in range(2 * TURNS):
        timed_part("inflating (bound)", lambda member: zlib.decompress(member, 31), members)
        read = timed_part(
            "charset", lambda each: read_page(each.payload, each.content_type or ""), records
        )
        pages = [each.utf8 for each in read if isinstance(each, PageText)]
        timed_part("one pass: its `<` counted (bound)", lambda page: page.count(b"<"), pages)
        found = timed_part("blocks and elements", find_blocks, pages)
        features = timed_part("features", block_features, found)
        both = list(zip(found, features, strict=True))
        chances = timed_part("trees", lambda each: judge(model, *each), both)
        pairs = list(zip(found, chances, strict=True))
        kept = timed_part(
            "choice", lambda each: prune(each[0], keep(each[1], each[0].blocks[:, 5])), pairs
        )
        timed_part("text", lambda each: text_of(*each), list(zip(found, kept, strict=True)))
    print("\n| part of blocks | CPU ms a page |\n|---|---|")
    for name, runs in spent.items():
        print(f"| {name} | {1000 * statistics.median(runs):.3f} |")


def members_of(file: bytes) -> Iterator[bytes]:
    """The gzip members of a file."""
    while file:
        inflater = zlib.decompressobj(31)
        inflater.decompress(file)
        yield file[: len(file) - len(inflater.unused_data)]
        file = inflater.unused_data


def one_round(
    file: Path,
    keys: dict[int, str],
    options: Any,
    folder: Path,
    ours: dict[str, IngestSettings],
    texts: dict[str, Texts],
) -> Round:
    """Mean CPU seconds of each way, of what comes before its extraction, and of ids and ledger
    among that; texts are added."""
    seconds: dict[str, list[float]] = {}
    before: dict[str, list[float]] = {}
    named: dict[str, list[float]] = {}
    for turn in range(TURNS):
        if turn in (0, TURNS // 2):
            run_peers(options.peer_python, file, folder, seconds, texts)
        for name, settings in ours.items():
            texts[name] = take_turn(
                file, keys, settings, seconds.setdefault(name, []), options.turn_seconds
            )
            with mock.patch.object(Extractor, "extract_all", refuse), timed(IDS_AND_LEDGER) as ids:
                runs = before.setdefault(name, [])
                done = len(runs)
                take_turn(file, keys, settings, runs, options.turn_seconds)
            named.setdefault(name, []).append(sum(ids) / (len(runs) - done))
    run_peers(options.peer_python, file, folder, seconds, texts)
    return (
        {name: statistics.fmean(runs) for name, runs in seconds.items()},
        {name: statistics.fmean(runs) for name, runs in before.items()},
        {name: statistics.fmean(runs) for name, runs in named.items()},
    )


@contextmanager
def timed(functions: Sequence[tuple[Any, str]]) -> Iterator[list[float]]:
    """CPU seconds of each call of these functions, given by where they are looked up."""
    spent: list[float] = []

    def with_timer(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            began = time.process_time()
            result = function(*arguments)
            spent.append(time.process_time() - began)
            return result

        return call

    with ExitStack() as stack:
        for place, name in functions:
            replaced = mock.patch.object(place, name, with_timer(getattr(place, name)))
            stack.enter_context(replaced)
        yield spent


def run_peers(
    python: Path | None,
    file: Path,
    folder: Path,
    seconds: dict[str, list[float]],
    texts: dict[str, Texts],
) -> None:
    for name in ("datatrove precision", "datatrove fast") if python else ():
        spent, texts[name] = peer(python, file, folder, "fast" in name)
        seconds.setdefault(name, []).append(spent)


def take_turn(
    file: Path,
    keys: dict[int, str],
    settings: IngestSettings,
    runs: list[float],
    turn_seconds: float,
) -> Texts:
    """Run for so long, at least once; the time of each run is added to `runs`."""
    taken = 0.0
    while True:
        spent, texts = ingest(file, keys, settings)
        runs.append(spent)
        taken += spent
        if taken >= turn_seconds:
            return texts


def refuse(_extractor: Extractor, pages: Sequence[bytes]) -> list[PageResult]:
    """Instead of extraction."""
    return [PageResult("", "not_extracted", None, 0.0) for _ in pages]


def report(n_pages: int, rounds: list[Round], texts: dict[str, Texts], truth: Texts) -> None:
    """One line for each way."""

    def ratio(name: str, to: str) -> str:
        if to not in texts:
            return ""
        return f"{statistics.median(took[to] / took[name] for took, _, _ in rounds):.2f}"

    def share(name: str, what: Callable[[Round], float]) -> str:
        if name not in rounds[0][1]:
            return ""
        return f"{statistics.median(what(found) / found[0][name] for found in rounds):.1%}"

    print(f"{n_pages} pages, {sum(key in truth for key in texts['fast'])} with a truth")
    print(
        "| | CPU ms a page | reading and gates | ids and ledger in it | ratio to datatrove | texts | F1 "
        "| F1 of texts |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in rounds[0][0]:
        spent = statistics.median(seconds[name] for seconds, _, _ in rounds)
        reading = share(name, lambda found, name=name: found[1][name])
        ids = share(name, lambda found, name=name: found[2][name])
        print(
            f"| {name} | {1000 * spent / n_pages:.2f} | {reading} | {ids} "
            f"| {ratio(name, 'datatrove precision')} "
            f"| {len(texts[name])} | {f1(texts[name], truth)} "
            f"| {f1(texts[name], {key: truth[key] for key in truth.keys() & texts[name].keys()})} |"
        )
    print(f"fast beside datatrove in fast mode: {ratio('fast', 'datatrove fast')}")
    for mode in ("precision", "fast") if "datatrove fast" in texts else ():
        mine, its = texts[mode], texts[f"datatrove {mode}"]
        both = mine.keys() & its.keys()
        same = sum(mine[key] == its[key] for key in both)
        print(f"{mode}: {same} of {len(both)} texts are datatrove's, character by character")
    gated = texts["fast, English gate"]
    lost = [key for key in texts["fast"] if key not in gated]
    print(f"English gate: {len(lost)} of {len(texts['fast'])} texts not extracted")


def cut(file: Path, target: Path, pages: int) -> tuple[Path, dict[int, str]]:
    """The file up to its `pages`-th page, and the record id at each offset."""
    keys: dict[int, str] = {}
    end = 0
    with file.open("rb") as stream:
        for record in read_warc(stream, file.name, MAX_BYTES):
            if record.http_status is not None and len(keys) < pages:
                keys[record.offset] = (record.key or "").strip("<>")
                end = record.offset + record.length
        stream.seek(0)
        target.write_bytes(stream.read(end))
    return target, keys


def ingest(file: Path, keys: dict[int, str], settings: IngestSettings) -> tuple[float, Texts]:
    """CPU seconds, those of the extracting process among them, and the texts."""
    size, sha256 = file_sha256(str(file))
    pinned = SourceFile(file.name, str(file), size, sha256)
    spent: list[float] = []
    began = time.process_time()
    _, table = ingest_part(
        WEB, "bench", 0, pinned, settings, Blocklist(()), Suppressions.from_rows([]),
        lid=model_at("lid.176").path, on_cost=spent.append,
    )  # fmt: skip
    here = time.process_time() - began
    rows = table.select(["offset", "text"]).to_pylist()
    return here + sum(spent), {keys[row["offset"]]: row["text"] for row in rows}


def peer(python: Path, file: Path, folder: Path, is_fast: bool) -> tuple[float, Texts]:
    out = folder / "peer.jsonl"
    command = [str(python), str(PEER), str(file), str(out), *(["--fast"] if is_fast else [])]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    with out.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    spent = json.loads(done.stdout.splitlines()[-1])["cpu_seconds"]
    return spent, {key.strip("<>"): text for key, text in rows}


def is_installed(settings: IngestSettings) -> bool:
    try:
        engine_version(settings.extraction.engine)
    except MissingExtra:
        print(f"{settings.extraction.engine} is not installed: left out")
        return False
    return True


def read_truth(path: Path) -> Texts:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {
        row["record_id"].strip("<>"): row["main_content"] for row in rows if row.get("main_content")
    }


def f1(texts: Texts, truth: Texts) -> str:
    scores = []
    for key, expected in truth.items():
        wanted = Counter(re.findall(r"\w+", expected.lower()))
        found = Counter(re.findall(r"\w+", texts.get(key, "").lower()))
        shared = sum((wanted & found).values())
        total = sum(wanted.values()) + sum(found.values())
        scores.append(2 * shared / total if total else 0.0)
    return f"{statistics.fmean(scores):.3f}" if scores else "-"


if __name__ == "__main__":
    main()
