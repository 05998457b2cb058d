"""Mixture weights found with small models, and compared with others on fresh seeds and documents.

    python shared/tools/build_big_data.py --out BIG --pages 50000
    python benchmarks/evidence_mix.py search SEARCH --texts BIG/text --shared DATA
    python SEARCH/run.py --token-nats   # on a machine with a GPU; resumes
    python benchmarks/evidence_mix.py validate SEARCH PACK --texts BIG/text --shared DATA
    python PACK/run.py
    python benchmarks/evidence.py table PACK

Groups are those of the pool of `evidence.py`: manuals, kernel, books, mathematics, code. Searched
is for a run of `BUDGET` tokens that repeats no group more than four times:

    mixmin   one model a group, the mixture of their predictions with the least loss
    swarm    models of `SWARM` mixtures drawn at random, whose groups have the part of their
             documents that half a budget is of the whole, so that they repeat as the run will

`validate` compares both with weights by size, which is the baseline, and with equal ones. The
search is given the held-out documents of one half of the hosts, the comparison those of the other.
"""

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from evidence import HELD_OUT, english, first, held_out, place, taken
from machine import machine

from corpus_assets.evidence.arms import Arm, Document, make_arm
from corpus_assets.evidence.gate import open_results
from corpus_assets.evidence.heldout import encode_heldout, heldout_digest
from corpus_assets.evidence.mixtures import (
    Groups,
    Proposal,
    fit_swarm,
    group_predictions,
    propose_mixture,
    swarm_losses,
    weight_limits,
)
from corpus_assets.evidence.pack import write_pack
from corpus_assets.evidence.plan import ArmRef, Plan
from corpus_assets.evidence.run import code_digest
from corpus_assets.recipe.evidence import Proxy
from corpus_assets.shards.tokens import Encoder
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer

BUDGET = 8 * 2**20
SEARCH_TOKENS = BUDGET // 2
SWARM = 16
SEQUENCE = 1024
MIXTURES = "mixtures.json"


class Pool:
    """Documents by group as tokens, what is held out, and the tokenizer."""

    def __init__(self, options: argparse.Namespace) -> None:
        texts: dict[str, list[str]] = {}
        held = []
        for group, row in english(options.texts, options.shared):
            if place(row["id"]) % HELD_OUT == 0:
                held.append((group, row))
            else:
                texts.setdefault(group, []).append(row["text"])
        for found in texts.values():
            found.sort(key=place)
        every = sorted((text for found in texts.values() for text in found), key=place)
        sample = [text[:20_000] for text in every[::8]]
        self.encoder = Encoder(train_tokenizer(sample, TokenizerSettings(vocab_size=8192)))
        self.pieces: dict[str, list[np.ndarray]] = {}  # a budget of each group at most
        self.tokens: dict[str, int] = {}  # of all its documents, by their characters
        used = []
        for group, found in sorted(texts.items()):
            pieces = self.pieces[group] = taken(self.encoder, found, BUDGET)
            used += found[: len(pieces)]
            ratio = sum(map(len, pieces)) / sum(map(len, found[: len(pieces)]))
            self.tokens[group] = round(ratio * sum(map(len, found)))
        print({group: f"{n:,} tokens" for group, n in self.tokens.items()}, flush=True)
        self.heldout = held_out(held, options, used)

    def half(self, number: int) -> pa.Table:
        """Held-out documents of one half of the hosts."""
        hosts = self.heldout["host"].to_pylist()
        return self.heldout.filter(
            pa.array([place(f"half/{host}") % 2 == number for host in hosts])
        )

    def arm(self, weights: Mapping[str, float], part: float = 1.0) -> Arm:
        """Groups with these shares of the run; each has that part of its documents' tokens."""
        documents, samples = [], 0
        for group in sorted(weights):
            whole = sum(map(len, self.pieces[group]))
            pieces = first(self.pieces[group], int(part * whole))
            own = [Document(place(f"{group}/{i}").to_bytes(16, "big"), group, piece)
                   for i, piece in enumerate(pieces)]  # fmt: skip
            documents += own
            samples += sum(map(len, pieces)) // SEQUENCE
        return make_arm(documents, weights, samples, SEQUENCE)


