"""One random corpus, and takedowns out of it: each is a case of the property test of erasure.

A case is a batch of requests. The corpus is built once; each batch is filed in the catalog and
carried out on the build before it, as a takedown run would; then a build that knew the orders
from the start reads the sources in another store, under the same lock. Both must be the same,
hash by hash. At the end the records are taken out of the source files themselves: no order, no
ledger row, and the same shards.
"""

import random
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from catalog.db.registry import Registry
from catalog.db.rows import NewTakedown, SuppressionRow
from catalog.formats.store import FileStore as CatalogStore
from catalog.takedown import requests as takedown
from corpus_assets.recipe.recipe import Recipe
from corpus_assets.session import reopen_session
from corpus_assets.versions.gc import collect_garbage
from corpus_assets.versions.publish import publish_version
from corpus_assets_tests.promises.erasure.build import (
    Abandoned,
    Built,
    NoNotes,
    build,
    difference,
    first_session,
    new_home,
    run_all,
)
from corpus_assets_tests.promises.erasure.checks import (
    check_gone,
    check_shards,
    check_spelled,
    check_whole,
    hex_ids,
)
from corpus_assets_tests.promises.erasure.random_corpus import draw_corpus, write_corpus
from corpus_assets_tests.promises.erasure.requests import Asked, descendants, draw_request
from corpus_assets_tests.promises.erasure.state import LEDGERS, SUPPRESSED, Files, State, read_state
from corpus_assets_tests.promises.erasure.tally import tally
from corpus_assets_tests.registry_states import add_orders


@dataclass(frozen=True)
class Kit:
    """What all cases share: a tokenizer and an empty catalog, made once."""

    folder: Path
    tokenizer: Path
    catalog: Path


@dataclass
class Line:
    """A recipe's versions, one after the other; `live` is the last that was published."""

    name: str
    recipe: Recipe
    lock: Path
    live: str
    now: Built
    state: State


