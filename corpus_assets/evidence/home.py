"""Evidence of a home: plans and packs of its versions, results and weights in its store.

    evidence/heldout/DIGEST.parquet       held-out sets, by content
    evidence/plans/DIGEST.json            plans
    evidence/runs/PLAN/NAME.json, ...     results, as `results` writes them
    evidence/weights/VERSION/PLAN/NAME.weights.npz   where they were asked for

Packs and weights hold text, or can spell it out: both are registered before they are written
(`catalog.copies`). Weights of a version go when it is revoked (`versions.gc`), packs of the home
with a takedown of one of their documents; results of a version that was revoked meanwhile are
refused. A held-out set that a takedown covers goes with the takedown (`forget_heldout`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import yaml
from pydantic import Field, ValidationError
from tokenizers import Tokenizer

from catalog.copies import writing
from catalog.db import MetricRow, Registry, VersionRow
from catalog.figures import counted
from corpus_assets.core.errors import EvidenceError
from corpus_assets.core.home import Home
from corpus_assets.core.scratch import scratch
from corpus_assets.core.store import LocalStore, Store, read_checked
from corpus_assets.evidence.arms import (
    Arm,
    Document,
    choose,
    make_arm,
    reach_of,
    run_shares,
    start_of,
    version_documents,
)
from corpus_assets.evidence.heldout import (
    dump_heldout,
    encode_heldout,
    heldout_digest,
    is_taken_down,
    load_heldout,
    parse_heldout,
    refuse_contaminated,
)
from corpus_assets.evidence.on_ray import run_on_ray
from corpus_assets.evidence.pack import write_pack
from corpus_assets.evidence.plan import (
    FORMAT,
    ArmRef,
    Plan,
    Sweep,
    parse_plan,
    strays,
)
from corpus_assets.evidence.results import Run, read_runs, run_name
from corpus_assets.evidence.run import RUNS, Pack, code_digest, run_pack, wanted_runs
from corpus_assets.graph import EngineChoice
from corpus_assets.ingest import Suppressions
from corpus_assets.inspect import EVIDENCE_JOULES, EVIDENCE_SECONDS
from corpus_assets.recipe import ComparisonRule, EvidenceSettings, Runs
from corpus_assets.shards import Encoder
from corpus_assets.versions import WEIGHTS_FOLDER, published_manifest
from corpus_loader import Loader, Manifest

HELDOUT = "evidence/heldout"
PLANS = "evidence/plans"
STORED_RUNS = "evidence/runs"
MOST_SHARE = 0.9
"""Of a version's tokens that one seed may have: of more, its seeds tell nothing of documents."""


class ComparisonSettings(Runs):
    """What `corpus evidence plan` reads: a YAML file."""

    baseline: str = Field(description="a version")
    arms: tuple[str, ...] = Field(min_length=1, description="versions to compare with it")
    heldout: str = Field(description="YAML file of the held-out set, from this file's folder")
    rule: ComparisonRule = ComparisonRule()


@dataclass(frozen=True)
class Imported:
    """What came back from a machine that trained."""

    plan: str
    runs: int
    strays: tuple[str, ...]

    def __str__(self) -> str:
        return f"imported {counted(self.runs, 'run')} of plan {self.plan[:16]}"

    @property
    def notes(self) -> list[str]:
        return [f"deviation: {stray}" for stray in self.strays]


