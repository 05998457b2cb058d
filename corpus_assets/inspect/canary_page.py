"""The canary as one HTML page that needs nothing else. It holds text."""

import re
from collections.abc import Iterable

from catalog.cli.terminal import escape
from catalog.figures import short
from corpus_assets.inspect.canary import Group, Specimen
from corpus_assets.versions.pages import page

KEPT = re.compile(
    "([\n\t\u00a0\u2000-\u200a\u200c\u200d\u202f\u205f\u3000]+)"
)  # writing needs them

PAGE_STYLE = """
nav{display:flex;flex-wrap:wrap;gap:.3rem .9rem;font-size:13px;margin:.5rem 0}
nav a{color:#2f6fb0;text-decoration:none} .n{color:#5b6b7c;font-weight:normal;font-size:13px}
article{border:1px solid #dde4ec;border-radius:4px;margin:.7rem 0;padding:.5rem .9rem .7rem}
article p{margin:.15rem 0;font-size:13px;color:#5b6b7c;overflow-wrap:anywhere}
article p b{color:#1d2733} .why{color:#9a3b12}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:13.5px/1.45 ui-monospace,monospace;
background:#f7f9fb;padding:.5rem .7rem;margin:.5rem 0 0;max-height:16rem;overflow:auto}
.warn{background:#fdf3e4;padding:.5rem .8rem;border-left:3px solid #d08a1d}
"""


def render_canary(
    version: str, groups: Iterable[tuple[Group, list[Specimen]]], max_chars: int
) -> str:
    """Render every group with its specimens; a group with nothing to show says so."""
    links: dict[str, list[str]] = {}
    sections = []
    for number, (group, shown) in enumerate(groups):
        links.setdefault(group.stage, []).append(
            f'<a href="#g{number}">{escape(group.name)} ({group.total:,})</a>'
        )
        articles = "".join(_article(one, max_chars) for one in shown)
        sections.append(
            f'<h2 id="g{number}">{escape(f"{group.stage}: {group.name}")} <span class="n">'
            f"{len(shown)} of {group.total:,}</span></h2>"
            f"{articles or '<p>Nothing that may be shown.</p>'}"
        )
    menu = "".join(
        f"<nav><b>{escape(stage)}</b>{''.join(some)}</nav>" for stage, some in links.items()
    )
    title = f"canary of {version}"
    body = (
        f"<h1>{escape(title)}</h1>"
        '<p class="warn">This page contains text of the corpus. It is not part of the version: delete '
        "it when you have looked. A takedown deletes it where it still lies in the home, and names "
        "it elsewhere; it reaches no copy of it.</p>"
        "<p>Kept documents show their final text, dropped ones the text as it was extracted. "
        "Look for good pages among the dropped and bad ones among the kept.</p>"
        f"{menu}{''.join(sections)}"
    )
    return page(title, body, PAGE_STYLE)


def _article(one: Specimen, max_chars: int) -> str:
    said = [one.snapshot, one.language or "language unknown"]
    if one.detail:
        said.append(one.detail)
    why = "".join(
        f'<p class="why">{escape(rule)}: {escape(signal)} is {escape(_shown(value))}, '
        f"asked for: {escape(asked)}</p>"
        for rule, signal, value, asked in one.failed
    )
    text = ""
    if one.text is not None:
        more = len(one.text) - max_chars
        tail = f"<p>... {more:,} more characters</p>" if more > 0 else ""
        text = f'<pre dir="auto">{_lines(one.text[:max_chars])}</pre>{tail}'
    return (
        f'<article id="{one.doc_id}"><p><b>{escape(one.title or one.url or one.doc_id)}</b></p>'
        f"<p>{escape(one.url or '')}</p>"
        f"<p><code>{one.doc_id}</code> {escape(', '.join(said))}</p>{why}{text}</article>"
    )


def _shown(value: object) -> str:
    return short(value) if isinstance(value, float) else str(value)


def _lines(text: str) -> str:
    """Escape a text; lines, tabs, spaces and joiners stay, other control characters are written
    out."""
    parts = KEPT.split(text)
    return "".join(part if place % 2 else escape(part) for place, part in enumerate(parts))
