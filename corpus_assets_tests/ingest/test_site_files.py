import gzip
import itertools
import json
import random
import zlib
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

import pyarrow as pa
import pytest

from corpus_assets.core.errors import CorruptArtifact
from corpus_assets.ingest.gates.path_rules import path_of
from corpus_assets.ingest.gates.site_index import SiteIndex, site_of
from corpus_assets.ingest.gates.site_rules import SiteRules
from corpus_assets.ingest.listing import list_files
from corpus_assets.ingest.records import SourceFile, file_sha256
from corpus_assets.ingest.site_files import SiteFileSettings, build_index, read_site_files
from corpus_assets.ingest.source import SourceSpec
from corpus_assets_tests.ingest.gates.robots_reference import may_fetch
from corpus_assets_tests.ingest.warc_bytes import members, record, response
from corpus_assets_tests.shared_data import shared_data

AGENTS = SiteFileSettings(agents=("GPTBot", "CCBot"))
ROBOTS = b"User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nDisallow: /private\n"
FOLDER = SourceSpec(name="sites", format="code")


def robots(url: str, body: bytes = ROBOTS, status: int = 200, **more: Any) -> bytes:
    headers = str(more.pop("headers", "Content-Type: text/plain"))
    return response(url, body, status=status, headers=headers, **more)


def archive(path: Path, *records: bytes) -> SourceFile:
    path.write_bytes(members(*records))
    return SourceFile(path.name, str(path), *file_sha256(str(path)))


def index_of(tmp_path: Path, *tables: pa.Table) -> SiteIndex:
    sites, rules = build_index(tables, AGENTS.agents)
    (tmp_path / "sites.arrow").write_bytes(sites)
    (tmp_path / "rules.arrow").write_bytes(rules)
    return SiteIndex(tmp_path / "sites.arrow", tmp_path / "rules.arrow")


def indexed(tmp_path: Path, *records: bytes) -> SiteIndex:
    file = archive(tmp_path / "robots.warc.gz", *records)
    return index_of(tmp_path, read_site_files([file], AGENTS))


def closed(index: SiteIndex, url: str, fetched_at: str = "") -> list[str] | None:
    rules = index.find(str(site_of(url)), fetched_at)
    return None if rules is None or rules.agents is None else rules.disallowed(path_of(url))


def test_each_host_has_the_rules_of_its_own_file(tmp_path: Path) -> None:
    index = indexed(
        tmp_path,
        robots("https://a.test/robots.txt"),
        robots("http://b.test:8080/robots.txt", b"User-agent: *\nDisallow: /x"),
        robots("https://a.test/page", b"User-agent: *\nDisallow: /"),  # no robots.txt
    )
    assert len(index) == 2
    assert closed(index, "http://a.test/page") == ["GPTBot"]
    assert closed(index, "https://a.test/private") == ["GPTBot", "CCBot"]
    assert closed(index, "http://b.test:8080/x") == ["GPTBot", "CCBot"]
    assert closed(index, "http://b.test/x") is None
    assert closed(index, "http://sub.a.test/") is None


def test_www_is_another_host_but_stands_in_where_one_of_both_is_missing(tmp_path: Path) -> None:
    index = indexed(
        tmp_path,
        robots("https://www.a.test/robots.txt", b"User-agent: *\nDisallow: /www"),
        robots("https://a.test/robots.txt", b"User-agent: *\nDisallow: /bare"),
        robots("https://www.b.test/robots.txt", b"User-agent: *\nDisallow: /b"),
    )
    assert closed(index, "http://www.a.test/www")
    assert not closed(index, "http://www.a.test/bare")
    assert closed(index, "http://a.test/bare")
    assert closed(index, "http://b.test/b")


def test_one_file_of_a_host_hides_no_other_file_of_its_twin(tmp_path: Path) -> None:
    index = indexed(
        tmp_path,
        robots("https://a.test/ai.txt", b"User-agent: *\nDisallow: /art"),
        robots("https://www.a.test/robots.txt", b"User-agent: *\nDisallow: /www"),
        robots("https://www.a.test/.well-known/tdmrep.json",
               b'[{"location": "/paid", "tdm-reservation": 1}]'),
    )  # fmt: skip
    for host in ("a.test", "www.a.test"):
        assert closed(index, f"https://{host}/www") == ["GPTBot", "CCBot"]
        rules = index.find(host)
        assert rules is not None
        assert rules.refused_by_ai_txt(b"/art/1", "text/html")
        assert rules.reserved_by_tdmrep(b"/paid/1")


