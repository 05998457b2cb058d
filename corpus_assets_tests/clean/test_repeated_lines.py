"""Repeated lines and passages in whole builds: what is cut, what stays, and who is told."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.clean.losses import losses_message, snapshot_losses
from corpus_assets.cli.build_view import _losses
from corpus_assets.core.store import Output, read_output
from corpus_assets.core.task import parquet_bytes, read_table
from corpus_assets.defs.materialize import blocking, stage_metadata
from corpus_assets.graph.checks import CheckOutcome, check_asset
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import AssetReport, run_asset
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.recipe.load import parse_recipe
from corpus_assets.session import Session
from corpus_assets.versions.version import make_lock
from corpus_assets_tests.clean.page_corpus import Corpus, Crawl, Page, clean, recipe_of, rows
from corpus_assets_tests.small_corpus import prose

HOST = "http://paper.example.org"
MENU = "Home News Sports Weather"
SHARE = "Share this story with your friends"
ANYWHERE = {"clean_text": {"boilerplate": {"bucket": "snapshot", "min_share": 0}}}
"""Lines go wherever they stand, as publications have it; by default only a site's frame does."""

NOTICE = "By reading on you agree that this site may keep a small file on your own machine."


def article(name: str) -> str:
    return prose("article", name)


def page(address: str, *lines: str) -> Page:
    return f"{HOST}/{address}", "\n".join([MENU, *lines, SHARE])


