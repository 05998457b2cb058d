"""Signatures and near-duplicate removal by other libraries; run by near_dedup.py.

    python near_dedup_peer.py NAME TEXTS.jsonl

NAME is datasketch, rensa, datatrove, datatrove-split, datatrove-all or text-dedup-all. All use
word 5-grams and 112 permutations, as 14 bands of 8 where they find duplicates; text is split at
white space where the library leaves that to its user. Prints JSON: CPU seconds, the library's
version, and the numbers of the texts that are left where duplicates were removed.
"""

import contextlib
import importlib.metadata
import io
import json
import os
import resource
import sys
import tempfile

PERMUTATIONS, BANDS, ROWS = 112, 14, 8


def cpu():
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def shingles(text):
    words = text.lower().split()
    return [" ".join(words[i : i + 5]) for i in range(max(1, len(words) - 4))]


def by_datasketch(texts):
    """Its bulk method and `affine32`, which is its fastest."""
    from datasketch import MinHash

    sets = ([s.encode() for s in shingles(text)] for text in texts)
    MinHash.bulk(sets, num_perm=PERMUTATIONS)


def by_rensa(texts):
    import rensa

    rensa.RMinHash.from_token_sets((shingles(text) for text in texts), PERMUTATIONS, 1)


def by_datatrove(texts, split=False):
    from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature

    with tempfile.TemporaryDirectory() as folder:
        step = MinhashDedupSignature(folder, MinhashConfig())
        if split:
            step.word_tokenizer.word_tokenize = str.split
        for text in texts:
            grams = step.get_shingles(text)
            if grams.size:
                step.get_signature(grams)


def all_of_datatrove(texts):
    from datatrove.data import Document
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )

    config = MinhashConfig()

    def documents():
        return (Document(text=text, id=str(i)) for i, text in enumerate(texts))

    with tempfile.TemporaryDirectory() as folder:
        signatures, buckets, removed = (f"{folder}/{name}" for name in "sbr")
        MinhashDedupSignature(signatures, config).run(documents(), 0, 1)
        for rank in range(BANDS):
            MinhashDedupBuckets(signatures, buckets, config=config).run(None, rank, BANDS)
        MinhashDedupCluster(buckets, removed, config=config).run(None, 0, 1)
        return [int(d.id) for d in MinhashDedupFilter(removed).run(documents(), 0, 1)]


def all_of_text_dedup(path):
    from datasets import load_from_disk
    from text_dedup.minhash import main

    with tempfile.TemporaryDirectory() as folder:
        options = {
            "path": "json", "data_files": path, "split": "train", "column": "text",
            "output": f"{folder}/out", "cache_dir": f"{folder}/cache", "num_proc": 1,
            "num_perm": PERMUTATIONS, "b": BANDS, "r": ROWS, "ngram": 5, "hash_func": "xxh3",
        }  # fmt: skip
        arguments = [f"--{name}={value}" for name, value in options.items()]
        main(arguments, standalone_mode=False)
        return load_from_disk(f"{folder}/out")["number"][:]


def main():
    name, path = sys.argv[1:]
    os.environ["HF_DATASETS_OFFLINE"] = "1"
    with open(path, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    left = None
    calls = {
        "datasketch": lambda some: by_datasketch(some),
        "rensa": lambda some: by_rensa(some),
        "datatrove": lambda some: by_datatrove(some),
        "datatrove-split": lambda some: by_datatrove(some, split=True),
    }
    with contextlib.redirect_stdout(io.StringIO()):
        if name in calls:
            calls[name](texts[:5])  # imports and what is made on first use
            began = cpu()
            calls[name](texts)
        elif name == "datatrove-all":
            by_datatrove(texts[:5])
            began = cpu()
            left = all_of_datatrove(texts)
        else:
            import datasets  # noqa: F401 - not part of what is timed
            import text_dedup.minhash  # noqa: F401

            began = cpu()
            left = all_of_text_dedup(path)
        spent = cpu() - began
    version = importlib.metadata.version(name.split("-")[0] if "text" not in name else "text-dedup")
    print(json.dumps({"cpu_s": spent, "version": version, "left": left}))


if __name__ == "__main__":
    main()
