"""What taking one document out costs, beside building the version it is taken out of.

    python benchmarks/takedown_cost.py --documents 100000 --pages FOLDER --out FOLDER

Makes a corpus of English-like texts (`--snapshots` of equal size, one document in ten a near duplicate of
another), builds it with the rules of the demo recipe, then takes out one document that stands
alone, one that stands for a cluster, and a batch. CPU time is that of the whole commands, start-up and
child processes included: `corpus build` against `catalog takedown request` and `run`.

`--pages` names a folder of web archives: the corpus is then a crawl of pages with their markup
and other words. Without it the texts are JSON lines, the hard case: nothing is extracted, the
build costs a tenth, and the takedown costs the same. Words are those of the demo's own library,
by rank (Zipf). The last takedown runs under Python's profiler, which tells where its time goes.
"""

import argparse
import json
import os
import pstats
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from machine import machine
from page_frames import drawn_words, read_frames, response_record

ROOT = Path(__file__).resolve().parent.parent
WORDS_A_DOCUMENT = (150, 900)
COPIES = 0.1
EARLIER = 2000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--parts", type=int, default=4, help="files of each snapshot")
    parser.add_argument("--snapshots", type=int, default=2)
    parser.add_argument("--requests", type=int, default=100, help="of one batch, taken out last")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pages", type=Path, help="a folder of *.warc.gz whose markup is taken")
    parser.add_argument("--out", type=Path, required=True, help="an empty folder")
    options = parser.parse_args()
    print(f"{machine()}\n")
    options.out.mkdir(parents=True, exist_ok=True)
    names = [f"news-{number:03d}" for number in range(options.snapshots)]
    recipe = write_corpus(options.out, options.documents, options.parts, options.pages, names)
    home = options.out / "home"
    build = command(
        "corpus", "build", str(recipe), "--version", "bench-1", "--workers", str(options.workers),
        home=home,
    )  # fmt: skip
    rows: list[tuple[str, float, object, object]] = [("build", build, "", "")]
    before = shards_of(home, "bench-1")
    for what, doc_id in (("alone", alone(home)), ("stands for a cluster", leader(home))):
        asked = command(
            "catalog", "takedown", "request", "--doc-id", doc_id, "--reason", "b", home=home
        )
        taken = command("catalog", "takedown", "run", home=home)
        after = shards_of(home, f"bench-1.td{len(rows)}")
        rows.append((f"take out: {what}", asked + taken, len(after - before), len(after & before)))
        before = after
    asked = command("catalog", "takedown", "import", str(batch(options, home)), home=home)
    taken = command("catalog", "takedown", "run", home=home)
    after = shards_of(home, f"bench-1.td{len(rows)}")
    what = f"take out: {options.requests:,} in one batch"
    rows.append((what, asked + taken, len(after - before), len(after & before)))
    report(options, rows, profiled(home, alone(home)))


def batch(options: argparse.Namespace, home: Path) -> Path:
    """Write a file of requests for kept documents."""
    sql = f"SELECT doc_id FROM decisions WHERE kept ORDER BY doc_id LIMIT {options.requests}"
    lines = [json.dumps({"doc_id": row[0], "reason": "b"}) + "\n" for row in ask(home, sql)]
    file: Path = options.out / "requests.jsonl"
    file.write_text("".join(lines))
    return file


PHASES = {
    "finding the documents": ("takedown/requests.py", "look_again"),
    "rebuilding": ("corpus_assets/build.py", "run_one"),
    "publishing": ("versions/publish.py", "publish"),
    "deleting": ("takedown/run.py", "_delete"),
    "searching live texts and tokens": ("takedown/search_tasks.py", "look_through"),
    "searching the home": ("takedown/home_search.py", "search_home"),
    "certificates": ("takedown/certificate.py", "write_certificates"),
}
PROFILED = """
import cProfile, sys
from catalog.cli.commands import main
profile = cProfile.Profile()
try:
    profile.runcall(main, ["takedown", "run"])
except SystemExit:
    pass
profile.dump_stats(sys.argv[1])
"""


