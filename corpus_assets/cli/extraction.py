"""Models of the block extractor: `corpus extraction train`, `eval` and `label`."""

import contextlib
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catalog.answers import Named
from catalog.cli import answers, print_table, progress_line
from corpus_assets.core.errors import CorpusError

if TYPE_CHECKING:
    from pageblocks.training import CrawlPages, TrainingPage

WARC_NAMES = (".warc", ".warc.gz")
MODES = ("fast", "balanced", "precision")  # of trafilatura
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
TRUTH_OPTION = click.option(
    "--truth",
    "truths",
    multiple=True,
    type=FILE,
    help="Truth set: JSON lines with main_content and html or record_id.",
)
WARC_OPTION = click.option(
    "--warc", "warcs", multiple=True, type=FILE, help="WARC file with the truth sets' records."
)
SEED_OPTION = click.option("--seed", default=1, show_default=True, help="Random seed.")
TREES_OPTION = click.option(
    "--trees", default=80, show_default=True, help="Trees in each of the two models."
)


def made_pages_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options for pages that a published model may be trained on."""
    for option in (
        click.option(
            "--texts",
            multiple=True,
            type=FILE,
            help="Texts for synthetic pages: JSON lines with text and lang.",
        ),
        click.option(
            "--made", default=0, metavar="N", help="Synthetic pages to generate from --texts."
        ),
        click.option("--per-host", default=60, show_default=True, help="Pages to use per host."),
        click.option(
            "--documentation",
            multiple=True,
            type=FILE,
            help="WARC file of documentation pages whose generator marks the main content.",
        ),
    ):
        command = option(command)
    return command


@click.group()
def extraction() -> None:
    """Train and evaluate text extractors."""


@dataclass(frozen=True)
class TrainedExtractor:
    """A model of the extractor `blocks`."""

    model: str
    sha256: str
    pages: int
    held_out_pages: int | None = None  # of the crawl, on sites that are not trained on
    f1: float | None = None  # on those, over blocks of which they say what they are
    shipped_f1: float | None = None


@extraction.command("train")
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--from",
    "crawls",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="WARC file, or folder of WARC files: train on pages whose JSON-LD holds their text.",
)
@click.option(
    "--pages",
    "count",
    default=2000,
    show_default=True,
    type=click.IntRange(1),
    help="Pages to draw from --from; about 0.5 MB of memory each.",
)
@TRUTH_OPTION
@WARC_OPTION
@made_pages_options
@SEED_OPTION
@TREES_OPTION
@answers
def train_command(
    out: Path,
    crawls: Sequence[Path],
    count: int,
    truths: Sequence[Path],
    warcs: Sequence[Path],
    documentation: Sequence[Path],
    per_host: int,
    made: int,
    texts: Sequence[Path],
    seed: int,
    trees: int,
) -> TrainedExtractor:
    """Train a model for the extractor `blocks`.

    Writes the model to OUT, with the digests of its training files. Train models that you publish
    on pages whose licence permits it: --documentation and synthetic pages. One site in five of
    --from is held out; the answer has the F1 of this model and of the shipped one on its pages.
    """
    from corpus_assets.ingest import read_stored_pages
    from pageblocks import model_digest
    from pageblocks.training import CrawlPages, FreePages, read_truth, train_model

    free = FreePages(read_stored_pages(documentation), per_host, made, texts)
    crawl = warcs_in(crawls)
    files = {"truth": truths, "warc": warcs, "documentation": documentation, "texts": texts}
    drawn = _draw(crawl, count, per_host) if crawl else CrawlPages()
    with _readable():
        rows: list[TrainingPage] = [*drawn.train, *read_truth(truths, read_stored_pages(warcs))]
        pages = train_model(
            out, rows, free, files | {"from": crawl}, seed, trees, count if crawl else None
        )
    return TrainedExtractor(str(out), model_digest(out), pages, **_held_out(out, drawn))


def warcs_in(crawls: Sequence[Path]) -> list[Path]:
    """Files as they are given, and the WARC files in folders, in the order of their names."""
    found: list[Path] = []
    for crawl in crawls:
        inside = sorted(path for path in crawl.rglob("*") if path.name.endswith(WARC_NAMES))
        if crawl.is_dir() and not inside:
            raise CorpusError(f"{crawl} has no WARC file: names end in {' or '.join(WARC_NAMES)}")
        found += inside if crawl.is_dir() else [crawl]
    return found


def _draw(warcs: Sequence[Path], count: int, per_host: int) -> "CrawlPages":
    from corpus_assets.ingest import read_stored_pages
    from pageblocks.training import draw_pages

    with progress_line("labelling") as tell:
        drawn = draw_pages(
            read_stored_pages(warcs),
            count,
            per_host,
            lambda seen, labelled: tell(f"{seen:,} pages: {labelled:,} declare their text"),
        )
    if not drawn.train:
        raise CorpusError(
            f"no page of {len(warcs):,} WARC files declares its text in JSON-LD: give more of a crawl"
        )
    return drawn


def _held_out(out: Path, drawn: "CrawlPages") -> dict[str, Any]:
    """Measures of the model and of the shipped one on pages of sites that neither was trained on."""
    from pageblocks.training import known_f1

    if not drawn.held_out:
        return {}
    return {
        "held_out_pages": len(drawn.held_out),
        "f1": round(known_f1(drawn.held_out, out), 4),
        "shipped_f1": round(known_f1(drawn.held_out), 4),
    }


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """What `pageblocks` has to say, as an error of this command."""
    from pageblocks import PageblocksError

    try:
        yield
    except PageblocksError as error:
        raise CorpusError(str(error)) from error


@dataclass(frozen=True)
class Score:
    """F1 over words of some pages, and the share of pages that have less than .5."""

    f1: float
    failed: float
    pages: int


Scores = Mapping[str, Score]  # of all pages, and by page type and language


def show_scores(answer: Named[Scores]) -> None:
    """Print groups of pages as rows, extractors as columns."""
    found = answer.rows
    print_table(
        ["pages of", "pages", *(f"{name}: F1 (under .5)" for name in found)],
        (
            [
                group,
                one.pages,
                *(f"{its[group].f1:.3f} ({its[group].failed:.0%})" for its in found.values()),
            ]
            for group, one in next(iter(found.values())).items()
        ),
    )


@extraction.command("eval")
@TRUTH_OPTION
@WARC_OPTION
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(["blocks", *MODES, "resiliparse"]),
    help="Extractors to measure [blocks]; fast, balanced and precision are trafilatura.",
)
@click.option("--model", type=FILE, help="Model file to use for `blocks`.")
@click.option(
    "--cross-validate",
    "folds",
    default=0,
    metavar="FOLDS",
    help="Also cross-validate on the same pages, split by site.",
)
@made_pages_options
@SEED_OPTION
@TREES_OPTION
@answers(view=show_scores)
def eval_command(
    truths: Sequence[Path],
    warcs: Sequence[Path],
    engines: Sequence[str],
    model: Path | None,
    folds: int,
    documentation: Sequence[Path],
    per_host: int,
    made: int,
    texts: Sequence[Path],
    seed: int,
    trees: int,
) -> Named[Scores]:
    """Evaluate extractors on truth sets.

    Reports F1 over words by page type and language. With --cross-validate, --documentation and
    synthetic pages are added to the training set.
    """
    from corpus_assets.ingest import make_engine, read_stored_pages
    from pageblocks.training import FreePages, cross_validate, evaluate, measures, read_truth

    free = FreePages(read_stored_pages(documentation), per_host, made, texts)
    with _readable():
        rows = read_truth(truths, read_stored_pages(warcs))
        if not rows:
            raise CorpusError("no page of the truth sets was found: pass --truth and --warc")
        found: dict[str, Any] = {}
        for name in engines or ["blocks"]:
            options: dict[str, Any] = {"include_tables": True, "include_comments": False}
            options |= (
                {"engine": "trafilatura", "mode": name} if name in MODES else {"engine": name}
            )
            if model is not None:
                options["model"] = str(model)
            found[name] = measures(rows, list(evaluate(rows, make_engine(options))))
        if folds:
            scores = cross_validate(rows, folds, seed, trees, free.rows(seed))
            found["blocks, cross-validated"] = measures(rows, scores)
        elif documentation or made:
            raise CorpusError("training pages need --cross-validate FOLDS")
    return Named(
        {
            name: {group: Score(**one._asdict()) for group, one in its.items()}
            for name, its in found.items()
        },
        "extractor",
    )


@dataclass(frozen=True)
class Labelled:
    """A truth set, with counts of the pages: those that are in it, and those left out by reason."""

    truth: str
    labelled: int = 0
    empty: int | None = None
    failed: int | None = None
    timeout: int | None = None
    too_long: int | None = None
    not_text: int | None = None


@extraction.command("label")
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--warc", "warcs", multiple=True, required=True, type=FILE, help="WARC file with the pages."
)
@click.option("--count", type=click.IntRange(1), help="Pages to label [all].")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1))
@click.option(
    "--time-limit-s",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Time limit per page, in seconds.",
)
@click.option(
    "--max-output-bytes",
    default=10_000_000,
    show_default=True,
    type=click.IntRange(1),
    help="Output limit per page, in bytes.",
)
@answers
def label_command(
    out: Path,
    command: Sequence[str],
    warcs: Sequence[Path],
    count: int | None,
    workers: int,
    time_limit_s: float,
    max_output_bytes: int,
) -> Labelled:
    """Label pages with another extractor.

    Writes a truth set to OUT, for `train` and `eval`. COMMAND, a program and its arguments after
    `--`, is started for each page without a shell; it reads the page in UTF-8 from standard input
    and writes its main text to standard output. Pages for which it fails are counted and skipped.
    """
    from corpus_assets.ingest import read_stored_pages
    from pageblocks.training import LabelLimits, label_pages

    limits = LabelLimits(time_limit_s, max_output_bytes)
    counts: Counter[str] = Counter()
    part = out.with_name(f"{out.name}.part")  # so that OUT is whole, or not there
    opened = gzip.open if out.suffix == ".gz" else open
    try:
        with (
            _readable(),
            opened(part, "wt", encoding="utf-8") as lines,
            progress_line("labelling") as tell,
        ):
            for label in label_pages(read_stored_pages(warcs), command, count, workers, limits):
                counts[label.reason or "labelled"] += 1
                tell(
                    f"{counts.total():,} {f'of {count:,} ' if count else ''}pages: "
                    f"{', '.join(f'{n:,} {why}' for why, n in counts.most_common())}"
                )
                if label.reason is None:
                    row = {"record_id": label.record_id, "url": label.url}
                    lines.write(json.dumps(row | {"main_content": label.main_content}) + "\n")
        if not counts["labelled"]:
            raise CorpusError(
                f"{command[0]} found text on none of {counts.total()} pages "
                f"({', '.join(f'{n} {why}' for why, n in counts.most_common()) or 'no page read'})"
                "; try it by hand on one of them"
            )
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return Labelled(str(out), **counts)
