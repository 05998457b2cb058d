"""Do the bounds of `commoncrawl` let better pages through than the published ones? Small models say.

    python shared/tools/build_big_data.py --out BIG --pages 32000 --text-mb 140
    python benchmarks/evidence_bounds.py build HOME --pages BIG/warc/deb-0[0-3].warc.gz \\
        snapshot-?.warc.gz genuine-crawl.warc.gz --texts BIG/text --shared shared/data
    python benchmarks/evidence_bounds.py pack HOME UNIQUE --texts BIG/text --shared shared/data \\
        --unique-tokens 1572864
    python benchmarks/evidence_bounds.py pack HOME POOL --texts BIG/text --shared shared/data \\
        --unique-tokens 2097152 --pool
    python UNIQUE/run.py; python POOL/run.py    # on a machine with a GPU; resumes
    python benchmarks/evidence.py table UNIQUE --save benchmarks/evidence/bounds
    python benchmarks/evidence_bounds.py domains UNIQUE

The pool is a version of the recipe with the rules on language alone, near duplicates out. All rules
are then asked of its documents, as shipped and as published (`selection_bounds.PUBLISHED`). A third
of the hosts is not in the pool: their pages are held out. Arms are documents of the pool:

    published   what the published bounds keep
    shipped     what the recipe keeps
    rescued     what only the recipe keeps
    dropped     what both drop

By default every arm has as many unique tokens: is what the recipe lets through as good? With `--pool`
every arm has what it keeps of the same documents, and as many steps: is it worth having?
"""

import argparse
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import yaml
from evidence import english, held_out, judged_pages, place
from machine import machine
from selection_bounds import OF_LANGUAGE, PUBLISHED, RECIPE, build_selection, parts_of

from corpus_assets.build import pin_sources
from corpus_assets.core import files
from corpus_assets.core.home import Home
from corpus_assets.core.task import read_table
from corpus_assets.evidence.arms import (
    Arm,
    Document,
    choose,
    make_arm,
    reach_of,
    run_shares,
    start_of,
    version_documents,
)
from corpus_assets.evidence.gate import compare_results, open_results
from corpus_assets.evidence.heldout import encode_heldout, heldout_digest, make_heldout
from corpus_assets.evidence.home import arm_texts, version_encoder
from corpus_assets.evidence.pack import write_pack
from corpus_assets.evidence.plan import ArmRef, Plan
from corpus_assets.evidence.run import code_digest
from corpus_assets.recipe.evidence import Proxy
from corpus_assets.session import Session, open_home, open_session
from corpus_assets.shards import Encoder
from corpus_assets.versions import published_manifest
from corpus_loader import Loader

RECIPES = ("open", "published", "shipped")
UNIQUE = ("published", "shipped", "rescued", "dropped")  # the baseline first
POOL = ("shipped", "published", "open")
HELD_HOSTS = 3  # one host in so many
TRAINED = {"train": {"vocab_size": 8192}, "sample": {"max_chars": 20_000_000}}


class Version(NamedTuple):
    """The tokenizer of a version, and the shares of its groups in a run."""

    encoder: Encoder
    weights: dict[str, float]


def is_held(host: str) -> bool:
    """Whether the pages of a host are held out."""
    return place(host) % HELD_HOSTS == 0


def package_host(row: dict[str, str]) -> str:
    """Host of the pages of a package, as `build_big_data.py` names it."""
    return re.sub("[^a-z0-9-]+", "-", row["source"]) + ".docs.example"