def plan_comparison(store: Store, registry: Registry, path: Path) -> Plan:
    """Pin what a YAML file asks for: versions, held-out set, tokenizer and code by their digests."""
    try:
        asked = ComparisonSettings.model_validate(yaml.safe_load(path.read_text("utf-8")) or {})
    except (OSError, yaml.YAMLError, ValidationError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else str(error)
        raise EvidenceError(f"{path} asks for no comparison ({problem}); correct it") from error
    return _pinned(store, registry, asked, path.parent, path.name)


def plan_version(
    store: Store,
    registry: Registry,
    asked: EvidenceSettings,
    folder: Path,
    version: str,
    baseline: str | None = None,
) -> Plan:
    """Pin what a recipe in `folder` asks of a version: its comparison with the baseline; `baseline`
    is the version that the recipe's word for it stands for."""
    if asked.heldout is None:
        raise EvidenceError(
            "the recipe has no held-out set: set `evidence.heldout`, or plan the comparison "
            "with `corpus evidence plan FILE`"
        )
    named = {"baseline": baseline or asked.baseline, "arms": (version,), "rule": asked.gate}
    body = asked.model_dump(exclude={"gate"}) | named
    return _pinned(store, registry, ComparisonSettings.model_validate(body), folder, "the recipe")


def store_heldout(store: Store, registry: Registry, path: Path) -> tuple[str, pa.Table]:
    """Put the held-out set of a YAML file into the store; its digest and what it holds."""
    heldout = load_heldout(path, _orders(registry))
    own = heldout_digest(heldout)
    store.write(f"{HELDOUT}/{own}.parquet", dump_heldout(heldout))
    return own, heldout


def _pinned(
    store: Store, registry: Registry, asked: ComparisonSettings, folder: Path, name: str
) -> Plan:
    arms = {one: one for one in (asked.baseline, *asked.arms)}
    runs = Runs.model_validate(asked.model_dump(include=set(Runs.model_fields)))
    heldout = folder / asked.heldout
    return pin(store, registry, runs, asked.baseline, arms, heldout, asked.rule, name)


def pin(
    store: Store,
    registry: Registry,
    runs: Runs,
    baseline: str,
    arms: Mapping[str, str],
    heldout: Path,
    rule: ComparisonRule,
    name: str,
    sweep: Sweep | None = None,
) -> Plan:
    """Pin versions by arm, held-out set, tokenizer and code by their digests, and store the plan;
    `name` is for messages."""
    own, _ = store_heldout(store, registry, heldout)
    refs = {arm: _arm_ref(store, registry.version(version)) for arm, version in arms.items()}
    body = runs.model_dump() | {
        "format": FORMAT,
        "baseline": baseline,
        "arms": {arm: ref.identity() for arm, ref in refs.items()},
        "heldout": own,
        "tokenizer": version_encoder(store, registry, arms[baseline]).sha256,
        "rule": rule.identity(),
        "code": code_digest(),
        "sweep": None if sweep is None else sweep.identity(),
    }
    plan = parse_plan(body, name)
    for arm in plan.arms:
        if arm == plan.baseline or plan.proxy.protocol != "pool":  # which has what its part left
            _refuse_small(plan, arm)
    store.write(f"{PLANS}/{plan.digest()}.json", plan.dump())
    return plan


def pack_plan(
    home: Home,
    store: Store,
    registry: Registry,
    plan: Plan,
    folder: Path,
    max_mib: float | None = None,
    wanted: Mapping[str, Sequence[int]] | None = None,
) -> int:
    """Write the pack of a plan, registered as a copy of its versions, and return its bytes; with
    `wanted`, of some seeds of some arms alone.

    The held-out set must be free of takedowns in force, and no arm may hold a document of it. A
    pack holds the code that is here: that of the plan, or the plan is refused.
    """
    if (here := code_digest()) != plan.code:
        raise EvidenceError(
            f"the plan was made by different code ({plan.code[:16]}) than is here ({here[:16]}): its "
            "runs would not match the plan; plan the comparison again, or pack where it was planned"
        )
    heldout = _heldout(store, registry, plan)
    for arm in {plan.baseline, *(plan.arms if wanted is None else wanted)}:
        _expect_live(registry, plan, arm)
    encoder = version_encoder(store, registry, plan.arms[plan.baseline].version)
    arms = read_arms(store, registry, plan, encoder, wanted)
    for name, by_seed in arms.items():
        refuse_contaminated(heldout, arm_texts(by_seed.values(), encoder), name)
    encoded = encode_heldout(heldout, encoder)
    versions = {plan.arms[arm].version: None for arm in arms}
    with writing(registry, home.root, folder, "pack", versions):
        return write_pack(folder, plan, arms, encoded, encoder.info, max_mib)


def read_arms(
    store: Store,
    registry: Registry,
    plan: Plan,
    encoder: Encoder,
    wanted: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, dict[int, Arm]]:
    """Return what each arm of a plan trains on by seed, read from its version's shards; with
    `wanted`, of some seeds of some arms alone.

    `unique`: the documents from the seed's place on that have `unique_tokens`. `anneal`: the baseline
    so, the others as many as they need for their part of a run. `pool`: of the
    baseline so, of the others those that the same part of the pool left; they repeat as they must.
    Where the plan does not say how large a version is, all seeds have the documents of the first.
    """
    proxy = plan.proxy
    reach: dict[int, int] = {}
    found: dict[str, dict[int, Arm]] = {}
    asked = dict.fromkeys(plan.arms, plan.seeds) if wanted is None else wanted
    pooled = {plan.baseline} if proxy.protocol == "pool" else set()  # it says what their part is
    every = {seed for seeds in asked.values() for seed in seeds}
    for name in sorted({*asked, *pooled}, key=lambda one: (one != plan.baseline, one)):
        manifest = _manifest(store, registry, plan, name)
        loader = Loader(manifest, store.local, global_batch=1)
        is_whole = proxy.protocol != "pool" or name == plan.baseline
        samples = plan.samples_of(name)
        tokens = samples * proxy.sequence if is_whole else None
        is_drawn = plan.arms[name].tokens is not None
        seeds = every if name in pooled else asked[name]
        starts = {seed: start_of(seed, plan.seeds) if is_drawn else 0 for seed in seeds}
        documents = version_documents(
            loader, tokens, encoder, _encoder(store, manifest), list(starts.values())
        )
        loader.close()
        found[name] = {}
        for seed, start in starts.items():
            chosen = choose(documents, start, tokens, None if is_whole else reach[seed])
            if name == plan.baseline:
                reach[seed] = reach_of(chosen, start)
            if seed not in asked.get(name, ()):
                continue
            own = samples if is_whole else _samples(chosen, proxy.sequence)
            found[name][seed] = make_arm(chosen, run_shares(manifest), own, proxy.sequence)
    return {name: arms for name, arms in found.items() if arms}


def arm_texts(seeds: Iterable[Arm], encoder: Encoder) -> pa.Table:
    """Return `doc_id` and `text` of the documents that the seeds of an arm have, spelled from their
    tokens."""
    documents = {(one.doc_id, one.group): one for arm in seeds for one in arm.documents}.values()
    ordered = [encoder.in_text_order(one.tokens) for one in documents]
    texts = [encoder.decode_bytes(tokens).decode("utf-8", "replace") for tokens in ordered]
    return pa.table(
        {
            "doc_id": pa.array([one.doc_id for one in documents], pa.binary(16)),
            "text": pa.array(texts, pa.large_string()),
        }
    )


def version_encoder(store: Store, registry: Registry, version: str) -> Encoder:
    """Return the tokenizer of a version."""
    return _encoder(store, published_manifest(store, registry.version(version)))


def import_runs(home: Home, store: Store, registry: Registry, folder: Path) -> Imported:
    """Bring results of a pack into the store, and their means into the catalog's metrics.

    Those of a version that a takedown revoked meanwhile are refused, all of the pack with them.
    Metrics are bits per byte, documents of a domain weighted equally, by version:
    `bits_per_byte/DOMAIN/SIZE/lrRATE/seedSEED`, of the longest runs.
    """
    pack = Pack(folder)
    plan = parse_plan(pack.file("plan.json"))
    runs = [run for run in read_runs(folder / RUNS) if run.plan == plan.digest()]
    count = len(pack.heldout())
    for run in runs:
        if run.choices().num_rows != count:
            raise EvidenceError(
                f"{run.name} has {counted(run.choices().num_rows, 'document')}, the held-out set has {count}; "
                "run the pack again"
            )
    _refuse_revoked(registry, plan, {run.arm for run in runs})
    stray_runs = tuple(strays(plan, read_runs(folder / RUNS)))
    _refuse_other(store, plan, runs)
    store.write(f"{PLANS}/{plan.digest()}.json", plan.dump())
    for run in runs:
        for name, data in run.files().items():
            store.write(f"{STORED_RUNS}/{plan.digest()}/{name}", data)
        weights = folder / RUNS / f"{run.name}.weights.npz"
        if weights.exists():
            version = plan.arms[run.arm].version
            _store_weights(home, store, registry, version, plan.digest(), weights)
    registry.add_metrics(
        [row for run in runs if run.tokens == plan.proxy.tokens for row in _metrics(plan, run)]
        + [row for run in runs for row in _cost(plan, run)]
    )
    return Imported(plan.digest(), len(runs), stray_runs)


def _refuse_other(store: Store, plan: Plan, runs: Sequence[Run]) -> None:
    """Refuse a run that is in the store with other results: a measurement is not replaced."""
    for run in runs:
        path = f"{STORED_RUNS}/{plan.digest()}/{run.name}.json"
        table = f"{STORED_RUNS}/{plan.digest()}/{run.name}.parquet"
        if store.exists(path) and store.read(table) != run.table_bytes:
            raise EvidenceError(
                f"{run.name} was imported before with other results; measurements are not replaced: "
                f"find out which are true, and delete {path} if those are not"
            )


def missing_runs(store: Store, plan: Plan) -> int:
    """Return how many runs of a plan the store has no result of."""
    wanted = {
        run_name(run.arm, plan.proxy.size, run.learning_rate, run.seed, run.tokens)
        for run in wanted_runs(plan.identity())
    }
    folder = f"{STORED_RUNS}/{plan.digest()}"
    return len(wanted - {Path(path).stem for path in store.list(folder) if path.endswith(".json")})


def train_missing(
    home: Home,
    store: Store,
    registry: Registry,
    plan: Plan,
    say: Callable[[str], None],
    wanted: Mapping[str, Sequence[int]] | None = None,
    engine: EngineChoice | None = None,
) -> Imported:
    """Train what a plan asks for and the store has no result of: on this machine, or on the GPUs of
    the Ray cluster that `engine` names.

    What is finished is stored even if the rest fails, so the next call goes on from there. The
    pack lies in the home's scratch folder: it holds text, and `corpus gc` and takedowns find it
    there when the process is killed.
    """
    with scratch(home, "proxy-runs") as place:
        folder = place / "pack"
        pack_plan(home, store, registry, plan, folder, wanted=wanted)
        for path in store.list(f"{STORED_RUNS}/{plan.digest()}"):
            (folder / RUNS / Path(path).name).write_bytes(store.read(path))
        try:
            if engine is not None and engine.is_ray:
                run_on_ray(folder, address=engine.ray_address, say=say)
            else:
                run_pack(folder, say=say)
        finally:
            found = import_runs(home, store, registry, folder)
    return found


def stored_plan(store: Store, digest: str) -> Plan:
    """Return a plan by its digest, or by enough of its beginning."""
    found = [path for path in store.list(PLANS) if Path(path).name.startswith(digest)]
    if not found:
        raise EvidenceError(
            f"no plan here begins with {digest}; `corpus evidence plan FILE` makes one and prints "
            "its digest"
        )
    if len(found) > 1:
        raise EvidenceError(f"{len(found)} plans begin with {digest}; give more of the digest")
    return parse_plan(store.read(found[0]), found[0])


def forget_heldout(store: Store, orders: Suppressions) -> list[str]:
    """Delete held-out sets of which an order covers a document; plans with them end there."""
    gone = []
    for path in store.list(HELDOUT):
        table = parse_heldout(store.read(path), Path(path).stem)
        if any(is_taken_down(row, orders) for row in table.to_pylist()):
            store.delete(path)
            gone.append(path)
    return gone


def _arm_ref(store: Store, row: VersionRow) -> ArmRef:
    """Name a version, and the tokens of the groups that a run of it draws from."""
    manifest = published_manifest(store, row)
    drawn = run_shares(manifest)
    tokens = sum(group.tokens for group in manifest.groups if drawn.get(group.id, 0) > 0)
    return ArmRef(version=row.name, manifest=row.manifest_sha256, tokens=tokens or None)


def _refuse_small(plan: Plan, arm: str) -> None:
    """Refuse a version of which all seeds would have nearly the same documents."""
    unique = plan.samples_of(arm) * plan.proxy.sequence
    tokens = plan.arms[arm].tokens or 0
    if unique > MOST_SHARE * tokens:
        part = plan.proxy.unique_tokens / unique
        most, ideally = int(MOST_SHARE * tokens * part), int(tokens // len(plan.seeds) * part)
        raise EvidenceError(
            f"version {plan.arms[arm].version} has {tokens:,} tokens, and every seed would train on {unique:,} of "
            "them: how much depends on which documents were drawn could not be seen; plan at most "
            f"{most:,} unique tokens, ideally {ideally:,}, so that seeds have no document in common"
        )


def _metrics(plan: Plan, run: Run) -> Iterator[MetricRow]:
    table = run.table()
    bits = table["nats"].to_numpy() / np.log(2) / np.maximum(table["bytes"].to_numpy(), 1)
    domains = np.array(table["domain"].to_pylist())
    for domain in np.unique(domains).tolist():
        name = f"bits_per_byte/{domain}/{run.size}/lr{run.learning_rate:g}/seed{run.seed}"
        value = float(bits[domains == domain].mean())
        yield MetricRow(name, value, version=plan.arms[run.arm].version)


def _cost(plan: Plan, run: Run) -> Iterator[MetricRow]:
    """What a run took, for `corpus cost`."""
    of = f"{plan.digest()[:16]}/{run.name}"
    device = run.device.partition(":")[0]
    version = plan.arms[run.arm].version
    if run.seconds is not None:
        yield MetricRow(f"{EVIDENCE_SECONDS}/{device}/{of}", run.seconds, version=version)
        if run.watts is not None:
            joules = run.seconds * run.watts
            yield MetricRow(f"{EVIDENCE_JOULES}/{device}/{of}", joules, version=version)


def _heldout(store: Store, registry: Registry, plan: Plan) -> pa.Table:
    path = f"{HELDOUT}/{plan.heldout}.parquet"
    if not store.exists(path):
        raise EvidenceError(
            f"held-out set {plan.heldout[:16]} is no longer in the store; plan again"
        )
    table = parse_heldout(store.read(path), plan.heldout)
    orders = _orders(registry)
    gone = [row["id"] for row in table.to_pylist() if is_taken_down(row, orders)]
    if gone:
        raise EvidenceError(
            f"{len(gone)} held-out documents were taken down since the plan was made; plan again"
        )
    return table


def _store_weights(
    home: Home, store: Store, registry: Registry, version: str, plan: str, weights: Path
) -> None:
    folder = f"{WEIGHTS_FOLDER}/{version}/{plan}"
    path = f"{folder}/{weights.name}"
    place = Path(store.url) / folder if isinstance(store, LocalStore) else f"{store.url}/{folder}"
    remove = partial(store.delete, path)
    with writing(registry, home.root, place, "weights", {version: None}, remove):
        store.write(path, weights.read_bytes())


def _refuse_revoked(registry: Registry, plan: Plan, arms: Iterable[str]) -> None:
    for arm in sorted(arms):
        row = registry.version(plan.arms[arm].version)
        if row.status != "live":
            instead = f" {row.superseded_by}" if row.superseded_by else " another version"
            raise EvidenceError(
                f"arm {arm} was trained on version {row.name}, which a takedown has revoked: "
                "nothing was imported. Delete the pack, which holds removed documents, and compare"
                f"{instead} instead"
            )


def _expect_live(registry: Registry, plan: Plan, arm: str) -> VersionRow:
    """Return the version of an arm; refused where it was revoked, or is not the one planned."""
    row = registry.version(plan.arms[arm].version)
    if row.status != "live":
        instead = f" with {row.superseded_by} instead" if row.superseded_by else ""
        raise EvidenceError(
            f"version {row.name} was revoked by a takedown; plan the comparison again{instead}"
        )
    if row.manifest_sha256 != plan.arms[arm].manifest:
        raise EvidenceError(f"version {row.name} is not the one that was planned; plan again")
    return row


def _manifest(store: Store, registry: Registry, plan: Plan, arm: str) -> Manifest:
    return published_manifest(store, _expect_live(registry, plan, arm))


def _encoder(store: Store, manifest: Manifest) -> Encoder:
    ref = manifest.tokenizer
    data = read_checked(store, ref.path, ref.sha256)
    names = Tokenizer.from_str(data.decode())
    eod, pad = names.id_to_token(ref.eod_id) or "", names.id_to_token(ref.pad_id) or ""
    return Encoder(data, eod_token=eod, pad_token=pad)


def _samples(documents: Sequence[Document], sequence: int) -> int:
    return max(1, sum(len(document.tokens) for document in documents) // sequence)


def _orders(registry: Registry) -> Suppressions:
    return Suppressions.from_rows((row.kind, row.value) for row in registry.suppressions())