@dataclass
class Erasure:
    """The corpus of one seed with its builds; `run` goes through its cases."""

    seed: int
    kit: Kit
    counts: Counter[str] = field(default_factory=Counter)
    history: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draw = random.Random(f"takedowns/{self.seed}")
        self.corpus = draw_corpus(self.seed, self.kit.tokenizer)
        self.folder = self.kit.folder / f"seed-{self.seed}"
        self.sources = self.folder / "sources"
        self.files = Files()

    def run(self, batches: int) -> Counter[str]:
        """All cases of the seed; a failure says how to see it again."""
        try:
            self.start()
            for number in range(1, batches + 1):
                self.carry_out(number, self._ask())
                if self.draw.random() < 0.5:
                    self.collect()
            self._never_in_the_sources()
        except Exception as error:
            error.add_note(self._story())
            raise
        shutil.rmtree(self.folder)
        return self.counts

    def start(self) -> None:
        """Write the sources and publish the first version of every recipe."""
        write_corpus(self.corpus, self.sources)
        self.home = new_home(self.folder / "home", self.kit.catalog)
        self.registry = Registry(self.home.catalog_url)
        self.lines = [
            self._first_version(f"v{number}", recipe)
            for number, recipe in enumerate(self.corpus.recipes)
        ]

    def _story(self) -> str:
        steps = "".join(f"\n  {line}" for line in self.history)
        return (
            f"{self.corpus.summary}{steps}\n"
            f"CORPUS_ERASURE_SEED={self.seed} runs this seed alone and keeps {self.folder}"
        )

    @property
    def state(self) -> State:
        """Of the first line; all lines read the same records."""
        return self.lines[0].state

    # Builds.

    def _first_version(self, name: str, recipe: Recipe) -> Line:
        session = first_session(recipe, self.sources, self.home, self.registry)
        built = build(session, name)
        publish_version(session.pipeline, self.registry, built.version)
        lock = self.folder / f"lock-{name}"  # outlives the collection of the version
        shutil.copytree(Path(self.home.store_url) / "versions" / name, lock)
        state = read_state(self.corpus, built, self.files)
        check_whole(built, state)
        return Line(name, recipe, lock / "lock.json", name, built, state)

    def carry_out(self, number: int, asked: list[Asked]) -> None:
        """Carry out what is pending for every live version, and compare each."""
        requests = self._pending()
        before = self.state
        for line in self.lines:
            self._case(line, f"{line.name}.td{number}", requests, asked, before)
        self.registry.claim_takedowns(requests, "test", 60)
        self.registry.finish_takedowns(requests, "test")

    def _case(
        self, line: Line, name: str, requests: list[int], asked: list[Asked], before: State
    ) -> None:
        with reopen_session(self.home, line.live, requests=requests) as session:
            fresh = self.draw.random() < 0.25
            built = build(session, name, with_report=fresh)
            scratch = self._from_scratch(line, name, fresh)
            assert not (found := difference(built, scratch)), f"incremental / from scratch: {found}"
            state = read_state(self.corpus, built, self.files)
            check_whole(built, state)
            self.counts["rearranged"] += check_spelled(built, state)
            check_gone(built, state, before, asked, self.files)
            check_shards(line.now, line.state, built, state)
            if built.lineage != line.now.lineage:
                replaced = [line.live]
                publish_version(session.pipeline, self.registry, built.version, replaced, requests)
                line.live = name
        self.counts += tally(self.corpus, line.state, state, asked)
        self.counts += Counter(cases=1, purged=built.engine.purged, reused=built.engine.reused)
        line.now, line.state = built, state

    def _from_scratch(self, line: Line, name: str, fresh: bool) -> Built:
        """A build that knew all orders before it read anything.

        Builds of one seed share a store for what follows reading, where results are found by
        the hash of their input; no part in it was ever filtered. A `fresh` one shares nothing.
        """
        orders = self.registry.suppressions()
        folder = self.folder / f"scratch-{name}"
        store = folder / "store" if fresh or not orders else self.folder / "scratch-store"
        shutil.rmtree(store / "parts", ignore_errors=True)
        home = new_home(folder, self.kit.catalog, store)
        registry = NoNotes(home.catalog_url)
        add_orders(registry, [SuppressionRow(order.kind, order.value) for order in orders])
        session = first_session(line.recipe, self.sources, home, registry, line.lock)
        built = build(session, name, with_report=fresh)
        assert (built.engine.purged, built.engine.reused) == (0, 0), "this was to read the sources"
        return built

    def _never_in_the_sources(self) -> None:
        """The records are gone from the source files; what is left comes out as it is."""
        pairs = zip(self.corpus.pages, self.state.records, strict=True)
        gone = {page for page, row in pairs if row["reason"] == SUPPRESSED}
        sources = self.folder / "without"
        write_corpus(self.corpus, sources, gone)
        lines_stay = all(kind == "jsonl" for kind in self.corpus.formats)
        unlike = (*LEDGERS, "counts", *(() if lines_stay else ("documents.parquet",)))
        for line in self.lines:
            home = new_home(self.folder / f"never-{line.name}", self.kit.catalog)
            registry = NoNotes(home.catalog_url)
            session = first_session(
                line.recipe, sources, home, registry, line.lock, same_inputs=False
            )
            built = build(session, line.name)
            same = [name for name in built.files if ":" in name and not name.endswith(unlike)]
            found = difference(line.now, built, same)
            assert not found, f"incremental / never in the sources: {found}"

    # Asking.

    def _ask(self) -> list[Asked]:
        """File a batch; sometimes a run dies on it, or somebody withdraws before it ends."""
        draw = self.draw
        batch = [self.drawn() for _ in range(draw.choice((1, 1, 2, 3, 5)))]
        cut = draw.randint(1, len(batch)) if draw.random() < 0.15 else 0
        for place, asked in enumerate(batch, 1):
            self.file(asked)
            if place == cut:
                self.die(draw.randint(1, 12))
        if draw.random() < 0.1:
            regretted = self.drawn()
            number = self.file(regretted)
            if draw.random() < 0.5:
                self.die(draw.randint(1, 12))
            if number is not None:
                self.registry.withdraw_takedown(number)
                self.history.append(f"withdrawn: {regretted!r}")
                self.counts["withdrawn"] += 1
        plain = not any(one.near or one.target.kind == "text_sha256" for one in batch)
        if plain and not cut and draw.random() < 0.5:  # a search takes long, and we know
            gone = {doc_id for one in batch for doc_id in descendants(one.named, self.state)}
            add_orders(self.registry, [SuppressionRow("doc_id", one) for one in hex_ids(gone)])
        else:
            self.match()
        return batch

    def drawn(self) -> Asked:
        return draw_request(self.draw, self.corpus, self.state)

    def file(self, asked: Asked) -> int | None:
        """File a request; gives its number where it is new."""
        live = self.lines[0].live
        self.history.append(f"{live}: {asked!r}, names {len(asked.named)} documents")
        target = asked.target
        if asked.near:
            store = CatalogStore(self.home.store_url)
            answer = takedown.request_takedown(
                self.registry, store, target, "asked", near_duplicates=True
            )
            return answer.request.id if answer.outcome == "filed" else None
        new = NewTakedown(
            target.kind,
            target.value,
            False,
            "asked",
            given=target.given,
            text_sha256=target.text_sha256,
            suppressions=target.orders,
        )
        ((row, outcome),) = self.registry.file_takedowns([new])
        return row.id if outcome == "filed" else None

    def die(self, tasks: int) -> None:
        """A run that is killed after some tasks: what it finished stays in the store."""
        self.match()
        line = self.draw.choice(self.lines)
        with reopen_session(self.home, line.live) as session:
            try:
                run_all(session, tasks)
            except Abandoned:
                self.counts["killed"] += 1
                self.history.append(f"a run died after {tasks} tasks")

    def match(self) -> None:
        """Look for copies and descendants, as a run does first."""
        takedown.look_again(self.registry, CatalogStore(self.home.store_url), self._pending())

    def _pending(self) -> list[int]:
        return [row.id for row in self.registry.takedowns("pending")]

    # Collecting.

    def collect(self) -> None:
        """Collect; live versions keep all their files, and nothing else names what is gone."""
        store = self.lines[0].now.pipeline.store
        collect_garbage(store, self.registry)
        self.counts["collected"] += 1
        self.history.append("collected")
        for line in self.lines:
            for row in self.registry.lineage_files(line.live):
                assert store.exists(row.path), f"{row.path} of a live version was collected"
        for path in store.list("artifacts"):
            if path.endswith(".parquet") and not path.endswith(LEDGERS):
                named = self.files.ids(store.local(path)) & self.state.gone
                assert not named, f"{path} still names {hex_ids(named)} after collection"