def test_a_client_error_allows_and_a_server_error_forbids_everything(tmp_path: Path) -> None:
    index = indexed(
        tmp_path,
        robots("https://gone.test/robots.txt", ROBOTS, 404),
        robots("https://busy.test/robots.txt", ROBOTS, 429),
        robots("https://down.test/robots.txt", b"", 503),
    )
    assert closed(index, "https://gone.test/private") == []
    assert closed(index, "https://busy.test/private") == []
    assert closed(index, "https://down.test/") == ["GPTBot", "CCBot"]
    assert closed(index, "https://down.test/robots.txt") == []


def day(number: int, time: str = "12:00:00") -> str:
    return f"2024-03-{number:02d}T{time}Z"


def closes(path: str) -> bytes:
    return f"User-agent: *\nDisallow: {path}\n".encode()


def in_any_order(tmp_path: Path, *records: bytes) -> SiteIndex:
    """The index of records, which is the same in whatever order they lie in one file or two."""
    built = set()
    for number, order in enumerate(itertools.permutations(records)):
        for cut in {0, len(order) // 2}:
            folder = tmp_path / f"{number}-{cut}"
            folder.mkdir()
            files = [
                archive(folder / f"{place}.warc.gz", *part)
                for place, part in enumerate((order[:cut], order[cut:]))
            ]
            tables = [read_site_files([file], AGENTS) for file in files]
            built.add(build_index(tables, AGENTS.agents))
            built.add(build_index([read_site_files(files, AGENTS)], AGENTS.agents))
    assert len(built) == 1
    return index_of(tmp_path, *tables)


def test_a_page_is_judged_by_the_copy_in_force_when_it_was_fetched(tmp_path: Path) -> None:
    index = in_any_order(
        tmp_path,
        robots("https://a.test/robots.txt", closes("/x"), date=day(4)),
        robots("http://a.test/robots.txt", closes("/y"), date=day(6)),
        robots("http://a.test/robots.txt", closes("/y"), date=day(7)),
        robots("https://a.test/robots.txt", closes("/x"), date=day(8)),
    )
    assert len(index) == 3  # what repeats the answer before is not kept
    for fetched_at, path in {
        day(1): "/x",  # none before: the first after
        day(4): "/x",
        day(6, "11:59:59"): "/x",
        day(6): "/y",
        day(7, "23:00:00"): "/y",
        day(8): "/x",
        day(9): "/x",
    }.items():
        assert closed(index, f"http://a.test{path}", fetched_at), fetched_at
        other = {"/x": "/y", "/y": "/x"}[path]
        assert not closed(index, f"http://a.test{other}", fetched_at), fetched_at


def test_parts_of_a_second_count(tmp_path: Path) -> None:
    index = in_any_order(
        tmp_path,
        robots("http://a.test/robots.txt", closes("/x"), date=day(4, "12:00:00.200")),
        robots("http://a.test/robots.txt", closes("/y"), date=day(4, "12:00:00.700123")),
    )
    assert closed(index, "http://a.test/x", day(4, "12:00:00.5"))
    assert closed(index, "http://a.test/y", day(4, "12:00:00.701"))


def test_a_page_without_a_time_has_the_last_copy_and_a_copy_without_one_is_the_first(
    tmp_path: Path,
) -> None:
    index = in_any_order(
        tmp_path,
        robots("http://a.test/robots.txt", closes("/x"), date="once"),
        robots("http://a.test/robots.txt", closes("/y"), date=day(4)),
    )
    assert closed(index, "http://a.test/y")
    assert closed(index, "http://a.test/x", day(3))
    assert not closed(index, "http://a.test/y", day(3))


def test_an_error_counts_until_the_first_success(tmp_path: Path) -> None:
    index = in_any_order(
        tmp_path,
        robots("http://a.test/robots.txt", b"", 503, date=day(2)),
        robots("https://a.test/robots.txt", closes("/x"), date=day(4)),
        robots("http://a.test/robots.txt", b"", 404, date=day(4)),  # of the same time
        robots("http://a.test/robots.txt", b"", 503, date=day(6)),
    )
    both = ["GPTBot", "CCBot"]
    for fetched_at in (day(1), day(3)):
        assert closed(index, "http://a.test/", fetched_at) == both
    for fetched_at in (day(4), day(5), day(9), ""):
        assert closed(index, "http://a.test/x", fetched_at) == both
        assert closed(index, "http://a.test/", fetched_at) == []


def test_each_file_of_a_host_has_its_own_times(tmp_path: Path) -> None:
    index = in_any_order(
        tmp_path,
        robots("http://a.test/robots.txt", closes("/x"), date=day(2)),
        robots("http://a.test/ai.txt", closes("/art"), date=day(4)),
        robots("http://a.test/ai.txt", b"", date=day(6)),
        robots("http://a.test/robots.txt", b"", date=day(8)),
    )
    expected = {1: (True, True), 5: (True, True), 7: (True, False), 9: (False, False)}
    for number, said in expected.items():
        rules = index.find("a.test", day(number))
        assert rules is not None
        found = (rules.disallowed(b"/x"), rules.refused_by_ai_txt(b"/art", "text/html"))
        assert tuple(map(bool, found)) == said, number


def moved(from_url: str, to: str, **more: Any) -> bytes:
    return robots(from_url, b"", 301, headers=f"Location: {to}", **more)


def test_a_redirect_stands_for_what_its_target_answers_at_the_time(tmp_path: Path) -> None:
    index = in_any_order(
        tmp_path,
        robots("http://a.test/robots.txt", closes("/own"), date=day(1)),
        moved("http://a.test/robots.txt", "http://b.test/robots.txt", date=day(3)),
        robots("http://b.test/robots.txt", closes("/old"), date=day(2)),
        robots("http://b.test/robots.txt", closes("/new"), date=day(5)),
    )
    for number, path in {1: "/own", 2: "/own", 4: "/old", 6: "/new"}.items():
        assert closed(index, f"http://a.test{path}", day(number)), number


def test_a_redirect_that_tells_nothing_hides_no_copy(tmp_path: Path) -> None:
    index = in_any_order(
        tmp_path,
        moved("http://a.test/robots.txt", "https://a.test/robots.txt", date=day(2)),
        robots("https://a.test/robots.txt", closes("/x"), date=day(3)),
        moved("http://a.test/robots.txt", "http://gone.test/", date=day(5)),
    )
    for fetched_at in (day(1), day(2), day(4), day(6), ""):
        assert closed(index, "http://a.test/x", fetched_at), fetched_at


class Answer(NamedTuple):
    """One answer for the plain account below; `to` is the host that a redirect names."""

    at: int
    rules: str | None
    to: str | None = None


def leads(answers: dict[str, list[Answer]], host: str, steps: int) -> bool:
    return any(
        each.to is None or (each.to != host and steps > 0 and leads(answers, each.to, steps - 1))
        for each in answers[host]
    )


def in_force(answers: dict[str, list[Answer]], host: str, at: int, steps: int = 5) -> str | None:
    """The path that is closed at a time, `/` for an error, None for an unknown host."""
    known = [x for x in answers[host] if x.to is None or (x.to != host and leads(answers, x.to, 4))]
    before = [each for each in known if each.at <= at] or known[:1]
    told = [each for each in before if each.to or each.rules != "/"] or before
    if not told:
        return None
    last = told[-1]
    if last.to is None:
        return last.rules
    return in_force(answers, last.to, at, steps - 1) if steps else None


def test_the_index_finds_what_a_plain_account_of_the_answers_says(tmp_path: Path) -> None:
    rng = random.Random(5)
    hosts = [f"{letter}.test" for letter in "abcdefgh"]
    n_known = 0
    for _ in range(60):
        answers: dict[str, list[Answer]] = {}
        records = []
        for host in hosts:
            kinds = rng.choices(("/x", "/y", "/", None), k=rng.randrange(5))
            times = sorted(rng.sample(range(1, 20), len(kinds)))
            answers[host] = [
                Answer(at, rules, None if rules else rng.choice(hosts))
                for at, rules in zip(times, kinds, strict=True)
            ]
            for at, rules, to in answers[host]:
                url, date = f"http://{host}/robots.txt", day(at)
                if to is not None:
                    records.append(moved(url, f"http://{to}/robots.txt", date=date))
                elif rules == "/":
                    records.append(robots(url, b"", 503, date=date))
                else:
                    records.append(robots(url, closes(str(rules)), date=date))
        rng.shuffle(records)
        index = indexed(tmp_path, *records)
        for host, at in itertools.product(hosts, range(21)):
            path = in_force(answers, host, at)
            found = [closed(index, f"http://{host}{each}", day(at)) for each in ("/x", "/y", "/")]
            expected = [path in (each, "/") for each in ("/x", "/y", "/")]
            assert [bool(each) for each in found] == expected, (answers, host, at)
            assert (found[0] is None) == (path is None), (answers, host, at)
            n_known += path is not None
    assert n_known > 1000


def test_redirects_are_followed_five_times_and_else_the_host_is_not_known(tmp_path: Path) -> None:
    index = indexed(
        tmp_path,
        robots("https://www.home.test/robots.txt", b"User-agent: *\nDisallow: /"),
        moved("http://away.test/robots.txt", "https://home.test/robots.txt"),  # by the twin
        moved("http://lost.test/robots.txt", "https://nowhere.test/robots.txt"),
        moved("http://front.test/robots.txt", "https://www.home.test/"),
        moved("http://a.test/robots.txt", "//b.test/robots.txt"),
        moved("http://b.test/robots.txt", "http://a.test/robots.txt"),
        moved("http://same.test/robots.txt", "/robots.txt"),
        *(
            moved(f"http://hop{n}.test/robots.txt", f"http://hop{n + 1}.test/robots.txt")
            for n in range(1, 7)
        ),
        robots("http://hop7.test/robots.txt", b"User-agent: *\nDisallow: /"),
    )
    assert closed(index, "http://away.test/x")
    for host in ("lost", "front", "a", "b", "same", "hop1"):
        assert closed(index, f"http://{host}.test/x") is None
    assert closed(index, "http://hop2.test/x") == ["GPTBot", "CCBot"]


CLOSED = b"User-agent: *\nDisallow: /\n"


@pytest.mark.parametrize(
    "target",
    [
        "/en/robots.txt",
        "/robots.txt?lang=en",
        "https://cdn.test/rules/a%2etxt",
        "/r\u00fcles.txt#x",
    ],
)
def test_a_redirect_is_followed_to_whatever_path_it_names(tmp_path: Path, target: str) -> None:
    stored = urljoin("http://a.test/", target).replace("%2e", ".")
    tables = [
        read_site_files([archive(tmp_path / f"{number}.warc.gz", each)], AGENTS)
        for number, each in enumerate(
            [moved("http://a.test/robots.txt", target), robots(stored, CLOSED)]
        )
    ]
    for order in (tables, tables[::-1]):
        index = index_of(tmp_path, *order)
        assert closed(index, "http://a.test/x") == ["GPTBot", "CCBot"]
        assert len(index) == 2


def test_a_redirect_means_what_its_target_answers(tmp_path: Path) -> None:
    index = indexed(
        tmp_path,
        moved("http://gone.test/robots.txt", "/gone.txt"),
        robots("http://gone.test/gone.txt", CLOSED, 404),
        moved("http://down.test/robots.txt", "/down.txt"),
        robots("http://down.test/down.txt", b"", 503),
        moved("http://front.test/robots.txt", "/"),
        response("http://front.test/", b"<p>User-agent: *\nDisallow: /\n"),
        moved("http://two.test/robots.txt", "/step"),
        moved("http://two.test/step", "/en/robots.txt"),
        response("http://two.test/en/robots.txt", CLOSED),  # rules by name, though called HTML
        moved("http://loop.test/robots.txt", "/one"),
        moved("http://loop.test/one", "/one"),
        moved("http://mail.test/robots.txt", "mailto:somebody@mail.test"),
        robots("http://nowhere.test/robots.txt", b"", 302),
    )
    assert closed(index, "http://gone.test/x") == []
    assert closed(index, "http://down.test/x") == ["GPTBot", "CCBot"]
    assert closed(index, "http://front.test/x") == []
    assert closed(index, "http://two.test/x") == ["GPTBot", "CCBot"]
    for host in ("loop", "mail", "nowhere"):
        assert closed(index, f"http://{host}.test/x") is None


def test_a_file_that_is_too_large_is_read_from_its_beginning(tmp_path: Path) -> None:
    filler = b"# " + b"x" * 98 + b"\n"
    large = CLOSED + filler * (17 * (1 << 20) // len(filler))
    bomb = gzip.compress(large)
    index = indexed(
        tmp_path,
        robots("http://a.test/robots.txt", large),
        robots("http://b.test/robots.txt", bomb, headers="Content-Encoding: gzip"),
        robots("http://c.test/robots.txt", filler * (17 * (1 << 20) // len(filler))),
        robots("http://d.test/robots.txt", large, 404),
        robots("http://e.test/robots.txt", CLOSED),
    )
    for host in "abe":
        assert closed(index, f"http://{host}.test/x") == ["GPTBot", "CCBot"]
    assert closed(index, "http://c.test/x") is None
    assert closed(index, "http://d.test/x") == []


@pytest.mark.parametrize("plain", [False, True])
def test_a_body_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path, plain: bool) -> None:
    noise = random.Random(1).randbytes(3000).hex().encode()
    long = CLOSED + b"# " + noise + b"\nDisallow: /late"
    chunk = b"%x\r\n%s\r\n" % (len(CLOSED), CLOSED)
    bodies = {
        "gzip": (gzip.compress(long)[:-200], "Content-Encoding: gzip"),
        "deflate": (zlib.compress(long)[:-200], "Content-Encoding: deflate"),
        "raw": (zlib.compress(long, wbits=-15)[:-200], "Content-Encoding: deflate"),
        "broken": (gzip.compress(long)[:900] + b"\xff" * 900, "Content-Encoding: gzip"),
        "chunked": (chunk + b"zz", "Transfer-Encoding: chunked"),
        "decoded": (CLOSED, "Content-Encoding: deflate"),
        "nothing": (gzip.compress(long)[:15], "Content-Encoding: gzip"),
        "comment": (gzip.compress(b"# " + noise + b"\n" + long)[:3000], "Content-Encoding: gzip"),
        "brotli": (b"\xff" * 99, "Content-Encoding: br"),
    }
    records = [
        robots(f"http://{name}.test/robots.txt", body, headers=header)
        for name, (body, header) in bodies.items()
    ]
    records.append(robots("http://last.test/robots.txt", CLOSED))
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join(records) if plain else members(*records))
    file = SourceFile(path.name, str(path), *file_sha256(str(path)))
    index = index_of(tmp_path, read_site_files([file], AGENTS))
    for name in ("gzip", "deflate", "raw", "broken", "chunked", "decoded", "last"):
        assert closed(index, f"http://{name}.test/x") == ["GPTBot", "CCBot"], name
    for name in ("nothing", "comment", "brotli"):
        assert closed(index, f"http://{name}.test/x") is None, name


def test_a_line_that_breaks_off_is_no_rule(tmp_path: Path) -> None:
    content = b"User-agent: *\nDisallow: /\n"
    cut = b"%x\r\n%s\r\nzz" % (len(content) - 1, content[:-1])
    index = indexed(
        tmp_path, robots("http://a.test/robots.txt", cut, headers="Transfer-Encoding: chunked")
    )
    assert closed(index, "http://a.test/x") == []


def test_a_record_among_others_in_a_member_is_not_taken_for_its_neighbour(tmp_path: Path) -> None:
    cut = gzip.compress(CLOSED * 9)[:-12]
    broken = robots("http://a.test/robots.txt", cut, headers="Content-Encoding: gzip")
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gzip.compress(robots("http://b.test/robots.txt") + broken + broken))
    file = SourceFile(path.name, str(path), *file_sha256(str(path)))
    index = index_of(tmp_path, read_site_files([file], AGENTS))
    assert closed(index, "http://a.test/x") is None
    assert closed(index, "http://b.test/x") == ["GPTBot"]


def test_a_folder_of_files_by_host_is_read_like_an_archive(tmp_path: Path) -> None:
    for name, content in {
        "a.test/robots.txt": ROBOTS,
        "www.b.test/robots.txt": b"",
        "b.test/ai.txt": b"User-Agent: *\nDisallow: *.html\n",
        "c.test/tdmrep.json": b'[{"location": "/paid/*", "tdm-reservation": 1}]',
        "c.test/notes.txt": b"no rules",
        "stray.txt": b"no host",
        "not a host/robots.txt": ROBOTS,
        "large.test/robots.txt": ROBOTS + b"#" * (17 << 20),
    }.items():
        path = tmp_path / "sites" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    parts = list_files(FOLDER, str(tmp_path / "sites"), "s")
    index = index_of(tmp_path, read_site_files(parts, AGENTS))
    assert len(index) == 5
    assert closed(index, "http://a.test/x") == ["GPTBot"]
    assert closed(index, "http://large.test/x") == ["GPTBot"]
    assert closed(index, "http://www.b.test/x") == []
    assert closed(index, "http://c.test/x") is None
    ai, tdm = index.find("b.test"), index.find("c.test")
    assert ai is not None
    assert ai.refused_by_ai_txt(b"/story", "text/html")
    assert not ai.refused_by_ai_txt(b"/story", "text/plain")
    assert tdm is not None
    assert tdm.reserved_by_tdmrep(b"/paid/story")
    assert not tdm.reserved_by_tdmrep(b"/free")


def test_site_files_in_an_archive_are_told_apart_by_their_path(tmp_path: Path) -> None:
    index = indexed(
        tmp_path,
        robots("https://a.test/robots.txt"),
        robots("https://a.test/ai.txt", b"User-agent: *\nDisallow: /art\n"),
        robots(
            "https://a.test/.well-known/tdmrep.json",
            json.dumps([{"location": "/", "tdm-reservation": 1}]).encode(),
        ),
        robots("https://b.test/.well-known/tdmrep.json", b"[", 200),
        robots("https://b.test/ai.txt", b"User-agent: *\nDisallow: /", 500),
    )
    rules = index.find("a.test")
    assert rules is not None
    assert rules.disallowed(b"/x") == ["GPTBot"]
    assert rules.refused_by_ai_txt(b"/art/x", "text/html")
    assert rules.reserved_by_tdmrep(b"/x")
    other = index.find("b.test")
    assert other is not None
    assert other == SiteRules(None)


def test_damage_and_revisits_say_nothing_of_a_host(tmp_path: Path) -> None:
    cut = record(b"HTTP/1.1 200 OK\r\n\r\nUser", "http://a.test/robots.txt", length=900)
    revisit = record(b"", "http://b.test/robots.txt", "revisit")
    index = indexed(tmp_path, robots("http://c.test/robots.txt"), revisit, cut)
    assert len(index) == 1


def test_an_index_of_nothing_and_a_broken_one(tmp_path: Path) -> None:
    index = index_of(tmp_path)
    assert len(index) == 0
    assert index.find("a.test") is None
    (tmp_path / "sites.arrow").write_bytes(b"ARROW1 no")
    with pytest.raises(CorruptArtifact, match="not a readable index"):
        SiteIndex(tmp_path / "sites.arrow", tmp_path / "rules.arrow")


def test_every_real_file_decides_through_the_index_as_it_does_alone(tmp_path: Path) -> None:
    lines = gzip.decompress(shared_data("robots/robots.jsonl.gz").read_bytes()).splitlines()
    rows = [json.loads(line) for line in lines]
    records = [robots(row["url"], row["text"].encode()) for row in rows]
    half = len(records) // 2
    files = [
        archive(tmp_path / "one.warc.gz", *records[half:]),
        archive(tmp_path / "two.warc.gz", *records[:half]),
    ]
    index = index_of(tmp_path, *(read_site_files([file], AGENTS) for file in files))
    assert len(index) == len({site_of(row["url"]) for row in rows})
    rng = random.Random(3)
    for row in rows:
        content = row["text"].encode()
        site = row["url"].removesuffix("/robots.txt")
        words = rng.sample(row["text"].split(), min(4, len(row["text"].split())))
        for path in ["/", *(word for word in words if word.startswith("/"))]:
            url = site + path.replace("*", "x").replace("#", "")
            expected = [a for a in AGENTS.agents if not may_fetch(content, a, path_of(url))]
            assert closed(index, url) == expected, url