def recipes(home: Path, pages: list[Path], held: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Recipes by name."""
    links = home / "pages"
    links.mkdir(parents=True, exist_ok=True)
    for path in pages:
        link = links / path.name
        if not link.exists():
            link.symlink_to(path.resolve())
    blocked = home / "held-hosts.txt"
    blocked.write_text("".join(f"{host}\n" for host in sorted(set(held))), "utf-8")
    crawl = {"crawl": str(links.absolute() / "*.warc.gz")}
    found = {}
    for name in RECIPES:
        recipe = yaml.safe_load(RECIPE.read_text("utf-8"))
        source = {"name": "web", "format": "warc", "domain": "web", "snapshots": crawl}
        recipe |= {"name": name, "sources": [source], "tokenizer": TRAINED}
        recipe["blocklists"] = [str(blocked.absolute())]
        recipe.pop("survival")
        rules = recipe["selection"]["rules"]
        if name == "published":
            publish(recipe)
        if name == "open":
            recipe["selection"]["rules"] = [r for r in rules if r["name"] in OF_LANGUAGE]
        found[name] = recipe
    return found


def publish(recipe: dict[str, Any]) -> None:
    """Give a recipe the lines and bounds of its sources."""
    rules = {rule["name"]: rule for rule in recipe["selection"]["rules"]}
    for key, value in PUBLISHED.items():
        *path, last = key.split(".")
        (rules[path[-1]] if path[:2] == ["selection", "rules"] else recipe[path[0]])[last] = value


def build(options: argparse.Namespace) -> None:
    rows = [row for domain, row in english(options.texts, options.shared)
            if domain == "documentation"]  # fmt: skip
    hosts = {package_host(row) for row in rows}
    hosts |= {host for _, _, host, _ in judged_pages(options.shared)}
    home = options.home / "home"
    for name, recipe in recipes(options.home, options.pages, filter(is_held, hosts)).items():
        path = options.home / f"{name}.yaml"
        path.write_text(yaml.safe_dump(recipe, sort_keys=False), "utf-8")
        print(name, flush=True)
        if name == "open":
            corpus = Path(sys.executable).with_name("corpus")
            command = [corpus, "build", path, "--version", name, "--home", home]
            subprocess.run(list(map(str, command)), check=True)
        else:
            with open_session(str(path), Home.resolve(str(home)), workers=1) as session:
                pin_sources(session)
                build_selection(session)
                kept = kept_by_rules(session)
            (options.home / f"{name}.txt").write_text("".join(f"{one.hex()}\n" for one in kept))
    for name, documents in arms_of(options.home)[1].items():
        tokens = sum(len(document.tokens) for document in documents)
        print(f"{name:10}{len(documents):>10,} documents{tokens:>14,} tokens")


def kept_by_rules(session: Session) -> list[bytes]:
    """Ids of the documents that meet all rules."""
    tables = [
        read_table(session.pipeline.store, part, ["doc_id", "kept"])
        for part in parts_of(session, files.SELECTION)
    ]
    table = pa.concat_tables(tables)
    return table["doc_id"].filter(table["kept"]).to_pylist()


def arms_of(folder: Path) -> tuple[Version, dict[str, list[Document]]]:
    """The version `open`, and the documents of it that each arm has."""
    store, registry = open_home(Home.resolve(str(folder / "home")))
    manifest = published_manifest(store, registry.version("open"))
    encoder = version_encoder(store, registry, "open")
    loader = Loader(manifest, store.local, global_batch=1)
    every = version_documents(loader, None, encoder, encoder)
    loader.close()
    published, shipped = (
        set(map(bytes.fromhex, (folder / f"{name}.txt").read_text().split()))
        for name in ("published", "shipped")
    )
    wanted = {
        "open": {one.doc_id for one in every},
        "published": published,
        "shipped": shipped,
        "rescued": shipped - published,
    }
    wanted["dropped"] = wanted["open"] - shipped - published
    arms = {name: [one for one in every if one.doc_id in ids] for name, ids in wanted.items()}
    return Version(encoder, run_shares(manifest)), arms


def plan_of(
    options: argparse.Namespace, documents: dict[str, list[Document]], encoder: Encoder, held: str
) -> Plan:
    """The plan, by the digests of what its arms have."""
    sizes = {name: sum(len(one.tokens) for one in own) for name, own in documents.items()}
    names = POOL if options.pool else UNIQUE
    least = min(sizes[name] for name in names)
    unique = options.unique_tokens or least // 3 // 2**10 * 2**10
    return Plan(
        baseline=names[0],
        arms={
            name: ArmRef(
                version=name,
                manifest=hashlib.sha256(
                    b"".join(one.doc_id for one in documents[name])
                ).hexdigest(),
                tokens=sizes[name],
            )
            for name in names
        },
        heldout=held,
        tokenizer=encoder.sha256,
        proxy=Proxy(
            tokens=options.epochs * unique // 2**14 * 2**14,
            unique_tokens=unique,
            protocol="pool" if options.pool else "unique",
        ),
        seeds=tuple(options.seeds),
        code=code_digest(),
    )


def chosen(
    plan: Plan, documents: dict[str, list[Document]], weights: dict[str, float]
) -> dict[str, dict[int, Arm]]:
    """What every seed of an arm trains on; of a pool as `read_arms` chooses it."""
    proxy = plan.proxy
    reach: dict[int, int] = {}
    found: dict[str, dict[int, Arm]] = {}
    for name in sorted(plan.arms, key=lambda one: (one != plan.baseline, one)):
        is_whole = proxy.protocol == "unique" or name == plan.baseline
        found[name] = {}
        for seed in plan.seeds:
            start = start_of(seed, plan.seeds)
            wanted = proxy.unique_tokens if is_whole else None
            own = choose(documents[name], start, wanted, None if is_whole else reach[seed])
            if name == plan.baseline:
                reach[seed] = reach_of(own, start)
            tokens = proxy.unique_tokens if is_whole else sum(len(one.tokens) for one in own)
            samples = max(1, tokens // proxy.sequence)
            found[name][seed] = make_arm(own, weights, samples, proxy.sequence)
    return found


def make_pack(options: argparse.Namespace) -> None:
    (encoder, weights), documents = arms_of(options.home)
    arms = chosen(plan_of(options, documents, encoder, "0" * 64), documents, weights)
    used = {
        text
        for by_seed in arms.values()
        for text in arm_texts(by_seed.values(), encoder)["text"].to_pylist()
    }
    held = [
        (domain, row)
        for domain, row in english(options.texts, options.shared)
        if domain != "documentation" or is_held(package_host(row))
    ]
    heldout = make_heldout(
        row
        for row in held_out(held, options, sorted(used)).to_pylist()
        if row["domain"] not in ("web", "forum") or is_held(row["host"])
    )
    plan = plan_of(options, documents, encoder, heldout_digest(heldout))
    print(f"{plan.proxy.unique_tokens:,} unique tokens of the baseline, "
          f"{plan.proxy.tokens:,} trained on")  # fmt: skip
    scored = encode_heldout(heldout, encoder)
    size = write_pack(options.folder, plan, arms, scored, encoder.info, options.max_mib)
    print(f"{options.folder}: {size / 2**20:.1f} MiB, plan {plan.digest()[:16]}")


def show_domains(options: argparse.Namespace) -> None:
    """Percent of the baseline's bits per byte by domain, each with its interval."""
    compared = compare_results(open_results(options.folder))
    for found in compared.comparisons:
        print(f"{found.arm}: {found.words}")
        for one in found.main:
            print(f"  {one.domain:16}{one.percent:+8.2f} [{one.low:+.2f}, {one.high:+.2f}]")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    made = commands.add_parser("build")
    made.set_defaults(command=build)
    made.add_argument("home", type=Path)
    made.add_argument("--pages", type=Path, nargs="+", required=True)
    pack = commands.add_parser("pack")
    pack.set_defaults(command=make_pack)
    pack.add_argument("home", type=Path)
    pack.add_argument("folder", type=Path)
    pack.add_argument("--pool", action="store_true", help="what arms keep of the same documents")
    pack.add_argument("--unique-tokens", type=int, help="default: a third of the smallest arm")
    pack.add_argument("--epochs", type=int, default=4)
    pack.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5, 6])
    pack.add_argument("--documents", type=int, default=300, help="held-out, of a domain")
    pack.add_argument("--max-mib", type=float, default=30)
    for command in (made, pack):
        command.add_argument("--texts", type=Path, required=True)
        command.add_argument("--shared", type=Path, required=True)
    shown = commands.add_parser("domains")
    shown.set_defaults(command=show_domains)
    shown.add_argument("folder", type=Path)
    options = parser.parse_args()
    print(f"{machine()}\n")
    options.command(options)


if __name__ == "__main__":
    main()
