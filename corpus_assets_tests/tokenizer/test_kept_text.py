"""A tokenizer learns from what the corpus keeps: in a build, with planted text that it drops."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from corpus_assets.build import build as build_version
from corpus_assets.cli.main import main
from corpus_assets.core.home import Home
from corpus_assets.graph.checks import tokenizer_checks
from corpus_assets.session import open_session
from corpus_assets.shards.tokens import Encoder
from corpus_assets_tests.small_corpus import prose

RUSSIAN = "Смотритель маяка каждый вечер записывал имена кораблей в толстую книгу. "
JAPANESE = "灯台守は毎晩、カメラとノートを持って船の名前を記録していました。"

RECIPE: dict[str, Any] = {
    "name": "kept",
    "seed": 3,
    "sources": [
        {
            "name": domain,
            "format": "jsonl",
            "domain": domain,
            "fields": {"key": "id"},
            "snapshots": {f"{domain}-1": f"{domain}.jsonl"},
        }
        for domain in ("web", "books")
    ],
    "signals": {"families": [{"family": "language"}, {"family": "gopher_quality"}]},
    "selection": {
        "rules": [
            {"name": "language", "signal": "language", "in": ["en"]},
            {"name": "words", "signal": "n_words", "min": 30},
        ]
    },
    "tokenizer": {"train": {"vocab_size": 400, "special_slots": 4}},
    "shards": {"seq_len": 64, "tokens_per_shard": 4096},
    "mixture": {"shares": {"domain": {"web": 0.25, "books": 0.75}}, "max_epochs": 100},
}
SECRETS = {
    "short": "Write to Quillorix Vantzelgolm",
    "copy": "The Zembradune harbour",
    "mail": "whitfield.brackmoor@tidegate.example.org",
}


def web_texts() -> dict[str, str]:
    """36 kept pages, a third of them with Russian and a third with Japanese; 8 with an address
    that is scrubbed; 24 dropped ones: Russian, too short, copies of each other."""
    texts = {f"kept-{i}": prose("kept", i) for i in range(36)}
    for i in range(0, 36, 3):
        texts[f"kept-{i}"] += f"\n{RUSSIAN * 2}{i}"
        texts[f"kept-{i + 1}"] += f"\n{JAPANESE * 2}{i}"
    for i in range(8):
        texts[f"kept-{i}"] += f"\nWrite to {SECRETS['mail']} about it."
    texts |= {f"russian-{i}": RUSSIAN * (9 + i) for i in range(8)}
    texts |= {f"short-{i}": f"{SECRETS['short']} about tide {i}, please." for i in range(8)}
    return texts | {f"copy-{i}": f"{SECRETS['copy']}. {prose('copy')}" for i in range(8)}


def write(folder: Path, is_reversed: bool = False, **tokenizer: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    books = {f"book-{i}": prose("book", i) for i in range(30)}
    for domain, texts in (("web", web_texts()), ("books", books)):
        lines = [json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items()]
        (folder / f"{domain}.jsonl").write_text("".join(lines[::-1] if is_reversed else lines))
    recipe = folder / "kept.yaml"
    recipe.write_text(yaml.safe_dump(RECIPE | {"tokenizer": RECIPE["tokenizer"] | tokenizer}))
    return recipe


def build(folder: Path, *options: str) -> int:
    words = ["build", str(folder / "kept.yaml"), "--home", str(folder / "home")]
    return main([*words, "--version", "v", "--workers", "1", *options])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    write(folder)
    assert build(folder) == 0
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """A copy of what was built, to go on with."""
    shutil.copytree(built, tmp_path / "corpus")
    return tmp_path / "corpus"


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert main([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def artifacts(folder: Path, stage: str, name: str) -> list[Path]:
    return sorted((folder / "home" / "store").glob(f"artifacts/{stage}/*/{name}"))


def tokenizer_json(folder: Path) -> bytes:
    (path,) = artifacts(folder, "tokenizer", "tokenizer.json")
    return path.read_bytes()


def pieces(folder: Path) -> set[str]:
    encoder = Encoder(tokenizer_json(folder))
    return {encoder.token_bytes(i).decode("utf-8", "ignore") for i in range(encoder.vocab_size)}


def column(folder: Path, stage: str, file: str, name: str) -> set[Any]:
    tables = (pq.read_table(path) for path in artifacts(folder, stage, file))
    return {value for table in tables for value in table[name].to_pylist()}


def test_an_english_build_has_no_id_in_another_script_though_its_pages_quote_some(
    built: Path,
) -> None:
    kept = "".join(column(built, "clean_text", "final.parquet", "text"))
    assert RUSSIAN in kept
    assert JAPANESE in kept
    assert " winter" in pieces(built)
    assert not {c for piece in pieces(built) for c in piece if c.isalpha() and not c.isascii()}


def test_no_id_spells_a_piece_of_what_was_dropped_merged_or_scrubbed(built: Path) -> None:
    secret = ("Quillorix", "Vantzelgolm", "Zembradune", "whitfield", "brackmoor", "tidegate")
    parts = {name[i : i + 4] for name in secret for i in range(len(name) - 3)}
    assert not {piece for piece in pieces(built) if any(part in piece for part in parts)}


def test_the_sample_is_final_text(built: Path) -> None:
    for name in ("doc_id", "text"):
        sample = column(built, "tokenizer_sample", "sample.parquet", name)
        assert sample <= column(built, "clean_text", "final.parquet", name)
    assert len(sample) > 60


@pytest.mark.slow
@pytest.mark.parametrize(("is_reversed", "workers"), [(True, 1), (False, 2)])
def test_order_and_workers_change_no_byte_of_the_tokenizer(
    built: Path, tmp_path: Path, is_reversed: bool, workers: int
) -> None:
    recipe = write(tmp_path, is_reversed)
    with open_session(str(recipe), Home.resolve(str(tmp_path / "home")), workers) as session:
        build_version(session, "v")
    assert tokenizer_json(tmp_path) == tokenizer_json(built)


@pytest.mark.parametrize(("options", "ratio"), [((), 3), (("proportions=corpus",), 0.8)])
def test_domains_are_drawn_in_the_proportions_of_the_mixture_unless_others_are_given(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], ratio: float
) -> None:
    before = set(artifacts(folder, "tokenizer_draw", "draw.json"))
    words = ["tokenizer", "sweep", str(folder / "kept.yaml"), "--home", str(folder / "home")]
    for option in ("max_chars=24000", *options):
        words += ["--set", f"tokenizer.sample.{option}"]
    answer(capsys, *words, "--workers", "1", "--sizes", "300")
    (drawn,) = set(artifacts(folder, "tokenizer_draw", "draw.json")) - before
    found = {name: row["chars"] for name, row in json.loads(drawn.read_bytes()).items()}
    assert found["books"] / found["web"] == pytest.approx(ratio, rel=0.3)


def test_a_failed_audit_stops_a_build_before_tokens_and_a_warning_goes_on_without_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, audit={"one_token": ["harbour master"]})
    assert build(tmp_path) == 1
    said = capsys.readouterr().err
    assert "the tokenizer fails its audit: not one token each: 'harbour master'" in said
    assert "tokenizer.audit.on_failure" in said
    assert not artifacts(tmp_path, "tokens", "*")
    before = [path.stat().st_mtime_ns for path in artifacts(tmp_path, "tokenizer", "*")]
    assert build(tmp_path, "--set", "tokenizer.audit.on_failure=warn") == 0
    assert artifacts(tmp_path, "tokens", "*")
    assert [path.stat().st_mtime_ns for path in artifacts(tmp_path, "tokenizer", "*")] == before
    home = Home.resolve(str(tmp_path / "home"))
    warn = {"tokenizer.audit.on_failure": "warn"}
    with open_session(str(tmp_path / "kept.yaml"), home, overrides=warn) as session:
        outcome = tokenizer_checks(session.pipeline)[0]
    assert (outcome.name, outcome.passed, outcome.is_warning) == ("audit", False, True)


def test_a_version_is_audited_by_its_own_recipe_and_by_strings_that_are_asked_for(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("tokenizer", "audit", "v", "--home", str(built / "home"))
    found = answer(capsys, *words, "--one-token", " winter")
    assert found["passed"]
    assert found["scripts"] == ["latin"]
    assert found["vocabulary"]["foreign"] == found["vocabulary"]["too_long"] == 0
    assert found["vocabulary"]["never_used_share"] < 0.2
    found = answer(capsys, *words, "--one-token", "harbour master", code=1)
    assert found["problems"][0].startswith("not one token each: 'harbour master'")


def test_a_sweep_compares_sizes_on_one_sample_beside_what_the_embedding_costs(
    built: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = str(folder / "kept.yaml")
    words = ("tokenizer", "sweep", recipe, "--home", str(folder / "home"), "--workers", "1")
    cost = ("--width", "100", "--layers", "10")
    before = list((folder / "home").rglob("artifacts/*/*"))
    found = answer(capsys, *words, "--sizes", "330,400", *cost)
    assert list((folder / "home").rglob("artifacts/*/*")) == before
    small, large = found["sizes"]
    audit = answer(capsys, "tokenizer", "audit", "v", "--home", str(built / "home"))
    assert large["bytes_per_token"] == audit["held_out"]["bytes_per_token"]
    assert set(large["by_domain"]) == {"web", "books"}
    assert small["bytes_per_token"] < large["bytes_per_token"]
    assert large["embedding_params"] == 2 * 400 * 100
    assert large["embedding_share"] == pytest.approx(80 / (80 + 12 * 10 * 10), abs=1e-4)
    tied = answer(capsys, *words, "--sizes", "400", "--width", "100", "--params", "1M", "--tied")
    assert tied["sizes"][0]["embedding_share"] == pytest.approx(40 / 1040, abs=1e-4)
    capsys.readouterr()
    assert main([*words, "--sizes", "400,5000", *cost]) == 0
    said = capsys.readouterr().out
    assert "share of parameters" in said
    assert "the sample has pairs for" in said
    for wrong in ("many", "100"):
        assert main([*words, "--sizes", wrong]) == 1


@pytest.mark.slow
def test_a_sweep_builds_what_is_missing_up_to_the_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = write(tmp_path)
    words = ("tokenizer", "sweep", str(recipe), "--home", str(tmp_path / "home"))
    found = answer(capsys, *words, "--workers", "1", "--sizes", "400")
    assert found["sizes"][0]["ids"] == 400
    assert artifacts(tmp_path, "tokenizer_sample", "*")
    assert not artifacts(tmp_path, "tokenizer", "*")
