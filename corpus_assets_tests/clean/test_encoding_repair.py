"""Repairs of wrongly decoded text: what ftfy makes of it, as edits beside all others."""

import random
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from catalog.formats.token_text import extracted_range
from corpus_assets.clean import encoding_repair
from corpus_assets.clean.clean_text import clean_documents
from corpus_assets.clean.edits import Edit, apply_edits
from corpus_assets.clean.encoding_repair import (
    _word_edits,
    ftfy_release,
    in_unrepaired,
    repairs_of,
)
from corpus_assets.clean.settings import CleanTextSettings
from corpus_assets.core.errors import MissingExtra
from corpus_assets.scrub import Finding
from corpus_assets_tests.clean.test_clean_text import ANYWHERE, BOILERPLATE, FOOTER, documents
from pageblocks import normalise

ON = CleanTextSettings(min_chars=5, boilerplate=ANYWHERE, repair_encoding=True)
PLAIN = "Crème brûlée – “naïve” façade, 50 € für Ömer; здравствуй, 日本語 & co."
PIECES = (
    "café", "l’été", "Größe", "привет", "日本", "&eacute;", "&amp;", "<b>", "plain", "", "\x1b[31m",
    "a\x7f", "\x85", "½", "Ã la mode", "Â£", "€",
)  # fmt: skip


def wrongly(text: str, times: int = 1) -> str:
    """Text whose UTF-8 was read as windows-1252, where that has the bytes."""
    for _ in range(times):
        text = "".join(
            chr(byte) if byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else bytes([byte]).decode("cp1252")
            for byte in text.encode()
        )
    return text


def cleaned(text: str, settings: CleanTextSettings = ON) -> dict[str, Any]:
    tiers = pa.chunked_array([["high"]], pa.string())
    final, *_ = clean_documents(documents([text]), tiers, tiers, BOILERPLATE, settings)
    [row] = final.to_pylist()
    return dict(row)


# The edits themselves, which need no ftfy.


def test_edits_of_a_line_make_the_other_line_and_take_something_each() -> None:
    draw = random.Random(5)
    for _ in range(3000):
        before, after = ("".join(draw.choices("ab é", k=draw.randrange(1, 9))) for _ in "12")
        edits = list(_word_edits(before, after, 0))
        assert apply_edits(before, edits) == after
        assert all(edit.start < edit.end for edit in edits)
        assert all(one.end <= other.start for one, other in pairwise(edits))


def test_findings_in_repaired_text_are_found_again_before_it() -> None:
    """Against each character's place, one by one."""
    draw = random.Random(6)
    for _ in range(3000):
        edits, place = [], 0
        for _ in range(draw.randrange(4)):
            start = place + draw.randrange(3)
            end = start + draw.randrange(1, 4)
            edits.append(Edit(start, end, "x" * draw.randrange(4), "encoding"))
            place = end
        length = place + draw.randrange(1, 4)
        origin: list[set[int]] = []  # of each character of the repaired text
        at = 0
        for edit in edits:
            origin += [{k} for k in range(at, edit.start)]
            origin += [set(range(edit.start, edit.end))] * len(edit.replacement)
            at = edit.end
        origin += [{k} for k in range(at, length)]
        begin = draw.randrange(len(origin))
        stop = draw.randrange(begin + 1, len(origin) + 1)
        covered = set().union(*origin[begin:stop])
        [found] = in_unrepaired([Finding(begin, stop, "email")], edits)
        assert (found.start, found.end) == (min(covered), max(covered) + 1)


def test_two_findings_in_one_repair_do_not_overlap() -> None:
    edits = [Edit(0, 10, "ab@c.de,fg@h.ij", "encoding")]
    findings = [Finding(0, 7, "email"), Finding(8, 15, "email")]
    assert in_unrepaired(findings, edits) == [Finding(0, 10, "email")]


def test_repairs_are_off_unless_asked_for() -> None:
    text = wrongly(PLAIN)
    assert cleaned(text, CleanTextSettings(min_chars=5))["text"] == text
    assert "repair_encoding" not in CleanTextSettings().identity()
    assert ON.identity()["repair_encoding"] is True


# What ftfy makes of texts.

