"""The loader over real shard files."""

import dataclasses
import importlib.util
import json
import pickle
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from by_hand import HAS_PYARROW, PAD, make_documents, make_store, plain_manifest

from corpus_loader import Loader, LoaderError, Manifest, Shard, StepDataset
from corpus_loader import loader as loader_module
from corpus_loader.manifest import ShardRef

GROUPS = {
    "S1/web/high": make_documents(1, 80, 100),
    "S1/web/low": make_documents(2, 50, 90),
    "S2/code/mid": make_documents(3, 40, 200),
}
PHASES = [
    (6, {"S1/web/high": 8, "S1/web/low": 5, "S2/code/mid": 11}),
    (4, {"S1/web/high": 14, "S2/code/mid": 10}),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def manifest(root: Path) -> Manifest:
    return make_store(root, GROUPS, PHASES)


def batches(loader: Loader) -> list[np.ndarray]:
    return [batch.tokens for batch in loader]


def test_batches_hold_the_samples_they_name(manifest: Manifest, root: Path) -> None:
    loader = Loader(manifest, root, global_batch=6)
    assert len(loader) == 10 * 24 // 6
    for step in range(len(loader)):
        batch = loader.at(step)
        assert batch.tokens.shape == (6, 64)
        assert batch.tokens.dtype == np.int32
        assert batch.positions.tolist() == list(range(6 * step, 6 * step + 6))
        for row in range(6):
            shard = loader.shard(int(batch.shards[row]))
            assert shard.header.group == loader.groups[batch.groups[row]].id
            assert np.array_equal(batch.tokens[row], shard.sample(int(batch.samples[row])))


@pytest.mark.skipif(not HAS_PYARROW, reason="spans need pyarrow")
def test_one_epoch_delivers_every_document_of_a_group(manifest: Manifest, root: Path) -> None:
    loader = Loader(manifest, root, global_batch=1)
    seen: dict[bytes, set[int]] = {}
    for batch in loader:
        shard = loader.shard(int(batch.shards[0]))
        for span in shard.spans(int(batch.samples[0])):
            places = seen.setdefault(span.doc_id, set())
            places.update(range(span.doc_token_offset, span.doc_token_offset + span.length))
    for documents in (GROUPS["S1/web/high"], GROUPS["S2/code/mid"]):
        for doc_id, tokens in documents.items():
            assert seen[doc_id] == set(range(len(tokens)))


@pytest.mark.parametrize("window", [1, 7, 50])
def test_steps_are_the_same_in_any_order_and_whatever_is_located_at_once(
    manifest: Manifest, root: Path, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = batches(Loader(manifest, root, global_batch=6))
    monkeypatch.setattr(loader_module, "WINDOW_POSITIONS", window)
    loader = Loader(manifest, root, global_batch=6, rank=1, world_size=2)
    steps = np.random.default_rng(1).permutation(np.repeat(np.arange(len(loader)), 2))
    for step in steps.tolist():
        assert np.array_equal(loader.at(step).tokens, whole[step][3:])
    assert np.array_equal(np.stack(batches(loader)), np.stack(whole)[:, 3:])


def test_shards_without_samples_are_passed_over(tmp_path: Path) -> None:
    few = make_documents(4, 3, 50)
    made = make_store(tmp_path, {"S/a/x": few, "S/b/x": few}, [(9, {"S/a/x": 1, "S/b/x": 2})], 5)
    assert [s.samples == 0 for g in made.groups for s in g.shards] == [False] * 3 + [True] * 2 + [
        False
    ] * 3 + [True] * 2
    loader = Loader(made, tmp_path, global_batch=3)
    for batch in loader:
        for row in range(3):
            shard = loader.shard(int(batch.shards[row]))
            assert shard.header.group == loader.groups[batch.groups[row]].id
            assert np.array_equal(batch.tokens[row], shard.sample(int(batch.samples[row])))


def test_tokens_of_two_bytes_are_delivered_as_those_of_four(tmp_path: Path) -> None:
    narrow = make_store(tmp_path / "narrow", GROUPS, PHASES, dtype="uint16")
    wide = make_store(tmp_path / "wide", GROUPS, PHASES)
    one = Loader(narrow, tmp_path / "narrow", global_batch=6)
    other = Loader(wide, tmp_path / "wide", global_batch=6)
    assert np.array_equal(np.stack(batches(one)), np.stack(batches(other)))
    assert {view.dtype for view in one.views(3)} == {np.dtype(np.uint16)}


@pytest.mark.parametrize("world_size", [2, 3, 12])
def test_the_global_order_is_the_same_for_any_number_of_ranks(
    manifest: Manifest, root: Path, world_size: int
) -> None:
    alone = batches(Loader(manifest, root, global_batch=12))
    ranks = [
        batches(Loader(manifest, root, global_batch=12, rank=rank, world_size=world_size))
        for rank in range(world_size)
    ]
    joined = [np.concatenate(parts) for parts in zip(*ranks, strict=True)]
    assert np.array_equal(np.stack(alone), np.stack(joined))


def test_a_run_resumes_exactly_even_on_another_number_of_ranks(
    manifest: Manifest, root: Path
) -> None:
    whole = batches(Loader(manifest, root, global_batch=4))
    first = Loader(manifest, root, global_batch=4)
    steps: Iterator[object] = iter(first)
    for _ in range(13):
        next(steps)
    state = json.loads(json.dumps(first.state_dict()))
    assert state["step"] == 13
    for rank in range(2):
        resumed = Loader(manifest, root, global_batch=4, rank=rank, world_size=2)
        resumed.load_state_dict(state)
        rest = np.stack(batches(resumed))
        assert np.array_equal(rest, np.stack(whole[13:])[:, 2 * rank : 2 * rank + 2])


def test_a_state_of_another_run_is_refused(manifest: Manifest, root: Path) -> None:
    loader = Loader(manifest, root, global_batch=4)
    state = loader.state_dict()
    other = dataclasses.replace(manifest, version="v2")
    for stranger, word in (
        (Loader(other, root, global_batch=4), "manifest"),
        (Loader(manifest, root, seed=8, global_batch=4), "seed"),
        (Loader(manifest, root, global_batch=8), "global_batch"),
    ):
        with pytest.raises(LoaderError, match=word):
            stranger.load_state_dict(state)
    for step in (-1, len(loader) + 1, "3", None):
        with pytest.raises(LoaderError, match="step"):
            loader.load_state_dict({**state, "step": step})


@pytest.mark.parametrize("global_batch", [1, 5, 24])
def test_steps_of_a_sample_equal_a_replay_of_the_run(
    manifest: Manifest, root: Path, global_batch: int
) -> None:
    loader = Loader(manifest, root, global_batch=global_batch)
    replayed: dict[tuple[str, str, int], list[int]] = {}
    for step in range(len(loader)):
        batch = loader.at(step)
        for group, shard, sample in zip(batch.groups, batch.shards, batch.samples, strict=True):
            key = (loader.groups[group].id, loader.shards[shard].name, int(sample))
            replayed.setdefault(key, []).append(step)
    for group in manifest.groups:
        number = 0
        for shard in group.shards:
            for sample in range(shard.samples):
                expected = replayed.get((group.id, shard.name, sample), [])
                assert loader.steps_of(group.id, sample, shard.name).tolist() == expected
                assert loader.steps_of(group.id, number).tolist() == expected
                number += 1


def test_segments_of_a_batch_mark_documents_and_padding(manifest: Manifest, root: Path) -> None:
    loader = Loader(manifest, root, global_batch=8)
    batch = loader.at(3)
    segments = loader.segments(batch)
    for row in range(8):
        own = loader.shard(int(batch.shards[row])).segments(int(batch.samples[row]))
        assert np.array_equal(segments.ids[row], own.ids)
    assert segments.cu_seqlens[0] == 0
    assert segments.cu_seqlens[-1] == 8 * 64
    assert set(range(0, 8 * 64, 64)) <= set(segments.cu_seqlens.tolist())
    padding = np.concatenate(
        [
            batch.tokens.ravel()[start:end]
            for start, end, is_padding in zip(
                segments.cu_seqlens, segments.cu_seqlens[1:], segments.is_padding, strict=False
            )
            if is_padding
        ]
    )
    assert len(padding) == np.count_nonzero(batch.tokens == PAD)
    assert (padding == PAD).all()


def test_few_open_shards_give_the_same_batches(manifest: Manifest, root: Path) -> None:
    plain = batches(Loader(manifest, root, global_batch=6))
    narrow = Loader(manifest, root, global_batch=6, max_open_shards=1)
    assert np.array_equal(np.stack(plain), np.stack(batches(narrow)))
    assert len(narrow._files.mapped) == 1
    opened = [narrow.shard(number) for number in range(len(narrow.shards))]
    assert len([shard for shard in opened if shard._samples is not None]) == 1


def test_files_may_come_through_an_opener_and_only_when_needed(
    manifest: Manifest, root: Path
) -> None:
    asked: list[str] = []

    def fetch(path: str) -> Path:
        asked.append(path)
        return root / path

    loader = Loader(manifest, fetch, global_batch=1)
    assert asked == []
    batch = loader.at(2)
    assert len(asked) == 4
    assert np.array_equal(batch.tokens, Loader(manifest, root, global_batch=1).at(2).tokens)


def test_a_loader_travels_to_a_worker_process_without_its_open_files(
    manifest: Manifest, root: Path
) -> None:
    loader = Loader(manifest, root, global_batch=6)
    expected = loader.at(5).tokens
    copy = pickle.loads(pickle.dumps(loader))
    assert copy._files.mapped == ()
    assert len(loader._files.mapped) > 0
    assert np.array_equal(copy.at(5).tokens, expected)


@pytest.fixture
def own_store(tmp_path: Path) -> tuple[Manifest, Path]:
    groups = {"S/web/mid": make_documents(9, 40, 80)}
    return make_store(tmp_path, groups, [(2, {"S/web/mid": 4})]), tmp_path


def last_shard(manifest: Manifest) -> ShardRef:
    return [shard for shard in manifest.groups[0].shards if shard.samples][-1]


@pytest.mark.parametrize("kind", ["bin", "idx", "spans", "header"])
@pytest.mark.parametrize("fault", ["missing", "truncated", "garbled"])
def test_a_damaged_shard_is_refused_by_name_before_the_first_step(
    own_store: tuple[Manifest, Path], kind: str, fault: str
) -> None:
    manifest, root = own_store
    path = root / getattr(last_shard(manifest), kind).path
    content = path.read_bytes()
    if fault == "missing":
        path.unlink()
    elif fault == "truncated":
        path.write_bytes(content[:-4])
    else:
        path.write_bytes(b"\xff" * len(content))
    if (kind, fault) == ("bin", "garbled"):
        Loader(manifest, root, global_batch=4)  # only hashes can tell
    else:
        with pytest.raises(LoaderError, match=re.escape(path.name)):
            Loader(manifest, root, global_batch=4)
    with pytest.raises(LoaderError, match=re.escape(path.name)):
        Loader(manifest, root, global_batch=4, check="hashes")


@pytest.mark.parametrize("kind", ["bin", "idx", "spans"])
def test_one_flipped_bit_is_found_by_a_loader_that_hashes(
    own_store: tuple[Manifest, Path], kind: str
) -> None:
    manifest, root = own_store
    Loader(manifest, root, global_batch=4, check="hashes")
    path = root / getattr(last_shard(manifest), kind).path
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 8
    path.write_bytes(bytes(content))
    with pytest.raises(LoaderError, match=re.escape(path.name)):
        Loader(manifest, root, global_batch=4, check="hashes")


def test_unchecked_shards_are_refused_when_they_are_reached(
    own_store: tuple[Manifest, Path],
) -> None:
    manifest, root = own_store
    path = root / last_shard(manifest).bin.path
    path.write_bytes(path.read_bytes()[:-4])
    loader = Loader(manifest, root, global_batch=4, check="none")
    with pytest.raises(LoaderError, match=rf"{path.name} is truncated"):
        batches(loader)


def test_another_tokenizer_is_refused_in_shards_and_in_the_trainer(
    own_store: tuple[Manifest, Path],
) -> None:
    manifest, root = own_store
    own = manifest.tokenizer.sha256
    Loader(manifest, root, global_batch=4, tokenizer_sha256=own)
    with pytest.raises(LoaderError, match="the trainer has"):
        Loader(manifest, root, global_batch=4, tokenizer_sha256="0" * 64)
    stranger = dataclasses.replace(manifest.tokenizer, sha256="0" * 64)
    with pytest.raises(LoaderError, match=r"shard_00000\.header\.json was made with tokenizer"):
        Loader(dataclasses.replace(manifest, tokenizer=stranger), root, global_batch=4)


def test_a_shard_in_the_place_of_another_is_refused(tmp_path: Path) -> None:
    groups = {"A/web/mid": make_documents(1, 20, 60), "B/web/mid": make_documents(1, 20, 60)}
    raw = plain_manifest(tmp_path, groups, [(2, {"A/web/mid": 2, "B/web/mid": 2})])
    raw["groups"][0]["shards"] = raw["groups"][1]["shards"]
    with pytest.raises(LoaderError, match="samples of group B/web/mid"):
        Loader(Manifest.parse(json.dumps(raw).encode()), tmp_path, global_batch=4)


def test_views_are_the_rows_of_a_batch_without_a_copy(manifest: Manifest, root: Path) -> None:
    loader = Loader(manifest, root, global_batch=6)
    batch = loader.at(5)
    for row, view in enumerate(loader.views(5)):
        assert np.array_equal(view, batch.tokens[row])
        assert not view.flags.writeable
        assert np.shares_memory(view, loader.shard(int(batch.shards[row])).samples)


def test_views_and_batches_outlive_a_closed_loader(manifest: Manifest, root: Path) -> None:
    loader = Loader(manifest, root, global_batch=6)
    expected = loader.at(5).tokens.copy()
    views = loader.views(5)
    loader.close()
    assert np.array_equal(np.stack(views), expected)
    assert np.array_equal(loader.at(5).tokens, expected)


def test_a_batch_can_be_copied_into_a_buffer_of_the_trainers(
    manifest: Manifest, root: Path
) -> None:
    loader = Loader(manifest, root, global_batch=6)
    buffer = np.empty((6, 64), dtype=np.int32)
    batch = loader.at(4, buffer)
    assert batch.tokens is buffer
    assert np.array_equal(buffer, loader.at(4).tokens)
    read_only = np.empty((6, 64), dtype=np.int32)
    read_only.flags.writeable = False
    for wrong in (
        np.empty((5, 64), np.int32),
        np.empty((6, 64), np.int64),
        np.empty((64, 6), np.int32).T,
        read_only,
    ):
        with pytest.raises(LoaderError, match="buffer"):
            loader.at(4, wrong)


def test_samples_can_be_taken_at_any_positions(manifest: Manifest, root: Path) -> None:
    loader = Loader(manifest, root, global_batch=6)
    every = np.concatenate(batches(Loader(manifest, root, global_batch=1)))
    wanted = [7, 0, 7, len(every) - 1, 31]
    taken = loader.take(wanted)
    assert np.array_equal(loader.take(wanted, announced=True).tokens, taken.tokens)
    assert np.array_equal(taken.tokens, every[wanted])
    assert taken.positions.tolist() == wanted
    for outside in (-1, len(every)):
        with pytest.raises(LoaderError, match="positions of this run"):
            loader.take([0, outside])


@pytest.mark.parametrize("prefetch_steps", [0, 1, 5, 1000])
def test_hints_to_the_kernel_change_nothing(
    manifest: Manifest, root: Path, prefetch_steps: int
) -> None:
    plain = [Loader(manifest, root, global_batch=6).at(step).tokens for step in range(40)]
    hinted = Loader(manifest, root, global_batch=6, prefetch_steps=prefetch_steps)
    assert np.array_equal(np.stack(plain), np.stack(batches(hinted)))


@pytest.mark.parametrize("most", [1, 2, 512])
def test_threads_that_share_a_loader_get_what_one_gets(
    manifest: Manifest, root: Path, most: int
) -> None:
    expected = batches(Loader(manifest, root, global_batch=6))
    loader = Loader(manifest, root, global_batch=6, max_open_shards=most)
    steps = [step for step in range(len(loader)) for _ in range(4)]
    with ThreadPoolExecutor(max_workers=8) as pool:
        found = list(pool.map(lambda step: loader.at(step).tokens, steps))
    for step, tokens in zip(steps, found, strict=True):
        assert np.array_equal(tokens, expected[step])


def test_another_seed_shares_files_and_nothing_else(manifest: Manifest, root: Path) -> None:
    loader = Loader(manifest, root, 3, global_batch=6)
    next(iter(loader))
    other = loader.with_seed(4)
    assert (other.step, loader.step, loader.seed) == (0, 1, 3)
    assert np.array_equal(
        other.at(9).tokens, Loader(manifest, root, 4, global_batch=6).at(9).tokens
    )
    assert np.array_equal(
        loader.at(9).tokens, Loader(manifest, root, 3, global_batch=6).at(9).tokens
    )
    assert other._files is loader._files


def test_a_version_is_opened_by_its_manifest(tmp_path: Path) -> None:
    made = make_store(tmp_path, GROUPS, PHASES)
    place = tmp_path / "versions" / "v1"
    place.mkdir(parents=True)
    (place / "manifest.json").write_bytes(made.dump())
    loader = Loader.open(place / "manifest.json", 3, global_batch=6)
    expected = Loader(made, tmp_path, 3, global_batch=6)
    assert np.array_equal(loader.at(2).tokens, expected.at(2).tokens)


@pytest.mark.parametrize(
    "wrong",
    [
        {"global_batch": 0},
        {"global_batch": 4, "rank": 1},
        {"global_batch": 4, "rank": -1, "world_size": 2},
        {"global_batch": 5, "world_size": 2},
    ],
)
def test_impossible_ranks_and_batches_are_refused(
    manifest: Manifest, root: Path, wrong: dict[str, int]
) -> None:
    with pytest.raises(LoaderError):
        Loader(manifest, root, **wrong)


def test_steps_and_samples_outside_the_run_are_refused(manifest: Manifest, root: Path) -> None:
    loader = Loader(manifest, root, global_batch=6)
    for step in (-1, len(loader)):
        with pytest.raises(LoaderError, match="steps 0"):
            loader.at(step)
    with pytest.raises(LoaderError, match="no shard"):
        loader.steps_of("S1/web/high", 0, "shard_00099")
    with pytest.raises(LoaderError, match="has samples"):
        loader.steps_of("S1/web/high", 10**6, "shard_00000")


def test_the_torch_dataset_gives_tensors_or_says_what_is_missing(
    manifest: Manifest, root: Path
) -> None:
    loader = Loader(manifest, root, global_batch=6)
    if importlib.util.find_spec("torch") is None:
        with pytest.raises(LoaderError, match="pip install torch"):
            StepDataset(loader)
        return
    from torch.utils.data import DataLoader

    dataset = StepDataset(loader)
    items = list(DataLoader(dataset, batch_size=None, num_workers=0))
    assert len(items) == len(loader)
    assert np.array_equal(items[3]["tokens"].numpy(), loader.at(3).tokens)
    bounds = loader.segments(loader.at(3)).cu_seqlens
    assert np.array_equal(items[3]["cu_seqlens"].numpy(), bounds)
    assert items[3]["max_seqlen"] == np.diff(bounds).max()
    resumed = DataLoader(dataset, batch_size=None, sampler=range(20, len(dataset)), num_workers=2)
    assert np.array_equal(next(iter(resumed))["tokens"].numpy(), loader.at(20).tokens)


def test_batches_are_copies_so_writing_into_one_harms_nothing(
    manifest: Manifest, root: Path
) -> None:
    loader = Loader(manifest, root, global_batch=6)
    batch = loader.at(0)
    before = batch.tokens.copy()
    places = [column.copy() for column in (batch.positions, batch.groups, batch.samples)]
    for column in (batch.tokens, batch.positions, batch.groups, batch.shards, batch.samples):
        column[:] = 0
    again = loader.at(0)
    assert np.array_equal(again.tokens, before)
    for column, own in zip((again.positions, again.groups, again.samples), places, strict=True):
        assert np.array_equal(column, own)
    assert isinstance(loader.shard(int(batch.shards[0])), Shard)
