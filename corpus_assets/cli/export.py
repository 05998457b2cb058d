"""Export for other tools and check exports: `corpus export`, `check-export`, `export-signatures`."""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catalog.cli import answers
from corpus_assets.cli.options import HOME_OPTION
from corpus_assets.core.errors import CorpusError
from corpus_assets.core.home import Home

if TYPE_CHECKING:
    from corpus_assets.dedup import WrittenSignatures
    from corpus_assets.shards import CheckedExport, WrittenExport

LAYOUTS = ("megatron", "datatrove", "mds", "hf-parquet")


class _Count(click.ParamType[int]):
    """A whole number, also as 1e9."""

    name = "number"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        try:
            number = float(str(value).replace("_", "").replace(",", ""))
            if number < 1 or number != int(number):
                raise ValueError
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a whole number above 0, such as 1e9", param, ctx)
        return int(number)


@click.command(name="export")
@click.argument("version")
@click.option("--format", "layout", type=click.Choice(LAYOUTS), required=True)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Output folder; must not exist."
)
@click.option("--seed", type=int, help="Seed of the order [the version's].")
@click.option("--tokens", type=_Count(), help="Number of tokens from the start of the run [all].")
@click.option("--epochs", type=float, help="Number of epochs; may be fractional [1].")
@click.option("--phase", metavar="NAME", help="Only this phase of the run [all].")
@click.option("--lineage", is_flag=True, help="Also write which document each token comes from.")
@click.option(
    "--file-mib", type=click.IntRange(1), help="Target file size [depends on the format]."
)
@click.option("--workers", type=click.IntRange(1), help="Threads [one per core].")
@HOME_OPTION
@answers
def export_command(
    version: str,
    layout: str,
    out: Path,
    seed: int | None,
    tokens: int | None,
    epochs: float | None,
    phase: str | None,
    lineage: bool,
    file_mib: int | None,
    workers: int | None,
    home: str | None,
) -> "WrittenExport":
    """Export a version in another training format.

    Writes its mix as one flat stream, shuffled in the loader's order, for Megatron-LM, datatrove
    (nanotron), MosaicML Streaming or Hugging Face datasets. A killed export is resumed by running
    the same command again.
    """
    from catalog.copies import writing
    from catalog.db import Registry
    from corpus_assets.shards import (
        WrittenExport,
        export_version,
        make_plan,
        open_version,
        partial_folder,
    )

    place, target = Home.resolve(home), out.absolute()
    source = open_version(place, version)
    if source.is_candidate:
        click.echo(
            f"{source.version} is a candidate: its gates have not passed (`catalog release` "
            "lists them); `latest` is the newest released version",
            err=True,
        )
    plan = make_plan(
        source.manifest,
        source.manifest_sha256,
        layout,
        seed=seed,
        tokens=tokens,
        epochs=epochs,
        phase=phase,
        file_bytes=None if file_mib is None else file_mib * 2**20,
        has_lineage=lineage,
    )
    registry = Registry(place.catalog_url, place.catalog_busy_s)
    holds = {source.version: None}
    with (
        writing(registry, place.root, partial_folder(target), "export", holds),
        writing(registry, place.root, target, "export", holds),
    ):
        made = export_version(
            source.manifest,
            source.manifest_bytes,
            source.store,
            plan,
            target,
            tokenizer=source.tokenizer,
            workers=workers or os.cpu_count() or 1,
            progress=_tell,
        )
    return WrittenExport(**vars(made), out=str(out))


@click.command(name="check-export")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--hashes", is_flag=True, help="Also re-hash every file of the export.")
@HOME_OPTION
@answers
def check_export_command(folder: Path, hashes: bool, home: str | None) -> "CheckedExport":
    """Check an export for damage and removed documents.

    Exits with 1 if a file is damaged or a sample contains a document that was taken down.
    """
    from corpus_assets.shards import check_export

    return check_export(Home.resolve(home), folder, hashes)


@click.command(name="export-signatures")
@click.argument("version_or_recipe")
@click.option("--snapshot", metavar="NAME", required=True)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Output file (Parquet)."
)
@HOME_OPTION
@answers
def export_signatures_command(
    version_or_recipe: str, snapshot: str, out: Path, home: str | None
) -> "WrittenSignatures":
    """Export MinHash signatures for datasketch's LSH.

    Covers the documents of one snapshot, except those under a takedown or without words.
    """
    from catalog.copies import writing
    from corpus_assets.dedup import WrittenSignatures, export_signatures
    from corpus_assets.session import open_home, open_session, reopen_session

    place = Home.resolve(home)
    status = {row.name: row.status for row in open_home(place)[1].versions()}
    if status.get(version_or_recipe, "live") != "live":
        raise CorpusError(
            f"version {version_or_recipe} is {status[version_or_recipe]}; `catalog versions` names "
            "the new one"
        )
    is_version = version_or_recipe in status
    opened = (
        reopen_session(place, version_or_recipe)
        if is_version
        else open_session(version_or_recipe, place)
    )
    held = {version_or_recipe: None}
    with opened as session:
        registered = writing(session.registry, place.root, out.resolve(), "signatures", held)
        with registered if is_version else nullcontext():
            made = export_signatures(session.pipeline, snapshot, out)
    return WrittenSignatures(**vars(made), out=str(out), is_registered=is_version)


def _tell(done: int, parts: int) -> None:
    if done == parts or done % max(1, parts // 20) == 0:
        click.echo(f"{done:,} of {parts:,} parts written", err=True)
