"""Count what became of a version's records, by language, source, length, label, licence and host.

Read part by part, as columns without text; what is kept in memory follows the number of groups, and
hosts are summed by DuckDB, which goes to disk. Records under a takedown are left out: nothing of
them is in the report. Counts do not depend on the order of parts.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.core import files
from corpus_assets.core.decisions import id_keys
from corpus_assets.core.schemas import CLUSTER_MEMBERS
from corpus_assets.core.store import Result
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.ingest.documents import SUPPRESSED
from corpus_assets.signals.classifier import Label
from corpus_assets.signals.page_notes import PageNotes
from corpus_assets.signals.source_labels import SourceLabels
from corpus_assets.versions.funnel import read_columns

KEPT = "kept"
UNKNOWN = "unknown"
READERS = 4  # of parts at once
TOP_HOSTS = 20
MOST_GROUPS = 1_000
MOST_MEMBERS = 2_000_000
HOST_MEMORY = "1GB"  # from there on DuckDB writes to disk
SHORTEST, LONGEST = 7, 20
"""Powers of two: lengths below and above these are each one group."""

Fates = dict[str, Counter[str]]
"""Records by group and by fate: `kept`, or stage/reason as in the notes of `clean_text`."""


@dataclass(frozen=True)
class Host:
    name: str
    records: int
    kept: int
    chars: int  # of the extracted text of kept documents


@dataclass
class Counted:
    """What `count_fates` found: fates by dimension and group, and the hosts with most documents."""

    by: dict[str, Fates] = field(default_factory=dict)
    crowded: set[str] = field(default_factory=set)  # dimensions of more than MOST_GROUPS groups
    hosts: Sequence[Host] = ()
    n_hosts: int = 0  # that have a kept document

    def add(self, dimension: str, group: str, fate: str, n: int) -> None:
        fates = self.by.setdefault(dimension, {})
        if dimension not in self.crowded:
            fates.setdefault(group, Counter())[fate] += n
        if len(fates) > MOST_GROUPS:  # no label of kinds: an identifier, a title
            self.crowded.add(dimension)
            fates.clear()


def label_columns(pipeline: Pipeline) -> list[str]:
    """Return the signals that are labels of documents, a topic for one."""
    found: list[str] = []
    for family in pipeline.recipe.signals.families:
        if isinstance(family, Label):
            found.append(family.name)
        elif isinstance(family, SourceLabels):
            found += family.labels
        elif isinstance(family, PageNotes):
            found += family.columns()
    return found


def count_fates(pipeline: Pipeline) -> Counted:
    """Read every part's ledger, decisions and lengths."""
    import duckdb  # a build that publishes nothing has no need of it

    labels, counted = label_columns(pipeline), Counted()

    def read(part: tuple[str, Result, Result, Result]) -> tuple[list[Row], pa.Table]:
        source, documents, signals, cleaned = part
        table = _part(pipeline, labels, documents, signals, cleaned)
        return list(_counts(source, labels, table)), _hosts(table)

    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(READERS) as readers,
        duckdb.connect() as database,
    ):
        database.execute("SET memory_limit = ?", [HOST_MEMORY])
        database.execute("SET temp_directory = ?", [folder])
        database.execute(
            "CREATE TABLE hosts (host TEXT, records BIGINT, kept BIGINT, chars BIGINT)"
        )
        for rows, hosts in readers.map(read, _parts(pipeline)):
            for row in rows:
                counted.add(*row)
            database.from_arrow(hosts).insert_into("hosts")
        database.execute(
            "CREATE TEMP VIEW summed AS SELECT host, sum(records)::BIGINT AS records, "
            "sum(kept)::BIGINT AS kept, sum(chars)::BIGINT AS chars FROM hosts GROUP BY host "
            "HAVING sum(kept) > 0"
        )
        most = database.execute(
            "SELECT * FROM summed ORDER BY kept DESC, host LIMIT ?", [TOP_HOSTS]
        ).fetchall()
        (number,) = database.execute("SELECT count(*) FROM summed").fetchone() or (0,)
    counted.hosts, counted.n_hosts = [Host(*row) for row in most], number
    return counted


