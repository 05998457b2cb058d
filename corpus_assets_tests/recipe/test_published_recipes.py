"""The published rule sets build as they are, on a slice of the demo crawl, and drop what is planted."""

import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpus_assets.core.home import Home
from corpus_assets.core.task import read_table
from corpus_assets.demo.generate import generate_demo
from corpus_assets.graph.pipeline import Pipeline
from corpus_assets.graph.run import pin_snapshot
from corpus_assets.recipe.load import load_recipe
from corpus_assets.select.rules import SelectionSettings
from corpus_assets.select.selection import select
from corpus_assets.session import open_session
from corpus_assets.versions.version import make_version
from corpus_assets_tests.demo_build import planted
from corpus_assets_tests.ingest.warc_bytes import response
from corpus_assets_tests.promises.erasure.build import run_all
from corpus_assets_tests.small_corpus import stored_member

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
NAMES = ("c4", "gopher", "fineweb", "fineweb2", "dolma", "redpajama-v2")
QUICK = {"c4", "fineweb"}  # of which the others' rules are the most; each takes a build
SNAPSHOT = "CC-DEMO-2024-10"
FILE = f"web/{SNAPSHOT}/part-00000.warc.gz"
UNTOUCHED = {"licence_cc", "boilerplate_lines"}  # planted, but nothing that a rule looks at
JUNK = {"wrong_language", "thin", "templated_spam"}


SCRIPT_LINE = "Please enable JavaScript in your browser to see the rest of this page."
SENTENCES = (
    "My grandmother learned to bind books in a cold workshop behind the railway station.",
    "She was fourteen, and nobody had asked whether a girl should hold such sharp knives.",
    "Leather arrived on Mondays, wrapped with string and smelling strongly of the tannery.",
    "Apprentices cut it thin, then thinner, until light came through like weak tea.",
    "Glue had to be warm but never boiling, because heat would make paper brittle.",
    "Most customers were priests or doctors, though once a sailor brought his own poems.",
    "He wanted them bound in sailcloth, with no title anywhere on the cover.",
    "People laughed about that order for months, yet it became her favourite piece.",
    "During winter the presses froze and work moved upstairs beside an iron stove.",
    "There they folded sheets by candle, counting quietly to keep every section straight.",
    "A single mistake could spoil weeks of effort, so errors were simply not discussed.",
    "When machines finally came, half of the old tools went into a drawer.",
    "I have that drawer now, together with two brushes and one cracked bone folder.",
    "Sometimes students visit and ask how anything so slow could ever pay rent.",
    "I tell them what she told me: patience is cheaper than repairing haste.",
    "Then we sew something small, badly, and everybody goes home rather pleased.",
)


def page_of(*, per_line: int = 4) -> list[str]:
    lines = range(0, len(SENTENCES), per_line)
    return [" ".join(SENTENCES[i : i + per_line]) for i in lines]


BODY = "\n".join(page_of())
ALONE = page_of(per_line=1)
PAGES = {
    "ordinary": BODY,
    "brace": "\n".join([*ALONE[8:], *ALONE[:8], "It begins with function() { as all of them do."]),
    "filler": "\n".join([*ALONE[3:], "Lorem ipsum dolor sit amet was all that stood there."]),
    "script_line": "\n".join([*ALONE[2:9], SCRIPT_LINE, *ALONE[11:]]),
    "repeated_line": "\n".join([*ALONE[:4], *ALONE[5:6] * 12]),
    "bullets": "\n".join(f"- {line}" for line in ALONE[:10]),
    "unfinished": "\n".join(line.rstrip(".") for line in ALONE[4:]),
    "hashes": "\n".join(page_of())[100:].replace("e ", "e #"),
    "dots": "\n".join(line.rstrip(".") + "..." for line in ALONE[6:]),
    "few_words": " ".join(SENTENCES[:2]),
}

