"""The project's own extractor: blocks of a page, judged by a small model, the kept ones as text.

1. `find_blocks` reads the page once into blocks in a tree of elements;
2. `block_features` says of each block what stands around it, in integers;
3. trees give each block a first chance, then a second one that also knows the first chances of its
   neighbours and of the elements it stands in; the mean of both counts, brought nearer to that of
   blocks of the same make (`level`);
4. the blocks are kept whose expected F1 over words is the highest;
5. parts that are none by their own markup, and copies, are taken back (`prune`);
6. paragraphs, headings, list items and table rows become lines, `pre` keeps its white space.

All of it is integers: the text is the same on every processor.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from corpus_assets.core.errors import ModelError
from corpus_assets.ingest.extractors.markdown import markdown_of
from corpus_assets.ingest.kernels.block_features import (
    CONTEXT,
    FEATURES,
    add_context,
    block_features,
    level,
)
from corpus_assets.ingest.kernels.block_pruning import prune
from corpus_assets.ingest.kernels.block_trees import (
    DEPTH,
    NODES,
    SCALE,
    Ints,
    Trees,
    chances_of,
    keep,
    scores_of,
)
from corpus_assets.ingest.kernels.blocks import Blocks, find_blocks
from corpus_assets.ingest.kernels.page_names import TAGS

MODEL = Path(__file__).with_name("blocks.json")
VERSION = 6  # raise it whenever the same model could give another text
_WARM = b"<p>a<pre>b</pre><table><tr><td>c</table>"


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
            "train it again (corpus extraction train)"
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
    """Chance of each block to be main content, 0 to 1000."""
    first = chances_of(scores_of(model.first, features), model.curve)
    both = add_context(page, features, first)
    second = chances_of(scores_of(model.second, both), model.curve)
    # On sites unlike those it was trained on the mean is better than either.
    return level(page, (first + second) // 2)


def kept_blocks(
    model: BlockModel, page: Blocks, min_chance: int | None = None
) -> npt.NDArray[np.bool_]:
    """Choose the blocks of the main content: those with the best expected F1, or those with a
    chance, of 0 to 1000, of so much; less what `prune` takes back."""
    chances = judge(model, page, block_features(page))
    chosen = keep(chances, page.blocks[:, 5]) if min_chance is None else chances >= min_chance
    return prune(page, chosen)


class BlockEngine(Protocol):
    """From a page, and its blocks where they are there already, to its text."""

    def __call__(self, markup: bytes, parsed: Blocks | None = None, /) -> str: ...


def block_engine(options: dict[str, Any], path: Path | None = None) -> BlockEngine:
    """Return the extractor of a recipe's options, compiled; with another model where one is given."""
    model, include_tables = read_model(path or MODEL), options["include_tables"]
    write = markdown_of if options.get("format") == "markdown" else text_of
    lowest = options.get("min_chance")
    min_chance = None if lowest is None else round(lowest * SCALE)

    def extract(markup: bytes, parsed: Blocks | None = None, /) -> str:
        page = find_blocks(markup) if parsed is None else parsed
        return write(page, kept_blocks(model, page, min_chance), include_tables)

    extract(_WARM)  # compiled before a page's limits count
    return extract


_ITEM, _ROW, _TABLE = TAGS["li"], TAGS["tr"], TAGS["table"]
_CELLS = (TAGS["td"], TAGS["th"])


def text_of(page: Blocks, kept: npt.NDArray[np.bool_], include_tables: bool = True) -> str:
    """Write the kept blocks: one a line, `- ` before list items, ` | ` between cells of a row."""
    text = page.text
    parents, tags = page.elements[:, 0].tolist(), page.elements[:, 1].tolist()
    lines: list[str] = []
    last_item = last_row = last_cell = -1
    marked: set[int] = set()  # items that have their mark
    data: dict[int, bool] = {}  # a row is looked at once, however many cells it has
    for start, end, element in page.blocks[kept, :3].tolist():
        written = text[start:end].tobytes().decode("utf-8", "surrogatepass")
        item = cell = row = -1
        above, depth = element, 0
        while above > 0 and depth < 6:  # a block stands close to its item or row
            tag = tags[above]
            if tag == _ITEM and item < 0:
                item = above
            elif tag in _CELLS and cell < 0:
                cell = above
            elif tag == _ROW:
                row = above
                break
            elif tag == _TABLE:
                break
            above, depth = parents[above], depth + 1
        if row >= 0 and not include_tables:
            if row not in data:
                data[row] = _is_data(page, row)
            if data[row]:
                continue
        if item >= 0 and item not in marked:
            marked.add(item)
            lines.append(f"- {written}")
        elif (
            row >= 0
            and row == last_row
            and cell != last_cell
            and last_item < 0
            and _fits_row(lines[-1], written)
        ):
            lines[-1] += f" | {written}"
        else:
            lines.append(written)
        last_item, last_row, last_cell = item, row, cell
    return "\n".join(lines)


MAX_ROW_CHARS = 1000
"""Longer rows lay out a page and are no data."""


def _fits_row(line: str, cell: str) -> bool:
    return "\n" not in cell and len(line) < MAX_ROW_CHARS


def _is_data(page: Blocks, row: int) -> bool:
    """Whether a row holds cells of data: each short."""
    first, stop = page.elements[row, 4:6].tolist()
    return bool((page.blocks[first:stop, 4] < MAX_ROW_CHARS // 5).all())
