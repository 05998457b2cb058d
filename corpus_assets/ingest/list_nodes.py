"""Lists of addresses as nodes: blocked categories, and what sites ask of machines.

Both are made once from pinned files, and every part of a snapshot looks pages up in them. The
content hash of a list is an input of each part that uses it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from corpus_assets.core.errors import SourceError
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task
from corpus_assets.ingest.gates import robots_index
from corpus_assets.ingest.gates.categories import FILES
from corpus_assets.ingest.gates.categories import VERSION as CATEGORIES_VERSION
from corpus_assets.ingest.gates.robots_index import SiteFileSettings
from corpus_assets.ingest.source import SourceFile
from corpus_assets.ingest.source_reading import reading_params

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline

CATEGORY = "blocked_categories/"
FILES_PER_TASK = 64
BYTES_PER_TASK = 512_000_000


def category_index_tasks(graph: "Pipeline") -> list[Task]:
    entry = graph.recipe.blocked_categories
    if entry is None:
        return []
    lists: list[tuple[str, str]] = []
    extra: dict[str, str] = {}
    for name, paths in category_files(graph).items():
        category = name.removeprefix(CATEGORY)
        for path in paths:
            lists.append((category, str(path)))
            extra[f"{category}/{path.name}"] = graph.digest_of(path)
    settings = {"categories": list(entry.categories)}
    params = {"lists": lists}
    return [Task("category_index", CATEGORIES_VERSION, settings, extra_inputs=extra, params=params)]


def site_rules_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    source = graph.recipe.source_of(snapshot)
    settings = site_settings(graph).identity()
    tasks = []
    for number, files in enumerate(_chunks(graph.snapshot_files(snapshot).robots)):
        tasks.append(
            Task(
                "site_rules",
                robots_index.VERSION,
                settings,
                extra_inputs={file.name: file.sha256 for file in files},
                params={
                    "files": [asdict(file) for file in files],
                    **reading_params(source, graph.locations, snapshot, files[0]),
                },
                label=f"{snapshot} site files {number}",
            )
        )
    return tasks


def robots_index_tasks(graph: "Pipeline", snapshot: str) -> list[Task]:
    parts = graph.results("site_rules", snapshot)
    if not parts:
        return []
    inputs = {f"{i:05d}": part.outputs["rules.parquet"] for i, part in enumerate(parts)}
    settings = site_settings(graph).identity()
    return [Task("robots_index", robots_index.VERSION, settings, inputs, label=snapshot)]


def list_inputs(graph: "Pipeline", snapshot: str) -> dict[str, Output]:
    """What a part of a snapshot looks its pages up in."""
    found: dict[str, Output] = {}
    for result in graph.results("category_index"):
        found["categories"] = result.outputs["categories.arrow"]
    for result in graph.results("robots_index", snapshot):
        found["sites"] = result.outputs["sites.arrow"]
        found["site_rules"] = result.outputs["rules.arrow"]
    return found


def site_settings(graph: "Pipeline") -> SiteFileSettings:
    gates = graph.recipe.documents.gates
    if gates.robots is None:
        return SiteFileSettings(ai_agents=gates.optout.ai_agents.training)
    return SiteFileSettings(agents=gates.robots.agents)


def site_pins(graph: "Pipeline") -> dict[str, tuple[PinnedFile, ...]]:
    """What was pinned beside the files of snapshots, for the lock."""
    pins: dict[str, tuple[PinnedFile, ...]] = {}
    for snapshot in graph.recipe.snapshots:
        pinned = graph.snapshot_files(snapshot)
        if pinned.robots:
            pins[f"site_files/{snapshot}"] = tuple(
                PinnedFile(name=file.name, bytes=file.size, sha256=file.sha256)
                for file in pinned.robots
            )
        if pinned.indexes:
            pins[f"url_index/{snapshot}"] = tuple(
                PinnedFile(name=file.name, bytes=rows.bytes, sha256=rows.sha256)
                for file, rows in zip(pinned.files, pinned.indexes, strict=True)
            )
    return pins


def category_files(graph: "Pipeline") -> dict[str, list[Path]]:
    """The files of each blocked category, by its name in a lock."""
    entry = graph.recipe.blocked_categories
    if entry is None:
        return {}
    return {
        CATEGORY + name: _category_files(graph, entry.folder, name) for name in entry.categories
    }


def _category_files(graph: "Pipeline", lists: str, category: str) -> list[Path]:
    copies = graph.locations.copies(CATEGORY + category)
    if copies is not None:
        return copies
    folder = Path(graph.locations.resolve(lists)) / category
    found = [folder / name for name in FILES if (folder / name).is_file()]
    if not found:
        raise SourceError(
            f"blocked_categories: {folder} holds neither `domains` nor `urls`; correct the folder "
            "or the name of the category"
        )
    return found


def _chunks(files: Sequence[SourceFile]) -> Iterator[list[SourceFile]]:
    chunk: list[SourceFile] = []
    for file in files:
        size = sum(each.size for each in chunk) + file.size
        if chunk and (len(chunk) >= FILES_PER_TASK or size > BYTES_PER_TASK):
            yield chunk
            chunk = []
        chunk.append(file)
    if chunk:
        yield chunk