Row = tuple[str, str, str, int]
"""Dimension, group, fate, number."""


def _parts(pipeline: Pipeline) -> Iterable[tuple[str, Result, Result, Result]]:
    for snapshot in pipeline.recipe.snapshots:
        source = pipeline.recipe.source_of(snapshot).name
        stages = ("documents", "signals", "clean_text")
        for results in zip(*(pipeline.results(name, snapshot) for name in stages), strict=True):
            yield source, *results


def _part(
    pipeline: Pipeline, labels: Sequence[str], documents: Result, signals: Result, cleaned: Result
) -> pa.Table:
    """Return a part's records with their fate and, where they became documents, what was measured:
    the i-th record without a reason of ingest's is row i of the signals."""
    names = ["host", "licence", "preference", "reason"]
    records = read_columns(pipeline, documents, files.RECORDS, names)
    names = ["kept", "stage", "reason", "language"]
    decided = read_columns(pipeline, cleaned, files.DECISIONS, names)
    measured = read_columns(pipeline, signals, files.SIGNALS, ["n_chars", *labels])
    flags = pc.is_null(records["reason"]).to_numpy()
    row = pa.array(np.cumsum(flags) - 1, pa.int64(), mask=~flags)
    why = pc.binary_join_element_wise(decided["stage"], decided["reason"], "/")
    columns = {
        **{name: records[name] for name in ("host", "licence", "preference")},
        "is_document": flags,
        "language": decided["language"],
        "fate": pc.if_else(decided["kept"], KEPT, why),
        **{name: measured[name].take(row) for name in measured.column_names},
    }
    is_hidden = pc.fill_null(pc.equal(records["reason"], SUPPRESSED), False)
    return pa.table(columns).filter(pc.invert(is_hidden))


def _counts(source: str, labels: Sequence[str], part: pa.Table) -> Iterable[Row]:
    documents = part.filter(part["is_document"])
    for dimension, table, groups in (
        ("source", part, pa.repeat(source, part.num_rows)),
        (f"licence of {source}", part, part["licence"]),
        (f"preference of {source}", part, part["preference"]),
        ("language", documents, documents["language"]),
        ("length", documents, length_groups(documents["n_chars"])),
        *((f"label {name}", documents, documents[name]) for name in labels),
    ):
        pairs = pa.table({"group": pc.fill_null(groups, UNKNOWN), "fate": table["fate"]})
        counts = pairs.group_by(["group", "fate"], use_threads=False).aggregate([([], "count_all")])
        for row in counts.to_pylist():
            yield dimension, row["group"], row["fate"], row["count_all"]


def _hosts(part: pa.Table) -> pa.Table:
    """Sum records, kept documents and their characters by host; records without one are left out."""
    is_kept = pc.equal(part["fate"], KEPT)
    table = pa.table(
        {
            "host": part["host"],
            "kept": pc.cast(is_kept, pa.int64()),
            "chars": pc.if_else(is_kept, pc.fill_null(part["n_chars"], 0), 0),
        }
    )
    table = table.filter(pc.is_valid(table["host"]))
    sums = [([], "count_all"), ("kept", "sum"), ("chars", "sum")]
    summed = table.group_by("host", use_threads=False).aggregate(sums)
    return summed.select(["host", "count_all", "kept_sum", "chars_sum"])


