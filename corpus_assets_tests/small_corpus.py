"""A corpus small enough to build in seconds, with something in it for every stage to do.

Two crawls of two WARC files each, a JSONL source of book chapters, an eval suite, training texts
for the quality model, a blocklist, and a recipe. Every byte is a pure function of this file.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

from corpus_assets_tests.ingest.warc_bytes import response

EMAIL = "clara.whitfield@harbour-archive.example.org"
PUBLIC_IP = "93.184.216.34"
PRIVATE_IP = "192.168.1.20"
FOOTER = "Subscribe to the harbour newsletter and never miss another tide table again."
EVAL_TEXT = (
    "A lighthouse lamp turns once every twelve seconds and a second lamp turns once every "
    "eighteen seconds; after how many seconds do both lamps face the harbour together again?"
)
GERMAN = (
    "Der alte Leuchtturmwärter schrieb jeden Abend die Namen der Schiffe in ein dickes Buch, "
    "und wenn der Nebel kam, läutete er die Glocke, bis die Fischer den Weg nach Hause fanden. "
    "Seine Tochter zählte derweil die Möwen auf dem Dach und fragte ihn nach den fernen Ländern, "
    "von denen die Matrosen in der Schenke am Hafen so gerne erzählten. "
)

SENTENCES = (
    "In the {season} of {year}, {who} {did} the {thing} beside {place}, which nobody had expected.",
    "Most people in {place} remember {who} because of the {thing} that was {done} there in {year}.",
    "It took almost {n} days before the {thing} could be {done}, and {who} wrote about all of them.",
    "Whenever the {season} rain reached {place}, the {thing} had to be {done} once more by hand.",
    "{Who} kept a careful list of every {thing} in {place} and {did} it again each {season}.",
    "The museum near {place} still shows the {thing} that {who} {did} before the {season} of {year}.",
    "Visitors who ask about the {thing} are told that {who} {did} it with only {n} helpers.",
    "A letter from {year} says that the {thing} of {place} was {done} twice, to the joy of {who}.",
    "For {n} years the {thing} stood empty, until {who} came to {place} one {season} and {did} it.",
    "Nothing about {place} is as well known as the {thing}, although {who} never wished to own it.",
)
SLOTS = {
    "season": ("spring", "summer", "autumn", "winter"),
    "who": (
        *("the keeper", "an engineer", "two sisters", "the harbour master", "a young baker"),
        *("the village teacher", "a retired captain", "the clockmaker", "three carpenters"),
        *("the old gardener", "a travelling painter", "the postman"),
    ),
    "did": (
        *("repaired", "painted", "measured", "sold", "described", "rebuilt", "found", "moved"),
        *("drew", "cleaned", "opened", "photographed"),
    ),
    "done": ("repaired", "painted", "measured", "rebuilt", "lifted", "opened", "cleaned", "moved"),
    "thing": (
        *("stone bridge", "tide mill", "brass clock", "wooden pier", "signal lamp", "fishing boat"),
        *("water wheel", "school bell", "market hall", "weather vane", "glass house", "rope walk"),
        *("cider press", "ferry landing", "slate roof", "paper mill"),
    ),
    "place": (
        *("Aldermouth", "the north cliffs", "Saint Orrin", "the lower town", "Brackenford"),
        *("the salt marsh", "Wexcombe", "the old quarry", "Tarnhead", "the river crossing"),
        *("Pellow Island", "the upper valley", "Marrick", "the eastern shore"),
    ),
}
SPAM = ("buy", "cheap", "click", "here", "now", "free", "winner", "bonus", "casino", "deal", "best")


def _number(*key: object) -> int:
    data = "/".join(str(part) for part in key).encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def sentence(*key: object) -> str:
    """An English sentence that is a pure function of its key."""
    words = {name: choices[_number(*key, name) % len(choices)] for name, choices in SLOTS.items()}
    words["Who"] = words["who"][0].upper() + words["who"][1:]
    words["year"] = str(1790 + _number(*key, "year") % 200)
    words["n"] = str(3 + _number(*key, "n") % 90)
    return SENTENCES[_number(*key) % len(SENTENCES)].format(**words)


def prose(*key: object, sentences: int = 9) -> str:
    """Three paragraphs of prose, about 17 words a sentence, none like another key's."""
    lines = [sentence(*key, i) for i in range(sentences)]
    third = -(-sentences // 3)
    return "\n".join(" ".join(lines[i : i + third]) for i in range(0, sentences, third))


def spam(*key: object) -> str:
    return " ".join(SPAM[_number(*key, i) % len(SPAM)] for i in range(90)) + "."


def html(text: str, title: str = "The harbour notebook", head: str = "", lang: str = "en") -> bytes:
    paragraphs = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    return (
        f"<!DOCTYPE html><html lang='{lang}'><head><title>{title}</title>{head}</head>"
        f"<body><article><h1>{title}</h1>{paragraphs}</article></body></html>"
    ).encode()


def _with_footer(text: str) -> str:
    return f"{text}\n{FOOTER}"


def first_crawl() -> list[bytes]:
    """26 records: 15 plain pages, 8 of them on one site with its footer, and one of each trouble."""
    pages = [
        response(f"http://harbour.example.com/page-{i}", html(_with_footer(prose("footer", i))))
        for i in range(8)
    ]
    pages += [
        response(f"http://site-{i}.example.org/article", html(prose("first", i))) for i in range(7)
    ]
    personal = (
        f"{prose('personal')}\nWrite to {EMAIL} or ask the server at {PUBLIC_IP}, but not the "
        f"printer at {PRIVATE_IP}, which answers nobody."
    )
    close = prose("first", 1, sentences=24).replace("spring", "early spring", 1)
    pages += [
        response("http://copies.example.net/exact", html(prose("first", 0))),
        response("http://near.example.net/original", html(prose("first", 1, sentences=24))),
        response("http://near.example.net/copy", html(f"{close} {sentence('one more')}")),
        response("http://people.example.com/contact", html(personal)),
        response("http://quiz.example.com/answers", html(f"{EVAL_TEXT}\n{prose('quiz')}")),
        response("http://de.example.com/seite", html(GERMAN * 2, "Der Leuchtturm", lang="de")),
        response("http://short.example.com/note", html("Back soon. The keeper is at lunch today.")),
        response("http://spam.example.com/win", html(spam("first"))),
        response("http://gone.example.com/", html("Not here."), status=404),
        response(
            "http://private.example.com/",
            html(prose("private"), head="<meta name='robots' content='noai'>"),
        ),
        response("http://blocked.example.com/page", html(prose("blocked"))),
    ]
    return pages


def second_crawl() -> list[bytes]:
    """24 records: new pages, one page of the first crawl again, one copied to another site."""
    pages = [
        response(f"http://news-{i}.example.org/story", html(prose("second", i))) for i in range(20)
    ]
    pages += [
        response("http://site-5.example.org/article", html(prose("first", 5))),
        response("http://elsewhere.example.net/borrowed", html(prose("first", 3))),
        response("http://spam.example.com/again", html(spam("second"))),
        response("http://image.example.com/a.png", b"\x89PNG", headers="Content-Type: image/png"),
    ]
    return pages


RECIPE = """\
name: small
seed: 7
sources:
  - name: web
    format: warc
    domain: web
    snapshots:
      crawl-1: web/crawl-1/*.warc.gz
      crawl-2: web/crawl-2/*.warc.gz
    site_files:
      crawl-1: sites
      crawl-2: sites
  - name: books
    format: jsonl
    domain: books
    fields: {key: id, title: title, licence: licence}
    snapshots:
      books-1: books/books-1.jsonl
calibrate_on: [crawl-1, books-1]
blocklists: [blocklist.txt]
blocked_categories: {gambling: lists/gambling}
documents:
  gates:
    robots: {agents: [ExampleBot]}
    optout: {directives: [noai]}
classifiers:
  quality:
    positives: [quality/positives.jsonl, {snapshots: [books-1], max_documents: 4}]
    negatives: [quality/negatives.jsonl]
    train: {epochs: 60, dim: 8, bucket: 1000}
perplexity:
  good: {texts: [quality/positives.jsonl]}
signals:
  families:
    - {family: language}
    - {family: gopher_quality}
    - {family: repetition}
    - {family: classifier, name: quality}
    - {family: ensemble}
    - {family: perplexity, models: [good]}
selection:
  rules:
    - {name: language, signal: language, in: [en], domains: [web]}
    - {name: gopher_word_count, signal: n_words, min: 30, domains: [web]}
    - {name: low_quality, signal: quality_score, min: 0.5, domains: [web]}
    - {name: few_words, signal: n_words, cutoff: words, domains: [web]}
  cutoffs:
    words: {signal: n_words, among: distinct_survivors, drop_share: 0.1, min_documents: 5}
  tiers:
    signal: mean_word_chars
    names: [high, low]
    shares: [0.5, 0.5]
    default: high
    domains: [web]
    min_documents: 5
clusters: {scope: all, keep: longest, min_similarity: 0.7}
eval_suites: [evals/*.jsonl]
contamination: {drop_share: 0.8, judgements: [lists/judgements.jsonl]}
clean_text:
  boilerplate: {domains: [web], min_documents: 6}
  repeated_spans: {min_words: 20}
  sentences: [{name: quality, min_score: 1}]
tokenizer:
  train: {vocab_size: 400, special_slots: 4}
  sample: {languages: [en]}
shards:
  seq_len: 64
  packing: best_fit
  tokens_per_shard: 2048
mixture:
  shares: {domain: {web: 0.8, books: 0.2}}
  weights: {tier: {high: 2.0, low: 1.0}}
  phases:
    - {name: main, share: 0.9}
    - {name: cooldown, share: 0.1, weights: {tier: {high: 3.0}}}
  block_samples: 16
  max_epochs: 50
"""

SNAPSHOTS = ("crawl-1", "crawl-2", "books-1")


def stored_member(data: bytes) -> bytes:
    """A gzip member that compresses nothing: the same bytes whatever zlib is installed."""
    blocks = [data[i : i + 0xFFFF] for i in range(0, len(data), 0xFFFF)] or [b""]
    body = b"".join(
        struct.pack("<BHH", i == len(blocks) - 1, len(block), len(block) ^ 0xFFFF) + block
        for i, block in enumerate(blocks)
    )
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    return head + body + struct.pack("<II", zlib.crc32(data), len(data))


def make_small_corpus(folder: Path) -> Path:
    """Write the corpus and its recipe below `folder`; returns the recipe's path."""
    for name, records in (("crawl-1", first_crawl()), ("crawl-2", second_crawl())):
        half = len(records) // 2
        for number, part in enumerate((records[:half], records[half:])):
            _write(
                folder / f"web/{name}/part-{number:05d}.warc.gz", b"".join(map(stored_member, part))
            )
    chapters = (
        {"id": f"b-{i}", "title": f"Chapter {i}", "licence": "CC0-1.0", "text": prose("book", i)}
        for i in range(8)
    )
    _write_lines(folder / "books/books-1.jsonl", chapters)
    suite = [{"id": "q-1", "benchmark": "lamps", "text": EVAL_TEXT, "answer": "36"}]
    suite += [
        {"id": f"q-{i}", "benchmark": "lamps", "text": sentence("eval", i), "answer": ""}
        for i in range(2, 12)
    ]
    _write_lines(folder / "evals/lamps.jsonl", suite)
    judged = {"text_id": "0" * 32, "benchmark": "lamps", "item_id": "q-2", "judgement": "keep"}
    _write_lines(folder / "lists/judgements.jsonl", [judged])
    _write_lines(
        folder / "quality/positives.jsonl", ({"text": prose("positive", i)} for i in range(30))
    )
    _write_lines(
        folder / "quality/negatives.jsonl", ({"text": spam("negative", i)} for i in range(30))
    )
    _write(folder / "blocklist.txt", b"blocked.example.com\n")
    _write(folder / "lists/gambling/domains", b"casino.example\n")
    _write(folder / "sites/quiet.example/robots.txt", b"User-agent: *\nDisallow: /\n")
    recipe = folder / "small.yaml"
    _write(recipe, RECIPE.encode())
    return recipe


THIRD = "crawl-3"


def add_third_crawl(recipe: Path) -> None:
    """Put a third crawl into a recipe, before the books as a monthly crawl comes: new pages, a page of
    the first crawl again, and a chapter of the books."""
    pages = [
        response(f"http://late-{i}.example.org/story", html(prose("third", i))) for i in range(8)
    ]
    pages.append(response("http://mirror.example.net/again", html(prose("first", 3))))
    pages.append(response("http://reader.example.net/chapter", html(prose("book", 2))))
    part = recipe.parent / "web" / THIRD / "part-00000.warc.gz"
    _write(part, b"".join(map(stored_member, pages)))
    text = recipe.read_text()
    for last, value in (("web/crawl-2/*.warc.gz", f"web/{THIRD}/*.warc.gz"), ("sites", "sites")):
        named = f"      crawl-2: {last}\n"
        text = text.replace(named, f"{named}      {THIRD}: {value}\n")
    recipe.write_text(text)


def _write_lines(path: Path, rows: Iterable[object]) -> None:
    _write(path, "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows).encode())


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
