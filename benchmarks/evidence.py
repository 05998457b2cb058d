"""Prove the instrument: does it see damage that we planted, and nothing where there is none?

    python shared/tools/build_big_data.py --out BIG --pages 50000 --text-mb 250
    python benchmarks/evidence.py pack PACK --texts BIG/text --pages BIG/warc --shared DATA
    python PACK/run.py                  # on a machine with a GPU; resumes
    python benchmarks/evidence.py table PACK
    python benchmarks/evidence.py pairs PACK    # the baseline against itself, sets of its seeds

Arms are made from one pool of English documents. Of each, 10, 25 or 50% of the tokens are replaced:

    navigation   lines of real English pages that extraction leaves out
    language     pages in languages of other scripts, none of them held out
    shuffled     the same documents with their words in another order
    mojibake     the same documents, every letter read in the wrong charset twice
    repeated     an eighth as many tokens of the pool, eight times

and `same` has the documents of `clean`, laid out in another order (A/A). Every arm has exactly the
same number of tokens and steps. Documents of the held-out set that stand in the pool are left out
of the set, by the decontamination stage.
"""

import argparse
import gzip
import hashlib
import itertools
import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from machine import machine

from catalog.cli.terminal import plain
from catalog.pages import charts
from corpus_assets.evidence.arms import Arm, Document
from corpus_assets.evidence.compare import NOT_DECIDED, Difference, Hosts, compare_arms
from corpus_assets.evidence.gate import Results, compare_results, open_results
from corpus_assets.evidence.heldout import (
    cut_to,
    encode_heldout,
    find_contaminated,
    heldout_digest,
    make_heldout,
)
from corpus_assets.evidence.pack import write_pack
from corpus_assets.evidence.page import dose_response
from corpus_assets.evidence.plan import ArmRef, Plan
from corpus_assets.evidence.run import code_digest
from corpus_assets.recipe.evidence import Proxy
from corpus_assets.shards.tokens import Encoder
from corpus_assets.tokenizer.settings import TokenizerSettings
from corpus_assets.tokenizer.train import train_tokenizer

DOSES = (10, 25, 50)
KINDS = ("same", "navigation", "language", "shuffled", "mojibake", "repeated")
HELD_OUT = 12  # one document in so many
ENGLISH = re.compile(r"<html[^>]* (?:xml:)?lang=[\"']?en", re.IGNORECASE)
GOLD = ("arc_easy", "hellaswag", "piqa", "openbookqa")