needs_ftfy = pytest.mark.skipif(
    find_spec("ftfy") is None, reason="ftfy is absent: pip install 'corpus-assets[ftfy]'"
)


def as_datatrove(text: str) -> str:
    """What datatrove's FTFYFormatter returns by default, all its settings written out."""
    import ftfy

    config = ftfy.TextFixerConfig(
        unescape_html="auto", remove_terminal_escapes=True, fix_encoding=True,
        restore_byte_a0=True, replace_lossy_sequences=True, decode_inconsistent_utf8=True,
        fix_c1_controls=True, fix_latin_ligatures=False, fix_character_width=False,
        uncurl_quotes=False, fix_line_breaks=False, fix_surrogates=True,
        remove_control_chars=True, normalization=None,
    )  # fmt: skip
    return ftfy.fix_text(text, config)


@needs_ftfy
def test_text_is_what_datatrove_s_step_returns() -> None:
    draw = random.Random(7)
    changed = 0
    for _ in range(1500):
        words = draw.choices(PIECES, k=draw.randrange(1, 12))
        words = [wrongly(word, draw.choice((0, 0, 1, 2))) for word in words]
        text = normalise("".join(word + draw.choice("   \n") for word in words))
        edits = repairs_of(text)
        assert apply_edits(text, edits) == normalise(as_datatrove(text))
        assert all(edit.start < edit.end for edit in edits)
        changed += bool(edits)
    assert changed > 500


@needs_ftfy
@pytest.mark.parametrize("times", [1, 2])
def test_text_that_was_coded_twice_is_repaired_and_every_word_leads_back(times: int) -> None:
    text = f"An ordinary line.\n{wrongly(PLAIN, times)}\nAnd another."
    row = cleaned(text)
    final, edits = row["text"], row["edits"]
    assert final == f"An ordinary line.\n{PLAIN}\nAnd another."
    assert {edit["kind"] for edit in edits} == {"encoding"}
    place = final.index("façade")
    start, end = extracted_range(
        [(edit["start"], edit["end"], edit["new_length"]) for edit in edits],
        place,
        place + len("façade"),
    )
    assert text[start:end].strip(" ,") == wrongly("façade", times)


@needs_ftfy
@pytest.mark.parametrize(
    "text", [PLAIN, "if a < b: &amp; stays", "“curly” ﬁne １２３", "Tom & Jerry", "x = 'Ã'  # Ã"]
)
def test_what_is_as_meant_has_no_repair(text: str) -> None:
    assert repairs_of(text) == []
    assert cleaned(text)["edits"] == []


@needs_ftfy
def test_personal_data_is_looked_for_in_repaired_text() -> None:
    text = (
        f"{wrongly('Après')} 2 jours, jane&#64;example.org {wrongly('répondit:')} bob@example.org."
    )
    row = cleaned(text)
    assert row["text"] == "Après 2 jours, <email> répondit: <email>."
    assert row["scrubbed"] == [("email", 2)]
    assert [edit["kind"] for edit in row["edits"]] == ["encoding", "email", "encoding", "email"]


@needs_ftfy
def test_a_repair_goes_with_the_line_that_is_cut() -> None:
    tiers = pa.chunked_array([["high"]], pa.string())
    first, second = (wrongly(f"L’{word} était là.") for word in ("été", "âne"))
    text = f"{first}\n{FOOTER}\n{second}"
    cut = [{"benchmark_item": [(0, len(first) + 1)]}]
    final, *_ = clean_documents(documents([text]), tiers, tiers, BOILERPLATE, ON, cuts=cut)
    assert final["text"].to_pylist() == ["L’âne était là."]
    kinds = [edit["kind"] for edit in final["edits"].to_pylist()[0]]
    assert kinds[:2] == ["benchmark_item", "boilerplate_line"]
    assert set(kinds[2:]) == {"encoding"}


@needs_ftfy
def test_the_release_of_ftfy_is_part_of_the_identity() -> None:
    assert ftfy_release() == version("ftfy")


def test_a_recipe_that_asks_for_an_absent_ftfy_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(encoding_repair, "version", absent)
    with pytest.raises(MissingExtra, match=r"corpus-assets\[ftfy\]"):
        ftfy_release()
