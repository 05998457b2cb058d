"""Main text of whole pages, by the model of the package."""

import hashlib
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from sample_pages import ARTICLE, DECLARED, POST, SENTENCE, random_page

from pageblocks import VERSION, Extractor, ModelError, extract, model_digest
from pageblocks.kernels.blocks import find_blocks
from pageblocks.model import MODEL, read_model, write_model
from pageblocks.plain_text import text_of


def test_an_article_is_kept_and_what_stands_around_it_is_not() -> None:
    text = extract(ARTICLE).text
    assert text.count("lower town") == 15
    for kept in ("The flood\n", "What was lost\n", "\n- The river rose"):
        assert kept in text
    for around in (
        "cookies",
        "Sport",
        "Facebook",
        "Most read",
        "All rights",
        "About us",
    ):
        assert around not in text


def test_the_posts_of_a_forum_are_its_text() -> None:
    posts = "".join(POST.format(f"user{n}", f"Answer {n}: {SENTENCE * 2}") for n in range(6))
    page = f"<html><body><nav><a href=/>Board</a> <a href=/n>New</a></nav><h1>How high?</h1>{posts}<footer><ul><li><a href=/p>Privacy</a><li><a href=/t>Terms</a></ul></footer>"
    text = extract(page).text
    assert all(f"Answer {n}:" in text for n in range(6))
    assert "Privacy" not in text


def test_lists_tables_and_code_keep_their_form() -> None:
    page = find_blocks(
        b"<h1>A</h1><p>b<ul><li>c<p>d</p><li>e</ul><table><tr><th>f<th>g<tr><td>h<td>i</table>"
        b"<pre>if j:\n    k</pre><blockquote>l</blockquote>"
    )
    everything = np.ones(len(page.blocks), dtype=np.bool_)
    assert text_of(page, everything).text == "A\nb\n- c\nd\n- e\nf | g\nh | i\nif j:\n    k\nl"
    assert (
        text_of(page, everything, include_tables=False).text == "A\nb\n- c\nd\n- e\nif j:\n    k\nl"
    )


def test_paragraphs_of_a_cell_are_lines_and_cells_of_a_row_one_line() -> None:
    page = find_blocks(
        b"<table><tr><td><p>a</p><p>b</p><td><div><p>c</p></div><td>d<tr><td>e<td><ul><li>f<li>g</ul><td>h"
        b"<tr><td><table><tr><td>i<td>j</table>k<td>l</table>"
    )
    everything = np.ones(len(page.blocks), dtype=np.bool_)
    assert text_of(page, everything).text == "a\nb | c | d\ne\n- f\n- g\nh\ni | j\nk | l"


def test_what_goes_on_after_a_list_inside_an_item_is_no_new_item() -> None:
    page = find_blocks(b"<ul><li>a<ul><li>b</ul>c<p>d</p><li>e</ul>")
    everything = np.ones(len(page.blocks), dtype=np.bool_)
    assert text_of(page, everything).text == "- a\n- b\nc\nd\n- e"


def test_a_table_that_lays_out_a_page_is_no_row_of_cells() -> None:
    page = find_blocks(
        f"<table><tr><td><p>{SENTENCE * 15}</p><td><p>{SENTENCE * 15}</p></table>".encode()
    )
    kept = np.ones(2, dtype=np.bool_)
    assert text_of(page, kept, include_tables=False).text.count("\n") == 1


def test_a_model_is_read_as_it_was_written(tmp_path: Path) -> None:
    model = read_model()
    copy = tmp_path / "model.json"
    copy.write_bytes(write_model(model, json.loads(MODEL.read_bytes())["trained_on"]))
    assert copy.read_bytes() == MODEL.read_bytes()
    assert write_model(read_model(copy)) == write_model(model)


@pytest.mark.parametrize(
    "damage",
    [
        lambda model: model.clear(),
        lambda model: model["features"].pop(),
        lambda model: model.update(depth=4),
        lambda model: model["first"]["features"][0].__setitem__(0, 9999),
        lambda model: model["second"]["leaves"].pop(),
        lambda model: model.update(curve=[]),
    ],
)
def test_a_model_of_another_make_is_refused(damage: object, tmp_path: Path) -> None:
    content = json.loads(MODEL.read_bytes())
    damage(content)  # type: ignore[operator]
    file = tmp_path / "model.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ModelError, match="model"):
        read_model(file)


def test_texts_change_only_with_version_or_model() -> None:
    """Raise `VERSION` (or ship another model) when this fails, then write down the new digest."""
    extractor = Extractor()
    hasher = hashlib.sha256()
    hidden = "".join(
        f"<div {how}><p>{n} of the boats came back, and nobody knew who had sailed them home.</p></div>"
        for n, how in enumerate(
            (
                "style='display:none'",
                "class=popup",
                "class='related products'",
                "id=aehnliche-produkte",
            )
        )
    )
    marked = ARTICLE.replace("<main>", f"{hidden}<main>").encode()
    said = (
        "Yes.",
        SENTENCE,
        "Thanks, it works now!",
        SENTENCE * 3,
        "No",
        "See above",
        SENTENCE * 2,
    )
    board = "".join(POST.format(f"user{n}", text) for n, text in enumerate(said)).encode()
    made = (random_page(Random(seed)) for seed in range(100))
    for page in (ARTICLE.encode(), marked, board, *made, DECLARED.encode()):
        hasher.update(extractor.read(page).text.encode() + b"\0")
    assert (VERSION, model_digest()[:16], hasher.hexdigest()[:16]) == GOLDEN


GOLDEN = (15, "ba3ae6bc56b5398b", "8bd9c0bee60752f2")
