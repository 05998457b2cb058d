"""Functions that have the same bits everywhere."""

import math
import os
import random
import re
import subprocess
import sys
from decimal import Decimal, localcontext
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from corpus_assets.models import fasttext_labels, fasttext_train, ngram_score
from corpus_assets.signals.kernels import redpajama
from corpus_assets.text import exact_math

DRAW = random.Random(5)
SPREAD = [DRAW.uniform(-700, 700) for _ in range(2_000)] + [0.0, 1.0, -1.0, 1e-300, -1e-17, 0.5]


def relative(found: float, wanted: Decimal) -> float:
    return float(abs((Decimal(found) - wanted) / wanted)) if wanted else abs(found)


def test_exp_and_log_are_right_to_the_last_digits() -> None:
    with localcontext(prec=40):
        for x in SPREAD:
            assert relative(exact_math.exp(x), Decimal(x).exp()) < 2e-15
        for x in [math.exp(x) for x in SPREAD] + [1 - 1e-12, 1 + 1e-12, 5e-324, 1.7e308]:
            assert relative(exact_math.log(x), Decimal(x).ln()) < 2e-15
            assert relative(exact_math.log10(x), Decimal(x).log10()) < 2e-15


def test_arrays_are_taken_value_by_value() -> None:
    values = np.array([[0.5, 2.0], [10.0, 1.0]])
    np.testing.assert_allclose(exact_math.logs(values), np.log(values), rtol=1e-15)
    powers = np.array([0.0, 1.0, 2.5, -3.0, np.nan])
    np.testing.assert_allclose(exact_math.exps10(powers), 10.0**powers, rtol=1e-14)


def test_ends_of_the_range_are_as_in_c() -> None:
    assert exact_math.exp(-800.0) == 0.0
    assert exact_math.exp(800.0) == math.inf
    assert exact_math.exp(-math.inf) == 0.0
    assert exact_math.log(0.0) == -math.inf
    assert exact_math.log(math.inf) == math.inf
    assert math.isnan(exact_math.exp(math.nan))
    assert math.isnan(exact_math.log(-1.0))


COMPILE = """
import numpy as np
from corpus_assets.models import fasttext_train
from corpus_assets.text import exact_math
lines, starts = np.array([0, 1, 1], dtype=np.int32), np.array([0, 2, 3], dtype=np.int64)
labels = np.array([0, 1], dtype=np.int32)
fasttext_train.train_rows(
    lines, starts, labels, [b"a", b"b"], 1,
    n_labels=2, dim=16, word_ngrams=2, buckets=8, epochs=1, rate=0.5, seed=1,
)
exact_math.log(2.0)
for each in (fasttext_train._train, fasttext_train._first_rows, exact_math.exp, exact_math.log):
    print(*each.inspect_asm().values())
"""


def test_no_operation_is_fused_and_no_function_of_a_library_rounds(tmp_path: Path) -> None:
    """A fused multiply-add rounds once where other processors round twice."""
    code = subprocess.run(
        [sys.executable, "-c", COMPILE],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},  # only fresh code can be looked at
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert re.search(r"\b(fmul|v?mulsd)", code)
    assert not re.search(r"\b(fn?m(add|sub)|v?fn?m(add|sub)\w*|fml[as])\b", code)
    # Not `.const.exp`: the name of our own function, for its errors.
    called = r"\b(bl|callq?|movabsq)\s+\S*(?<!\.const\.)\b(exp|log|pow)\w*"
    assert re.search(called, "\tmovabsq\t$exp, %rax")
    assert not re.search(called, code)


@pytest.mark.parametrize("module", [fasttext_labels, fasttext_train, ngram_score, redpajama])
def test_scores_take_no_exponential_of_a_library(module: ModuleType) -> None:
    source = Path(str(module.__file__)).read_text("utf-8")
    assert not re.search(r"\b(np|math)\.(exp|log|log10|log2|power)\b", source)