# Page -> the first rule of each recipe that it fails; it passes those that are not named.
EXPECTED: dict[str, dict[str, str]] = {
    "ordinary": {},
    "brace": {"c4": "curly_brace", "fineweb": "curly_brace"},
    "filler": {"c4": "lorem_ipsum", "fineweb": "lorem_ipsum", "redpajama-v2": "lorem_ipsum"},
    "script_line": {},
    "repeated_line": {
        "gopher": "repeated_lines",
        "fineweb": "repeated_lines",
        "dolma": "repeated_lines",
        "redpajama-v2": "top_3_gram",
    },
    "bullets": {"gopher": "bullet_lines", "fineweb": "bullet_lines", "dolma": "bullet_lines"},
    "unfinished": {
        "c4": "few_sentences",
        "fineweb": "unfinished_lines",
        "dolma": "unfinished_lines",
    },
    "hashes": dict.fromkeys(("gopher", "fineweb"), "hash_signs")
    | dict.fromkeys(("dolma", "redpajama-v2"), "symbols"),
    "dots": dict.fromkeys(("gopher", "fineweb", "redpajama-v2"), "ellipsis_lines")
    | {"c4": "few_sentences"},
    "few_words": dict.fromkeys(("gopher", "fineweb", "dolma", "redpajama-v2"), "word_count")
    | {"c4": "few_sentences"},
}


def url_of(page: str) -> str:
    return f"http://planted.example.org/{page}"


@dataclass(frozen=True)
class Slice:
    home: Path
    warc: Path
    planted: dict[str, set[str]]  # URL -> what is planted there


@pytest.fixture(scope="module")
def sliced(tmp_path_factory: pytest.TempPathFactory) -> Slice:
    """About 100 records of one file of the demo crawl: all junk, and ordinary pages in English,
    German, French and Spanish."""
    folder = tmp_path_factory.mktemp("published")
    home = folder / "home"
    sources = generate_demo(home / "demo-sources")
    known = {r["key"]: r for r in planted(home) if r["file"] == FILE}
    wanted: dict[str, set[str]] = {}
    ordinary = Counter[str]()
    for url, record in known.items():
        what = set(record["planted"])
        if what & JUNK:
            wanted[url] = what
        elif what <= UNTOUCHED and ordinary[record["lang"]] < 25:
            ordinary[record["lang"]] += 1
            wanted[url] = {record["lang"]}
    warc = folder / "slice.warc.gz"
    members = list(gzip_members((sources / FILE).read_bytes()))
    chosen = [data for data, text in members if target_of(text) in wanted]
    plain = "Content-Type: text/plain; charset=utf-8"
    for name, text in PAGES.items():
        wanted[url_of(name)] = {name}
        chosen.append(stored_member(response(url_of(name), text.encode(), headers=plain)))
    warc.write_bytes(b"".join(chosen))
    return Slice(home, warc, wanted)


