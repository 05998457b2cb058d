"""Near duplicates among real pages: what is found, what is left alone, and what it costs.

    python -m venv PEER && PEER/bin/pip install -r benchmarks/requirements-near-dedup.txt
    PEER/bin/pip install --no-deps text-dedup==0.4.0
    python benchmarks/near_dedup.py PAGES.jsonl.gz [--peer-python PEER/bin/python]

PAGES has a `main_content` and a `lang` a line: the main texts of real pages, in many languages.

1. Copies of every page with words replaced, dropped and put in until the exact Jaccard
   similarity of their word 5-grams is nearest to a level; which of them end up in one cluster
   with their page, and how many pairs of pages that nobody planted do.
2. Hard negatives: pages of one frame around texts of their own; pages that quote another.
3. With --peer-python, CPU time a text, one process each: signatures beside datasketch, rensa and
   datatrove; the whole way from texts to what is left beside datatrove and text-dedup.
"""

import argparse
import itertools
import json
import resource
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from machine import machine

from corpus_assets.dedup.candidate_keys import CandidateKeys, pack_candidate_keys
from corpus_assets.dedup.clusters import MEMBERS
from corpus_assets.dedup.settings import ClusterSettings, SignatureSettings
from corpus_assets.dedup.signatures import compute_signatures, sketch_bytes
from corpus_assets.dedup.window import cluster_window
from corpus_assets_tests.dedup.near_pairs import Page, edited, grams, in_frame, real_pages

LEVELS = (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)
FRAMES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
SPACED = ("en", "de", "fr", "es", "it", "pl", "el", "ru", "cs", "sk", "pt", "nl")
"""Languages in which the others find words too; without spaces they would have little to do."""

PEER = Path(__file__).with_name("near_dedup_peer.py")
NEAR_ONLY = ClusterSettings(url=False, exact=False)


