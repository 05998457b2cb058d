"""Which tasks have signal, do small models rank as larger ones do, and what is a source worth?

    python shared/tools/build_big_data.py --out BIG --pages 4000 --text-mb 120
    python benchmarks/evidence_scales.py pack PACKS --texts BIG/text --shared shared/data
    python PACKS/17M/run.py             # and PACKS/5M/run.py, PACKS/59M/run.py, on a GPU
    python benchmarks/evidence_scales.py table PACKS --save benchmarks/evidence/scales.json

`ladder`: arms whose order is known, because each dose of damage (evidence.py) is more of the same:
shuffled words, mojibake and repetition in 10, 30 or 50% of the tokens of one clean pool, at three
sizes. Every task in cloze form: bits per byte of the right answer, and how often it is the likeliest of
its choices. Signal is the spread of arms, noise that of seeds.

`anneal`: sources as candidates for a cool-down of models of manuals and kernel documentation.
"""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
import yaml
from evidence import (
    HELD_OUT,
    arm_of,
    encoded,
    english,
    first,
    held_out,
    last,
    mojibake,
    place,
    shuffled,
)
from evidence_aa import RUNNER
from machine import machine
from scipy.stats import spearmanr

from catalog.cli.terminal import plain
from corpus_assets.evidence.arms import Document, choose, make_arm, start_of
from corpus_assets.evidence.compare import Hosts, differences
from corpus_assets.evidence.gate import Results, answered, compare_results, open_results
from corpus_assets.evidence.heldout import (
    encode_heldout,
    heldout_digest,
    load_heldout,
    make_heldout,
)
from corpus_assets.evidence.pack import write_pack
from corpus_assets.evidence.plan import ArmRef, Plan
from corpus_assets.evidence.run import code_digest
from corpus_assets.ingest import Suppressions
from corpus_assets.recipe.evidence import Proxy
from corpus_assets.shards.tokens import Encoder
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer

LADDER = {"shuffled": (10, 30, 50), "mojibake": (10, 30), "repeated": (30, 50)}
TASKS = (
    "arc_easy", "arc_challenge", "hellaswag", "piqa", "openbookqa", "boolq", "commonsense_qa", "copa",
    "mmlu", "lambada", "humaneval", "mbpp", "gsm8k", "truthfulqa", "bb_strategy_qa", "triviaqa",
)  # fmt: skip
LANGUAGES = 4
BASE = ("documentation", "kernel")


def heldout_of(options: argparse.Namespace, held: list, used: list[str]):
    """Domains of text as in evidence.py, canary languages, and tasks with their choices."""
    rows = held_out(held, options, used, gold=()).to_pylist()
    body = {
        "documents": options.questions, "max_bytes": 4096, "min_bytes": 300,
        "answers": {task: [{"files": str(options.shared / "evals" / f"{task}.jsonl.gz")}]
                    for task in TASKS},
        "domains": {f"language-{code}": [{"files": str(options.shared / "text/multilingual.jsonl.gz"),
                                          "where": {"lang": code}}] for code in options.languages},
    }  # fmt: skip
    path = options.folder / "heldout.yaml"
    path.write_text(yaml.safe_dump(body))
    return make_heldout([*rows, *load_heldout(path, Suppressions.from_rows([])).to_pylist()])


def manifest_of(tokens: list[np.ndarray]) -> str:
    return hashlib.sha256(b"".join(one.tobytes() for one in tokens)).hexdigest()


