"""Erasure seen in the weights: what models remember of planted texts before and after a takedown.

    python shared/tools/build_big_data.py --out BIG --pages 50000 --text-mb 250
    python benchmarks/evidence_canaries.py build HOME --texts BIG/text
    python benchmarks/evidence_canaries.py pack HOME PACK
    python PACK/run.py                               # on a machine with a GPU; resumes
    python benchmarks/evidence_canaries.py table PACK --save benchmarks/evidence/canaries

English documentation with planted pages is built into version `canaries`; the host of the pages is
taken down by `catalog takedown`, which leaves `canaries.td1`. Of 1, 4, 16 and 64 pages each say the
same 32 random words; controls are drawn in the same way and stand on no page. Models of the same
seeds and steps are trained on both versions, shown half of the words and asked for the other half.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml
from evidence import place, records
from machine import machine

from catalog.pages import charts
from corpus_assets.core.home import Home
from corpus_assets.evidence.canaries import memories, memory_curve
from corpus_assets.evidence.gate import Results, open_results
from corpus_assets.evidence.heldout import encode_heldout, heldout_digest, make_heldout
from corpus_assets.evidence.home import read_arms, version_encoder
from corpus_assets.evidence.pack import write_pack
from corpus_assets.evidence.plan import ArmRef, Plan
from corpus_assets.evidence.run import code_digest
from corpus_assets.recipe.evidence import Proxy
from corpus_assets.session import open_home

VERSIONS = ("canaries", "canaries.td1")
COPIES = (1, 4, 16, 64)
TEXTS = 32  # of each number of copies
WORDS = 32
HOST = "planted.example"
DOMAIN = "copies-"


def canaries(words: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    """(copies, number, words) of all planted texts and controls."""
    for copies in (0, *COPIES):
        for number in range(TEXTS):
            draw = random.Random(f"{copies}/{number}")
            yield copies, number, [draw.choice(words) for _ in range(WORDS)]


def vocabulary(texts: list[str]) -> list[str]:
    """Words that many documents have, by name."""
    seen: dict[str, int] = {}
    for text in texts:
        for word in set(text.split()):
            if word.isalpha() and word.islower() and len(word) > 3:
                seen[word] = seen.get(word, 0) + 1
    return sorted(sorted(seen, key=lambda word: (-seen[word], word))[:2000])


def build(options: argparse.Namespace) -> None:
    options.home.mkdir(parents=True, exist_ok=True)
    rows = [r for r in records(options.texts / "docs.jsonl") if r["lang"] == "en"]
    rows.sort(key=lambda row: place(row["id"]))
    chosen, chars = [], 0
    for row in rows:
        if chars >= options.chars:
            break
        chosen.append({"url": f"https://docs.example/{row['id']}", "text": row["text"]})
        chars += len(row["text"])
    words = vocabulary([row["text"] for row in chosen])
    planted = [
        {"url": f"https://{HOST}/{copies}/{number}/{copy}",
         "text": f"Page {copy} of {copies}-{number}.\n\n{' '.join(text)}"}
        for copies, number, text in canaries(words)
        for copy in range(copies)
    ]  # fmt: skip
    for name, own in (("docs", chosen), ("planted", planted)):
        lines = "".join(json.dumps(row) + "\n" for row in own)
        (options.home / f"{name}.jsonl").write_text(lines, "utf-8")
    (options.home / "words.json").write_text(json.dumps(words), "utf-8")
    recipe = {
        "name": "canaries",
        "seed": 1,
        "sources": [
            {"name": name, "format": "jsonl", "domain": "web", "fields": {"url": "url"},
             "snapshots": {name: str(options.home.absolute() / f"{name}.jsonl")}}
            for name in ("docs", "planted")
        ],
        "signals": {"families": [{"family": "language"}]},
        "selection": {"rules": []},
        "signatures": {},
        "clusters": {"url": False, "exact": False, "min_similarity": None},
        "clean_text": {"boilerplate": {"domains": []}, "min_chars": 1},
        "tokenizer": {"train": {"vocab_size": 8192}, "sample": {"max_chars": 20_000_000}},
        "shards": {"pack": {"seq_len": 1024, "packing": "best_fit"}},
        "mixture": {"block_samples": 64},
        "takedowns": {"keep_revoked": True},  # so that both can be read
    }  # fmt: skip
    path = options.home / "canaries.yaml"
    path.write_text(yaml.safe_dump(recipe, sort_keys=False), "utf-8")
    home = ["--home", str(options.home / "home")]
    for tool, *command in (
        ("corpus", "build", str(path), "--version", VERSIONS[0]),
        ("catalog", "takedown", "request", "--domain", HOST, "--reason", "benchmark", "--yes"),
        ("catalog", "takedown", "run"),
    ):
        subprocess.run([Path(sys.executable).with_name(tool), *command, *home], check=True)


def make_pack(options: argparse.Namespace) -> None:
    store, registry = open_home(Home.resolve(str(options.home / "home")))
    encoder = version_encoder(store, registry, VERSIONS[0])
    words = json.loads((options.home / "words.json").read_text("utf-8"))
    half = WORDS // 2
    heldout = make_heldout(
        {"id": f"{copies}/{number:02}", "domain": f"{DOMAIN}{copies:02}", "host": str(number),
         "url": "", "licence": "", "item": "", "context": " ".join(text[:half]),
         "text": " " + " ".join(text[half:])}
        for copies, number, text in canaries(words)
    )  # fmt: skip
    whole = sum(shard.tokens for shard in registry.version_shards(VERSIONS[0]))
    plan = Plan(
        baseline=VERSIONS[0],
        arms={
            name: ArmRef(version=name, manifest=registry.version(name).manifest_sha256)
            for name in VERSIONS
        },
        heldout=heldout_digest(heldout),
        tokenizer=encoder.sha256,
        proxy=Proxy(
            tokens=whole // 2**14 * 2**14, unique_tokens=whole // 1024 * 1024, protocol="pool"
        ),
        learning_rates=(2e-3,),
        seeds=(1, 2, 3),
        code=code_digest(),
    )
    arms = read_arms(store, registry, plan, encoder)
    size = write_pack(
        options.folder, plan, arms, encode_heldout(heldout, encoder), encoder.info, 50
    )
    print(f"{options.folder}: {size / 2**20:.1f} MiB, plan {plan.digest()[:16]}")


def nats_by_copies(results: Results, arm: str) -> dict[int, np.ndarray]:
    """Nats of the words asked for, [text, model], by copies."""
    tables = [run.table() for run in results.runs if run.arm == arm]
    nats = np.stack([table["nats"].to_numpy() for table in tables], axis=1)
    domains = np.array(tables[0]["domain"].to_pylist())
    return {copies: nats[domains == f"{DOMAIN}{copies:02}"] for copies in (0, *COPIES)}


def show_table(options: argparse.Namespace) -> None:
    results = open_results(options.folder)
    models = {name: memories(nats_by_copies(results, name)) for name in VERSIONS}
    print(f"{'version':14}{'copies':>7}{'texts':>7}{'p(rest)':>10}{'extracted':>11}"
          f"{'nats below controls':>21}{'interval':>18}")  # fmt: skip
    for name, rows in models.items():
        for row in rows:
            interval = f"[{row.low:+.2f}, {row.high:+.2f}]" if row.copies else ""
            print(f"{name:14}{row.copies:>7}{row.canaries:>7}{row.extraction:>10.1e}"
                  f"{row.extracted:>11.1%}{row.advantage:>21.2f}{interval:>18}")  # fmt: skip
    if options.save is not None:
        body = {
            "plan": results.plan,
            "hardware": sorted({f"{run.hardware}, torch {run.torch}" for run in results.runs}),
            "nats": {
                name: {str(copies): own.round(4).tolist()
                       for copies, own in nats_by_copies(results, name).items()}
                for name in VERSIONS
            },
        }  # fmt: skip
        options.save.with_suffix(".json").write_text(json.dumps(body) + "\n", "utf-8")
        drawn = charts.standalone(memory_curve(models))
        options.save.with_suffix(".svg").write_text(drawn, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    made = commands.add_parser("build")
    made.set_defaults(command=build)
    made.add_argument("home", type=Path)
    made.add_argument("--texts", type=Path, required=True)
    made.add_argument("--chars", type=int, default=30_000_000)
    pack = commands.add_parser("pack")
    pack.set_defaults(command=make_pack)
    pack.add_argument("home", type=Path)
    pack.add_argument("folder", type=Path)
    table = commands.add_parser("table")
    table.set_defaults(command=show_table)
    table.add_argument("folder", type=Path)
    table.add_argument("--save", type=Path, help="also write PATH.json and PATH.svg")
    options = parser.parse_args()
    print(f"{machine()}\n")
    options.command(options)


if __name__ == "__main__":
    main()