class TextPart:
    """Texts as one part of one snapshot, with files as the pipeline has them."""

    rank = number = 0

    def __init__(self, texts: list[str], folder: Path) -> None:
        self.n_rows = len(texts)
        ids = np.arange(2 * self.n_rows, dtype=np.uint64).reshape(-1, 2)
        doc_ids = pa.Array.from_buffers(pa.binary(16), self.n_rows, [None, pa.py_buffer(ids)])
        documents = pa.table({"doc_id": doc_ids, "text": pa.array(texts, pa.large_string())})
        signed = compute_signatures(documents, SignatureSettings())
        n = self.n_rows
        columns = {
            "doc_id": doc_ids,
            "snapshot_rank": pa.repeat(pa.scalar(0, pa.int32()), n),
            "part": pa.repeat(pa.scalar(0, pa.int32()), n),
            "row": pa.array(range(n), pa.int32()),
            "url_key": pa.nulls(n, pa.string()),
            "text_id": doc_ids,
            "fetched_at": pa.repeat(pa.scalar(""), n),
            "n_chars": pa.array([len(text) for text in texts]),
            "quality": pa.nulls(n, pa.float32()),
            "n_shingles": signed.table["n_shingles"],
        }
        self._members = pa.table(columns).cast(MEMBERS)
        self._sketches = signed.sketches
        self._path = folder / "ties.bin"
        self._path.write_bytes(pack_candidate_keys(self._members, signed.band_keys))
        (folder / "sketches.npy").write_bytes(sketch_bytes(signed.sketches))

    def kept(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        return np.ones(self.n_rows, np.bool_)

    def candidate_keys(self) -> CandidateKeys:
        return CandidateKeys.open(self._path)

    def members(self) -> pa.Table:
        return self._members

    def sketches(self) -> "np.ndarray[tuple[int, int], np.dtype[np.uint8]]":
        return self._sketches


def clusters_of(texts: list[str]) -> pa.Table:
    with tempfile.TemporaryDirectory() as folder:
        part = TextPart(texts, Path(folder))
        with cluster_window([part], ["S"], NEAR_ONLY, SignatureSettings()) as found:
            return next(found.parts())[1]


def pairs_in(pages: list[Page]) -> set[tuple[int, int]]:
    groups: dict[bytes, list[int]] = {}
    for row in clusters_of([" ".join(page) for page in pages]).to_pylist():
        groups.setdefault(row["cluster_id"], []).append(row["row"])
    return {pair for rows in groups.values() for pair in itertools.combinations(sorted(rows), 2)}


def planted(pages: list[Page], level: float, seed: int) -> list[Page]:
    random = np.random.default_rng(seed)
    words = [word for page in pages[:50] for word in page]
    return [edited(page, level, words, random) for page in pages]


def measure_levels(whole: list[Page], rounds: int) -> None:
    pages = [page[:600] for page in whole]
    count = len(pages)
    natural = pairs_in(pages)
    print(
        f"\n{count} pages, {len(natural)} pairs of them in one cluster before anything is planted"
    )
    print("| Jaccard | pairs | found | share | pairs nobody planted |")
    print("|---|---|---|---|---|")
    for level in LEVELS:
        hits = others = 0
        for seed in range(rounds):
            found = pairs_in(pages + planted(pages, level, seed))
            hits += sum((i, i + count) in found for i in range(count))
            strange = {(a % count, b % count) for a, b in found if b - a != count}
            others += len(strange - natural - {(b, a) for a, b in natural})
        total = count * rounds
        print(f"| {level} | {total:,} | {hits:,} | {hits / total:.2%} | {others} |")


def measure_frames(pages: list[Page]) -> None:
    frame = [word for page in pages[:4] for word in page]
    contents: list[Page] = []
    seen: set[tuple[str, ...]] = set()
    for page in pages[4:]:
        if len(page) >= 300 and seen.isdisjoint(grams(page[:300])):
            seen |= grams(page[:300])
            contents.append(page[:300])
    print(f"\n{len(contents)} pages of 600 words in one frame, texts without a 5-gram in common")
    print("| share of the frame | Jaccard of two | pages that would be dropped |")
    print("|---|---|---|")
    for share in FRAMES:
        texts = [" ".join(in_frame(frame, content, share, 600)) for content in contents]
        found = clusters_of(texts)
        dropped = found.num_rows - sum(found["kept"].to_pylist())
        print(f"| {share} | {share / (2 - share):.2f} | {dropped} |")
    long = [page for page in pages if len(page) > 400]
    quoting = [[*a[:250], *b[:200], *a[250:400]] for a, b in itertools.pairwise(long)]
    both = [*(page[:400] for page in long), *quoting]
    merged = pairs_in(both) - pairs_in(long)
    print(f"\n{len(quoting)} pages that quote 200 words of another in 400 of their own: ", end="")
    print(f"{len(merged)} pairs merged")


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure_cost(pages: list[Page], python: str) -> None:
    copies = planted(pages, 0.9, 99)
    texts = [" ".join(page) for page in [*pages, *copies]]
    column = pa.array(texts, pa.large_string())
    documents = pa.table({"doc_id": pa.nulls(len(texts), pa.binary(16)), "text": column})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        rows = (json.dumps({"text": text, "number": i}) for i, text in enumerate(texts))
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        mean = sum(map(len, texts)) / len(texts)
        print(f"\n{len(texts)} texts of {mean:.0f} characters, half of them copies at 0.9")
        print("| | version | CPU ms a text | ratio to ours | left |")
        print("|---|---|---|---|---|")
        compute_signatures(documents.slice(0, 5), SignatureSettings())
        ours = best(lambda: compute_signatures(documents, SignatureSettings()))
        line("signatures, ours", "", ours, ours, len(texts), None)
        for name in ("rensa", "datasketch", "datatrove-split", "datatrove"):
            peer = ask(python, name, path)
            line(f"signatures, {name}", peer["version"], peer["cpu_s"], ours, len(texts), None)
        clusters_of(texts[:5])
        ours = best(lambda: clusters_of(texts))
        found = clusters_of(texts)
        left = len(texts) - (found.num_rows - sum(found["kept"].to_pylist()))
        line("all, ours", "", ours, ours, len(texts), left)
        for name in ("datatrove-all", "text-dedup-all"):
            peer = ask(python, name, path)
            line(name, peer["version"], peer["cpu_s"], ours, len(texts), len(peer["left"]))


def best(call) -> float:  # type: ignore[no-untyped-def]
    """CPU seconds, the smallest of three rounds."""
    spent = []
    for _ in range(3):
        began = cpu()
        call()
        spent.append(cpu() - began)
    return min(spent)


def ask(python: str, name: str, path: Path) -> dict:  # type: ignore[type-arg]
    command = [python, str(PEER), name, str(path)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def line(name: str, version: str, spent: float, ours: float, texts: int, left: int | None) -> None:
    shown = "" if left is None else f"{left:,}"
    print(
        f"| {name} | {version} | {1e3 * spent / texts:.3f} | {spent / ours:.1f} | {shown} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pages", type=Path)
    parser.add_argument("--most", type=int, default=700, help="pages")
    parser.add_argument("--rounds", type=int, default=2, help="copies of each page and level")
    parser.add_argument("--peer-python", help="of an environment with the other libraries")
    options = parser.parse_args()
    print(f"{machine()}\n")
    pages = real_pages(options.pages, most=options.most, max_chars=20_000)
    if options.rounds:
        measure_levels(pages, options.rounds)
        measure_frames(pages)
    if options.peer_python:
        spaced = real_pages(options.pages, SPACED, options.most, max_chars=20_000)
        measure_cost(spaced, options.peer_python)


if __name__ == "__main__":
    main()
