"""The labels of documents that divide groups, as they stand in the names of groups."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.select.columns import Columns
from corpus_assets.select.groups import OTHER, Values, bins_of, labels_of
from corpus_loader.manifest import join_labels


def group_labels(signals: pa.Table, group_by: Mapping[str, Values]) -> pa.Array:
    """Return the labels of each document, as they stand in the name of its group."""
    table, columns = Columns(signals), []
    for axis, stated in sorted(group_by.items()):
        bins = bins_of(stated)
        if bins is not None:
            columns.append(_binned(axis, table.column(axis), bins))
            continue
        value_of = labels_of(stated)
        encoded = table.column(axis).cast(pa.string()).dictionary_encode()
        known = [value_of.get(label, OTHER) for label in encoded.dictionary.to_pylist()]
        written = pa.array([join_labels({axis: value}) for value in (*known, OTHER)], pa.string())
        columns.append(written.take(pc.fill_null(encoded.indices, len(known))))
    return pc.binary_join_element_wise(*columns, "/")


def _binned(axis: str, numbers: pa.Array, bins: Mapping[str, float]) -> pa.Array:
    """Return the bin of each number: that with the largest least number not above it."""
    ordered = sorted(bins, key=lambda name: bins[name])
    values = pc.fill_null(numbers.cast(pa.float64()), float("nan")).to_numpy(zero_copy_only=False)
    place = np.searchsorted(np.array([bins[name] for name in ordered]), values, side="right")
    place[np.isnan(values)] = 0
    written = pa.array([join_labels({axis: value}) for value in (OTHER, *ordered)], pa.string())
    return written.take(pa.array(place))
