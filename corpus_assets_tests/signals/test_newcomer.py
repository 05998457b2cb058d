"""The signal family that docs/how-to/add-a-signal.md shows works as written."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.core.declarations import modules_by_name
from corpus_assets.signals.base import SignalFamily
from corpus_assets.signals.families import DECLARED
from corpus_assets.text.batch import TextBatch

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/add-a-signal.md"


def test_the_family_on_the_page_is_found_and_computes_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "newcomers").mkdir()
    (tmp_path / "newcomers" / "shouting.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    found = modules_by_name(DECLARED, "newcomers", [str(tmp_path / "newcomers")])
    assert found == {"shouting": "newcomers.shouting"}
    family = import_module(found["shouting"]).Shouting
    assert issubclass(family, SignalFamily)
    batch = TextBatch.from_arrow(pa.array(["Stop! Stop now!", "quiet", ""]))
    computed = family().compute(batch, {})
    assert computed.column("exclamation_ratio").to_pylist() == [np.float32(2 / 3), 0.0, 0.0]
