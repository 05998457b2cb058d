r"""Formulas that survive extraction: shares by the form that they have on a page, beside other extractors.

    python benchmarks/formulas.py [--formulas 320] [--seed 1] [--show 3]

The formulas are of our own making (`formula_trees`), each is written in every form that can state it
(`formula_forms`), in a sentence and as a paragraph of its own, six on a page with text, menus and a
footer around. A formula survives when what stands between the words before and after it has
a writing that means the same (`formula_reading`): its TeX, or text that keeps bars of fractions,
exponents, indexes and roots. The share in brackets, where it is another one, has this and nothing
else there: no second writing, no preview, no loose characters of the drawing. The last table has formulas in the cells of a table, written as Markdown. `--show` prints so many of each form that
blocks loses. The other extractors are called as their libraries are.
"""

import argparse
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from formula_forms import FORMS, Formula, formula
from formula_layout import NotInThisForm
from formula_reading import reading, says
from formula_trees import Node, formulas
from machine import machine

from corpus_assets.ingest.extractors.engines import engine_version, make_engine

Engine = Callable[[bytes], str | None]
Judged = tuple[Formula, str, bool, bool]  # a formula, what is there, whether it is kept, and alone
ON_A_PAGE = 6
IN_CELLS = (
    "presentation MathML", "MathML with an annotation", "KaTeX", "KaTeX, HTML alone", "MathJax 3, drawn",
    "dollar signs in text",
)  # fmt: skip
PLACES = {False: "in a sentence", True: "a paragraph"}
SENTENCES = (
    "What follows needs nothing but a pencil, some patience and the rules that everybody learns at school.",
    "We look at one case after the other, because each of them asks for a thought that the others do not need.",
    "Whoever has read the chapter before will know the names, and for all others they are said once more.",
    "It is easy to see why this must hold if one draws the picture first and counts the corners afterwards.",
    "A careful reader may want to try some small values before believing a word of what is claimed here.",
)  # fmt: skip
_PIECE = r"statement number {0} says\b[\s:]*(.*?)\s*\bso ends number {0}\b"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--formulas", type=int, default=320)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    engines = all_engines()
    trees = formulas(options.formulas, options.seed)
    versions = ", ".join(engine_version(name) for name in ("trafilatura", "resiliparse"))
    print(f"{machine()}; {engine_version('blocks')[:25]}, {versions}\n")
    judged = {
        (form, is_displayed): {name: list(judge(engine, given)) for name, engine in engines.items()}
        for form, write in FORMS.items()
        for is_displayed in PLACES
        if (given := written_in(write, trees, is_displayed))
    }
    print_forms(judged)
    print_parts(judged)
    print_cells(trees)
    if options.show:
        show(judged, options.show)


def all_engines() -> dict[str, Engine]:
    import trafilatura

    settings = {"mode": "fast", "include_tables": True, "include_comments": False}
    return {
        "blocks": make_engine({"engine": "blocks"} | settings),
        "trafilatura": lambda page: trafilatura.extract(page),
        "resiliparse": make_engine({"engine": "resiliparse"} | settings),
    }


def written_in(
    write: Callable[[Formula], str], trees: list[Node], is_displayed: bool
) -> list[tuple[Formula, str]]:
    """The formulas that a form can state, and their markup."""
    given = []
    for tree in trees:
        one = formula(tree, is_displayed)
        try:
            given.append((one, write(one)))
        except NotInThisForm:
            continue
    return given


def judge(
    engine: Engine, given: list[tuple[Formula, str]], *, in_cells: bool = False
) -> Iterator[Judged]:
    """Each formula, what an extractor wrote for it, and whether that says the same."""
    for first in range(0, len(given), ON_A_PAGE):
        some = given[first : first + ON_A_PAGE]
        text = " ".join((engine(page_of(some, in_cells).encode()) or "").split())
        for number, (one, _) in enumerate(some):
            piece = re.search(_PIECE.format(100 + number), text, re.IGNORECASE)
            found = piece[1] if piece else ""
            read, means = reading(found), [reading(each) for each in one.writings()]
            yield one, found, any(says(read, each) for each in means), read in means


