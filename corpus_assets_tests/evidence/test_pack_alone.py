"""What a pack brings along is enough where nothing of this project is installed; no torch needed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from corpus_assets_tests.evidence.tiny import tiny_encoder, tiny_pack


def test_the_program_of_a_pack_starts_where_this_project_is_not_installed(tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    tiny_pack(folder, tiny_encoder())
    # -S reads no .pth file, by which a project that is installed editably would be found.
    alone = {**os.environ, "PYTHONPATH": str(Path(np.__file__).parents[1])}
    absent = [sys.executable, "-S", "-c", "import catalog"]
    assert subprocess.run(absent, cwd=tmp_path, env=alone, capture_output=True).returncode != 0
    ran = subprocess.run(
        [sys.executable, "-S", str(folder / "run.py"), "--help"],
        cwd=tmp_path,
        env=alone,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert "--device" in ran.stdout
