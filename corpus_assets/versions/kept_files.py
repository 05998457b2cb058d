"""Copies of the files that a recipe names: a version is built again without the recipe's folder.

Kept is what tasks read where all calibrations are pinned: blocklists, categories, hash lists,
word lists and models from outside. `sources/files/SHA256` holds each content once, `files.json`
in a version's folder says which it needs, by the setting that names them. What calibrations were
made from (eval suites, training texts) is not read again, and snapshots stay where they are.
"""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corpus_assets.clean.scrubbing import hash_list_files
from corpus_assets.core.errors import SourceError
from corpus_assets.core.lock import PinnedFile
from corpus_assets.core.store import Store, local_checked, sha256_hex
from corpus_assets.ingest.lists import category_files
from corpus_assets.signals.base import FOLDER
from corpus_assets.signals.stages.classifiers import outside_classifiers
from corpus_assets.signals.stages.perplexity import outside_files
from corpus_assets.signals.stages.signal_models import signal_models
from corpus_assets.versions.published import KeptFiles, kept_path

if TYPE_CHECKING:
    from corpus_assets.graph.pipeline import Pipeline


def keep_files(graph: "Pipeline") -> KeptFiles:
    """Put all files that a rebuild would read into the store; returns the list of them."""
    return KeptFiles(
        files={
            name: tuple(
                _keep(graph.store, file, str(file.relative_to(root)), graph.digest_of(file))
                for path in paths
                for root, file in _members(path)
            )
            for name, paths in _named(graph).items()
            if paths
        }
    )


@contextlib.contextmanager
def open_kept(store: Store, kept: KeptFiles) -> Iterator[Mapping[str, Sequence[Path]]]:
    """A version's copies under the files' own names, each checked: links in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="corpus-files-") as place:
        found: dict[str, list[Path]] = {}
        for number, (name, pins) in enumerate(kept.files.items()):
            root, is_folder = Path(place, str(number)), name.startswith(FOLDER)
            links = [
                (root if is_folder else root / str(k)) / pin.name for k, pin in enumerate(pins)
            ]
            for link, pin in zip(links, pins, strict=True):
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(local_checked(store, kept_path(pin.sha256), pin.sha256))
            found[name] = [root] if is_folder else links
        yield found


def _named(graph: "Pipeline") -> dict[str, Sequence[Path]]:
    """Files and folders by the names under which a rebuild asks for them."""
    recipe = graph.recipe
    _, _, params = signal_models(graph, recipe.signals.needs())
    models = {name: Path(path) for name, path in params.get("files", {}).items()}
    models |= {name: path for name, (path, _) in outside_classifiers(graph).items()}
    models |= outside_files(graph)  # those that no family reads are in the lock all the same
    return {
        "language_model": [graph.language_model()[0]],
        "blocklists": graph.locations.files(recipe.blocklists, "blocklists"),
        **category_files(graph),
        **hash_list_files(graph),
        **{name: [path] for name, path in models.items()},
    }


def _members(path: Path) -> list[tuple[Path, Path]]:
    """(folder that names start at, file) of a file, or of all files in a folder."""
    if not path.is_dir():
        return [(path.parent, path)]
    return [(path, file) for file in sorted(path.rglob("*")) if file.is_file()]


def _keep(store: Store, file: Path, name: str, sha256: str) -> PinnedFile:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {error.strerror}; put it back") from error
    if sha256_hex(data) != sha256:
        raise SourceError(f"{file} was changed during the build; run the same command again")
    if not store.exists(kept_path(sha256)):
        store.write(kept_path(sha256), data)
    return PinnedFile(name=name, bytes=len(data), sha256=sha256)