def write(
    folder: Path,
    pool: Pool,
    arms: Mapping[str, Arm],
    heldout: pa.Table,
    tokens: int,
    options: argparse.Namespace,
    mixtures: Mapping[str, Mapping[str, float]],
) -> None:
    """Write a pack, and the weights of its arms beside it."""
    digests = {
        name: hashlib.sha256(
            json.dumps(dict(arm.weights)).encode()
            + b"".join(one.tokens.tobytes() for one in arm.documents)
        ).hexdigest()
        for name, arm in arms.items()
    }
    plan = Plan(
        baseline=next(iter(arms)),
        arms={name: ArmRef(version=name, manifest=digest) for name, digest in digests.items()},
        heldout=heldout_digest(heldout),
        tokenizer=pool.encoder.sha256,
        proxy=Proxy(tokens=tokens, unique_tokens=tokens, protocol="pool"),
        learning_rates=tuple(options.rates),
        seeds=tuple(options.seeds),
        code=code_digest(),
    )
    encoder = pool.encoder
    by_seed = {name: dict.fromkeys(plan.seeds, arm) for name, arm in arms.items()}
    size = write_pack(folder, plan, by_seed, encode_heldout(heldout, encoder), encoder.info, 55)
    (folder / MIXTURES).write_text(json.dumps({"tokens": pool.tokens, "weights": mixtures}) + "\n")
    print(f"{folder}: {size / 2**20:.1f} MiB, plan {plan.digest()[:16]}")


def search(options: argparse.Namespace) -> None:
    pool = Pool(options)
    groups = sorted(pool.tokens)
    limits = weight_limits(pool.tokens, BUDGET)
    arms = {group: pool.arm({group: 1.0}) for group in groups}
    draws = np.random.default_rng(0)
    mixtures: dict[str, dict[str, float]] = {}
    while len(mixtures) < SWARM:
        drawn = dict(zip(groups, map(float, draws.dirichlet(np.ones(len(groups)))), strict=True))
        if all(0.01 < drawn[group] <= limits[group] for group in groups):
            mixtures[f"mix-{len(mixtures):02}"] = drawn
    part = SEARCH_TOKENS / BUDGET
    arms |= {name: pool.arm(weights, part) for name, weights in mixtures.items()}
    write(options.folder, pool, arms, pool.half(0), SEARCH_TOKENS, options, mixtures)


def proposals(folder: Path) -> list[Proposal]:
    """What both methods propose from the results of a search."""
    body = json.loads((folder / MIXTURES).read_bytes())
    tokens, groups = body["tokens"], sorted(body["tokens"])
    results = open_results(folder)
    fitted = fit_swarm(*swarm_losses(results, body["weights"], groups))
    given = (group_predictions(results.runs, groups), fitted)
    return [propose_mixture(Groups(tokens), BUDGET, one) for one in given]


def validate(options: argparse.Namespace) -> None:
    found = proposals(options.search)
    groups = sorted(found[0].weights)
    mixtures = {
        "by-size": dict(found[0].proportional),
        "equal": {group: 1 / len(groups) for group in groups},
    } | {one.method: dict(one.weights) for one in found}
    print(f"{'':10}{''.join(f'{group:>15}' for group in groups)}  expected")
    for name, weights in mixtures.items():
        gain = next((f"{one.gain:+.2f}%" for one in found if one.method == name), "")
        print(f"{name:10}{''.join(f'{weights[group]:15.3f}' for group in groups)}  {gain}")
    pool = Pool(options)
    drawn = {name: {g: w for g, w in given.items() if w > 1e-3} for name, given in mixtures.items()}
    arms = {name: pool.arm(weights) for name, weights in drawn.items()}
    write(options.folder, pool, arms, pool.half(1), BUDGET, options, mixtures)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    searched = commands.add_parser("search")
    searched.set_defaults(command=search, rates=[1e-3], seeds=[20])
    validated = commands.add_parser("validate")
    validated.set_defaults(command=validate, rates=[1e-3, 2e-3], seeds=[21, 22, 23])
    validated.add_argument("search", type=Path, help="pack of the search, after its runs")
    for command in (searched, validated):
        command.add_argument("folder", type=Path)
        command.add_argument("--texts", type=Path, required=True)
        command.add_argument("--shared", type=Path, required=True)
        command.add_argument("--documents", type=int, default=600, help="held-out, of a domain")
    options = parser.parse_args()
    print(f"{machine()}\n")
    options.command(options)


if __name__ == "__main__":
    main()
