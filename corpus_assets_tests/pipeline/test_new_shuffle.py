"""A statistic over all documents is one declaration: parts, groups, ranges, takedowns and Ray follow."""

import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from corpus_assets.core.home import Home
from corpus_assets.core.task import read_table
from corpus_assets.graph.engine.base import Engine
from corpus_assets.graph.engine.local import LocalEngine
from corpus_assets.graph.run import run_asset
from corpus_assets.session import Session, open_session, reopen_session
from corpus_assets_tests.conftest import Place, as_if_many_parts
from corpus_assets_tests.pipeline.new_shuffle import HOSTS, SHUFFLE, WITH_HOSTS, function_of
from corpus_assets_tests.promises.test_erasable import AFTER, lone_page, never_seen, take_out


def run(session: Session, engine: Engine) -> list[dict[str, int]]:
    """Run the shuffle over every snapshot; gives documents by host."""
    pipeline = replace(session.pipeline, graph=WITH_HOSTS)
    found = []
    for snapshot in pipeline.recipe.snapshots:
        run_asset(pipeline, engine, session.registry, session.progress, HOSTS.stage, snapshot)
        (output,) = pipeline.parts(HOSTS, snapshot)
        table = read_table(pipeline.store, output)
        found.append(dict(zip(*(column.to_pylist() for column in table.columns), strict=True)))
    return found


def stored(home: Path) -> Sequence[bytes]:
    folder = home / "store" / "artifacts" / HOSTS.stage
    return sorted(file.read_bytes() for file in folder.glob(f"*/{HOSTS}"))


def steps(home: Path) -> set[str]:
    made = {folder.name for folder in (home / "store" / "artifacts").iterdir()}
    return made & {stage.name for stage in SHUFFLE.stages}


@pytest.mark.parametrize(
    ("many", "made"),
    [
        (contextlib.nullcontext, {"part_hosts", "hosts"}),
        (as_if_many_parts, {"part_hosts", "hosts_groups", "hosts_ranges", "hosts"}),
    ],
    ids=["few parts", "many parts"],
)
def test_it_counts_every_document_by_host(place: Place, many: Any, made: set[str]) -> None:
    with many(), open_session(str(place.recipe), Home.resolve(str(place.home))) as session:
        found = run(session, LocalEngine(session.home.store_url, function_of))
    hosts = Counter(
        host
        for file in place.artifacts("documents", "documents.parquet")
        for host in pq.read_table(file)["host"].to_pylist()
        if host
    )
    assert sum((Counter(one) for one in found), Counter()) == hosts
    assert all(list(one) == sorted(one) for one in found)
    assert steps(place.home) == made


@pytest.mark.slow
def test_many_parts_ray_and_takedowns_give_the_same_bytes(
    small_build: Place, grouped_build: Place, ray_cluster: Any, tmp_path: Path
) -> None:
    from corpus_assets.graph.engine.ray import RayEngine

    orders = [("doc_id", lone_page(small_build.folder)["doc_id"])]
    with as_if_many_parts():
        home = take_out(grouped_build.folder, tmp_path, [orders])
        with reopen_session(Home.resolve(str(home)), AFTER) as session:
            engine = RayEngine(session.home.store_url, function_of, address=ray_cluster.address)
            with contextlib.closing(engine):
                run(session, engine)
    scratch = never_seen(small_build.folder, tmp_path, orders, AFTER)
    with reopen_session(Home.resolve(str(scratch)), AFTER) as session:
        run(session, LocalEngine(session.home.store_url, function_of))
    assert len(stored(home)) == len(session.pipeline.recipe.snapshots)
    assert stored(home) == stored(scratch)
