"""The side of datatrove in benchmarks/fixed_cost.py; runs in a virtual environment of its own, in the
folder that holds `pages.warc.gz`: read, extract, its Gopher filters, write."""

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.extractors import Trafilatura
from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter
from datatrove.pipeline.readers import WarcReader
from datatrove.pipeline.writers.jsonl import JsonlWriter


def main() -> None:
    LocalPipelineExecutor(
        pipeline=[
            WarcReader(".", glob_pattern="pages.warc.gz"),
            Trafilatura(timeout=20),  # the first page waits for its imports
            GopherRepetitionFilter(),
            GopherQualityFilter(),
            JsonlWriter("peer-out"),
        ],
        tasks=1,
        logging_dir="peer-logs",
    ).run()


if __name__ == "__main__":
    main()
