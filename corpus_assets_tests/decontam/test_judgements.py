"""Near misses are acted on by the recipe, or by what people said about them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpus_assets.core.errors import SourceError, StoreError
from corpus_assets.decontam.contamination import scan_contamination
from corpus_assets.decontam.eval_index import EvalItem, build_eval_index, parse_eval_index
from corpus_assets.decontam.judgements import as_table, of_table, read_judgements, record_judgement
from corpus_assets.decontam.settings import (
    ContaminationSettings,
    EvalIndexSettings,
    ScanSettings,
    VerdictSettings,
)
from corpus_assets.decontam.verdicts import count_items, cuts, dropped, judge, verdicts
from corpus_assets_tests.small_disk import small_disk

WORDS = [f"word{i}" for i in range(40)]
TEXTS = [
    " ".join(WORDS),
    " ".join([*WORDS[:20], "other", *WORDS[21:]]),  # edited
    " ".join(WORDS[:30]),  # a part
    "nothing of the kind",
]
IDS = [hashlib.sha256(text.encode()).digest()[:16] for text in TEXTS]


@pytest.fixture(scope="module")
def hits() -> pa.Table:
    item = EvalItem("i", "bench", " ".join(WORDS))
    index = parse_eval_index(build_eval_index([item], EvalIndexSettings()))
    ids = pa.array(IDS, pa.binary(16))
    return scan_contamination(
        pa.table({"doc_id": ids, "text": pa.array(TEXTS)}), index, ScanSettings()
    )


def reasons(found: pa.Table) -> dict[int, str]:
    return dict(zip(found["row"].to_pylist(), found["reason"].to_pylist(), strict=True))


def test_near_misses_change_nothing_unless_the_recipe_says_so(hits: pa.Table) -> None:
    assert reasons(verdicts(hits, VerdictSettings())) == {0: "contains_eval_item"}
    drop = VerdictSettings(near_miss="drop")
    assert reasons(verdicts(hits, drop)) == {
        0: "contains_eval_item",
        1: "resembles_eval_item",
        2: "resembles_eval_item",
    }
    cut = judge(hits, VerdictSettings(near_miss="cut"))
    assert cut["verdict"].to_pylist() == ["drop", "cut", "cut"]
    assert sorted(cuts(cut)) == [1, 2]


def test_a_judgement_counts_before_the_recipe_and_only_for_its_text(hits: pa.Table) -> None:
    said = {(IDS[1], "bench", "i"): "drop", (IDS[0], "bench", "i"): "keep"}
    found = judge(hits, VerdictSettings(), judgements=said, text_ids=IDS)
    assert found["verdict"].to_pylist() == [
        "drop",
        "drop",
        "near_miss",
    ]  # the first is no near miss
    assert reasons(dropped(found, VerdictSettings()))[1] == "resembles_eval_item"
    kept = {(IDS[2], "bench", "i"): "keep", (IDS[1], "bench", "other"): "keep"}
    settings = VerdictSettings(near_miss="drop")
    found = judge(hits, settings, judgements=kept, text_ids=IDS)
    assert found["verdict"].to_pylist() == ["drop", "drop", "keep"]


def test_items_of_a_training_split_hold_back_where_others_drop(hits: pa.Table) -> None:
    def verdict(training: str, **settings: Any) -> list[str]:
        found = judge(hits, VerdictSettings(**settings), training=(training,))
        return list(found["verdict"].to_pylist())

    assert verdict("bench") == ["held_back", "near_miss", "near_miss"]
    assert verdict("bench", action="cut", near_miss="drop") == ["held_back"] * 3
    assert verdict("other", action="cut") == ["cut", "near_miss", "near_miss"]
    said = {(IDS[1], "bench", "i"): "drop", (IDS[2], "bench", "i"): "keep"}
    found = judge(hits, VerdictSettings(near_miss="drop"), frozenset(), said, IDS, ("bench",))
    assert found["verdict"].to_pylist() == ["held_back", "drop", "keep"]
    common = frozenset({("bench", "i")})
    found = judge(hits, VerdictSettings(), common, training=("bench",))
    assert found["verdict"].to_pylist()[0] == "common"


def test_a_common_item_is_no_leak_in_edited_form_either(hits: pa.Table) -> None:
    found = judge(hits, VerdictSettings(near_miss="drop"), frozenset({("bench", "i")}))
    assert found["verdict"].to_pylist() == ["common", "near_miss", "near_miss"]
    texts = pa.chunked_array([pa.array(IDS)])
    assert count_items(hits, texts, VerdictSettings()).num_rows == 1


def test_judgements_are_recorded_and_the_last_word_stays(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    record_judgement(path, IDS[1], ("bench", "i"), "drop", "Ada", "a copy")
    record_judgement(path, IDS[2], ("bench", "i"), "keep", "", "")
    record_judgement(path, IDS[1], ("bench", "i"), "cut", "Ada", "cut is enough")
    read = read_judgements([path, path])
    assert len(path.read_text().splitlines()) == len(read) == 2
    assert of_table(as_table(read)) == {
        (IDS[1], "bench", "i"): "cut",
        (IDS[2], "bench", "i"): "keep",
    }
    (told,) = [one for one in read if one.judgement == "cut"]
    assert (told.by, told.reason, told.at[-1]) == ("Ada", "cut is enough", "Z")


def test_a_judgement_that_cannot_be_written_leaves_those_before_it(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=64) as disk:
        path = disk / "judgements.jsonl"
        record_judgement(path, IDS[1], ("bench", "i"), "drop", "Ada", "a copy")
        before = path.read_bytes()
        with pytest.raises(StoreError, match="is full"):
            record_judgement(path, IDS[2], ("bench", "i"), "keep", "", "long " * 20_000)
        assert path.read_bytes() == before
        assert list(disk.iterdir()) == [path]


@pytest.mark.parametrize(
    "line",
    ["{", '{"text_id": "00"}', json.dumps({"text_id": "0" * 32, "benchmark": "b", "item_id": "i",
     "judgement": "burn"})],
)  # fmt: skip
def test_a_line_that_is_no_judgement_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "j.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(SourceError, match=r"j\.jsonl, line 2: no judgement"):
        read_judgements([tmp_path / "j.jsonl"])


def test_two_files_that_say_otherwise_are_refused(tmp_path: Path) -> None:
    for name, said in (("a", "keep"), ("b", "drop")):
        record_judgement(tmp_path / name, IDS[0], ("bench", "i"), said, "", "")  # type: ignore[arg-type]
    with pytest.raises(SourceError, match="judged otherwise before"):
        read_judgements([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(SourceError, match="cannot be read"):
        read_judgements([tmp_path / "absent"])


def test_where_judgements_lie_is_not_identity() -> None:
    plain = ContaminationSettings()
    assert ContaminationSettings(judgements=("a.jsonl",)).identity() == plain.identity()
    assert ContaminationSettings(near_miss="drop").identity() != plain.identity()
    assert ContaminationSettings(near_miss="drop").verdict.near_miss == "drop"


def test_a_share_that_must_be_exceeded_is_not_reached_by_the_bound_itself() -> None:
    item = EvalItem("i", "bench", " ".join(WORDS[:22]))  # ten 13-grams
    index = parse_eval_index(build_eval_index([item], EvalIndexSettings()))
    texts = [" ".join(WORDS[:n]) for n in (20, 21)]  # eight and nine of them
    ids = pa.array(IDS[:2], pa.binary(16))
    found = scan_contamination(
        pa.table({"doc_id": ids, "text": pa.array(texts)}), index, ScanSettings()
    )
    assert set(reasons(verdicts(found, VerdictSettings()))) == {0, 1}
    more = VerdictSettings(exclusive=True)
    assert reasons(verdicts(found, more)) == {1: "contains_eval_item"}
    by_hand = dropped(judge(found, VerdictSettings(exclusive=True, near_miss="drop")), more)
    assert reasons(by_hand)[0] == "resembles_eval_item"
    ids_of = pa.chunked_array([pa.array(IDS[:2])])
    assert count_items(found, ids_of, more)["text_id"].to_pylist() == IDS[1:2]
    assert "exclusive" not in ContaminationSettings().identity()
    assert ContaminationSettings(exclusive=True).enough == {"drop_share": 0.8, "exclusive": True}
