"""The guard of stage versions: outputs that change need a VERSION that changes.

`golden.json` has, for every node of the graph on the small corpus, the stage's version, a hash
of what it was given (settings and decoded inputs) and a hash of what it made (decoded outputs).
A node that makes something else of the same input under the same version is the one to raise;
nodes behind it only see other input.

Hashes are of values, not of Parquet, Arrow or JSON bytes, which follow the libraries. Left out:
- `classifier.bin`, its scores (columns `quality_score` and `quality`) and their ranks, `perplexity.bin` and
  what it gives: their floating point follows the processor;
- the digests in a shard's header, which are of Parquet bytes; all else in a shard is in.
`selection` stays in: all scores of the small corpus are far from the threshold on them.
"""

import hashlib
import json
import os
import struct
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.core.exchange import all_ranges
from corpus_assets.core.home import Home
from corpus_assets.core.identity import digest
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.session import open_session
from corpus_assets.stages import STAGES
from corpus_assets_tests.conftest import Place, as_if_many_parts

GOLDEN = Path(__file__).with_name("golden.json")
REFRESH = "CORPUS_GOLDEN_REFRESH"
HERE = "corpus_assets_tests/graph/test_golden.py"
"""Nodes whose VERSION stands in another stage's file."""

SKIPPED_FILES = ("classifier.bin", "ranks.json", "perplexity.bin")
SKIPPED_COLUMNS = (
    "quality_score",
    "quality",
    "ensemble_bucket",
    "ensemble_score",
    "perplexity_good",
)

Row = dict[str, Any]


def plain(value: Any) -> Any:
    """A value as JSON, floats by their four leading digits after the point."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def table_values(table: pa.Table) -> Any:
    columns = [name for name in table.column_names if name not in SKIPPED_COLUMNS]
    return {name: [str(table[name].type), plain(table[name].to_pylist())] for name in columns}


def decoded(path: Path) -> Any:
    """What a file of the store says."""
    return decoded_bytes(path.name, path.read_bytes())


def decoded_bytes(name: str, data: bytes) -> Any:
    if name in SKIPPED_FILES:
        return "left out"
    if name == "tokenizer.json":
        body = json.loads(data)
        added = [[token["id"], token["content"]] for token in body["added_tokens"]]
        return [body["model"]["vocab"], plain(body["model"]["merges"]), added]
    if name.endswith(".header.json"):
        return {k: v for k, v in json.loads(data).items() if k not in ("bin", "idx", "spans")}
    if name.endswith(".json"):
        return plain(json.loads(data))
    if name.endswith(".zip"):  # what each range holds, and not where it lies
        return {each: decoded_bytes(_kind(held), held) for each, held in all_ranges(data)}
    if name.endswith(".parquet"):
        return table_values(pq.read_table(pa.BufferReader(data)))
    if name == ".arrows":
        return table_values(pa.ipc.open_stream(pa.BufferReader(data)).read_all())
    if name == "eval_index.bin":
        return table_values(pa.ipc.open_file(pa.BufferReader(data)).read_all())
    return hashlib.sha256(data).hexdigest()


def _kind(data: bytes) -> str:
    """Tell tables in ranges from other bytes, by how they begin."""
    return {b"PAR1": ".parquet", b"\xff\xff\xff\xff": ".arrows"}.get(data[:4], "")


class Hasher:
    """Decoded hashes of files, each computed once."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._known: dict[str, str] = {}

    def __call__(self, output: Output) -> str:
        if output.path not in self._known:
            self._known[output.path] = digest(decoded(self._store / output.path))
        return self._known[output.path]


def versions_of(task: Task) -> Any:
    """The stage's version, and with signals that of each family."""
    families = task.settings.get("families")
    return [task.version, families] if task.stage == "signals" else task.version


def node_row(pipeline: Pipeline, node: str, hasher: Hasher) -> Row:
    """One node over all snapshots."""
    given: list[Any] = []
    made: list[Any] = []
    versions: set[str] = set()
    for snapshot in pipeline.recipe.snapshots if STAGES[node].is_by_snapshot else (None,):
        for task in pipeline.tasks(node, snapshot):
            result = pipeline.result_of(task)
            assert result is not None
            inputs = {name: hasher(output) for name, output in sorted(task.inputs.items())}
            settings = {k: v for k, v in task.settings.items() if k != "families"}
            given.append([settings, inputs, dict(task.extra_inputs)])
            made.append({name: hasher(out) for name, out in sorted(result.outputs.items())})
            versions.add(json.dumps(versions_of(task), sort_keys=True))
    if not made:
        return {}
    [version] = versions
    return {"version": json.loads(version), "input": digest(plain(given)), "output": digest(made)}


