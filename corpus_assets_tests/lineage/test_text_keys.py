"""Keys of texts: none that holds a removed text is passed over, and hardly another is read."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.store import LocalStore, Output, sha256_hex
from corpus_assets.core.task import TaskContext
from corpus_assets.ingest.document_names import make_text_id
from corpus_assets.lineage.text_digests import GRAM_WORDS, DigestIndex, gram_digests
from corpus_assets.lineage.text_keys import (
    TextKeys,
    read_text_keys,
    run_text_keys,
    text_keys_task,
)

SHARE = 0.3


def _words(random_: random.Random, n: int) -> list[str]:
    return [f"w{random_.randrange(5_000)}" for _ in range(n)]


def _file(store: LocalStore, name: str, texts: list[str], has_ids: bool) -> Output:
    columns = {"text": pa.array(texts, pa.large_string())}
    if has_ids:
        columns["text_id"] = pa.array([make_text_id(text) for text in texts], DOC_ID)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    data = sink.getvalue().to_pybytes()
    store.write(name, data)
    return Output(name, sha256_hex(data), len(data), len(texts))


def _keys(folder: Path, extracted: list[str], final: list[str]) -> TextKeys:
    store = LocalStore(folder)
    task = text_keys_task(
        _file(store, "documents.parquet", extracted, True),
        _file(store, "final.parquet", final, False),
    )
    context = TaskContext(task, store)
    run_text_keys(context)
    (output,) = context.commit().outputs.values()
    return read_text_keys(store, output)


def _may_hold(keys: TextKeys, removed: str) -> bool:
    index = DigestIndex({"aa": gram_digests([removed])[0]}, SHARE)
    return keys.may_hold([make_text_id(removed)], index)


@pytest.mark.parametrize("seed", range(4))
def test_keys_pass_over_no_part_in_which_a_scan_finds_a_share(tmp_path: Path, seed: int) -> None:
    rolled = random.Random(seed)
    removed = _words(rolled, 400)
    extracted, final = ([" ".join(_words(rolled, 300)) for _ in range(40)] for _ in range(2))
    keys = _keys(tmp_path, extracted, final)
    assert not _may_hold(keys, " ".join(removed))
    planted = [*_words(rolled, 100), *removed[: rolled.randrange(200, 400)], *_words(rolled, 100)]
    index = DigestIndex({"aa": gram_digests([" ".join(removed)])[0]}, SHARE)
    assert list(index.scan(pa.array([" ".join(planted)], pa.large_string())))
    for texts in (extracted, final):
        texts[7] = " ".join(planted)
        assert _may_hold(_keys(tmp_path / str(len(planted)), extracted, final), " ".join(removed))
        texts[7] = "nothing"


def test_a_text_too_short_for_digests_is_found_by_its_id(tmp_path: Path) -> None:
    short = " ".join(_words(random.Random(9), GRAM_WORDS + 2))
    assert gram_digests([short])[0] == [] or len(gram_digests([short])[0]) < 4
    assert not _may_hold(_keys(tmp_path / "a", ["x"], ["y"]), short)
    assert _may_hold(_keys(tmp_path / "b", [short], ["y"]), short)
    assert _may_hold(_keys(tmp_path / "c", ["x"], [short]), short)


def test_a_part_without_texts_has_keys_that_hold_nothing(tmp_path: Path) -> None:
    keys = _keys(tmp_path, [], [])
    assert not keys.texts.size
    assert not _may_hold(keys, " ".join(_words(random.Random(1), 200)))
