"""Files of takedown requests: every good line is taken, every bad one is named."""

import json
import tracemalloc
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from catalog.db.registry import Registry
from catalog.errors import CatalogError
from catalog.formats.store import FileStore
from catalog.takedown import import_file as takedown_import
from catalog.takedown.import_file import ImportedRequests, import_takedowns
from catalog.takedown.requests import request_takedown
from catalog.takedown.target import domain_target, url_target
from corpus_assets_tests.catalog.corpus import Corpus

Bad = list[tuple[int, str]]


def take(
    registry: Registry, store: FileStore, path: Path, **options: Any
) -> tuple[ImportedRequests, Bad]:
    answer = import_takedowns(registry, store, path, **options)
    return answer, [(one.line, one.reason) for one in answer.bad_lines]


def write(path: Path, *lines: str | bytes) -> Path:
    path.write_bytes(b"\n".join(x if isinstance(x, bytes) else x.encode() for x in lines))
    return path


def test_good_lines_are_filed_and_bad_ones_named_by_number(
    registry: Registry, tmp_path: Path
) -> None:
    path = write(
        tmp_path / "requests.csv",
        "\ufeffurl,domain,doc_id,text_sha256,reason,requester,reference,near_duplicates",
        "http://a.example/,,,,why,me,7,",
        ",b.example,,,why,,,true",
        ",,," + "ab" * 32 + ",why,,,no",
        ",,,,why,,,",
        "http://a.example/,b.example,,,why,,,",
        "http://a.example/,,,,,,,",
        "http://c.example/,,,,why,,,perhaps",
        "",
        b"http://\xff.example/,,,,why,,,",
        "a,b",
        '"http://d.example/,,,,why,,,',
        "http://e.example/,,,,why,,,",
        ",,zz,,why,,,",
        "not a page,,,,why,,,",
    )
    answer, bad = take(registry, FileStore(tmp_path), path)
    assert [number for number, _ in bad] == [5, 6, 7, 8, 10, 11, 12, 14, 15]
    for (_, why), said in zip(
        bad,
        ["names 0 things", "names 2 things", "needs a reason", "not true or false", "not UTF-8",
         "2 columns, the header 8", "not CSV", "32 hex digits", "not a web address"],
        strict=True,
    ):  # fmt: skip
        assert said in why
    assert (answer.lines, answer.bad, answer.filed, answer.standing) == (13, 9, 4, 4)
    rows = registry.takedowns()
    assert [(row.kind, row.value, row.near_duplicates) for row in rows] == [
        ("url", "example,a)/", False),
        ("domain", "b.example", True),
        ("text_sha256", "ab" * 32, False),
        ("url", "example,e)/", False),
    ]
    assert (rows[0].requester, rows[0].reference) == ("me", "7")


def test_kind_and_value_work_in_both_formats(registry: Registry, tmp_path: Path) -> None:
    csv = write(
        tmp_path / "a.csv",
        "kind,value,reason",
        "url_prefix,http://a.example/x,why",
        "colour,red,why",
        "domain,,why",
    )
    answer, bad = take(registry, FileStore(tmp_path), csv)
    assert (answer.filed, [number for number, _ in bad]) == (1, [3, 4])
    lines = [
        {"kind": "url_prefix", "value": "a.example/x", "reason": "other"},
        {"kind": "text_id", "value": "cd" * 16, "reason": "why", "near_duplicates": True},
        {"doc_id": "AB" * 16, "reason": "why", "requester": None},
        {"doc_id": 7, "reason": "why"},
        {"doc_id": "ab" * 16, "reason": "why", "colour": "red"},
        {"url": "http://a.example/\0", "reason": "why"},
    ]
    text = [json.dumps(line) for line in lines]
    broken = ["[1]", "{", '{"url": "http://\\ud800.example/", "reason": "why"}', "[" * 100_000]
    answer, bad = take(
        registry, FileStore(tmp_path), write(tmp_path / "b.jsonl", *text, "", *broken)
    )
    assert [number for number, _ in bad] == [4, 5, 6, 8, 9, 10, 11]
    assert (answer.filed, answer.already_there) == (2, 1)
    assert registry.takedowns()[1].near_duplicates


def test_a_file_taken_twice_is_taken_once(registry: Registry, tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.csv", "domain", *(f"d{number % 250}.example" for number in range(1000))
    )
    answer, _ = take(registry, FileStore(tmp_path), path, reason="a list", batch_lines=100)
    assert (answer.filed, answer.already_there, answer.bad) == (250, 750, 0)
    answer, _ = take(registry, FileStore(tmp_path), path, reason="a list")
    assert (answer.filed, answer.already_there) == (0, 1000)
    assert len(registry.takedowns()) == len(registry.suppressions()) == 250


