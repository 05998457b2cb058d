"""Rules about a tier in a build: asked before copies are counted, told, and the same after it."""

import json
from pathlib import Path
from typing import Any

from corpus_assets.build import build
from corpus_assets.core.files import CUTOFFS, SELECTION, SIGNALS
from corpus_assets.core.home import Home
from corpus_assets.core.store import read_output
from corpus_assets.core.task import read_table
from corpus_assets.select.selection import parse_cutoffs
from corpus_assets.session import open_session
from corpus_assets_tests.shards.three_sources import TEXTS, write

LONG = 40  # words of the better tier
CHANGES: dict[str, Any] = {
    "sources.2.tier": "low",
    "selection.tiers": {
        "signal": "n_words", "names": ["high", "low"], "bounds": [LONG], "default": "low",
    },
    "selection.rules": [
        {"name": "low", "signal": "n_words", "max": 0, "where": {"tier": ["low"]}},
        {"name": "longest", "signal": "n_words", "cutoff": "longest"},
    ],
    "selection.cutoffs": {
        "longest": {"signal": "n_words", "drop": "highest", "drop_share": 0.5,
                    "among": "distinct_survivors", "min_documents": 1},
    },
}  # fmt: skip


def test_a_rule_about_a_tier_is_asked_before_copies_are_counted(tmp_path: Path) -> None:
    """Of those that it leaves, each once, the cutoff takes its half."""
    texts = {name: dict(entries) for name, entries in TEXTS.items()}
    longest = max(texts["news"].values(), key=lambda text: len(text.split()))
    texts["news"] |= {f"copy-{i}": longest for i in range(9)}
    recipe = write(tmp_path / "in", CHANGES, texts)
    with open_session(str(recipe), Home.resolve(str(tmp_path / "home")), workers=1) as session:
        made = build(session, "v")
        pipeline = session.pipeline
        cutoffs = parse_cutoffs(
            json.loads(read_output(pipeline.store, pipeline.calibration(CUTOFFS)))
        )
        reasons: dict[str, list[tuple[int, str | None]]] = {}
        for snapshot in pipeline.recipe.snapshots:
            words, chosen = (
                read_table(pipeline.store, pipeline.parts(file, snapshot)[0])[column].to_pylist()
                for file, column in ((SIGNALS, "n_words"), (SELECTION, "reason"))
            )
            reasons[snapshot] = list(zip(words, chosen, strict=True))
    assert {reason for _, reason in reasons["library-1"]} == {"low"}, "its source says so"
    others = [*reasons["forum-1"], *reasons["news-1"]]
    assert all((words < LONG) == (reason == "low") for words, reason in others)
    sizes = {text: len(text.split()) for name in ("forum", "news") for text in texts[name].values()}
    high = sorted(n for n in sizes.values() if n >= LONG)
    bound = cutoffs["max:longest"]["*"].value
    assert bound == high[len(high) - 1 - len(high) // 2], (high, bound)
    assert {reason for words, reason in others if words > bound} == {"longest"}
    assert all(group.tier == "high" for group in made.manifest.groups if group.documents)
