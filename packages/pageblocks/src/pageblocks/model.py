"""The model that judges blocks of a page, its file, and the blocks it keeps.

1. `block_features` says of each block what stands around it, in integers;
2. trees give each block a first chance, then a second one that also knows the first chances of its
   neighbours and of the elements it stands in; the mean of both counts, brought nearer to that of
   blocks of the same make (`level`);
3. the blocks are kept whose expected F1 over words is the highest;
4. parts that are none by their own markup, and copies, are taken back (`prune`), and so are the
   comments under a story.

All of it is integers: the text is the same on every processor.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pageblocks.errors import ModelError
from pageblocks.kernels.block_features import CONTEXT, FEATURES, add_context, level
from pageblocks.kernels.block_pruning import prune
from pageblocks.kernels.block_trees import DEPTH, NODES, Ints, Trees, chances_of, keep, scores_of
from pageblocks.kernels.blocks import Blocks
from pageblocks.kernels.comments import comments_of_story
from pageblocks.page_types import page_type

MODEL = Path(__file__).with_name("model.json")
WITH_COMMENTS = ("forum", "product", "documentation")
"""Types of pages whose comments are their text: posts, reviews, and what is called so in references
of programs."""


class BlockModel(NamedTuple):
    """Trees over features, trees over features and the first ones' chances, and the curve from
    scores to chances."""

    first: Trees
    second: Trees
    curve: Ints


def model_digest(path: Path = MODEL) -> str:
    """SHA-256 of a model file: part of the identity of what it extracts."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_model(model: BlockModel, trained_on: Mapping[str, Any] | None = None) -> bytes:
    """Return a model as a file: JSON of names and integers, and what it was trained on."""

    def lists(trees: Trees) -> dict[str, Any]:
        return {
            name: value if isinstance(value, int) else value.tolist()
            for name, value in trees._asdict().items()
        }

    content = {
        "trained_on": dict(trained_on or {}),
        "depth": DEPTH,
        "features": [*FEATURES, *CONTEXT],
        "first": lists(model.first),
        "second": lists(model.second),
        "curve": model.curve.tolist(),
    }
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


@cache
def read_model(path: Path = MODEL) -> BlockModel:
    """Read a model file. Raises ModelError for one made for other features."""
    try:
        content = json.loads(path.read_bytes())
        names, depth = content["features"], content["depth"]
        model = BlockModel(
            _trees(content["first"]),
            _trees(content["second"]),
            np.array(content["curve"], dtype=np.int32),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is not a model of the block extractor: {error}") from error
    if names != [*FEATURES, *CONTEXT] or depth != DEPTH or not _fits(model):
        raise ModelError(
            f"{path} was trained for other features than this release computes: "
            "train it again (pageblocks train)"
        )
    return model


def _trees(content: dict[str, Any]) -> Trees:
    return Trees(
        np.array(content["features"], dtype=np.int16),
        np.array(content["thresholds"], dtype=np.int32),
        np.array(content["leaves"], dtype=np.int32),
        int(content["start"]),
    )


def _fits(model: BlockModel) -> bool:
    """Whether no index leaves its array: kernels do not look."""
    return len(model.curve) > 1 and all(
        trees.features.shape == trees.thresholds.shape == (len(trees.leaves), NODES)
        and trees.leaves.shape == (len(trees.leaves), NODES + 1)
        and trees.features.min(initial=0) >= 0
        and trees.features.max(initial=0) < width
        for trees, width in (
            (model.first, len(FEATURES)),
            (model.second, len(FEATURES) + len(CONTEXT)),
        )
    )


def judge(model: BlockModel, page: Blocks, features: Ints) -> Ints:
    """Chance of each block to be main content, 0 to 1000, by its `block_features`."""
    first = chances_of(scores_of(model.first, features), model.curve)
    both = add_context(page, features, first)
    second = chances_of(scores_of(model.second, both), model.curve)
    # On sites unlike those it was trained on the mean is better than either.
    return level(page, (first + second) // 2)


def kept_blocks(
    markup: bytes, page: Blocks, chances: Ints, min_chance: int | None = None
) -> npt.NDArray[np.bool_]:
    """Choose the blocks of the main content: those with the best expected F1, or those with a
    chance, of 0 to 1000, of so much; less what `prune` takes back. Where comments under a story were
    among them, choose again without them: the story may have been the smaller part."""
    kept = prune(page, _chosen(page, chances, min_chance))
    is_comment = comments_of_story(page, kept)
    if not (is_comment & kept).any() or page_type(markup, page) in WITH_COMMENTS:
        return kept
    chosen = _chosen(page, np.where(is_comment, 0, chances), min_chance)
    return prune(page, chosen & ~is_comment)


def _chosen(page: Blocks, chances: Ints, min_chance: int | None) -> npt.NDArray[np.bool_]:
    return keep(chances, page.blocks[:, 5]) if min_chance is None else chances >= min_chance