def profiled(home: Path, doc_id: str) -> dict[str, float]:
    """Share of a takedown's time that each of its phases takes; the rest is imports and Dagster."""
    command("catalog", "takedown", "request", "--doc-id", doc_id, "--reason", "b", home=home)
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "profile")
        command("python", "-c", PROFILED, file, home=home)
        stats: Any = pstats.Stats(file)
    found = {}
    for phase, (module, name) in PHASES.items():
        found[phase] = sum(
            row[3] for (path, _, function), row in stats.stats.items()
            if function == name and path.endswith(module)
        ) / stats.total_tt  # fmt: skip
    return found


def report(
    options: argparse.Namespace,
    rows: list[tuple[str, float, object, object]],
    phases: dict[str, float],
) -> None:
    build = rows[0][1]
    print(
        f"\n{options.documents:,} documents, {options.parts} files in each of "
        f"{options.snapshots} snapshots"
    )
    print(f"{'':32}{'CPU-s':>9}{'of the build':>14}{'shards written':>16}{'shared':>8}")
    for name, cpu, written, shared in rows:
        print(f"{name:32}{cpu:9.1f}{cpu / build:13.2%} {written!s:>16}{shared!s:>8}")
    print("\nwhere a takedown's time goes:")
    for phase, share in phases.items():
        print(f"  {phase:32}{share:7.1%}")
    measured: list[dict[str, Any]] = [
        {"what": name, "cpu_s": cpu, "share": cpu / build, "shards_written": w, "shards_shared": s}
        for name, cpu, w, s in rows
    ]
    measured.append({"what": "phases", **phases})
    (options.out / "takedown_cost.json").write_text(json.dumps(measured, indent=1))


def command(program: str, *arguments: str, home: Path) -> float:
    """CPU seconds of a command and its children; it must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = dict(os.environ, CORPUS_HOME=str(home))
    subprocess.run([Path(sys.executable).parent / program, *arguments], check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_corpus(
    out: Path, documents: int, parts: int, pages: Path | None, names: Sequence[str]
) -> Path:
    files = parts * len(names)
    make = _text_parts(documents, files) if pages is None else _page_parts(documents, files, pages)
    kind = "jsonl" if pages is None else "warc.gz"
    for number, lines in enumerate(make):
        snapshot, part = names[number // parts], number % parts
        path = out / "corpus" / snapshot / f"part-{part:03d}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            file.writelines(lines)
    return _write_recipe(out, kind, names)


def _text_parts(documents: int, files: int) -> Iterator[Iterator[bytes]]:
    words, weights = vocabulary()
    random = np.random.default_rng(1)
    earlier: list[str] = []

    def line(number: int) -> bytes:
        text = draw_text(random, words, weights, earlier)
        return json.dumps({"url": url_of(number), "text": text}).encode() + b"\n"

    for numbers in _shared_out(documents, files):
        yield (line(number) for number in numbers)


def _page_parts(documents: int, files: int, pages: Path) -> Iterator[Iterator[bytes]]:
    words, weights = vocabulary()
    random = np.random.default_rng(1)
    frames = read_frames(sorted(pages.glob("*.warc.gz")))
    earlier: list[tuple[int, list[bytes]]] = []

    def record(number: int) -> bytes:
        if earlier and random.random() < COPIES:  # a near duplicate: a few words replaced
            frame, drawn = earlier[random.integers(len(earlier))]
            drawn = list(drawn)
            for _ in range(3):
                drawn[random.integers(len(drawn))] = str(
                    words[random.integers(len(words))]
                ).encode()
        else:
            frame = int(random.integers(len(frames)))
            drawn = drawn_words(random, words, weights, frames[frame].n_words)
            if len(earlier) < EARLIER and random.random() < COPIES * 2:
                earlier.append((frame, drawn))
        return response_record(url_of(number), frames[frame].filled(drawn), number)

    for numbers in _shared_out(documents, files):
        yield (record(number) for number in numbers)


def _shared_out(documents: int, files: int) -> Iterator[range]:
    each = -(-documents // files)
    for start in range(0, documents, each):
        yield range(start, min(start + each, documents))


def url_of(number: int) -> str:
    return f"https://site{number % 997}.example/story/{number}"


def _write_recipe(out: Path, kind: str, names: Sequence[str]) -> Path:
    source = {"name": "news", "format": "warc", "domain": "web"}
    if kind == "jsonl":
        source |= {"format": "jsonl", "fields": {"url": "url"}}
    source |= {"snapshots": {name: f"corpus/{name}/*.{kind}" for name in names}}
    raw = yaml.safe_load((ROOT / "recipes" / "demo.yaml").read_text())
    raw |= {
        "name": "bench",
        "sources": [source],
        "calibrate_on": [names[0]],
        "blocklists": [],
        "survival": {},
    }
    raw["documents"] = {"extraction": {"engine": "trafilatura", "mode": "fast"}}
    # Words without grammar: the identifier is less sure of their language than of real text.
    for rule in raw["selection"]["rules"]:
        if rule["name"] == "language_confidence":
            rule["min"] = 0.3
    raw["mixture"]["shares"] = {}
    raw["tokenizer"] = {"train": {"vocab_size": 8192}, "sample": {"max_chars": 5_000_000}}
    raw["shards"]["tokens_per_shard"] = 1_000_000
    bounds = "unspaced-languages.csv"  # which rules of the demo name
    (out / bounds).write_bytes((ROOT / "recipes" / bounds).read_bytes())
    recipe = out / "bench.yaml"
    recipe.write_text(yaml.safe_dump(raw, sort_keys=False))
    return recipe


def vocabulary() -> tuple[np.ndarray, np.ndarray]:
    """Words of the demo's library by how often they stand there."""
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "corpus_assets" / "demo" / "library").rglob("*"))
        if path.is_file() and path.suffix in (".txt", ".md", ".yaml", ".json")
    )
    found, counts = np.unique(re.findall(r"[A-Za-z]{1,14}", text), return_counts=True)
    return found, np.cumsum(counts / counts.sum())