def place(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def records(path: Path) -> Iterator[dict[str, str]]:
    """Records of a file of JSON lines; none where there is no such file."""
    if not path.exists():
        return
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def english(texts: Path, shared: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """(domain, record) of the pool."""
    for row in records(texts / "docs.jsonl"):
        if row["lang"] == "en":
            yield "documentation", row
    for row in records(texts / "source.jsonl"):
        yield "kernel", row
    for name in ("prose", "math", "code"):
        for row in records(shared / "text" / f"{name}.jsonl.gz"):
            yield name, row


def foreign(texts: Path) -> Iterator[str]:
    """Pages in other scripts; of the same kind as those of the pool, so that only language differs."""
    rows = [row for row in records(texts / "docs.jsonl") if row["lang"] not in ("en", "de")]
    for row in sorted(rows, key=lambda row: place(row["id"])):
        if is_translated(row["text"]):
            yield row["text"]


def is_translated(text: str) -> bool:
    """Whether most letters are not Latin: packages of translations hold English pages too."""
    letters = [letter > "\u024f" for letter in text if letter.isalpha()]
    return sum(letters) > len(letters) / 2


def navigation(warcs: Path) -> Iterator[str]:
    """Lines of an English page that its main content does not have."""
    from fastwarc.warc import ArchiveIterator, WarcRecordType
    from resiliparse.extract.html2text import extract_plain_text

    for path in sorted(warcs.glob("deb-*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
                page = record.reader.read().decode("utf-8", "replace")
                if len(page) > 300_000 or not ENGLISH.search(page[:2000]):
                    continue
                main = set(extract_plain_text(page, main_content=True).splitlines())
                lines = extract_plain_text(page, main_content=False).splitlines()
                left = [line for line in lines if line.strip() and line not in main]
                if len(left) > 3:
                    yield "\n".join(left)


def shuffled(text: str) -> str:
    words = re.split(r"(\s+)", text)
    own, spaces = words[::2], words[1::2]
    random.Random(place(text)).shuffle(own)
    return "".join(w + s for w, s in zip(own, [*spaces, ""], strict=True))


def mojibake(text: str) -> str:
    """Read UTF-16 as Windows-1252, then UTF-8 as Windows-1252: no letter stays by itself."""
    wide = text.encode("utf-16-le").decode("cp1252", "replace").replace("\x00", "Ã")
    return wide.encode("utf-8").decode("cp1252", "replace")


def taken(encoder: Encoder, texts: Iterable[str], tokens: int) -> list[np.ndarray]:
    """Tokens of the first texts that have `tokens` together, or of all."""
    found: list[np.ndarray] = []
    total, rest = 0, iter(texts)
    while total < tokens and (some := list(itertools.islice(rest, 64))):
        batch = encoder.encode_batch(some)
        found += [batch[i] for i in range(len(batch))]
        total += sum(map(len, found[-len(batch) :]))
    return found


def encoded(encoder: Encoder, texts: Iterable[str], tokens: int) -> list[np.ndarray]:
    """Tokens of the first texts, `tokens` together; the last one is cut."""
    found = first(taken(encoder, texts, tokens), tokens)
    if (total := sum(map(len, found))) < tokens:
        raise SystemExit(f"{tokens} tokens are needed and there are {total}; build more data")
    return found


def first(pieces: list[np.ndarray], tokens: int) -> list[np.ndarray]:
    """The first `tokens` tokens of documents, the last one cut."""
    found, total = [], 0
    for piece in pieces:
        if total >= tokens:
            break
        found.append(piece[: tokens - total])
        total += len(found[-1])
    return found


def last(pieces: list[np.ndarray], tokens: int) -> list[np.ndarray]:
    """The last `tokens` tokens of documents, the first one cut."""
    return [piece[::-1] for piece in first([p[::-1] for p in pieces[::-1]], tokens)][::-1]


def arm_of(pieces: list[np.ndarray], samples: int, key: str) -> Arm:
    """One group of documents, laid in the order of a hash of their place in the list and `key`."""
    order = sorted(range(len(pieces)), key=lambda i: place(f"{key}/{i}"))
    documents = [Document(i.to_bytes(16, "big"), "pool/text/all", pieces[n])
                 for i, n in enumerate(order)]  # fmt: skip
    return Arm(documents, {"pool/text/all": samples}, {"pool/text/all": 1.0})


def make_pack(options: argparse.Namespace) -> None:
    pool, held = [], []
    for domain, row in english(options.texts, options.shared):
        if place(row["id"]) % HELD_OUT == 0:
            held.append((domain, row))
        else:
            pool.append(row["text"])
    pool.sort(key=place)
    print(f"pool: {len(pool)} documents, {sum(map(len, pool)) / 1e6:.1f} M characters", flush=True)
    tokenizer = train_tokenizer(
        [text[:20_000] for text in pool[::8]], TokenizerSettings(vocab_size=options.vocab)
    )
    encoder = Encoder(tokenizer)
    print(f"tokenizer: {encoder.vocab_size} ids", flush=True)
    unique = options.unique_tokens
    clean = encoded(encoder, pool, unique)
    samples, half = unique // options.sequence, unique * max(DOSES) // 100
    used = pool[: len(clean)]
    texts = {
        "navigation": navigation(options.pages),
        "language": foreign(options.texts),
        "shuffled": map(shuffled, used),
        "mojibake": map(mojibake, used),
    }
    damaged = {kind: encoded(encoder, texts[kind], half) for kind in options.kinds if kind in texts}
    arms = {"clean": arm_of(clean, samples, "clean")}
    for kind in options.kinds:
        if kind == "same":
            arms["same"] = arm_of(clean, samples, "same")
            continue
        for dose in options.doses:
            bad = unique * dose // 100 // options.sequence * options.sequence
            if kind == "repeated":
                once = first(clean, bad // 8)
                replaced = once * 8
            else:
                replaced = first(damaged[kind], bad)
            total = sum(map(len, replaced))
            pieces = replaced + last(clean, unique - total)
            assert sum(map(len, pieces)) == unique
            arms[f"{kind}-{dose}"] = arm_of(pieces, samples, "clean")
    print(f"arms: {len(arms)}, {samples} samples of {options.sequence} tokens each", flush=True)
    heldout = held_out(held, options, used)
    plan = Plan(
        baseline="clean",
        arms={
            name: ArmRef(
                version=name,
                manifest=hashlib.sha256(
                    b"".join(d.tokens.tobytes() for d in arm.documents)
                ).hexdigest(),
            )
            for name, arm in arms.items()
        },
        heldout=heldout_digest(heldout),
        tokenizer=encoder.sha256,
        proxy=Proxy(
            size=options.size,
            tokens=unique * options.epochs // options.batch * options.batch,
            unique_tokens=unique,
            sequence=options.sequence,
            batch_tokens=options.batch,
        ),
        learning_rates=tuple(options.rates),
        seeds=tuple(options.seeds),
        budgets=tuple(
            unique * options.epochs // part // options.batch * options.batch
            for part in options.budgets
        ),
        code=code_digest(),
    )
    by_seed = {name: dict.fromkeys(plan.seeds, arm) for name, arm in arms.items()}
    scored = encode_heldout(heldout, encoder)
    size = write_pack(options.folder, plan, by_seed, scored, encoder.info, options.max_mib)
    print(f"{options.folder}: {size / 2**20:.1f} MiB, plan {plan.digest()[:16]}")


def cuts(text: str) -> Iterator[str]:
    """The first pieces of a text, 4 KiB each at most."""
    for _ in range(8):
        piece = cut_to(text, 4096)
        text = text[len(piece) :].lstrip()
        if len(piece) > 300:
            yield piece


def judged_pages(shared: Path) -> Iterator[tuple[str, str, str, str]]:
    """(domain, id, host, text) of English web pages, their main text as people marked it."""
    pages = {row["record_id"]: row for row in records(shared / "web" / "manifest.jsonl.gz")}
    for row in records(shared / "web" / "extraction-truth.jsonl.gz"):
        text = re.sub(r"</?p>", "", row.get("main_content") or "")  # one source marks paragraphs
        if len(text) > 600 and row["lang"] == "en":
            page = pages[row["record_id"]]
            domain = "forum" if page.get("page_type") == "forum" else "web"
            yield domain, row["record_id"], urlsplit(page["url"]).hostname or "", text


def passages(shared: Path) -> dict[str, str]:
    """Paragraphs of Wikipedia that BoolQ asks about, each once: text -> id."""
    found: dict[str, str] = {}
    for row in records(shared / "evals" / "boolq.jsonl.gz"):
        found.setdefault(
            row["text"].removeprefix("Passage: ").partition("\nQuestion:")[0], row["id"]
        )
    return found


def held_out(
    held: list[tuple[str, dict[str, str]]],
    options: argparse.Namespace,
    used: list[str],
    gold: Sequence[str] = GOLD,
) -> pa.Table:
    """The held-out set without what stands in the pool."""
    rows: dict[str, list[dict[str, str]]] = {}

    def add(name: str, domain: str, host: str, text: str, context: str = "", own: str = "") -> None:
        rows.setdefault(domain, []).append(
            {"id": name, "domain": domain, "host": host, "url": "", "licence": own,
             "context": context, "text": text, "item": ""}
        )  # fmt: skip

    foreign_rows = [("german", row) for row in records(options.texts / "docs.jsonl")
                    if row["lang"] == "de" and place(row["id"]) % HELD_OUT == 0]  # fmt: skip
    for domain, row in [*held, *foreign_rows]:
        host = row["id"] if domain == "german" else row["id"].rpartition("/")[0] or row["id"]
        for number, text in enumerate(cuts(row["text"])):
            add(f"{row['id']}#{number}", domain, host, text, own=row.get("license", ""))
    for domain, name, host, text in judged_pages(options.shared):
        for number, piece in enumerate(cuts(text)):
            add(f"{name}#{number}", domain, host, piece)
    for text, name in passages(options.shared).items():
        add(name, "encyclopedia", name, text)
    for domain in gold:
        for row in records(options.shared / "evals" / f"{domain}.jsonl.gz"):
            question = row["text"].partition("\n")[0]
            add(row["id"], domain, row["id"], " " + row["answer"], context=question)
    chosen = [
        row
        for found in rows.values()
        for row in sorted(found, key=lambda row: place(row["id"]))[: options.documents]
    ]
    table = make_heldout(chosen)
    texts = pa.table({
        "doc_id": pa.array([place(t).to_bytes(16, "big") for t in used], pa.binary(16)),
        "text": pa.array(used, pa.large_string()),
    })  # fmt: skip
    bad = find_contaminated(table, texts)
    kept = make_heldout(row for i, row in enumerate(table.to_pylist()) if i not in bad)
    counts = {name: kept["domain"].to_pylist().count(name) for name in rows}
    print(f"held out: {len(kept)} documents, {len(bad)} left out as contaminated; {counts}")
    return kept


def show_table(options: argparse.Namespace) -> None:
    """Every arm against the baseline: the macro difference at the main learning rate with Holm's
    interval over all arms, the difference at the other rate, and the verdict."""
    results = open_results(options.folder)
    if options.plain:
        show_plain(results, options.save)
        return
    compared = compare_results(results)
    main, other = results.plan["learning_rates"]
    print(f"{results.plan['proxy']['size']}, {results.plan['proxy']['tokens']:,} tokens a run, "
          f"seeds {results.plan['seeds']}; {results.runs[0].hardware}")  # fmt: skip
    print(f"{'arm':16}{f'percent at {main:g}':>20}{'interval':>18}{f'at {other:g}':>12}  verdict")
    for found in compared.comparisons:
        macro = found.macro
        interval = f"[{macro.low:+.2f}, {macro.high:+.2f}]"
        beside = f"{found.other[-1].percent:+.2f}" if found.other else ""
        print(f"{found.arm:16}{macro.percent:+20.2f}{interval:>18}{beside:>12}  {found.words}")
    print(*compared.notes, sep="\n")
    if options.save is not None:
        save(options.save, results, plain(compared))
        kinds: dict[str, list[tuple[float, Difference]]] = {}
        for found in compared.comparisons:
            kind, _, dose = found.arm.rpartition("-")
            if kind in KINDS:
                kinds.setdefault(kind, []).append((int(dose) / 100, found.macro))
        if kinds:
            drawn = charts.standalone(dose_response(list(kinds.items())))
            options.save.with_suffix(".svg").write_text(drawn, "utf-8")


def show_plain(results: Results, path: Path | None) -> None:
    """Percent of the baseline's macro average by arm, rate and seed: what single seeds say."""
    domain = np.array(results.held_out.domain)
    means = {}
    for run in results.runs:
        bits = run.table()["nats"].to_numpy() / results.held_out.bytes
        own = [bits[domain == name].mean() for name in results.held_out.domains]
        means[run.arm, run.learning_rate, run.seed, run.tokens] = float(np.mean(own))
    told = []
    for (arm, *which), mean in sorted(means.items()):
        base = means.get((results.plan["baseline"], *which))
        if base is not None and arm != results.plan["baseline"]:
            told.append({"arm": arm, "learning_rate": which[0], "seed": which[1],
                         "percent": 100 * (mean / base - 1)})  # fmt: skip
            print(f"{arm:16} at {which[0]:g}, seed {which[1]}: {told[-1]['percent']:+.2f}")
    if path is not None:
        save(path, results, {"plain": told, "notes": list(results.strays)})


def show_pairs(options: argparse.Namespace) -> None:
    """One version against itself: of models that differ by seed alone, sets are drawn that share
    no seed, and compared as two arms are. How often the interval misses 0, and is it decided?"""
    results = open_results(options.folder)
    arm, held_out = results.plan["baseline"], results.held_out
    tokens = results.plan["proxy"]["tokens"]
    rates = [results.scores(arm, rate, tokens) for rate in results.plan["learning_rates"]]
    scores = [found for found in rates if found is not None]
    if len(scores) < 2:
        raise SystemExit("both learning rates need runs: run the pack to its end")
    seeds, hosts = scores[0].seeds, Hosts(held_out)
    rng, told = np.random.default_rng(0), {}
    for count in options.seeds_each:
        missed, decided, domains = 0, 0, 0
        for _ in range(options.pairs):
            drawn = [int(seed) for seed in rng.permutation(seeds)[: 2 * count]]
            arms = {"a": [rate.of(drawn[:count]) for rate in scores],
                    "b": [rate.of(drawn[count:]) for rate in scores]}  # fmt: skip
            (found,) = compare_arms(held_out, "a", arms, results.rule, hosts)
            missed += not found.macro.low <= 0 <= found.macro.high
            decided += found.verdict != NOT_DECIDED
            domains += sum(not one.low <= 0 <= one.high for one in found.main[:-1])
        shares = [missed / options.pairs, domains / options.pairs / len(held_out.domains),
                  decided / options.pairs]  # fmt: skip
        told[count] = dict(
            zip(("macro_misses_0", "domains_miss_0", "decided"), shares, strict=True)
        )
        print(f"{options.pairs} pairs of {count} seeds each, of {len(seeds)}: 0 outside of "
              f"{shares[0]:.1%} of macro intervals and {shares[1]:.1%} of those of domains; "
              f"{shares[2]:.1%} decided")  # fmt: skip
    if options.save is not None:
        save(options.save, results, {"pairs": told, "notes": list(results.strays)})


def save(path: Path, results: Results, told: dict[str, Any]) -> None:
    """Keep nats of every run and document in one table, and plan, set and verdicts beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    runs = results.runs
    count = [len(run.table()) for run in runs]

    def column(values: list[object]) -> pa.Array:
        repeated = [v for v, n in zip(values, count, strict=True) for _ in range(n)]
        return pa.array(repeated).dictionary_encode()

    table = pa.table({
        "arm": column([run.arm for run in runs]),
        "learning_rate": column([run.learning_rate for run in runs]),
        "seed": column([run.seed for run in runs]),
        "tokens": column([run.tokens for run in runs]),
        "document": pa.concat_arrays([run.table()["document"].combine_chunks() for run in runs]),
        "nats": pa.concat_arrays([run.table()["nats"].combine_chunks() for run in runs]).cast("float"),
    })  # fmt: skip
    pq.write_table(table, path.with_suffix(".parquet"), compression="zstd", compression_level=19)
    documents = runs[0].table().select(["domain", "host", "bytes"]).to_pydict()
    hardware = sorted({f"{run.hardware}, torch {run.torch}" for run in runs})
    body = {"plan": results.plan, "hardware": hardware, "heldout": documents} | told
    path.with_suffix(".json").write_text(json.dumps(body) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    pack = commands.add_parser("pack")
    pack.set_defaults(command=make_pack)
    pack.add_argument("folder", type=Path)
    pack.add_argument("--texts", type=Path, required=True)
    pack.add_argument("--pages", type=Path, required=True)
    pack.add_argument("--shared", type=Path, required=True)
    pack.add_argument("--size", default="17M")
    pack.add_argument("--vocab", type=int, default=8192)
    pack.add_argument("--unique-tokens", type=int, default=10 * 2**20)
    pack.add_argument("--epochs", type=int, default=1)
    pack.add_argument("--sequence", type=int, default=1024)
    pack.add_argument("--batch", type=int, default=2**14)
    pack.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4])
    pack.add_argument("--rates", type=float, nargs="+", default=[1e-3, 5e-4])
    pack.add_argument("--budgets", type=int, nargs="*", default=[], help="parts of all tokens")
    pack.add_argument("--documents", type=int, default=300, help="held-out, of a domain")
    pack.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    pack.add_argument("--doses", type=int, nargs="+", default=list(DOSES))
    pack.add_argument("--max-mib", type=float, default=50)
    table = commands.add_parser("table")
    table.set_defaults(command=show_table)
    table.add_argument("folder", type=Path)
    table.add_argument("--plain", action="store_true", help="single seeds, no intervals")
    table.add_argument("--save", type=Path, help="also write PATH.parquet, .json and .svg")
    pairs = commands.add_parser("pairs")
    pairs.set_defaults(command=show_pairs)
    pairs.add_argument("folder", type=Path)
    pairs.add_argument("--pairs", type=int, default=200)
    pairs.add_argument("--seeds-each", type=int, nargs="+", default=[3, 4])
    pairs.add_argument("--save", type=Path, help="also write PATH.parquet and .json")
    options = parser.parse_args()
    print(f"{machine()}\n")
    options.command(options)


if __name__ == "__main__":
    main()
