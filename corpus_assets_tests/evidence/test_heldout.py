"""Held-out sets: what a YAML file names, pinned, without what was taken down."""

import gzip
import hashlib
import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence.heldout import (
    cut_to,
    dump_heldout,
    encode_heldout,
    find_contaminated,
    heldout_digest,
    load_heldout,
    make_heldout,
    parse_heldout,
    refuse_contaminated,
)
from corpus_assets.ingest.document_names import text_id_of
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets_tests.evidence.tiny import heldout_rows, texts, tiny_encoder

NOBODY = Suppressions()


def write_set(folder: Path) -> Path:
    rows = [
        {"id": f"{i:032x}", "url": f"https://site{i}.example/a", "lang": ("en", "de")[i % 2],
         "license": "CC0-1.0", "text": text}
        for i, text in enumerate(texts(8, 3))
    ]  # fmt: skip
    with gzip.open(folder / "prose.jsonl.gz", "wt") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    (folder / "notes.txt").write_text("\n".join(texts(6, 4)))
    question = "Which metal turns green in the rain after many years outside?"
    item = {"id": "q/1", "benchmark": "b", "answer": "copper",
            "text": f"Question: {question}\nsilver\ncopper\ngold\ntin"}  # fmt: skip
    (folder / "quiz.jsonl").write_text(json.dumps(item) + "\n")
    path = folder / "heldout.yaml"
    path.write_text(
        "max_bytes: 512\n"
        "domains:\n"
        "  prose: [{files: prose.jsonl.gz, where: {lang: en}}]\n"
        "  notes: [{files: notes.txt, licence: MIT}]\n"
        "answers: {quiz: [{files: quiz.jsonl, licence: CC-BY-4.0}]}\n"
    )
    return path


def test_a_set_is_read_by_domain_with_hosts_licences_and_questions(tmp_path: Path) -> None:
    table = load_heldout(write_set(tmp_path), NOBODY)
    rows = table.to_pylist()
    prose = [row for row in rows if row["domain"] == "prose"]
    assert [row["host"] for row in prose] == [f"site{i}.example" for i in (0, 2, 4, 6)]
    assert {row["licence"] for row in rows} == {"CC0-1.0", "MIT", "CC-BY-4.0"}
    assert max(len(row["text"].encode()) for row in rows) <= 512
    notes = [row for row in rows if row["domain"] == "notes"]
    assert len(notes) > 4
    assert "".join(row["text"] for row in notes).split()[:20] == texts(6, 4)[0].split()[:20]
    answer, *wrong = (row for row in rows if row["domain"] == "quiz")
    assert answer["text"] == " copper"
    assert {row["item"] for row in wrong} == {answer["id"]}
    assert {row["context"] for row in wrong} == {answer["context"]}
    assert len({row["text"] for row in wrong} - {" copper"}) == len(wrong) > 0
    assert "green in the rain" in answer["context"]
    assert "copper" not in answer["context"]  # the choices would give it away
    assert parse_heldout(dump_heldout(table), heldout_digest(table)).equals(table)
    with pytest.raises(EvidenceError, match="was changed"):
        parse_heldout(dump_heldout(table.slice(1)), heldout_digest(table))


def test_of_an_answer_only_its_own_bytes_are_scored(tmp_path: Path) -> None:
    table = load_heldout(write_set(tmp_path), NOBODY)
    encoder = tiny_encoder()
    rows = [row for row in encode_heldout(table, encoder).to_pylist() if row["domain"] == "quiz"]
    row, *wrong = rows
    assert {other["item"] for other in wrong} == {row["item"]}
    assert table["text"][row["item"]].as_py() == " copper"
    assert row["bytes"] == len(" copper")
    assert encoder.decode(row["tokens"][row["context"] :]) == " copper"


