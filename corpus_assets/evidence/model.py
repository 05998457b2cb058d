"""A plain GPT, as small as the question allows.

Rotary positions, RMSNorm without weights, normalised queries and keys, ReLU^2, tied embeddings,
soft-capped logits. Attention stays inside documents: flex attention with a block mask on CUDA,
which skips blocks of other documents, `scaled_dot_product_attention` with a plain mask elsewhere.
Weights are float32 and used in `dtype` (bfloat16 on CUDA).

This file travels with packs: it needs torch alone.
"""

import functools
import math
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

IGNORED = -1
"""A target that is not asked for."""
SOFTCAP = 30.0


class Size(NamedTuple):
    layers: int
    width: int
    heads: int


SIZES = {
    "nano": Size(3, 128, 2),  # 1.6 million parameters with a vocabulary of 8,192
    "5M": Size(4, 256, 4),  # 5.2
    "17M": Size(8, 384, 6),  # 17.3
    "59M": Size(11, 640, 10),  # 59.3
}


class Linear(nn.Linear):
    """A product whose float32 weights are used in the type of its input."""

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight.to(x.dtype))


class Block(nn.Module):
    """Attention, then ReLU^2, each added to its input."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.qkv = Linear(size.width, 3 * size.width, bias=False)
        self.out = Linear(size.width, size.width, bias=False)
        self.up = Linear(size.width, 4 * size.width, bias=False)
        self.down = Linear(4 * size.width, size.width, bias=False)

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor], mask: Any) -> Tensor:
        rows, places, width = x.shape
        qkv = self.qkv(_norm(x)).view(rows, places, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # [rows, heads, places, head width] each
        q, k = (_norm(_rotate(part, rotary)) for part in (q, k))
        mixed = _attention(q, k, v.contiguous(), mask)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, places, width))
        return x + self.down(F.relu(self.up(_norm(x))).square())


class Gpt(nn.Module):
    """Nats of every token, given those before it in its document."""

    def __init__(
        self, size: Size, vocab_size: int, sequence: int, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        self.dtype = dtype
        self.embed = nn.Embedding(vocab_size, size.width)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        half = size.width // size.heads // 2
        angle = torch.outer(torch.arange(sequence), 10_000.0 ** (-torch.arange(half) / half))
        self.register_buffer("cos", angle.cos().to(dtype), persistent=False)
        self.register_buffer("sin", angle.sin().to(dtype), persistent=False)

    def reset(self, seed: int) -> None:
        """Set the weights that every run of a seed begins with, whatever it trains on."""
        draw = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                fan_in = weight.shape[-1]
                scale = 0.02 if "embed" in name else math.sqrt(1 / (3 * fan_in))
                if name.endswith(("out.weight", "down.weight")):
                    scale = 0.0  # every block begins as the identity
                weight.copy_(torch.randn(weight.shape, generator=draw) * scale)

    def forward(self, tokens: Tensor, targets: Tensor, mask: Any) -> Tensor:
        """Return float32 nats of `targets` [rows, places]; 0 where a target is `IGNORED`."""
        x = _norm(self.embed(tokens).to(self.dtype))
        for block in self.blocks:
            x = block(x, (self.cos, self.sin), mask)
        logits = F.linear(_norm(x), self.embed.weight.to(self.dtype)).float()
        logits = SOFTCAP * torch.tanh(logits / SOFTCAP)
        flat = F.cross_entropy(
            logits.view(-1, logits.shape[-1]),
            targets.view(-1),
            ignore_index=IGNORED,
            reduction="none",
        )
        return flat.view(targets.shape)


def document_mask(segments: Tensor) -> Tensor:
    """Let a token see those before it that have its segment number [rows, places]."""
    at = torch.arange(segments.shape[1], device=segments.device)
    is_same = segments[:, :, None] == segments[:, None, :]
    return (is_same & (at[:, None] >= at[None, :]))[:, None]


def block_mask(segments: Tensor) -> Any:
    """Return the same for flex attention, which skips blocks that are masked out; CUDA."""
    rows, places = segments.shape

    def sees(row: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (query >= key) & (segments[row, query] == segments[row, key])

    return _compiled_masks()(sees, rows, None, places, places, device=segments.device)


@functools.cache
def _compiled_masks() -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    return torch.compile(create_block_mask, dynamic=False)


def _attention(q: Tensor, k: Tensor, v: Tensor, mask: Any) -> Tensor:
    if isinstance(mask, Tensor):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    from torch.nn.attention.flex_attention import flex_attention

    mixed: Tensor = flex_attention(q, k, v, block_mask=mask)
    return mixed


def _norm(x: Tensor) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],))


def _rotate(x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = rotary
    one, other = x.chunk(2, dim=-1)
    return torch.cat((one * cos - other * sin, one * sin + other * cos), dim=-1)
