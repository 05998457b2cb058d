"""What cleaning needs beside the text: lists of hashes, recognizers, and the counts it leaves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from corpus_assets.clean import clean_text
from corpus_assets.clean.clean_text import CleanTextSettings, scrub_texts
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.task import TaskContext
from corpus_assets.scrub.recognizers import Recognizer, load_recognizer
from corpus_assets.scrub.settings import RecognizerSettings
from corpus_assets.scrub.text_hashes import HashList

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline

SCRUBBED = "scrubbed_"
"""Begins the names of counts of personal data; the kind follows."""


def hash_list_files(graph: "Pipeline") -> dict[str, list[Path]]:
    """The files of each list of hashes that the recipe names, by its place there."""
    found: dict[str, list[Path]] = {}
    for number, entry in enumerate(graph.recipe.clean_text.text_hashes):
        name = f"text_hashes/{number:04d}"
        found[name] = graph.locations.files((entry.path,), "clean_text.text_hashes", name)
    return found


def _with_forms(graph: "Pipeline") -> list[tuple[str, Path]]:
    """(form, file) of each of these files."""
    lists = zip(graph.recipe.clean_text.text_hashes, hash_list_files(graph).values(), strict=True)
    return [(entry.form, path) for entry, paths in lists for path in paths]


def hash_list_inputs(graph: "Pipeline") -> tuple[dict[str, str], dict[str, Any]]:
    """The lists as inputs of a task, by digest, and where they lie."""
    files = _with_forms(graph)
    if not files:
        return {}, {}
    digests = {
        f"text_hashes/{number:04d}/{form}": graph.digest_of(path)
        for number, (form, path) in enumerate(files)
    }
    return digests, {"text_hashes": [[form, str(path)] for form, path in files]}


def hash_list_pins(graph: "Pipeline") -> dict[str, tuple[PinnedFile, ...]]:
    """The lists for the lock."""
    files = _with_forms(graph)
    if not files:
        return {}
    return {
        "text_hashes": tuple(
            PinnedFile(name=path.name, bytes=path.stat().st_size, sha256=graph.digest_of(path))
            for _, path in files
        )
    }


def hash_lists(context: TaskContext) -> list[HashList]:
    """The lists of the task that is running."""
    listed = context.task.params.get("text_hashes", [])
    return [HashList.from_file(Path(path), form) for form, path in listed]


def recognizer_settings(graph: "Pipeline") -> dict[str, Any]:
    """Identities of the recognizers of the recipe; loads them, so that a missing one is told
    before anything is computed."""
    entries = graph.recipe.clean_text.scrub.recognizers
    if not entries:
        return {}
    return {"recognizers": [_loaded(entry.model_dump_json())[1] for entry in entries]}


def sample_settings(graph: "Pipeline", snapshot: str) -> dict[str, Any]:
    """What changes the scrubbed text of a sample that a model learns from."""
    domain = graph.recipe.source_of(snapshot).domain
    return {
        "domain": domain,
        "clean_text": {"scrub": graph.recipe.clean_text.scrub.identity()},
        "scrub_version": clean_text.VERSION,
        **phone_settings(graph, domain),
        **recognizer_settings(graph),
    }


def scrubbed_sample(
    context: TaskContext, texts: pa.ChunkedArray, languages: Sequence[str | None]
) -> list[str]:
    """Texts of a sample as a model may learn from them: it outlives what is taken down."""
    settings = context.settings(CleanTextSettings, "clean_text").scrub
    domains = [context.task.settings["domain"]] * len(languages)
    return scrub_texts(texts, domains, languages, settings, recognizers(context))


def phone_settings(graph: "Pipeline", domain: str) -> dict[str, Any]:
    """The release of the library that knows telephone numbers, where they are looked for."""
    wanted = "phone" in graph.recipe.clean_text.scrub.actions(domain)
    return {"phonenumbers": version("phonenumbers")} if wanted else {}


def recognizers(context: TaskContext) -> list[Recognizer]:
    """The recognizers of the task that is running."""
    settings = context.settings(CleanTextSettings, "clean_text").scrub
    return [_loaded(entry.model_dump_json())[0] for entry in settings.recognizers]


@lru_cache(maxsize=8)
def _loaded(entry: str) -> tuple[Recognizer, str]:
    """A recognizer and its identity, loaded once a process."""
    settings = RecognizerSettings.model_validate_json(entry)
    return load_recognizer(settings.engine, settings.options)


def count_scrubbed(context: TaskContext, final: pa.Table) -> None:
    """Add up the personal data of a part, by kind; kinds that the recipe treats count as 0."""
    settings = context.settings(CleanTextSettings, "clean_text").scrub
    totals: Counter[str] = Counter(
        dict.fromkeys(settings.actions(context.task.settings["domain"]), 0)
    )
    for counts in final["scrubbed"].to_pylist():
        totals.update(dict(counts or ()))
    for kind, n in sorted(totals.items()):
        context.counts[SCRUBBED + kind] = n


def scrubbed_totals(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of personal data among a result's counts, by kind."""
    return {
        name.removeprefix(SCRUBBED): n for name, n in counts.items() if name.startswith(SCRUBBED)
    }
