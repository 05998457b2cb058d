"""Wrap the loader as a torch dataset, for `torch.utils.data.DataLoader(dataset, batch_size=None)`.

torch is imported when a dataset is made, never before; the loader itself does without.
"""

from typing import Any

from corpus_loader.errors import LoaderError
from corpus_loader.loader import Loader


class StepDataset:
    """A map-style dataset whose item number s is this rank's batch at step s.

    Steps are already in the run's order: leave `shuffle` off and `batch_size=None`. To resume at a
    step, hand the DataLoader `sampler=range(step, len(dataset))`.
    """

    def __init__(self, loader: Loader) -> None:
        try:
            import torch  # noqa: F401
        except ImportError as error:
            raise LoaderError(
                "torch is not installed; pip install torch, or use Loader without it"
            ) from error
        self.loader = loader

    def __len__(self) -> int:
        return len(self.loader)

    def __getitem__(self, step: int) -> dict[str, Any]:
        """Tensors of one step: int32 tokens, segment ids and boundaries, int64 positions, and the
        length of the longest segment as a number."""
        import torch

        batch = self.loader.at(step)
        segments = self.loader.segments(batch)
        return {
            "tokens": torch.from_numpy(batch.tokens),
            "segment_ids": torch.from_numpy(segments.ids),
            "cu_seqlens": torch.from_numpy(segments.cu_seqlens),
            "max_seqlen": segments.max_seqlen,
            "positions": torch.from_numpy(batch.positions),
        }
