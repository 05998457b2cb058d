"""Personal data out of a batch of texts, out of the samples that models learn from, and counted.

A model outlives what is taken down, so what it learns from is scrubbed as final text is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from corpus_assets.core.task import TaskContext
from corpus_assets.scrub.findings import Finding, find_by_rules, with_recognized
from corpus_assets.scrub.planner import ScrubPlanner
from corpus_assets.scrub.recognizers import Recognizer, load_recognizer, recognize
from corpus_assets.scrub.settings import RecognizerSettings, ScrubSettings
from corpus_assets.text.batch import TextBatch

VERSION = 9
"""Of what is found and what replaces it; raise it with that of `clean_text`."""

SCRUBBED = "scrubbed_"
"""Begins the names of counts of personal data; the kind follows."""


def sample_settings(pipeline: ScrubPlanner, snapshot: str) -> dict[str, Any]:
    """Return what changes the scrubbed text of a sample that a model learns from."""
    domain = pipeline.recipe.source_of(snapshot).domain
    return {
        "domain": domain,
        "clean_text": {"scrub": pipeline.recipe.clean_text.scrub.identity()},
        "scrub_version": VERSION,
        **scrub_releases(pipeline, domain),
    }


def scrub_releases(pipeline: ScrubPlanner, domain: str) -> dict[str, Any]:
    """The release of the library that knows telephone numbers, where they are looked for, and the
    identities of the recipe's recognizers. Loads these, so that a missing one is an error before
    anything is computed."""
    scrub = pipeline.recipe.clean_text.scrub
    found: dict[str, Any] = {}
    if "phone" in scrub.actions(domain):
        found["phonenumbers"] = version("phonenumbers")
    if scrub.recognizers:
        entries = (entry.model_dump_json() for entry in scrub.recognizers)
        found["recognizers"] = [_loaded(entry)[1] for entry in entries]
    return found


@lru_cache(maxsize=8)
def _loaded(entry: str) -> tuple[Recognizer, str]:
    """Return a recognizer and its identity, loaded once a process."""
    settings = RecognizerSettings.model_validate_json(entry)
    return load_recognizer(settings.engine, settings.options)


def scrub_settings(context: TaskContext) -> ScrubSettings:
    """Return what the task that is running does about personal data."""
    return ScrubSettings.model_validate(context.task.settings["clean_text"]["scrub"])


def task_recognizers(context: TaskContext) -> list[Recognizer]:
    """Return the recognizers of the task that is running."""
    settings = scrub_settings(context)
    return [_loaded(entry.model_dump_json())[0] for entry in settings.recognizers]


def scrubbed_sample(
    context: TaskContext, texts: pa.ChunkedArray, languages: Sequence[str | None]
) -> list[str]:
    """Texts of a sample as a model may learn from them: it outlives what is taken down."""
    settings = scrub_settings(context)
    domains = [context.task.settings["domain"]] * len(languages)
    batch = TextBatch.from_arrow(texts)
    found = personal_data(batch, domains, languages, settings, task_recognizers(context))
    out: list[str] = batch.texts.to_pylist()
    for row, findings in found.items():
        out[row] = replaced(out[row], findings, settings)
    return out


def replaced(text: str, findings: Sequence[Finding], settings: ScrubSettings) -> str:
    """Return the text with a placeholder for each finding; `findings` are in order, none
    overlapping."""
    pieces: list[str] = []
    place = 0
    for finding in findings:
        pieces += (text[place : finding.start], settings.placeholder(finding.kind))
        place = finding.end
    return "".join((*pieces, text[place:]))


def personal_data(
    batch: TextBatch,
    domains: Sequence[str],
    languages: Sequence[str | None],
    settings: ScrubSettings,
    recognizers: Sequence[Recognizer],
) -> Mapping[int, list[Finding]]:
    """Return findings by document; those that are treated alike are looked at together."""
    alike: dict[tuple[frozenset[str], tuple[str, ...]], list[int]] = {}
    kinds = {domain: frozenset(settings.actions(domain)) for domain in set(domains)}
    regions = {language: settings.regions(language) for language in set(languages)}
    for row, (domain, language) in enumerate(zip(domains, languages, strict=True)):
        alike.setdefault((kinds[domain], regions[language]), []).append(row)
    found: dict[int, list[Finding]] = {}
    for (wanted, where), rows in alike.items():
        part = batch
        if len(rows) < len(batch):
            part = TextBatch.from_arrow(batch.texts.take(pa.array(rows, pa.int64())))
        some = find_by_rules(part.data, part.offsets, wanted, where)
        found |= {rows[number]: findings for number, findings in some.items()}
    if not recognizers:
        return found
    recognized = recognize(recognizers, batch.texts.to_pylist(), languages)
    asked = [
        [Finding(*one) for one in some if one[2] in kinds[domain]]
        for some, domain in zip(recognized, domains, strict=True)
    ]
    return with_recognized(found, asked)


def count_scrubbed(context: TaskContext, final: pa.Table) -> None:
    """Add up the personal data of a part, by kind; kinds that the recipe treats count as 0."""
    settings = scrub_settings(context)
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
