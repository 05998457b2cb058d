"""The documentation keeps up with the code: settings, commands, links, drop reasons, recipes."""

import importlib.util
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import click
import pytest
import yaml

from catalog.cli.commands import main as catalog_group
from corpus_assets.cli.main import cli as corpus_group
from corpus_assets.defs.assets import ASSETS
from corpus_assets.ingest.stage import DOCUMENTS
from corpus_assets.recipe.load import parse_recipe
from corpus_assets.scrub.settings import KINDS as PERSONAL_DATA
from corpus_assets.scrub.settings import drop_reason
from corpus_assets.stages import STAGES
from corpus_assets_tests.distributions import PACKAGES, SOURCES

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
KINDS = ("tutorial", "how-to", "reference", "explanation")
PAGES = sorted(
    [ROOT / "README.md", *(page for kind in KINDS for page in (DOCS / kind).glob("*.md"))]
)

DECISIONS = sorted((DOCS / "adr").glob("*.md"))
MOST_WORDS = 42_500
READMES = [folder / "README.md" for folder in (ROOT / "benchmarks", *PACKAGES)]

LINK = re.compile(r"(?<!\!)\[[^\]\n]*\]\(([^)\s]+)\)")
REFUSAL = re.compile(r"Refusal\(\s*\"([a-z_]+)\"|damage(?:, detail)?\s*=\s*\"([a-z_]+)\"")


def maker(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands(group: click.Group, path: tuple[str, ...]) -> Iterator[str]:
    """Every command below a group, as it is typed."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name))


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def yaml_recipes(page: Path) -> Iterator[dict[str, object]]:
    """The whole recipes among a page's YAML blocks: those that name themselves."""
    for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        loaded = yaml.safe_load(textwrap.dedent(block))
        if isinstance(loaded, dict) and "name" in loaded:
            yield loaded


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("settings", "make_reference"),
        ("stages", "make_stages"),
        ("tables", "make_tables"),
        ("published", "make_published"),
    ],
)
def test_pages_made_from_declarations_are_up_to_date(page: str, name: str) -> None:
    written = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    assert written == maker(name).reference(), f"run `python docs/{name}.py`"


def test_a_recipe_has_few_enough_keys_to_be_held_in_mind() -> None:
    """Before a key is added: ADR 74 says what belongs in a recipe, and what does not."""
    assert maker("make_reference").key_count() <= 405


@pytest.mark.parametrize(
    "command", [*commands(corpus_group, ("corpus",)), *commands(catalog_group, ("catalog",))]
)
def test_every_command_is_documented(command: str) -> None:
    pattern = re.compile(rf"(?<!\w){re.escape(command)}(?!\w)")
    assert any(pattern.search(page.read_text(encoding="utf-8")) for page in PAGES)


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS, *READMES], ids=lambda page: page.name)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for target in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        path, _, heading = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = page.parent / unquote(path) if path else page
        assert file.exists(), f"{page.name} links to {target}"
        if heading and file.suffix == ".md":
            assert heading in headings(file), f"{page.name} links to {target}"


