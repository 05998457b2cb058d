"""Whatever a site looks like: cleaning takes its frame, and no line of its content is lost."""

import random
from collections.abc import Callable

import pyarrow as pa
import pytest

from catalog.formats.line_kinds import LINE_KIND
from corpus_assets.clean import boilerplate as lines
from corpus_assets.clean.clean_text import clean_documents, of_lines_of, rewritten
from corpus_assets.clean.keyed_lines import line_key
from corpus_assets.clean.pinned_lines import Boilerplate
from corpus_assets.clean.settings import BoilerplateSettings, CleanTextSettings
from corpus_assets.core.schemas import DOC_ID

WORDS = [
    "amber",
    "basin",
    "candle",
    "drift",
    "ember",
    "fallow",
    "garden",
    "harbour",
    "island",
    "juniper",
    "kettle",
    "lantern",
    "meadow",
    "nettle",
    "orchard",
    "pebble",
    "quarry",
    "river",
    "saddle",
    "timber",
    "upland",
    "valley",
    "willow",
    "yarrow",
]
Page = list[tuple[str, str]]
"""Lines with their kinds."""


def sentence(draw: random.Random, n_words: int) -> str:
    return " ".join(draw.choices(WORDS, k=n_words)).capitalize() + "."


def recipe(draw: random.Random, shared: list[str]) -> Page:
    items = [f"- {line}" for line in draw.sample(shared, 5)]
    return [
        (sentence(draw, 12), "paragraph"),
        *((line, "list_item") for line in items),
        *((sentence(draw, 9), "paragraph") for _ in range(3)),
    ]


def poem(draw: random.Random, shared: list[str]) -> Page:
    refrain = [(line, "paragraph") for line in shared[:2]]
    verses = [[(f"{' '.join(draw.choices(WORDS, k=4))},", "paragraph") for _ in range(4)] for _ in range(3)]  # fmt: skip
    return [line for verse in verses for line in (*verse, *refrain)]


def code(draw: random.Random, shared: list[str]) -> Page:
    body = [f"{name}({draw.randrange(9)});" for name in draw.choices(WORDS, k=4)]
    return [
        (sentence(draw, 10), "paragraph"),
        *((line, "code") for line in ("sub vcl_recv {", *body, "}", "return (pass);")),
        (sentence(draw, 14), "paragraph"),
    ]


def changelog(draw: random.Random, shared: list[str]) -> Page:
    return [
        line
        for number in range(4)
        for line in (
            (f"Version 1.{number}", "heading_2"),
            ("- Fixed several small problems", "list_item"),
            (f"- {sentence(draw, 6)}", "list_item"),
        )
    ]


def thread(draw: random.Random, shared: list[str]) -> Page:
    answers = [(draw.choice(shared), "paragraph") for _ in range(2)]
    return [
        *((sentence(draw, 15), "post") for _ in range(3)),
        *answers,
        (sentence(draw, 11), "post"),
    ]


def wrapped(draw: random.Random, shared: list[str]) -> Page:
    """Paragraphs broken after some words: their lines are short, some are alike."""
    text = " ".join([sentence(draw, 14), *draw.choices(shared, k=2), sentence(draw, 17)]).split()
    return [(" ".join(text[k : k + 5]), "paragraph") for k in range(0, len(text), 5)]


FORMS: tuple[Callable[[random.Random, list[str]], Page], ...] = (
    recipe, poem, code, changelog, thread, wrapped,
)  # fmt: skip


def random_site(draw: random.Random) -> tuple[list[Page], set[str]]:
    """Pages, and the lines of their frame."""
    shared = [sentence(draw, draw.randint(3, 6)) for _ in range(8)]
    head = [f"Menu {name} and more of it" for name in draw.sample(WORDS, draw.randint(0, 4))]
    foot = [f"Imprint of {name}, all rights" for name in draw.sample(WORDS, draw.randint(0, 3))]
    forms = draw.sample(FORMS, draw.randint(1, 3))
    pages = []
    for number in range(draw.randint(6, 20)):
        content = draw.choice(forms)(draw, shared)
        title = (f"{sentence(draw, 5)} {number}", "heading_1")
        frame = [[(line, "paragraph") for line in part] for part in (head, foot)]
        pages.append([*frame[0], title, *content, *frame[1]])
    return pages, {*head, *foot}


