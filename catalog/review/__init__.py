"""Records of a version for people to judge, their judgements, and the thresholds that these propose."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from catalog.review.judgements import Judgements, list_judgements, summarise_judgements
    from catalog.review.proposals import ABOVE, signal_value, threshold_name
    from catalog.review.records import (
        Place,
        is_good,
        new_judgement,
        parse_place,
        place_of,
        shown_record,
    )
    from catalog.review.strata import DRAWN, MOST_DRAWN, Asked, Drawn, Sizes, draw, stratum_sizes
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "ABOVE",
    "DRAWN",
    "MOST_DRAWN",
    "Asked",
    "Drawn",
    "Judgements",
    "Place",
    "Sizes",
    "draw",
    "is_good",
    "list_judgements",
    "new_judgement",
    "parse_place",
    "place_of",
    "shown_record",
    "signal_value",
    "stratum_sizes",
    "summarise_judgements",
    "threshold_name",
]
