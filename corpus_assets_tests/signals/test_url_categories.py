"""Categories of addresses as a signal: the same pages as the gate that drops them."""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.core.urls import address_of
from corpus_assets.ingest.gates import CategoryIndex, build_category_index
from corpus_assets.signals.base import FILE
from corpus_assets.signals.url_categories import UrlCategories
from corpus_assets_tests.signals.test_statistics import batch_of

FAMILY = UrlCategories(lists={"adult": ("adult/domains", "adult/urls"), "chat": ("chat/domains",)})


def _rows(urls: list[str | None], models: dict[str, Path]) -> list[dict[str, object]]:
    batch = batch_of(["text"] * len(urls))
    batch.columns["url"] = pa.array(urls, pa.string())
    found: list[dict[str, object]] = FAMILY.compute(batch, models).to_pylist()
    return found


@pytest.fixture
def models(tmp_path: Path) -> dict[str, Path]:
    found = {}
    for name, data in {
        "adult/domains": b"bad.test\nBoth.test\n\xff\xfe.test\n# a.test\n",
        "adult/urls": b"mixed.test/adult/\nq.test/p?x=1\n",
        "chat/domains": b"both.test\r\nchat.test",
    }.items():
        path = tmp_path / name.replace("/", "-")
        path.write_bytes(data)
        found[FILE + name] = path
    return found


def test_a_page_is_in_the_lists_that_have_its_host_or_the_begin_of_its_path(
    models: dict[str, Path],
) -> None:
    urls = {
        "https://bad.test/": "adult",
        "https://www.deep.bad.test/x": "adult",
        "https://notbad.test/": None,
        "http://both.test": "adult,chat",
        "http://chat.test:8080/a": "chat",
        "http://mixed.test/adult/x": "adult",
        "http://mixed.test/adults": None,
        "http://q.test/p?x=1": "adult",
        "http://q.test/p?x=2": None,
    }
    found = _rows([*urls, None, "urn:x"], models)
    named = [row["url_category"] for row in found]
    assert named == [*urls.values(), None, None]
    counts = [row["url_categories"] for row in found]
    assert counts == [name.count(",") + 1 if name else 0 for name in urls.values()] + [None, None]


def test_the_gate_of_the_same_lists_finds_the_same_pages(
    models: dict[str, Path], tmp_path: Path
) -> None:
    lists = [("adult", models[FILE + f"adult/{name}"]) for name in ("domains", "urls")]
    data, _ = build_category_index(lists)
    (tmp_path / "index").write_bytes(data)
    index = CategoryIndex(tmp_path / "index")
    draw = random.Random(6)
    hosts = ("bad.test", "a.bad.test", "mixed.test", "q.test", "other.test", "xbad.test")
    paths = ("", "/", "/adult", "/adult/x", "/p?x=1", "/p?x=1&y=2", "/adult/?x=1")
    urls: list[str | None] = [
        f"https://{draw.choice(hosts)}{draw.choice(paths)}" for _ in range(200)
    ]
    for url, row in zip(urls, _rows(urls, models), strict=True):
        address = address_of(str(url))
        assert address is not None
        assert ("adult" in str(row["url_category"])) == (index.match(address) == "adult"), url


def test_an_empty_list_finds_nothing_and_one_that_is_gone_is_named(
    models: dict[str, Path], tmp_path: Path
) -> None:
    models[FILE + "chat/domains"].write_bytes(b"")
    assert _rows(["http://chat.test/"], models)[0]["url_category"] is None
    models[FILE + "chat/domains"].unlink()
    with pytest.raises(ModelError, match="not a readable list of hosts"):
        _rows(["http://chat.test/"], models)
