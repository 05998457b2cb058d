"""Crawls of a few pages: short waits, and ranges so short that every file has several."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from corpus_assets.ingest.fetch import FetchSettings


@pytest.fixture(scope="package", autouse=True)
def quick_fetching() -> Iterator[None]:
    asked = FetchSettings.of_environment

    def quick() -> FetchSettings:
        return replace(asked(), first_wait_s=0.001, max_wait_s=0.002, range_bytes=4096)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FetchSettings, "of_environment", quick)
        yield