def headings(page: Path) -> set[str]:
    """The names by which a page's headings are linked to."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower().replace("`", "")).strip() for title in titles)
    return {title.replace(" ", "-") for title in plain}


def test_pages_are_short_enough_to_be_read() -> None:
    made = {"settings.md", "published.md", "first-corpus.md"}  # the tutorial is one walk
    long = {p.name: n for p in PAGES if (n := len(p.read_text().splitlines())) > 300}
    assert set(long) <= made, long


def test_all_pages_together_are_short_enough_to_be_read() -> None:
    """Words with a letter, those of tables and of generated pages too, without blocks of code."""
    pages = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    prose = [re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE) for page in pages]
    words = sum(bool(re.search(r"[^\W\d_]", word)) for page in prose for word in page.split())
    assert words <= MOST_WORDS, "shorten what a new page repeats"


def test_a_how_to_page_is_about_one_task() -> None:
    words = {
        page.name: len(page.read_text("utf-8").split()) for page in (DOCS / "how-to").iterdir()
    }
    assert {name: number for name, number in words.items() if number > 1300} == {}


def test_a_decision_is_one_page() -> None:
    words = {page.name: len(page.read_text("utf-8").split()) for page in DECISIONS[:-1]}
    assert {name: number for name, number in words.items() if number > 400} == {}


def test_the_list_of_decisions_has_each_once_under_its_title() -> None:
    *pages, index = DECISIONS
    listed = re.findall(r"^- \[(.*?)\]\((.*?)\)", index.read_text("utf-8"), re.MULTILINE)
    titles = [(page.read_text("utf-8").splitlines()[0][2:], page.name) for page in pages]
    assert sorted(listed) == sorted(titles)
    assert [int(page.name[:4]) for page in pages] == [
        int(title.split(".")[0]) for title, _ in titles
    ]


def test_every_decision_that_is_mentioned_exists() -> None:
    numbers = {int(page.name[:4]) for page in DECISIONS[:-1]}
    files = [path for folder in SOURCES.values() for path in folder.rglob("*.py")]
    mentioned = {
        (path.name, int(number))
        for path in [*files, *PAGES, *DECISIONS, *READMES]
        for found in re.findall(r"\bADRs? ([\d, ]+\d|\d)", path.read_text(encoding="utf-8"))
        for number in found.split(",")
    }
    assert [one for one in sorted(mentioned) if one[1] not in numbers] == []


def test_the_graph_on_the_page_is_the_graph_in_dagster() -> None:
    page = (DOCS / "how-to/use-the-ui.md").read_text(encoding="utf-8")
    section = page.partition("## The Dagster UI\n")[2].partition("\n## ")[0]
    specs = {spec.key.to_user_string(): spec for asset in ASSETS for spec in asset.specs}
    assert set(re.findall(r"the group `(\w+)`", section)) == {s.group_name for s in specs.values()}
    rows = [line.split("|")[2:4] for line in section.splitlines() if line.startswith("| ")][1:]
    shown = {
        (asset, partitions.strip())
        for assets, partitions in rows
        for asset in re.findall(r"`(\w+)`", assets)
    }
    assert shown == {
        (name, getattr(spec.partitions_def, "name", None) or "-") for name, spec in specs.items()
    }


def test_every_drop_reason_is_declared_and_explained() -> None:
    declared = {reason for stage in STAGES for reason in stage.drops if "*" not in reason}
    for file in (ROOT / "corpus_assets" / "ingest").rglob("*.py"):
        for found in REFUSAL.findall(file.read_text(encoding="utf-8")):
            assert DOCUMENTS.is_reason(found[0] or found[1]), found
    explained = (DOCS / "reference/drop-reasons.md").read_text(encoding="utf-8")
    named = declared | {drop_reason(kind) for kind in PERSONAL_DATA}
    assert sorted(reason for reason in named if f"`{reason}`" not in explained) == []


def test_the_recipes_on_the_page_are_valid() -> None:
    recipes = list(yaml_recipes(DOCS / "how-to/write-a-recipe.md"))
    assert len(recipes) >= 2
    for recipe in recipes:
        assert parse_recipe(recipe, "write-a-recipe.md").name == recipe["name"]


def test_every_page_is_of_one_kind_and_in_its_part_of_the_navigation() -> None:
    blocks = re.findall(r"```{toctree}\n(.*?)```", (DOCS / "index.md").read_text(), re.DOTALL)
    named = {line for block in blocks for line in block.splitlines() if not line.startswith(":")}
    pages = {f"{kind}/{page.stem}" for kind in KINDS for page in (DOCS / kind).glob("*.md")}
    assert named == pages | {"adr/index"}
    assert [page.name for page in DOCS.glob("*.md")] == ["index.md"]
    for block in blocks:
        kinds = {line.partition("/")[0] for line in block.splitlines() if not line.startswith(":")}
        assert len(kinds - {"adr"}) == 1, block
