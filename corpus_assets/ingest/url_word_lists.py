"""Words in URLs from installed lists: read when tasks are planned, so that a task holds the words themselves."""

from pathlib import Path

from corpus_assets.core.errors import SourceError
from corpus_assets.core.word_lists import read_word_list
from corpus_assets.ingest.planner import IngestPlanner
from corpus_assets.ingest.settings import IngestSettings

URL_WORDS = "blocked_url_words/"
SETTING = "documents.gates.blocked_url_words"


def url_word_files(pipeline: IngestPlanner) -> dict[str, list[Path]]:
    """Return the files of each list of words, by its name in a lock: its number in the recipe."""
    rules = pipeline.recipe.documents.gates.blocked_url_words
    return {
        (name := f"{URL_WORDS}{number:04d}"): pipeline.locations.files(
            rule.lists, f"{SETTING}.{rule.name}", name
        )
        for number, rule in enumerate(rules)
        if rule.lists
    }


def with_listed_words(pipeline: IngestPlanner) -> IngestSettings:
    """Return the settings of ingest with the words of all lists in place of their names."""
    documents = pipeline.recipe.documents
    found = url_word_files(pipeline)
    if not found:
        return documents
    rules = []
    for number, rule in enumerate(documents.gates.blocked_url_words):
        files = found.get(f"{URL_WORDS}{number:04d}", ())
        complete = rule.with_words(entry for path in files for entry in read_word_list(path))
        if files and not complete.words:
            raise SourceError(f"{SETTING}.{rule.name}: its list has no word that a URL can contain")
        rules.append(complete)
    gates = documents.gates.model_copy(update={"blocked_url_words": tuple(rules)})
    return documents.model_copy(update={"gates": gates})
