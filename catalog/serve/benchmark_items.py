"""The words of benchmark items, as the evaluation index of a version holds them."""

import json
from collections.abc import Collection
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from catalog.errors import CatalogError
from catalog.formats.store import FileStore
from catalog.lineage import Lineage

EVAL_INDEX = "eval_index"


Item = tuple[str, str]  # benchmark, id


def item_texts(lineage: Lineage, wanted: Collection[Item]) -> dict[Item, str]:
    """Return the words of items, with their code where they have any; those not known are left
    out."""
    if not wanted:
        return {}
    row = lineage.version
    lock = json.loads(lineage.registry.lock(row.lock_digest).json)
    pin = lock["calibrations"].get(EVAL_INDEX)
    if pin is None:
        return {}
    folder = row.manifest_path.rpartition("/")[0]
    forms = _forms(lineage.store, f"{folder}/calibrations/{pin['sha256']}", pin["sha256"])
    found: dict[Item, str] = {}
    for benchmark, item_id in wanted:
        is_asked = pc.and_(
            pc.equal(forms.field("benchmark"), benchmark), pc.equal(forms.field("item_id"), item_id)
        )
        for one in forms.filter(is_asked).slice(0, 1).to_pylist():  # the whole item comes first
            found[benchmark, item_id] = "\n".join(filter(None, (one["text"], one["code"])))
    return found


@lru_cache(maxsize=2)
def _forms(store: FileStore, path: str, sha256: str) -> pa.StructArray:
    """Read the items of an index, and not its n-grams, which are most of it."""
    try:
        data = pa.BufferReader(store.read_verified(path, sha256))
        options = pa.ipc.IpcReadOptions(included_fields=[0])
        (batch,) = pa.ipc.open_file(data, options=options).read_all().to_batches()
        return batch.column("forms").flatten()
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise CatalogError(f"{path} is not an evaluation index that this package reads") from error
