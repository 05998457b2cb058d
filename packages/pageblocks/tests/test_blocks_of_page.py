"""The blocks that a page hands out: what they are, and which are its main text."""

import pytest
from sample_pages import ARTICLE, SENTENCE

from pageblocks import Extractor, NotText, extract


@pytest.mark.parametrize(
    ("markup", "kinds"),
    [
        ("<h2>a</h2><p>b", ["heading", "paragraph"]),
        ("<ul><li>a<li><p>b</p></ul>", ["list_item", "list_item"]),
        ("<table><tr><th>a<td>b</table>", ["table_row", "table_row"]),
        (f"<table><tr><td>{SENTENCE * 9}</table>", ["paragraph"]),
        ("<pre>a</pre><ul><li><pre>b</pre></ul>", ["code", "code"]),
        ("<blockquote><p>a</p><ul><li>b</ul><h3>c</h3></blockquote>", ["quotation", "list_item", "heading"]),
    ],
)  # fmt: skip
def test_a_block_is_what_its_elements_say(markup: str, kinds: list[str]) -> None:
    assert [block.kind for block in extract(markup).blocks] == kinds


def test_kept_blocks_are_the_main_text_and_have_the_higher_chances() -> None:
    page = extract(ARTICLE)
    kept = [block for block in page.blocks if block.kept]
    left = [block for block in page.blocks if not block.kept]
    assert [block.text for block in kept] == page.text.replace("- ", "").split("\n")
    assert min(block.chance for block in kept) > 0.3 > sum(b.chance for b in left) / len(left)
    assert all(0 <= block.chance <= 1 for block in page.blocks)
    assert page.blocks is page.blocks


def test_a_higher_chance_keeps_less_and_tables_can_be_left_out() -> None:
    texts = [Extractor(min_chance=chance).extract(ARTICLE).text for chance in (0.0, 0.5, 1.0)]
    assert len(texts[0]) > len(texts[1]) > len(texts[2]) == 0
    table = f"<table><tr><td>a cell<td>b</table><p>{SENTENCE * 3}"
    keep_all = {"min_chance": 0.0}
    assert "a cell | b" in Extractor(**keep_all).extract(table).text
    assert "a cell" not in Extractor(**keep_all, include_tables=False).extract(table).text


def test_bytes_are_read_in_their_charset_and_text_as_it_is() -> None:
    word = "Wärterhäuschen, größer. " * 20
    for html, content_type in (
        (f"<p>{word}", ""),
        (f"<p>{word}".encode(), ""),
        (f"<p>{word}".encode("latin-1"), "text/html; charset=iso-8859-1"),
        (f'<meta charset="latin1"><p>{word}'.encode("latin-1"), ""),
    ):
        assert extract(html, content_type=content_type).blocks[0].text == word.strip()
    cyrillic = "Смотритель маяка считал корабли. " * 20
    found = extract(f"<p>{cyrillic}".encode("cp1251"), detect=lambda sample: "cp1251")
    assert found.blocks[0].text == cyrillic.strip()


def test_the_text_is_in_normal_form_and_can_be_encoded() -> None:
    page = extract("<p>" + "cafe\u0301 \ud800 and so on, and so on. " * 20)
    assert page.text.startswith("caf\u00e9 \ufffd and")
    assert page.text.encode() == "\n".join(block.text for block in page.blocks).encode()


def test_an_image_is_refused() -> None:
    with pytest.raises(NotText, match="compressed, or an image"):
        extract(bytes(range(256)) * 50)


def test_a_page_without_anything_has_nothing() -> None:
    page = extract(b"")
    assert (page.text, page.blocks, page.page_type, page.title) == ("", [], "other", None)
