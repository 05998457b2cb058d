"""The smaller commands of `corpus`, on the small corpus."""

import json
import re
import shutil
from pathlib import Path

import pytest

from catalog.db.registry import Registry
from catalog.db.rows import JudgementRow
from catalog.errors import CatalogError
from corpus_assets.cli.main import main
from corpus_assets.core.errors import RecipeError
from corpus_assets.core.home import Home
from corpus_assets.inspect.cost import cost_at
from corpus_assets.session import open_session
from corpus_assets_tests.conftest import VERSION, Place

Captured = pytest.CaptureFixture[str]


def said(capsys: Captured, *arguments: str, code: int = 0) -> str:
    """What a command prints: on stdout when it works, on stderr when it does not."""
    capsys.readouterr()
    assert main(list(arguments)) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def plan(place: Place, capsys: Captured, *arguments: str) -> dict[str, str]:
    command = ("plan", str(place.recipe), "--home", str(place.home), "--json", *arguments)
    return {asset: line["state"] for asset, line in json.loads(said(capsys, *command)).items()}


def test_a_finished_build_plans_nothing(small_build: Place, capsys: Captured) -> None:
    assert set(plan(small_build, capsys).values()) == {"cached"}


def test_another_threshold_recomputes_no_text(small_build: Place, capsys: Captured) -> None:
    states = plan(small_build, capsys, "--set", "selection.rules.gopher_word_count.min=20")
    assert states["selection"] != "cached"
    for asset in ("documents", "signals", "signatures", "contamination", "tokenizer"):
        assert states[asset] == "cached"


def test_a_plan_is_a_line_an_asset(place: Place, capsys: Captured) -> None:
    shutil.rmtree(place.store / "artifacts/signals")
    text = said(capsys, "plan", str(place.recipe), "--home", str(place.home))
    lines = {line.split()[0]: line.split()[1:] for line in text.partition("\n\n")[0].splitlines()}
    assert lines["asset"] == ["state", "cached", "to", "compute"]
    assert lines["documents"] == ["cached", "10", "-"]  # five files, and lists to look pages up in
    assert lines["signals"] == ["compute", "0", "5"]
    assert lines["selection"][0] == "pending"


def test_planning_in_an_empty_home_runs_nothing(
    small_build: Place, tmp_path: Path, capsys: Captured
) -> None:
    home = tmp_path / "home"
    said(capsys, "plan", str(small_build.recipe), "--home", str(home))
    assert not (home / "store" / "artifacts").exists()


def test_a_report_is_copied_out_with_what_the_version_took(
    small_build: Place, tmp_path: Path, capsys: Captured
) -> None:
    page, home = tmp_path / "page.html", str(small_build.home)
    said(capsys, "report", VERSION, "--home", home, "-o", str(page))
    written = page.read_text(encoding="utf-8")
    name = "when-and-at-what-cost"
    section = written[written.index(f'<h2 id="{name}">') : written.index('\n<h2 id="funnel">')]
    links = f'<a href="#{name}">When and at what cost</a>\n<a href="#gates">Gates</a>\n'
    links += '<a href="#choices-that-rest-on-evidence">Choices that rest on evidence</a>\n'
    plain = written.replace(section, "").replace(links, "")
    stored = small_build.store / "versions" / VERSION / "report.html"
    assert plain == stored.read_text(encoding="utf-8")
    cost = json.loads(said(capsys, "cost", VERSION, "--home", home, "--json"))
    total = cost["total"]
    everything = total | {"stage": "total", "money": sum(total["money"].values())}
    rows = re.findall(
        r"<tr><td>(\w+)</td>.*?<td>([\d.,]+ s)</td>.*?<td>([\d.]+)</td></tr>", section
    )
    assert rows == [
        (one["stage"], f"{one['cpu_hours'] * 3600:,.1f} s", f"{one['money']:.6f}")
        for one in [*cost["stages"], everything]
    ]
    assert f"computed from {cost['first_computed_at']} to" in section
    gates = re.findall(r"<td>(\w+)</td><td>passed</td>", section.partition('<h2 id="gates">')[2])
    assert gates == ["audit", "conservation", "drift"]


