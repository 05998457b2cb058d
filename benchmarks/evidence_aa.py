"""A/A: how often are random, disjoint parts of one pool called better or worse than each other?

    python shared/tools/build_big_data.py --out BIG --pages 4000 --text-mb 120
    python benchmarks/evidence_aa.py pack PACKS --texts BIG/text --shared shared/data
    python PACKS/run.py                 # on a machine with a GPU; resumes; --part I/N for several
    python benchmarks/evidence_aa.py table PACKS --save benchmarks/evidence/aa.json

A world splits a pool of documents by chance into arms that have no document in common, each a version
of its own to the instrument: every seed draws its documents from its arm as `arms.choose` does. Each
pair of arms of a world is compared as a plan of two arms, without guards, which only keep arms from
being called better. Pools:

    apart      seeds of an arm have no document in common; each of three pools has other documents and
               other seeds than the next
    overlap    (in the second pool) a seed has 60% of its arm, so seeds have documents in common
    hosts      (in the first pool) arms are parts of the hosts, not of the documents: what differs between hosts is a
               difference between the arms, which no draw of documents from an arm can show
"""

import argparse
import hashlib
import itertools
import json
import math
import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from evidence import HELD_OUT, english, held_out, place
from machine import machine

from corpus_assets.evidence.arms import (
    Arm,
    Document,
    choose,
    copies_key,
    make_arm,
    start_of,
)
from corpus_assets.evidence.compare import NOT_DECIDED, DecisionRule, Hosts, compare_arms
from corpus_assets.evidence.gate import Results, open_results
from corpus_assets.evidence.heldout import encode_heldout, heldout_digest
from corpus_assets.evidence.pack import write_pack
from corpus_assets.evidence.plan import ArmRef, Plan
from corpus_assets.evidence.run import code_digest
from corpus_assets.recipe.evidence import Proxy
from corpus_assets.shards.tokens import Encoder
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer

GROUP = "pool/text/all"
ARMS = 4  # of a world: six pairs
APART, OVERLAP = 0.33, 0.6  # of an arm that one seed has
KINDS = {"w": "apart", "o": "overlap", "h": "hosts"}  # by a world's first letter
RULE = DecisionRule(must_not_regress=())
RUNNER = '''"""Run the packs beside this file, one after the other, with one compiled model: --part I/N."""

import functools
import sys
from pathlib import Path

here = Path(__file__).absolute().parent
packs = sorted(path.parent for path in here.glob("*/pack.json"))
sys.path.insert(0, str(packs[0]))

from corpus_assets.evidence import run, train

train.build_model = functools.cache(train.build_model)
train.prepare = functools.cache(train.prepare)
part = run.parse_part(sys.argv[sys.argv.index("--part") + 1]) if "--part" in sys.argv else (0, 1)
for pack in packs:
    run.run_pack(pack, part=part)
'''


def host_of(name: str) -> str:
    return name.rpartition("/")[0] or name


def split(
    documents: list[Document], hosts: dict[bytes, str] | None, key: str
) -> list[list[Document]]:
    """Arms of nearly equal tokens: documents, or whole hosts, each dealt to the smallest arm."""
    units = defaultdict(list)
    for one in documents:
        units[hosts[one.doc_id] if hosts else one.doc_id].append(one)
    drawn = sorted(units, key=str)
    random.Random(key).shuffle(drawn)
    arms: list[list[Document]] = [[] for _ in range(ARMS)]
    sizes = [0] * ARMS
    for name in drawn:
        smallest = sizes.index(min(sizes))
        arms[smallest] += units[name]
        sizes[smallest] += sum(len(one.tokens) for one in units[name])
    return arms


def drawn_with_copies(arm: list[Document], keys: dict[bytes, int]) -> list[Document]:
    """As `arms.version_documents` has it: copies within the arm are drawn together."""
    least: dict[int, bytes] = {}
    for one in arm:
        key = keys[one.doc_id]
        least[key] = min(one.doc_id, least.get(key, one.doc_id))
    return [replace(one, drawn_with=least[keys[one.doc_id]]) for one in arm]


