"""Random small corpora for the property test of erasure: every byte is a function of a seed.

Near duplicates are windows over one long run of words. Two windows of n shingles, s words apart,
have the similarity (n - s) / (n + s); s is drawn a little below the recipe's threshold, so that
neighbours are near duplicates and those two steps apart are not. Which of them the signatures
tie in the end is chance, as it is in the world; the test counts what came of it.
"""

import io
import json
import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.recipe.recipe import Recipe
from corpus_assets_tests.ingest.warc_bytes import response
from corpus_assets_tests.promises.erasure.random_recipe import RECORD, draw_recipe, draw_sources

SHINGLE_WORDS = 5
WORDS_PER_LINE = 12
SYLLABLES = (
    "ba",
    "ko",
    "ri",
    "tu",
    "mel",
    "san",
    "do",
    "ve",
    "lin",
    "gar",
    "pe",
    "shu",
    "fo",
    "ny",
)
WORDS = tuple(f"{a}{b}{c}" for a in SYLLABLES for b in SYLLABLES for c in ("", "n", "s"))
HOSTS = (
    *("harbour.test", "news.harbour.test", "mill.test", "www.mill.test", "clock.test"),
    *("garden.test", "archive.garden.test", "quay.test"),
)
SECTIONS = ("log", "log/old", "notes", "list")
FOOTER = "subscribe to the tide table of this harbour and never miss it again"
EVAL_TEXT = " ".join(WORDS[i * 37 % len(WORDS)] for i in range(24))
ANCHOR = "anchor"  # a page of each snapshot that nobody asks for: a mixture needs some tokens
LONG_WORDS = ("weathercocks", "lighthouses", "harbourmasters", "clockmakers") * 3


@dataclass(frozen=True)
class Page:
    """One record. `plant` and `role` say which structure it was planted for, and as what."""

    url: str | None
    key: str
    text: str
    plant: str = "alone"
    role: str = ""
    snapshot: int = 0
    part: int = 0
    fetched_at: str = "2024-03-01T12:00:00Z"
    parents: tuple[str, ...] = ()


@dataclass(frozen=True)
class RandomCorpus:
    """Pages in the order of their files, and the recipes that read them: one or two."""

    seed: int
    recipes: tuple[Recipe, ...]
    formats: tuple[str, ...]  # of each snapshot's source
    parts: tuple[int, ...]  # of each snapshot
    pages: tuple[Page, ...] = field(repr=False)

    @property
    def summary(self) -> str:
        """What a failing case prints: enough to see what kind of corpus it was."""
        planted = ", ".join(sorted({page.plant for page in self.pages}))
        settings = "".join(
            f"\n  {recipe.clusters!r}, {recipe.signatures!r}, {recipe.shards.pack!r}"
            for recipe in self.recipes
        )
        return (
            f"seed {self.seed}: {len(self.pages)} records ({planted}) in {self.parts} parts of "
            f"{self.formats}{settings}"
        )


def draw_corpus(seed: int, tokenizer: Path) -> RandomCorpus:
    """The corpus of a seed; every fifth has two recipes, whose versions share what they read."""
    draw = random.Random(f"erasure/{seed}")
    formats = _formats(draw)
    sources = draw_sources(draw, formats)
    recipes = [draw_recipe(draw, sources, tokenizer) for _ in range(2 if seed % 5 == 4 else 1)]
    parts = tuple(draw.choice((1, 2, 2, 3)) for _ in formats)
    planter = _Planter(draw, recipes[0].clusters.min_similarity, formats, parts)
    return RandomCorpus(seed, tuple(recipes), formats, parts, tuple(planter.plant()))


