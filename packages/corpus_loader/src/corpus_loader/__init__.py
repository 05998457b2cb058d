"""Read the token shards of corpus-assets in a trainer, with numpy alone."""

from corpus_loader.errors import LoaderError
from corpus_loader.loader import Batch, Loader
from corpus_loader.manifest import Manifest
from corpus_loader.order import Order
from corpus_loader.segments import Segments
from corpus_loader.shard import Shard
from corpus_loader.torch_dataset import StepDataset

__all__ = [
    "Batch",
    "Loader",
    "LoaderError",
    "Manifest",
    "Order",
    "Segments",
    "Shard",
    "StepDataset",
]
