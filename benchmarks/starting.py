"""What commands cost before they do anything: starting Python, reading a recipe, showing help.

    python benchmarks/starting.py [--rounds 7] [--recipes demo fineweb2]

Figures are CPU seconds of a whole process, the smallest of some rounds, and the modules that it
has loaded. A plan of a home without anything in it comes last.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from machine import machine

ROOT = Path(__file__).parents[1]
READ = "import sys; from pathlib import Path; from corpus_assets.recipe import load_recipe; "
COUNT = "\nprint(len(sys.modules))"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--recipes", nargs="+", default=["demo", "fineweb2"])
    parser.add_argument("--without-commands", action="store_true", help="recipes alone")
    options = parser.parse_args()
    python = sys.executable
    runs = {
        "Python alone": [python, "-c", f"import sys{COUNT}"],
        "pydantic": [python, "-c", f"import sys\nfrom pydantic import BaseModel, Field{COUNT}"],
    }
    for name in options.recipes:
        path = str(ROOT / "recipes" / f"{name}.yaml")
        runs[f"recipe {name}"] = [python, "-c", f"{READ}load_recipe(Path({path!r})){COUNT}"]
    if not options.without_commands:
        scripts = Path(python).parent
        runs["corpus --help"] = [str(scripts / "corpus"), "--help"]
        runs["catalog --help"] = [str(scripts / "catalog"), "--help"]
        runs["catalog versions"] = [str(scripts / "catalog"), "versions"]
        runs["corpus plan demo"] = [str(scripts / "corpus"), "plan", "demo"]
    print(f"{machine()}\n")
    print(f"{'CPU s':>8} {'modules':>8}  the smallest of {options.rounds} rounds")
    with tempfile.TemporaryDirectory() as home:
        for name, command in runs.items():
            measured = [cpu_seconds(command, home) for _ in range(options.rounds + 1)]
            seconds = min(seconds for seconds, _ in measured[1:])  # the first writes caches
            told = measured[0][1].strip()
            print(f"{seconds:8.2f} {told if told.isdigit() else '':>8}  {name}")


def cpu_seconds(command: list[str], home: str) -> tuple[float, str]:
    """Run a command; return its CPU seconds and what it printed."""
    env = dict(os.environ, CORPUS_HOME=home)
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # else every run compiles our modules anew
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


if __name__ == "__main__":
    main()
