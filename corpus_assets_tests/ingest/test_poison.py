"""Records made to stop an ingest: each gets a reason or a document, and the part finishes.

The part runs in a process of its own, so that its memory can be measured.
"""

import gzip
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from corpus_assets_tests.ingest.warc_bytes import http, member, page, record, response

HTML = "Content-Type: text/html"
PROSE = "A sentence of plain words that could stand in any article of a newspaper. " * 20
MARKS = ("\u0315" * 200_000 + "\u0300" * 200_000).encode()
"""To be sorted: by swapping neighbours that takes minutes."""
REGEX_BAIT = (
    b"<!--" * 100_000,
    b"<title " * 100_000,
    b"<meta name=" * 80_000,
    b"<html lang=" + b" " * 800_000,
    b"&" * 800_000,
    b"<p>" + b"! " * 400_000,
    b"<p>" + b"!" * 800_000 + b"</p><p>More on this" + b"." * 300_000,
    b"<script type='application/ld+json'>" + b"[" * 400_000 + b"</script>",
    b"<p class='" + b"a-" * 400_000 + b"'>x",
    b'"datePublished"' * 60_000,
    b"<a href='" + b"(" * 800_000,
    b"<p>a" + MARKS,
)


def poison() -> dict[str, bytes]:
    """Members by URL; those without one by the word that `detail` or the reason must have."""
    links = "".join(f"<a href='/{n}'>link {n}</a> " for n in range(1_000_000)).encode()
    found = {
        "http://p.test/nested": b"<html><body>" + b"<div>" * 1_000_000,
        "http://p.test/nested-inline": b"<html><body>" + b"<b><i>" * 150_000,
        "http://p.test/attributes": b"<html><body "
        + b"".join(b"a%d=1 " % n for n in range(60_000)),
        "http://p.test/huge": b"<p>" + b"words and " * 20_000_000,
        "http://p.test/links": links,
        "http://p.test/links-that-pass": b"<html><body>" + links[:1_900_000],
        "http://p.test/tables": b"<table><tr><td>" * 400 + b"x" + b"</table>" * 400,
        "http://p.test/nul": page(PROSE).replace(b" ", b" \0"),
        "http://p.test/only-nul": b"\0" * 100_000,
        "http://p.test/controls": bytes(range(32)) * 1000,
    }
    found |= {f"http://p.test/bait-{n}": bait for n, bait in enumerate(REGEX_BAIT)}
    records = {url: response(url, body) for url, body in found.items()}
    bomb = gzip.compress(b"\0" * (1 << 27), 1)
    lies = {
        "sjis-as-utf8": ("utf-8", ("<html><p>" + "日本語の文章です。" * 200).encode("shift_jis")),
        "utf8-as-utf16": ("utf-16", ("<html><p>" + "Grüße aus Köln. " * 200).encode()),
        "utf16-as-ascii": ("us-ascii", ("<html><p>" + "Wide words. " * 200).encode("utf-16-le")),
        "no-such-charset": ("x-no-such", page(PROSE)),
    }
    for name, (charset, body) in lies.items():
        url = f"http://p.test/{name}"
        records[url] = record(http(body, f"{HTML}; charset={charset}"), url)
    for name, body, coding in (
        ("gzip-bomb", bomb, "gzip"),
        ("cut-gzip-body", gzip.compress(page(PROSE))[:-20], "gzip"),
        ("bomb-in-bomb", gzip.compress(bomb, 1), "gzip, gzip"),
        ("many-members", gzip.compress(b"") * 90_000, "gzip"),
    ):
        url = f"http://p.test/{name}"
        records[url] = record(http(body, f"{HTML}\r\nContent-Encoding: {coding}"), url)
    plain = http(b"a" + MARKS, "Content-Type: text/plain; charset=utf-8")
    records["http://p.test/marks"] = record(plain, "http://p.test/marks")
    records["http://p.test/too-long"] = response("http://p.test/too-long", length=10**6)
    records["http://p.test/too-short"] = response("http://p.test/too-short", length=300)
    records["http://p.test/no-number"] = response("http://p.test/no-number").replace(
        b"Content-Length: ", b"Content-Length: x", 1
    )
    records["http://p.test/revisit"] = record(http(b""), "http://p.test/revisit", kind="revisit")
    records["http://p.test/one-one"] = response("http://p.test/one-one").replace(
        b"WARC/1.0", b"WARC/1.1", 1
    )
    records["no url"] = record(http(page(PROSE)), None)
    return {url: gzip.compress(raw, 1) for url, raw in records.items()} | {
        "cut member": member(response("http://p.test/cut"))[:-40],
        "after all": member(response("http://p.test/after-all", page("after all " + PROSE))),
    }


