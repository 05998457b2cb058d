"""Runs of a pack on the GPUs of a Ray cluster: one task a run, on a share of a GPU each.

Nodes need torch, numpy and pyarrow beside Ray, not this package: a pack carries its code. It travels
through Ray once and is unpacked into a temporary folder of each task, which is deleted with it; of
a node that is killed, what is left lies in its folder for temporary files (`corpus-evidence-*`).
"""

import importlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpus_assets.core.errors import EvidenceError
from corpus_assets.evidence.results import read_runs, run_name
from corpus_assets.evidence.run import RUNS, Pack
from corpus_assets.graph import join_ray

GPUS = 0.25  # of each run: a 17M model leaves most of a device idle
TRIES = 3  # of a run whose node was lost


def run_on_ray(
    folder: Path,
    out: Path | None = None,
    *,
    address: str | None = None,
    gpus: float = GPUS,
    part: tuple[int, int] = (0, 1),
    options: tuple[str, ...] = (),
    say: Callable[[str], None] = lambda _: None,
) -> int:
    """Train and score the missing runs of a pack on a cluster, and return how many that were. Each
    takes `gpus` of a device, with 0 only a CPU; `options` are further ones of the pack's `run.py`.

    Results are written as they come, so that it can be stopped and resumed.
    """
    pack = Pack(folder)
    target = (out or folder) / RUNS
    done = {run.name for place in {target, folder / RUNS} for run in read_runs(place)}
    wanted = list(pack.runs())
    size = pack.plan["proxy"]["size"]
    missing = [
        number
        for number, run in enumerate(wanted)
        if run_name(run.arm, size, run.learning_rate, run.seed, run.tokens) not in done
        and number % part[1] == part[0]
    ]
    say(f"{len(wanted)} runs, {len(missing)} to do on the cluster")
    if not missing:
        return 0

    def work(
        packed: bytes, number: int, count: int, given: tuple[str, ...]
    ) -> dict[str, bytes] | str:
        """Nested, so that Ray sends its code: nodes need not have this package."""
        import io
        import subprocess
        import sys
        import tarfile
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory(prefix="corpus-evidence-") as place:
            with tarfile.open(fileobj=io.BytesIO(packed)) as held:
                held.extractall(place, filter="data")
            asked = [sys.executable, f"{place}/run.py", "--part", f"{number}/{count}",
                     "--out", f"{place}/out", *given]  # fmt: skip
            ended = subprocess.run(asked, capture_output=True, text=True, cwd=place, check=False)
            found = {path.name: path.read_bytes() for path in Path(place, "out", "runs").glob("*")}
            return found or (ended.stderr.strip() or ended.stdout.strip() or "no result")

    is_own = join_ray(address)
    ray: Any = importlib.import_module("ray")

    try:
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if max((node.get("GPU", 0.0) for node in nodes), default=0.0) < gpus:
            raise EvidenceError(
                f"no node of the cluster has {gpus:g} of a GPU: start nodes with `ray start "
                "--num-gpus`, or pass --gpus 0 to train on CPUs"
            )
        wanting = {"num_cpus": 1, "num_gpus": gpus, "max_retries": TRIES}
        remote = ray.remote(**wanting)(work)
        packed = ray.put(_packed(folder))
        waiting = {remote.remote(packed, n, len(wanted), options): wanted[n] for n in missing}
        failed = ""
        while waiting:
            (ready, *_), _ = ray.wait(list(waiting), num_returns=1)
            run = waiting.pop(ready)
            try:
                found = ray.get(ready)
            except ray.exceptions.RayError as error:
                found = str(error).strip()
            if isinstance(found, str):
                failed = f"{run.arm} with seed {run.seed}: {found.splitlines()[-1]}"
                say(f"failed: {failed}")
                continue
            _keep(target, found)
            say(f"{run.arm}, learning rate {run.learning_rate:g}, seed {run.seed}: done")
    finally:
        if is_own:
            ray.shutdown()
    if failed:
        raise EvidenceError(f"some runs failed ({failed}); run the same command again")
    return len(missing)


def _packed(folder: Path) -> bytes:
    """Return a pack as one file, without results."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as held:
        for path in sorted(folder.rglob("*")):
            relative = path.relative_to(folder)
            if path.is_file() and relative.parts[0] != RUNS:
                held.add(path, str(relative))
    return sink.getvalue()


def _keep(target: Path, files: dict[str, bytes]) -> None:
    """Write the files of a run; the JSON, which makes it one, last."""
    target.mkdir(parents=True, exist_ok=True)
    for name in sorted(files, key=lambda one: one.endswith(".json")):
        path = target / Path(name).name
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_bytes(files[name])
        temporary.replace(path)
