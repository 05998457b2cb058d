"""Decontamination beside a plain Python dictionary and datatrove: CPU time, results, recall.

    python -m venv PEER && PEER/bin/pip install -r benchmarks/requirements-decontamination.txt
    python benchmarks/decontamination.py --evals EVALS/*.jsonl.gz --texts prose.jsonl.gz ... \\
        --code-evals humaneval.jsonl.gz mbpp.jsonl.gz --code code.jsonl.gz --peer-python PEER/bin/python

Evals have fields id, benchmark, text, answer; texts and code have text. Measured in one run, each
side in turn, the smallest CPU time of some rounds:

1. The search for 13-grams of items of 13 words or more, in documents with one item planted in
   every tenth: ours, a dictionary from 13-gram to items (words by a regular expression, then the
   same count per item), and datatrove's n-gram filter. Ours and the dictionary must find the same
   documents, items and counts.
2. Ours with all that is on by default: short items, near misses, places.
3. Questions quoted without their choices: items whose choices are lettered lines are written in
   each of several layouts, and their questions (of 8 words or more) planted alone.
4. Recall on planted items: verbatim, with 1, 2, 3, 5 words replaced, put in or left out, and code
   with all names changed, to builtins as well, behind a real file; and what is found in the same texts with nothing planted.
"""

import argparse
import gzip
import hashlib
import io
import itertools
import json
import keyword
import random
import re
import subprocess
import tempfile
import time
import tokenize
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from machine import machine

from corpus_assets.decontam.code_names import FIXED_NAMES
from corpus_assets.decontam.contamination import scan_contamination
from corpus_assets.decontam.eval_index import (
    EvalIndex,
    EvalItem,
    build_eval_index,
    parse_eval_index,
    read_items,
)
from corpus_assets.decontam.settings import EvalIndexSettings, ScanSettings

PEER = Path(__file__).with_name("decontamination_peer.py")
NGRAM = 13
WORD = re.compile(r"[^\W_]+")
Found = dict[tuple[int, str], int]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--evals", nargs="+", type=Path, required=True)
    parser.add_argument("--texts", nargs="+", type=Path, required=True)
    parser.add_argument("--code-evals", nargs="*", type=Path, default=[])
    parser.add_argument("--code", nargs="*", type=Path, default=[])
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--documents", type=int, default=100_000, help="at most so many")
    parser.add_argument("--planted", type=int, default=1_000, help="items planted for recall")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{machine()}\n")
    items = [item for path in options.evals for item in read_items([path])]
    texts = _texts(options.texts)[: options.documents]
    _speed(items, texts, options)
    _questions_alone(items, texts, options.planted)
    _recall(items, texts, options.planted)
    if options.code_evals:
        _code_recall(options.code_evals, _texts(options.code))


def _texts(paths: Sequence[Path]) -> list[str]:
    return [json.loads(line)["text"] for path in paths for line in gzip.open(path)]


def _index(items: Sequence[EvalItem]) -> EvalIndex:
    return parse_eval_index(build_eval_index(items, EvalIndexSettings()))


def _table(texts: Sequence[str]) -> pa.Table:
    ids = [hashlib.blake2b(str(i).encode(), digest_size=16).digest() for i in range(len(texts))]
    return pa.table({"doc_id": pa.array(ids, pa.binary(16)), "text": pa.array(texts, pa.large_string())})  # fmt: skip