def make_packs(options: argparse.Namespace) -> None:
    pool, held = [], []
    for domain, row in english(options.texts, options.shared):
        if place(row["id"]) % HELD_OUT == 0:
            held.append((domain, row))
        else:
            pool.append((row["id"], row["text"]))
    pool.sort(key=lambda entry: place(entry[1]))
    print(f"pool: {len(pool)} documents", flush=True)
    tokenizer = train_tokenizer(
        [text[:20_000] for _, text in pool[::16]], TokenizerSettings(vocab_size=8192)
    )
    encoder = Encoder(tokenizer)
    rest = iter(pool)
    taken: dict[str, list[tuple[str, str, np.ndarray]]] = {}
    for number in range(options.pools):
        wanted = int(1.03 * ARMS * options.unique_tokens / APART)
        own: list[tuple[str, str, np.ndarray]] = []
        total = 0
        while total < wanted:
            some = list(itertools.islice(rest, 64))
            if not some:
                raise SystemExit("there is too little text; build more")
            # Long manuals in parts, so that a pool is many documents as a crawl is.
            cut = [(name, text[k : k + 20_000]) for name, text in some
                   for k in range(0, min(len(text), 600_000), 20_000)]  # fmt: skip
            batch = encoder.encode_batch([text for _, text in cut])
            own += [(name, text, batch[i]) for i, (name, text) in enumerate(cut)]
            total += sum(len(tokens) for *_, tokens in own[-len(cut) :])
        taken[f"pool{number}"] = own
        print(f"pool {number}: {len(own)} documents, {total:,} tokens", flush=True)
    heldout = held_out(held, options, [text for own in taken.values() for _, text, _ in own])
    scored = encode_heldout(heldout, encoder)
    for number, (name, own) in enumerate(taken.items()):
        documents, hosts = [], {}
        for i, (source, _, tokens) in enumerate(own):
            doc_id = hashlib.sha256(f"{name}/{i}".encode()).digest()[:16]
            documents.append(Document(doc_id, GROUP, tokens))
            hosts[doc_id] = host_of(source)
        keys = {one.doc_id: copies_key(one.tokens) for one in documents}
        seeds = tuple(100 * number + k for k in range(1, options.seeds + 1))
        arms: dict[str, dict[int, Arm]] = {}
        sizes = {}
        worlds = [f"w{k:02}" for k in range(options.worlds)]
        worlds += [
            f"{kind}{k:02}" for k in range(options.few) for kind in "ho"[number : number + 1]
        ]
        for world in worlds:
            by_host = hosts if world.startswith("h") else None
            some = documents[: int(len(documents) * (APART / OVERLAP if world[0] == "o" else 1))]
            for letter, part in zip("abcd", split(some, by_host, f"{name}/{world}"), strict=True):
                part = drawn_with_copies(part, keys)
                arm = f"{world}-{letter}"
                sizes[arm] = sum(len(one.tokens) for one in part)
                arms[arm] = {
                    seed: make_arm(
                        choose(part, start_of(seed, seeds), options.unique_tokens, None),
                        {GROUP: 1.0},
                        options.unique_tokens // 1024,
                        1024,
                    )
                    for seed in seeds
                }
        plan = Plan(
            baseline="w00-a",
            arms={
                arm: ArmRef(version=arm, manifest=hashlib.sha256(arm.encode()).hexdigest(),
                            tokens=sizes[arm])
                for arm in arms
            },
            heldout=heldout_digest(heldout),
            tokenizer=encoder.sha256,
            proxy=Proxy(
                size=options.size,
                tokens=options.unique_tokens * options.epochs,
                unique_tokens=options.unique_tokens,
                batch_tokens=options.batch,
            ),
            learning_rates=tuple(options.rates),
            seeds=seeds,
            code=code_digest(),
        )  # fmt: skip
        size = write_pack(options.folder / name, plan, arms, scored, encoder.info)
        print(f"{name}: {len(arms)} arms, {len(arms) * len(seeds) * len(plan.learning_rates)} runs, "
              f"{size / 2**20:.1f} MiB", flush=True)  # fmt: skip
    (options.folder / "run.py").write_text(RUNNER)


def pairs_of(results: Results) -> list[dict[str, object]]:
    """Each pair of arms of a world, compared as a plan of two arms is."""
    plan, held = results.plan, results.held_out
    hosts, tokens = Hosts(held), plan["proxy"]["tokens"]
    scores = {arm: tuple(results.scores(arm, rate, tokens) for rate in plan["learning_rates"])
              for arm in plan["arms"]}  # fmt: skip
    found = []
    for a, b in itertools.combinations(sorted(scores), 2):
        full = all(one is not None and len(one.seeds) == len(plan["seeds"])
                   for arm in (a, b) for one in scores[arm])  # fmt: skip
        if a[:3] != b[:3] or not full:
            continue
        (one,) = compare_arms(held, a, {a: scores[a], b: scores[b]}, RULE, hosts)
        found.append({
            "world": a[:3], "pair": f"{a[-1]}{b[-1]}", "percent": one.macro.percent,
            "low": one.macro.low, "high": one.macro.high, "p": one.macro.p,
            "other_rate": one.other[-1].percent, "verdict": one.verdict,
            "training_error": one.macro.training_variance**0.5,
            "evaluation_error": one.macro.evaluation_variance**0.5,
            "domains": {d.domain: [d.percent, d.low, d.high] for d in one.main[:-1]},
        })  # fmt: skip
    return found