def draw_text(
    random: np.random.Generator, words: np.ndarray, weights: np.ndarray, earlier: list[str]
) -> str:
    if earlier and random.random() < COPIES:  # a near duplicate: a few words replaced
        copy = earlier[random.integers(len(earlier))].split(" ")
        for _ in range(3):
            copy[random.integers(len(copy))] = str(words[random.integers(len(words))])
        return " ".join(copy)
    n = int(random.integers(*WORDS_A_DOCUMENT))
    drawn = words[np.searchsorted(weights, random.random(n))].tolist()
    for i in range(11, n, 12):
        drawn[i] += ".\n" if i % 60 == 59 else "."
    text = " ".join(drawn) + "."
    if random.random() < COPIES * 2:
        earlier.append(text)
    return text


def ask(home: Path, sql: str) -> list[list[object]]:
    env = dict(os.environ, CORPUS_HOME=str(home))
    answer = subprocess.run(
        [Path(sys.executable).parent / "catalog", "sql", "--json", sql],
        check=True, env=env, capture_output=True, text=True,
    )  # fmt: skip
    return list(json.loads(answer.stdout)["rows"])


def alone(home: Path) -> str:
    rows = ask(
        home,
        "SELECT doc_id FROM decisions WHERE kept AND doc_id NOT IN "
        "(SELECT doc_id FROM cluster_members) ORDER BY doc_id LIMIT 1",
    )
    return str(rows[0][0])


def leader(home: Path) -> str:
    rows = ask(
        home,
        "SELECT m.doc_id FROM cluster_members AS m JOIN decisions AS d USING (doc_id) "
        "WHERE m.kept AND d.kept ORDER BY m.cluster_size DESC, m.doc_id LIMIT 1",
    )
    return str(rows[0][0])


def shards_of(home: Path, version: str) -> set[str]:
    path = home / "store" / "versions" / version / "manifest.json"
    manifest = json.loads(path.read_text())
    return {shard["bin"]["sha256"] for group in manifest["groups"] for shard in group["shards"]}


if __name__ == "__main__":
    main()