def page_of(some: list[tuple[Formula, str]], in_cells: bool = False) -> str:
    """A page with formulas, each between words that no other one has."""
    parts = []
    for number, (one, markup) in enumerate(some):
        first, second = (SENTENCES[(number + place) % len(SENTENCES)] for place in (0, 2))
        starts, ends = f"Statement number {100 + number} says", f"so ends number {100 + number}"
        if in_cells:
            row = f"<tr><td>Case {number}</td><td>{starts} {markup} {ends}.</td></tr>"
            parts.append(f"<p>{first} {second}</p><table>{row}</table>")
        elif one.is_displayed:
            parts.append(
                f"<p>{first} {starts}:</p>\n{markup}\n<p>{ends.capitalize()}. {second}</p>"
            )
        else:
            parts.append(f"<p>{first} {starts} {markup} {ends}. {second}</p>")
    links = "".join(
        f'<li><a href="/{name}">{name}</a></li>'
        for name in ("Home", "Courses", "Archive", "Contact")
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Notes on calculation</title></head><body>'
        f"<header><nav><ul>{links}</ul></nav></header><main><article><h1>Notes on calculation</h1>\n"
        + "\n".join(parts)
        + f'</article></main><aside class="sidebar"><ul>{links}</ul></aside>'
        "<footer><p>Terms of use. All rights reserved.</p></footer></body></html>"
    )  # fmt: skip


Everything = dict[tuple[str, bool], dict[str, list[Judged]]]


def print_forms(judged: Everything) -> None:
    names = list(next(iter(judged.values())))
    print(
        "| form | formulas | "
        + " | ".join(f"{name}, {place}" for name in names for place in PLACES.values())
        + " |"
    )
    print("|---" * (2 + 2 * len(names)) + "|")
    for form in dict.fromkeys(form for form, _ in judged):
        cells = [cell(judged[form, place].get(name, [])) for name in names for place in PLACES]
        number = len(judged[form, False][names[0]])
        print(f"| {form} | {number} | " + " | ".join(cells) + " |")
    totals = {
        (name, place): [one for (_, its), by in judged.items() if its == place for one in by[name]]
        for name in names
        for place in PLACES
    }
    print(
        f"| all | {len(totals[names[0], False])} | " + " | ".join(map(cell, totals.values())) + " |"
    )


def cell(judged: list[Judged]) -> str:
    if not judged:
        return ""
    kept, alone = (sum(one[place] for one in judged) / len(judged) for place in (2, 3))
    return f"{kept:.1%}" if kept == alone else f"{kept:.1%} ({alone:.1%})"


PARTS = {
    "fraction": ("frac",), "power": ("pow",), "index": ("index",), "root": ("sqrt", "root"), "sum, product": ("big",),
    "integral, limit": ("int", "lim"), "accent": ("bar", "hat", "vec"), "binomial": ("binom",),
    "matrix, cases": ("matrix", "cases"),
}  # fmt: skip


def print_parts(judged: Everything) -> None:
    """Shares by what a formula has, in all forms."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for by in judged.values():
        for name, its in by.items():
            for one, _, is_kept, _ in its:
                kinds = {node.kind for node in one.tree.all()}
                for part, of_it in PARTS.items():
                    if kinds.intersection(of_it):
                        counts[part]["all " + name] += 1
                        counts[part][name] += is_kept
    names = list(next(iter(judged.values())))
    print("\n| with a | formulas | " + " | ".join(names) + " |")
    print("|---" * (2 + len(names)) + "|")
    for part in PARTS:
        total = counts[part]["all " + names[0]]
        cells = (f"{counts[part][name] / max(total, 1):.1%}" for name in names)
        print(f"| {part} | {total} | " + " | ".join(cells) + " |")


def print_cells(trees: list[Node]) -> None:
    """Shares of formulas that survive in the cells of a Markdown table."""
    import trafilatura

    settings = {"mode": "fast", "include_tables": True, "include_comments": False}
    engines: dict[str, Engine] = {
        "blocks": make_engine({"engine": "blocks", "format": "markdown"} | settings),
        "trafilatura": lambda page: trafilatura.extract(page, output_format="markdown"),
    }
    print("\n| in cells, as Markdown | formulas | with bars | " + " | ".join(engines) + " |")
    print("|---" * (3 + len(engines)) + "|")
    for form in IN_CELLS:
        given = written_in(FORMS[form], trees, is_displayed=False)
        cells = [cell(list(judge(engine, given, in_cells=True))) for engine in engines.values()]
        bars = sum("|" in one.tex for one, _ in given)
        print(f"| {form} | {len(given)} | {bars} | " + " | ".join(cells) + " |")


def show(judged: Everything, most: int) -> None:
    for (form, place), by in judged.items():
        lost = [one for one in by["blocks"] if not one[3]]
        for one, found, is_kept, _ in lost[:most]:
            print(f"\n{form}, {PLACES[place]}: {'beside other things' if is_kept else 'lost'}")
            print(f"  {one.tex}\n  {found}\n  {reading(one.tex)}\n  {reading(found)}")


if __name__ == "__main__":
    main()
