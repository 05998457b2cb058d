"""The files that stages leave for each other: who writes each, and the table whose rows it holds."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from catalog.formats import lineage_tables
from catalog.formats.tables import Table
from corpus_assets.core import tables
from corpus_assets.core.lazy_sequence import LazySequence
from corpus_assets.core.store import Output, Result


class File(str):
    """The name of a file that a stage writes, with what is known of it.

    A `*` in the name stands for a number or a name: the stage writes several of the kind.
    """

    stage: str
    table: Table | None

    def __new__(cls, stage: str, of: str | Table) -> "File":
        """`of` is the file's name, or the declared table whose rows it holds."""
        self = super().__new__(cls, of.file if isinstance(of, Table) else of)
        self.stage, self.table = stage, of if isinstance(of, Table) else None
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.stage, self.table or str(self)

    @property
    def lineage(self) -> str | None:
        """The table of the catalog that it is a file of."""
        name = self.table.name if self.table is not None else ""
        return name if name in lineage_tables.LINEAGE_TABLES else None

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
        return LazySequence(output, np.searchsorted(ends, parts, "right").astype(np.int32))

    def matches(self, name: str) -> bool:
        return fnmatchcase(name, self)


# ingest
SOURCE_FILES = File("source_files", "sources/*.json")
CATEGORIES = File("category_index", "categories.arrow")
SITE_RULES = File("site_rules", "rules.parquet")
SITES = File("robots_index", "sites.arrow")
ROBOTS_RULES = File("robots_index", "rules.arrow")
RECORDS = File("documents", lineage_tables.RECORDS)
DOCUMENTS = File("documents", lineage_tables.DOCUMENTS)

# signals, and the models that they read
EVAL_INDEX = File("eval_index", "eval_index.bin")
CLASSIFIER_SAMPLE = File("classifier_sample", "sample.parquet")
CLASSIFIER = File("classifiers", "classifier.bin")
PERPLEXITY_MODEL = File("perplexity_model", "model.bin")
PERPLEXITY_MODELS = File("perplexity_models", "perplexity.bin")
SCORE_SAMPLE = File("score_sample", "scores.parquet")
SCORE_SURVIVORS = File("score_survivors", "survivors.parquet")
SCORE_RANKS = File("score_ranks", "ranks.json")
SIGNALS = File("signals", lineage_tables.SIGNALS)

# selection
SURVIVORS = File("survivors", "survivors.parquet")
SURVIVOR_MEMBERS = File("survivor_clusters", tables.SURVIVOR_MEMBERS)
CUTOFFS = File("quality_cutoffs", "cutoffs.json")
SELECTION = File("selection", tables.SELECTION)

# deduplication
SIGNATURES = File("signatures", tables.SIGNATURES)
CANDIDATE_KEYS = File("signatures", "ties.bin")
SKETCHES = File("signatures", "sketches.npy")
MEMBERS = File("clusters", lineage_tables.CLUSTER_MEMBERS)

# decontamination
HITS = File("contamination", tables.HITS)
COMMON_ITEMS = File("common_items", "common_items.parquet")
JUDGEMENTS = File("judgements", tables.JUDGEMENTS)

# cleaning
LINE_KEYS = File("line_keys", "line_keys.parquet")
LINE_COUNTS = File("line_counts", "lines.parquet")
TEMPLATE_COUNTS = File("line_counts", "templates.parquet")
COMMON_LINES = File("common_lines", "common_lines.parquet")
LINE_CANDIDATES = File("line_candidates", "candidates.parquet")
BOILERPLATE = File("boilerplate", "boilerplate.parquet")
SPAN_PRINTS = File("span_prints", "prints.parquet")
COMMON_PRINTS = File("common_prints", "prints.parquet")
SPAN_GRAMS = File("span_grams", "grams.parquet")
REPEATED_SPANS = File("repeated_spans", "repeated_spans.parquet")
SENTENCE_SCORES = File("sentence_scores", "sentence_scores.parquet")
FINAL = File("clean_text", lineage_tables.FINAL_TEXT)
DECISIONS = File("clean_text", lineage_tables.DECISIONS)
BENCHMARK_HITS = File("clean_text", lineage_tables.BENCHMARK_HITS)
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
SHARD_SPANS = File("shards", lineage_tables.SPANS)
SHARD_HEADER = File("shards", "*.header.json")
LINEAGE_KEYS = File("lineage_keys", "*.keys")
TEXT_KEYS = File("text_keys", "text_keys.parquet")
