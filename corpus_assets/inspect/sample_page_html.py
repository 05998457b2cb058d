"""The sample page as one HTML file that needs nothing else. It holds text."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from catalog.copies import writing
from catalog.pages import render
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home
from corpus_assets.inspect.sample_page import SampledOutcome, Specimen, draw_sample_page
from corpus_assets.inspect.version_columns import open_version

TEMPLATE = Path(__file__).parent / "templates" / "sample_page.html"


def write_sample_page(
    home: Home, version: str, per_reason: int, max_chars: int, target: Path
) -> None:
    """Draw a page of sample documents and write it, registered as a copy of those it shows."""
    registry, columns = open_version(home, version)
    groups = list(draw_sample_page(columns, per_reason))
    page = render_sample_page(version, groups, max_chars)
    shown = {registry.version(version).name: {one.doc_id for _, some in groups for one in some}}
    try:
        with writing(registry, home.root, target, "page", shown):
            target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise CorpusError(f"cannot write {target}: {error}") from error


def render_sample_page(
    version: str, groups: Iterable[tuple[SampledOutcome, list[Specimen]]], max_chars: int
) -> str:
    """Render every group with its specimens; a group with nothing to show says so."""
    shown: list[dict[str, Any]] = []
    stages: dict[str, list[dict[str, Any]]] = {}
    for number, (group, some) in enumerate(groups):
        one = {"number": number, "stage": group.stage, "name": group.name, "total": group.total}
        shown.append({**one, "shown": some})
        stages.setdefault(group.stage, []).append(one)
    return render(TEMPLATE, version=version, groups=shown, stages=stages, max_chars=max_chars)
