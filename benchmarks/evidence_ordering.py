"""Known order on real pages, and published recipes beside each other, judged by small models.

    python shared/tools/build_big_data.py --out BIG --pages 50000 --text-mb 250
    python benchmarks/evidence_ordering.py build HOME --pages BIG/warc
    python benchmarks/evidence_ordering.py pack HOME PACK --texts BIG/text --shared DATA
    python PACK/run.py                  # on a machine with a GPU; resumes
    python benchmarks/evidence.py table PACK

Versions of the same English pages, each built by `corpus build`:

    all          all text of a page, navigation with it
    main         its main text
    rules        and Gopher's and FineWeb's rules (recipes/commoncrawl.yaml)
    dedup        and near duplicates (recipes/commoncrawl.yaml as it is)
    gopher, c4, fineweb    as published, but for the extractor, which is the same here for all

Every arm has the same number of unique tokens, which is what the smallest one has, and the
same number of steps. Held-out documents that one of the arms holds are left out.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from evidence import HELD_OUT, english, held_out, place
from machine import machine

from corpus_assets.core.home import Home
from corpus_assets.evidence.heldout import encode_heldout, heldout_digest
from corpus_assets.evidence.home import arm_texts, read_arms, version_encoder
from corpus_assets.evidence.pack import write_pack
from corpus_assets.evidence.plan import ArmRef, Plan
from corpus_assets.evidence.run import code_digest
from corpus_assets.recipe.evidence import Proxy
from corpus_assets.session import open_home

RECIPES = Path(__file__).parents[1] / "recipes"
ORDER = ("all", "main", "rules", "dedup")
PUBLISHED = ("gopher", "c4", "fineweb")
NO_COPIES = {"url": False, "exact": False, "min_similarity": None}
TRAINED = {"train": {"vocab_size": 8192}, "sample": {"max_chars": 20_000_000}}


def whole_text(pages: Path, into: Path) -> None:
    """All text of every page, as JSON lines."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType
    from resiliparse.extract.html2text import extract_plain_text

    with into.open("w", encoding="utf-8") as lines:
        for path in sorted(pages.glob("deb-*.warc.gz")):
            with path.open("rb") as stream:
                for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                    page = record.reader.read().decode("utf-8", "replace")
                    text = extract_plain_text(page, main_content=False)
                    row = {"url": record.headers["WARC-Target-URI"], "text": text}
                    lines.write(json.dumps(row) + "\n")


def recipes(pages: Path, whole: Path) -> dict[str, dict[str, Any]]:
    """Recipes of all arms by name."""
    warcs = str(pages.absolute() / "deb-*.warc.gz")
    source = {"name": "pages", "format": "warc", "domain": "web", "snapshots": {"crawl": warcs}}
    found = {}
    for name in (*ORDER, *PUBLISHED):
        origin = name if name in PUBLISHED else "commoncrawl"
        recipe = yaml.safe_load((RECIPES / f"{origin}.yaml").read_text("utf-8"))
        recipe |= {"name": name, "sources": [source], "tokenizer": TRAINED}
        gate = {"language_gate": {"languages": ["en"]}}
        recipe |= {"documents": {"gates": gate, "extraction": {"engine": "resiliparse"}}}
        for gone in ("calibrate_on", "survival", "blocklists", "eval_suites", "contamination"):
            recipe.pop(gone, None)
        rules = recipe["selection"]["rules"]
        recipe |= {"use_fallbacks": list(recipe.get("fallbacks", {}))}
        if name in ("all", "main"):
            recipe["selection"] = {
                "rules": [r for r in rules if r["signal"].startswith("language")]
            }
        if name in ("all", "main", "rules"):
            recipe["clusters"] = NO_COPIES
        if name == "all":
            own = {"snapshots": {"pages": str(whole.absolute())}, "format": "jsonl"}
            recipe["sources"] = [source | own]
        found[name] = recipe
    return found


def build(options: argparse.Namespace) -> None:
    options.home.mkdir(parents=True, exist_ok=True)
    whole = options.home / "whole.jsonl"
    if not whole.exists():
        whole_text(options.pages, whole)
    for name, recipe in recipes(options.pages, whole).items():
        path = options.home / f"{name}.yaml"
        path.write_text(yaml.safe_dump(recipe, sort_keys=False), "utf-8")
        command = [Path(sys.executable).with_name("corpus"), "build", str(path)]
        command += ["--version", name, "--home", str(options.home / "home")]
        print(f"{name}", flush=True)
        subprocess.run(command, check=True)
    _, registry = open_home(Home.resolve(str(options.home / "home")))
    for name in (*ORDER, *PUBLISHED):
        shards = registry.version_shards(name)
        print(f"{name:10}{sum(s.documents for s in shards):>10,} documents"
              f"{sum(s.tokens for s in shards):>14,} tokens")  # fmt: skip


def make_pack(options: argparse.Namespace) -> None:
    store, registry = open_home(Home.resolve(str(options.home / "home")))
    encoder = version_encoder(store, registry, "main")
    sizes = {
        name: sum(shard.tokens for shard in registry.version_shards(name)) for name in options.arms
    }
    unique = int(0.9 * min(sizes.values())) // 2**10 * 2**10  # tokenizers differ a little
    print(f"{unique:,} unique tokens an arm, {options.tokens / unique:.1f} epochs", flush=True)

    def planned(heldout: str) -> Plan:
        return Plan(
            baseline="main",
            arms={
                name: ArmRef(version=name, manifest=registry.version(name).manifest_sha256)
                for name in options.arms
            },
            heldout=heldout,
            tokenizer=encoder.sha256,
            proxy=Proxy(tokens=options.tokens, unique_tokens=unique),
            seeds=tuple(options.seeds),
            code=code_digest(),
        )

    arms = read_arms(store, registry, planned("0" * 64), encoder)
    used = {
        text
        for by_seed in arms.values()
        for text in arm_texts(by_seed.values(), encoder)["text"].to_pylist()
    }
    rows = english(options.texts, options.shared)
    held = [(domain, row) for domain, row in rows if place(row["id"]) % HELD_OUT == 0]
    heldout = held_out(held, options, sorted(used))
    plan = planned(heldout_digest(heldout))
    encoded = encode_heldout(heldout, encoder)
    size = write_pack(options.folder, plan, arms, encoded, encoder.info, 50)
    print(f"{options.folder}: {size / 2**20:.1f} MiB, plan {plan.digest()[:16]}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    made = commands.add_parser("build")
    made.set_defaults(command=build)
    made.add_argument("home", type=Path)
    made.add_argument("--pages", type=Path, required=True)
    pack = commands.add_parser("pack")
    pack.set_defaults(command=make_pack)
    pack.add_argument("home", type=Path)
    pack.add_argument("folder", type=Path)
    pack.add_argument("--texts", type=Path, required=True)
    pack.add_argument("--shared", type=Path, required=True)
    pack.add_argument("--arms", nargs="+", default=[*ORDER, *PUBLISHED])
    pack.add_argument("--tokens", type=int, default=8 * 2**20)
    pack.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    pack.add_argument("--documents", type=int, default=300, help="held-out, of a domain")
    options = parser.parse_args()
    print(f"{machine()}\n")
    options.command(options)


if __name__ == "__main__":
    main()