def others(count: int) -> list[Page]:
    return [page(f"other/{i}", prose("other", i)) for i in range(count)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus(tmp_path_factory.mktemp("lines"))


def texts(session: Session) -> list[str]:
    return sorted(row["text"] for row in rows(session))


def holders(session: Session, text: str) -> list[str]:
    return [one for one in texts(session) if text in one]


def seven_addresses() -> list[Page]:
    return [page(f"story?from={i}", article("one"), f"{i + 1},204 views") for i in range(7)]


def test_one_article_at_seven_addresses_is_left_once_with_its_text(corpus: Corpus) -> None:
    built = corpus.build([seven_addresses() + others(20)])
    assert len(holders(built, article("one"))) == 1


def test_without_near_deduplication_one_copy_keeps_the_text_all_the_same(corpus: Corpus) -> None:
    files = [seven_addresses() + others(20)]
    built = corpus.build(files, clusters={"min_similarity": None}, **ANYWHERE)
    assert len(holders(built, article("one"))) == 1
    untouched = corpus.build(files, clusters={"min_similarity": None})
    assert len(holders(untouched, article("one"))) == 7, "no frame: it stands inside the texts"


def test_seven_captures_in_seven_files_are_kept_as_seven_in_one_file(corpus: Corpus) -> None:
    capture = page("story", article("one"))
    apart = corpus.build([[capture, one] for one in others(7)])
    together = corpus.build([[capture] * 7 + others(7)])
    assert len(holders(apart, article("one"))) == 1
    assert texts(apart) == texts(together)
    assert len(holders(apart, MENU)) == 1


def lists() -> list[Page]:
    """Articles, and the pages that list them: tags, an archive, the front page."""
    names = ["one", "two", "three", "four"]
    articles = [page(f"story/{name}", article(name), f"The end of {name}.") for name in names]
    listing = "\n".join(article(name) for name in names)
    addresses = [*(f"tag/{i}" for i in range(6)), "archive/2024", ""]
    # Each with enough of its own that it is no copy of another list.
    own = [page(a, prose("list", a, sentences=60), listing) for a in addresses]
    return articles + own


def test_articles_keep_what_tag_and_archive_pages_repeat(corpus: Corpus) -> None:
    built = corpus.build([lists()], **ANYWHERE)
    for name in ("one", "two", "three", "four"):
        (kept,) = holders(built, article(name).split("\n")[0])
        assert article(name) in kept
        assert f"The end of {name}." in kept
    assert len(holders(built, MENU)) == 1
    assert len(holders(built, SHARE)) == 1


def test_a_notice_on_every_page_is_left_once(corpus: Corpus) -> None:
    built = corpus.build([[(url, f"{text}\n{NOTICE}") for url, text in others(20)]])
    assert len(holders(built, NOTICE)) == 1


@pytest.mark.parametrize("spans", [None, {"min_words": 20}], ids=["lines", "lines and spans"])
def test_the_layout_of_files_changes_no_text(corpus: Corpus, spans: Any) -> None:
    pages = lists() + seven_addresses()
    settings = {"clean_text": {"repeated_spans": spans}}
    one = corpus.build([pages], **settings)
    two = corpus.build([pages[::2], pages[1::2]], **settings)
    assert texts(one) == texts(two)


def test_lines_and_passages_together_leave_every_article_once(corpus: Corpus) -> None:
    lines = ANYWHERE["clean_text"]
    built = corpus.build([lists()], clean_text={**lines, "repeated_spans": {"min_words": 20}})
    left = "\n".join(texts(built))
    for name in ("one", "two", "three", "four"):
        for paragraph in article(name).split("\n"):
            assert left.count(paragraph) == 1


def lock_of(session: Session, folder: Path) -> Path:
    """The lock of what was resolved so far; the tokenizer is not needed for it."""
    for asset, snapshot in (("tokenizer", None), ("shards", "s")):
        run_asset(
            session.pipeline, session.engine, session.registry, session.progress, asset, snapshot
        )
    lock = make_lock(session.pipeline)
    (folder / "calibrations").mkdir(parents=True)
    for name, output in session.pipeline.calibrations().items():
        data = read_output(session.pipeline.store, output)
        (folder / "calibrations" / lock.calibrations[name].sha256).write_bytes(data)
    (folder / "lock.json").write_bytes(lock.to_bytes())
    return folder / "lock.json"


def test_taking_down_the_keeper_of_lines_equals_never_having_read_it(
    corpus: Corpus, tmp_path: Path
) -> None:
    pages = [*lists(), page("copy/one", article("one"), "A copy of one, at the end of one.")]
    first = corpus.build([pages], **ANYWHERE)
    (keeper,) = holders(first, article("one"))
    url = next(url for url, text in pages if all(p in text for p in keeper.split("\n")))
    take_down(corpus, first, pages, url, tmp_path, **ANYWHERE)
    assert len(holders(first, article("one"))) == 1, "its copy stands for it, with the text"


def take_down(
    corpus: Corpus, first: Session, pages: list[Page], url: str, folder: Path, **changes: Any
) -> None:
    """Take one page down: as if it had never been read, and no other document has moved."""
    before = {row["doc_id"]: row for row in rows(first)}
    lock = lock_of(first, folder)
    taken = first.pipeline
    orders = Suppressions.from_rows([("url_key", surt(first, url))])
    again = Pipeline(taken.recipe, taken.locations, taken.store, orders, pinned(first))
    first.pipeline = again
    clean(first)
    scratch = corpus.build([[p for p in pages if p[0] != url]], lock, **changes)
    after = {row["doc_id"]: row for row in rows(first)}
    assert after == {row["doc_id"]: row for row in rows(scratch)}
    assert rows(first, "cut_lines.parquet") == rows(scratch, "cut_lines.parquet")
    for doc_id in before.keys() & after.keys():
        assert before[doc_id] == after[doc_id]


BOX = "<div class=letter><p>Read more of us every morning, in a letter that is free for all.</p></div>"


def of_markup(number: int) -> Page:
    """A page with a box inside its text."""
    first, second = (prose(name, number) for name in ("first", "second"))
    own = f"<h1>Page {number} of the paper</h1><p>{first}</p>{BOX}<p class=last>{second}</p>"
    return f"{HOST}/pages/{number}", f"<main><article>{own}</article></main>"


def test_a_box_inside_the_text_of_pages_goes_and_its_keeper_can_be_taken_down(
    tmp_path: Path,
) -> None:
    crawl, pages = Crawl(tmp_path), [of_markup(number) for number in range(8)]
    built = crawl.build([pages[:5], pages[5:]])
    (keeper,) = holders(built, "Read more of us")
    for number in range(8):
        for line in prose("second", number).splitlines():
            assert holders(built, line)
    _, outcome = losses(built, "last_copies")
    assert outcome.passed
    assert "7 paragraph" in outcome.message
    url = next(url for url, body in pages if keeper.split("\n")[0] in body)
    take_down(crawl, built, pages, url, tmp_path / "lock")
    assert holders(built, "Read more of us") == [], "it stays cut where it was"


def surt(session: Session, url: str) -> str:
    for part in session.pipeline.results("documents", "s"):
        table = pq.read_table(session.pipeline.store.local(part.outputs["records.parquet"].path))
        for row in table.to_pylist():
            if row["url"] == url:
                return str(row["url_key"])
    raise LookupError(url)


def pinned(session: Session) -> dict[str, Any]:
    return dict(session.pipeline.calibrations())


def losses(session: Session, name: str = "losses") -> tuple[AssetReport, CheckOutcome]:
    report = clean(session)
    (outcome,) = [one for one in check_asset(session.pipeline, report) if one.name == name]
    return report, outcome


def test_the_check_warns_of_emptied_documents_and_names_the_site(corpus: Corpus) -> None:
    pages = [page(f"tag/{i}", article("one"), article("two")) for i in range(7)]
    apart = {"min_similarity": None, "exact": False}
    session = corpus.session([pages + others(9)], clusters=apart, **ANYWHERE)
    report, outcome = losses(session)
    assert (outcome.passed, outcome.is_warning) == (False, True)
    assert "too little of 6 documents" in outcome.message
    assert "paper.example.org" in outcome.message
    assert outcome.numbers == {"emptied_documents": 6}
    shown = stage_metadata(report)
    assert shown["emptied_documents"].value == 6
    assert "paper.example.org" in str(shown["largest_losses"].value)
    assert any(
        "too little of 6 documents" in line
        for lines in _losses(session.pipeline).values()
        for line in lines
    )
    dropped = [row for row in rows(session, "decisions.parquet") if row["stage"] == "clean_text"]
    assert {row["reason"] for row in dropped} == {"too_short_after_cleaning"}
    assert all("characters cut" in row["detail"] for row in dropped)
    assert all(one.passed for one in check_asset(session.pipeline, report) if not one.is_warning)


def test_the_check_is_content_with_furniture(corpus: Corpus) -> None:
    session = corpus.session([others(20)])
    _, outcome = losses(session)
    assert outcome.passed, outcome.message
    assert not any(_losses(session.pipeline).values())
    found = snapshot_losses(session.pipeline, "s")
    assert losses_message(found, 0.01)[1].startswith("it takes more than 1% of the text of 1 sites")


def test_edits_say_their_kind(corpus: Corpus) -> None:
    mail = "Write to jane@example.org about it."
    pages = [page("letters", prose("letters"), mail), *lists()]
    built = corpus.build([pages], clean_text={"repeated_spans": {"min_words": 20}})
    kinds = {edit["kind"] for row in rows(built) for edit in row["edits"]}
    assert kinds == {"boilerplate_line", "repeated_span", "email"}


@pytest.mark.parametrize(
    "change",
    [
        {"selection": {"rules": [{"name": "few_words", "signal": "n_words", "min": 60}]}},
        {"clusters": {"min_similarity": None}},
        {"clean_text": {"boilerplate": {"min_documents": 3, "min_share": 0.3}}},
    ],
    ids=["selection", "clusters", "boilerplate"],
)
def test_another_threshold_reads_no_text_for_lines(corpus: Corpus, change: Any) -> None:
    session = corpus.build([lists()])
    now = session.pipeline
    recipe = parse_recipe(recipe_of(**change), "recipe")
    changed = Pipeline(recipe, now.locations, now.store)
    assert changed.results("line_keys", "s") == now.results("line_keys", "s")
    for node in ("line_counts", "common_lines", "line_candidates", "boilerplate"):
        assert all("text" not in name for task in now.tasks(node, "s") for name in task.inputs)


INGREDIENTS = [
    *("1 teaspoon salt", "2 cups all-purpose flour", "2 large eggs", "1 cup of whole milk"),
    *("3 tablespoons sugar", "1 tablespoon olive oil", "half a cup of butter", "1 pinch of nutmeg"),
]


def recipes_of_a_site() -> list[Page]:
    """40 pages with a menu and a foot, each with 5 of 8 common ingredients and two of its own; every
    other one without marks of a list."""
    pages = []
    for i in range(40):
        common = [INGREDIENTS[(i + k) % 8] for k in range(5)]
        own = [f"{i + 3} ounces of ingredient number {i}", f"{i} drops of aroma {i}"]
        mark = "- " if i % 2 else ""
        listed = [mark + line for line in (*common, *own)]
        dish = prose("dish", i, sentences=3)
        middle = ["Ingredients", *listed, "Method", dish] if i % 3 else [dish, *listed]
        pages.append(page(f"recipes/{i}", f"Dish number {i}", *middle))
    return pages


def test_no_ingredient_of_forty_recipe_pages_is_cut(corpus: Corpus) -> None:
    pages = recipes_of_a_site()
    session = corpus.session([pages[::2], pages[1::2]], clusters={"min_similarity": None})
    _, outcome = losses(session, "last_copies")
    assert outcome.passed, outcome.message
    assert outcome.numbers["cut_list_item"] == outcome.numbers["lost_lines"] == 0
    left = texts(session)
    assert len(left) == 40
    assert outcome.numbers["cut_other"] == 2 * 39, "menu and foot go from all pages but one"
    before = [line for _, text in pages for line in text.split("\n")]
    after = [line for text in left for line in text.split("\n")]
    for line in set(before) - {MENU, SHARE}:
        assert after.count(line) == before.count(line), line
    assert (after.count(MENU), after.count(SHARE)) == (1, 1)


def stored(session: Session, table: pa.Table) -> Output:
    data = parquet_bytes(table)
    session.pipeline.store.write("forged.parquet", data)
    return Output("forged.parquet", hashlib.sha256(data).hexdigest(), len(data), table.num_rows)


def test_a_build_that_lost_the_last_copy_of_a_line_is_stopped(
    corpus: Corpus, tmp_path: Path
) -> None:
    session = corpus.build([others(20)])
    lock_of(session, tmp_path)
    pins = pinned(session)
    name = "boilerplate/s"
    table = read_table(session.pipeline.store, pins[name])
    kept_by_none = table.set_column(1, "keeper", pa.nulls(table.num_rows, table["keeper"].type))
    pins[name] = stored(session, kept_by_none)
    now = session.pipeline
    session.pipeline = Pipeline(
        now.recipe, now.locations, now.store, Suppressions.from_rows([]), pins
    )
    _, outcome = losses(session, "last_copies")
    assert not outcome.passed
    assert outcome.numbers["lost_lines"] == 2
    assert blocking([outcome]) == [outcome]
    assert "do not publish" in outcome.message
