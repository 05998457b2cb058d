"""Write docs/reference/published.md: how each recipe differs from its publication.

Run `python docs/make_published.py` after a table in recipes/sources/ changed; a test compares the
file with what this prints, and another one the tables with the recipes.
"""

import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parent / "reference" / "published.md"
TABLES = TARGET.parents[2] / "recipes" / "sources"

HEAD = """\
# Published recipes

How the recipes that are named after a publication compare with it. Made by
`docs/make_published.py` from `recipes/sources/*.csv`, which has one row per setting: its value, its
status, and the section of the paper or the `owner/repository@commit` and file where it was read.

| status | meaning |
|---|---|
| as published | the value, and which side of it passes, are in the source |
| deviates | a rule of the publication, changed as noted |
| absent | a rule of the publication that the recipe does not have |
| not verified | reported elsewhere, not found in the source |
| ours | the publication does not specify it |

Pages whose publishers refuse training are dropped in all of them, which goes beyond every
publication; `documents.gates.optout.on_disallow: record` keeps them.

*Yield* is the share of records that selection and deduplication keep of a crawl of news and blogs,
half of it English: 0.6 to 1.5 times what two such crawls gave (`benchmarks/recipe_yields.py`).
"""
STATUSES = ("as published", "deviates", "absent", "not verified", "ours")

Row = dict[str, str]


def tables() -> dict[str, list[Row]]:
    """The rows of each recipe's table, by the recipe's name."""
    found = {}
    for path in sorted(TABLES.glob("*.csv")):
        with open(path, newline="", encoding="utf-8") as lines:
            found[path.stem] = list(csv.DictReader(lines))
    return found


def reference() -> str:
    recipes = tables()
    pages = (line for recipe, rows in recipes.items() for line in _page(recipe, rows))
    return "\n".join([HEAD, *_summary(recipes), *pages])


def _summary(recipes: dict[str, list[Row]]) -> Iterator[str]:
    yield f"| recipe | {' | '.join(STATUSES)} | yield |"
    yield "|---" * (len(STATUSES) + 2) + "|"
    for recipe, rows in recipes.items():
        counts = Counter(row["status"] for row in rows)
        numbers = " | ".join(str(counts[name]) for name in STATUSES)
        kept = next((row["value"] for row in rows if row["rule"] == "yield"), "-")
        yield f"| [{recipe}](#{recipe}) | {numbers} | {kept} |"
    yield ""


def _page(recipe: str, rows: list[Row]) -> Iterator[str]:
    yield f"## {recipe}\n"
    places = {"recipe": f"{recipe}.yaml", "settings and sources": f"sources/{recipe}.csv"}
    files = ", ".join(f"[{name}](../../recipes/{place})" for name, place in places.items())
    sources = dict.fromkeys(_work(row["source"]) for row in rows if row["status"] != "measured")
    sources.pop("", None)
    yield f"{files}. From {', '.join(sources)}.\n"
    for status in STATUSES:
        rules: dict[str, list[str]] = defaultdict(list)
        for row in rows:
            if row["status"] == status:
                rules["" if status == "ours" else row["because"]].append(row["rule"])
        plain = rules.pop("", [])
        if plain:
            yield f"**{status.capitalize()}**: {', '.join(plain)}.\n"
        elif rules:
            yield f"**{status.capitalize()}**:\n"
        if rules:
            yield from (f"- {', '.join(named)}: {because}." for because, named in rules.items())
            yield ""


def _work(source: str) -> str:
    """The publication that a source is a place of: a repository at a commit, or a paper."""
    first = source.split(" ", 1)[0]
    return (
        f"`{first.rstrip(':,;')}`" if "@" in first else source.partition(",")[0].partition(":")[0]
    )


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
    sys.stdout.write(f"{TARGET.name} written\n")
