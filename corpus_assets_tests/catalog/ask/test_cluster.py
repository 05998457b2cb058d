"""`catalog cluster`: the copies of a document, which one is kept, and why."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from catalog.ask.documents import cluster_story
from catalog.cli.commands import main
from catalog.lineage.tables import Lineage
from corpus_assets_tests.catalog.corpus import Corpus


def test_a_dropped_copy_leads_to_all_members_and_to_the_kept_one(
    corpus: Corpus, lineage: Lineage
) -> None:
    removed = next(doc for doc in corpus.docs if doc.reason == "near_duplicate")
    keeper = next(doc for doc in corpus.kept() if doc.cluster == removed.cluster)
    told = cluster_story(lineage, removed.doc_id, 100)
    assert told.kept_doc_id == keeper.doc_id.hex()
    assert told.size == len(told.members)
    assert not told.truncated
    kept, *others = told.members
    assert (kept.doc_id, kept.kept, kept.url) == (keeper.doc_id.hex(), True, keeper.url)
    assert kept.outcome.startswith("kept")
    own = next(row for row in others if row.doc_id == removed.doc_id.hex())
    assert own.outcome.startswith("dropped by clusters: near_duplicate")
    assert 0 < own.similarity <= 1


def test_kept_and_dropped_members_tell_the_same_cluster(corpus: Corpus, lineage: Lineage) -> None:
    removed = next(doc for doc in corpus.docs if doc.reason == "near_duplicate")
    keeper = next(doc for doc in corpus.kept() if doc.cluster == removed.cluster)
    one, other = (cluster_story(lineage, doc.doc_id, 100) for doc in (removed, keeper))
    assert replace(one, doc_id="") == replace(other, doc_id="")


def test_a_document_without_copies_stands_alone(corpus: Corpus, lineage: Lineage) -> None:
    alone = next(doc for doc in corpus.kept() if doc.cluster is None)
    told = cluster_story(lineage, alone.doc_id, 100)
    assert (told.size, told.members) == (1, [])


def test_a_limit_shows_the_kept_member_and_says_that_there_are_more(
    corpus: Corpus, lineage: Lineage
) -> None:
    removed = next(doc for doc in corpus.docs if doc.reason == "near_duplicate")
    told = cluster_story(lineage, removed.doc_id, 1)
    assert told.truncated
    assert [row.kept for row in told.members] == [True]


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_prints_members_and_the_reason(corpus: Corpus, as_json: bool) -> None:
    removed = next(doc for doc in corpus.docs if doc.reason == "near_duplicate")
    place = ["--home", str(corpus.home)]
    asked = ["cluster", removed.doc_id.hex(), *place, *(["--json"] if as_json else [])]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    if as_json:
        assert json.loads(result.output)["size"] == 3
    else:
        assert "because" in result.output
        assert "\nkept  " in result.output
        assert [" yes " in line for line in result.output.splitlines()[-3:]] == [True, False, False]
