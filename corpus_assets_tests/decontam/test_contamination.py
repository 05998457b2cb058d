import functools
import gzip
import hashlib
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from corpus_assets.core.schemas import HITS
from corpus_assets.decontam.code_names import FIXED_NAMES
from corpus_assets.decontam.contamination import (
    VERDICTS,
    VerdictSettings,
    scan_contamination,
    verdicts,
)
from corpus_assets.decontam.eval_index import (
    EvalIndex,
    EvalItem,
    build_eval_index,
    parse_eval_index,
    read_items,
)
from corpus_assets.decontam.settings import ContaminationSettings, EvalIndexSettings, ScanSettings
from corpus_assets.decontam.verdicts import count_items, cuts, find_common, judge, names_of
from corpus_assets.text.ngrams import build_lookup
from corpus_assets_tests.shared_data import shared_data
from corpus_assets_tests.text.word_reference import NASTY, gram_hash, words_of


def as_documents(texts: list[str | None]) -> pa.Table:
    ids = [hashlib.blake2b(str(i).encode(), digest_size=16).digest() for i in range(len(texts))]
    return pa.table(
        {"doc_id": pa.array(ids, pa.binary(16)), "text": pa.array(texts, pa.large_string())}
    )


def make_index(texts: dict[str, str]) -> EvalIndex:
    items = [EvalItem(name, "bench", text) for name, text in texts.items()]
    return parse_eval_index(build_eval_index(items, EvalIndexSettings()))


def numbered(count: int, stem: str = "word") -> str:
    return " ".join(f"{stem}{i}" for i in range(count))


@functools.cache
def real_items() -> list[EvalItem]:
    paths = [shared_data("evals/gsm8k.jsonl.gz"), shared_data("evals/mmlu.jsonl.gz")]
    return read_items(paths)[::12]


@functools.cache
def real_index() -> EvalIndex:
    return parse_eval_index(build_eval_index(real_items(), EvalIndexSettings()))


@functools.cache
def prose() -> list[str]:
    with gzip.open(shared_data("text/prose.jsonl.gz")) as lines:
        return [json.loads(line)["text"][:4000] for line in lines]


def planted(quote: str, number: int) -> str:
    host = prose()[number % len(prose())]
    cut = len(host) // 2
    return f"{host[:cut]}\n\n{quote}\n\n{host[cut:]}"


