"""A page that quotes a question without its choices is found, whatever form the suite has."""

import gzip
import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.decontam.contamination import VerdictSettings, scan_contamination, verdicts
from corpus_assets.decontam.eval_index import (
    EvalIndex,
    EvalItem,
    build_eval_index,
    parse_eval_index,
    read_suites,
)
from corpus_assets.decontam.questions import find_questions
from corpus_assets.decontam.settings import EvalIndexSettings, EvalSuite, ScanSettings
from corpus_assets_tests.shared_data import shared_data

ASKED = "Which of the harbours on the northern coast froze first in that winter?"
BEGUN = "The harbour on the northern coast that froze first in that winter was"
CHOICES = ["Altmoor", "Brenholm at the mouth of the river", "Corvik", "Dunsee"]
PASSAGE = (
    "The ice came early in that year. Ships lay still for eleven weeks, and the pilots walked "
    "from one to the next with letters, bread and news of the other coast."
)


def lettered(form: str, between: str = "\n") -> str:
    return between.join(
        form.format(big="ABCD"[i], small="abcd"[i], number=i + 1, roman=("i", "ii", "iii", "iv")[i])
        + choice
        for i, choice in enumerate(CHOICES)
    )


LAYOUTS = {
    "letters on lines": "{q}\n" + lettered("{big}. "),
    "letters in brackets": "{q}\n" + lettered("({big})"),
    "small letters": "{q}\n" + lettered("{small}) "),
    "numbers": "{q}\n" + lettered("{number}. "),
    "numerals": "{q}\n" + lettered("({roman}) "),
    "in bold": "**Question:** {q}\n\n" + lettered("**{big}.** "),
    "square brackets": "{q}\n" + lettered("[{big}] "),
    "with a colon": "{q}\n" + lettered("{big}: ") + "\nAnswer:",
    "with a dash": "{q}\n" + lettered("{big} - "),
    "in one line": "{q} " + lettered("{big}. ", " "),
    "in one line, in brackets": "{q} " + lettered("({small}) ", " "),
    "in one line, numbers": "{q} " + lettered("{number}) ", ", "),
    "a choice names others": "{q}\n" + lettered("({big}) ") + "\n(E) both (A) and (B)",
    "labels": "Question: {q}\nChoices:\n" + lettered("{big}. ") + "\nAnswer:",
    "labels in one line": "Question: {q} Choices: " + lettered("{big}. ", " ") + " Answer:",
    "short labels": "Q: {q}\nA:\n" + "\n".join(CHOICES),
    "bare lines": "{q}\n" + "\n".join(CHOICES),
    "bare lines behind a gap": "{q}\n\n" + "\n\n".join(CHOICES),
    "bullets": "{q}\nOptions:\n" + "\n".join(f"- {choice}" for choice in CHOICES),
    "semicolons": "{q}\n" + "; ".join(CHOICES),
    "a passage before": PASSAGE + "\n{q}\n" + lettered("{big}. "),
    "a labelled passage": "Passage: " + PASSAGE + "\nQuestion: {q}\nyes\nno",
    "a passage in the same line": "Context: " + PASSAGE + " Question: {q} " + lettered("{big}) ", " "),
    "the passage behind": "Question: {q}\nContext: " + PASSAGE,
    "headings": "### Passage\n" + PASSAGE + "\n\n### Question\n{q}\n\n### Options\n" + lettered("{big}) "),
    "tags": "<passage>" + PASSAGE + "</passage>\n<question>{q}</question>\n" + lettered("{big}. "),
    "a number before": "17. {q}\n" + lettered("{big}. "),
    "an instruction behind": "{q}? Choose the best of these:\n" + lettered("{big}. "),
}  # fmt: skip


def make_index(*items: EvalItem) -> EvalIndex:
    return parse_eval_index(build_eval_index(items, EvalIndexSettings()))


def dropped(texts: list[str], index: EvalIndex) -> dict[int, str]:
    ids = [hashlib.blake2b(str(i).encode(), digest_size=16).digest() for i in range(len(texts))]
    table = pa.table({"doc_id": pa.array(ids, pa.binary(16)), "text": pa.array(texts)})
    found = verdicts(scan_contamination(table, index, ScanSettings()), VerdictSettings())
    return dict(zip(found["row"].to_pylist(), found["item_id"].to_pylist(), strict=True))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("question", [ASKED, BEGUN], ids=["asked", "begun"])
def test_a_question_alone_is_found_in_every_layout_of_its_choices(
    layout: str, question: str
) -> None:
    text = LAYOUTS[layout].format(q=question)
    index = make_index(EvalItem("1", "bench", text, CHOICES[1]))
    pages = [f"Somebody asked me this: {question} I did not know.", "I did not know.", PASSAGE]
    assert dropped(pages, index) == {0: "1"}


