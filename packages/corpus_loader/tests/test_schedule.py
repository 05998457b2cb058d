"""Learning rates of phases, as a manifest hands them over."""

import dataclasses
import json
from pathlib import Path

import pytest
from by_hand import make_documents, make_store

from corpus_loader import LoaderError, Manifest
from corpus_loader.schedule import RatePiece, rate_at

WARM = (
    RatePiece(share=0.25, start=0.0, end=1.0),
    RatePiece(share=0.75, start=1.0, end=0.2, shape="cosine"),
)
COOL = (RatePiece(share=1.0, start=0.2, end=0.0, shape="sqrt"),)


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    counts = {"S1/web/high": 4}
    groups = {"S1/web/high": make_documents(1, 40, 100)}
    made = make_store(tmp_path, groups, [(2, counts), (4, counts)])
    rates = zip(made.phases, (WARM, COOL), strict=True)
    phases = tuple(dataclasses.replace(phase, learning_rate=rate) for phase, rate in rates)
    return dataclasses.replace(made, phases=phases)


def test_rates_follow_their_shapes_from_part_to_part() -> None:
    assert [rate_at(WARM, place) for place in (0, 0.125, 0.25, 0.625)] == pytest.approx(
        [0, 0.5, 1.0, 0.6]
    )
    assert rate_at(WARM, 1.0) == pytest.approx(0.2)
    assert [rate_at(COOL, place) for place in (0, 0.25, 1)] == pytest.approx([0.2, 0.1, 0.0])
    assert rate_at((), 0.5) is None


def test_a_manifest_gives_the_rate_of_every_position_and_survives_its_bytes(
    manifest: Manifest,
) -> None:
    assert json.loads(manifest.dump())["format"] == manifest.format == "corpus-assets/manifest/3"
    read = Manifest.parse(manifest.dump())
    assert read == manifest
    assert [read.learning_rate(place) for place in (0, 1, 2, 8, 12)] == pytest.approx(
        [0.0, 0.5, 1.0, 0.2, 0.1]
    )
    for outside in (-1, 24):
        with pytest.raises(LoaderError, match="positions 0..23"):
            read.learning_rate(outside)


def test_a_manifest_without_rates_is_of_the_format_that_it_was(manifest: Manifest) -> None:
    phases = tuple(dataclasses.replace(phase, learning_rate=()) for phase in manifest.phases)
    plain = dataclasses.replace(manifest, phases=phases)
    assert plain.format == "corpus-assets/manifest/1"
    assert b"learning_rate" not in plain.dump()
    assert plain.learning_rate(5) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"share": 0.5}, "do not add up to 1"),
        ({"share": 2}, "is not a share"),
        ({"start": -1}, "is not a learning rate"),
        ({"end": "high"}, "is not a number"),
        ({"end": True}, "is not a number"),
        ({"shape": "step"}, "is none of linear, cosine, sqrt"),
        ({"surplus": 1}, "no such field"),
    ],
)
def test_rates_that_make_no_sense_are_refused(
    manifest: Manifest, change: dict[str, object], said: str
) -> None:
    plain = json.loads(manifest.dump())
    plain["phases"][1]["learning_rate"][0] |= change
    with pytest.raises(LoaderError, match=said):
        Manifest.parse(json.dumps(plain).encode())
