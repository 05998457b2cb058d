"""What a version took to compute, and what crawls of other sizes would take.

A version's cost is that of the artifacts it was made of, each counted once, by whichever build
computed it. An estimate scales the cost of a source's parts and snapshots by the bytes of its
files. Stages that compare a snapshot with earlier ones go by the bytes of all of these, so that with
`clusters.scope: all` the hundredth crawl costs more than the first. Calibrations learn from samples,
and are counted once. The interval is what other draws of as many parts and snapshots would have given
(bootstrap): it knows nothing of crawls unlike the measured ones.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import yaml

from catalog.answers import JSON_ONLY, Bytes, Count, Shown
from catalog.db import ArtifactRow, Registry, VersionRow
from catalog.errors import CatalogError
from catalog.figures import counted, short, size
from catalog.pages import Section, render
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home
from corpus_assets.core.stage import Scope
from corpus_assets.ingest import DOCUMENTS
from corpus_assets.recipe import Recipe
from corpus_assets.session import open_home, pipeline_as_of, reopen_session
from corpus_assets.stages import STAGES
from corpus_assets.versions import FREED_STAGES, load_published_recipe

HOUR_S = 3600.0
TEMPLATE = Path(__file__).parent / "templates" / "cost.html"
GIB = float(1 << 30)
TRILLION = 1e12
DRAWS = 1000
SEED = 20
BETWEEN = (5.0, 95.0)  # percentiles of the draws
FEW_PARTS = 10  # whose draws say too little of how much parts differ
TELLS_APART = 1e-3  # of the squared sizes: how unlike the windows of snapshots have to be
Floats = npt.NDArray[np.float64]

OWN_PRICES = "prices are round defaults; pass your own with --prices"


@dataclass(frozen=True)
class Prices:
    """In one currency. The defaults are round figures to be replaced by your own."""

    cpu_hour: float = 0.05
    gpu_hour: float = 2.5
    gib_month: float = 0.02
    thousand_writes: float = 0.005
    thousand_reads: float = 0.0004


def load_prices(path: str | None) -> Prices:
    """Read a price table: a YAML mapping of the names that `Prices` has."""
    if path is None:
        return Prices()
    try:
        found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CorpusError(f"cannot read the price table {path}: {error}") from error
    names = [field.name for field in fields(Prices)]
    if not isinstance(found, dict) or not set(found) <= set(names):
        raise CorpusError(f"the price table {path} must be a mapping of {', '.join(names)}")
    if bad := [name for name, value in found.items() if not _is_amount(value)]:
        raise CorpusError(f"{path}: {bad[0]} must be a number, 0 or more")
    return Prices(**{name: float(value) for name, value in found.items()})


def _is_amount(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < math.inf  # type: ignore[operator]


@dataclass(frozen=True)
class Money:
    """What something costs, by kind; storage for a month."""

    cpu: float
    storage: float
    requests: float

    @property
    def total(self) -> float:
        return self.cpu + self.storage + self.requests


def shown_money(amount: float) -> str:
    """Return money with as many digits as it has."""
    return f"{amount:,.2f}" if amount >= 1 else f"{amount:.6f}"


def _seconds(hours: float) -> str:
    return f"{hours * HOUR_S:,.1f}"


@dataclass(frozen=True)
class Cost:
    """Of a stage, or of everything. `unmeasured` parts were computed by a build that noted no
    times."""

    parts: Count = 0
    unmeasured: int = 0
    documents: int = 0
    cpu_hours: Annotated[float, Shown("CPU s", _seconds)] = 0.0
    wall_hours: Annotated[float, Shown("wall s", _seconds)] = 0.0
    peak_bytes: Annotated[Bytes, Shown("peak memory")] = 0
    bytes_in: Annotated[Bytes, Shown("read")] = 0
    bytes_out: Annotated[Bytes, Shown("written")] = 0
    objects: Count = 0  # written
    reads: int = 0
    retries: int = 0

    def priced(self, prices: Prices) -> Money:
        """Return what it costs."""
        return Money(
            self.cpu_hours * prices.cpu_hour,
            self.bytes_out / GIB * prices.gib_month,
            self.objects / 1000 * prices.thousand_writes
            + self.reads / 1000 * prices.thousand_reads,
        )


@dataclass(frozen=True, kw_only=True)
class StageCost(Cost):
    """The cost of one stage."""

    stage: str
    money: Annotated[float, Shown(form=shown_money)]


@dataclass(frozen=True, kw_only=True)
class TotalCost(Cost):
    """The cost of everything."""

    money: Money

    def __str__(self) -> str:
        unmeasured = counted(self.unmeasured, "part")
        return (
            f"{counted(self.parts, 'part')}, {_seconds(self.cpu_hours)} CPU s, "
            f"{size(self.bytes_out)} in {counted(self.objects, 'object')}, "
            f"money {shown_money(self.money.total)}"
            + (f"; {unmeasured} computed before costs were recorded" if self.unmeasured else "")
        )


@dataclass(frozen=True)
class UnitCost:
    """What a number of documents, or of tokens, costs."""

    cpu_hours: float
    bytes_out: float
    objects: float
    money: float

    def __str__(self) -> str:
        return (
            f"{short(self.cpu_hours)} CPU hours, {size(self.bytes_out)} stored, "
            f"{self.objects:,.0f} objects, money {shown_money(self.money)}"
        )


STAGE_COLUMNS = ("stage", "parts", "cpu_hours", "wall_hours", "peak_bytes", "bytes_in", "bytes_out",
                 "objects", "retries", "money")  # fmt: skip


EVIDENCE_SECONDS, EVIDENCE_JOULES = "evidence_seconds", "evidence_joules"
"""Metrics of a version's training runs: NAME/DEVICE/PLAN/RUN."""


