"""What the README shows is what comes out."""

import doctest
import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"


def test_examples_give_what_they_show() -> None:
    found: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert len(examples) == 4
    for number, example in enumerate(examples):
        test = doctest.DocTestParser().get_doctest(example, found, f"{number}", str(README), 0)
        told: list[str] = []
        runner = doctest.DocTestRunner()
        runner.run(test, out=told.append, clear_globs=False)
        assert runner.summarize(verbose=False).failed == 0, "".join(told)
        found.update(test.globs)