def test_a_report_of_a_version_whose_cost_is_lost_is_written_all_the_same(
    place: Place, tmp_path: Path, capsys: Captured
) -> None:
    shutil.rmtree(place.store / "artifacts" / "signals")
    shutil.rmtree(place.store / "results", ignore_errors=True)
    page, home = tmp_path / "page.html", Home.resolve(str(place.home))
    said(capsys, "report", VERSION, "--home", str(place.home), "-o", str(page))
    written = page.read_text(encoding="utf-8")
    assert "Its cost is not known: signals of crawl-1 is not complete" in written
    assert '<h2 id="funnel">' in written
    with pytest.raises(CatalogError, match="is not known"):
        cost_at(home.catalog_url, home.store_url, VERSION)


def test_a_report_has_what_people_said_of_the_version(
    place: Place, tmp_path: Path, capsys: Captured
) -> None:
    registry = Registry(Home.resolve(str(place.home)).catalog_url)
    for number in range(4):
        row = JudgementRow(VERSION, f"{number:032x}", "crawl-1", 0, number, "selection", "language",
                           number > 0, "a word of the page", "ann")  # fmt: skip
        registry.judge(row)
    page = tmp_path / "page.html"
    said(capsys, "report", VERSION, "--home", str(place.home), "-o", str(page))
    written = page.read_text(encoding="utf-8")
    section = written.partition('<h2 id="review">')[2].partition("<h2 ")[0]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", section)
    assert cells == ["selection", "language", "4", "1", "25.0%", "4.6% to 69.9%"]
    assert "a word of the page" not in written


def test_a_report_of_no_version_is_one_line(small_build: Place, capsys: Captured) -> None:
    home = str(small_build.home)
    assert said(capsys, "report", "nope", "--home", home, code=1) == (
        "corpus: error: there is no version nope here; `catalog versions` lists them\n"
    )


def test_a_report_that_cannot_be_written_is_one_line(
    small_build: Place, tmp_path: Path, capsys: Captured
) -> None:
    arguments = ("report", VERSION, "--home", str(small_build.home), "-o", str(tmp_path))
    message = said(capsys, *arguments, code=1)
    assert message.startswith(f"corpus: error: cannot write {tmp_path}: ")
    assert message.count("\n") == 1


def test_the_lock_of_a_recipe_is_the_lock_of_its_version(
    place: Place, tmp_path: Path, capsys: Captured
) -> None:
    folder = tmp_path / "locked"
    arguments = ("lock", str(place.recipe), "--home", str(place.home), "--workers", "1")
    said(capsys, *arguments, "-o", str(folder))
    version = place.store / "versions" / VERSION
    assert (folder / "lock.json").read_bytes() == (version / "lock.json").read_bytes()
    pinned = sorted(path.name for path in (version / "calibrations").iterdir())
    assert sorted(path.name for path in (folder / "calibrations").iterdir()) == pinned


@pytest.mark.parametrize("node", ["classifiers/quality", "tokenizer", "shard_counts/crawl-1"])
def test_under_a_lock_nothing_that_it_does_not_pin_is_resolved(
    small_build: Place, tmp_path: Path, node: str
) -> None:
    version = small_build.store / "versions" / VERSION
    lock = json.loads((version / "lock.json").read_bytes())
    del lock["calibrations"][node]
    shutil.copytree(version / "calibrations", tmp_path / "calibrations")
    (tmp_path / "lock.json").write_text(json.dumps(lock))
    home = Home.resolve(str(small_build.home))
    name, _, snapshot = node.partition("/")
    of_snapshot = snapshot if name == "shard_counts" else None
    for option in ("lock", "calibrations"):
        files = {option: str(tmp_path / "lock.json")}
        with open_session(str(small_build.recipe), home, **files) as session:  # type: ignore[arg-type]
            if option == "calibrations":
                assert session.pipeline.tasks(name, of_snapshot)
                continue
            with pytest.raises(RecipeError, match=f"the lock pins no {name}, which this recipe"):
                session.pipeline.tasks(name, of_snapshot)


def test_an_unknown_command_and_a_wrong_option_are_refused(capsys: Captured) -> None:
    assert "No such command" in said(capsys, "bulid", code=2)
    assert "--workers" in said(capsys, "build", "demo", "--workers", "0", code=2)


def test_help_names_every_command(capsys: Captured) -> None:
    text = said(capsys, "--help")
    for command in ("build", "lock", "plan", "report", "models"):
        assert f"\n  {command} " in text
