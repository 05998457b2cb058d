"""datasketch says the same of a snapshot's signatures, and opens them."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from datasketch import LeanMinHash, MinHashLSH

from catalog.db.registry import Registry
from catalog.formats.store import FileStore
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import url_target
from corpus_assets.cli.main import main
from corpus_assets.core import files
from corpus_assets.core.home import Home
from corpus_assets.core.store import open_store
from corpus_assets.dedup import compared_rows, oracle, signatures, stage
from corpus_assets.dedup.candidate_keys import CandidateKeys
from corpus_assets.dedup.signatures import Signatures, compute_signatures
from corpus_assets.graph.checks import CheckOutcome, check_asset
from corpus_assets.graph.run import pin_snapshot, run_asset
from corpus_assets.session import Session, open_session
from corpus_assets.takedown.copies import held_documents
from corpus_assets_tests.conftest import VERSION, Place
from corpus_assets_tests.small_corpus import prose
from corpus_assets_tests.text.word_reference import NASTY

S = "s"
LONG = prose("long", sentences=60)
COPIES = [LONG, LONG.replace("spring", "early spring"), f"{LONG} {prose('end', sentences=6)}"]
TEXTS = [*COPIES, *(prose("other", i) for i in range(3)), "one", "?!... ---", *NASTY[5:]]


def write_corpus(folder: Path, texts: list[str] = TEXTS, **settings: Any) -> Path:
    """Up to three files of texts; page N has the address http://a.example/N."""
    folder.mkdir(parents=True)
    for number in range(min(-(-len(texts) // 8), 3)):
        rows = [
            {"url": f"http://a.example/{i}", "text": text}
            for i, text in enumerate(texts)
            if min(i // 8, 2) == number
        ]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{number}.jsonl").write_text(lines)
    source = {
        "name": "web",
        "format": "jsonl",
        "domain": "web",
        "fields": {"url": "url", "text": "text"},
        "snapshots": {S: "*.jsonl"},
    }
    recipe = folder / "recipe.yaml"
    body = {
        "name": "r",
        "seed": 1,
        "sources": [source],
        "signals": {"families": [{"family": "gopher_quality"}]},
        "selection": {"rules": [{"name": "few_words", "signal": "n_words", "min": 1}]},
        "signatures": settings,
        "tokenizer": {"train": {"vocab_size": 300, "special_slots": 2}},
        "mixture": {},
    }
    recipe.write_text(yaml.safe_dump(body))
    return recipe


def opened(recipe: Path) -> Any:
    return open_session(str(recipe), Home.resolve(str(recipe.parent / "home")))


def sign(session: Session) -> CheckOutcome:
    """Run the assets up to signatures; what the check says of them."""
    pin_snapshot(session.pipeline, session.registry, S)
    for asset in ("documents", "signatures"):
        report = run_asset(
            session.pipeline, session.engine, session.registry, session.progress, asset, S
        )
    (found,) = [one for one in check_asset(session.pipeline, report) if one.name == "datasketch"]
    return found


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"shingle_chars": 24},
        {"shingle_words": 3},
        {"bands": 1, "rows_per_band": 1},
    ],
    ids=str,
)
def test_signatures_of_all_scripts_are_what_datasketch_makes_of_them(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    with opened(write_corpus(tmp_path / "corpus", **settings)) as session:
        outcome = sign(session)
    assert outcome.passed, outcome.message
    assert not outcome.is_warning
    assert outcome.numbers["documents"] >= 16
    assert outcome.numbers["pairs"] >= 2


def another_key(signed: Signatures) -> None:
    signed.band_keys[0, 3] ^= np.uint64(1)


def another_byte(signed: Signatures) -> None:
    signed.sketches[0, 511] ^= np.uint8(1)


def one_row_off(signed: Signatures) -> None:
    signed.band_keys[:] = np.roll(signed.band_keys, 1, axis=0)
    signed.sketches[:] = np.roll(signed.sketches, 1, axis=0)


@pytest.mark.parametrize("fault", [another_key, another_byte, one_row_off])
def test_a_wrong_key_or_sketch_is_an_error_that_names_the_document_and_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Callable[[Signatures], None]
) -> None:
    spoilt: list[bytes] = []

    def compute(*given: Any) -> Signatures:
        signed = compute_signatures(*given)
        fault(signed)
        spoilt.append(signed.table["doc_id"][0].as_py())
        return signed

    monkeypatch.setattr(stage, "compute_signatures", compute)
    with opened(write_corpus(tmp_path / "corpus", TEXTS[:8])) as session:
        outcome = sign(session)
    assert (outcome.passed, outcome.is_warning) == (False, False)
    assert spoilt[0].hex() in outcome.message
    assert "harbour" not in outcome.message
    if fault is not one_row_off:
        assert outcome.numbers["differing"] == 1


def test_keys_that_join_unequal_bands_are_found_though_they_are_made_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first_only(minima: Any, bands: int, rows: int) -> Any:
        return minima.reshape(len(minima), bands, rows)[:, :, 0].astype(np.uint64)

    for module in (signatures, oracle):
        monkeypatch.setattr(module, "band_keys", first_only)
    with opened(write_corpus(tmp_path / "corpus", TEXTS[:8])) as session:
        outcome = sign(session)
    assert not outcome.passed


@pytest.mark.parametrize(
    "estimate", [lambda equal, used: equal / used, lambda equal, used: 0.5 * equal / used]
)
def test_a_similarity_that_is_not_datasketchs_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, estimate: Any
) -> None:
    monkeypatch.setattr(compared_rows, "similarity", estimate)
    with opened(write_corpus(tmp_path / "corpus", TEXTS[:8])) as session:
        outcome = sign(session)
    assert not outcome.passed


