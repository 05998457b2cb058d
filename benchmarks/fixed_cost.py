"""What a build costs beside the work on documents: a corpus of ten pages.

    python benchmarks/fixed_cost.py [--rounds 3] [--peer-python PEER/bin/python]

Builds ten made-up pages, builds them again with nothing to do, and takes one out, each as a command
of its own with kernels compiled before. Figures are CPU seconds of a whole command, start of Python
and child processes included, the smallest of some rounds. Beside it, where `--peer-python` has
datatrove (`requirements-fixed-cost.txt`): reading, extraction, its Gopher filters and writing of the
same pages.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from machine import machine
from page_frames import response_record

PAGES = 10
THINGS = ("bridge", "mill", "clock", "pier", "lamp", "boat", "wheel", "bell", "hall", "vane")
RECIPE = """\
name: ten
seed: 7
sources:
  - {name: web, format: warc, domain: web, snapshots: {crawl-1: pages.warc.gz}}
signals:
  families: [{family: gopher_quality}, {family: repetition}]
selection:
  rules:
    - {name: gopher_word_count, signal: n_words, min: 50}
    - {name: gopher_dup_lines, signal: dup_line_share, max: 0.3}
tokenizer:
  train: {vocab_size: 300, special_slots: 4}
shards:
  seq_len: 64
mixture:
  max_epochs: 50
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer-python", type=Path, help="a Python with datatrove")
    options = parser.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        rounds = [one_round(Path(folder, str(n)), options) for n in range(options.rounds + 1)]
    print(f"{'CPU s':>8}  {PAGES} pages, one worker, the smallest of {options.rounds} rounds")
    for name in rounds[0]:  # the first round compiles kernels
        print(f"{min(found[name] for found in rounds[1:]):8.2f}  {name}")


def one_round(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Measure every command once, in a home of its own."""
    folder.mkdir()
    (folder / "ten.yaml").write_text(RECIPE)
    pages = [response_record(url(n), page(n), n) for n in range(PAGES)]
    (folder / "pages.warc.gz").write_bytes(b"".join(pages))
    build = ("corpus", "build", "ten.yaml", "--version", "ten-1", "--workers", "1")
    ask = ("catalog", "takedown", "request", "--url", url(3), "--reason", "b")
    found = {
        "build": command(folder, *build),
        "build with nothing to do": command(folder, *build),
        "takedown, request and run": command(folder, *ask)
        + command(folder, "catalog", "takedown", "run", "--workers", "1"),
    }
    if options.peer_python is not None:
        peer = Path(__file__).with_name("fixed_cost_peer.py")
        found["datatrove"] = command(folder, str(options.peer_python), str(peer))
    return found


def command(folder: Path, program: str, *arguments: str) -> float:
    """Return CPU seconds of a command and its children; it must succeed."""
    path = program if "/" in program else Path(sys.executable).parent / program
    env = dict(os.environ, CORPUS_HOME=str(folder / "home"))
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # else every command compiles our modules anew
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([path, *arguments], cwd=folder, env=env, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{program} {' '.join(arguments)}:\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def url(number: int) -> str:
    return f"https://site{number}.example/story"


def page(number: int) -> bytes:
    """An article of a few paragraphs, none like another's."""
    thing = THINGS[number]
    lines = "".join(
        f"<p>In the year {1800 + 7 * number + k} the {thing} of town {number * 31 + k} was measured "
        f"by {THINGS[(number + k) % 10]} makers, who had the {thing} painted {k + 2} times and then "
        f"wrote to the people of the {THINGS[(number * 3 + k) % 10]} that it would stand.</p>"
        for k in range(9)
    )
    title = f"The {thing}"
    return (
        f"<!DOCTYPE html><html lang='en'><head><title>{title}</title></head><body><article>"
        f"<h1>{title}</h1>{lines}</article></body></html>"
    ).encode()


if __name__ == "__main__":
    main()
