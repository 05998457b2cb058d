"""Surplus white space is cut out, and every character left has its place."""

import re

from corpus_assets.signals.squeeze_spaces import SqueezeSpaces
from corpus_assets_tests.signals.support.texts import ADVERSARIAL, random_pages
from corpus_assets_tests.signals.test_statistics import batch_of


def plain(text: str) -> str:
    """The definition in plain Python."""

    def run(found: re.Match[str]) -> str:
        space = found[0]
        if "\n" not in space:
            return space[0]
        indentation = space.rpartition("\n")[2]
        return "\n" * min(space.count("\n"), 2) + indentation

    return re.sub(r"\s+", run, text.strip())


def test_what_is_left_is_what_the_reference_leaves() -> None:
    texts = [*ADVERSARIAL, *random_pages(seed=4, n=500)]
    done = SqueezeSpaces().rewrite(batch_of(list(texts)))
    assert done.left.texts.to_pylist() == [plain(text) for text in texts]
    sizes = [len(text) for text in done.left.texts.to_pylist()]
    squeezed = done.columns["squeezed_chars"].to_pylist()
    for text, size, spaces_cut in zip(texts, sizes, squeezed, strict=True):
        assert len(text) == size + spaces_cut


def test_paragraphs_and_indentation_stay() -> None:
    text = "  A  title \t \r\n\r\n\r\n\r\ndef f():\n    return  1   \n\n\n"
    step = SqueezeSpaces()
    done = step.rewrite(batch_of([text]))
    assert done.left.texts.to_pylist() == ["A title\n\ndef f():\n    return 1"]
    again = step.rewrite(done.left)
    assert again.left.texts.to_pylist() == done.left.texts.to_pylist()
