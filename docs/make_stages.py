"""Write docs/reference/stages.md: the stages of the graph, derived from their declarations.

Run `python docs/make_stages.py` after a declaration changed; a test compares the file with what
this prints.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from corpus_assets.core.files import File
from corpus_assets.core.stage import Stage
from corpus_assets.stages import STAGES

TARGET = Path(__file__).parent / "reference" / "stages.md"

HEAD = """\
# Stages

The stages of the graph in their order, made by `docs/make_stages.py` from their declarations
([architecture](../explanation/architecture.md)). *by* is the unit of one task. Files in italics come
from several snapshots. A calibration is resolved once and then pinned by the lock.
[Drop reasons](drop-reasons.md) lists why each stage drops documents.
"""


def reference() -> str:
    return "\n".join([HEAD, *_assets()]) + "\n"


def _assets() -> Iterator[str]:
    for asset in STAGES.assets.values():
        yield f"## {asset.name}\n"
        yield f"{asset.last.about}\n"
        yield "| stage | version | by | reads | writes |"
        yield "|---|---|---|---|---|"
        yield from (_row(stage) for stage in asset.stages)
        for stage in asset.stages:
            if stage.calibration is not None:
                held = stage.calibration.may_hold
                said = f": {held}" if isinstance(held, str) else ""
                yield f"\n`{stage.name}` is a calibration{said}."
        tables = [
            f"`{file.lineage}` ({file})" for stage in asset.stages for file in stage.lineage()
        ]
        if tables:
            yield f"\nLineage tables: {', '.join(tables)}."
        yield ""


def _row(stage: Stage) -> str:
    reads = [_named(file) for file in stage.reads]
    reads += [f"*{_named(file)}*" for file in stage.reads_all]
    writes = ", ".join(f"`{file}`" for file in stage.writes)
    cells = [f"`{stage.name}`", str(stage.version), stage.scope, ", ".join(reads), writes]
    return f"| {' | '.join(cells)} |"


def _named(file: File) -> str:
    return f"{file.stage}/{file}".replace("*", "\\*")


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
    sys.stdout.write(f"{TARGET.name} written\n")