def test_sketches_that_estimate_something_else_are_found_though_they_are_made_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One byte for all says only which bins are empty; other permutations know better."""
    sketch = oracle._sketch

    def compute(*given: Any) -> Signatures:
        signed = compute_signatures(*given)
        return replace(signed, sketches=(signed.sketches > 0).astype(np.uint8))

    monkeypatch.setattr(oracle, "_sketch", lambda hashes: (sketch(hashes) > 0).astype(np.uint8))
    monkeypatch.setattr(stage, "compute_signatures", compute)
    texts = [LONG, f"{LONG} {prose('more', sentences=40)}"]
    with opened(write_corpus(tmp_path / "corpus", texts, bands=56, rows_per_band=2)) as session:
        outcome = sign(session)
    assert outcome.numbers == {"documents": 2, "pairs": 1, "differing": 2}


def test_the_sample_is_small_fixed_and_without_the_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [*COPIES, *(f"{prose('page', i)} {LONG}" for i in range(60))]
    with opened(write_corpus(tmp_path / "corpus", texts)) as session:
        first = sign(session)
        assert first.passed
        assert first.numbers["documents"] <= 3 * (oracle.DOCUMENTS + 2 * oracle.PAIRS)
        assert first.numbers["pairs"] == 3 * oracle.PAIRS
        assert oracle.compare_with_datasketch(session.pipeline, S) == (
            oracle.compare_with_datasketch(session.pipeline, S)
        )
        monkeypatch.setattr(oracle, "PARTS", 2)
        assert oracle.compare_with_datasketch(session.pipeline, S).pairs == 2 * oracle.PAIRS
        monkeypatch.setattr(oracle, "MAX_SHINGLES", 100)
        assert oracle.compare_with_datasketch(session.pipeline, S) == oracle.SignatureComparison()


def export(recipe: Path, *more: str) -> tuple[int, Path]:
    out = recipe.parent / "signatures.parquet"
    home = ["--home", str(recipe.parent / "home")]
    code = main(
        ["export-signatures", str(recipe), "--snapshot", S, "--out", str(out), *home, *more]
    )
    return code, out


def band_pairs(session: Session) -> set[tuple[str, str]]:
    """Documents of a snapshot that share a stored band key."""
    ids: list[str] = []
    keys: list[Any] = []
    for result in session.pipeline.results("signatures", S):
        place = session.pipeline.store.local
        table = pq.read_table(place(result.outputs[files.SIGNATURES].path))
        stored = CandidateKeys.open(place(result.outputs[files.CANDIDATE_KEYS].path)).band_keys()
        for doc_id, n_shingles, row in zip(
            table["doc_id"].to_pylist(), table["n_shingles"].to_pylist(), stored, strict=True
        ):
            if n_shingles:
                ids.append(doc_id.hex())
                keys.append(row)
    pairs = combinations(range(len(ids)), 2)
    found = [(ids[i], ids[j]) for i, j in pairs if (keys[i] == keys[j]).any()]
    return {(min(pair), max(pair)) for pair in found}


def test_the_lsh_of_datasketch_opens_an_export_and_finds_the_stored_candidates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write_corpus(tmp_path / "corpus")
    with opened(recipe) as session:
        assert sign(session).passed
        expected = band_pairs(session)
    code, out = export(recipe)
    assert code == 0
    said = capsys.readouterr().out
    assert "MinHashLSH(num_perm=112, params=(14, 8))" in said
    assert "2 without words left out" in said

    rows = pq.read_table(out).to_pylist()
    minhashes = {r["doc_id"]: LeanMinHash.deserialize(r["minhash"], "<") for r in rows}
    lsh = MinHashLSH(num_perm=112, params=(14, 8))
    for doc_id, minhash in minhashes.items():
        lsh.insert(doc_id, minhash)
    found = {(a, b) for a in minhashes for b in lsh.query(minhashes[a]) if a < b}
    assert found == expected
    assert len(found) >= 3, "three copies"
    assert all(minhashes[a].jaccard(minhashes[b]) > 0.5 for a, b in found)
    assert not list(out.parent.glob(".*.tmp"))


def test_documents_under_a_takedown_are_in_no_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write_corpus(tmp_path / "corpus")
    with opened(recipe) as session:
        sign(session)
        (gone,) = [
            row["doc_id"].hex()
            for part in session.pipeline.parts(files.DOCUMENTS, S)
            for row in pq.read_table(session.pipeline.store.local(part.path)).to_pylist()
            if row["text"] == LONG
        ]
    _, out = export(recipe)
    before = pq.read_table(out)["doc_id"].to_pylist()
    assert gone in before
    out.unlink()
    home = Home.resolve(str(recipe.parent / "home"))
    target = url_target("http://a.example/0")
    request_takedown(Registry(home.catalog_url), FileStore(home.store_url), target, "asked")
    assert export(recipe)[0] == 1, "the part without it is not there yet"
    assert "documents of s is not complete" in capsys.readouterr().err
    assert not out.exists()
    with opened(recipe) as session:
        sign(session)
    assert export(recipe)[0] == 0
    assert sorted(pq.read_table(out)["doc_id"].to_pylist()) == sorted(set(before) - {gone})


def test_a_version_is_exported_by_its_own_recipe(place: Place, tmp_path: Path) -> None:
    made = []
    for number, name in enumerate((VERSION, str(place.recipe))):
        out = tmp_path / f"{number}.parquet"
        command = ["export-signatures", name, "--snapshot", "crawl-1", "--out", str(out)]
        assert main([*command, "--home", str(place.home), "--json"]) == 0
        made.append(out.read_bytes())
    assert made[0] == made[1]


def test_signatures_of_a_version_are_a_registered_copy(place: Place, tmp_path: Path) -> None:
    home = Home.resolve(str(place.home))
    registry = Registry(home.catalog_url)
    out = tmp_path / "s.parquet"
    command = ["export-signatures", VERSION, "--snapshot", "crawl-1", "--out", str(out)]
    assert main([*command, "--home", str(place.home)]) == 0
    (row,) = registry.copies()
    assert (row.kind, row.holds) == ("signatures", {VERSION: None})
    held = set(pq.read_table(out)["doc_id"].to_pylist())
    store = open_store(home.store_url)
    assert held_documents(row, out, registry, store, {VERSION}) == held
    out.write_bytes(out.read_bytes()[:-20])
    assert held_documents(row, out, registry, store, {VERSION}) is None


def test_an_export_that_cannot_be_made_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write_corpus(tmp_path / "corpus", TEXTS[:8])
    with opened(recipe) as session:
        sign(session)
    assert export(recipe, "--snapshot", "t")[0] == 1
    assert "recipe r has no snapshot t; it has s" in capsys.readouterr().err
    assert export(recipe, "--out", str(tmp_path / "no" / "x.parquet"))[0] == 1
    assert "cannot write" in capsys.readouterr().err
