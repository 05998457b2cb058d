"""What texts have of what their pages declare, from the page to the check."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.core.schemas import DECLARED_RECALL
from corpus_assets.core.urls import Blocklist
from corpus_assets.ingest.declared_recall import (
    MIN_DOCUMENTS,
    DeclaredRecall,
    recall_message,
    summed_recall,
)
from corpus_assets.ingest.documents import IngestSettings, ingest_part
from corpus_assets.ingest.extract import ExtractionSettings
from corpus_assets.ingest.purge import purge_part
from corpus_assets.ingest.records import SourceFile, file_sha256
from corpus_assets.ingest.source import SourceSpec
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets_tests.ingest.extract.article import SENTENCE
from corpus_assets_tests.ingest.warc_bytes import members, response

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven")


def page(host: str, shown: int) -> bytes:
    """A recipe of four ingredients that shows some of them, and declares a comment twice."""
    items = [f"{number} {number}fold {host} flour" for number in NUMBERS[:4]]
    recipe = {"@type": "Recipe", "recipeIngredient": items}
    comments = [{"@type": "Comment", "text": f"{n} stars from me"} for n in (4, 5)]
    said = json.dumps([*comments, recipe] if shown else {"@type": "Organization", "name": host})
    lines = "".join(f"<li>{item}</li>" for item in items[:shown])
    body = f"<h1>{host}</h1><p>{SENTENCE * 4}</p><ul>{lines}</ul><p>{SENTENCE * 3}</p>"
    return f"<script type='application/ld+json'>{said}</script><article>{body}</article>".encode()


@pytest.fixture(scope="module")
def warc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "pages.warc.gz"
    shown = {"a": 4, "b": 3, "c": 0}
    pages = [response(f"http://{name}.test/", page(name, n)) for name, n in shown.items()]
    path.write_bytes(members(*pages))
    return path


def ingest(path: Path, engine: str, *orders: tuple[str, str]) -> tuple[pa.Table, pa.Table]:
    size, sha256 = file_sha256(str(path))
    spec = SourceSpec(name="web", format="warc")
    file = SourceFile(path.name, str(path), size, sha256)
    settings = IngestSettings(extraction=ExtractionSettings.model_validate({"engine": engine}))
    known = Suppressions.from_rows(list(orders))
    return ingest_part(spec, "s-1", 0, file, settings, Blocklist(), known)


def by_host(documents: pa.Table) -> dict[str, object]:
    columns = (documents[name].to_pylist() for name in ("host", DECLARED_RECALL.name))
    return dict(zip(*columns, strict=True))


def test_documents_say_by_type_how_many_declared_lines_they_have(warc: Path) -> None:
    _, documents = ingest(warc, "blocks")
    comments = {"type": "Comment", "lines": 2, "found": 0}
    assert by_host(documents) == {
        "a.test": [comments, {"type": "Recipe", "lines": 4, "found": 4}],
        "b.test": [comments, {"type": "Recipe", "lines": 4, "found": 3}],
        "c.test": None,
    }
    assert DECLARED_RECALL.name not in ingest(warc, "resiliparse")[1].column_names


def test_after_a_takedown_they_are_those_of_a_part_that_never_had_the_page(warc: Path) -> None:
    order = ("host", "a.test")
    purged = purge_part(*ingest(warc, "blocks"), Suppressions.from_rows([order]))
    again = ingest(warc, "blocks", order)
    assert purged[1].equals(again[1])
    assert list(by_host(purged[1])) == ["b.test", "c.test"]


def test_sums_are_over_documents_and_name_the_most_frequent_type_first() -> None:
    rows = [
        [{"type": "Recipe", "lines": 4, "found": 1}, {"type": "Comment", "lines": 1, "found": 0}],
        None,
        [{"type": "Recipe", "lines": 2, "found": 1}],
    ]
    column = pa.chunked_array([pa.array(rows, DECLARED_RECALL.type)])
    assert summed_recall(column) == [
        DeclaredRecall("Recipe", 2, 6, 2, 1),
        DeclaredRecall("Comment", 1, 1, 0, 1),
    ]
    assert summed_recall(pa.chunked_array([], DECLARED_RECALL.type)) == []


def test_a_type_whose_texts_clearly_lack_what_is_declared_is_named() -> None:
    good = DeclaredRecall("Article", 500, 900, 880, 20)
    chance = DeclaredRecall("FAQPage", MIN_DOCUMENTS, 100, 60, 8)
    few = DeclaredRecall("HowTo", MIN_DOCUMENTS - 1, 30, 0, MIN_DOCUMENTS - 1)
    left_out = DeclaredRecall("Comment", 500, 900, 0, 500)
    passed, message = recall_message([good, left_out, chance, few])
    assert passed
    assert "Article: 20 of 500 documents" in message
    assert "Comment" not in message
    low = DeclaredRecall("Recipe", 100, 1000, 400, 40)
    passed, message = recall_message([good, low])
    assert not passed
    assert message.startswith("Recipe: 40 of 100 documents have less than half")
    assert "40% of 1,000 lines" in message
    assert "Article" not in message
    assert recall_message([])[0]
