"""`python -m corpus_assets.demo OUT`: generate the demo sources and say what was planted."""

import json
import sys
from collections import Counter
from pathlib import Path

from corpus_assets.core.errors import CorpusError
from corpus_assets.demo.generate import MANIFEST, generate_demo


def main(arguments: list[str]) -> int:
    """Generate into the one folder named; print records and phenomena by snapshot."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m corpus_assets.demo OUT\n")
        return 2
    try:
        out = generate_demo(Path(arguments[0]))
    except CorpusError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    lines = (out / MANIFEST).read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    print(f"{out}: {len(entries)} records")
    snapshots = Counter(entry["snapshot"] for entry in entries)
    planted = Counter((name, entry["snapshot"]) for entry in entries for name in entry["planted"])
    names = sorted({name for name, _ in planted})
    for snapshot, count in snapshots.items():
        print(f"\n{snapshot}: {count}")
        for name in names:
            if planted[name, snapshot]:
                print(f"  {name:20} {planted[name, snapshot]:5}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