@dataclass(frozen=True)
class EvidenceCost:
    """What the small models took that were trained on a version."""

    runs: Count
    gpu_hours: float
    cpu_hours: float
    kwh: float | None  # None: no device told what it draws
    unmetered_runs: int  # of which no device told what it draws
    money: float

    def __str__(self) -> str:
        power = "energy unknown" if self.kwh is None else f"{self.kwh:.2f} kWh"
        if self.kwh is not None and self.unmetered_runs:
            power += f" without {counted(self.unmetered_runs, 'run')} of unknown energy"
        return (
            f"{counted(self.runs, 'run')}, {_seconds(self.gpu_hours)} GPU s, "
            f"{_seconds(self.cpu_hours)} CPU s, {power}, money {shown_money(self.money)}"
        )


def evidence_cost(registry: Registry, version: str, prices: Prices) -> EvidenceCost | None:
    """Add up the training runs of a version that were imported; None where there are none."""
    hours: dict[str, float] = defaultdict(float)
    runs = metered = 0
    joules = 0.0
    for row in registry.metrics(version=version):
        name, _, rest = row.name.partition("/")
        if name == EVIDENCE_SECONDS:
            hours[rest.partition("/")[0]] += row.value / HOUR_S
            runs += 1
        elif name == EVIDENCE_JOULES:
            joules += row.value
            metered += 1
    if not runs:
        return None
    gpu, cpu = hours["cuda"], sum(h for device, h in hours.items() if device != "cuda")
    kwh = joules / 3.6e6 if metered else None
    money = gpu * prices.gpu_hour + cpu * prices.cpu_hour
    return EvidenceCost(runs, gpu, cpu, kwh, runs - metered, money)


