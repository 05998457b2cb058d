"""Which shards a snapshot has, from the slices its parts laid out for them."""

import json
from collections.abc import Sequence

from corpus_assets.core.store import Output, Result, Store, read_output
from corpus_assets.core.task import Task
from corpus_assets.recipe.recipe import Recipe
from corpus_assets.shards import route as shards


def shard_tasks(
    store: Store,
    snapshot: str,
    parts: Sequence[Result],
    counts_file: Output,
    tokenizer: Output,
    recipe: Recipe,
) -> list[Task]:
    """One task a shard of each group; shards of a group that got no document are empty ones."""
    counts: dict[str, int] = dict(json.loads(read_output(store, counts_file)))
    slices: dict[str, dict[str, tuple[Output, shards.Slice]]] = {}
    for number, part in enumerate(parts):
        listed = json.loads(read_output(store, part.outputs["slices.json"]))
        for name, raw in listed.items():
            entry = (part.outputs["tokens.parquet"], shards.Slice(**raw))
            slices.setdefault(name, {})[f"part-{number:05d}"] = entry
            counts.setdefault(name.rpartition("/")[0], 1)
    tasks = []
    for group in sorted(counts):
        for number in range(counts[group]):
            held = slices.get(f"{group}/{number:05d}", {})
            tasks.append(
                Task(
                    "shards",
                    shards.VERSION,
                    {
                        "pack": recipe.shards.pack.identity(),
                        "seed": recipe.seed,
                        "snapshot": snapshot,
                        "group": group,
                        "number": number,
                        "special": recipe.tokenizer.special_names(),
                    },
                    inputs={"tokenizer": tokenizer},
                    extra_inputs={name: piece.sha256 for name, (_, piece) in held.items()},
                    params={
                        "slices": {
                            name: {"path": output.path, "row_group": piece.row_group}
                            for name, (output, piece) in held.items()
                        }
                    },
                    label=f"{snapshot} {group} shard {number}",
                )
            )
    return tasks
