"""Gates: cheap refusals before any expensive work, and the lists and licences they look at."""

from typing import TYPE_CHECKING

from catalog.doors import lazy_exports

if TYPE_CHECKING:
    from corpus_assets.ingest.gates.categories import (
        CATEGORIES_VERSION,
        CATEGORY_FILES,
        CategoryIndex,
        build_category_index,
    )
    from corpus_assets.ingest.gates.code_languages import language_of
    from corpus_assets.ingest.gates.gates import (
        CONTENT_TYPES,
        HTTP_STATUSES,
        gate_licence,
        gate_page,
        gate_record,
        gate_text,
        media_type,
    )
    from corpus_assets.ingest.gates.language import LanguageGate, sample_counts, with_sample
    from corpus_assets.ingest.gates.licence import UNKNOWN_LICENCE, page_licence, text_licence
    from corpus_assets.ingest.gates.licence_texts import (
        MAX_LICENCE_BYTES,
        detect_licences,
        folder_licence,
        is_licence_file,
    )
    from corpus_assets.ingest.gates.optout import OPTED_OUT
    from corpus_assets.ingest.gates.preferences import (
        NOTHING_SAID,
        TRAINING_DISALLOWED,
        Preference,
        Statement,
        combined,
    )
    from corpus_assets.ingest.gates.settings import Categories, CodeSettings, GateSettings
    from corpus_assets.ingest.gates.site_index import SiteIndex
    from corpus_assets.ingest.gates.url_lists import UrlLists
else:
    __getattr__ = lazy_exports(__name__, __file__)

__all__ = [
    "CATEGORIES_VERSION",
    "CATEGORY_FILES",
    "CONTENT_TYPES",
    "HTTP_STATUSES",
    "MAX_LICENCE_BYTES",
    "NOTHING_SAID",
    "OPTED_OUT",
    "TRAINING_DISALLOWED",
    "UNKNOWN_LICENCE",
    "Categories",
    "CategoryIndex",
    "CodeSettings",
    "GateSettings",
    "LanguageGate",
    "Preference",
    "SiteIndex",
    "Statement",
    "UrlLists",
    "build_category_index",
    "combined",
    "detect_licences",
    "folder_licence",
    "gate_licence",
    "gate_page",
    "gate_record",
    "gate_text",
    "is_licence_file",
    "language_of",
    "media_type",
    "page_licence",
    "path_rules",
    "robots",
    "sample_counts",
    "site_index",
    "site_rules",
    "text_licence",
    "with_sample",
]
