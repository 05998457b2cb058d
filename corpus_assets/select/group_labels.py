"""The labels of documents that divide groups, as they stand in the names of groups."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.select.columns import Columns
from corpus_assets.select.groups import OTHER, Values
from corpus_loader.manifest import join_labels


def group_labels(signals: pa.Table, group_by: Mapping[str, Values]) -> pa.Array:
    """Return the labels of each document, as they stand in the name of its group."""
    table, columns = Columns(signals), []
    for axis, stated in sorted(group_by.items()):
        named = stated if isinstance(stated, dict) else {label: (label,) for label in stated}
        value_of = {label: value for value, labels in named.items() for label in labels}
        encoded = table.column(axis).cast(pa.string()).dictionary_encode()
        known = [value_of.get(label, OTHER) for label in encoded.dictionary.to_pylist()]
        written = pa.array([join_labels({axis: value}) for value in (*known, OTHER)], pa.string())
        columns.append(written.take(pc.fill_null(encoded.indices, len(known))))
    return pc.binary_join_element_wise(*columns, "/")
