"""The stages of lists of addresses: blocked categories, and what sites ask of machines.

Both are made once from pinned files, and every part of a snapshot looks pages up in them. The
content hash of a list is an input of each part that uses it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from corpus_assets.core import files
from corpus_assets.core.errors import SourceError
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.stage import Scope, Stage
from corpus_assets.core.store import Output
from corpus_assets.core.task import Task, TaskContext
from corpus_assets.ingest import site_files
from corpus_assets.ingest.fetch import Reach, open_pinned
from corpus_assets.ingest.gates import (
    CATEGORIES_VERSION,
    CATEGORY_FILES,
    CategoryIndex,
    SiteIndex,
    UrlLists,
    build_category_index,
)
from corpus_assets.ingest.planner import IngestPlanner
from corpus_assets.ingest.records import SourceFile
from corpus_assets.ingest.site_files import SiteFileSettings, build_index, read_site_files
from corpus_assets.ingest.source_reading import reading_params

CATEGORY = "blocked_categories/"
FILES_PER_TASK = 64
BYTES_PER_TASK = 512_000_000


def plan_category_index(pipeline: IngestPlanner) -> list[Task]:
    if not pipeline.recipe.blocked_categories:
        return []
    lists: list[tuple[str, str]] = []
    extra: dict[str, str] = {}
    for name, paths in category_files(pipeline).items():
        category = name.removeprefix(CATEGORY)
        for path in paths:
            lists.append((category, str(path)))
            extra[f"{category}/{path.name}"] = pipeline.digest_of(path)
    settings = {"categories": list(pipeline.recipe.blocked_categories)}
    params = {"lists": lists}
    return [CATEGORY_INDEX.task(settings, extra_inputs=extra, params=params)]


def plan_site_rules(pipeline: IngestPlanner, snapshot: str) -> list[Task]:
    source = pipeline.recipe.source_of(snapshot)
    settings = site_settings(pipeline).identity()
    tasks = []
    for number, chunk in enumerate(_chunks(pipeline.snapshot_files(snapshot).robots)):
        tasks.append(
            SITE_RULES.task(
                settings,
                extra_inputs={file.name: file.sha256 for file in chunk},
                params={
                    "files": [asdict(file) for file in chunk],
                    **reading_params(source, pipeline.locations, snapshot, chunk[0]),
                },
                label=f"{snapshot} site files {number}",
            )
        )
    return tasks


def plan_robots_index(pipeline: IngestPlanner, snapshot: str) -> list[Task]:
    inputs = {
        f"{i:05d}": rules for i, rules in enumerate(pipeline.parts(files.SITE_RULES, snapshot))
    }
    settings = site_settings(pipeline).identity()
    return [ROBOTS_INDEX.task(settings, inputs, label=snapshot)] if inputs else []


def list_inputs(pipeline: IngestPlanner, snapshot: str) -> dict[str, Output]:
    """Return what a part of a snapshot looks its pages up in."""
    found: dict[str, Output] = {}
    for name, file in (
        ("categories", files.CATEGORIES),
        ("sites", files.SITES),
        ("site_rules", files.ROBOTS_RULES),
    ):
        for output in pipeline.parts(file, snapshot):
            found[name] = output
    return found


def site_settings(pipeline: IngestPlanner) -> SiteFileSettings:
    gates = pipeline.recipe.documents.gates
    if gates.robots is None:
        return SiteFileSettings(ai_agents=gates.optout.agents)
    return SiteFileSettings(agents=gates.robots.agents)


def pins_of_sites(pipeline: IngestPlanner) -> dict[str, tuple[PinnedFile, ...]]:
    """Return what was pinned beside the files of snapshots, for the lock."""
    pins: dict[str, tuple[PinnedFile, ...]] = {}
    for snapshot in pipeline.recipe.snapshots:
        pinned = pipeline.snapshot_files(snapshot)
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


def category_files(pipeline: IngestPlanner) -> dict[str, list[Path]]:
    """Return the files of each blocked category, by its name in a lock."""
    named = pipeline.recipe.blocked_categories.items()
    return {CATEGORY + name: _category_files(pipeline, place, name) for name, place in named}


def _category_files(pipeline: IngestPlanner, place: str, category: str) -> list[Path]:
    copies = pipeline.locations.copies(CATEGORY + category)
    if copies is not None:
        return copies
    folder = Path(pipeline.locations.resolve(place))
    if folder.is_file():
        return [folder]
    found = [folder / name for name in CATEGORY_FILES if (folder / name).is_file()]
    if not found:
        raise SourceError(
            f"blocked_categories.{category}: {folder} holds neither `domains` nor `urls`; fix "
            "the path"
        )
    return found


def is_empty_list(place: str) -> bool:
    """Whether a file of a list, or the folder of a category, is there and holds nothing."""
    path = Path(place)
    files = [path / name for name in CATEGORY_FILES] if path.is_dir() else [path]
    found = [file for file in files if file.is_file()]
    return bool(found) and not any(_has_entry(file) for file in found)


def _has_entry(file: Path) -> bool:
    with open(file, "rb") as lines:
        return any(line.partition(b"#")[0].strip() for line in lines)


def _chunks(pinned: Sequence[SourceFile]) -> Iterator[list[SourceFile]]:
    chunk: list[SourceFile] = []
    for file in pinned:
        size = sum(each.size for each in chunk) + file.size
        if chunk and (len(chunk) >= FILES_PER_TASK or size > BYTES_PER_TASK):
            yield chunk
            chunk = []
        chunk.append(file)
    if chunk:
        yield chunk


def run_category_index(context: TaskContext) -> None:
    lists = [(category, Path(path)) for category, path in context.param("lists")]
    data, counts = build_category_index(lists)
    context.write_bytes(files.CATEGORIES, data)
    context.notes["entries"] = dict(sorted(counts.items()))


def run_site_rules(context: TaskContext) -> None:
    reach = context.task.params.get("reach")
    open_file = open_pinned if reach is None else Reach.of(reach).open
    pinned = [SourceFile(**raw) for raw in context.param("files")]
    table = read_site_files(pinned, context.settings(SiteFileSettings), open_file)
    context.write_table(files.SITE_RULES, table)
    context.counts["site_files"] = table.num_rows


def run_robots_index(context: TaskContext) -> None:
    settings = context.settings(SiteFileSettings)
    tables = (context.table(name) for name in context.names(""))
    sites, rules = build_index(tables, settings.agents)
    context.write_bytes(files.SITES, sites)
    context.write_bytes(files.ROBOTS_RULES, rules)


def url_lists(context: TaskContext) -> UrlLists:
    """Return the lists that a documents task was given."""
    categories = CategoryIndex(context.path("categories")) if context.has("categories") else None
    sites = None
    if context.has("sites"):
        sites = SiteIndex(context.path("sites"), context.path("site_rules"))
    return UrlLists(categories, sites)


CATEGORY_INDEX = Stage(
    "category_index",
    CATEGORIES_VERSION,
    Scope.ALL,
    plan_category_index,
    run_category_index,
    writes=(files.CATEGORIES,),
)

SITE_RULES = Stage(
    "site_rules",
    site_files.VERSION,
    Scope.SNAPSHOT,
    plan_site_rules,
    run_site_rules,
    reads=(files.SOURCE_FILES,),
    writes=(files.SITE_RULES,),
)

ROBOTS_INDEX = Stage(
    "robots_index",
    site_files.VERSION,
    Scope.SNAPSHOT,
    plan_robots_index,
    run_robots_index,
    reads=(files.SITE_RULES,),
    writes=(files.SITES, files.ROBOTS_RULES),
)
