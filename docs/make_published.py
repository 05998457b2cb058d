"""Write docs/reference/published.md: each published recipe beside its sources, from recipes/sources/*.csv.

Run `python docs/make_published.py` after a table changed; a test compares the file with what this
prints, and another one the tables with the recipes.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parent / "reference" / "published.md"
TABLES = TARGET.parents[2] / "recipes" / "sources"

HEAD = """\
# Published recipes and their sources

Made by `docs/make_published.py` from the tables in `recipes/sources/`, one for each recipe that is
called after a publication. A test compares recipe and table both ways.

| status | what it says |
|---|---|
| as published | the value, and which side of it passes, are in the source |
| deviates | the rule is the publication's, the last column says what is different here |
| absent | a rule of the publication that the recipe does not have |
| not verified | the value is reportedly there, and could not be read there |
| ours | the publication does not specify it |
| measured | what came out, by a benchmark |

A source is a paper's section, or `owner/repository@commit path`.
"""

Row = dict[str, str]


def tables() -> dict[str, list[Row]]:
    """Return the rows of each recipe's table, by the recipe's name."""
    found = {}
    for path in sorted(TABLES.glob("*.csv")):
        with open(path, newline="", encoding="utf-8") as lines:
            found[path.stem] = list(csv.DictReader(lines))
    return found


def reference() -> str:
    return "\n".join([HEAD, *_summary(), *_pages()]) + "\n"


def _summary() -> Iterator[str]:
    names = ("as published", "deviates", "absent", "not verified", "ours")
    yield f"| recipe | {' | '.join(names)} | yield |"
    yield "|---" * (len(names) + 2) + "|"
    for recipe, rows in tables().items():
        counts = Counter(row["status"] for row in rows)
        numbers = " | ".join(str(counts[name]) for name in names)
        kept = next((row["value"] for row in rows if row["rule"] == "yield"), "-")
        yield f"| [{recipe}](#{recipe}) | {numbers} | {kept} |"
    yield ""


def _pages() -> Iterator[str]:
    for recipe, rows in tables().items():
        yield f"## {recipe}\n"
        yield f"[recipes/{recipe}.yaml](../../recipes/{recipe}.yaml)\n"
        yield "| rule | setting | status | source | what is different, or why |"
        yield "|---|---|---|---|---|"
        for row in rows:
            said = f"`{row['setting'] or row['rule']}: {row['value']}`" if row["value"] else ""
            cells = [row["rule"], said, row["status"], row["source"], row["because"]]
            yield f"| {' | '.join(_escaped(cell) for cell in cells)} |"
        yield ""


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
    sys.stdout.write(f"{TARGET.name} written\n")
