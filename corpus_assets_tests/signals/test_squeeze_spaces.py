"""Surplus white space is cut out, and every character left has its place."""

import re

import pytest

from corpus_assets.signals.squeeze_spaces import SqueezeSpaces
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_pages
from corpus_assets_tests.signals.test_statistics import batch_of

SPACE = r"[^\S\n]"


def plain(text: str, cut_replacements: bool) -> str:
    """The definition in plain Python."""

    def run(found: re.Match[str]) -> str:
        space = found[0]
        if "\n" not in space:
            return space[0]
        indentation = space.rpartition("\n")[2]
        return "\n" * min(space.count("\n"), 2) + indentation

    ink = text.strip()
    if not cut_replacements:
        return re.sub(r"\s+", run, ink)
    # A mark that goes ends a run of white space before it.
    pieces = ["".join(text)] if "\ufffd" not in text else text.split("\ufffd")
    first = next((k for k, piece in enumerate(pieces) if piece.strip()), len(pieces))
    out = []
    for k, piece in enumerate(pieces):
        piece = piece.lstrip() if k <= first else piece
        piece = piece.rstrip() if k == len(pieces) - 1 else piece
        out.append(re.sub(r"\s+", run, piece))
    return "".join(out)


@pytest.mark.parametrize("cut_replacements", [False, True])
def test_what_is_left_is_what_the_reference_leaves(cut_replacements: bool) -> None:
    marks = [" \ufffd a \ufffd\ufffd  b\ufffd", "\ufffd\n\n\n x", "a\ufffd  \n"]
    texts = [*ADVERSARIAL, *marks, *random_pages(seed=4, n=500)]
    step = SqueezeSpaces(cut_replacements=cut_replacements)
    done = step.rewrite(batch_of(list(texts)))
    assert done.left.texts.to_pylist() == [plain(text, cut_replacements) for text in texts]
    lost = [text.count("\ufffd") if cut_replacements else 0 for text in texts]
    assert done.columns["cut_replacement_chars"].to_pylist() == lost
    sizes = [len(text) for text in done.left.texts.to_pylist()]
    squeezed = done.columns["squeezed_chars"].to_pylist()
    for text, size, marks_cut, spaces_cut in zip(texts, sizes, lost, squeezed, strict=True):
        assert len(text) == size + marks_cut + spaces_cut


def test_paragraphs_and_indentation_stay() -> None:
    text = "  A  title \t \r\n\r\n\r\n\r\ndef f():\n    return  1   \n\n\n"
    step = SqueezeSpaces()
    done = step.rewrite(batch_of([text]))
    assert done.left.texts.to_pylist() == ["A title\n\ndef f():\n    return 1"]
    again = step.rewrite(done.left)
    assert again.left.texts.to_pylist() == done.left.texts.to_pylist()