def _plant(text: str, quote: str) -> str:
    cut = text.find("\n", len(text) // 2)
    cut = len(text) // 2 if cut < 0 else cut
    return f"{text[:cut]}\n{quote}\n{text[cut:]}"


# Speed.


def words_of(text: str) -> list[str]:
    return WORD.findall(unicodedata.normalize("NFKC", text).lower())


def _speed(items: list[EvalItem], texts: list[str], options: argparse.Namespace) -> None:
    rng = random.Random(1)
    long = [item for item in items if len(words_of(item.text)) >= NGRAM]
    texts = [
        _plant(text, rng.choice(long).text) if i % 10 == 0 else text for i, text in enumerate(texts)
    ]
    chars = sum(map(len, texts)) / len(texts)
    print(f"{len(texts):,} documents of {chars:,.0f} characters, {len(long):,} items of {NGRAM} words or more")  # fmt: skip
    plain = ScanSettings(report_share=0.01, near_misses=None)
    index, table = _index(long), _table(texts)
    everything = _index(items)
    scan_contamination(table.slice(0, 5), everything, ScanSettings())
    sides: dict[str, Callable[[], Any]] = {
        "ours, 13-grams": lambda: scan_contamination(table, index, plain),
        "ours, all items, near misses": lambda: scan_contamination(
            table, everything, ScanSettings()
        ),
    }
    dictionary = _dictionary(long)
    sides["dictionary"] = lambda: _with_dictionary(texts, dictionary)
    results: dict[str, Any] = {}
    times: dict[str, float] = defaultdict(lambda: float("inf"))
    for _ in range(options.rounds):
        for name, side in sides.items():
            before = time.process_time()
            results[name] = side()
            times[name] = min(times[name], time.process_time() - before)
    flagged: set[int] = set()
    if options.peer_python:  # once: its words take minutes
        times["datatrove"], flagged = _peer(options.peer_python, long, texts)
    ours: Found = {
        (row["row"], row["item_id"]): row["matched"]
        for row in results["ours, 13-grams"].to_pylist()
    }
    theirs: Found = {
        pair: n for pair, n in results["dictionary"].items() if n / dictionary[1][pair[1]] >= 0.01
    }
    base = times["ours, 13-grams"]
    print(
        "\n| | CPU ms a document | documents a CPU second | MB/s | ratio |\n|---|---|---|---|---|"
    )
    size = sum(len(text.encode()) for text in texts) / 1e6
    for name, spent in times.items():
        each = spent / len(texts)
        print(f"| {name} | {each * 1e3:.3f} | {1 / each:,.0f} | {size / spent:.1f} | {spent / base:.1f} |")  # fmt: skip
    same = sum(theirs.get(pair) == n for pair, n in ours.items())
    print(f"\npairs of document and item: ours {len(ours):,}, dictionary {len(theirs):,}, the same with the same count {same:,}")  # fmt: skip
    if options.peer_python:
        with_hits = {row for row, _ in ours}
        print(f"documents with a 13-gram: ours {len(with_hits):,}, datatrove {len(flagged):,}, both {len(with_hits & flagged):,}")  # fmt: skip


def _dictionary(items: Sequence[EvalItem]) -> tuple[dict[str, list[str]], dict[str, int]]:
    postings: dict[str, list[str]] = {}
    totals: dict[str, int] = {}
    for item in items:
        words = words_of(item.text)
        grams = {" ".join(words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1)}
        totals[item.id] = len(grams)
        for gram in grams:
            postings.setdefault(gram, []).append(item.id)
    return postings, totals


def _with_dictionary(
    texts: Sequence[str], dictionary: tuple[dict[str, list[str]], dict[str, int]]
) -> Found:
    postings = dictionary[0]
    found: Found = {}
    for row, text in enumerate(texts):
        words = words_of(text)
        seen = {
            gram
            for i in range(len(words) - NGRAM + 1)
            if (gram := " ".join(words[i : i + NGRAM])) in postings
        }
        counts = Counter(item for gram in seen for item in postings[gram])
        found.update({(row, item): n for item, n in counts.items()})
    return found


def _peer(python: Path, items: Sequence[EvalItem], texts: Sequence[str]) -> tuple[float, set[int]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, values in (("items", [item.text for item in items]), ("texts", texts)):
            lines = "".join(json.dumps(value) + "\n" for value in values)
            (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        subprocess.run([str(python), str(PEER), scratch, str(NGRAM)], check=True)
        answer = json.loads((folder / "out.json").read_text())
    return answer["seconds"], set(answer["flagged"])


# Questions without choices.

LETTERED = re.compile(r"(?s)(.+?)\nA\. (.+)\nB\. (.+)\nC\. (.+)\nD\. (.+)")
FIELDS = "fields"
LAYOUTS = {
    "A. on lines": "{q}\nA. {0}\nB. {1}\nC. {2}\nD. {3}",
    "(a) on lines": "{q}\n(a) {0}\n(b) {1}\n(c) {2}\n(d) {3}",
    "1) in one line": "{q} 1) {0} 2) {1} 3) {2} 4) {3}",
    "A. in one line": "{q} A. {0} B. {1} C. {2} D. {3}",
    "bare lines": "{q}\n{0}\n{1}\n{2}\n{3}",
    "bullets": "{q}\nOptions:\n- {0}\n- {1}\n- {2}\n- {3}",
    "labels": "Question: {q}\nChoices:\nA: {0}\nB: {1}\nC: {2}\nD: {3}\nAnswer:",
    FIELDS: "{q}",
}


def _questions_alone(items: Sequence[EvalItem], texts: Sequence[str], planted: int) -> None:
    read = [(item, match.groups()) for item in items if (match := LETTERED.fullmatch(item.text))]
    read = [pair for pair in read if len(words_of(pair[1][0])) >= 8]
    read = random.Random(3).sample(read, min(planted, len(read)))
    if not read:
        return
    pages = [_plant(texts[i % len(texts)][:8000], q) for i, (_, (q, *_)) in enumerate(read)]
    print(f"\n{len(read):,} questions alone\n\n| layout of the suite | found | in the same texts, nothing planted |\n|---|---|---|")  # fmt: skip
    for name, layout in LAYOUTS.items():
        index = _index(
            [
                replace(
                    item,
                    text=layout.format(*choices, q=q),
                    answer=choices["ABCD".find(item.answer)],
                    more="\n".join(choices) if name == FIELDS else "",
                )
                for item, (q, *choices) in read
            ]
        )
        found = [
            _over(scan_contamination(_table(part), index, ScanSettings()))
            for part in (pages, texts)
        ]
        hit = sum((i, item.id) in found[0] for i, (item, _) in enumerate(read))
        print(f"| {name} | {hit / len(read):.1%} | {len(found[1])} |")


def _over(hits: pa.Table) -> set[tuple[int, str]]:
    rows = hits.to_pylist()
    return {(r["row"], r["item_id"]) for r in rows if r["matched"] >= 0.8 * r["total"]}


# Recall.


def _recall(items: list[EvalItem], texts: list[str], planted: int) -> None:
    index = _index(items)
    clean = scan_contamination(_table(texts), index, ScanSettings()).to_pylist()
    passing = sum(row["matched"] >= 0.8 * row["total"] for row in clean)
    print(f"\nnothing planted: {len(texts):,} documents, {passing} over 80%, {len(clean) - passing} near misses")  # fmt: skip
    rng = random.Random(2)
    chosen = rng.sample([item for item in items if len(item.text.split()) >= NGRAM], planted)
    vocabulary = [word for text in texts[:50] for word in text.split()]
    print("\n| words edited | over 80% of 13-grams | over 30% | reported with near misses |\n|---|---|---|---|")  # fmt: skip
    for edits in (0, 1, 2, 3, 5):
        documents = [
            _plant(texts[i % len(texts)][:8000], _edited(item.text, edits, rng, vocabulary))
            for i, item in enumerate(chosen)
        ]
        hits = {
            (row["row"], row["item_id"]): row["matched"] / max(1, row["total"])
            for row in scan_contamination(_table(documents), index, ScanSettings()).to_pylist()
        }
        shares = [hits.get((i, item.id)) for i, item in enumerate(chosen)]
        counts = [
            sum(share is not None and share >= least for share in shares) for least in (0.8, 0.3, 0)
        ]
        print(f"| {edits} | " + " | ".join(f"{n / len(chosen):.1%}" for n in counts) + " |")


def _edited(text: str, edits: int, rng: random.Random, vocabulary: list[str]) -> str:
    words = text.split()
    for at in rng.sample(range(len(words)), min(edits, len(words))):
        other = rng.choice(vocabulary)
        words[at] = rng.choice((other, f"{words[at]} {other}", ""))
    return " ".join(words)


def _code_recall(evals: Sequence[Path], files: list[str]) -> None:
    items = []
    for path in evals:
        for item in read_items([path]):
            code = f"{item.text}{item.answer}" if item.text.lstrip().startswith(("def ", "from ", "import ")) else item.answer  # fmt: skip
            items.append(replace(item, text="", code=code, language="python"))
    index = _index(items)
    short = {name for _, name in index.metrics()["unindexed_items"]}
    known = [item for item in items if item.id not in short and _renamed(item.code)]
    settings = ScanSettings(near_misses=None)
    clean = scan_contamination(_table(files), index, settings).to_pylist()
    passing = sum(row["matched"] >= 0.8 * row["total"] for row in clean)
    before = time.process_time()
    scan_contamination(_table(files), index, settings)
    speed = sum(map(len, files)) / 1e6 / (time.process_time() - before)
    print(f"\ncode: {len(items):,} items, {len(short)} too short, {len(files):,} real files without them: {passing} over 80%; {speed:.0f} MB/s")  # fmt: skip
    changes = {"as it is": str, "all names changed": _renamed, "to names of builtins": _shadowing}
    for name, change in changes.items():
        documents = [f"{files[i % len(files)]}\n\n{change(item.code)}\n" for i, item in enumerate(known)]  # fmt: skip
        rows = scan_contamination(_table(documents), index, settings).to_pylist()
        hits = {(row["row"], row["item_id"]) for row in rows if row["matched"] >= 0.8 * row["total"]}  # fmt: skip
        found = sum((i, item.id) in hits for i, item in enumerate(known))
        print(f"{name}: {found:,} of {len(known):,} found")


def _shadowing(code: str) -> str:
    """The program with its names changed to those of builtins that it does not use."""
    used = set(re.findall(r"\w+", code)) | set(keyword.kwlist)
    return _renamed(code, iter(sorted(FIXED_NAMES - used)))


def _renamed(code: str, new: Iterator[str] | None = None) -> str:
    """The program with every name of its own changed; empty where it cannot be read."""
    names: dict[str, str] = {}
    new = new or (f"renamed_{i}" for i in itertools.count())
    out, before = [], ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            text = token.string
            free = token.type == tokenize.NAME and not keyword.iskeyword(text) and before != "."
            if free and text not in FIXED_NAMES:
                text = names[text] if text in names else names.setdefault(text, next(new))
            out.append((token.type, text))
            before = token.string
    except (tokenize.TokenError, IndentationError):
        return ""
    return tokenize.untokenize(out)


if __name__ == "__main__":
    main()
