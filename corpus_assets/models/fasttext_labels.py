"""Labels and their probabilities for a batch of texts, as fastText's `predict` gives them.

`fasttext_features` makes each text one vector. Then the loss that a model was trained with says
how labels are scored: down a tree with a logistic at each node (hierarchical softmax), by a
softmax over all labels, or by one logistic a label (one versus all, negative sampling).

Labels are fastText's and so are the probabilities, to 1e-5 whatever its compiler did with sums. Ours
have the same bits on every processor. A text's result does not depend on the texts beside it.

A model that fastText itself has loaded (`fasttext_library`) answers for itself.
"""

from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from corpus_assets.core.model_choice import LabelEngine
from corpus_assets.models.fasttext_features import mean_rows
from corpus_assets.models.fasttext_file import (
    HIERARCHICAL,
    SOFTMAX,
    Bytes,
    FastTextModel,
    Floats,
    Ints,
    Offsets,
    load_model,
)
from corpus_assets.models.fasttext_library import LibraryModel, load_library_model
from corpus_assets.text.exact_math import exp, log
from textkernels.compiled import kernel

SIGMOID_STEPS, SIGMOID_END = 512, 8  # fastText looks logistics up in a table of this size


AnyModel: TypeAlias = FastTextModel | LibraryModel


def open_model(path: Path, engine: LabelEngine) -> AnyModel:
    """Return the model of a file, for our kernels or as fastText has it."""
    return load_model(path) if engine == "kernels" else load_library_model(path)


def identify(
    model: AnyModel, data: Bytes, offsets: Offsets, k: int = 3
) -> tuple[npt.NDArray[np.int32], Floats]:
    """Return the `k` likeliest labels of each text and their probabilities, best first.

    Text d is `data[offsets[d]:offsets[d + 1]]`, UTF-8. int32[n, k], -1 where fastText gives
    fewer, and float32[n, k]. Of labels with one score those are given, and in that order, that
    fastText gives: what its heap (`std::push_heap`, `pop_heap`, `sort_heap` of libstdc++) leaves.
    """
    if isinstance(model, LibraryModel):
        return model.identify(data, offsets, k)
    hidden, counts = mean_rows(model, data, offsets)
    found = np.full((len(counts), k), -1, dtype=np.int32)
    scores = np.zeros((len(counts), k), dtype=np.float32)
    n_labels = len(model.labels)
    order = np.arange(n_labels, dtype=np.int32)
    if model.loss == HIERARCHICAL:
        order = _leaves(model.left, model.right, n_labels)
    _likeliest(
        hidden, counts, model.output, model.left, model.right, model.loss, order,
        _logistic_table(), found, scores,
    )  # fmt: skip
    return found, scores


def label_scores(model: AnyModel, data: Bytes, offsets: Offsets) -> Floats:
    """float32[n, labels]: the probability of every label; all NaN for a text without a row, 0 for
    a label that fastText does not give."""
    if isinstance(model, LibraryModel):
        return model.label_scores(data, offsets)
    hidden, counts = mean_rows(model, data, offsets)
    scores = np.full((len(counts), len(model.labels)), np.nan, dtype=np.float32)
    _all_scores(
        hidden, counts, model.output, model.left, model.right, model.loss, _logistic_table(), scores
    )
    return scores


def _logistic_table() -> Floats:
    steps = np.arange(SIGMOID_STEPS + 1, dtype=np.float32)
    places = steps * np.float32(2 * SIGMOID_END) / np.float32(SIGMOID_STEPS) - SIGMOID_END
    return np.array([1.0 / (1.0 + exp(-place)) for place in places.tolist()], dtype=np.float32)


@kernel
def _score_tree(total: Floats, output: Floats, left: Ints, right: Ints, score: Floats) -> None:
    """score[:labels]: the logarithm of each leaf's probability; minus infinity below 1e-5."""
    n_labels = (len(score) + 1) // 2
    least = np.float32(log(1e-5))
    score[2 * n_labels - 2] = 0
    for node in range(2 * n_labels - 2, n_labels - 1, -1):
        if score[node] < least:
            score[left[node]] = score[right[node]] = -np.inf
            continue
        dot = np.float32(0)
        for place in range(len(total)):
            dot += output[node - n_labels, place] * total[place]
        chance = np.float32(1.0 / np.float64(np.float32(1) + np.float32(exp(-np.float64(dot)))))
        no = np.float32(log(np.float64(np.float32(1.0 - np.float64(chance))) + 1e-5))
        yes = np.float32(log(np.float64(chance) + 1e-5))
        score[left[node]] = score[node] + no
        score[right[node]] = score[node] + yes
    for label in range(n_labels):
        if score[label] < least:
            score[label] = -np.inf