def rate_with_interval(hits: list[tuple[str, bool]]) -> tuple[float, float, float]:
    """Share of hits and its 95% interval: worlds are drawn again, pairs of a world are not
    independent."""
    worlds = defaultdict(list)
    for world, hit in hits:
        worlds[world].append(hit)
    sums = np.array([[sum(own), len(own)] for own in worlds.values()], float)
    rng = np.random.default_rng(0)
    drawn = sums[rng.integers(0, len(sums), (4000, len(sums)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    if not sums[:, 0].any():  # none seen: the rule of three
        high = 3 / len(sums)
    return float(sums[:, 0].sum() / sums[:, 1].sum()), float(low), float(high)


def show_table(options: argparse.Namespace) -> None:
    told: dict[str, object] = {}
    by_kind = defaultdict(list)
    for folder in sorted(path.parent for path in options.folder.glob("*/plan.json")):
        results = open_results(folder)
        found = pairs_of(results) if results.runs else []
        name = folder.name
        own = [run.table() for run in results.runs]
        told[name] = {
            "plan": results.plan | {"arms": len(results.plan["arms"])}, "digest": results.digest,
            "runs": len(own), "pairs": found, "notes": [n for n in results.strays if "made" in n],
            "hardware": sorted({f"{run.hardware}, torch {run.torch}" for run in results.runs}),
        }  # fmt: skip
        for one in found:
            by_kind[KINDS[one["world"][0]]].append((f"{name}/{one['world']}", one))
    for kind, pairs in by_kind.items():
        if not pairs:
            continue
        missed = [(world, not one["low"] <= 0 <= one["high"]) for world, one in pairs]
        decided = [(world, one["verdict"] != NOT_DECIDED) for world, one in pairs]
        domains = [(world, not low <= 0 <= high) for world, one in pairs
                   for _, low, high in one["domains"].values()]  # fmt: skip
        shown = {label: rate_with_interval(hits) for label, hits in
                 (("macro_misses_0", missed), ("domains_miss_0", domains), ("decided", decided))}  # fmt: skip
        spread = math.sqrt(float(np.mean([one["percent"] ** 2 for _, one in pairs])))
        half = float(np.median([one["high"] - one["low"] for _, one in pairs])) / 2
        told[f"rates of {kind}"] = shown | {"pairs": len(pairs), "rms_percent": spread,
                                            "median_half_width": half}  # fmt: skip
        print(f"{kind}: {len(pairs)} pairs of {len({w for w, _ in pairs})} worlds; differences "
              f"{spread:.2f}% rms, half intervals {half:.2f}%")  # fmt: skip
        for label, (rate, low, high) in shown.items():
            print(f"    {label:16} {rate:6.1%} [{low:.1%}, {high:.1%}]")
    if options.save:
        options.save.write_text(json.dumps(told) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    pack = commands.add_parser("pack")
    pack.set_defaults(command=make_packs)
    pack.add_argument("folder", type=Path)
    pack.add_argument("--texts", type=Path, required=True)
    pack.add_argument("--shared", type=Path, required=True)
    pack.add_argument("--pools", type=int, default=3)
    pack.add_argument("--worlds", type=int, default=12, help="of a pool apart")
    pack.add_argument("--few", type=int, default=6, help="worlds of the other kinds")
    pack.add_argument("--size", default="5M")
    pack.add_argument("--unique-tokens", type=int, default=3 * 2**17)
    pack.add_argument("--epochs", type=int, default=2)
    pack.add_argument("--batch", type=int, default=2**13)
    pack.add_argument("--seeds", type=int, default=3)
    pack.add_argument("--rates", type=float, nargs=2, default=[1e-3, 5e-4])
    pack.add_argument("--documents", type=int, default=60, help="held-out, of a domain")
    table = commands.add_parser("table")
    table.set_defaults(command=show_table)
    table.add_argument("folder", type=Path)
    table.add_argument("--save", type=Path)
    options = parser.parse_args()
    print(f"{machine()}\n")
    options.command(options)


if __name__ == "__main__":
    main()