@pytest.fixture(scope="module")
def rows(small_build: Place, grouped_build: Place) -> dict[str, Row]:
    """Rows of the small build; of stages that only many parts need, those of the grouped one."""
    found = rows_of(small_build, [stage.name for stage in STAGES])
    with as_if_many_parts():
        return found | rows_of(grouped_build, [node for node, row in found.items() if not row])


def rows_of(place: Place, nodes: list[str]) -> dict[str, Row]:
    home = Home.resolve(str(place.home))
    with open_session(str(place.recipe), home, upgrade=("all",)) as session:
        hasher = Hasher(place.store)
        return {node: node_row(session.pipeline, node, hasher) for node in nodes}


def compare(golden: dict[str, Row], rows: dict[str, Row]) -> tuple[list[str], list[str]]:
    """(nodes that need a new VERSION, nodes whose golden row is merely old)."""
    faulty: list[str] = []
    old: list[str] = []
    for node, now in rows.items():
        before = golden.get(node)
        if before == now:
            continue
        same_task = before is not None and all(before[k] == now[k] for k in ("version", "input"))
        (faulty if same_task else old).append(node)
    return faulty, old + sorted(set(golden) - set(rows))


def test_outputs_change_only_with_their_stage_version(rows: dict[str, Row]) -> None:
    golden = json.loads(GOLDEN.read_bytes()) if GOLDEN.exists() else {}
    faulty, old = compare(golden, rows)
    again = f"refresh the table: {REFRESH}=1 python -m pytest {HERE}"
    for node in faulty:
        pytest.fail(
            f"{node} makes something else of the same input under version "
            f"{rows[node]['version']}: raise the version that it is declared with"
            f"{' (or of the signal family)' if node == 'signals' else ''}, then {again}"
        )
    if old and os.environ.get(REFRESH):
        GOLDEN.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    assert not old, f"new versions or new inputs at {', '.join(old)}; {again}"


def test_every_stage_that_drops_or_writes_is_guarded(rows: dict[str, Row]) -> None:
    assert {name for name, row in rows.items() if row} == {stage.name for stage in STAGES}
    outputs = {name: row["output"] for name, row in rows.items()}
    del outputs["score_survivors"]  # the sample is of all: those of `survivors`
    assert len(set(outputs.values())) == len(outputs)


def test_scores_are_far_from_the_threshold_on_them(small_build: Place) -> None:
    scores = [
        score
        for file in small_build.artifacts("signals", "signals.parquet")
        for score in pq.read_table(file)["quality_score"].to_pylist()
    ]
    assert not [score for score in scores if 0.3 < score < 0.7]
    assert min(scores) < 0.3 < 0.7 < max(scores)


class TestTheGuardItself:
    ROW: ClassVar[Row] = {"version": 1, "input": "a", "output": "b"}

    def test_the_same_row_passes(self) -> None:
        assert compare({"n": self.ROW}, {"n": self.ROW}) == ([], [])

    def test_another_output_of_the_same_input_and_version_is_a_fault(self) -> None:
        assert compare({"n": self.ROW}, {"n": self.ROW | {"output": "c"}}) == (["n"], [])

    @pytest.mark.parametrize("changed", [{"version": 2}, {"input": "x"}])
    def test_another_version_or_input_is_only_old(self, changed: Row) -> None:
        assert compare({"n": self.ROW}, {"n": self.ROW | changed | {"output": "c"}}) == ([], ["n"])

    def test_new_and_lost_nodes_are_old(self) -> None:
        assert compare({"m": self.ROW}, {"n": self.ROW}) == ([], ["n", "m"])

    def test_values_count_and_not_their_packing(self, tmp_path: Path) -> None:
        table = pa.table({"id": [b"\x00\xff"], "score": pa.array([0.12345], pa.float32())})
        for name, compression in (("a.parquet", "zstd"), ("b.parquet", "none")):
            pq.write_table(table, tmp_path / name, compression=compression)
        assert decoded(tmp_path / "a.parquet") == decoded(tmp_path / "b.parquet")
        pq.write_table(table.slice(0, 0), tmp_path / "c.parquet")
        assert decoded(tmp_path / "c.parquet") != decoded(tmp_path / "a.parquet")

    def test_bytes_of_shards_count(self, tmp_path: Path) -> None:
        (tmp_path / "s.bin").write_bytes(struct.pack("<i", 1))
        (tmp_path / "t.bin").write_bytes(struct.pack("<i", 2))
        assert decoded(tmp_path / "s.bin") != decoded(tmp_path / "t.bin")