@kernel
def _score_flat(
    total: Floats, output: Floats, is_softmax: bool, table: Floats, score: Floats
) -> None:
    """score[:labels]: the logarithm of each label's probability."""
    n_labels = output.shape[1]
    for label in range(n_labels):
        score[label] = 0
    for place in range(len(total)):  # labels side by side: sums in order, many at once
        factor = total[place]
        for label in range(n_labels):
            score[label] += factor * output[place, label]
    if is_softmax:
        most = score[0]
        for label in range(n_labels):
            most = max(most, score[label])
        whole = np.float32(0)
        for label in range(n_labels):
            score[label] = exp(np.float64(score[label] - most))
            whole += score[label]
        for label in range(n_labels):
            score[label] /= whole
    else:
        for label in range(n_labels):
            x = score[label]
            if x < -SIGMOID_END:
                score[label] = 0
            elif x > SIGMOID_END:
                score[label] = 1
            else:
                step = np.int64((x + SIGMOID_END) * SIGMOID_STEPS / SIGMOID_END / 2)
                score[label] = table[step]
    for label in range(n_labels):
        score[label] = np.float32(log(np.float64(score[label]) + 1e-5))


@kernel
def _leaves(left: Ints, right: Ints, n_labels: int) -> Ints:
    """int32[labels]: the labels from left to right, as fastText walks its tree."""
    out = np.empty(n_labels, dtype=np.int32)
    waiting = np.empty(2 * n_labels, dtype=np.int64)
    waiting[0] = 2 * n_labels - 2
    open_nodes, place = 1, 0
    while open_nodes:
        open_nodes -= 1
        node = waiting[open_nodes]
        if node < n_labels:
            out[place] = node
            place += 1
        else:
            waiting[open_nodes], waiting[open_nodes + 1] = right[node], left[node]
            open_nodes += 2
    return out


@kernel
def _sift_up(heap: Ints, hole: int, label: int, score: Floats) -> None:
    """Put a label into the heap from `hole` up; the least score stands first."""
    while hole > 0 and score[heap[(hole - 1) // 2]] > score[label]:
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = label


@kernel
def _pop(heap: Ints, size: int, score: Floats) -> None:
    """Move the first of `size` labels behind the others, which stay a heap.

    The hole goes down to a leaf first and the label then up from there: with equal scores another
    way would leave another order.
    """
    label, heap[size - 1] = heap[size - 1], heap[0]
    size -= 1
    hole, child = 0, 2
    while child < size:
        if score[heap[child]] > score[heap[child - 1]]:
            child -= 1
        heap[hole] = heap[child]
        hole, child = child, 2 * (child + 1)
    if child == size and size > 0:
        heap[hole] = heap[child - 1]
        hole = child - 1
    _sift_up(heap, hole, label, score)


@kernel
def _likeliest(
    hidden: Floats, counts: Offsets, output: Floats, left: Ints, right: Ints, loss: int,
    order: Ints, table: Floats, found: Ints, scores: Floats,
) -> None:  # fmt: skip
    most = found.shape[1]
    score = np.empty(2 * len(order) - 1, dtype=np.float32)
    heap = np.empty(most + 1, dtype=np.int32)
    for d in range(len(counts)):
        if counts[d] == 0:
            continue
        if loss == HIERARCHICAL:
            _score_tree(hidden[d], output, left, right, score)
        else:
            _score_flat(hidden[d], output, loss == SOFTMAX, table, score)
        size = 0
        for label in order:
            if score[label] == -np.inf or (size == most and score[label] < score[heap[0]]):
                continue
            _sift_up(heap, size, label, score)
            size += 1
            if size > most:
                _pop(heap, size, score)
                size -= 1
        for rank in range(size, 1, -1):
            _pop(heap, rank, score)
        for rank in range(size):
            found[d, rank] = heap[rank]
            scores[d, rank] = exp(np.float64(score[heap[rank]]))


@kernel
def _all_scores(
    hidden: Floats, counts: Offsets, output: Floats, left: Ints, right: Ints, loss: int,
    table: Floats, scores: Floats,
) -> None:  # fmt: skip
    n_labels = scores.shape[1]
    score = np.empty(2 * n_labels - 1, dtype=np.float32)
    for d in range(len(counts)):
        if counts[d] == 0:
            continue
        if loss == HIERARCHICAL:
            _score_tree(hidden[d], output, left, right, score)
        else:
            _score_flat(hidden[d], output, loss == SOFTMAX, table, score)
        for label in range(n_labels):
            scores[d, label] = exp(np.float64(score[label]))
