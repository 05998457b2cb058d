"""Generate all demo sources into one folder, whole or not at all.

The work is done in a temporary folder beside the target and renamed at the end, so a run that
was killed leaves nothing that could be taken for a result. `generator.json` holds the digest of
every file: a folder that matches is left as it is, and nothing is drawn again.
"""

import functools
import hashlib
import json
import os
import shutil
import uuid
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from corpus_assets.core.errors import SourceError
from corpus_assets.demo import plan
from corpus_assets.demo.compose import compose, from_written
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import Library, read_library
from corpus_assets.demo.other_sources import (
    Row,
    json_lines,
    write_books,
    write_code,
    write_math,
    write_synthetic,
)
from corpus_assets.demo.sites import SITES
from corpus_assets.demo.texts import spam, thin
from corpus_assets.demo.web import build_snapshots, surviving_articles, write_snapshots

_SHARES = {"en": 60, "de": 15, "fr": 13, "es": 12}  # percent of the quality texts


def write_evals(library: Library, out: Path) -> None:
    """`evals/<benchmark>.jsonl`: id, benchmark, text, answer."""
    by_benchmark: dict[str, list[Row]] = {}
    for item in (*library.questions, *library.code_questions):
        row = {"id": item.id, "benchmark": item.benchmark, "text": item.text, "answer": item.answer}
        by_benchmark.setdefault(item.benchmark, []).append(row)
    folder = out / "evals"
    folder.mkdir(parents=True, exist_ok=True)
    for benchmark in sorted(by_benchmark):
        (folder / f"{benchmark}.jsonl").write_bytes(json_lines(by_benchmark[benchmark]))


def write_quality(library: Library, out: Path) -> None:
    """`quality/positives.jsonl` and `negatives.jsonl`: id, lang, text; `QUALITY_TEXTS` each."""
    folder = out / "quality"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "positives.jsonl").write_bytes(json_lines(_positives(library)))
    (folder / "negatives.jsonl").write_bytes(json_lines(_negatives(library)))


def write_blocklist(out: Path) -> None:
    """`blocklist.txt`: one host a line, comments after #."""
    hosts = [site.host for site in SITES if site.kind == "blocked"]
    lines = ["# Hosts whose pages the demo corpus does not take.", *hosts]
    (out / "blocklist.txt").write_bytes(("\n".join(lines) + "\n").encode("utf-8"))


def _counts() -> dict[str, int]:
    counts = {lang: plan.QUALITY_TEXTS * share // 100 for lang, share in _SHARES.items()}
    counts["en"] += plan.QUALITY_TEXTS - sum(counts.values())
    return counts


def _positives(library: Library) -> list[Row]:
    rows: list[Row] = []
    for lang, count in _counts().items():
        written = [from_written(text).text() for text in library.articles.get(lang, ())]
        banks = library.banks[lang]
        for number in range(count):
            if number < len(written) and number < count // 3:
                text = written[number]
            else:
                draw = Draw("quality positive", lang, number)
                text = compose(banks[number % len(banks)], draw, "positive").text()
            rows.append({"id": f"positive-{lang}-{number:03}", "lang": lang, "text": text})
    return rows


def _negatives(library: Library) -> list[Row]:
    rows: list[Row] = []
    for lang, count in _counts().items():
        for number in range(count):
            draw = Draw("quality negative", lang, number)
            kind = number % 5
            if lang == "en" and kind < 3:
                text = spam(library, draw, "negative").text()
            elif kind == 3:
                banks = library.banks[lang]
                full = compose(banks[number % len(banks)], draw, "negative")
                text = thin(library, lang, full, draw, "negative").text()
            else:
                text = _boilerplate(library, lang, draw)
            rows.append({"id": f"negative-{lang}-{number:03}", "lang": lang, "text": text})
    return rows


def _boilerplate(library: Library, lang: str, draw: Draw) -> str:
    """Return what is left of a page when its article is taken out: menus, notices, teasers."""
    snippets = library.snippets[lang]
    lines = [
        " | ".join(draw.sample(snippets["nav_labels"], 6)),
        draw.choice(snippets["cookie_banners"]),
        *draw.sample(snippets["sidebar_teasers"], draw.between(2, 5)),
        *draw.sample(snippets["privacy_lines"], draw.between(1, 3)),
        " ".join(draw.sample(snippets["nav_labels"], 5)),
        draw.choice(snippets["footers"]),
    ]
    name = draw.choice([site.name for site in SITES if site.lang == lang])
    return "\n".join(line.replace("{site}", name) for line in lines)


GENERATOR_VERSION = 1  # raise it whenever a byte of the output could change

MANIFEST = "manifest.jsonl"
STATE = "generator.json"


@functools.lru_cache(maxsize=1)
def _packaged_library() -> Library:
    return read_library(None)


def generate_demo(out: Path, library_root: Traversable | None = None) -> Path:
    """Write the demo sources to `out` and return it; about ten seconds, or none when done.

    `library_root` is a text library to use in place of the packaged one.
    """
    library = _packaged_library() if library_root is None else read_library(library_root)
    if is_complete(out, library.digest):
        return out
    if out.exists() and not _may_be_replaced(out):
        raise SourceError(
            f"{out} holds files that the demo generator did not write; choose an empty folder"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    work = out.parent / f".{out.name}.{uuid.uuid4().hex}.partial"
    work.mkdir()
    try:
        snapshots = build_snapshots(library)
        entries = [
            *write_snapshots(snapshots, work),
            *write_code(library, work),
            *write_books(library, work),
            *write_math(library, work),
            *write_synthetic(surviving_articles(snapshots), work),
        ]
        write_evals(library, work)
        write_quality(library, work)
        write_blocklist(work)
        (work / MANIFEST).write_bytes(json_lines(entry.as_json() for entry in entries))
        state = {
            "generator_version": GENERATOR_VERSION,
            "library": library.digest,
            "files": file_digests(work),
        }
        text = json.dumps(state, indent=1, sort_keys=True) + "\n"
        (work / STATE).write_text(text, encoding="utf-8", newline="\n")
        if out.exists():
            shutil.rmtree(out)
        os.rename(work, out)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return out


def is_complete(out: Path, library_digest: str) -> bool:
    """Say whether `out` holds exactly what this version would write from this library."""
    state = _state(out)
    if state is None or state.get("generator_version") != GENERATOR_VERSION:
        return False
    return state.get("library") == library_digest and state.get("files") == file_digests(out)


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file below a folder by its relative path, `generator.json` left out."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if path.relative_to(folder).as_posix() != STATE
    }


def _may_be_replaced(out: Path) -> bool:
    return out.is_dir() and (_state(out) is not None or not any(out.iterdir()))


def _state(out: Path) -> dict[str, Any] | None:
    try:
        value = json.loads((out / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
