import hashlib
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from pydantic import ValidationError

from corpus_assets.core.errors import ModelError
from corpus_assets.ingest.extract import ExtractionSettings, Extractor, extractor_version
from corpus_assets.ingest.extractor_training.pages import Texts
from corpus_assets.ingest.extractors.blocks import (
    MODEL,
    VERSION,
    block_engine,
    model_digest,
    read_model,
    text_of,
    write_model,
)
from corpus_assets.ingest.kernels.blocks import find_blocks
from corpus_assets_tests.ingest.kernels.test_block_features import random_page

SETTINGS = ExtractionSettings(engine="blocks")
OPTIONS = {"include_tables": True}
SENTENCE = "The river rose by two metres in the night, and the lower town was under water by dawn. "
ARTICLE = f"""<!DOCTYPE html><html><head><title>The flood | Daily</title><script>var a = "<p>no</p>";</script>
</head><body><div class="cookie-banner"><p>We use cookies, as all do. Accept them, please.</p><button>Accept</button></div>
<header><a href="/">Daily</a><nav><ul><li><a href="/a">News</a><li><a href="/b">Sport</a><li><a href="/c">Culture</a></ul></nav></header>
<main><article><h1>The flood</h1><div class="byline">By <a href="/x">A. Writer</a>, 3 May 2024</div>
<p>{SENTENCE * 3}</p><h2>What was lost</h2><p>{SENTENCE * 4}</p><ul><li>{SENTENCE}</li><li>{SENTENCE * 2}</li></ul>
<blockquote><p>He said: {SENTENCE * 2}</p></blockquote><p>{SENTENCE * 3}</p></article>
<div class="share"><a href="#">Facebook</a> <a href="#">Email</a></div>
<section class="comments"><h3>2 comments</h3><div class="comment"><span>Bob</span><p>I saw it too, it was high.</p></div></section></main>
<aside class="sidebar"><h3>Most read</h3><ul><li><a href="/1">A cat in a tree</a></li><li><a href="/2">Rain tomorrow</a></li></ul></aside>
<footer><ul><li><a href="/about">About us</a></li><li><a href="/terms">Terms</a></li></ul><p>© 2024 Daily. All rights reserved.</p></footer></body></html>"""
POST = "<div class=post><div class=user><a href=/u>{}</a></div><div class=date>1.2.2024</div><div class=body><p>{}</p></div></div>"


def texts() -> Texts:
    """A few hundred paragraphs of nonsense, the same everywhere."""
    random = Random(1)
    words = ["".join(random.choices(("ka", "lo", "mi", "ru", "te", "s"), k=3)) for _ in range(500)]
    lines = [
        " ".join(random.choices(words, k=random.randint(12, 60))).capitalize() + "."
        for _ in range(400)
    ]
    return Texts([{"lang": "en", "text": "\n".join(lines)}])


def test_an_article_is_kept_and_what_stands_around_it_is_not() -> None:
    text = block_engine(OPTIONS)(ARTICLE.encode())
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
    text = block_engine(OPTIONS)(page.encode())
    assert all(f"Answer {n}:" in text for n in range(6))
    assert "Privacy" not in text


def test_lists_tables_and_code_keep_their_form() -> None:
    page = find_blocks(
        b"<h1>A</h1><p>b<ul><li>c<p>d</p><li>e</ul><table><tr><th>f<th>g<tr><td>h<td>i</table>"
        b"<pre>if j:\n    k</pre><blockquote>l</blockquote>"
    )
    everything = np.ones(len(page.blocks), dtype=np.bool_)
    assert text_of(page, everything) == "A\nb\n- c\nd\n- e\nf | g\nh | i\nif j:\n    k\nl"
    assert text_of(page, everything, include_tables=False) == "A\nb\n- c\nd\n- e\nif j:\n    k\nl"


def test_paragraphs_of_a_cell_are_lines_and_cells_of_a_row_one_line() -> None:
    page = find_blocks(
        b"<table><tr><td><p>a</p><p>b</p><td><div><p>c</p></div><td>d<tr><td>e<td><ul><li>f<li>g</ul><td>h"
        b"<tr><td><table><tr><td>i<td>j</table>k<td>l</table>"
    )
    everything = np.ones(len(page.blocks), dtype=np.bool_)
    assert text_of(page, everything) == "a\nb | c | d\ne\n- f\n- g\nh\ni | j\nk | l"


def test_what_goes_on_after_a_list_inside_an_item_is_no_new_item() -> None:
    page = find_blocks(b"<ul><li>a<ul><li>b</ul>c<p>d</p><li>e</ul>")
    everything = np.ones(len(page.blocks), dtype=np.bool_)
    assert text_of(page, everything) == "- a\n- b\nc\nd\n- e"


def test_a_table_that_lays_out_a_page_is_no_row_of_cells() -> None:
    page = find_blocks(
        f"<table><tr><td><p>{SENTENCE * 15}</p><td><p>{SENTENCE * 15}</p></table>".encode()
    )
    kept = np.ones(2, dtype=np.bool_)
    assert text_of(page, kept, include_tables=False).count("\n") == 1


def test_extraction_in_the_child_is_that_of_the_engine() -> None:
    extractor = Extractor(SETTINGS)
    pages = [ARTICLE.encode(), b"", b"<div>" * 3000, b"\xef\xbb\xbf<p>" + SENTENCE.encode() * 5]
    found = extractor.extract_all(pages)
    engine = block_engine(OPTIONS)
    assert [page.reason for page in found] == [None] * 4
    assert [page.text for page in found] == [engine(page) for page in pages]
    assert found[0].text
    assert not found[1].text


def test_model_and_version_are_part_of_the_identity() -> None:
    assert extractor_version(SETTINGS) == f"blocks {VERSION} {model_digest()}"


def test_comments_cannot_be_asked_for() -> None:
    with pytest.raises(ValidationError, match="include_comments"):
        ExtractionSettings(engine="blocks", include_comments=True)


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
    engine = block_engine(OPTIONS)
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
    for page in (ARTICLE.encode(), marked, board, *made):
        hasher.update(engine(page).encode() + b"\0")
    assert (VERSION, model_digest()[:16], hasher.hexdigest()[:16]) == GOLDEN


GOLDEN = (6, "ba3ae6bc56b5398b", "482adbe371e379ef")
