"""Any token leads to its document, its place in the text, its page and its file."""

import pytest

from catalog.ask.tokens import trace_token
from catalog.errors import CatalogError, StoreFileError, UnknownName
from catalog.formats.token_order import MARKER_NAMES
from catalog.lineage.lookups import spans_of
from catalog.lineage.tables import Lineage
from corpus_assets_tests.catalog.corpus import SEQ_LEN, Corpus


def test_every_token_of_a_shard_leads_to_its_text(corpus: Corpus, lineage: Lineage) -> None:
    docs = {doc.doc_id.hex(): doc for doc in corpus.kept()}
    shard = corpus.registry.version_shard("v1", "WEB-2024-10/web/high/shard_00001")
    told: dict[str, list[tuple[int, int, str]]] = {}
    orders = set()
    padding = 0
    for sample in range(shard.samples):
        for token in range(SEQ_LEN):
            answer = trace_token(lineage, shard.full_name, sample, token)
            if answer.padding:
                padding += 1
                continue
            doc = docs[answer.doc_id]
            final, extracted = answer.final_text, answer.extracted_text
            assert (doc.final or doc.text or "")[final["start"] : final["end"]] == final["text"]
            assert (doc.text or "")[extracted["start"] : extracted["end"]] == extracted["text"]
            assert answer.record["url"] == doc.url
            assert (answer.record["file"], answer.record["offset"]) == (
                f"part-{doc.part}.warc.gz",
                doc.offset,
            )
            if answer.ends_document or answer.token_text in MARKER_NAMES:
                assert final["start"] == final["end"]
            elif "\ufffd" not in answer.token_text:
                assert answer.token_text == final["text"]
            orders.add(answer.token_order)
            piece = (answer.doc_token, final["start"], final["text"])
            told.setdefault(answer.doc_id, []).append(piece)
    assert padding > 0
    assert len(told) == shard.documents
    assert orders == {None, "prefix, suffix, middle", "suffix, prefix, middle"}
    for doc_id, pieces in told.items():
        text = docs[doc_id].final or docs[doc_id].text or ""
        assert [place for place, *_ in sorted(pieces)] == list(range(len(pieces)))
        at = {place for _, start, piece in pieces for place in range(start, start + len(piece))}
        assert at == set(range(len(text)))


def test_text_that_an_edit_wrote_leads_to_what_it_replaced(
    corpus: Corpus, lineage: Lineage
) -> None:
    doc = next(doc for doc in corpus.kept() if doc.edits)
    seen = set()
    for span in spans_of(lineage, [doc.doc_id])[doc.doc_id]:
        for token in range(span["offset"], span["offset"] + span["length"]):
            answer = trace_token(lineage, span["shard"], span["sample"], token)
            extracted, final = answer.extracted_text["text"], answer.final_text["text"]
            if "@" in extracted:
                seen.add((extracted.strip(), "@" in final))
                assert answer.extracted_text["edits"] == ["email"]
            assert "Home | About" not in extracted, "a cut line belongs to no token"
    assert seen == {("ann@example.org", False), ("bob@example.org", False)}


def test_the_end_of_document_token_stands_behind_the_last_character(
    corpus: Corpus, lineage: Lineage
) -> None:
    doc = corpus.kept()[0]
    last = spans_of(lineage, [doc.doc_id])[doc.doc_id][-1]
    answer = trace_token(
        lineage, last["shard"], last["sample"], last["offset"] + last["length"] - 1
    )
    text = doc.final or doc.text or ""
    assert answer.ends_document
    assert answer.token_text == "<|end|>"
    assert answer.final_text["start"] == answer.final_text["end"] == len(text)
    assert answer.final_text["before"] == text[-40:]
    assert answer.cluster.kept_doc_id == doc.doc_id.hex()


def test_places_outside_the_shard_are_refused(lineage: Lineage) -> None:
    name = "WEB-2024-10/web/high/shard_00001"
    with pytest.raises(CatalogError, match="has samples 0 to"):
        trace_token(lineage, name, 10_000, 0)
    with pytest.raises(CatalogError, match=f"has tokens 0 to {SEQ_LEN - 1}"):
        trace_token(lineage, name, 0, SEQ_LEN)
    with pytest.raises(UnknownName):
        trace_token(lineage, "shard_77777", 0, 0)


def test_a_tokenizer_that_was_exchanged_is_not_believed(own_corpus: Corpus) -> None:
    file = next((own_corpus.home / "store/artifacts/tokenizer").iterdir())
    file.write_text(file.read_text().replace("river", "RIVER"))
    with (
        Lineage(own_corpus.registry, own_corpus.store, "v1") as tables,
        pytest.raises(StoreFileError, match="was changed"),
    ):
        trace_token(tables, "WEB-2024-10/web/high/shard_00001", 0, 0)
