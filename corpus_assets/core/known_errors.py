"""The errors whose message is for the person at the keyboard; any other is a bug."""

from catalog.errors import CatalogError
from corpus_assets.core.errors import CorpusError
from corpus_loader import LoaderError

KNOWN_ERRORS = (CorpusError, CatalogError, LoaderError)
"""Of the pipeline, of the catalog, and of what reads manifests and shards."""
