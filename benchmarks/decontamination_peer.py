"""The side of datatrove in benchmarks/decontamination.py; in a virtual environment of its own.

    python decontamination_peer.py FOLDER NGRAM

Reads items.jsonl and texts.jsonl (one JSON string a line) in FOLDER, fills the filter's table with
the n-grams of the items as its indexer does, and writes out.json: CPU seconds of the filter over
all texts, and the numbers of the texts that it would drop.
"""

import json
import sys
import time
from pathlib import Path

from datatrove.data import Document
from datatrove.pipeline.decont import NGramsDecontConfig, NGramsDecontFilter
from datatrove.utils.text import ngrams, simplify_text


def main() -> None:
    folder, ngram = Path(sys.argv[1]), int(sys.argv[2])
    items, texts = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        for name in ("items", "texts")
    )
    config = NGramsDecontConfig(n_grams=ngram, find_query_ngrams=True)
    filter_ = NGramsDecontFilter(str(folder / "index"), config=config)
    filter_._index_hashes = {}
    for item in items:
        words = filter_.tokenizer.word_tokenize(simplify_text(item, config.norm_config))
        for gram in ngrams(words, ngram):
            filter_._index_hashes[filter_.hash_func(" ".join(gram))] = "eval"
    before = time.process_time()
    flagged = [
        i
        for i, text in enumerate(texts)
        if filter_.filter(Document(text=text, id=str(i))) is not True
    ]
    seconds = time.process_time() - before
    (folder / "out.json").write_text(json.dumps({"seconds": seconds, "flagged": flagged}))


if __name__ == "__main__":
    main()
