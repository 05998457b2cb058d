"""Train one model on one arm: exact steps, paired seeds, nothing of it left but numbers.

1. The arm's samples lie on the device as one tensor; a step takes the rows that the order names.
2. The end-of-document token opens the document that follows it, as it does when the held-out set
   is scored; apart from that, documents are the segments that the loader finds.
3. Muon for matrices, in steps of AdamW's size, AdamW for the embeddings; learning rate: 5% warm-up,
   flat, linear decay over the last 40% (`schedule`). Seeds spread half as much as with AdamW alone,
   and the models come further with the same tokens.
4. Arms that anneal go on from a checkpoint of the baseline's model, which is trained once.

Equal tokens are equal steps, whatever an arm has to repeat. The host never waits for a step.
This file travels with packs: it needs torch and numpy alone.
"""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence.model import IGNORED, SIZES, Gpt, block_mask, document_mask
from corpus_assets.evidence.schedule import Data, rate_at, trunk_steps

WEIGHT_DECAY = 0.1
CURVE_POINTS = 50
UNTIMED_STEPS = 5  # the first ones compile


@dataclass(frozen=True)
class Trunk:
    """A model before it cools down, and how it came there."""

    losses: Tensor
    weights: dict[str, Tensor]
    optimizers: list[dict[str, Any]]


@dataclass(frozen=True)
class Trained:
    curve: list[list[float]]  # [tokens so far, mean nats since the last point]
    tokens_per_second: float
    trunk: Trunk | None = None


def build_model(size: str, vocab_size: int, sequence: int, device: str) -> Gpt:
    """Return a model without weights worth the name; `reset` gives it those of a seed."""
    if size not in SIZES:
        raise EvidenceError(f"there is no proxy of size {size}; choose one of {', '.join(SIZES)}")
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    return Gpt(SIZES[size], vocab_size, sequence, dtype).to(device)


@dataclass(frozen=True)
class Device:
    """A model where it runs: compiled for one shape on CUDA, with masks that are fast there."""

    model: Gpt
    forward: Callable[..., Tensor]
    masks: Callable[[Tensor], Any] = document_mask
    note: str = ""  # why it is not as fast as it could be


def prepare(model: Gpt, rows: int, sequence: int) -> Device:
    """Choose how a model runs; what a GPU cannot compile runs with plain masks, and a note."""
    device = next(model.parameters()).device
    if device.type != "cuda":
        return Device(model, model)
    torch.set_float32_matmul_precision("high")
    compiled = torch.compile(model, dynamic=False)
    tokens = torch.zeros((rows, sequence), dtype=torch.long, device=device)
    try:
        compiled(tokens, tokens, block_mask(tokens)).sum().backward()
    except Exception as error:  # compilers raise what they like
        problem = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        return Device(model, compiled, document_mask, f"plain masks, no flex attention ({problem})")
    return Device(model, compiled, block_mask)