def test_lines_find_the_same_documents_as_single_requests(
    own_corpus: Corpus, tmp_path: Path
) -> None:
    urls = [doc.url for doc in own_corpus.docs]
    lines = [json.dumps({"url": url, "reason": "x", "near_duplicates": n % 2 == 1})
             for n, url in enumerate(urls)]  # fmt: skip
    lines.append(json.dumps({"domain": "site1.example", "reason": "x"}))
    lines.append(json.dumps({"domain": "nowhere.example", "reason": "x"}))
    path = write(tmp_path / "a.jsonl", *lines)
    told, bad = take(own_corpus.registry, own_corpus.store, path, batch_lines=7, dry_run=True)
    assert own_corpus.registry.takedowns() == []
    answer, bad = take(own_corpus.registry, own_corpus.store, path, batch_lines=7)
    assert bad == []
    assert told == replace(answer, dry_run=True)
    rows = {
        (row.kind, row.value, row.near_duplicates): row for row in own_corpus.registry.takedowns()
    }
    assert answer.filed == len(rows) < len(lines)
    for row in rows.values():
        target = (url_target if row.kind == "url" else domain_target)(row.given)
        single = request_takedown(
            own_corpus.registry, own_corpus.store, target, "x",
            near_duplicates=row.near_duplicates, dry_run=True,
        )  # fmt: skip
        assert row.documents == single.documents
        assert row.found["listed"] == [asdict(one) for one in single.documents_listed]
        assert row.standing == single.standing
        held = own_corpus.registry.takedown_suppressions(row.id)
        assert {(s.kind, s.value) for s in held} == {tuple(o) for o in single.suppressions}
    everything = request_takedown(
        own_corpus.registry, own_corpus.store, domain_target("example"), "x", dry_run=True
    )
    for count in ("documents", "shards", "samples", "tokens", "clusters"):
        assert getattr(answer, count) == getattr(everything, count)


def test_a_line_that_takes_very_much_is_left_for_a_request_of_its_own(
    own_corpus: Corpus, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.csv", "domain", "example", "www.site1.example")
    for dry_run in (True, False):
        answer, bad = take(own_corpus.registry, own_corpus.store, path, reason="x", dry_run=dry_run)
        ((number, why),) = bad
        assert number == 2
        assert "file it by itself, with `catalog takedown request --yes`" in why
        assert (answer.filed, answer.bad) == (1, 1)
    (row,) = own_corpus.registry.takedowns()
    assert row.value == "www.site1.example"
    assert answer.documents == row.documents > 0


def test_batches_that_were_filed_stay_when_a_later_one_fails(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.csv", "url", *(f"http://{n}.example/" for n in range(50)))
    whole = registry.file_takedowns
    calls: list[int] = []

    def fail_later(requests: Any) -> Any:
        calls.append(len(requests))
        if len(calls) == 3:
            raise CatalogError("pulled the plug")
        return whole(requests)

    monkeypatch.setattr(registry, "file_takedowns", fail_later)
    with pytest.raises(CatalogError, match="plug"):
        take(registry, FileStore(tmp_path), path, reason="x", batch_lines=10)
    assert len(registry.takedowns()) == 20
    monkeypatch.undo()
    answer, _ = take(registry, FileStore(tmp_path), path, reason="x", batch_lines=10)
    assert (answer.filed, answer.already_there) == (30, 20)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    registry = Registry(f"sqlite:///{tmp_path / 'catalog.db'}")
    registry.upgrade()

    def peak(lines: int) -> int:
        path = tmp_path / f"{lines}.csv"
        with path.open("w") as file:
            file.write("url,reason\n")
            file.writelines(f"http://x{lines}.example/{n},why\n" for n in range(lines))
        tracemalloc.start()
        answer, _ = take(registry, FileStore(tmp_path), path, batch_lines=500)
        assert answer.filed == lines
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(500)  # what is loaded once
    assert peak(5000) < 1.5 * peak(1000)


def test_an_endless_line_is_one_bad_line(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takedown_import, "MAX_LINE_BYTES", 100)
    path = write(
        tmp_path / "a.csv", "url,reason", "http://a.example/" + "a" * 1000 + ",x",
        "http://b.example/,x",
    )  # fmt: skip
    answer, bad = take(registry, FileStore(tmp_path), path)
    assert (answer.filed, bad) == (1, [(2, "the line is longer than 100 bytes")])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", "url\n", "neither .csv nor .jsonl"),
        ("a.csv", "address,reason\n", "header is 'address,reason'"),
        ("a.csv", "url,url\n", "each column once"),
        ("a.csv", "reason\n", "at least one kind"),
        ("a.csv", "", "header is ''"),
    ],
)
def test_a_file_of_another_form_is_refused(
    registry: Registry, tmp_path: Path, name: str, content: str, said: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(CatalogError, match=said):
        take(registry, FileStore(tmp_path), tmp_path / name)