def write_corpus(corpus: RandomCorpus, folder: Path, gone: Collection[Page] = frozenset()) -> None:
    """Write the sources below `folder`, without the records of `gone`.

    A JSON line that is gone leaves an empty one, so that all others keep their numbers.
    """
    (folder / "evals").mkdir(parents=True, exist_ok=True)
    item = {"id": "q-1", "benchmark": "mill", "text": EVAL_TEXT, "answer": "7"}
    (folder / "evals" / "mill.jsonl").write_text(json.dumps(item) + "\n")
    for side, offset in (("good", 0), ("poor", len(WORDS) // 2)):
        texts = (
            " ".join(WORDS[(offset + i * 7 + k * k) % len(WORDS)] for k in range(40))
            for i in range(12)
        )
        lines = (json.dumps({"text": text}) for text in texts)
        (folder / f"{side}.jsonl").write_text("\n".join(lines))
    for number, (kind, parts) in enumerate(zip(corpus.formats, corpus.parts, strict=True)):
        place = folder / f"snapshot-{number}"
        place.mkdir(exist_ok=True)
        for part in range(parts):
            pages = [p for p in corpus.pages if (p.snapshot, p.part) == (number, part)]
            WRITERS[kind](place / f"part-{part:05d}.{kind}", pages, gone)


def _formats(draw: random.Random) -> tuple[str, ...]:
    """Of two or three snapshots; synthetic pages need one that is not WARC."""
    n = draw.choice((2, 2, 2, 3))
    first = draw.choice(("jsonl", "jsonl", "jsonl", "parquet", "warc"))
    last = "jsonl" if first == "warc" else draw.choice((first, "jsonl"))
    return (*[first] * (n - 1), last)


class _Planter:
    """Draws structures and puts their pages into random snapshots and parts."""

    def __init__(
        self,
        draw: random.Random,
        similarity: float,
        formats: Sequence[str],
        parts: Sequence[int],
    ) -> None:
        self._draw = draw
        self._near = similarity + 0.07
        self._formats = formats
        self._parts = parts
        self._pages: list[Page] = []
        self._home: int | None = None

    def plant(self) -> Iterable[Page]:
        """All pages, in random order."""
        near: list[Callable[[], None]] = [self._chain, self._star, self._bridge, self._crowd]
        other = [self._copies, self._same_url, self._captures, self._site, self._marked]
        for structure in (*near, *self._draw.sample(other, 3)):
            # Half of the structures lie in one snapshot, the others anywhere.
            self._home = self._draw.choice((None, self._draw.randrange(len(self._parts))))
            structure()
        self._home = None
        for _ in range(self._draw.randint(3, 7)):
            self._add(self._words(), "alone")
        self._derived()
        for number in range(len(self._parts)):
            url = f"http://anchor-{number}.test/"
            self._add([*self._words(40), *LONG_WORDS], ANCHOR, url=url, snapshot=number)
        self._draw.shuffle(self._pages)
        return self._pages

    # Structures.

    def _chain(self) -> None:
        """a ~ b ~ c ~ ..., where a and c are not near."""
        n, step = self._length()
        links = self._draw.randint(3, 5)
        run = self._words(n + links * step)
        for i in range(links):
            role = "link" if 0 < i < links - 1 else "end"
            self._add(run[i * step : i * step + n], "chain", role)

    def _star(self) -> None:
        """Leaves that are near their centre and not each other: each changes its own stretch."""
        n, step = self._length()
        centre = self._words(n)
        self._add(centre, "star", "centre")
        width = max(1, step - SHINGLE_WORDS + 1)
        for i in range(self._draw.randint(3, min(6, n // step))):
            leaf = list(centre)
            leaf[i * step : i * step + width] = self._words(width)
            self._add(leaf, "star", "leaf")

    def _bridge(self) -> None:
        """Two groups of near copies, and one page between them that is near both."""
        n, step = self._length()
        run = self._words(n + 2 * step)
        self._add(run[step : step + n], "bridge", "bridge")
        for side, start in (("left", 0), ("right", 2 * step)):
            for _ in range(self._draw.randint(1, 3)):
                words = list(run[start : start + n])
                words[0 if side == "left" else -1] = self._draw.choice(WORDS)
                self._add(words, "bridge", side)

    def _crowd(self) -> None:
        """Many windows close together: hot buckets whose centre confirms some members."""
        n, step = self._length()
        run = self._words(n + 4 * step)
        for _ in range(self._draw.randint(8, 14)):
            start = self._draw.randint(0, 4 * step)
            self._add(run[start : start + n], "crowd", "member")

    def _copies(self) -> None:
        """One text under several addresses."""
        words = self._words()
        for _ in range(self._draw.randint(2, 4)):
            self._add(words, "copies", "copy")

    def _same_url(self) -> None:
        """Several texts under one address, one of them in another spelling of it."""
        url = self._url()
        for i in range(self._draw.randint(2, 4)):
            self._add(self._words(), "same_url", "capture", url=url + "#top" * (i == 1))

    def _captures(self) -> None:
        """One page delivered twice in one snapshot: one document, two records."""
        words, url, snapshot = self._words(), self._url(), self._any_snapshot()
        for _ in range(2):
            self._add(words, "captures", "capture", url=url, snapshot=snapshot)

    def _site(self) -> None:
        """Pages of one host that end in one line."""
        host, snapshot = self._draw.choice(HOSTS), self._any_snapshot()
        for _ in range(self._draw.randint(3, 5)):
            url = self._url(host)
            self._add(self._words(), "site", "page", url=url, snapshot=snapshot, end=f"\n{FOOTER}")

    def _marked(self) -> None:
        """Pages that other stages drop or change: eval items, few words, personal data."""
        self._add([*self._words(40), *EVAL_TEXT.split()], "marked", "contaminated")
        self._add(self._words(8), "marked", "short")
        self._add([*self._words(60), "clara@quay.test"], "marked", "personal")

    def _derived(self) -> None:
        """Synthetic pages with one parent, with several, and with a synthetic one."""
        own = [i for i, kind in enumerate(self._formats) if kind != "warc"]
        if not own:
            return
        parents = [page for page in self._pages if page.url is not None]
        for number in range(self._draw.randint(2, 4)):
            some = self._draw.sample(parents, 2 if number == 1 else 1)
            # Half of them are near copies of a parent, so that they stand in its cluster.
            words = self._words() if self._draw.random() < 0.5 else some[0].text.split()[:-1]
            names = tuple(str(page.url) for page in some)
            role = f"{len(names)} parents"
            page = self._add(words, "derived", role, snapshot=self._draw.choice(own), parents=names)
            parents.append(page)

    # Pages.

    def _add(
        self,
        words: Sequence[str],
        plant: str,
        role: str = "",
        url: str | None = None,
        snapshot: int | None = None,
        end: str = "",
        parents: tuple[str, ...] = (),
    ) -> Page:
        number = self._any_snapshot() if snapshot is None else snapshot
        # The last part is small: takedowns leave it empty now and then.
        weights = [*[8] * (self._parts[number] - 1), 1]
        lines = (words[i : i + WORDS_PER_LINE] for i in range(0, len(words), WORDS_PER_LINE))
        has_url = self._formats[number] == "warc" or self._draw.random() < 0.9 or plant != "alone"
        page = Page(
            url=(url or self._url()) if has_url else None,
            key=f"k{len(self._pages)}",
            text="\n".join(" ".join(line) for line in lines) + end,
            plant=plant,
            role=role,
            snapshot=number,
            part=self._draw.choices(range(self._parts[number]), weights)[0],
            fetched_at=f"2024-0{self._draw.randint(1, 9)}-01T12:00:00Z",
            parents=parents,
        )
        self._pages.append(page)
        return page

    def _any_snapshot(self) -> int:
        return self._draw.randrange(len(self._parts)) if self._home is None else self._home

    def _url(self, host: str | None = None) -> str:
        host, section = host or self._draw.choice(HOSTS), self._draw.choice(SECTIONS)
        return f"http://{host}/{section}/{self._draw.randrange(10**6):06d}"

    def _words(self, n: int | None = None) -> list[str]:
        return self._draw.choices(WORDS, k=self._draw.randint(40, 110) if n is None else n)

    def _length(self) -> tuple[int, int]:
        """Words of a window, and the step that leaves neighbours just near enough."""
        n = self._draw.randint(70, 120)
        shingles = n - SHINGLE_WORDS + 1
        return n, max(2, round(shingles * (1 - self._near) / (1 + self._near)))


def _write_jsonl(path: Path, pages: Sequence[Page], gone: Collection[Page]) -> None:
    lines = ["" if page in gone else json.dumps(_row(page)) for page in pages]
    path.write_text("".join(f"{line}\n" for line in lines))


def _write_parquet(path: Path, pages: Sequence[Page], gone: Collection[Page]) -> None:
    rows = [_row(page) for page in pages if page not in gone]
    schema = pa.schema([(name, pa.string()) for name in RECORD[:-1]])
    schema = schema.append(pa.field(RECORD[-1], pa.list_(pa.string())))
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
    path.write_bytes(sink.getvalue())


def _write_warc(path: Path, pages: Sequence[Page], gone: Collection[Page]) -> None:
    plain = "Content-Type: text/plain; charset=utf-8"
    path.write_bytes(
        b"".join(
            response(page.url, page.text.encode(), headers=plain, date=page.fetched_at)
            for page in pages
            if page not in gone
        )
    )


def _row(page: Page) -> dict[str, Any]:
    return {
        "url": page.url,
        "key": page.key,
        "text": page.text,
        "derived_from": list(page.parents) or None,
    }


WRITERS = {"jsonl": _write_jsonl, "parquet": _write_parquet, "warc": _write_warc}
