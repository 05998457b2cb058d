"""The files that stages leave for each other: who writes each, its schema, its lineage table."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa

from corpus_assets.core import schemas
from corpus_assets.core.store import Output, Result
from corpus_assets.core.task import Each


class File(str):
    """The name of a file that a stage writes, with what is known of it.

    A `*` in the name stands for a number or a name: the stage writes several of the kind.
    """

    stage: str
    schema: pa.Schema | None
    lineage: str | None

    def __new__(
        cls, stage: str, name: str, schema: pa.Schema | None = None, lineage: str | None = None
    ) -> "File":
        """`lineage` is the table of the catalog whose rows the file holds."""
        self = super().__new__(cls, name)
        self.stage, self.schema, self.lineage = stage, schema, lineage
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.stage, str(self), self.schema, self.lineage

    def numbered(self, part: int) -> str:
        return self.replace("*", f"{part:05d}")

    def of_parts(self, results: Sequence[Result]) -> Sequence[Output]:
        """Return the file of every part, from results that have those of consecutive parts each."""
        ends = np.cumsum([len(result.outputs) for result in results], dtype=np.int64)
        held: dict[int, Mapping[str, Output]] = {}  # of the result that was asked for last

        def output(part: int, number: int) -> Output:
            if number not in held:
                held.clear()
                held[number] = results[number].outputs
            return held[number][self.numbered(part)]

        parts = np.arange(ends[-1] if len(ends) else 0)
        return Each(output, np.searchsorted(ends, parts, "right").astype(np.int32))

    def matches(self, name: str) -> bool:
        return fnmatchcase(name, self)


# ingest
SOURCE_FILES = File("source_files", "sources/*.json")
CATEGORIES = File("category_index", "categories.arrow")
SITE_RULES = File("site_rules", "rules.parquet")
SITES = File("robots_index", "sites.arrow")
ROBOTS_RULES = File("robots_index", "rules.arrow")
RECORDS = File("documents", "records.parquet", schemas.RECORDS, lineage="documents")
DOCUMENTS = File("documents", "documents.parquet", schemas.DOCUMENTS, lineage="texts")

# signals, and the models that they read
EVAL_INDEX = File("eval_index", "eval_index.bin")
CLASSIFIER_SAMPLE = File("classifier_sample", "sample.parquet")
CLASSIFIER = File("classifiers", "classifier.bin")
PERPLEXITY_MODEL = File("perplexity_model", "model.bin")
PERPLEXITY_MODELS = File("perplexity_models", "perplexity.bin")
SCORE_SAMPLE = File("score_sample", "scores.parquet")
SCORE_SURVIVORS = File("score_survivors", "survivors.parquet")
SCORE_RANKS = File("score_ranks", "ranks.json")
SIGNALS = File("signals", "signals.parquet", lineage="signals")

# selection
SURVIVORS = File("survivors", "survivors.parquet")
SURVIVOR_MEMBERS = File("survivor_clusters", "members-*.parquet", schemas.CLUSTER_MEMBERS)
CUTOFFS = File("quality_cutoffs", "cutoffs.json")
SELECTION = File("selection", "selection.parquet", schemas.SELECTION)

# deduplication
SIGNATURES = File("signatures", "signatures.parquet", schemas.SIGNATURES)
CANDIDATE_KEYS = File("signatures", "ties.bin")
SKETCHES = File("signatures", "sketches.npy")
MEMBERS = File("clusters", "members-*.parquet", schemas.CLUSTER_MEMBERS, lineage="cluster_members")

# decontamination
HITS = File("contamination", "hits.parquet", schemas.HITS)
COMMON_ITEMS = File("common_items", "common_items.parquet")
JUDGEMENTS = File("judgements", "judgements.parquet", schemas.JUDGEMENTS)

# cleaning
LINE_KEYS = File("line_keys", "line_keys.parquet")
LINE_COUNTS = File("line_counts", "lines.parquet")
BUCKET_COUNTS = File("line_counts", "buckets.parquet")
COMMON_LINES = File("common_lines", "common_lines.parquet")
LINE_CANDIDATES = File("line_candidates", "candidates.parquet")
BOILERPLATE = File("boilerplate", "boilerplate.parquet")
SPAN_PRINTS = File("span_prints", "prints.parquet")
COMMON_PRINTS = File("common_prints", "prints.parquet")
SPAN_GRAMS = File("span_grams", "grams.parquet")
REPEATED_SPANS = File("repeated_spans", "repeated_spans.parquet")
SENTENCE_SCORES = File("sentence_scores", "sentence_scores.parquet")
FINAL = File("clean_text", "final.parquet", schemas.FINAL_TEXT, lineage="final_text")
DECISIONS = File("clean_text", "decisions.parquet", schemas.DECISIONS, lineage="decisions")
BENCHMARK_HITS = File(
    "clean_text", "benchmark_hits.parquet", schemas.BENCHMARK_HITS, lineage="benchmark_hits"
)
LOSSES = File("clean_text", "losses.parquet")
CUT_LINES = File("clean_text", "cut_lines.parquet")

# tokenizer
TOKENIZER_AMOUNTS = File("tokenizer_amounts", "amounts.parquet")
TOKENIZER_DRAW = File("tokenizer_draw", "draw.json")
TOKENIZER_SAMPLE = File("tokenizer_sample", "sample.parquet")
TOKENIZER = File("tokenizer", "tokenizer.json")

# shards
SHARD_COUNTS = File("shard_counts", "shard_counts.json")
TOKENS = File("tokens", "tokens.zip")
SHARD_BIN = File("shards", "*.bin")
SHARD_IDX = File("shards", "*.idx")
SHARD_SPANS = File("shards", "*.spans.parquet", schemas.SPANS, lineage="spans")
SHARD_HEADER = File("shards", "*.header.json")
LINEAGE_KEYS = File("lineage_keys", "*.keys")
