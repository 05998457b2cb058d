"""The command `pageblocks`: a page's main text; `train` and `eval` for models of one's own."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pageblocks.errors import PageblocksError, TruthError
from pageblocks.model import MODEL, model_digest
from pageblocks.page import Extractor, Page
from pageblocks.training import (
    PER_HOST,
    TREES,
    FreePages,
    evaluate,
    measures,
    read_pages,
    read_truth,
    train_model,
)
from textkernels.compiled import cache_folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = COMMANDS.get(given[0]) if given else None
    parser, run = command or PAGE
    options = parser().parse_args(given[1:] if command else given)
    _tell_of_compiling()
    try:
        run(options)
    except (PageblocksError, OSError) as error:
        sys.stderr.write(f"pageblocks: {error}\n")
        return 1
    return 0


def _tell_of_compiling() -> None:
    folder = cache_folder("pageblocks")
    if folder is None:
        sys.stderr.write(
            "pageblocks: compiling, a minute at each start: no folder for a cache can be "
            "written; set NUMBA_CACHE_DIR to one\n"
        )
    elif not any(folder.rglob("*.nbi")):
        sys.stderr.write("pageblocks: compiling, once: about a minute of CPU time\n")


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def _page_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pageblocks",
        description="Write the main text of a web page.",
        epilog="`pageblocks train --help` and `pageblocks eval --help`: models of your own.",
    )
    parser.add_argument("file", metavar="FILE", help="HTML in any charset; - for standard input")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="write Markdown")
    form.add_argument(
        "--json",
        action="store_true",
        help="write title, page type, text, its lines and all blocks as JSON",
    )
    parser.add_argument("--model", type=Path, default=MODEL, help="a model that `train` wrote")
    return parser


def _read_page(options: argparse.Namespace) -> None:
    html = sys.stdin.buffer.read() if options.file == "-" else Path(options.file).read_bytes()
    extractor = Extractor("markdown" if options.markdown else "text", model=options.model)
    page = extractor.extract(html)
    _write(json.dumps(_as_json(page), ensure_ascii=False, indent=1) if options.json else page.text)


def _as_json(page: Page) -> dict[str, Any]:
    return {
        "title": page.title,
        "page_type": page.page_type,
        "text": page.text,
        "lines": [line._asdict() for line in page.lines],
        "blocks": [block._asdict() for block in page.blocks],
    }


def _add_files(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    parser.add_argument(
        name, metavar="FILE", type=Path, action="append", default=[], help=f"{help}; repeatable"
    )


TRUTH = "truth set: JSON lines with html and main_content (url, type, lang), gzipped or not"


def _train_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pageblocks train", description="Train a model.")
    parser.add_argument("out", metavar="OUT", type=Path, help="the file to write")
    _add_files(parser, "--truth", TRUTH)
    _add_files(
        parser,
        "--documentation",
        "pages whose generator marks the main content: JSON lines with html and url",
    )
    parser.add_argument("--per-host", type=int, default=PER_HOST, help="of those [%(default)s]")
    _add_files(parser, "--texts", "texts to make up pages around: JSON lines with text and lang")
    parser.add_argument("--made", type=int, default=0, help="how many pages to make up")
    parser.add_argument("--seed", type=int, default=1, help="[%(default)s]")
    parser.add_argument("--trees", type=int, default=TREES, help="in each half [%(default)s]")
    return parser


def _train(options: argparse.Namespace) -> None:
    free = FreePages(
        read_pages(options.documentation), options.per_host, options.made, options.texts
    )
    files = {name: getattr(options, name) for name in ("truth", "documentation", "texts")}
    truth = read_truth(options.truth)
    pages = train_model(options.out, truth, free, files, options.seed, options.trees)
    _write(f"{options.out}: sha256 {model_digest(options.out)}, {pages} pages")


def _eval_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pageblocks eval",
        description="Measure a model: F1 over words, and the share of pages under .5.",
    )
    _add_files(parser, "--truth", TRUTH)
    parser.add_argument("--model", type=Path, default=MODEL, help="a model that `train` wrote")
    return parser


def _eval(options: argparse.Namespace) -> None:
    rows = read_truth(options.truth)
    if not rows:
        raise TruthError("no page to measure on: give --truth")
    extractor = Extractor(model=options.model)
    scores = list(evaluate(rows, lambda markup: extractor.read(markup).text))
    for name, its in measures(rows, scores).items():
        _write(f"{name:20} {its.pages:6} pages  F1 {its.f1:.3f}  under .5: {its.failed:.0%}")


Command = tuple[Callable[[], argparse.ArgumentParser], Callable[[argparse.Namespace], None]]
PAGE: Command = (_page_parser, _read_page)
COMMANDS: dict[str, Command] = {"train": (_train_parser, _train), "eval": (_eval_parser, _eval)}
