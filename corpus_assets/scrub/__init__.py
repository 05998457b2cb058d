"""Personal data: what it looks like, and where it stands in a text."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.scrub.findings import Finding, find_by_rules
    from corpus_assets.scrub.planner import ScrubRecipe
    from corpus_assets.scrub.recognizers import Recognizer
    from corpus_assets.scrub.settings import (
        DROP,
        KINDS,
        TOO_MUCH,
        ScrubSettings,
        TextHashList,
        drop_reason,
    )
    from corpus_assets.scrub.text_hashes import (
        LISTED,
        HashList,
        hash_list_files,
        hash_list_inputs,
        hash_list_pins,
        hash_lists,
    )
    from corpus_assets.scrub.texts import (
        SCRUBBED,
        count_scrubbed,
        personal_data,
        sample_settings,
        scrub_releases,
        scrubbed_sample,
        scrubbed_totals,
        task_recognizers,
    )
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "DROP",
    "KINDS",
    "LISTED",
    "SCRUBBED",
    "TOO_MUCH",
    "Finding",
    "HashList",
    "Recognizer",
    "ScrubRecipe",
    "ScrubSettings",
    "TextHashList",
    "count_scrubbed",
    "drop_reason",
    "find_by_rules",
    "hash_list_files",
    "hash_list_inputs",
    "hash_list_pins",
    "hash_lists",
    "personal_data",
    "sample_settings",
    "scrub_releases",
    "scrubbed_sample",
    "scrubbed_totals",
    "task_recognizers",
]
