"""The signal family that docs/how-to/add-a-signal.md shows works as written."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.signals.base import SignalFamily, TextBatch

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/add-a-signal.md"


def test_the_family_on_the_page_computes_what_it_says() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {"__name__": "shouting"}
    exec(compile(code, PAGE.name, "exec"), names)
    family = names["Shouting"]
    assert isinstance(family, type)
    assert issubclass(family, SignalFamily)
    batch = TextBatch.from_arrow(pa.array(["Stop! Stop now!", "quiet", ""]))
    found = family(family="shouting").compute(batch, {})
    assert found.column("exclamation_ratio").to_pylist() == [np.float32(2 / 3), 0.0, 0.0]