def dropped(texts: list[str | None], index: EvalIndex) -> dict[int, str]:
    table = verdicts(
        scan_contamination(as_documents(texts), index, ScanSettings()), VerdictSettings()
    )
    return dict(zip(table["row"].to_pylist(), table["item_id"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    "disguise",
    [
        str,
        str.upper,
        lambda text: "\n".join(text.split()),
        lambda text: text.replace(" ", " — ").replace(".", "…").replace("'", "’"),
        lambda text: text.replace(" ", "\u00a0\u200b "),
        lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    ],
    ids=["verbatim", "upper_case", "line_breaks", "punctuation", "odd_spaces", "full_width"],
)
def test_every_planted_item_is_found_whatever_its_case_punctuation_and_breaks(disguise) -> None:  # type: ignore[no-untyped-def]
    items = real_items()
    found = scan_contamination(
        as_documents([planted(disguise(item.text), i) for i, item in enumerate(items)]),
        real_index(),
        ScanSettings(),
    )
    complete = found.filter(pa.compute.equal(found["matched"], found["total"]))
    pairs = set(zip(complete["row"].to_pylist(), complete["item_id"].to_pylist(), strict=True))
    assert {(i, item.id) for i, item in enumerate(items)} <= pairs
    rows = verdicts(found, VerdictSettings())["row"].to_pylist()
    assert rows == list(range(len(items)))


def test_unrelated_prose_has_no_hits() -> None:
    assert scan_contamination(as_documents([*prose()]), real_index(), ScanSettings()).num_rows == 0


def test_half_a_quotation_is_a_near_miss_and_drops_nothing() -> None:
    items = [item for item in real_items() if item.benchmark == "gsm8k"]
    items = [item for item in items if len(words_of(item.text)) > 50]
    texts = []
    for i, item in enumerate(items):
        words = item.text.split()
        texts.append(planted(" ".join(words[: len(words) * 6 // 10]), i))
    hits = scan_contamination(as_documents([*texts]), real_index(), ScanSettings())
    pairs = set(zip(hits["row"].to_pylist(), hits["item_id"].to_pylist(), strict=True))
    expected = {(i, item.id) for i, item in enumerate(items)}
    assert len(expected & pairs) > 0.9 * len(expected)
    assert verdicts(hits, VerdictSettings()).num_rows == 0


def test_shares_are_of_the_items_own_distinct_ngrams() -> None:
    index = make_index({"item": numbered(22)})
    texts: list[str | None] = [numbered(22), numbered(20), numbered(15), numbered(14), None]
    hits = scan_contamination(as_documents(texts), index, ScanSettings())
    assert hits.schema == HITS
    assert hits.select(["row", "matched", "total", "confirmed"]).to_pylist() == [
        {"row": row, "matched": matched, "total": 10, "confirmed": True}
        for row, matched in ((0, 10), (1, 8), (2, 3))
    ]
    assert dropped(texts, index) == {0: "item", 1: "item"}


def test_repeating_an_ngram_does_not_raise_the_share() -> None:
    index = make_index({"item": numbered(40)})
    assert (
        scan_contamination(
            as_documents([(numbered(14) + " . ") * 50]), index, ScanSettings()
        ).num_rows
        == 0
    )


def test_short_items_match_only_whole() -> None:
    index = make_index({"short": numbered(9), "tiny": "too few words"})
    assert dropped([f"before {numbered(9)} after", numbered(8), "too few words"], index) == {
        0: "short"
    }


def test_the_worst_hit_names_the_item() -> None:
    index = make_index({"a": numbered(30, "x"), "b": numbered(30, "y"), "c": numbered(20, "z")})
    text = f"{numbered(28, 'x')} and {numbered(30, 'y')} and {numbered(20, 'z')}"
    table = verdicts(
        scan_contamination(as_documents(["", text]), index, ScanSettings()), VerdictSettings()
    )
    assert table.schema == VERDICTS
    assert table.select(["row", "benchmark", "item_id"]).to_pylist() == [
        {"row": 1, "benchmark": "bench", "item_id": "b"}
    ]


def test_a_forced_hash_collision_never_counts() -> None:
    innocent = numbered(13, "innocent")
    index = make_index({"item": numbered(13, "item")})
    forged = index.grams._replace(hashes=np.array([gram_hash(innocent.split())], np.uint64))
    index = replace(index, grams=forged, lookup=build_lookup(forged))
    assert scan_contamination(as_documents([innocent]), index, ScanSettings()).num_rows == 0
    spelled = forged._replace(codes=np.frombuffer(innocent.encode("utf-32-le"), np.uint32).copy())
    spelled = spelled._replace(stops=np.array([len(innocent)], np.int64))
    index = replace(index, grams=spelled, lookup=build_lookup(spelled))
    assert scan_contamination(as_documents([innocent]), index, ScanSettings()).num_rows == 1


def test_the_answer_alone_is_no_contamination() -> None:
    answer = numbered(30, "answer")
    data = build_eval_index([EvalItem("i", "b", numbered(20), answer)], EvalIndexSettings())
    assert (
        scan_contamination(as_documents([answer]), parse_eval_index(data), ScanSettings()).num_rows
        == 0
    )


def test_a_changed_drop_share_leaves_what_scan_reads_alone() -> None:
    loose, strict = ContaminationSettings(drop_share=0.5), ContaminationSettings(drop_share=0.9)
    assert loose.scan.identity() == strict.scan.identity()
    assert "drop_share" not in loose.scan.identity()
    assert loose.verdict.identity() == {"drop_share": 0.5, "action": "drop"}
    hits = scan_contamination(
        as_documents([numbered(20)]), make_index({"i": numbered(22)}), loose.scan
    )
    assert verdicts(hits, loose.verdict).num_rows == 1
    assert verdicts(hits, strict.verdict).num_rows == 0
    with pytest.raises(ValidationError):
        ContaminationSettings(drop_share=0.2)


def test_chunks_do_not_change_the_hits() -> None:
    index = make_index({"i": numbered(22)})
    documents = as_documents(["x", numbered(22), None, numbered(25), "y"])
    whole = scan_contamination(documents, index, ScanSettings())
    pieces = pa.concat_tables([documents.slice(0, 2), documents.slice(2, 0), documents.slice(2)])
    assert scan_contamination(pieces, index, ScanSettings()).equals(whole)
    assert whole["row"].to_pylist() == [1, 3]
    assert scan_contamination(documents.slice(0, 0), index, ScanSettings()).num_rows == 0


@pytest.mark.timeout(120)
def test_hostile_documents_each_get_a_result_in_bounded_time() -> None:
    item = numbered(20)
    index = make_index({"i": item, "han": "漢字" * 20, "rtl": " ".join(["שלום", "עולם"] * 10)})
    texts: list[str | None] = [*NASTY, (item + " ") * 30_000, "x" * 5_000_000, "漢字" * 800_000]
    texts += ["a\u0301\u0323" * 600_000, " ".join(["שלום", "עולם"] * 20), *[item] * 50_000]
    found = dropped(texts, index)
    first = len(NASTY)
    assert found[first] == "i"
    assert found[first + 2] == "han"
    assert found[first + 4] == "rtl"
    assert len(found) == 50_003


def test_places_are_characters_of_the_text_itself() -> None:
    index = make_index({"item": numbered(20)})
    quote = numbered(20)
    text = f"Ａ naïve ﬁrst line…\n{quote}. Then\u0301 more, and again: {quote}!"
    (hit,) = scan_contamination(as_documents(["x", text]), index, ScanSettings()).to_pylist()
    assert [text[place["start"] : place["end"]] for place in hit["places"]] == [quote, quote]


def test_an_edited_word_inside_a_quotation_belongs_to_its_place() -> None:
    words = numbered(60).split()
    quote = " ".join([*words[:30], "other", *words[31:]])
    (hit,) = scan_contamination(as_documents([f"a {quote} b"]), make_index({"i": numbered(60)}), ScanSettings()).to_pylist()  # fmt: skip
    assert hit["matched"] < hit["total"]
    assert [(place["start"], place["end"]) for place in hit["places"]] == [(2, 2 + len(quote))]


@pytest.mark.parametrize("edits", [1, 2, 3])
def test_lightly_edited_items_are_near_misses_and_drop_nothing(edits: int) -> None:
    words = numbered(24).split()
    for edit in range(edits):
        words[4 + 6 * edit] = "other"
    text = f"before {' '.join(words)} after"
    index = make_index({"item": numbered(24)})
    hits = scan_contamination(as_documents([text]), index, ScanSettings())
    (hit,) = hits.to_pylist()
    assert hit["similarity"] == pytest.approx(1 - edits / 24)
    assert text[hit["places"][0]["start"] : hit["places"][-1]["end"]] == " ".join(words)
    assert judge(hits, VerdictSettings())["verdict"].to_pylist() == ["near_miss"]
    assert verdicts(hits, VerdictSettings(drop_share=0.3)).num_rows == 0 or edits == 1
    silent = ScanSettings(near_misses=None)
    assert scan_contamination(as_documents([text]), index, silent).num_rows <= (edits == 1)


def test_clean_text_has_no_near_misses() -> None:
    hits = scan_contamination(
        as_documents([*prose()]), real_index(), ScanSettings(report_share=0.01)
    )
    assert hits["similarity"].null_count == hits.num_rows


SOLUTION = """def nearest(values, limit):
    best = None
    for value in values:
        if best is None or abs(value - limit) < abs(best - limit):
            best = value
    return best
"""
RENAMED = SOLUTION.replace("value", "v").replace("best", "found").replace("nearest", "g")


def code_index() -> EvalIndex:
    item = EvalItem("c", "he", "Write a function.", code=SOLUTION, language="python")
    return parse_eval_index(build_eval_index([item], EvalIndexSettings()))


def test_renamed_code_is_found_in_source_files_and_in_pages() -> None:
    page = f"Don't miss this answer:\n\n```python\n{RENAMED}```\n\nIt's short. # 1"
    texts: list[str | None] = [
        f"import os\n\n\n{RENAMED}\nprint(g([1], 2))\n",
        page,
        "x = 1\n" * 50,
    ]
    hits = scan_contamination(as_documents(texts), code_index(), ScanSettings())
    assert [(h["row"], h["kind"], h["matched"] == h["total"]) for h in hits.to_pylist()] == [
        (0, "code", True),
        (1, "code", True),
    ]
    for hit in hits.to_pylist():
        (place,) = hit["places"]
        found = (texts[hit["row"]] or "")[place["start"] : place["end"]]
        assert found == RENAMED.strip()
    assert dropped(texts, code_index()) == {0: "c", 1: "c"}


def test_code_is_searched_for_only_in_the_domains_of_the_recipe() -> None:
    table = as_documents([RENAMED, RENAMED]).append_column("domain", pa.array(["web", "code"]))
    hits = scan_contamination(table, code_index(), ScanSettings(code_domains=("code",)))
    assert hits["row"].to_pylist() == [1]


def test_trivial_code_is_not_searched_for() -> None:
    item = EvalItem("add", "he", "", code="def add(a, b):\n    return a + b\n", language="python")
    index = parse_eval_index(build_eval_index([item], EvalIndexSettings()))
    assert index.metrics()["unindexed_items"] == [("he", "add")]
    assert scan_contamination(as_documents(["def add(x, y):\n    return x + y\n"]), index, ScanSettings()).num_rows == 0  # fmt: skip


def test_real_solutions_are_found_renamed_and_no_real_code_is_flagged() -> None:
    with gzip.open(shared_data("evals/mbpp.jsonl.gz")) as lines:
        rows = [json.loads(line) for line in lines][::10]
    items = [EvalItem(r["id"], "mbpp", "", code=r["answer"], language="python") for r in rows]
    index = parse_eval_index(build_eval_index(items, EvalIndexSettings()))
    with gzip.open(shared_data("text/code.jsonl.gz")) as lines:
        files: list[str | None] = [json.loads(line)["text"] for line in lines]
    assert dropped(files, index) == {}
    searched = {item.id for item in items} - {
        name for _, name in index.metrics()["unindexed_items"]
    }
    known = [item for item in items if item.id in searched]
    planted_in = [f"{files[i]}\n{_renamed(item.code)}\n" for i, item in enumerate(known)]
    assert dropped([*planted_in], index) == {i: item.id for i, item in enumerate(known)}


def _renamed(code: str) -> str:
    import io
    import keyword
    import tokenize

    names: dict[str, str] = {}
    out, before = [], ""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        text = token.string
        is_name = token.type == tokenize.NAME and not keyword.iskeyword(text) and before != "."
        if is_name and text not in FIXED_NAMES:
            text = names.setdefault(text, f"renamed_{len(names)}")
        out.append((token.type, text))
        before = token.string
    return tokenize.untokenize(out)


def test_common_items_are_listed_and_do_not_drop() -> None:
    index = make_index({"phrase": numbered(14, "common"), "leak": numbered(20, "leak")})
    texts: list[str | None] = [f"{numbered(14, 'common')} text {i % 4}" for i in range(6)]
    texts.append(numbered(20, "leak"))
    hits = scan_contamination(as_documents(texts), index, ScanSettings())
    ids = pa.chunked_array([pa.array([str(text)[-16:].encode() for text in texts])])
    counted = count_items(hits, ids, VerdictSettings())
    assert find_common([counted], 4).num_rows == 0  # copies count once
    common = find_common([counted, counted], 3)
    assert common.to_pylist() == [{"benchmark": "bench", "item_id": "phrase", "documents": 4}]
    assert find_common([counted], None).num_rows == 0
    judged = judge(hits, VerdictSettings(), names_of(common))
    assert judged["verdict"].to_pylist() == ["common"] * 6 + ["drop"]
    assert verdicts(hits, VerdictSettings(), names_of(common))["row"].to_pylist() == [6]


def test_cuts_join_the_places_of_all_items() -> None:
    index = make_index({"a": numbered(20), "b": " ".join(numbered(30).split()[10:])})
    text = f"left {numbered(30)} right {numbered(20)} end"
    hits = scan_contamination(as_documents([text, "none"]), index, ScanSettings())
    assert verdicts(hits, VerdictSettings(action="cut")).num_rows == 0
    (spans,) = cuts(judge(hits, VerdictSettings(action="cut"))).values()
    left = "".join(text[a:b] for a, b in zip([0, *(e for _, e in spans)], [*(s for s, _ in spans), len(text)], strict=True))  # fmt: skip
    assert left == "left  right  end"
    assert cuts(judge(hits, VerdictSettings())) == {}


def test_a_document_of_fifty_megabytes_is_searched_whole() -> None:
    filler = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod\n" * 720_000
    item = numbered(30)
    hits = scan_contamination(
        as_documents([filler + item]), make_index({"i": item}), ScanSettings()
    )
    (hit,) = hits.to_pylist()
    assert hit["places"] == [{"start": len(filler), "end": len(filler) + len(item)}]
    assert (hit["matched"], hit["total"]) == (18, 18)
