"""Cutoffs of more documents than one task should hold: a sample by id, the same however parts are
brought together."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpus_assets.core import files
from corpus_assets.core.store import LocalStore, Output, Result
from corpus_assets.core.task import Task, TaskContext, execute
from corpus_assets.select.columns import with_tie_keys
from corpus_assets.select.rules import SelectionSettings
from corpus_assets.select.selection import parse_cutoffs, resolve_cutoffs
from corpus_assets.select.stage import QUALITY_CUTOFFS

SETTINGS = SelectionSettings.model_validate(
    {
        "rules": [{"name": "low", "signal": "quality_score", "cutoff": "quality"}],
        "cutoffs": {"quality": {"signal": "quality_score", "drop_share": 0.25}},
    }
)
PARTS, ROWS = 4, 200
SAID = {
    "columns": sorted(SETTINGS.signals()),
    "sources": {"crawl": {"domain": "web", "tier": None}},
    "seed": 7,
}
GROUPS = QUALITY_CUTOFFS.groups


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def part(number: int) -> pa.Table:
    ids = [hashlib.sha256(b"%d/%d" % (number, row)).digest()[:16] for row in range(ROWS)]
    return pa.table(
        {
            "doc_id": pa.array(ids, pa.binary(16)),
            "language": ["en"] * ROWS,
            "n_words": list(range(ROWS)),
            "quality_score": pa.array([doc_id[15] / 255 for doc_id in ids], pa.float32()),
        }
    )


def run(store: LocalStore, task: Task) -> Result:
    (stage,) = [stage for stage in QUALITY_CUTOFFS.stages if stage.name == task.stage]
    return execute(task, store, stage.run).result


def written(store: LocalStore) -> list[Output]:
    def write(context: TaskContext) -> None:
        context.write_table(files.SIGNALS, part(context.task.settings["part"]))

    tasks = [Task("signals", 1, {"part": number}) for number in range(PARTS)]
    return [execute(task, store, write).result.outputs[files.SIGNALS] for task in tasks]


def cutoffs(store: LocalStore, inputs: dict[str, Output], share: float) -> dict[str, Any]:
    settings = SAID | {"selection": SETTINGS.identity(), "share": share}
    task = QUALITY_CUTOFFS.result.task(settings, inputs)
    read: dict[str, Any] = json.loads(store.read(run(store, task).outputs[files.CUTOFFS].path))
    return read


def test_a_sample_is_of_the_first_ids_whatever_parts_were_brought_together(
    store: LocalStore,
) -> None:
    parts, share = written(store), 0.3
    direct = {f"parts/crawl/{i:05d}/signals": signals for i, signals in enumerate(parts)}
    groups = [
        run(
            store,
            GROUPS.task(
                SAID | {"share": share}, {f"parts/crawl/{i:05d}/signals": parts[i] for i in each}
            ),
        )
        for each in ((0, 1, 2), (3,))
    ]
    grouped = {
        f"groups/crawl/{i:05d}": group.outputs[QUALITY_CUTOFFS.groups_file]
        for i, group in enumerate(groups)
    }
    found = cutoffs(store, direct, share)
    assert cutoffs(store, grouped, share) == found

    whole = pa.concat_tables(part(number) for number in range(PARTS))
    whole = with_tie_keys(whole.append_column("domain", pa.array(["web"] * len(whole))), seed=7)
    chosen = [int.from_bytes(one[:8], "big") < share * 2**64 for one in whole["doc_id"].to_pylist()]
    assert 0.2 < sum(chosen) / len(chosen) < 0.4
    assert parse_cutoffs(found) == resolve_cutoffs(whole.filter(pa.array(chosen)), SETTINGS)
    assert parse_cutoffs(found) != resolve_cutoffs(whole, SETTINGS)


def test_a_group_holds_what_cutoffs_read_and_no_more(store: LocalStore) -> None:
    result = run(store, GROUPS.task(SAID, {"parts/crawl/00000/signals": written(store)[0]}))
    read = Task("read", 1, {}, {"rows": result.outputs[QUALITY_CUTOFFS.groups_file]})
    table = TaskContext(read, store).table("rows")
    assert table.column_names == ["language", "quality_score", "tie_key", "domain", "source_tier"]
    assert table.num_rows == ROWS
