"""Gopher, C4 and FineWeb rules beside those of datatrove: decisions and CPU time.

    python -m venv PEER && PEER/bin/pip install -r benchmarks/requirements-signals.txt
    python benchmarks/signals.py CRAWL.warc.gz ... --peer-python PEER/bin/python

Takes the main text of every page (trafilatura in precision mode), then decides on each of them
with four filters of datatrove and with the same thresholds over our signals.

Decisions are compared three ways: as shipped (its words come from a linguistic tokenizer, ours
have punctuation apart without a dictionary), with words split at white space on both sides, and
with its words in the place of ours. CPU time is for signals and decisions together, the two sides in turn.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import trafilatura
from fastwarc.warc import ArchiveIterator, WarcRecordType
from machine import machine

from corpus_assets.select.rules import SelectionSettings
from corpus_assets.select.selection import select
from corpus_assets.signals.stages.settings import SignalSettings
from corpus_assets.signals.stages.signals import compute_signals
from corpus_assets.text.batch import Spans, TextBatch

PEER = Path(__file__).with_name("signals_peer.py")

# The defaults of datatrove, its order; the quotation mark of C4's end marks is two there.
FAMILIES = [
    {"family": "datatrove_gopher"},
    {"family": "datatrove_fineweb"},
    {"family": "c4_lines", "end_marks": ".?!\"'", "min_words": 3},
]
TOP = {2: 0.2, 3: 0.18, 4: 0.16}
DUP = {5: 0.15, 6: 0.14, 7: 0.13, 8: 0.12, 9: 0.11, 10: 0.10}
RULES: dict[str, list[tuple[str, str, dict[str, float]]]] = {
    "gopher_quality": [
        ("gopher_short_doc", "datatrove_n_words", {"min": 50}),
        ("gopher_long_doc", "datatrove_n_words", {"max": 100_000}),
        ("gopher_below_avg_threshold", "datatrove_mean_word_chars", {"min": 3}),
        ("gopher_above_avg_threshold", "datatrove_mean_word_chars", {"max": 10}),
        ("gopher_too_many_hashes", "datatrove_hash_to_word_ratio", {"max": 0.1}),
        ("gopher_too_many_ellipsis", "datatrove_ellipsis_to_word_ratio", {"max": 0.1}),
        ("gopher_too_many_bullets", "datatrove_bullet_line_share", {"max": 0.9}),
        ("gopher_too_many_end_ellipsis", "datatrove_ellipsis_line_share", {"max": 0.3}),
        ("gopher_below_alpha_threshold", "datatrove_alphabetic_word_share", {"min": 0.8}),
        ("gopher_enough_stop_words", "datatrove_stop_words_distinct", {"min": 2}),
    ],
    "gopher_repetition": [
        ("dup_para_frac", "datatrove_dup_paragraph_share", {"max": 0.3}),
        ("dup_para_char_frac", "datatrove_dup_paragraph_char_share", {"max": 0.2}),
        ("dup_line_frac", "datatrove_dup_line_share", {"max": 0.3}),
        ("dup_line_char_frac", "datatrove_dup_line_char_share", {"max": 0.2}),
        *((f"top_{n}_gram", f"datatrove_top_{n}_gram_ratio", {"max": m}) for n, m in TOP.items()),
        *(
            (f"duplicated_{n}_n_grams", f"datatrove_dup_{n}_gram_share", {"max": m})
            for n, m in DUP.items()
        ),
    ],
    "c4": [
        ("lorem_ipsum", "c4_filler_lines", {"max": 0}),
        ("curly_bracket", "c4_brace_lines", {"max": 0}),
        ("too_few_sentences", "c4_sentences", {"min": 5}),
    ],
    "fineweb": [
        ("line_punct_ratio", "datatrove_terminal_line_share", {"min": 0.12, "exclusive": True}),
        ("short_line_ratio", "datatrove_short_line_share", {"max": 0.67, "exclusive": True}),
        ("char_dup_ratio", "datatrove_dup_line_ink_share", {"max": 0.01, "exclusive": True}),
        ("list_ratio", "datatrove_newline_to_word_ratio", {"max": 0.3}),
    ],
}
Decisions = dict[str, list[str | None]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--peer-python", type=Path)
    parser.add_argument("--pages", type=int, default=100_000, help="at most so many")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--texts", type=Path, help="keep the extracted texts here, or take them")
    options = parser.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        kept = options.texts or folder / "texts.jsonl"
        if not kept.exists():
            lines = (json.dumps(text) for text in extract(options.files, options.pages))
            kept.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        texts = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
        chars = sum(map(len, texts))
        print(f"{len(texts)} texts, {chars / len(texts):.0f} characters each on average\n")
        measure(texts, kept, folder, options)
        if options.peer_python:
            compare(texts, kept, folder, options.peer_python)


def extract(files: list[Path], pages: int) -> list[str]:
    texts: list[str] = []
    for file in files:
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, WarcRecordType.response, parse_http=True):
                if len(texts) == pages:
                    return texts
                text = trafilatura.extract(
                    record.reader.read(), favor_precision=True, include_comments=False
                )
                if text:
                    texts.append(text)
    return texts


def table_of(texts: list[str]) -> pa.Table:
    ids = [k.to_bytes(16, "big") for k in range(len(texts))]
    return pa.table(
        {
            "doc_id": pa.array(ids, pa.binary(16)),
            "domain": pa.array(["web"] * len(texts)),
            "text": pa.array(texts, pa.large_string()),
        }
    )


def decide(table: pa.Table, signals: pa.Table) -> Decisions:
    out: Decisions = {}
    for name, rules in RULES.items():
        entries = [{"name": n, "signal": s, **bounds} for n, s, bounds in rules]
        settings = SelectionSettings.model_validate({"rules": entries})
        out[name] = select(table, signals, settings, {})["reason"].to_pylist()
    return out


def measure(texts: list[str], file: Path, folder: Path, options: argparse.Namespace) -> None:
    """CPU seconds of both sides, in turn; the smallest of the rounds, as noise only adds."""
    table = table_of(texts)
    settings = SignalSettings.model_validate({"families": FAMILIES})
    decide(table.slice(0, 3), compute_signals(table.slice(0, 3), settings, {}))
    ours: list[float] = []
    modes = ("as_shipped", "white_space") if options.peer_python else ()
    theirs: dict[str, list[float]] = {mode: [] for mode in modes}
    for _ in range(options.rounds):
        start = time.process_time()
        decide(table, compute_signals(table, settings, {}))
        ours.append(time.process_time() - start)
        for mode, seconds in theirs.items():
            seconds.append(peer(options.peer_python, file, folder, mode)["cpu_seconds"])
    print("| | CPU ms a text | texts a CPU second | ratio |\n|---|---|---|---|")
    for name, seconds in (("ours", ours), *theirs.items()):
        best = min(seconds)
        label = name if name == "ours" else f"datatrove, {name.replace('_', ' ')}"
        print(
            f"| {label} | {1000 * best / len(texts):.3f} | {len(texts) / best:,.0f} "
            f"| {best / min(ours):.1f} |"
        )
    print()


def compare(texts: list[str], file: Path, folder: Path, peer_python: Path) -> None:
    table = table_of(texts)
    shipped = peer(peer_python, file, folder, "as_shipped", "--words")
    plain = peer(peer_python, file, folder, "white_space")["decisions"]
    settings = SignalSettings.model_validate({"families": FAMILIES})
    own = decide(table, compute_signals(table, settings, {}))
    spaced = [entry | {"words": "white_space"} for entry in FAMILIES[:2]] + FAMILIES[2:]
    split = SignalSettings.model_validate({"families": spaced})
    own_spaced = decide(table, compute_signals(table, split, {}))
    its_words = decide(table, with_words(texts, shipped["words"], settings))
    print("| filter | dropped by datatrove | same decision: as shipped | white-space words on both "
          "sides | its words on both sides |\n|---|---|---|---|---|")  # fmt: skip
    for name in RULES:
        theirs = shipped["decisions"][name]
        cells = [
            agreement(own[name], theirs),
            agreement(own_spaced[name], plain[name]),
            agreement(its_words[name], theirs),
        ]
        print(f"| {name} | {sum(r is not None for r in theirs)} | {' | '.join(cells)} |")
    for title, left, right in (
        ("As shipped", own, shipped["decisions"]),
        ("White-space words on both sides", own_spaced, plain),
        ("Its words on both sides", its_words, shipped["decisions"]),
    ):
        print(f"\n{title}: decisions that differ, (ours, datatrove's): texts")
        for name in RULES:
            pairs = Counter(
                (mine or "kept", its or "kept")
                for mine, its in zip(left[name], right[name], strict=True)
                if (mine is None) != (its is None)
            )
            for (mine, its), n in pairs.most_common():
                print(f"- {name}: ({mine}, {its}): {n}")


def agreement(ours: list[str | None], theirs: list[str | None]) -> str:
    same = sum((a is None) == (b is None) for a, b in zip(ours, theirs, strict=True))
    return f"{same} of {len(ours)} ({100 * same / len(ours):.2f}%)"


def with_words(
    texts: list[str], words: list[list[tuple[int, int]]], settings: SignalSettings
) -> pa.Table:
    """Signals over given words; the line rules of C4 keep their own, as those of datatrove do."""
    batch = TextBatch.from_arrow(pa.array(texts, pa.large_string()))
    spans, rows = [], [0]
    for text, places, offset in zip(texts, words, batch.offsets.tolist(), strict=False):
        at = np.cumsum([offset, *(len(c.encode()) for c in text)])
        spans += [(at[start], at[end], end - start) for start, end in places]
        rows.append(len(spans))
    given = Spans(batch.data, np.array(spans, dtype=np.int64), np.array(rows, dtype=np.int64))
    lines = TextBatch.from_arrow(batch.texts)
    batch.words.__dict__["tokens"] = given
    columns: dict[str, Any] = {"doc_id": table_of(texts)["doc_id"]}
    for family in settings.families:
        found = family.compute(lines if family.family == "c4_lines" else batch, {})
        columns |= dict(zip(found.schema.names, found.columns, strict=True))
    return pa.table(columns)


def peer(python: Path, file: Path, folder: Path, mode: str, *more: str) -> dict[str, Any]:
    target = folder / "peer.json"
    subprocess.run([str(python), str(PEER), str(file), str(target), mode, *more], check=True)
    loaded: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return loaded


if __name__ == "__main__":
    main()
