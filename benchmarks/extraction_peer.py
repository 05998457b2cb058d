"""datatrove's side of `extraction.py`: runs in its own environment, imports nothing of ours.

    PEER_PYTHON benchmarks/extraction_peer.py FILE.warc.gz OUT.jsonl [--fast]

Reads a web archive with datatrove's WarcReader and extracts with its Trafilatura step, which runs
trafilatura in a child process as ours does. Writes a line (record id, text) for every document,
and prints CPU seconds of this process and its children, imports not counted.
"""

import argparse
import json
import resource
from pathlib import Path

from datatrove.pipeline.extractors import Trafilatura
from datatrove.pipeline.readers import WarcReader
from datatrove.utils.logging import logger


def cpu() -> float:
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--fast", action="store_true", help="trafilatura's fast mode")
    options = parser.parse_args()
    logger.remove()
    import cchardet  # noqa: F401
    import magic  # noqa: F401
    import trafilatura

    trafilatura.extract("<html><body><p>warm</p></body></html>")
    reader = WarcReader(str(options.file.parent), glob_pattern=options.file.name)
    extractor = Trafilatura(
        favour_precision=not options.fast,
        deduplicate=False,  # it looks at other pages; the texts compared must not
        timeout=60,
        fast=options.fast,
        include_tables=True,
    )
    before = cpu()
    with options.out.open("w", encoding="utf-8") as stream:
        for document in extractor.run(reader.run()):
            stream.write(json.dumps([document.id, document.text]) + "\n")
    print(json.dumps({"cpu_seconds": cpu() - before, "trafilatura": trafilatura.__version__}))


if __name__ == "__main__":
    main()