def train(
    on: Device,
    data: Data,
    *,
    steps: int,
    rows: int,
    learning_rate: float,
    seed: int,
    keeps_trunk: bool = False,
    trunk: Trunk | None = None,
) -> Trained:
    """Train `steps` batches of `rows` samples from the weights of `seed`, or from a trunk that was
    trained on the same samples until it ends."""
    if len(data.order) < steps * rows:
        raise EvidenceError(
            f"{steps} steps of {rows} samples need {steps * rows} positions, the order has "
            f"{len(data.order)}; make the pack again"
        )
    model = on.model
    device = next(model.parameters()).device
    model.reset(seed)
    samples = torch.from_numpy(data.samples).to(device)
    order = torch.from_numpy(data.order[: steps * rows].astype(np.int64)).to(device)
    optimizers = _optimizers(model, device.type == "cuda")
    losses = torch.zeros(steps, device=device)
    fork = trunk_steps(steps) if keeps_trunk or trunk is not None else steps
    first = 0
    if trunk is not None:
        first, losses[:fork] = fork, trunk.losses
        model.load_state_dict(trunk.weights)
        for optimizer, state in zip(optimizers, trunk.optimizers, strict=True):
            optimizer.load_state_dict(copy.deepcopy(state))
    started = time.perf_counter()
    for step in range(first, steps):
        if step == fork and trunk is None:
            trunk = _trunk(model, optimizers, losses[:fork])
        if step == first + UNTIMED_STEPS:
            _wait(device)
            started = time.perf_counter()
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * rate_at(step, steps)
        tokens = samples[order[step * rows : (step + 1) * rows]].long()
        targets = targets_of(tokens, data.pad_id)
        nats = on.forward(tokens, targets, on.masks(segments_of(tokens, data.eod_id)))
        loss = nats.sum() / (targets != IGNORED).sum()
        model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        losses[step] = loss.detach()
    _wait(device)
    seconds = time.perf_counter() - started
    found = losses.cpu().numpy().astype(np.float64)
    if not np.isfinite(found).all():
        raise EvidenceError(
            f"the loss is not a number from step {int(np.argmin(np.isfinite(found)))} on; "
            "plan a lower learning rate"
        )
    per_step = rows * data.samples.shape[1]
    timed = steps - first
    timed -= UNTIMED_STEPS if timed > UNTIMED_STEPS else 0
    return Trained(_curve(found, per_step), timed * per_step / seconds, trunk)


def _trunk(model: Gpt, optimizers: list[torch.optim.Optimizer], losses: Tensor) -> Trunk:
    weights = {name: weight.detach().clone() for name, weight in model.state_dict().items()}
    return Trunk(losses.clone(), weights, [copy.deepcopy(o.state_dict()) for o in optimizers])


def targets_of(tokens: Tensor, pad_id: int) -> Tensor:
    """Return the token after each one; `IGNORED` for padding and at a row's end."""
    targets = tokens.roll(-1, dims=1)
    targets[:, -1] = IGNORED
    return targets.masked_fill(targets == pad_id, IGNORED)


def segments_of(tokens: Tensor, eod_id: int) -> Tensor:
    """Return the number of each token's document in its row."""
    return (tokens == eod_id).cumsum(dim=1)


class Float32Muon(torch.optim.Optimizer):
    """Muon as torch has it, in float32: torch's is in bfloat16, which processors that do not have
    it compute 200 times slower."""

    def __init__(self, weights: list[Tensor]) -> None:
        super().__init__(weights, {"lr": 0.0})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # without a closure
        for group in self.param_groups:
            for weight in group["params"]:
                momentum = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                momentum.lerp_(weight.grad, 0.05)
                update = _orthogonal(weight.grad.lerp(momentum, 0.95))
                weight.mul_(1 - group["lr"] * WEIGHT_DECAY)
                weight.add_(update, alpha=-group["lr"] * 0.2 * max(weight.shape) ** 0.5)


def _orthogonal(matrix: Tensor) -> Tensor:
    """Bring singular values near 1: Jordan's quintic iteration, five times."""
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if is_tall else matrix
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.T if is_tall else x


def _optimizers(model: Gpt, is_cuda: bool) -> list[torch.optim.Optimizer]:
    matrices: list[Tensor] = [
        weight for name, weight in model.named_parameters() if "embed" not in name
    ]
    return [
        torch.optim.Muon(
            matrices, lr=0.0, weight_decay=WEIGHT_DECAY, adjust_lr_fn="match_rms_adamw"
        )
        if is_cuda
        else Float32Muon(matrices),
        torch.optim.AdamW(
            [model.embed.weight], lr=0.0, betas=(0.9, 0.95), weight_decay=0.0, fused=is_cuda
        ),
    ]


def _curve(losses: npt.NDArray[np.float64], per_step: int) -> list[list[float]]:
    pieces = np.array_split(losses, min(CURVE_POINTS, len(losses)))
    ends = np.cumsum([len(piece) for piece in pieces])
    return [
        [float(end * per_step), float(piece.mean())]
        for end, piece in zip(ends, pieces, strict=True)
    ]


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
