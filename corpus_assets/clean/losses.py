"""What cleaning takes because it stands elsewhere too: of each site, and of each kind of line; when
that is too much, and whether all of it really stands elsewhere."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.formats.line_kinds import LINE_KINDS
from corpus_assets.clean.clean_text import LOSSES, emptied_numbers
from corpus_assets.clean.pinned_lines import Boilerplate
from corpus_assets.clean.planner import CleanPlanner
from corpus_assets.core import files
from corpus_assets.core.schemas import DOC_ID
from corpus_assets.core.task import read_table

HOST_LOSSES = pa.schema(
    [
        ("host", pa.string()),
        ("emptied", pa.int64()),  # documents that cleaning made too short
        ("chars", pa.int64()),  # of these and of the kept ones, as extracted
        ("cut", pa.int64()),  # of these characters, in boilerplate lines and repeated spans
    ]
)
"""Sites, by name."""

MAX_HOST_LOSS = 0.3  # of a site's text: from there on cleaning takes too much
SHOWN = 10
SUMMED_AT_ONCE = 64  # parts: what is held are the sites of the snapshot, and not those of each part


def host_losses(hosts: pa.ChunkedArray, decisions: pa.Table, final: pa.Table) -> pa.Table:
    """Return schema HOST_LOSSES of a part. `hosts` are those of its records, which `decisions` are
    row-aligned with; `final` has the kept ones of them, in order."""
    edits = final["edits"].combine_chunks()
    changes, owner = edits.flatten(), pc.list_parent_indices(edits).to_numpy()
    old = pc.subtract(changes.field("end"), changes.field("start")).to_numpy()
    is_loss = pc.is_in(changes.field("kind"), pa.array(LOSSES)).to_numpy(zero_copy_only=False)
    shorter = old - changes.field("new_length").to_numpy()
    chars = pc.utf8_length(final["text"]).to_numpy() + _sums(owner, shorter, final.num_rows)
    kept = pa.table(
        [
            hosts.filter(decisions["kept"]),
            pa.array(np.zeros(final.num_rows, np.int64)),
            pa.array(chars),
            pa.array(_sums(owner, old * is_loss, final.num_rows)),
        ],
        names=HOST_LOSSES.names,
    )
    dropped = pc.and_(pc.equal(decisions["stage"], "clean_text"), pc.is_valid(decisions["detail"]))
    dropped = pc.fill_null(dropped, False)
    numbers = [emptied_numbers(one) for one in decisions["detail"].filter(dropped).to_pylist()]
    emptied = pa.table(
        [
            hosts.filter(dropped),
            pa.array([1] * len(numbers), pa.int64()),
            pa.array([length for _, length in numbers], pa.int64()),
            pa.array([lost for lost, _ in numbers], pa.int64()),
        ],
        names=HOST_LOSSES.names,
    )
    return _summed([kept.cast(HOST_LOSSES), emptied.cast(HOST_LOSSES)])


def snapshot_losses(pipeline: CleanPlanner, snapshot: str) -> pa.Table:
    """Return schema HOST_LOSSES of a snapshot, the largest losses first."""
    found, waiting = HOST_LOSSES.empty_table(), list[pa.Table]()
    for part in pipeline.parts(files.LOSSES, snapshot):
        waiting.append(read_table(pipeline.store, part))
        if len(waiting) == SUMMED_AT_ONCE:
            found, waiting = _summed([found, *waiting]), []
    found = _summed([found, *waiting])
    order = [("cut", "descending"), ("host", "ascending")]
    return found.filter(pc.greater(found["cut"], 0)).sort_by(order)


def losses_message(losses: pa.Table, bound: float = MAX_HOST_LOSS) -> tuple[bool, str]:
    """Whether losses (see `snapshot_losses`) are within bounds, and a sentence about them."""
    emptied = pc.sum(losses["emptied"]).as_py() or 0
    hit = [row for row in losses.to_pylist() if row["cut"] > bound * row["chars"]]
    problems = [f"cleaning leaves too little of {emptied:,} documents"] if emptied else []
    if hit:
        named = ", ".join(f"{row['host']} ({row['cut'] / row['chars']:.0%})" for row in hit[:3])
        problems.append(
            f"it takes more than {bound:.0%} of the text of {len(hit):,} sites: {named}"
        )
    advice = "check what repeats there, or change `clean_text.boilerplate`"
    if problems:
        return False, f"{'; '.join(problems)}; {advice}"
    return True, f"no document emptied; at most {bound:.0%} of any site's text cut"


class CutLines(NamedTuple):
    """What cleaning took of a snapshot, line by line."""

    lines: dict[str, int]  # by kind
    lost: int  # different lines that no document has any more, though one was to keep them
    dropped: int  # those whose keeper cleaning itself dropped, for what it holds
    removed: int  # those whose keeper is not in the snapshot any more

    def message(self) -> str:
        """A sentence about what was cut, and what is wrong with it."""
        shown = ", ".join(f"{n:,} {kind.replace('_', ' ')}" for kind, n in self.lines.items() if n)
        message = f"cut lines by kind: {shown or 'none'}"
        if self.lost:
            message += (
                f"; distinct lines that no document keeps: {self.lost:,}: do not publish "
                "this, build with `clean_text.boilerplate: {domains: []}` and report it"
            )
        if self.dropped:
            message += f"; lines whose keeper was dropped for its content: {self.dropped:,}"
        if self.removed:
            message += f"; lines whose keeper was taken down: {self.removed:,}"
        return message


def count_cut_lines(pipeline: CleanPlanner, snapshot: str) -> CutLines:
    """Sum what became of the repeated lines of a snapshot."""
    cut, kept = np.empty((0, 2), np.uint64), np.empty(0, np.uint64)
    lines = np.zeros(len(LINE_KINDS), np.int64)
    for part in pipeline.parts(files.CUT_LINES, snapshot):
        table = read_table(pipeline.store, part)
        pairs = np.stack([_items(table["cut"]), _items(table["pinned"])], axis=1)
        cut = np.unique(np.concatenate([cut, pairs]), axis=0)
        kept = np.union1d(kept, _items(table["kept"]))
        lines += _items(table["lines"]).reshape(-1, len(LINE_KINDS)).sum(axis=0)
    gone: dict[int, list[int]] = {}
    for line, key in cut[~np.isin(cut[:, 0], kept)].tolist():
        gone.setdefault(line, []).append(key)
    found = _where_keepers_are(pipeline, snapshot, list(gone.values())) if gone else (0, 0, 0)
    return CutLines(dict(zip(LINE_KINDS, lines.tolist(), strict=True)), *found)


def _where_keepers_are(
    pipeline: CleanPlanner, snapshot: str, gone: Sequence[Sequence[int]]
) -> tuple[int, int, int]:
    """Of lines that no final text has, by their keys: how many should be there (a document that is
    left was to keep them, or none was), whose keeper cleaning dropped, and whose keeper is gone."""
    table = read_table(pipeline.store, pipeline.calibration(files.BOILERPLATE, snapshot))
    keepers: dict[int, set[bytes]] = {}
    for key, keeper in Boilerplate.of(table).keepers:
        keepers.setdefault(key, set()).add(keeper)
    of_line = [set().union(*(keepers.get(key, ()) for key in keys)) for keys in gone]
    asked = pa.array(sorted(set().union(*of_line)), DOC_ID)
    is_kept: dict[bytes, bool] = {}  # False: dropped by cleaning
    for part in pipeline.parts(files.DECISIONS, snapshot):
        decisions = read_table(pipeline.store, part, ["doc_id", "stage", "kept"])
        for row in decisions.filter(pc.is_in(decisions["doc_id"], asked)).to_pylist():
            if row["kept"] or row["stage"] == "clean_text":
                is_kept[row["doc_id"]] = row["kept"]
    lost = sum(not ids or any(is_kept.get(one, False) for one in ids) for ids in of_line)
    removed = sum(bool(ids) and not any(one in is_kept for one in ids) for ids in of_line)
    return lost, len(gone) - lost - removed, removed


def _items(lists: pa.ChunkedArray) -> "np.ndarray":  # type: ignore[type-arg]
    return np.asarray(pc.list_flatten(lists).to_numpy())


def _sums(owner: "np.ndarray", values: "np.ndarray", n: int) -> "np.ndarray":  # type: ignore[type-arg]
    """int64[n]: values added up by owner; exact below 2**53."""
    return np.bincount(owner, weights=values, minlength=n).astype(np.int64)


def _summed(tables: list[pa.Table]) -> pa.Table:
    whole = pa.concat_tables([HOST_LOSSES.empty_table(), *tables])
    whole = whole.set_column(0, "host", pc.fill_null(whole["host"], ""))
    numbers = HOST_LOSSES.names[1:]
    summed = whole.group_by("host", use_threads=False).aggregate([(n, "sum") for n in numbers])
    columns = [summed["host"], *(summed[f"{name}_sum"] for name in numbers)]
    return pa.table(columns, schema=HOST_LOSSES).sort_by("host")
