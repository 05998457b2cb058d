"""Near copies of texts in the live versions, by the sketches that ingest left beside them."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from catalog.errors import TakedownRefused
from catalog.formats.sketches import BANDS, MIN_AGREEING, PLACES, ROWS_PER_BAND, ordered_sketch
from catalog.lineage import LiveLineage
from catalog.plugins import installed, load

BAND_BYTES = 2 * ROWS_PER_BAND

SKETCH_GROUP = "catalog.text_sketch"


def sketch_of(text: str) -> str | None:
    """Return the value of an order against near copies of a text; None where the text is too short.

    The catalog cannot make a sketch: that is for a package that registers an entry point of the
    group `catalog.text_sketch`, called with the text.
    """
    makers = installed(SKETCH_GROUP)
    if not makers:
        raise TakedownRefused(
            "nothing that makes signatures of texts is installed, so near duplicates of this "
            "text cannot be matched: install corpus-assets here, or omit --near-duplicates to "
            "suppress exact copies only"
        )
    value: str | None = load(makers[0], "text sketch")(text)
    return value


def find_near_copies(live: LiveLineage, orders: Iterable[tuple[int, str]]) -> str:
    """Return a query for (n, doc_id, url_key) of live texts that an order of `n` covers.

    Orders are values of `near_text`. Reads the column of sketches once: 224 bytes a text.
    """
    pairs = [(n, sketch) for n, value in orders if (sketch := ordered_sketch(value))]
    live.connection.register("near_orders", _table(pairs))
    live.execute("CREATE OR REPLACE TEMP TABLE near_sketches AS SELECT DISTINCT * FROM near_orders")
    places = [f"sketch[{1 + b * BAND_BYTES}:{(b + 1) * BAND_BYTES}]" for b in range(BANDS)]
    likely = " OR ".join(f"{place} IN (SELECT {place} FROM near_sketches)" for place in places)
    live.execute(
        "CREATE OR REPLACE TEMP TABLE near_texts AS SELECT doc_id, url_key, sketch "
        f"FROM {live.scan('documents')} WHERE sketch IS NOT NULL AND ({likely})"
    )
    banded = " UNION ".join(
        f"SELECT o.n, t.doc_id, t.url_key, t.sketch, o.sketch AS ordered FROM near_texts AS t "
        f"JOIN near_sketches AS o ON t.{place} = o.{place}"
        for place in places
    )
    agreeing = (
        f"list_sum(list_transform(range({PLACES}), lambda i: CAST("
        "sketch[2 * i + 1:2 * i + 2] = ordered[2 * i + 1:2 * i + 2] AS INTEGER)))"
    )
    return (
        f"SELECT DISTINCT n, doc_id, url_key FROM ({banded}) AS pairs "
        f"WHERE {agreeing} >= {MIN_AGREEING}"
    )


def _table(pairs: list[tuple[int, bytes]]) -> Any:
    return pa.table(
        {
            "n": pa.array([n for n, _ in pairs], pa.int64()),
            "sketch": pa.array([sketch for _, sketch in pairs], pa.binary()),
        }
    )
