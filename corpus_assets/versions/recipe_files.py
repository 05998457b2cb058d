"""Copies of the files that a recipe names, so that a version is built again without its folder.

That is what tasks read where all calibrations are pinned: blocklists, categories, hash lists, word
lists, models from outside. `sources/files/SHA256` holds each content once, `files.json` in a
version's folder lists what it needs by the setting that names it. What calibrations were made
from (eval suites, training texts) is not read again, and snapshots stay where they are.
"""

from collections.abc import Sequence
from pathlib import Path

from corpus_assets.core.file_copies import keep_file, members_of
from corpus_assets.decontam import PARAPHRASES, judgement_files, paraphrase_model
from corpus_assets.graph import Pipeline
from corpus_assets.ingest import (
    EXTRACTION_MODEL,
    category_files,
    extraction_model,
    url_word_files,
)
from corpus_assets.scrub import hash_list_files
from corpus_assets.signals import models_of_signals, outside_classifiers, outside_files
from corpus_assets.versions.published import KeptFiles


def keep_files(pipeline: Pipeline) -> KeptFiles:
    """Copy all files that a rebuild would read into the store; return the list of them."""
    return KeptFiles(
        files={
            name: tuple(
                keep_file(
                    pipeline.store, file, str(file.relative_to(root)), pipeline.digest_of(file)
                )
                for path in paths
                for root, file in members_of(path)
            )
            for name, paths in _named(pipeline).items()
            if paths
        }
    )


def _named(pipeline: Pipeline) -> dict[str, Sequence[Path]]:
    """Return files and folders by the names under which a rebuild asks for them."""
    recipe = pipeline.recipe
    _, _, params = models_of_signals(pipeline, recipe.signals.needs())
    models = {name: Path(path) for name, path in params.get("files", {}).items()}
    models |= {name: path for name, (path, _) in outside_classifiers(pipeline).items()}
    if (paraphrases := paraphrase_model(pipeline)) is not None:
        models[PARAPHRASES] = paraphrases[1]
    if (extraction := extraction_model(pipeline)) is not None:
        models[EXTRACTION_MODEL] = extraction[0]
    models |= outside_files(pipeline)  # those that no family reads are in the lock all the same
    return {
        "language_model": [pipeline.language_model()[0]],
        "blocklists": pipeline.locations.files(recipe.blocklists, "blocklists"),
        "panels": pipeline.locations.files(recipe.panels, "panels"),
        **category_files(pipeline),
        **url_word_files(pipeline),
        **hash_list_files(pipeline),
        "contamination.judgements": judgement_files(pipeline),
        **{name: [path] for name, path in models.items()},
    }