@dataclass(frozen=True)
class VersionCost:
    """What a version cost to build."""

    version: str
    documents_in: Annotated[Count, Shown("documents read")]
    documents: Count
    tokens: Count
    first_computed_at: Annotated[str | None, Shown("computed from")]
    last_computed_at: Annotated[str | None, Shown("to")]
    prices: Annotated[Prices, JSON_ONLY]
    stages: Annotated[tuple[StageCost, ...], Shown(columns=STAGE_COLUMNS)]
    total: Annotated[TotalCost, Shown(form=str)]
    per_1000_documents: Annotated[UnitCost, Shown("for 1,000 documents read", str)]
    per_trillion_tokens: Annotated[UnitCost, Shown("for a trillion tokens", str)]
    evidence: Annotated[EvidenceCost | None, Shown("small models", str)]

    @property
    def notes(self) -> list[str]:
        return [OWN_PRICES] if self.prices == Prices() else []


def cost_of(rows: Sequence[ArtifactRow]) -> Cost:
    """Add the cost of artifacts up."""
    return Cost(
        parts=len(rows),
        unmeasured=sum(row.cpu_seconds is None for row in rows),
        documents=sum(row.documents_in for row in rows),
        cpu_hours=sum(row.cpu_seconds or 0.0 for row in rows) / HOUR_S,
        wall_hours=sum(row.wall_seconds or 0.0 for row in rows) / HOUR_S,
        peak_bytes=max((row.peak_bytes or 0 for row in rows), default=0),
        bytes_in=sum(row.bytes_in or 0 for row in rows),
        bytes_out=sum(row.bytes for row in rows),
        objects=sum(len(row.outputs) + 1 for row in rows),  # and the result
        reads=sum(len(row.inputs) + 1 for row in rows),
        retries=sum((row.tries or 1) - 1 for row in rows),
    )


def artifacts_of(home: Home, version: str) -> list[ArtifactRow]:
    """Return everything a version was made of: the results of its tasks under its lock, and of
    the calibrations that the lock pins, what they were made from."""
    with reopen_session(home, version) as session:
        pipeline = pipeline_as_of(session, version)
        tasks = [
            task
            for stage in STAGES
            for name in ([None] if stage.scope is Scope.ALL else pipeline.recipe.snapshots)
            for task in pipeline.tasks(stage.name, name)
        ]
        rows = {(row.stage, row.fingerprint): row for row in session.registry.artifacts()}
    makers: dict[str, list[ArtifactRow]] = defaultdict(list)  # of equal contents all
    for row in rows.values():
        for output in row.outputs:
            makers[output.sha256].append(row)
    found: dict[tuple[str, str], ArtifactRow] = {}
    waiting = [rows[key] for task in tasks if (key := (task.stage, task.fingerprint)) in rows]
    while waiting:
        row = waiting.pop()
        if (row.stage, row.fingerprint) not in found:
            found[row.stage, row.fingerprint] = row
            waiting += [each for i in row.inputs for each in makers.get(i.content_hash, ())]
    return list(found.values())


def by_stage(rows: Iterable[ArtifactRow]) -> dict[str, list[ArtifactRow]]:
    """Return artifacts by stage, in the order of the graph."""
    found: dict[str, list[ArtifactRow]] = {stage.name: [] for stage in STAGES}
    for row in rows:
        found.setdefault(row.stage, []).append(row)
    return {stage: some for stage, some in found.items() if some}


def cost_at(catalog_url: str, store_url: str, version: str) -> VersionCost:
    """Return what a version cost for the catalog's pages, at our own prices."""
    home = replace(Home.resolve(), catalog_url=catalog_url, store_url=store_url)
    _, registry = open_home(home)
    try:
        return version_cost(home, registry.version(version), Prices())
    except CorpusError as error:
        raise CatalogError(f"the cost of {version} is not known: {error}") from error