@pytest.mark.parametrize("kind", ["url_key", "host", "doc_id", "text_id"])
def test_a_takedown_takes_a_document_out_and_changes_the_digest(tmp_path: Path, kind: str) -> None:
    path = write_set(tmp_path)
    before = load_heldout(path, NOBODY)
    text = next(row["text"] for row in before.to_pylist() if row["host"] == "site2.example")
    value = {"url_key": "example,site2)/a", "host": "site2.example", "doc_id": f"{2:032x}",
             "text_id": text_id_of(text.encode()).hex()}[kind]  # fmt: skip
    after = load_heldout(path, Suppressions.from_rows([(kind, value)]))
    assert len(after) == len(before) - 1
    assert "site2.example" not in after["host"].to_pylist()
    assert heldout_digest(after) != heldout_digest(before)


def test_a_pinned_file_that_changed_and_settings_that_make_no_sense_are_refused(
    tmp_path: Path,
) -> None:
    path = write_set(tmp_path)
    body = path.read_text()
    path.write_text(body.replace("where: {lang: en}", f"sha256: {'ab' * 32}"))
    with pytest.raises(EvidenceError, match="not the file that the held-out set pins"):
        load_heldout(path, NOBODY)
    path.write_text(body.replace("max_bytes: 512", "max_byte: 512"))
    with pytest.raises(EvidenceError, match="max_byte"):
        load_heldout(path, NOBODY)
    path.write_text("domains: {}\n")
    with pytest.raises(EvidenceError, match="has no document"):
        load_heldout(path, NOBODY)
    rows = heldout_rows(2)
    with pytest.raises(EvidenceError, match="two held-out documents"):
        make_heldout([rows[0], rows[0]])


def test_copies_and_edited_copies_are_found_and_texts_of_the_same_words_are_not() -> None:
    words = [f"word{i}" for i in range(400)]
    own = [" ".join(words[(k * 7 + i * i) % 400] for i in range(80)) for k in range(3)]
    rows = [row | {"text": text} for row, text in zip(heldout_rows(3), own, strict=True)]
    table = make_heldout(rows)
    by_text = {row["text"]: number for number, row in enumerate(table.to_pylist())}
    edited = own[1].split()
    edited[10], edited[50] = "another", "other"
    found = [f"A page that quotes: {own[0]} and goes on.", " ".join(edited), " ".join(words[:80])]
    pages = pa.table({
        "doc_id": pa.array([bytes([i]) * 16 for i in range(3)], pa.binary(16)),
        "text": pa.array(found, pa.large_string()),
    })  # fmt: skip
    leaks = find_contaminated(table, pages)
    assert {row: leak.documents for row, leak in leaks.items()} == {
        by_text[own[0]]: ("00" * 16,),
        by_text[own[1]]: ("01" * 16,),
    }


def page(*texts: str) -> pa.Table:
    ids = [hashlib.sha256(text.encode()).digest()[:16] for text in texts]
    return pa.table({"doc_id": pa.array(ids, pa.binary(16)), "text": pa.array(texts)})


def random_words(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices("abcdefghij", k=6)) for _ in range(count)]


