"""Tasks that train perplexity models and put them into one file."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.core.errors import SourceError
from corpus_assets.core.task import TaskContext
from corpus_assets.signals.stages.perplexity_models import NgramSettings, join_models, train_model
from corpus_assets.signals.stages.training_texts import read_texts


def perplexity_model(context: TaskContext) -> None:
    texts: list[str] = []
    where: dict[str, str] = context.task.settings["where"]
    for path in context.param("texts"):
        is_parquet = path.endswith(".parquet")
        texts += _read_parquet(path, where) if is_parquet else read_texts([path], where)
    if not texts:
        raise SourceError(
            f"perplexity.models.{context.task.settings['name']}: no row of its texts has "
            f"{', '.join(f'{key}: {value}' for key, value in where.items()) or 'a text'}"
        )
    settings = context.settings(NgramSettings, "train")
    trained = train_model(context.task.settings["name"], texts, settings)
    context.write_bytes("model.bin", trained.model)
    context.counts["documents_in"] = len(texts)
    context.notes["metrics"] = {context.task.settings["name"]: trained.metrics}


def perplexity_models(context: TaskContext) -> None:
    context.write_bytes(
        "perplexity.bin", join_models(context.content(name) for name in context.names(""))
    )


def _read_parquet(path: str, where: Mapping[str, str]) -> list[str]:
    """The column `text`; a row without one is an error, training data is curated."""
    try:
        table = pq.read_table(path, columns=["text", *where])
        for name, value in where.items():
            table = table.filter(pc.equal(table[name].cast(pa.string()), value))
        column = table["text"]
    except (OSError, pa.ArrowException, KeyError) as error:
        wanted = ", ".join(f"`{name}`" for name in ("text", *where))
        raise SourceError(f"{path}: cannot be read as Parquet with {wanted} ({error})") from error
    if column.null_count or not (
        pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ):
        raise SourceError(f"{path}: `text` must be a string in every row")
    texts: list[str] = column.to_pylist()
    return texts