def version_cost(home: Home, version: VersionRow, prices: Prices) -> VersionCost:
    """Compute what a version cost, by stage and in all."""
    rows = artifacts_of(home, version.name)
    evidence = evidence_cost(open_home(home)[1], version.name, prices)
    ingested = sum(row.documents_in for row in rows if row.stage == DOCUMENTS.name)
    total = cost_of(rows)
    money = total.priced(prices)
    return VersionCost(
        version=version.name,
        documents_in=ingested,
        documents=version.documents,
        tokens=version.tokens,
        first_computed_at=min((row.created_at for row in rows), default=None),
        last_computed_at=max((row.created_at for row in rows), default=None),
        prices=prices,
        stages=tuple(
            StageCost(**vars(cost), stage=stage, money=cost.priced(prices).total)
            for stage, some in by_stage(rows).items()
            for cost in [cost_of(some)]
        ),
        total=TotalCost(**vars(total), money=money),
        per_1000_documents=_scaled(total, money, 1000 / ingested if ingested else 0.0),
        per_trillion_tokens=_scaled(
            total, money, TRILLION / version.tokens if version.tokens else 0.0
        ),
        evidence=evidence,
    )


def cost_section(home: Home, version: VersionRow, prices: Prices) -> Section:
    """Return a section of a report: when a version was built and what it took. The report in the
    store holds no times: two builds give the same one."""
    released = f", released {version.released_at}" if version.released_at else ""
    values: dict[str, object] = {
        "when": f"Published {version.created_at}{released}",
        "error": None,
    }
    try:
        cost = version_cost(home, version, prices)
        values |= {"cost": cost, "rows": _by_stage(cost)}
    except CorpusError as error:  # it was built by another release, or some of it is deleted
        values["error"] = str(error)
    return Section("When and at what cost", render(TEMPLATE, **values))


def _by_stage(cost: VersionCost) -> list[tuple[object, ...]]:
    rows = [(one.stage, one, one.money) for one in cost.stages]
    return [
        (name, one.parts, f"{one.cpu_hours * HOUR_S:,.1f} s", size(one.bytes_in),
         size(one.bytes_out), f"{money:.6f}")
        for name, one, money in [*rows, ("total", cost.total, cost.total.money.total)]
    ]  # fmt: skip


def _scaled(cost: Cost, money: Money, factor: float) -> UnitCost:
    return UnitCost(
        cost.cpu_hours * factor,
        cost.bytes_out * factor,
        cost.objects * factor,
        money.total * factor,
    )


# Estimates.


@dataclass(frozen=True)
class Crawls:
    """How much there would be."""

    crawls: int
    files: int
    file_gib: float

    @property
    def crawl_bytes(self) -> float:
        return self.files * self.file_gib * GIB

    @property
    def bytes(self) -> float:
        return self.crawls * self.crawl_bytes


Reach = Literal["per_snapshot", "all"] | int
"""How many earlier snapshots one is compared with, as `clusters.scope` says it."""
Interval = list[float]
"""The 5th percentile, what was measured, the 95th percentile."""


def _span(found: Interval) -> str:
    low, middle, high = (short(value) for value in found)
    return f"{middle} ({low} to {high})"


def _sizes(found: Interval) -> str:
    low, middle, high = (size(value) for value in found)
    return f"{middle} ({low} to {high})"


@dataclass(frozen=True)
class StageEstimate:
    """What a stage would take."""

    stage: str
    cpu_hours: Annotated[Interval, Shown("CPU hours", _span)]
    stored_bytes: Annotated[Interval, Shown("stored", _sizes)]