SCRIPT = """
import json, sys
from pathlib import Path
from corpus_assets.ingest.records import SourceFile, file_sha256
from corpus_assets.ingest.source import SourceSpec
from corpus_assets.ingest.extract import extractor
from corpus_assets.ingest.gates import gates
from corpus_assets.ingest.suppressions import Suppressions
from corpus_assets.core.urls import Blocklist
from corpus_assets.ingest.extractors.page_child import peak_memory
from corpus_assets.ingest.documents import IngestSettings, ingest_part

settings = IngestSettings(
    gates=gates.GateSettings(**json.loads(sys.argv[2])),
    extraction=extractor.ExtractionSettings(**json.loads(sys.argv[3])),
)

def ingest(path):
    return ingest_part(
        SourceSpec(name="web", format="warc"), "2024-10", 0,
        SourceFile(Path(path).name, path, *file_sha256(path)), settings, Blocklist(()),
        Suppressions.from_rows([]),
    )

if "max_bytes" in sys.argv[2]:  # wide open
    gates.MAX_NESTING = gates.MAX_ATTRIBUTES = 10_000_000
extractor.MAX_MEMORY_MB = int(sys.argv[5])
ingest(sys.argv[4])  # an ordinary page, for all that is loaded once
before = peak_memory()
records, documents = ingest(sys.argv[1])
rows = {row["url"] or "": [row["reason"], row["detail"]] for row in records.to_pylist()}
print(json.dumps({"rows": rows, "n": records.num_rows, "documents": documents.num_rows,
                  "grown": peak_memory() - before}))
"""


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    members = poison()
    path = tmp_path_factory.mktemp("poison") / "poison.warc.gz"
    path.write_bytes(b"".join(members.values()))
    path.with_name("plain.warc.gz").write_bytes(member(response("http://p.test/plain")))
    return path, len(members)


def ingest(
    path: Path, gates: dict[str, Any], extraction: dict[str, Any], memory_mb: int = 1024
) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(path), json.dumps(gates),
         json.dumps(extraction), str(path.with_name("plain.warc.gz")), str(memory_mb)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def test_poison_behind_the_usual_gates_costs_records_and_nothing_else(
    poisoned: tuple[Path, int],
) -> None:
    path, n = poisoned
    found = ingest(path, {}, {"max_seconds": 5})
    rows = found["rows"]
    assert found["n"] == n
    assert found["documents"] == sum(reason is None for reason, _ in rows.values())
    expected = {
        "http://p.test/nested": "too_large",
        "http://p.test/attributes": "absurd_markup",
        "http://p.test/nested-inline": "absurd_markup",
        "http://p.test/huge": "too_large",
        "http://p.test/links": "too_large",
        "http://p.test/gzip-bomb": "too_large",
        "http://p.test/bomb-in-bomb": "too_large",
        "http://p.test/cut-gzip-body": "bad_http",
        "http://p.test/many-members": "bad_http",
        "http://p.test/marks": None,
        "http://p.test/too-long": "damaged_record",
        "http://p.test/too-short": "damaged_record",
        "http://p.test/no-number": "damaged_record",
        "http://p.test/revisit": "revisit_record",
        "http://p.test/only-nul": "no_text",
        "http://p.test/controls": "undecodable",
        "http://p.test/nul": None,
        "http://p.test/one-one": None,
        "http://p.test/after-all": None,
        "http://p.test/sjis-as-utf8": None,
        "http://p.test/utf8-as-utf16": None,
        "http://p.test/no-such-charset": None,
    }
    assert {url: rows[url][0] for url in expected} == expected
    assert found["grown"] < 100 << 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "memory_mb", "links"),
    [
        ({"max_seconds": 3}, 4096, ["extraction_timeout", "3 CPU s"]),
        ({"max_seconds": 60}, 256, ["extraction_memory", "256 MB"]),
    ],
)
def test_poison_with_the_gates_wide_open_stops_at_the_extractor_s_limits(
    poisoned: tuple[Path, int], limits: dict[str, int], memory_mb: int, links: list[str]
) -> None:
    path, n = poisoned
    wide = {"max_bytes": 60_000_000}
    found = ingest(path, wide, limits, memory_mb)
    assert found["n"] == n
    rows = found["rows"]
    assert rows["http://p.test/after-all"] == [None, None]
    assert rows["http://p.test/huge"][0] == "too_large"
    assert rows["http://p.test/links"] == links
    for name in ("nested", "nested-inline", "attributes", "tables", "links-that-pass"):
        assert rows[f"http://p.test/{name}"][0] in (None, "no_text", links[0])
    assert found["grown"] < 300 << 20
