"""The side of datatrove in benchmarks/scrubbing.py; runs in a virtual environment of its own.

    python scrubbing_peer.py TEXTS.jsonl OUT.json

Runs its PIIFormatter (e-mail and public IPv4 addresses) with its default settings over every
text, and writes CPU seconds and the texts that come out.
"""

import json
import sys
import time
from pathlib import Path

from datatrove.pipeline.formatters import PIIFormatter


def main() -> None:
    source, target = sys.argv[1:3]
    texts = [json.loads(line) for line in Path(source).read_text(encoding="utf-8").splitlines()]
    formatter = PIIFormatter(email_replacement="<email>", ip_replacement="<ip>")
    for text in texts[:3]:
        formatter.format(text)
    start = time.process_time()
    out = [formatter.format(text) for text in texts]
    spent = time.process_time() - start
    Path(target).write_text(json.dumps({"cpu_seconds": spent, "texts": out}), encoding="utf-8")


if __name__ == "__main__":
    main()