def make_packs(options: argparse.Namespace) -> None:
    options.folder.mkdir(parents=True, exist_ok=True)
    held, pool = [], []
    for domain, row in english(options.texts, options.shared):
        if place(row["id"]) % HELD_OUT == 0:
            held.append((domain, row))
        else:
            pool.append((domain, row["text"]))
    pool.sort(key=lambda entry: place(entry[1]))
    tokenizer = train_tokenizer(
        [text[:20_000] for _, text in pool[::16]], TokenizerSettings(vocab_size=8192)
    )
    encoder = Encoder(tokenizer)
    cut = [(domain, text[k : k + 20_000]) for domain, text in pool
           for k in range(0, min(len(text), 200_000), 20_000)]  # fmt: skip
    batch = encoder.encode_batch([text for _, text in cut])
    documents = [
        Document(hashlib.sha256(str(i).encode()).digest()[:16], f"pool/{domain}/all", batch[i])
        for i, (domain, _) in enumerate(cut)
    ]
    table = heldout_of(options, held, [text for _, text in cut])
    scored = encode_heldout(table, encoder)
    print(f"held out: {len(table)} rows", flush=True)

    def write(size: str, name: str, arms: dict, by_seed: dict, **told: object) -> None:
        proxy = Proxy(size=size, **told.pop("proxy"))
        plan = Plan(baseline=next(iter(arms)), arms=arms, heldout=heldout_digest(table),
                    tokenizer=encoder.sha256, proxy=proxy, code=code_digest(), **told)  # fmt: skip
        by_seed = by_seed(plan)
        n = write_pack(options.folder / size / name, plan, by_seed, scored, encoder.info)
        (options.folder / size / "run.py").write_text(RUNNER)
        print(f"{size}/{name}: {len(arms)} arms, {n / 2**20:.1f} MiB", flush=True)

    # The ladder.
    unique = options.unique_tokens
    drawn = sorted(range(len(cut)), key=lambda i: documents[i].place)
    texts = [cut[i][1] for i in drawn]
    clean = encoded(encoder, texts, unique)
    half = unique // 2
    bad = {
        "shuffled": encoded(encoder, map(shuffled, texts), half),
        "mojibake": encoded(encoder, map(mojibake, texts), half),
    }
    pieces = {"clean": clean}
    for kind, doses in LADDER.items():
        for dose in doses:
            count = unique * dose // 100 // 1024 * 1024
            some = first(clean, count // 8) * 8 if kind == "repeated" else first(bad[kind], count)
            pieces[f"{kind}-{dose}"] = some + last(clean, unique - sum(map(len, some)))
    arms = {name: ArmRef(version=name, manifest=manifest_of(own)) for name, own in pieces.items()}
    laid = {name: arm_of(own, unique // 1024, "clean") for name, own in pieces.items()}
    for size, seeds, rates in (("17M", (1, 2, 3), (1e-3, 5e-4)), ("5M", (1, 2, 3), (1e-3,)),
                               ("59M", (1, 2), (1e-3,))):  # fmt: skip
        write(size, "ladder", arms,
              lambda plan: {name: dict.fromkeys(plan.seeds, arm) for name, arm in laid.items()},
              proxy={"tokens": unique, "unique_tokens": unique}, seeds=seeds, learning_rates=rates,
              budgets=(unique // 4,))  # fmt: skip

    # Candidates for a cool-down.
    versions = {"base": [one for one in documents if one.group.split("/")[1] in BASE]}
    for domain in sorted({domain for domain, _ in cut}):
        versions[domain] = [one for one in documents if one.group.split("/")[1] == domain]
    prose = [encoder.decode(one.tokens[:-1]) for one in versions["prose"]]
    broken = encoder.encode_batch(list(map(shuffled, prose)))
    versions["prose-shuffled"] = [Document(one.doc_id, one.group, broken[i])
                                  for i, one in enumerate(versions["prose"])]  # fmt: skip
    sizes = {name: sum(len(one.tokens) for one in own) for name, own in versions.items()}
    print(sizes, flush=True)
    arms = {name: ArmRef(version=name, manifest=manifest_of([one.tokens for one in own]),
                         tokens=sizes[name]) for name, own in versions.items()}  # fmt: skip

    def annealing(plan: Plan) -> dict:
        return {
            name: {
                seed: make_arm(
                    choose(own, start_of(seed, plan.seeds), plan.samples_of(name) * 1024, None),
                    {group: sum(len(one.tokens) for one in own if one.group == group)
                     for group in {one.group for one in own}},
                    plan.samples_of(name), 1024,
                )
                for seed in plan.seeds
            }
            for name, own in versions.items()
        }  # fmt: skip

    write("17M", "anneal", arms, annealing, seeds=(11, 12, 13), learning_rates=(1e-3, 5e-4),
          proxy={"tokens": options.anneal_tokens, "unique_tokens": options.anneal_tokens,
                 "protocol": "anneal"})  # fmt: skip


def seed_means(results: Results, rate: float, of: str) -> dict[str, dict[str, list[float]]]:
    """Task -> arm -> value of each seed: bits per byte, or accuracy in percent."""
    found: dict[str, dict[str, list[float]]] = {}
    for run in sorted(results.runs, key=lambda run: run.seed):
        if (run.learning_rate, run.tokens) != (rate, results.plan["proxy"]["tokens"]):
            continue
        if of == "bits":
            values, domain = run.bits(), run.table()["domain"].to_pylist()
        else:
            values, domain = 100 * answered(run), results.tasks.domain
        for name in sorted(set(domain)):
            own = values[np.array(domain) == name]
            found.setdefault(name, {}).setdefault(run.arm, []).append(float(own.mean()))
    return found


def known_pairs() -> list[tuple[str, str]]:
    """(less damage, more of the same)."""
    found = []
    for kind, doses in LADDER.items():
        names = ["clean", *(f"{kind}-{dose}" for dose in doses)]
        found += [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    return found


def task_rows(results: Results) -> list[dict[str, object]]:
    rate = results.plan["learning_rates"][0]
    rows = []
    for of in ("bits", "accuracy"):
        for task, arms in seed_means(results, rate, of).items():
            values = np.array([arms[arm] for arm in results.plan["arms"]])  # [arm, seed]
            signal = float(values.mean(axis=1).std(ddof=1))
            noise = float(np.sqrt(values.var(axis=1, ddof=1).mean()))
            sign = 1 if of == "bits" else -1
            right = [sign * (worse - better) > 0 for a, b in known_pairs()
                     for better, worse in zip(arms[a], arms[b], strict=True)]  # fmt: skip
            rows.append({"task": task, "of": of, "clean": float(np.mean(arms["clean"])),
                         "signal": signal, "noise": noise, "snr": signal / noise if noise else 0.0,
                         "ordered_right": float(np.mean(right)),
                         "gain_by_budget": results.signals.get(task) if of == "bits" else None})  # fmt: skip
    return rows


def ranks(packs: dict[str, Results]) -> dict[str, object]:
    """Spearman of the arms' macro differences between sizes, over draws from their intervals."""
    rng, found, drawn = np.random.default_rng(0), {}, {}
    for size, results in packs.items():
        rate, tokens = results.plan["learning_rates"][0], results.plan["proxy"]["tokens"]
        hosts = Hosts(results.held_out)
        base = results.scores("clean", rate, tokens)
        own = [differences(hosts, base, results.scores(arm, rate, tokens))[-1]
               for arm in results.plan["arms"] if arm != "clean"]  # fmt: skip
        found[size] = {arm: [d.percent, d.low, d.high] for arm, d in
                       zip([a for a in results.plan["arms"] if a != "clean"], own, strict=True)}  # fmt: skip
        drawn[size] = (np.array([d.percent for d in own]),
                       np.array([d.percent for d in own])
                       + np.array([d.error for d in own]) * rng.standard_normal((4000, len(own))))  # fmt: skip
    told: dict[str, object] = {"differences": found}
    names = list(packs)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            rho = [spearmanr(x, y).statistic for x, y in zip(drawn[a][1], drawn[b][1], strict=True)]
            low, high = np.quantile(rho, [0.025, 0.975])
            point = float(spearmanr(drawn[a][0], drawn[b][0]).statistic)
            told[f"{a}-{b}"] = [point, float(low), float(high)]
            print(f"Spearman {a} {b}: {point:.2f} [{low:.2f}, {high:.2f}]")
    return told


def show_table(options: argparse.Namespace) -> None:
    told: dict[str, object] = {}
    packs = {}
    for size in ("5M", "17M", "59M"):
        folder = options.folder / size / "ladder"
        results = open_results(folder) if folder.exists() else None
        if results is None or not results.runs:
            continue
        packs[size] = results
        rows = task_rows(results)
        told[f"tasks {size}"] = rows
        told[f"plan {size}"] = {"plan": results.plan, "strays": results.strays,
                                "hardware": sorted({run.hardware for run in results.runs})}  # fmt: skip
        print(f"\n{size}")
        for row in sorted(rows, key=lambda row: (row["of"], -row["snr"])):
            gain = row["gain_by_budget"]
            print(f"{row['of']:9} {row['task']:16} {row['clean']:7.3f} signal {row['signal']:.4f} noise "
                  f"{row['noise']:.4f} snr {row['snr']:5.1f} right {row['ordered_right']:.0%}"
                  + (f" gain {gain:.1f}" if gain is not None else ""))  # fmt: skip
    if len(packs) > 1:
        told["ranks"] = ranks(packs)
    for name in ("ladder", "anneal"):
        results = open_results(options.folder / "17M" / name)
        if not results.runs:
            continue
        compared = compare_results(results)
        told[f"compared {name}"] = plain(compared)
        print(f"\n{name}")
        for one in sorted(compared.comparisons, key=lambda one: one.macro.percent):
            macro = one.macro
            print(f"{one.arm:16} {macro.percent:+.2f} [{macro.low:+.2f}, {macro.high:+.2f}] "
                  f"{one.other[-1].percent if one.other else 0:+.2f} {one.words}")  # fmt: skip
        print(*compared.notes, sep="\n")
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
    pack.add_argument("--unique-tokens", type=int, default=384 * 2**14)
    pack.add_argument("--anneal-tokens", type=int, default=192 * 2**14)
    pack.add_argument("--documents", type=int, default=60, help="held-out, of a domain")
    pack.add_argument("--questions", type=int, default=200, help="of a task")
    pack.add_argument("--languages", nargs="+", default=["fr", "es", "ru", "ja"])
    table = commands.add_parser("table")
    table.set_defaults(command=show_table)
    table.add_argument("folder", type=Path)
    table.add_argument("--save", type=Path)
    options = parser.parse_args()
    print(f"{machine()}\n")
    options.command(options)


if __name__ == "__main__":
    main()
