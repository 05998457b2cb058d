"""A part that fails for good: the others go on, it is listed, and tried again when told to."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from corpus_assets.build import build, run_assets
from corpus_assets.cli.main import cli
from corpus_assets.core.errors import EngineError, SourceError
from corpus_assets.core.home import Home
from corpus_assets.core.store import artifact_folder
from corpus_assets.core.task import TaskContext
from corpus_assets.graph.engine.local import LocalEngine
from corpus_assets.graph.run import pin_snapshot
from corpus_assets.session import open_session, reopen_session
from corpus_assets.stages import function_of
from corpus_assets.versions.version import Version, make_version
from corpus_assets_tests.small_corpus import make_small_corpus


def faulty(stage: str) -> Callable[[TaskContext], None]:
    """Every stage as it is, but that one part of `signals` cannot be made, and no tokenizer."""

    def run(context: TaskContext) -> None:
        if stage == "signals" and context.task.label == "crawl-1 part 1":
            raise SourceError("the second part is beyond us")
        if stage == "tokenizer":
            raise SourceError("there is no tokenizer today")
        function_of(stage)(context)

    return run


def said(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["parts", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_failed_part_is_set_aside_listed_and_tried_again_when_told_to(tmp_path: Path) -> None:
    recipe, home = str(make_small_corpus(tmp_path)), Home.resolve(str(tmp_path / "home"))
    place = f"--home={home.root}"
    with open_session(recipe, home) as session:
        for name in session.pipeline.recipe.snapshots:
            pin_snapshot(session.pipeline, session.registry, name)
        broken = replace(session, engine=LocalEngine(home.store_url, faulty))
        with pytest.raises(EngineError) as caught:
            run_assets(broken)
        message = str(caught.value)
        assert message.startswith("signals of crawl-1: 1 of ")
        assert (
            "parts failed and was quarantined, the others are kept; crawl-1 part 1, 3 tries: "
            in message
        )
        assert "the second part is beyond us" in message
        assert "`corpus parts retry`" in message
        done = session.registry.artifacts("signals", "crawl-1")
        assert done
        assert 1 not in {row.part for row in done}

        with pytest.raises(EngineError, match="1 of .* quarantined"):  # though nothing is wrong now
            run_assets(session)
        listed = json.loads(said("failed", place, "--json"))
        assert [(row["stage"], row["snapshot"], row["part"]) for row in listed] == [
            ("signals", "crawl-1", 1)
        ]
        shown = said("failed", place)
        assert "signals  crawl-1 part 1      3  " in shown
        assert "  the second part is beyond us" in shown
        assert said("failed", place, "--snapshot=crawl-2") == "No part is quarantined.\n"

        assert said("retry", place, "--stage=documents") == "No part was quarantined.\n"
        assert said("retry", place) == "The next build retries 1 part.\n"
        run_assets(session)
        assert make_version(session.pipeline, "whole")
    assert said("failed", place) == "No part is quarantined.\n"


def test_a_stage_of_one_task_fails_with_its_own_error_and_sets_nothing_aside(
    tmp_path: Path,
) -> None:
    recipe, home = str(make_small_corpus(tmp_path)), Home.resolve(str(tmp_path / "home"))
    with open_session(recipe, home) as session:
        for name in session.pipeline.recipe.snapshots:
            pin_snapshot(session.pipeline, session.registry, name)
        run_assets(session)
        [tokenizer] = session.pipeline.results("tokenizer")
        shutil.rmtree(Path(home.store_url, artifact_folder("tokenizer", tokenizer.fingerprint)))
        broken = replace(session, engine=LocalEngine(home.store_url, faulty))
        with pytest.raises(SourceError, match="^there is no tokenizer today$"):
            run_assets(broken)
    assert said("failed", f"--home={home.root}") == "No part is quarantined.\n"


@pytest.fixture
def set_aside(tmp_path: Path) -> tuple[str, Home]:
    """A home in which the second file of a crawl could not be read."""
    recipe, home = str(make_small_corpus(tmp_path)), Home.resolve(str(tmp_path / "home"))
    with open_session(recipe, home) as session:
        for name in session.pipeline.recipe.snapshots:
            pin_snapshot(session.pipeline, session.registry, name)
        with pytest.raises(EngineError, match="quarantined"):
            run_assets(replace(session, engine=LocalEngine(home.store_url, faulty)))
    return recipe, home


def built(recipe: str, home: Home, **changes: object) -> Version:
    overrides = {key.replace("__", "."): value for key, value in changes.items()}
    with open_session(recipe, home, overrides=overrides) as session:
        return build(session, "mine")


def test_a_file_that_is_skipped_is_as_one_that_holds_nothing_and_the_version_says_so(
    set_aside: tuple[str, Home], tmp_path: Path
) -> None:
    recipe, home = set_aside
    place = f"--home={home.root}"
    assert said("skip", recipe, place) == "skipped: crawl-1 part-00001.warc.gz\n"
    assert said("failed", place) == "No part is quarantined.\n"
    made = built(recipe, home)
    page = Path(home.store_url, "versions", "mine", "report.html").read_text(encoding="utf-8")
    assert "skipped: 1 source file (crawl-1 part-00001.warc.gz)" in page

    with open_session(recipe, home, overrides={}) as session:
        counts = [r.counts for r in session.pipeline.results("documents", "crawl-1")]
        assert counts[1] == {"documents_in": 0, "documents_out": 0}
        assert all(each["documents_in"] for i, each in enumerate(counts) if i != 1)

    with reopen_session(home, "mine") as session:  # as a takedown does
        run_assets(session)
        assert make_version(session.pipeline, "mine").manifest_bytes == made.manifest_bytes

    elsewhere = Home.resolve(str(tmp_path / "elsewhere"))
    by_hand = built(
        recipe,
        elsewhere,
        sources__web__skip_files={"crawl-1": ["part-00001.warc.gz"]},
    )
    assert by_hand.manifest_bytes == made.manifest_bytes
    assert by_hand.lock.to_bytes() == made.lock.to_bytes()

    assert said("unskip", recipe, place) == "The next build reads 1 file again.\n"
    assert said("unskip", recipe, place) == "No file was skipped.\n"
    with open_session(recipe, home) as session:
        whole = build(session, "whole")
    assert whole.manifest.recipe.digest != made.manifest.recipe.digest
    assert sum(g.documents for g in whole.manifest.groups) > sum(
        g.documents for g in made.manifest.groups
    )