def length_groups(lengths: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return the names of the groups, each twice as long as the one before it, of some lengths."""
    values = lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    power = np.frexp(np.maximum(values, 1).astype(np.float64))[1] - 1  # exact below 2**53
    names = pa.array(length_names(), pa.string())
    return names.take(pa.array(np.clip(power, SHORTEST - 1, LONGEST) - (SHORTEST - 1)))


def length_names() -> list[str]:
    """Return the groups of lengths, from the shortest on."""
    between = [f"{1 << p:,} to {(2 << p) - 1:,}" for p in range(SHORTEST, LONGEST)]
    return [f"under {1 << SHORTEST:,}", *between, f"{1 << LONGEST:,} and more"]


@dataclass(frozen=True)
class Share:
    """A group of records beside the others: how many were kept, and who dropped the rest."""

    group: str
    records: int
    kept: int
    dropped: Mapping[str, int]  # by stage
    most: tuple[str, int] | None  # the reason that most were dropped for

    @property
    def share(self) -> float:
        return self.kept / self.records if self.records else 0.0

    @classmethod
    def of(cls, group: str, fates: Counter[str]) -> "Share":
        gone = Counter({fate: n for fate, n in fates.items() if fate != KEPT})
        stages: Counter[str] = Counter()
        for fate, n in gone.items():
            stages[fate.partition("/")[0]] += n
        most = min(gone.items(), key=lambda item: (-item[1], item[0]), default=None)
        return cls(group, sum(fates.values()), fates[KEPT], stages, most)


def shares(fates: Fates, shown: int, others: str) -> tuple[Share, list[Share]]:
    """Return all groups as one, and the largest of them with the rest as one more group, those
    first whose share lies farthest from the whole."""
    whole = Share.of("all", _summed(fates.values()))
    size = sorted(fates, key=lambda name: (-sum(fates[name].values()), name))
    found = [Share.of(name, fates[name]) for name in size[:shown]]
    if len(size) > shown:
        rest = _summed(fates[name] for name in size[shown:])
        found.append(Share.of(f"{len(size) - shown:,} {others}", rest))
    return whole, sorted(found, key=lambda one: (-abs(one.share - whole.share), one.group))


def _summed(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counters:
        total.update(one)
    return total


# Duplicates.


def duplicates(pipeline: Pipeline) -> tuple[pa.Table, int]:
    """Return members of clusters that gave way (`kind`, `snapshot`, `kept_doc_id`, `kept_in`), of
    one cluster in so many where there are more than MOST_MEMBERS."""
    listed = [
        (result, name) for result in pipeline.all_results("clusters") for name in result.outputs
    ]
    total = sum(result.outputs[name].rows for result, name in listed)
    every = 2 ** max(0, (total // MOST_MEMBERS).bit_length())
    names = ["snapshot", "kind", "kept_doc_id"]
    tables = [CLUSTER_MEMBERS.empty_table().select(names)]
    for result, name in listed:
        members = read_columns(pipeline, result, name, [*names, "kept"])
        members = members.filter(pc.invert(members["kept"])).select(names)
        drawn = (
            id_keys(members["kept_doc_id"]) % np.uint64(every) == 0
        )  # ids are hashes: a fair share
        tables.append(members.filter(pa.array(drawn)))
    gone = pa.concat_tables(tables)
    keys, place = np.unique(id_keys(gone["kept_doc_id"]), return_inverse=True)
    places = pa.array(_snapshots_of(pipeline, keys), pa.string())
    return gone.append_column("kept_in", places.take(pa.array(place))), every


def _snapshots_of(pipeline: Pipeline, keys: npt.NDArray[np.uint64]) -> list[str | None]:
    """Return the snapshot of each document; `keys` ascend. A cluster over several snapshots lists
    who joined it, not who had been kept before, so that every part is asked."""
    found: list[str | None] = [None] * len(keys)

    def there(part: tuple[str, Result]) -> tuple[str, npt.NDArray[np.int64]]:
        table = read_columns(pipeline, part[1], files.RECORDS, ["doc_id", "reason"])
        here = id_keys(table.filter(pc.is_null(table["reason"]))["doc_id"])
        place = np.minimum(np.searchsorted(keys, here), max(len(keys) - 1, 0))
        return part[0], place[keys[place] == here] if len(keys) else place[:0]

    parts = (
        (snapshot, result)
        for snapshot in pipeline.recipe.snapshots
        for result in pipeline.results("documents", snapshot)
    )
    with ThreadPoolExecutor(READERS) as readers:
        for snapshot, rows in readers.map(there, parts if len(keys) else ()):
            for row in rows.tolist():
                found[row] = snapshot
    return found
