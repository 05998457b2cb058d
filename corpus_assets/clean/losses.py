"""What cleaning takes of each site because it stands elsewhere too, and when that is too much."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.clean.clean_text import LOSSES, emptied_numbers
from corpus_assets.core import files
from corpus_assets.core.task import read_table

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline

HOST_LOSSES = pa.schema(
    [
        ("host", pa.string()),
        ("emptied", pa.int64()),  # documents that cleaning made too short
        ("chars", pa.int64()),  # of these and of the kept ones, as extracted
        ("cut", pa.int64()),  # of these characters, in boilerplate lines and repeated spans
    ]
)
"""Sites, by name."""

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


def snapshot_losses(graph: "Pipeline", snapshot: str) -> pa.Table:
    """Return schema HOST_LOSSES of a snapshot, the largest losses first."""
    found, waiting = HOST_LOSSES.empty_table(), list[pa.Table]()
    for part in graph.parts(files.LOSSES, snapshot):
        waiting.append(read_table(graph.store, part))
        if len(waiting) == SUMMED_AT_ONCE:
            found, waiting = _summed([found, *waiting]), []
    found = _summed([found, *waiting])
    order = [("cut", "descending"), ("host", "ascending")]
    return found.filter(pc.greater(found["cut"], 0)).sort_by(order)


def losses_message(losses: pa.Table, bound: float) -> tuple[bool, str]:
    """Whether losses (see `snapshot_losses`) are within bounds, and a sentence about them."""
    emptied = pc.sum(losses["emptied"]).as_py() or 0
    hit = [row for row in losses.to_pylist() if row["cut"] > bound * row["chars"]]
    problems = [f"cleaning leaves too little of {emptied:,} documents"] if emptied else []
    if hit:
        named = ", ".join(f"{row['host']} ({row['cut'] / row['chars']:.0%})" for row in hit[:3])
        problems.append(
            f"it takes more than {bound:.0%} of the text of {len(hit):,} sites: {named}"
        )
    advice = "look at what repeats there, or change `clean_text.boilerplate`"
    if problems:
        return False, f"{'; '.join(problems)}; {advice}"
    return True, f"no document emptied; at most {bound:.0%} of any site's text cut"


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