def documents_of(pages: list[Page], has_kinds: bool) -> pa.Table:
    kinds = [[LINE_KIND[kind] for _, kind in page] if has_kinds else None for page in pages]
    n = len(pages)
    return pa.table(
        {
            "doc_id": pa.array([number.to_bytes(16, "big") for number in range(n)], DOC_ID),
            "domain": pa.array(["web"] * n),
            "host": pa.array(["site.example"] * n),
            "fetched_at": pa.array(["2024-01-01T00:00:00Z"] * n),
            "text": pa.array(["\n".join(line for line, _ in page) for page in pages], pa.large_string()),
            "line_kinds": pa.array(kinds, pa.list_(pa.uint8())),
        }
    )  # fmt: skip


def cleaned(documents: pa.Table, settings: CleanTextSettings) -> list[str]:
    """Final texts, with lines counted over all of the documents."""
    own = settings.boilerplate
    batch, _ = rewritten(documents, [])
    keys = lines.line_keys(batch, documents, own)
    counted, buckets = lines.count_lines(keys, range(documents.num_rows))
    common = lines.common_lines([counted], [buckets], own)
    ids = documents["doc_id"]
    candidates = lines.find_candidates(ids, ids, keys, common)
    pinned = Boilerplate.of(lines.choose_keepers([candidates], common, settings.min_chars))
    names = pa.chunked_array([["high"] * documents.num_rows])
    final, reasons, *_ = clean_documents(documents, names, names, pinned, settings)
    assert set(reasons) == {None}, "no document is emptied"
    assert (final["line_kinds"].null_count == 0) is (of_lines_of(documents).null_count == 0)
    found: list[str] = final["text"].to_pylist()
    return found


@pytest.mark.parametrize("has_kinds", [True, False])
@pytest.mark.parametrize("bucket", ["host", "snapshot"])
def test_no_line_of_content_is_lost_and_the_frame_goes(bucket: str, has_kinds: bool) -> None:
    own = BoilerplateSettings.model_validate({"bucket": bucket, "min_share": 0.5, "min_chars": 8})
    settings = CleanTextSettings(min_chars=20, boilerplate=own)
    for seed in range(60):
        pages, frame = random_site(random.Random(seed))
        final = cleaned(documents_of(pages, has_kinds), settings)
        left = [set(text.split("\n")) for text in final]
        everywhere = set().union(*left)
        for page, own_lines in zip(pages, left, strict=True):
            for line, kind in page:
                assert line in everywhere, (seed, line)
                if has_kinds and kind in ("list_item", "code"):
                    assert line in own_lines, (seed, line)
                if bucket == "host" and line not in frame:
                    assert line in own_lines, (seed, line)
        of_frame = sum(line in frame for lines_left in left for line in lines_left)
        assert of_frame <= len(frame), (seed, "one copy of each line of the frame is kept")


@pytest.mark.parametrize("has_kinds", [True, False])
def test_kinds_stay_with_their_lines(has_kinds: bool) -> None:
    settings = CleanTextSettings(min_chars=20, boilerplate=BoilerplateSettings(min_chars=8))
    for seed in range(20):
        pages, _ = random_site(random.Random(seed))
        known = {line: LINE_KIND[kind] for page in pages for line, kind in page}
        table = documents_of(pages, has_kinds)
        names = pa.chunked_array([["high"] * len(pages)])
        keys = [line_key("site.example", line, k) for line in known for k in (-1, 1, 2)]
        final, *_ = clean_documents(
            table, names, names, Boilerplate(pa.array(sorted(keys), pa.uint64()).to_numpy()), settings
        )  # fmt: skip
        for text, kinds in zip(
            final["text"].to_pylist(), final["line_kinds"].to_pylist(), strict=True
        ):
            if not has_kinds:
                assert kinds is None
                continue
            own = text.split("\n")
            assert len(kinds) == len(own)
            assert all(kind == known[line] for line, kind in zip(own, kinds, strict=True) if line)