def gzip_members(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each member of a WARC file, as it is stored and inflated."""
    while data:
        inflater = zlib.decompressobj(wbits=31)
        text = inflater.decompress(data)
        used = len(data) - len(inflater.unused_data)
        yield data[:used], text
        data = inflater.unused_data


def target_of(record: bytes) -> str | None:
    for line in record.split(b"\r\n\r\n", 1)[0].split(b"\r\n"):
        if line.lower().startswith(b"warc-target-uri:"):
            return line.split(b":", 1)[1].strip().decode()
    return None


def fates(sliced: Slice, name: str) -> dict[str, dict[str, Any]]:
    """URL -> the decision on its page, from a build of the recipe without Dagster."""
    overrides = {
        "use_fallbacks": ["all"],
        "sources.web.snapshots": {SNAPSHOT: str(sliced.warc)},
        "tokenizer.train.vocab_size": 640,
        "shards.seq_len": 64,
        "mixture.block_samples": 4,
        "mixture.max_epochs": 100,
    }
    with open_session(
        str(RECIPES / f"{name}.yaml"), Home.resolve(str(sliced.home)), overrides=overrides
    ) as session:
        for snapshot in session.pipeline.recipe.snapshots:
            pin_snapshot(session.pipeline, session.registry, snapshot)
        run_all(session)
        manifest = make_version(session.pipeline, f"{name}-t").manifest
        assert manifest.groups
        return decisions(session.pipeline)


def decisions(pipeline: Pipeline) -> dict[str, dict[str, Any]]:
    (read,) = pipeline.results("documents", SNAPSHOT)
    (done,) = pipeline.results("clean_text", SNAPSHOT)
    records = read_table(pipeline.store, read.outputs["records.parquet"])
    decided = read_table(pipeline.store, done.outputs["decisions.parquet"])
    final = read_table(pipeline.store, done.outputs["final.parquet"])
    texts = dict(zip(final["doc_id"].to_pylist(), final["text"].to_pylist(), strict=True))
    urls = records["url"].to_pylist()
    return {
        url: row | {"text": texts.get(row["doc_id"])}
        for url, row in zip(urls, decided.to_pylist(), strict=True)
    }


ENGLISH = [name for name in NAMES if name not in ("fineweb2", "redpajama-v2")]


class Built(dict[str, dict[str, dict[str, Any]]]):
    """Recipe -> URL -> decision, built when it is asked for."""

    def __init__(self, sliced: Slice) -> None:
        self._sliced = sliced

    def __missing__(self, name: str) -> dict[str, dict[str, Any]]:
        self[name] = fates(self._sliced, name)
        return self[name]


@pytest.fixture(scope="module")
def built(sliced: Slice) -> Built:
    return Built(sliced)


def by_recipe(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "name",
        [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in names],
    )


@by_recipe(*(name for name in NAMES if name != "fineweb2"))
@pytest.mark.parametrize("page", PAGES)
def test_a_planted_page_meets_its_fate(built: Built, name: str, page: str) -> None:
    decision = built[name][url_of(page)]
    # What is in the tail follows the few texts that the demo's language models know.
    first = next((rule for rule in decision["failed_rules"] if rule != "tail"), None)
    assert first == EXPECTED[page].get(name)
    if first is not None:
        assert decision["stage"] == "selection"
        assert decision["reason"] in (first, "tail")


@by_recipe(*NAMES)
def test_spam_and_thin_pages_go_and_ordinary_ones_stay(
    built: Built, sliced: Slice, name: str
) -> None:
    languages = {"fineweb2": {"de", "fr", "es"}, "redpajama-v2": {"en", "de", "fr", "es"}}
    for url, what in sliced.planted.items():
        decision = built[name][url]
        if what & {"thin", "templated_spam"}:
            # C4 asks for three sentences, and for nothing about repetition.
            assert name == "c4" or decision["stage"] == "selection", url
        elif what & languages.get(name, {"en"}):
            assert decision["kept"] or decision["reason"] == "tail", (url, decision["reason"])


@by_recipe(*ENGLISH)
def test_other_languages_go(built: Built, sliced: Slice, name: str) -> None:
    for url, what in sliced.planted.items():
        if what & {"wrong_language", "de", "fr", "es"}:
            assert not built[name][url]["kept"]


@by_recipe(*NAMES)
def test_lines_that_a_text_step_cuts_are_not_in_the_final_text(built: Built, name: str) -> None:
    decision = built[name][url_of("script_line")]
    text = decision["text"]
    if name == "fineweb2" or decision["reason"] == "tail":
        assert text is None  # it is English, or unlike what RedPajama's demo models know
    else:
        assert (SCRIPT_LINE in text) == (name not in ("c4", "fineweb"))


def test_a_share_of_finished_lines_equal_to_its_threshold_passes_fineweb2() -> None:
    (rule,) = (
        rule
        for rule in load_recipe(RECIPES / "fineweb2.yaml").selection.rules
        if rule.name == "unfinished_lines"
    )
    shares = {"de": [0.0], "fr": [0.1, 0.09], "sv": [1.0]}  # German asks for 0, French for 0.1
    rows = [(language, share) for language, given in shares.items() for share in given]
    ids = pa.array([bytes([n]) * 16 for n in range(len(rows))], pa.binary(16))
    signals = pa.table(
        {
            "doc_id": ids,
            "language": [language for language, _ in rows],
            "datatrove_terminal_line_share": pa.array([share for _, share in rows], pa.float32()),
        }
    )
    documents = pa.table({"doc_id": ids, "domain": ["web"] * len(rows)})
    found = select(documents, signals, SelectionSettings(rules=(rule,)), {})
    assert found["kept"].to_pylist() == [True, True, False, True]