@pytest.mark.parametrize("pieces", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("is_reformatted", [False, True])
def test_a_held_out_text_in_pieces_over_several_documents_is_found(
    pieces: int, is_reformatted: bool
) -> None:
    words = random_words(600, 1)
    table = make_heldout([row | {"text": " ".join(words)} for row in heldout_rows(1)])
    size = len(words) // pieces
    found = [
        " ".join([*random_words(50, 2 + k), *words[k * size : (k + 1) * size]])
        for k in range(pieces)
    ]
    if is_reformatted:
        found = [text.upper().replace(" ", ",\n") for text in found]
    (leak,) = find_contaminated(table, page(*found)).values()
    assert len(leak.documents) == pieces
    assert leak.share == pytest.approx(1 - 12 * (pieces - 1) / 588, abs=0.02)


def test_a_held_out_text_in_pieces_of_ten_words_is_found() -> None:
    words = random_words(600, 1)
    table = make_heldout([row | {"text": " ".join(words)} for row in heldout_rows(1)])
    pieces = [
        " ".join([*random_words(30, 100 + k), *words[k : k + 10], *random_words(30, 200 + k)])
        for k in range(0, 600, 10)
    ]
    (leak,) = find_contaminated(table, page(*pieces)).values()
    assert len(leak.documents) == 60
    assert find_contaminated(table, page(*pieces[::3])) == {}  # as many as other texts may have


CODE = """
def {merge}({left}, {right}):
    {result}, {i}, {j} = [], 0, 0
    while {i} < len({left}) and {j} < len({right}):
        if {left}[{i}].key <= {right}[{j}].key:
            {result}.append({left}[{i}])
            {i} += 1
        else:
            {result}.append({right}[{j}])
            {j} += 1
    for {rest} in {left}[{i}:]:
        {result}.append({rest})
    for {rest} in {right}[{j}:]:
        {result}.append({rest})
    return {result}, {i} + {j}

def {count}({path}):
    with open({path}) as {handle}:
        {rows} = [{line}.split(",") for {line} in {handle} if not {line}.startswith("#")]
    return {{{row}[0]: int({row}[1]) for {row} in {rows} if len({row}) == 2}}
"""
NAMES = ("merge", "left", "right", "result", "i", "j", "rest", "count", "path", "handle", "rows",
         "line", "row")  # fmt: skip


def test_code_with_its_names_changed_is_found_and_other_code_is_not() -> None:
    held = CODE.format(**{name: name for name in NAMES})
    renamed = CODE.format(**{name: f"value_{k}" for k, name in enumerate(NAMES)})
    table = make_heldout([row | {"text": held} for row in heldout_rows(1)])
    formatted = renamed.replace("    ", "\t").replace(", ", ",").replace("\n\n", "\n")
    half = len(renamed) // 2
    for planted in ([renamed], [formatted], [renamed[:half], renamed[half:]]):
        assert len(find_contaminated(table, page(*planted))) == 1
    other = Path(__file__).read_text("utf-8").partition("CODE =")[0]
    assert find_contaminated(table, page(other)) == {}
    prose = make_heldout(
        [row | {"text": " ".join(random_words(300, 7))} for row in heldout_rows(1)]
    )
    assert find_contaminated(prose, page(" ".join(random_words(5000, 8)))) == {}


def test_a_quotation_is_no_leak_and_a_tenth_of_a_text_is() -> None:
    words = random_words(600, 1)
    table = make_heldout([row | {"text": " ".join(words)} for row in heldout_rows(1)])
    assert find_contaminated(table, page(" ".join(words[100:140]))) == {}
    assert find_contaminated(table, page(" ".join(words[100:175]))) != {}
    short = make_heldout([row | {"text": " ".join(words[:30])} for row in heldout_rows(1)])
    assert find_contaminated(short, page(" ".join(words[:16]))) == {}
    assert find_contaminated(short, page(" ".join(words[:28]))) != {}


def test_what_held_out_documents_of_several_hosts_share_is_no_leak() -> None:
    """A licence at the head of files is in every corpus of code."""
    licence = " ".join(random_words(120, 1))
    rows = [
        row | {"text": f"{licence} {' '.join(random_words(200, 2 + k))}"}
        for k, row in enumerate(heldout_rows(4))
    ]
    table = make_heldout(rows)
    assert find_contaminated(table, page(f"{licence} and code of its own")) == {}
    with pytest.raises(EvidenceError, match="remove them from the arm") as told:
        refuse_contaminated(table, page(rows[0]["text"]), "new")
    assert "arm new holds 1 held-out document, whole or in pieces, in 1 document" in str(told.value)
    assert licence[:20] not in str(told.value)


def test_a_text_is_cut_between_characters_and_at_a_line_or_word() -> None:
    assert cut_to("short", 64) == "short"
    assert cut_to("one two three\nfour five six", 20) == "one two three"
    assert cut_to("one two three four", 16) == "one two three"
    assert cut_to("é" * 10, 5) == "éé"
