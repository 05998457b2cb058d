"""Each format, opened by a plain reader, holds the loader's samples in the loader's order."""

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from corpus_assets.shards.export.plan import FORMATS
from corpus_assets_tests.shards.export.small_export import (
    GROUPS,
    export_to,
    loader_rows,
    read_datatrove,
    read_hf,
    read_samples,
    store_at,
)
from corpus_assets_tests.shards.small_corpus import EOD, PAD
from corpus_loader import Loader, Manifest
from corpus_loader.shard import segments_of


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def manifest(root: Path) -> Manifest:
    return store_at(root)


def expected(rows: np.ndarray, layout: str) -> list[list[int]]:
    if layout == "megatron":
        return [row[row != PAD].tolist() for row in rows]
    return rows.tolist()


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("seed", [None, 99])
def test_an_export_has_the_order_of_the_loader(
    tmp_path: Path, manifest: Manifest, root: Path, layout: str, seed: int | None
) -> None:
    body = export_to(tmp_path / "out", manifest, root, layout, seed=seed)
    rows = loader_rows(manifest, root, seed)
    assert read_samples(tmp_path / "out", layout) == expected(rows, layout)
    assert body.samples == len(rows)
    assert body.tokens == np.count_nonzero(rows != PAD)
    assert body.padding == np.count_nonzero(rows == PAD)
    assert json.loads((tmp_path / "out" / "export.json").read_bytes()) == asdict(body)


@pytest.mark.parametrize("layout", FORMATS)
def test_the_mix_is_baked_in_with_the_repetition_of_the_manifest(
    tmp_path: Path, manifest: Manifest, root: Path, layout: str
) -> None:
    body = export_to(tmp_path / "out", manifest, root, layout)
    assert body.groups == {
        "S1/web/high": 4 * 8 + 3 * 14,
        "S1/web/low": 4 * 5,
        "S2/code/mid": 4 * 11 + 3 * 10,
    }
    seen = np.array(read_samples(tmp_path / "out", "datatrove")) if layout == "datatrove" else None
    if seen is not None:
        assert len(np.unique(seen, axis=0)) < len(seen)  # a group is drawn more often than it has


@pytest.mark.parametrize("layout", FORMATS)
def test_export_json_names_every_file_with_its_hash_and_no_time_or_place(
    tmp_path: Path, manifest: Manifest, root: Path, layout: str
) -> None:
    out = tmp_path / "out"
    body = export_to(out, manifest, root, layout, has_lineage=True)
    there = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert {file["name"] for file in body.files} | {"export.json"} == there
    for file in body.files:
        content = (out / file["name"]).read_bytes()
        assert (file["bytes"], file["sha256"]) == (
            len(content),
            hashlib.sha256(content).hexdigest(),
        )
    assert (body.version, body.manifest_sha256) == ("v1", manifest.digest())
    assert (out / "manifest.json").read_bytes() == manifest.dump()
    assert str(tmp_path) not in (out / "export.json").read_text()
    assert not (tmp_path / "out.partial").exists()


@pytest.mark.parametrize("layout", FORMATS)
def test_bytes_do_not_depend_on_workers(
    tmp_path: Path, manifest: Manifest, root: Path, layout: str
) -> None:
    one = export_to(tmp_path / "one", manifest, root, layout, workers=1, has_lineage=True)
    many = export_to(tmp_path / "many", manifest, root, layout, workers=5, has_lineage=True)
    assert one == many  # hashes of all files are in it


def test_a_wide_vocabulary_is_written_in_32_bits(tmp_path: Path, root: Path) -> None:
    made = store_at(tmp_path / "store")
    wide = replace(made, tokenizer=replace(made.tokenizer, vocab_size=128_000))
    for layout in ("megatron", "mds", "datatrove"):
        body = export_to(tmp_path / layout, wide, tmp_path / "store", layout)
        assert body.dtype == "int32"
        rows = loader_rows(made, tmp_path / "store")
        assert read_samples(tmp_path / layout, layout) == expected(rows, layout)


def test_datatroves_index_has_every_end_of_a_document(
    tmp_path: Path, manifest: Manifest, root: Path
) -> None:
    export_to(tmp_path / "out", manifest, root, "datatrove")
    samples, ends = read_datatrove(tmp_path / "out", 64)
    for sample, marks in zip(samples, ends, strict=True):
        bounds = segments_of(np.array(sample, np.int32), EOD, PAD).cu_seqlens
        assert marks == bounds[1:].tolist()


def test_parquet_carries_the_features_that_datasets_reads(
    tmp_path: Path, manifest: Manifest, root: Path
) -> None:
    export_to(tmp_path / "out", manifest, root, "hf-parquet", has_lineage=True)
    files = sorted((tmp_path / "out" / "data").iterdir())
    assert files[0].name == f"train-00000-of-{len(files):05d}.parquet"
    schema = pq.read_schema(files[0])
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    assert list(features) == sorted(schema.names)
    assert features["input_ids"] == {
        "feature": {"dtype": "int32", "_type": "Value"},
        "_type": "Sequence",
    }


def test_lineage_columns_lead_each_sample_to_its_documents(
    tmp_path: Path, manifest: Manifest, root: Path
) -> None:
    export_to(tmp_path / "out", manifest, root, "hf-parquet", has_lineage=True)
    for number, row in enumerate(read_hf(tmp_path / "out")):
        assert row["position"] == number
        covered = 0
        for doc_id, offset, length, within in zip(
            row["doc_ids"],
            row["doc_offsets"],
            row["doc_lengths"],
            row["doc_token_offsets"],
            strict=True,
        ):
            tokens = GROUPS[row["group"]][bytes.fromhex(doc_id)]
            assert row["input_ids"][offset : offset + length] == tokens[within : within + length]
            covered += length
        assert covered == np.count_nonzero(np.array(row["input_ids"]) != PAD)


@pytest.mark.parametrize("layout", ["megatron", "datatrove", "mds"])
def test_lineage_beside_the_samples_is_the_loaders(
    tmp_path: Path, manifest: Manifest, root: Path, layout: str
) -> None:
    export_to(tmp_path / "out", manifest, root, layout, has_lineage=True)
    found = [
        tuple(row.values())
        for path in sorted((tmp_path / "out" / "lineage").iterdir())
        for row in pq.read_table(path).to_pylist()
    ]
    loader = Loader(manifest, root, global_batch=1)
    wanted = []
    for step in range(len(loader)):
        batch = loader.at(step)
        for span in loader.shard(int(batch.shards[0])).spans(int(batch.samples[0])):
            wanted.append((step, span.offset, span.length, span.doc_id, span.doc_token_offset))
    assert found == wanted
