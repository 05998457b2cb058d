"""`corpus contamination`: which benchmark items stand in a version's documents, for review."""

from typing import TYPE_CHECKING, Any

import click

from corpus_assets.cli.options import HOME_OPTION, JSON_OPTION
from corpus_assets.cli.signals import TEXT_OPTION, VERSION_OPTION, open_version
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.inspect.documents import Hit


@click.command()
@VERSION_OPTION
@click.option("--benchmark", metavar="NAME", help="Of this benchmark only.")
@click.option("--near-misses", is_flag=True, help="What was found and changed nothing.")
@click.option("--common", is_flag=True, help="Items that are phrases of many texts.")
@click.option(
    "--limit", default=20, show_default=True, type=click.IntRange(0), help="Documents to list."
)
@TEXT_OPTION
@HOME_OPTION
@JSON_OPTION
def contamination(
    version: str | None,
    benchmark: str | None,
    near_misses: bool,
    common: bool,
    limit: int,
    with_text: bool,
    home: str | None,
    as_json: bool,
) -> None:
    """Benchmark items found in documents: by benchmark, and the documents themselves.

    Lists what was dropped or cut, the closest first; with --near-misses lightly edited items and
    partial quotations, with --common items that too many texts hold. --text shows the places.
    """
    from catalog.cli.terminal import print_json
    from corpus_assets.decontam.verdicts import COMMON, CUT, DROP, NEAR_MISS
    from corpus_assets.inspect.documents import find_hits, places_of

    wanted = {NEAR_MISS} if near_misses else {COMMON} if common else {DROP, CUT}
    registry, columns = open_version(Home.resolve(home), version)
    name = columns.title.removeprefix("version ")
    found, hits = find_hits(registry, columns, name, benchmark, wanted)
    shown = [_described(columns, hit, with_text) for hit in places_of(columns, hits[:limit])]
    answer = {
        "version": name,
        "benchmarks": [
            {
                "benchmark": one.name,
                "items_seen": one.items_seen,
                "documents": one.n_documents(DROP, CUT),
                "near_miss_items": one.n_items(NEAR_MISS),
                "near_miss_documents": one.n_documents(NEAR_MISS),
                "common_items": one.n_items(COMMON),
            }
            for one in found.values()
        ],
        "total": len(hits),
        "hits": shown,
    }
    (print_json if as_json else _show)(answer)


def _described(columns: Any, hit: "Hit", with_text: bool) -> dict[str, Any]:
    from corpus_assets.inspect.version_columns import look

    (page,) = look(columns, hit.part, [hit.text_row], with_text)
    said: dict[str, Any] = {
        "doc_id": page.doc_id,
        "snapshot": hit.part.snapshot,
        "url": page.url,
        "suppressed": page.suppressed,
        **hit.row,
    }
    if with_text:
        said["text"] = page.text and [
            page.text[place["start"] : place["end"]] for place in hit.row["places"]
        ]
    return said


def _show(answer: dict[str, Any]) -> None:
    from catalog.cli.terminal import print_line, print_table, printable
    from corpus_assets.cli.signals_view import print_text

    if not answer["benchmarks"]:
        print_line(f"Nothing of a benchmark was found in version {answer['version']}.")
        return
    print_table(
        ("benchmark", "items seen", "documents", "near misses", "in documents", "common items"),
        [tuple(row.values()) for row in answer["benchmarks"]],
    )
    print_line()
    if len(answer["hits"]) < answer["total"]:
        print_line(f"{answer['total']:,} hits; the closest {len(answer['hits'])} (see --limit):")
    for hit in answer["hits"]:
        where = "(suppressed)" if hit["suppressed"] else printable(hit["url"])
        print_line(f"{hit['doc_id']}  {hit['snapshot']}  {where}")
        similarity = hit["similarity"]
        alike = "" if similarity is None else f", similarity {similarity:.2f}"
        print_line(
            f"    {hit['verdict']}: {printable(hit['benchmark'])}/{printable(hit['item_id'])} by "
            f"{hit['kind']}, {hit['matched']} of {hit['total']} n-grams{alike}"
        )
        for piece in hit.get("text") or ():
            print_text(piece)