@dataclass(frozen=True)
class Estimate:
    """What crawls would take, from the parts of a version's largest source."""

    version: Annotated[str, Shown("measured on")]
    source: str
    measured_parts: Count
    measured_snapshots: Count
    measured_bytes: Annotated[Bytes, Shown("measured")]
    source_bytes: Annotated[float, Shown("size of the crawls", size)]
    crawls: Count
    cores: Count
    compared_with: Annotated[int, Shown("earlier crawls the last is compared with")]
    calibrations_cpu_hours: Annotated[float, Shown("CPU hours of calibrations", short)]
    cpu_hours: Annotated[Interval, Shown("CPU hours", _span)]
    last_crawl_cpu_hours: Annotated[Interval, Shown("CPU hours of the last crawl", _span)]
    days: Annotated[Interval, Shown(form=_span)]
    stored_bytes: Annotated[Interval, Shown("stored", _sizes)]
    stored_by_keep: Annotated[Mapping[str, Interval], JSON_ONLY]
    writes: Annotated[float, Shown(form="{:,.0f}".format)]
    reads: Annotated[float, Shown(form="{:,.0f}".format)]
    money: Annotated[Interval, Shown(form=_span)]
    prices: Annotated[Prices, JSON_ONLY]
    stages: tuple[StageEstimate, ...]

    @property
    def notes(self) -> list[str]:
        mean = size(self.measured_bytes / self.measured_parts)
        kept = ", ".join(f"{_sizes(n)} with --keep {k}" for k, n in self.stored_by_keep.items())
        said = [
            f"the parts measured have {mean} each; the fixed cost per part is included, so small "
            "parts give high figures",
            f"storage is per month; after `corpus gc`: {kept}",
            "not counted: the driver, publishing, takedowns, idle cores between stages, transfer fees",
        ]
        if self.measured_parts < FEW_PARTS:
            said.append(
                f"{counted(self.measured_parts, 'part')} measured, which is few: ranges are too narrow"
            )
        if self.measured_snapshots == 1:
            said.append(
                "one snapshot was measured: ranges have no spread of stages that work on whole "
                "snapshots, such as clusters, and a byte of an earlier crawl is taken to cost them as "
                "much as one of the crawl itself"
            )
        return [*said, *([OWN_PRICES] if self.prices == Prices() else [])]


def estimate(
    home: Home, version: VersionRow, crawls: Crawls, cores: int, prices: Prices, scope: Reach
) -> Estimate:
    """Scale what the parts of a version's largest source took to whole crawls, whose clusters reach
    as far back as `scope` says."""
    store, registry = open_home(home)
    own, _ = load_published_recipe(store, version.recipe_digest)
    measured = _Measured.of(registry, artifacts_of(home, version.name), own)
    windows = [1 + _reach(scope, earlier) for earlier in range(crawls.crawls)]
    every = _Asked(crawls.bytes, sum(windows) * crawls.crawl_bytes)
    last = _Asked(crawls.crawl_bytes, windows[-1] * crawls.crawl_bytes)
    cpu = {s: measured.total(every, "cpu_seconds", [s]) for s in measured.stages}
    stored = {s: measured.total(every, "bytes", [s]) for s in measured.stages}
    once = cost_of(measured.once)
    cpu_all = _in_hours(measured.total(every, "cpu_seconds"), once.cpu_hours)
    wall_all = _in_hours(measured.total(every, "wall_seconds"), once.wall_hours)
    bytes_all = [once.bytes_out + n for n in measured.total(every, "bytes")]
    writes, reads = measured.requests(every, crawls.crawls * crawls.files)
    money = [
        c * prices.cpu_hour
        + b / GIB * prices.gib_month
        + writes / 1000 * prices.thousand_writes
        + reads / 1000 * prices.thousand_reads
        for c, b in zip(cpu_all, bytes_all, strict=True)
    ]
    return Estimate(
        version=version.name,
        source=measured.source,
        measured_parts=len(measured.sizes),
        measured_snapshots=len(measured.snapshots),
        measured_bytes=int(sum(measured.sizes)),
        source_bytes=crawls.bytes,
        crawls=crawls.crawls,
        cores=cores,
        compared_with=windows[-1] - 1,
        calibrations_cpu_hours=once.cpu_hours,
        cpu_hours=cpu_all,
        last_crawl_cpu_hours=_in_hours(measured.total(last, "cpu_seconds")),
        days=[hours / cores / 24 for hours in wall_all],
        stored_bytes=bytes_all,
        stored_by_keep={
            keep: measured.total(every, "bytes", measured.stages - gone)
            for keep, gone in FREED_STAGES.items()
            if gone
        },
        writes=writes,
        reads=reads,
        money=money,
        prices=prices,
        stages=tuple(
            StageEstimate(stage.name, _in_hours(cpu[stage.name]), stored[stage.name])
            for stage in STAGES
            if stage.name in cpu
        ),
    )


