"""Declarations of stages, and what derives from them."""

from typing import get_args

import pytest

from corpus_assets.core import files
from corpus_assets.core.files import File
from corpus_assets.core.stage import Edge, Graph, Scope, Stage, asset, graph_of
from corpus_assets.core.task import TaskContext
from corpus_assets.recipe.recipe import DroppingAsset
from corpus_assets.stages import STAGES

A = File("a", "a.parquet")
B = File("b", "b-*.parquet")
C = File("c", "c.json")
D = File("d", "d.parquet")


def stage(
    name: str,
    writes: File,
    reads: tuple[File, ...] = (),
    reads_all: tuple[File, ...] = (),
    scope: Scope = Scope.PART,
    reads_before: tuple[File, ...] = (),
) -> Stage:
    def run(context: TaskContext) -> None:
        raise AssertionError("not to be run")

    return Stage(
        name,
        1,
        scope,
        lambda *_: [],
        run,
        writes=(writes,),
        reads=reads,
        reads_all=reads_all,
        reads_before=reads_before,
    )


def chain(*, across: bool = False) -> Graph:
    """a -> b (by snapshot), c over all of them, d by snapshot again."""
    return graph_of(
        (
            stage("a", A),
            stage("b", B, reads=() if across else (A,), reads_all=(A,) if across else ()),
            stage("c", C, reads_all=(B,), scope=Scope.ALL),
            stage("d", D, reads=(A, C)),
        )
    )


def test_a_stage_may_read_only_what_an_earlier_one_writes() -> None:
    with pytest.raises(ValueError, match=r"b reads a\.parquet of a, which comes later"):
        graph_of((stage("b", B, reads=(A,)), stage("a", A)))


def test_a_file_is_written_by_the_stage_that_it_names() -> None:
    with pytest.raises(ValueError, match=r"b writes a\.parquet, which is of a"):
        graph_of((stage("b", A),))


def test_names_of_stages_are_their_own() -> None:
    with pytest.raises(ValueError, match="two stages are called a"):
        graph_of((stage("a", A), stage("a", A)))


def test_steps_of_an_asset_give_it_their_edges() -> None:
    graph = graph_of(
        (
            stage("a", A),
            asset(
                stage("b", B, reads=(A,)),
                stage("c", C, reads_all=(B,), scope=Scope.ALL),
            ),
            stage("d", D, reads=(C,)),
        )
    )
    assert graph.edges("c") == [Edge("a", is_across=True)]
    assert graph.edges("d") == [Edge("c", is_across=False)]


def test_upstream_follows_edges_over_steps() -> None:
    assert chain().upstream(["c"]) == {"a", "b", "c"}


def test_a_step_may_read_what_later_ones_of_its_asset_made_of_snapshots_before() -> None:
    steps = [stage("b", B, reads_before=(D,)), stage("c", C, reads=(B,)), stage("d", D, reads=(C,))]
    graph = graph_of((stage("a", A), asset(*steps)))
    assert graph.upstream(["b"]) == {"b", "c", "d"}
    assert graph.edges("d") == []
    order = [(one.name, snapshot) for one, snapshot in graph.steps(["a", "b", "d"], ["S", "T"])]
    assert order == [("a", "S"), ("a", "T"), ("b", "S"), ("d", "S"), ("b", "T"), ("d", "T")]
    for wrong in (
        (stage("b", B, reads_before=(D,)), asset(*steps[1:])),
        (asset(steps[0], stage("d", D), stage("c", C, scope=Scope.ALL)),),
    ):
        with pytest.raises(ValueError, match=r"b reads d\.parquet of snapshots before"):
            graph_of(wrong)


def test_files_of_a_kind_are_known_by_their_pattern() -> None:
    assert B.matches("b-00003.parquet")
    assert B.numbered(3) == "b-00003.parquet"
    assert not B.matches("b.parquet")
    assert stage("b", B).file("b-00001.parquet") is B


def test_every_file_declared_for_all_rooms_is_written_by_a_stage() -> None:
    declared = {id(value) for value in vars(files).values() if isinstance(value, File)}
    written = {id(file) for one in STAGES for file in one.writes}
    assert declared - written == {id(files.SOURCE_FILES)}


def test_every_file_that_a_stage_writes_is_used() -> None:
    read = {id(file) for one in STAGES for file in (*one.reads, *one.reads_all, *one.reads_before)}
    for one in STAGES:
        for file in one.writes:
            is_last = file.lineage or one.calibration or one.name in ("shards", "lineage_keys")
            is_elsewhere = file in (
                files.LOSSES,
                files.CUT_LINES,
                files.TEXT_KEYS,
            )  # checks, takedowns
            assert id(file) in read or is_last or is_elsewhere, file


def test_bounds_of_survival_can_be_set_for_every_asset_that_drops() -> None:
    assert set(get_args(DroppingAsset)) == {
        STAGES.asset_of(one.name).name for one in STAGES if one.drops
    }


def test_every_asset_says_what_it_is_for() -> None:
    for one in STAGES.assets.values():
        assert one.last.about.endswith("."), one.name
