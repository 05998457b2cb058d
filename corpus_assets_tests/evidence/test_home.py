"""Evidence of a home: versions become arms, results come back, takedowns reach all of it."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from catalog.cli.commands import main as catalog_main
from catalog.db.registry import Registry
from corpus_assets.cli.main import main
from corpus_assets.core.errors import EvidenceError
from corpus_assets.core.home import Home
from corpus_assets.core.store import Store
from corpus_assets.evidence.gate import stored_results
from corpus_assets.evidence.home import (
    import_runs,
    pack_plan,
    plan_comparison,
    read_arms,
    stored_plan,
)
from corpus_assets.evidence.plan import Plan
from corpus_assets.evidence.results import TABLE, measured, write_run
from corpus_assets.evidence.run import Pack, batches_digest, wanted_runs
from corpus_assets.session import open_home
from corpus_assets.shards.tokens import Encoder
from corpus_assets.takedown.run import run_pending
from corpus_assets_tests.conftest import Place
from corpus_assets_tests.evidence.tiny import texts, tiny_encoder
from corpus_loader import Loader

PROXY = "{size: nano, tokens: 4096, unique_tokens: %d, sequence: 64, batch_tokens: 512"


def write_settings(
    folder: Path, held: list[str], protocol: str = "unique", tokens: int = 2048
) -> Path:
    rows = [
        {"id": f"h{i}", "url": f"https://held{i}.example/page", "text": text, "license": "CC0-1.0"}
        for i, text in enumerate(held)
    ]
    (folder / "held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    item = {"id": "q1", "benchmark": "made", "text": "What colour has the copper gate?",
            "answer": "It is green."}  # fmt: skip
    (folder / "questions.jsonl").write_text(json.dumps(item) + "\n")
    (folder / "held.yaml").write_text(
        "domains: {prose: [{files: held.jsonl}]}\nanswers: {made: [{files: questions.jsonl}]}\n"
    )
    path = folder / "compare.yaml"
    path.write_text(
        f"baseline: small-1\narms: [small-1]\nheldout: held.yaml\n"
        f"proxy: {PROXY % tokens}, protocol: {protocol}}}\n"
        "learning_rates: [1.0e-3]\nseeds: [1, 2]\n"
    )
    return path


@pytest.fixture
def home(place: Place) -> Home:
    return Home.resolve(str(place.home))


@pytest.fixture
def opened(place: Place) -> tuple[Store, Registry]:
    return open_home(Home.resolve(str(place.home)))


def version_text(store: Store, registry: Registry) -> tuple[str, Loader, Encoder]:
    """A document of the version that every arm of it has, as it stands in its shards."""
    from corpus_assets.evidence.arms import version_documents
    from corpus_assets.evidence.home import _encoder
    from corpus_assets.versions.published import published_manifest

    manifest = published_manifest(store, registry.version("small-1"))
    encoder = _encoder(store, manifest)
    loader = Loader(manifest, store.local, global_batch=1)
    found = version_documents(loader, None, encoder, encoder)
    first = next(one for one in found if len(one.tokens) > 60)  # in the order of the sample
    return encoder.decode_bytes(first.tokens).decode(), loader, encoder


def test_an_arm_holds_whole_documents_of_its_version_and_exactly_the_planned_tokens(
    opened: tuple[Store, Registry], tmp_path: Path
) -> None:
    store, registry = opened
    plan = plan_comparison(store, registry, write_settings(tmp_path, texts(4, 5)))
    _, loader, encoder = version_text(store, registry)
    arms = read_arms(store, registry, plan, encoder)["small-1"]
    one, two = ({d.doc_id for d in arms[seed].documents} for seed in plan.seeds)
    assert one != two, "each seed draws its own documents"
    arm = arms[2]
    assert sum(arm.samples.values()) == 2048 // 64
    spelled = {}
    for number in range(len(loader.shards)):
        shard = loader.shard(number)
        for sample in range(len(shard)):
            for span in shard.spans(sample):
                piece = shard.sample(sample)[span.offset : span.offset + span.length]
                spelled.setdefault(span.doc_id, {})[span.doc_token_offset] = piece.tolist()
    for document in arm.documents:
        pieces = spelled[document.doc_id]
        assert document.tokens.tolist() == [t for at in sorted(pieces) for t in pieces[at]]
        assert document.tokens[-1] == encoder.eod_id


def test_under_another_tokenizer_an_arm_has_the_same_texts(
    opened: tuple[Store, Registry],
) -> None:
    from corpus_assets.evidence.arms import version_documents

    _, loader, own = version_text(*opened)
    other = tiny_encoder()
    before = version_documents(loader, None, own, own)
    after = version_documents(loader, None, other, own)
    assert [one.doc_id for one in before] == [one.doc_id for one in after]
    for one, anew in zip(before, after, strict=True):
        assert other.decode_bytes(anew.tokens) == own.decode_bytes(one.tokens)
        assert anew.tokens[-1] == other.eod_id
        assert anew.tokens.tolist() != one.tokens.tolist()


def test_a_pack_has_the_batches_of_the_store_hash_by_hash(
    home: Home, opened: tuple[Store, Registry], tmp_path: Path
) -> None:
    from corpus_assets.evidence.run import lay_group

    store, registry = opened
    plan = plan_comparison(store, registry, write_settings(tmp_path, texts(4, 5)))
    pack_plan(home, store, registry, plan, tmp_path / "pack", max_mib=50)
    pack = Pack(tmp_path / "pack")
    _, _, encoder = version_text(store, registry)
    arms = read_arms(store, registry, plan, encoder)["small-1"]
    for seed in plan.seeds:
        arm = arms[seed]
        parts = [
            lay_group([d.tokens for d in arm.documents if d.group == group], n, 64, encoder.pad_id)
            for group, n in sorted(arm.samples.items())
        ]
        order = arm.order(plan.positions, seed)
        draws = order.locate(np.arange(plan.positions))
        rows = [parts[g][s] for g, s in zip(draws.group, draws.sample, strict=True)]
        found = pack.samples("small-1", seed)[
            np.load(tmp_path / "pack" / pack.body["arms"]["small-1"][str(seed)]["order"])
        ]
        assert (found == np.stack(rows)).all()
    pytest.importorskip("torch", reason="training needs the extra `evidence`: torch")
    one, two = (batches_digest(pack.data("small-1", seed), plan.positions) for seed in plan.seeds)
    assert one != two


def test_a_contaminated_held_out_set_is_refused_by_the_document_and_not_its_text(
    home: Home, opened: tuple[Store, Registry], tmp_path: Path
) -> None:
    store, registry = opened
    text, *_ = version_text(store, registry)
    settings = write_settings(tmp_path, [*texts(3, 5), text])
    plan = plan_comparison(store, registry, settings)
    with pytest.raises(EvidenceError, match=r"prose/h3 .\d+% in [0-9a-f]{32}") as caught:
        pack_plan(home, store, registry, plan, tmp_path / "pack", None)
    assert text[:40] not in str(caught.value)
    assert not (tmp_path / "pack").exists()


def test_a_plan_of_other_code_is_not_packed(
    home: Home, opened: tuple[Store, Registry], tmp_path: Path
) -> None:
    store, registry = opened
    plan = plan_comparison(store, registry, write_settings(tmp_path, texts(4, 5)))
    other = plan.model_copy(update={"code": "0" * 64})
    with pytest.raises(EvidenceError, match="different code .0{16}.* plan the comparison again"):
        pack_plan(home, store, registry, other, tmp_path / "pack", None)
    assert not (tmp_path / "pack").exists()


def test_the_pool_protocol_gives_every_arm_the_same_part_of_the_pool(
    opened: tuple[Store, Registry], tmp_path: Path
) -> None:
    store, registry = opened
    plan = plan_comparison(store, registry, write_settings(tmp_path, texts(4, 5), "pool"))
    refs = {"small-1": plan.arms["small-1"], "again": plan.arms["small-1"]}
    both = Plan.model_validate(
        plan.model_dump() | {"arms": {k: v.identity() for k, v in refs.items()}}
    )
    _, _, encoder = version_text(store, registry)
    arms = read_arms(store, registry, both, encoder)
    for seed in plan.seeds:
        assert [d.doc_id for d in arms["again"][seed].documents] == [
            d.doc_id for d in arms["small-1"][seed].documents
        ]


def fake_results(folder: Path, plan: Plan, times: int = 1) -> None:
    heldout = Pack(folder).heldout()
    for number, run in enumerate(wanted_runs(plan.identity())):
        table = pa.table({
            "document": np.arange(len(heldout)), "domain": heldout["domain"],
            "host": heldout["host"], "nats": np.full(len(heldout), times * 8 * np.log(2) * (number + 1)),
            "bytes": np.full(len(heldout), 8), "tokens": np.ones(len(heldout)), "item": heldout["item"],
        }).cast(TABLE)  # fmt: skip
        write_run(folder / "runs", measured(
            table, plan=plan.digest(), arm=run.arm, size="nano", learning_rate=run.learning_rate,
            seed=run.seed, tokens=run.tokens, steps=8, curve=[[4096.0, 1.0]],
            tokens_per_second=1.0, hardware="cpu", torch="0", code=plan.code,
        ))  # fmt: skip


def test_imported_results_are_in_the_store_and_their_means_in_the_catalog(
    home: Home, opened: tuple[Store, Registry], tmp_path: Path
) -> None:
    store, registry = opened
    plan = plan_comparison(store, registry, write_settings(tmp_path, texts(4, 5)))
    folder = tmp_path / "pack"
    pack_plan(home, store, registry, plan, folder, None)
    fake_results(folder, plan)
    found = import_runs(home, store, registry, folder)
    assert (found.runs, found.strays) == (2, ())
    (stored,) = stored_results(store)
    assert (stored.digest, [run.seed for run in stored.runs]) == (plan.digest(), [1, 2])
    assert stored_plan(store, plan.digest()[:12]) == plan
    rows = {row.name: row.value for row in registry.metrics(version="small-1")}
    assert rows["bits_per_byte/prose/nano/lr0.001/seed1"] == pytest.approx(1.0)
    assert rows["bits_per_byte/made/nano/lr0.001/seed2"] == pytest.approx(2.0)
    (one,) = (folder / "runs").glob("*seed2.json")
    one.write_text(one.read_text().replace(plan.code, "0" * 64))
    (two,) = (folder / "runs").glob("*seed1.json")
    two.unlink()
    told = import_runs(home, store, registry, folder).strays
    fake_results(folder, plan, times=2)
    with pytest.raises(EvidenceError, match="imported before with other results"):
        import_runs(home, store, registry, folder)
    assert [line.split()[1:4] for line in told] == [["was", "made", "by"], ["of", "2", "planned"]]


def test_a_takedown_deletes_held_out_sets_with_the_document_and_weights_of_the_version(
    home: Home, place: Place, opened: tuple[Store, Registry], tmp_path: Path
) -> None:
    store, registry = opened
    settings = write_settings(tmp_path, texts(4, 5))
    plan = plan_comparison(store, registry, settings)
    folder = tmp_path / "pack"
    pack_plan(home, store, registry, plan, folder, None)
    fake_results(folder, plan)
    (result,) = (folder / "runs").glob("*seed1.json")
    (folder / "runs" / f"{result.stem}.weights.npz").write_bytes(b"weights")
    import_runs(home, store, registry, folder)
    (weights,) = store.list("evidence/weights")
    assert weights.startswith("evidence/weights/small-1/")
    _, loader, _ = version_text(store, registry)
    doc_id = loader.shard(0).spans(0)[0].doc_id.hex()
    asked = ["takedown", "request", "--reason", "asked", "--home", str(place.home)]
    with pytest.raises(SystemExit, match="0"):
        catalog_main([*asked, "--doc-id", doc_id])
    with pytest.raises(SystemExit, match="0"):
        catalog_main([*asked, "--url", "https://held2.example/page"])
    run_pending(Home.resolve(str(place.home)))
    assert registry.version("small-1").status != "live"
    assert list(store.list("evidence/weights")) == []
    assert list(store.list("evidence/heldout")) == []
    assert len(stored_results(store)[0].runs) == 2  # numbers hold no text
    with pytest.raises(EvidenceError, match="plan again"):
        pack_plan(home, store, registry, plan, tmp_path / "other", None)
    settings.write_text(settings.read_text().replace("small-1", "small-1.td1"))
    later = plan_comparison(store, registry, settings)
    assert later.heldout != plan.heldout


def test_the_commands_plan_and_pack(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = write_settings(tmp_path, texts(4, 5))
    home = ["--home", str(place.home), "--json"]
    assert main(["evidence", "plan", str(settings), "-o", str(tmp_path / "plan.json"), *home]) == 0
    digest = json.loads(capsys.readouterr().out)["digest"]
    assert main(["evidence", "pack", str(tmp_path / "pack"), "--plan", digest, *home]) == 0
    assert Pack(tmp_path / "pack").plan_digest == digest
    assert (tmp_path / "plan.json").read_bytes() == (tmp_path / "pack" / "plan.json").read_bytes()