def _reach(scope: Reach, earlier: int) -> int:
    """Return how many of the snapshots before one it is compared with."""
    if isinstance(scope, int):
        return min(scope, earlier)
    return earlier if scope == "all" else 0


def _in_hours(seconds: Interval, more: float = 0.0) -> Interval:
    return [each / HOUR_S + more for each in seconds]


@dataclass(frozen=True)
class _Asked:
    """Bytes of source files, and those of the windows in which they are compared."""

    bytes: float
    windows: float


@dataclass(frozen=True)
class _Snapshot:
    """What was measured of a snapshot as a whole."""

    bytes: float
    window: float  # its bytes, and those of the earlier ones that it was compared with
    rows: dict[str, list[ArtifactRow]]  # by stage


@dataclass(frozen=True)
class _Measured:
    """The parts of one source: the bytes of each file, and the artifacts it led to."""

    source: str
    sizes: list[float]
    parts: list[dict[str, list[ArtifactRow]]]  # in the order of `sizes`, by stage
    snapshots: list[_Snapshot]
    once: list[ArtifactRow]  # calibrations

    @classmethod
    def of(cls, registry: Registry, rows: Sequence[ArtifactRow], recipe: Recipe) -> "_Measured":
        source_of = {snapshot.name: snapshot.source for snapshot in registry.snapshots()}
        files = {
            (name, file.part): float(file.bytes)
            for name in recipe.snapshots
            for file in registry.source_files(name)
        }
        size_of: dict[str, float] = defaultdict(float)
        sources: dict[str, float] = defaultdict(float)
        for (name, _), n_bytes in files.items():
            size_of[name] += n_bytes
            sources[source_of[name]] += n_bytes
        if not sources:
            raise CorpusError("this home has no measured parts: build a small version first")
        source = max(sources, key=lambda name: (sources[name], name))
        chosen = [key for key in files if source_of[key[0]] == source]
        known = {stage.name for stage in STAGES}
        parts: dict[tuple[str, int], dict[str, list[ArtifactRow]]]
        parts = {key: defaultdict(list) for key in chosen}
        whole: dict[str, dict[str, list[ArtifactRow]]] = {
            name: defaultdict(list) for name, _ in chosen
        }
        once: list[ArtifactRow] = []
        for row in rows:
            key = (row.snapshot or "", -1 if row.part is None else row.part)
            if row.cpu_seconds is None or row.stage not in known:
                continue
            if STAGES.asset_of(row.stage).is_calibration:
                once.append(row)
            elif STAGES[row.stage].scope is Scope.PART and key in parts:
                parts[key][row.stage].append(row)
            elif row.snapshot in whole:
                whole[row.snapshot][row.stage].append(row)
        order = recipe.snapshots
        snapshots = [
            _Snapshot(size_of[name], sum(size_of[each] for each in order[i - back : i + 1]), found)
            for name, found in whole.items()
            for i in [order.index(name)]
            for back in [_reach(recipe.clusters.scope, i)]
        ]
        return cls(
            source, [files[key] for key in chosen], [parts[k] for k in chosen], snapshots, once
        )

    @cached_property
    def stages(self) -> frozenset[str]:
        """Stages that were measured."""
        return frozenset(
            stage
            for rows in (*self.parts, *(each.rows for each in self.snapshots))
            for stage in rows
        )

    def total(self, asked: _Asked, column: str, stages: Collection[str] | None = None) -> Interval:
        """Return (low, middle, high) of a column for so many bytes, of some stages or of all.

        Parts and snapshots are drawn again apart; stages that read several snapshots go by their own
        bytes and by those of the earlier ones, all others by their own."""
        wanted = self.stages if stages is None else stages
        across = [stage for stage in wanted if STAGES[stage].reads_all]
        own = [stage for stage in wanted if not STAGES[stage].reads_all]
        sizes = np.array(self.sizes)
        costs = np.array([_sum(part, column, wanted) for part in self.parts])
        of_parts = _drawn(costs, sizes, SEED) * asked.bytes
        by_size = np.array([each.bytes for each in self.snapshots])
        of_own = np.array([_sum(each.rows, column, own) for each in self.snapshots])
        of_snapshots = _drawn(of_own, by_size, SEED + 1) * asked.bytes
        earlier = np.array([each.window for each in self.snapshots]) - by_size
        of_across = np.array([_sum(each.rows, column, across) for each in self.snapshots])
        own_rate, earlier_rate = _fitted(of_across, by_size, earlier, SEED + 1)
        of_windows = own_rate * asked.bytes + earlier_rate * (asked.windows - asked.bytes)
        middle, *draws = of_parts + of_snapshots + of_windows
        low, high = np.percentile(draws, BETWEEN)
        return [float(low), float(middle), float(high)]

    def requests(self, asked: _Asked, parts: int) -> tuple[float, float]:
        """Return writes and reads for so many parts: a larger file is no more objects. Of stages over
        a snapshot they go by the parts measured, and where they read several by the windows."""
        own, across = list[ArtifactRow](), list[ArtifactRow]()
        for rows in (*self.parts, *(each.rows for each in self.snapshots)):
            for stage, some in rows.items():
                (across if STAGES[stage].reads_all else own).extend(some)
        each, wide = cost_of(own), cost_of(across)
        n = len(self.parts)
        windows = sum(one.window for one in self.snapshots) / sum(self.sizes)
        reads_wide = wide.reads / windows * asked.windows / asked.bytes
        return (each.objects + wide.objects) / n * parts, (each.reads + reads_wide) / n * parts


