"""The canary as one HTML page that needs nothing else. It holds text."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from catalog.pages import render
from corpus_assets.inspect.canary import Group, Specimen

TEMPLATE = Path(__file__).parent / "templates" / "canary.html"


def render_canary(
    version: str, groups: Iterable[tuple[Group, list[Specimen]]], max_chars: int
) -> str:
    """Render every group with its specimens; a group with nothing to show says so."""
    shown: list[dict[str, Any]] = []
    stages: dict[str, list[dict[str, Any]]] = {}
    for number, (group, some) in enumerate(groups):
        one = {"number": number, "stage": group.stage, "name": group.name, "total": group.total}
        shown.append({**one, "shown": some})
        stages.setdefault(group.stage, []).append(one)
    return render(TEMPLATE, version=version, groups=shown, stages=stages, max_chars=max_chars)