@pytest.mark.parametrize(
    ("question", "choices"),
    [
        ("下列关于北方港口在那年冬天最早结冰的说法中正确的一项是", "A．甲港 B．乙港 C．丙港"),
        ("Какая из гаваней на северном побережье замёрзла первой той зимой?", "А) Одна\nБ) Две"),
        ("そのふゆ北の海岸でいちばん早く凍った港はどこでしたか？", "ア. 港\nイ. 浜\nウ. 湾"),
        ("أي من موانئ الساحل الشمالي تجمد أولا في ذلك الشتاء؟", "أ) ميناء\nب) خليج"),
        ("Welcher der Häfen an der Nordküste fror in jenem Winter zuerst zu?", "① Ja ② Nein"),
    ],
)
def test_choices_are_told_from_questions_in_other_scripts(question: str, choices: str) -> None:
    for between in ("\n", " "):
        index = make_index(EvalItem("1", "bench", f"{question}{between}{choices}", ""))
        assert dropped([f"… {question} …"], index) == {0: "1"}


def test_fields_of_a_suite_say_what_the_question_is(tmp_path: Path) -> None:
    rows = [
        {"id": "mapped", "passage": PASSAGE, "q": ASKED, "options": CHOICES},
        {"id": "short", "passage": "", "q": "Which harbour froze first?", "options": CHOICES},
    ]
    (tmp_path / "suite.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for question in (["q"], ["passage", "q"], ["q", "passage"]):
        suite = EvalSuite.model_validate(
            {
                "files": "-",
                "benchmark": "b",
                "fields": {"question": question, "choices": "options", "answer": None},
            }
        )
        index = make_index(*read_suites([(suite, [tmp_path / "suite.jsonl"])]))
        assert dropped([f"x {ASKED} y", "Which harbour froze first?"], index) == {0: "mapped"}
        assert dropped([f"Which harbour froze first? {' '.join(CHOICES)}"], index) == {0: "short"}


def test_a_question_that_many_items_ask_says_nothing_alone() -> None:
    stem = "Which one of the following statements about this is not true?"
    items = [
        EvalItem(str(n), "bench", f"{stem}\nA. first{n} word{n}\nB. second{n} word{n}")
        for n in range(3)
    ]
    mapped = [
        EvalItem(f"mapped {n}", "other", stem, more=f"first{n} word{n} second{n} word{n}")
        for n in range(3)
    ]
    index = make_index(*items, *mapped)
    assert dropped([stem], index) == {}
    assert dropped([items[1].text, f"{stem} {mapped[2].more}"], index) == {0: "1", 1: "mapped 2"}
    assert dropped([stem], make_index(*items[:2])) != {}


def test_an_item_is_reported_once_with_its_best_form_and_all_of_its_places() -> None:
    text = LAYOUTS["a passage before"].format(q=ASKED)
    index = make_index(EvalItem("1", "bench", text, CHOICES[1]))
    assert index.metrics()["items"] == 1
    page = f"{PASSAGE}\nMuch else was said about it.\n{ASKED}"
    table = pa.table({"doc_id": pa.array([b"0" * 16], pa.binary(16)), "text": pa.array([page])})
    (hit,) = scan_contamination(table, index, ScanSettings()).to_pylist()
    assert (hit["matched"], hit["total"]) == (1, 1)
    covered = " ".join(page[place["start"] : place["end"]] for place in hit["places"])
    assert ASKED.rstrip("?") in covered
    assert "The ice came early" in covered


@pytest.mark.parametrize(
    "text",
    [
        "The boats came in one by one. How many came before noon, if eleven left after it?",
        '"Who goes there at this time of the night, and why?" she asked.\n"Only me," he said.',
        "First line of a poem that goes on\nand on for a while without an end\nuntil it ends",
        "def first(items):\n    return items[0]\n\ndef last(items):\n    return items[-1]",
    ],
)
def test_texts_without_choices_have_no_other_form(text: str) -> None:
    assert find_questions(text) == []


def test_real_questions_are_found_alone_and_no_page_holds_one_by_chance() -> None:
    with gzip.open(shared_data("evals/mmlu.jsonl.gz"), "rt") as lines:
        rows = [json.loads(line) for line in lines][7::25]
    index = make_index(*(EvalItem(row["id"], "mmlu", row["text"], row["answer"]) for row in rows))
    alone = {row["id"]: row["text"].rpartition("\nA. ")[0] for row in rows}
    long = {name: text for name, text in alone.items() if len(text.split()) > 10}
    found = dropped([f"It was asked: {text}" for text in long.values()], index)
    assert len(long) > 100
    assert sum(found.get(i) == name for i, name in enumerate(long)) >= 0.99 * len(long)
    with gzip.open(shared_data("web/extraction-truth.jsonl.gz"), "rt") as lines:
        pages = [json.loads(line).get("main_content", "") for line in lines]
    assert dropped(pages, index) == {}