def _draws(n: int, seed: int) -> npt.NDArray[np.int64]:
    """Return what was measured, then DRAWS draws of as many with replacement."""
    drawn = np.random.Generator(np.random.PCG64(seed)).integers(n, size=(DRAWS, n))
    return np.concatenate([np.arange(n)[None], drawn])


def _drawn(costs: Floats, sizes: Floats, seed: int) -> Floats:
    """Return the cost of a byte, as measured and in each draw."""
    draws = _draws(len(sizes), seed)
    return np.asarray(costs[draws].sum(axis=1) / sizes[draws].sum(axis=1))


def _fitted(costs: Floats, own: Floats, earlier: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return the cost of an own byte and of an earlier one, as measured and in each draw: the best
    fit of which neither is negative. Where snapshots do not tell the two apart they are the same,
    which is the most that an earlier byte can be expected to cost."""
    draws = _draws(len(own), seed)
    c, o, e = costs[draws], own[draws], earlier[draws]
    oo, ee, oe, oc, ec = ((x * y).sum(axis=1) for x, y in ((o, o), (e, e), (o, e), (o, c), (e, c)))
    same = c.sum(axis=1) / (o + e).sum(axis=1)
    apart = oo * ee - oe * oe
    is_apart = apart > TELLS_APART * oo * ee
    with np.errstate(divide="ignore", invalid="ignore"):
        of_own, of_earlier = (ee * oc - oe * ec) / apart, (oo * ec - oe * oc) / apart
        none_own, none_earlier = of_own < 0, of_earlier < 0
        of_own = np.where(none_own, 0.0, np.where(none_earlier, oc / oo, of_own))
        of_earlier = np.where(none_earlier, 0.0, np.where(none_own, ec / ee, of_earlier))
    return np.where(is_apart, of_own, same), np.where(is_apart, of_earlier, same)


def _sum(part: Mapping[str, list[ArtifactRow]], column: str, stages: Collection[str]) -> float:
    return float(
        sum(getattr(row, column) or 0 for name in stages if name in part for row in part[name])
    )
